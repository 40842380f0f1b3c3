// Filters: SIMPLE-FIL, RIDGE-FIL with its relatives, P-RIDGE-FIL, the perceptron (Cesa-Bianchi, Conconi and Gentile 2003);
// and apple tasting (Helmbold, Littlestone and Long 2000).
#include "filter.hpp"

#include "bind.hpp"
#include "geometry.hpp"

namespace smidgen {
namespace {

using Pair = std::tuple<double, double>;

INLINE Pair pair_of(Asked asked) { return {asked.mean, asked.width}; }

double threshold_for(int64_t rule, double c, int64_t t, Vec<const double> heard) {
    require(PAPER <= rule, "there is no threshold of this rule");
    Exploring{rule, c, {nullptr, 0}}.check(heard);
    return threshold_of(rule, c, t, heard);
}

void count(Vec<double> heard, bool relevant, double keep, double width) {
    require(heard.n > HEARD, "nothing to count in");
    count_label(heard, relevant, keep, width);
}

bool watch(Vec<double> watched, double mean, bool relevant) {
    require(watched.n > ALL_LABELS, "watched is four numbers");
    return watch_label(watched, mean, relevant);
}

// Whether an item is forwarded, and how likely one that the margin would drop is.
std::tuple<bool, double> taste(double margin, double surprises, Vec<const uint64_t> key, int64_t number) {
    double chance = tasting_chance(surprises, number);
    return {margin >= 0.0 || first_uniform(key_in(key), uint64_t(number)) < chance, chance};
}

// --- rows with a 1 behind their features ----------------------------------------------------------------------------

void rows_with_constant(Csr<double> rows, int64_t dim, Vec<uint32_t> indices, Vec<double> values, Vec<int64_t> starts) {
    int64_t n = rows.rows();
    rows.check(int64_t(UINT32_MAX));
    require(dim >= 0 && dim <= int64_t(UINT32_MAX), "dim is not a number of features");
    require(rows.starts[0] == 0 && rows.starts[n] == rows.values.n, "the rows must begin at 0 and end with the values");
    require(indices.n == rows.values.n + n && values.n == indices.n, "there must be one more place per row");
    require(starts.n == n + 1, "starts needs one place per row, and one more");
    starts[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
        int64_t end = rows.starts[i + 1] + i;
        copy(indices.slice(rows.starts[i] + i, end), rows.idx(i));
        copy(values.slice(rows.starts[i] + i, end), rows.val(i));
        indices[end] = uint32_t(dim);
        values[end] = 1.0;
        starts[i + 1] = end + 1;
    }
}

// --- SIMPLE-FIL: memory holds the labels heard, and the relevant ones among them -----------------------------------

// p̂ − 1/2.
INLINE double estimate_of(Vec<const double> memory) { return memory[0] > 0.0 ? memory[1] / memory[0] - 0.5 : 0.0; }

INLINE void require_memory(Vec<const double> memory) { require(memory.n == 2, "memory is two numbers"); }

Pair simple_decide(Vec<const double> memory, double c, int64_t number) {
    require_memory(memory);
    return {estimate_of(memory), threshold(c, number, memory[0])};
}

// Forward iff p̂ − 1/2 ≥ −√(c·ln t / N), for all items in turn.
void simple_stream(Vec<double> memory, double c, Vec<const Flag> truth, int64_t first, Forwarded shown) {
    require_memory(memory);
    shown.check(truth.n, first);
    for (int64_t i = 0; i < truth.n; ++i) {
        double estimate = estimate_of(memory);
        bool forward = estimate >= threshold(c, first + i, memory[0]);
        shown.actions[i] = forward;
        shown.greedy[i] = estimate >= 0.0;
        if (forward) {
            memory[0] += 1.0;
            memory[1] += double(bool(truth[i]));
        }
    }
}

// --- ridge estimates --------------------------------------------------------------------------------------------------

Pair full_moments_of(Mat<const double> W, Cube<const double> B, Indices idx, Vec<const double> val) {
    require_ridge(W, B);
    require_row(idx, val, W.cols);
    Scratch<double> product(W.cols);
    return pair_of(full_ask(W, B, idx, val, product.mat(1, W.cols)));
}

Pair learn_full(Mat<double> W, Cube<double> B, Indices idx, Vec<const double> val, double y) {
    require_ridge(W, B);
    require_row(idx, val, W.cols);
    return pair_of(full_hear(W, B, idx, val, y));
}

int64_t stream_full(Mat<double> W, Cube<double> B, Exploring e, Counts counts, Items items, int64_t first, Forwarded shown) {
    require_ridge(W, B);
    counts.check(e);
    require_items(items, shown, first, W.cols);
    Csr<double> rows = items.rows();
    Scratch<double> space(W.cols);
    Mat<double> product = space.mat(1, W.cols);
    return play_rounds(
        e, counts, first, shown, [&](int64_t i) { return bool(items.truth[items.order[i]]); },
        [&](int64_t i) { return full_ask(W, B, rows.idx(items.order[i]), rows.val(items.order[i]), product); },
        [&](int64_t, double y, Asked asked) { full_learn(W, B, product, y, asked); });
}

Pair diagonal_moments_of(Mat<const double> S, Indices idx, Vec<const double> val) {
    require_ridge(S);
    require_row(idx, val, S.rows);
    return pair_of(diagonal_ask(S, idx, val));
}

Pair learn_diagonal(Mat<double> S, Indices idx, Vec<const double> val, double y) {
    require_ridge(S);
    require_row(idx, val, S.rows);
    Asked asked = diagonal_ask(S, idx, val);
    if (is_finite(asked.mean) && is_finite(asked.width)) diagonal_learn(S, idx, val, y, asked);
    return pair_of(asked);
}

int64_t stream_diagonal(Mat<double> S, Exploring e, Counts counts, Items items, int64_t first, Forwarded shown) {
    require_ridge(S);
    counts.check(e);
    require_items(items, shown, first, S.rows);
    Csr<double> rows = items.rows();
    return play_rounds(
        e, counts, first, shown, [&](int64_t i) { return bool(items.truth[items.order[i]]); },
        [&](int64_t i) { return diagonal_ask(S, rows.idx(items.order[i]), rows.val(items.order[i])); },
        [&](int64_t i, double y, Asked asked) {
            diagonal_learn(S, rows.idx(items.order[i]), rows.val(items.order[i]), y, asked);
        });
}

// By the examples kept: a block of rows that have asked.
int64_t play_block(AskedRows asked, Exploring e, Counts counts, Vec<const Flag> truth, int64_t first, Forwarded shown) {
    asked.check();
    counts.check(e);
    require(truth.n == asked.rows.rows(), "a block needs one label per row");
    shown.check(truth.n, first);
    return play_rounds(
        e, counts, first, shown, [&](int64_t i) { return bool(truth[i]); },
        [&](int64_t i) { return asked_moments(asked, i); },
        [&](int64_t i, double y, Asked found) { asked_learn(asked, i, y, found); });
}

// With forgetting: w·x and xᵀA⁻¹x of one row, by a root of A⁻¹ (ridge.hpp).
Pair root_moments_of(Mat<const double> R, Indices idx, Vec<const double> val) {
    Root root{R, {nullptr, 0}};
    root.check();
    require_row(idx, val, R.rows);
    Gathered space(root);
    Scratch<double> work(R.cols);
    Lean found = lean(root, {idx, val}, space, work.vec());
    return {found.mean, dot(work.vec(), work.vec())};
}

// R from A and b, F = [A b]; whether it is finite.
bool root_of(Mat<const double> F, double ridge, Mat<double> R) {
    Root{R, {nullptr, 0}}.check();
    require(F.rows == R.rows && F.cols == R.rows + 1, "F and R do not fit together");
    take_root(F, R.rows, ridge, R);
    return all_finite(R.flat());
}

// --- P-RIDGE-FIL ------------------------------------------------------------------------------------------------------

inline constexpr double TOLERANCE = 1e-10;    // of the projection

// w ← w + (y − w·x)·A_new⁻¹x, A ← A + xxᵀ, then the projection of w on the unit ball in the norm of A. Says no, and changes
// nothing, where that is not finite.
bool p_ridge_step(Mat<double> W, Cube<double> B, Indices idx, Vec<const double> val, double y) {
    Asked asked = full_hear(W, B, idx, val, y);
    if (!(is_finite(asked.mean) && is_finite(asked.width))) return false;
    double squares = 0.0;
    for (double each : W[0]) squares += each * each;
    if (squares > 1.0) project_on_ball({B.data, B.n0, B.n2}, W[0], 1.0, TOLERANCE, W[0]);
    return true;
}

bool p_ridge_hear(Mat<double> W, Cube<double> B, Indices idx, Vec<const double> val, double y) {
    require_ridge(W, B);
    require_row(idx, val, W.cols);
    return p_ridge_step(W, B, idx, val, y);
}

// w·x, and whether the item is forwarded: iff w·x ≥ 0, else with probability p.
std::tuple<double, bool> p_ridge_decide(Mat<const double> W, Indices idx, Vec<const double> val, double p,
                                        Vec<const uint64_t> key, int64_t number) {
    require(W.rows == 1, "W is one row");
    require_row(idx, val, W.cols);
    double margin = sparse_dot(W[0], idx, val);
    return {margin, margin >= 0.0 || first_uniform(key_in(key), uint64_t(number)) < p};
}

void p_ridge_stream(Mat<double> W, Cube<double> B, double p, Vec<const uint64_t> key, Items items, int64_t first,
                    Forwarded shown) {
    require_ridge(W, B);
    require_items(items, shown, first, W.cols);
    Csr<double> rows = items.rows();
    for (int64_t i = 0; i < items.order.n; ++i) {
        int64_t t = items.order[i];
        auto [margin, forward] = p_ridge_decide(W, rows.idx(t), rows.val(t), p, key, first + i);
        shown.actions[i] = forward;
        shown.greedy[i] = margin >= 0.0;
        if (forward) p_ridge_step(W, B, rows.idx(t), rows.val(t), items.truth[t] ? 1.0 : -1.0);
    }
}

// --- the perceptron -----------------------------------------------------------------------------------------------------

// On a mistake w ← w + y·x.
INLINE void perceptron_step(Vec<double> w, Indices idx, Vec<const double> val, double margin, bool relevant) {
    if ((margin >= 0.0) == relevant) return;
    for (int64_t k = 0; k < idx.n; ++k) w[idx[k]] += relevant ? val[k] : -val[k];
}

double perceptron_margin(Vec<const double> w, Indices idx, Vec<const double> val) {
    require_row(idx, val, w.n);
    return sparse_dot(w, idx, val);
}

bool perceptron_hear(Vec<double> w, Indices idx, Vec<const double> val, bool relevant) {
    require_row(idx, val, w.n);
    double margin = sparse_dot(w, idx, val);
    if (!is_finite(margin)) return false;
    perceptron_step(w, idx, val, margin, relevant);
    return true;
}

void perceptron_stream(Vec<double> w, Items items, Forwarded shown) {
    require_items(items, shown, 1, w.n);
    Csr<double> rows = items.rows();
    for (int64_t i = 0; i < items.order.n; ++i) {
        int64_t t = items.order[i];
        double margin = sparse_dot(w, rows.idx(t), rows.val(t));
        shown.actions[i] = margin >= 0.0;
        shown.greedy[i] = margin >= 0.0;
        perceptron_step(w, rows.idx(t), rows.val(t), margin, items.truth[t]);
    }
}

const Family family("filter", {
    entry<threshold_for>("threshold_of", "rule, c, t, heard",
                         "The margin that item t must reach, by the rule; −∞ while nothing has been heard."),
    entry<count>("count_label", "heard, relevant, keep, width", "Count one more label; the older ones fade by `keep`."),
    entry<watch>("watch_label", "watched, mean, relevant",
                 "Take the residual of one more label; whether less is relevant than was estimated."),
    entry<taste>("taste", "margin, surprises, key, number",
                 "Whether an item is forwarded, and how likely one that the margin would drop is."),
    entry<rows_with_constant>("write_rows_with_constant", "rows, dim, indices, values, starts",
                              "Compressed rows with a 1 behind the features of each."),
    entry<simple_decide>("simple_decide", "memory, c, number", "p̂ − 1/2 and the threshold of SIMPLE-FIL."),
    entry<simple_stream>("simple_stream", "memory, c, truth, first, shown", "Rounds of SIMPLE-FIL."),
    entry<full_moments_of>("full_moments", "W, B, idx, val", "w·x and xᵀA⁻¹x with full A."),
    entry<learn_full>("learn_full", "W, B, idx, val, y",
                      "Learn one example with full A, if w·x and xᵀA⁻¹x are finite; returns both as they were."),
    entry<stream_full>("stream_full", "W, B, e, counts, items, first, shown", "Rounds of a ridge filter with full A, until relevance has changed; how many."),
    entry<diagonal_moments_of>("diagonal_moments", "S, idx, val", "w·x and xᵀA⁻¹x with diagonal A."),
    entry<learn_diagonal>("learn_diagonal", "S, idx, val, y",
                          "Learn one example with diagonal A, if w·x and xᵀA⁻¹x are finite; returns both as they were."),
    entry<stream_diagonal>("stream_diagonal", "S, e, counts, items, first, shown",
                           "Rounds of a ridge filter with diagonal A, until relevance has changed; how many."),
    entry<play_block>("play_block", "asked, e, counts, truth, first, shown",
                      "Rounds of a ridge filter that keeps its examples, for a block of rows that have asked, until relevance has "
                      "changed; how many."),
    entry<root_moments_of>("root_moments", "R, idx, val", "w·x and xᵀA⁻¹x by a root of A⁻¹."),
    entry<root_of>("take_root", "F, ridge, R", "R from A and b, F = [A b]; whether it is finite."),
    entry<p_ridge_decide>("p_ridge_decide", "W, idx, val, p, key, number",
                          "w·x, and whether the item is forwarded: iff w·x ≥ 0, else with probability p."),
    entry<p_ridge_hear>("p_ridge_hear", "W, B, idx, val, y",
                        "Learn one example, and keep w in the unit ball; says no, and changes nothing, where w·x is not finite."),
    entry<p_ridge_stream>("p_ridge_stream", "W, B, p, key, items, first, shown", "Rounds of P-RIDGE-FIL."),
    entry<perceptron_margin>("perceptron_margin", "w, idx, val", "w·x."),
    entry<perceptron_hear>("perceptron_hear", "w, idx, val, relevant",
                           "On a mistake w ← w + y·x; says no, and changes nothing, where w·x is not finite."),
    entry<perceptron_stream>("perceptron_stream", "w, items, shown", "Rounds of the perceptron."),
});

}  // namespace
}  // namespace smidgen
