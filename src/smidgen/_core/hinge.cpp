// HingeConfidit: the choice and the one step, on full and on diagonal state, and whole streams of rounds.
#include "bind.hpp"
#include "follow.hpp"
#include "random.hpp"
#include "second_order.hpp"
#include "ties.hpp"

namespace smidgen {
namespace {

// Where things stand in a learner's one array of numbers (learners/label/hinge_round.py): the number of the decision
// whose moments stand ready (0: none); then the settings in force.
enum : int64_t { FRESH, WRONG, KAPPA, FLOOR, NUMBERS };

INLINE void require_numbers(Vec<const double> numbers) {
    require(numbers.n == NUMBERS, "a HingeConfidit has four numbers");
    require(!(numbers[FLOOR] > 1.0), "the floor is above 1");
}

// Whether the estimate says already what the bit says, and more: no step then. In between there is always one.
INLINE bool settled(double mean, double reward, double wrong) {
    return (reward >= 1.0 && mean >= 1.0) || (reward <= 0.0 && mean <= wrong);
}

// (y − w·x)/(1 + xᵀA⁻¹x), y = wrong + (1 − wrong)·r.
INLINE double rate_of(double mean, double width, double reward, double wrong) {
    return (wrong + (1.0 - wrong) * reward - mean) / (1.0 + width);
}

// The step of the shown class on diagonal state, if there is one to take.
template <class T>
INLINE void step_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t c, double reward, Vec<const double> numbers,
                          Mat<T> moments) {
    double mean = moments(0, c), width = moments(1, c);
    if (!settled(mean, reward, numbers[WRONG])) {
        diagonal_absorb(S, c, idx, val, rate_of(mean, width, reward, numbers[WRONG]));
    }
}

// The same on full state, given the products P_i = A_i⁻¹x.
template <class T>
INLINE void step_full(Mat<T> W, Cube<T> B, Mat<T> P, int64_t c, double reward, Vec<const double> numbers, Mat<T> moments) {
    double mean = moments(0, c), width = moments(1, c);
    if (!settled(mean, reward, numbers[WRONG])) {
        width = full_width(B, c, P[c], width);
        full_shift(W, c, P[c], rate_of(mean, width, reward, numbers[WRONG]));
        full_absorb(B, c, P[c], width);
    }
}

// ŷ and ỹ, the probability of ŷ (NaN: nothing was drawn), and how many labels are tied.
using Decided = std::tuple<int64_t, int64_t, double, int64_t>;

// ŷ is argmax w_i·x + κ√(xᵀA_i⁻¹x), ties drawn, but for the floor; writes the scores and widths of every class.
template <class T>
INLINE Decided show(Mat<T> moments, Vec<const double> numbers, Key key, int64_t number, Vec<double> scores, Vec<double> eps) {
    int64_t K = scores.n;
    for (int64_t i = 0; i < K; ++i) {
        scores[i] = moments(0, i);
        eps[i] = numbers[KAPPA] * root(largest(double(moments(1, i)), 0.0));
    }
    auto bound = [&](int64_t i) { return scores[i] + eps[i]; };
    auto mean = [&](int64_t i) { return scores[i]; };
    Best best = best_of(K, bound), guess = best_of(K, mean);
    double floor = numbers[FLOOR];
    int64_t optimist = break_tie(best, K, bound, key, number), action = optimist;
    if (floor > 0.0) {
        double u = first_uniform(key, uint64_t(number));
        if (u >= 1.0 - floor) action = smallest(truncated((u - (1.0 - floor)) / floor * double(K)), K - 1);
    }
    double chance = std::numeric_limits<double>::quiet_NaN();
    if (floor > 0.0 || best.tied > 1) {
        bool chosen = best.tied == 1 ? action == best.place : bound(action) >= best.least;
        chance = (chosen ? (1.0 - floor) / double(best.tied) : 0.0) + floor / double(K);
    }
    return {action, greedy_of(guess, mean, optimist, number), chance, best.tied};
}

// What features that are not in use add to every width.
template <class T>
INLINE void add_width(Mat<T> moments, double more) {
    if (more > 0.0) {
        for (int64_t i = 0; i < moments.cols; ++i) moments(1, i) = static_cast<T>(double(moments(1, i)) + more);
    }
}

template <class T>
INLINE bool usable(Mat<T> moments) {
    return all_finite(moments.flat());
}

// --- the two verbs -------------------------------------------------------------------------------------------------

template <class T>
INLINE Decided decide_on_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<double> numbers, Key key,
                                  int64_t number, Mat<T> moments, Vec<double> scores, Vec<double> eps) {
    diagonal_moments(S, idx, val, moments);
    numbers[FRESH] = double(number);
    return show(moments, numbers, key, number, scores, eps);
}

template <class T>
INLINE Decided decide_on_full(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val, double more,
                              Vec<double> numbers, Key key, int64_t number, Mat<T> moments, Mat<T> P, Vec<double> scores,
                              Vec<double> eps) {
    full_moments(W, B, idx, val, moments[0], moments[1], P);
    add_width(moments, more);
    numbers[FRESH] = more > 0.0 ? 0.0 : double(number);
    return show(moments, numbers, key, number, scores, eps);
}

template <class T>
INLINE bool learn_on_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t c, double reward, Vec<double> numbers,
                              int64_t number, Mat<T> moments) {
    if (numbers[FRESH] != double(number)) diagonal_moments(S, idx, val, moments);
    numbers[FRESH] = 0.0;
    bool finite = usable(moments);
    if (finite) step_diagonal(S, idx, val, c, reward, numbers, moments);
    return finite;
}

template <class T>
INLINE bool learn_on_full(Mat<T> W, Cube<T> B, Indices idx, Vec<const T> val, int64_t c, double reward,
                          Vec<double> numbers, int64_t number, Mat<T> moments, Mat<T> P) {
    if (numbers[FRESH] != double(number)) full_moments(W, B, idx, val, moments[0], moments[1], P);
    numbers[FRESH] = 0.0;
    bool finite = usable(moments);
    if (finite) step_full(W, B, P, c, reward, numbers, moments);
    return finite;
}

// --- entry points ---------------------------------------------------------------------------------------------------

template <class T>
Decided decide_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<double> numbers, Vec<const uint64_t> key,
                        int64_t number, Mat<T> moments, Vec<double> scores, Vec<double> eps) {
    require_row(idx, val, S.rows);
    require_diagonal(S.cols, moments.rows, moments.cols, scores.n);
    require_numbers(numbers);
    require(eps.n == scores.n, "scores and eps must have one length");
    return decide_on_diagonal(S, idx, val, numbers, key_in(key), number, moments, scores, eps);
}

template <class T>
Decided decide_full(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val, double more, Vec<double> numbers,
                    Vec<const uint64_t> key, int64_t number, Mat<T> moments, Mat<T> P, Vec<double> scores, Vec<double> eps) {
    require_row(idx, val, W.cols);
    require_full(W, B, moments.rows, moments.cols, P, scores.n);
    require_numbers(numbers);
    require(eps.n == scores.n, "scores and eps must have one length");
    return decide_on_full(W, B, idx, val, more, numbers, key_in(key), number, moments, P, scores, eps);
}

template <class T>
bool learn_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t c, double reward, Vec<double> numbers,
                    int64_t number, Mat<T> moments) {
    require_row(idx, val, S.rows);
    require_diagonal(S.cols, moments.rows, moments.cols, 1);
    require_class(c, moments.cols);
    require_numbers(numbers);
    return learn_on_diagonal(S, idx, val, c, reward, numbers, number, moments);
}

template <class T>
bool learn_full(Mat<T> W, Cube<T> B, Indices idx, Vec<const T> val, int64_t c, double reward, Vec<double> numbers,
                int64_t number, Mat<T> moments, Mat<T> P) {
    require_row(idx, val, W.cols);
    require_full(W, B, moments.rows, moments.cols, P, 1);
    require_class(c, P.rows);
    require_numbers(numbers);
    return learn_on_full(W, B, idx, val, c, reward, numbers, number, moments, P);
}

template <class T>
bool finite_full(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val, double more, Mat<T> moments, Mat<T> P) {
    require_row(idx, val, W.cols);
    require_full(W, B, moments.rows, moments.cols, P, 1);
    full_moments(W, B, idx, val, moments[0], moments[1], P);
    add_width(moments, more);
    return usable(moments);
}

template <class T>
void stream_diagonal(Mat<T> S, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Played<T> played) {
    int64_t C = S.cols / 2;
    require_diagonal(S.cols, 2, C, K);
    require_numbers(numbers);
    played.check(S.rows, K);
    Csr<T> rows = played.stream.rows();
    Vec<const int64_t> order = played.stream.order, truth = played.stream.truth;
    Key coin = key_in(key);
    Scratch<T> moment_space(2 * C), buffer(rows.longest());
    Scratch<double> scores(K), eps(K);
    Mat<T> moments = moment_space.mat(2, C);
    for (int64_t i = 0; i < order.n; ++i) {
        int64_t t = order[i];
        Indices idx = rows.idx(t);
        Vec<T> val = buffer.vec().slice(0, idx.n);
        scaled(rows.val(t), played.scales[t], val);
        diagonal_moments(S, idx, val, moments);
        Decided made = show(moments, numbers, coin, played.first + i, scores.vec(), eps.vec());
        int64_t action = std::get<0>(made);
        played.shown.actions[i] = action;
        played.shown.greedy[i] = std::get<1>(made);
        step_diagonal(S, idx, Vec<const T>(val), action, action == truth[t] ? 1.0 : 0.0, numbers, moments);
    }
}

// Columns in use: their slots (empty: all features are), the column of each slot, how many there are, and A₀.
struct Used {
    Vec<int32_t> slots;
    Vec<uint32_t> columns;
    int64_t used;
    double start;
    FIELDS(slots, columns, used, start)
};

template <class T>
int64_t stream_full(Mat<T> W, Cube<T> B, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Played<T> played,
                    Used use) {
    require_classes(K, W.rows);
    require_numbers(numbers);
    int64_t dim = use.slots.n ? use.slots.n : W.cols, used = use.used;
    played.check(dim, K);
    require_slots(use.slots, W.cols);
    require(0 <= used && used <= W.cols, "used is not a number of columns");
    Csr<T> rows = played.stream.rows();
    Vec<const int64_t> order = played.stream.order, truth = played.stream.truth;
    Key coin = key_in(key);
    int64_t longest = rows.longest();
    Scratch<T> moment_space(2 * W.rows), product_space(K * W.cols), buffer(longest), kept(longest);
    Scratch<uint32_t> where(longest);
    Scratch<double> scores(K), eps(K);
    Mat<T> moments = moment_space.mat(2, W.rows), P = product_space.mat(K, W.cols);
    require_full(W, B, 2, W.rows, P, K);
    auto measure = [&](Part part) {
        full_moments(W, B, where.vec().slice(0, part.n), kept.vec().slice(0, part.n), moments[0], moments[1], P);
    };
    for (int64_t i = 0; i < order.n; ++i) {
        int64_t t = order[i];
        Indices idx = rows.idx(t);
        Vec<T> val = buffer.vec().slice(0, idx.n);
        scaled(rows.val(t), played.scales[t], val);
        Part part{0, 0, 0.0};
        if (use.slots.n) {
            part = take_slots<T>(use.slots, idx, val, where.vec(), kept.vec());
            measure(part);
            for (int64_t c = 0; part.beyond / use.start > 0.0 && c < K; ++c) {
                moments(1, c) = static_cast<T>(double(moments(1, c)) + part.beyond / use.start);
            }
        } else {
            full_moments(W, B, idx, val, moments[0], moments[1], P);
        }
        Decided made = show(moments, numbers, coin, played.first + i, scores.vec(), eps.vec());
        int64_t action = std::get<0>(made);
        played.shown.actions[i] = action;
        played.shown.greedy[i] = std::get<1>(made);
        if (part.fresh) {
            used = give_slots<T>(use.slots, use.columns, used, idx, val);
            require(used <= W.cols, "more columns come into use than there is space for");
            measure(take_slots<T>(use.slots, idx, val, where.vec(), kept.vec()));
        }
        step_full(W, B, P, action, action == truth[t] ? 1.0 : 0.0, numbers, moments);
    }
    return used;
}

// The shares of labels are noted where there is space for them and several are tied.
INLINE void note(const Noted& noted, int64_t place, int64_t row, const Decided& made, Vec<const double> numbers,
                 Vec<const double> scores, Vec<const double> eps) {
    int64_t tied;
    std::tie(noted.actions[place], noted.greedy[place], noted.p[place], tied) = made;
    if (tied > 1 && noted.shares.n > 0) {
        int64_t K = scores.n;
        auto bound = [&](int64_t i) { return scores[i] + eps[i]; };
        tie_shares(best_of(K, bound), K, bound, numbers[FLOOR], noted.shares.slice(row * K, row * K + K));
    }
}

int64_t follow_diagonal(Mat<double> S, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Way way, Trip trip,
                        int64_t begin, int64_t end, Noted noted) {
    int64_t C = S.cols / 2;
    require_diagonal(S.cols, 2, C, K);
    require_numbers(numbers);
    require_course(way, trip, noted, begin, end, S.rows, K);
    Key coin = key_in(key);
    Scratch<double> moments(2 * C), scores(K), eps(K);
    for (int64_t t = begin; t < end; ++t) {
        int64_t number = trip.numbers[t];
        if (way.actions[t] == DECIDE) {
            Decided made = decide_on_diagonal<double>(S, way.idx(t), way.val(t), numbers, coin, number,
                                                      moments.mat(2, C), scores.vec(), eps.vec());
            note(noted, trip.places[t], way.first[t], made, numbers, scores.vec(), eps.vec());
        } else {
            Heard heard = heard_at(way, trip, noted, t);
            require_class(heard.action, K);
            if (!learn_on_diagonal(S, way.idx(t), way.val(t), heard.action, heard.reward, numbers, number,
                                   moments.mat(2, C))) {
                return t;
            }
        }
    }
    return end;
}

struct Slots {
    Vec<const int32_t> slots;
    double start;
    FIELDS(slots, start)
};

// A row that brings columns into use cannot be learnt here.
int64_t follow_full(Mat<double> W, Cube<double> B, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Way way,
                    Trip trip, int64_t begin, int64_t end, Noted noted, Slots use) {
    require_classes(K, W.rows);
    require_numbers(numbers);
    require_course(way, trip, noted, begin, end, use.slots.n ? use.slots.n : W.cols, K);
    require_slots(use.slots, W.cols);
    int64_t longest = Csr<double>{way.indices, way.values, way.starts}.longest();
    Scratch<double> moment_space(2 * W.rows, 0.0), product_space(K * W.cols), scores(K), eps(K), kept(longest);
    Scratch<uint32_t> where(longest);
    Mat<double> moments = moment_space.mat(2, W.rows), P = product_space.mat(K, W.cols);
    require_full(W, B, 2, W.rows, P, K);
    Key coin = key_in(key);
    for (int64_t t = begin; t < end; ++t) {
        Indices idx = way.idx(t);
        Vec<const double> val = way.val(t);
        int64_t number = trip.numbers[t];
        Part part{0, 0, 0.0};
        double more = 0.0;
        if (use.slots.n) {
            part = take_slots<double>(use.slots, idx, val, where.vec(), kept.vec());
            idx = where.vec().slice(0, part.n);
            val = kept.vec().slice(0, part.n);
            more = part.beyond / use.start;
        }
        if (way.actions[t] == DECIDE) {
            Decided made =
                decide_on_full<double>(W, B, idx, val, more, numbers, coin, number, moments, P, scores.vec(), eps.vec());
            note(noted, trip.places[t], way.first[t], made, numbers, scores.vec(), eps.vec());
        } else {
            Heard heard = heard_at(way, trip, noted, t);
            require_class(heard.action, K);
            if (part.fresh || !learn_on_full(W, B, idx, val, heard.action, heard.reward, numbers, number, moments, P)) {
                return t;
            }
        }
    }
    return end;
}

template <class T>
std::tuple<int64_t, int64_t, double> take(Vec<const int32_t> slots, Indices idx, Vec<const T> val, Vec<uint32_t> where,
                                          Vec<T> values) {
    require_row(idx, val, slots.n);
    require(where.n == values.n, "where and values must have one length");
    Part part = take_slots<T>(slots, idx, val, where, values);
    return {part.n, part.fresh, part.beyond};
}

template <class T>
int64_t give_space(Vec<int32_t> slots, Vec<uint32_t> columns, int64_t used, Indices idx, Vec<const T> val) {
    require_row(idx, val, slots.n);
    require(used >= 0, "used is below 0");
    return give_slots<T>(slots, columns, used, idx, val);
}

// How many rounds can be learnt before more than `limit` columns are in use, and how many are in use then.
template <class T>
std::tuple<int64_t, int64_t> rounds_within(Vec<const int32_t> slots, int64_t used, int64_t limit, Indices indices,
                                           Vec<const T> values, Vec<const int64_t> starts, Vec<const int64_t> order) {
    Csr<T> rows{indices, values, starts};
    rows.check(slots.n);
    require(used >= 0 && used < int64_t(1) << 40, "used is not a number of columns");
    Scratch<Flag> seen(slots.n);
    for (int64_t k = 0; k < slots.n; ++k) seen[k] = slots[k] >= 0;
    for (int64_t i = 0; i < order.n; ++i) {
        require(order[i] >= 0 && order[i] < rows.rows(), "the order of play names a row that is not there");
        Indices idx = rows.idx(order[i]);
        Vec<const T> val = rows.val(order[i]);
        int64_t more = 0;
        for (int64_t k = 0; k < idx.n; ++k) more += val[k] != T(0) && !seen[idx[k]];
        if (used + more > limit) return {i, used};
        used += more;
        for (int64_t k = 0; k < idx.n; ++k) seen[idx[k]] = seen[idx[k]] || val[k] != T(0);
    }
    return {order.n, used};
}

const Family family("hinge", {
    entry<decide_diagonal<double>, decide_diagonal<float>>(
        "decide_diagonal", "S, idx, val, numbers, key, number, moments, scores, eps",
        "One decision on diagonal state: ŷ, ỹ, the probability of ŷ, how many are tied; leaves its moments ready."),
    entry<decide_full<double>, decide_full<float>>(
        "decide_full", "W, B, idx, val, more, numbers, key, number, moments, P, scores, eps",
        "One decision on full state; `more` is what features that are not in use add to the widths."),
    entry<learn_diagonal<double>, learn_diagonal<float>>(
        "learn_diagonal", "S, idx, val, c, reward, numbers, number, moments",
        "Learn the reward of class c on diagonal state; says no, and changes nothing, where that is not finite."),
    entry<learn_full<double>, learn_full<float>>(
        "learn_full", "W, B, idx, val, c, reward, numbers, number, moments, P",
        "Learn the reward of class c on full state; says no, and changes nothing, where that is not finite."),
    entry<finite_full<double>, finite_full<float>>(
        "finite_full", "W, B, idx, val, more, moments, P",
        "Whether a row could be learnt, before its new features are taken into use."),
    entry<stream_diagonal<double>, stream_diagonal<float>>(
        "stream_diagonal", "S, K, numbers, key, played", "Rounds on diagonal state; every row is scaled first."),
    entry<stream_full<double>, stream_full<float>>(
        "stream_full", "W, B, K, numbers, key, played, use", "Rounds on full state; how many columns are in use then."),
    entry<follow_diagonal>("follow_diagonal", "S, K, numbers, key, way, trip, begin, end, noted",
                           "Steps of a course on diagonal state; returns the end, or a step that cannot be taken."),
    entry<follow_full>("follow_full", "W, B, K, numbers, key, way, trip, begin, end, noted, use",
                       "Steps of a course on full state; returns the end, or a step that cannot be taken."),
    entry<take<double>, take<float>>(
        "take_slots", "slots, idx, val, where, values",
        "Write the part of a row that is in use; how long it is, how many columns are new, and their ‖x‖²."),
    entry<give_space<double>, give_space<float>>(
        "give_slots", "slots, columns, used, idx, val",
        "Take the columns of a row into use, in their order; how many are in use then."),
    entry<rounds_within<double>, rounds_within<float>>(
        "rounds_within", "slots, used, limit, indices, values, starts, order",
        "How many rounds can be learnt before more than `limit` columns are in use, and how many are in use then."),
});

}  // namespace
}  // namespace smidgen
