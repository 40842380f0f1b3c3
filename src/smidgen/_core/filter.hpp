// Filters (Cesa-Bianchi, Conconi and Gentile 2003): when an item is forwarded, and what is remembered of the labels.
#pragma once

#include "dual.hpp"
#include "random.hpp"
#include "ridge.hpp"
#include "second_order.hpp"

namespace smidgen {

// The rules by which a filter forwards against its margin, to learn (learners/filter/exploring.py). In the place of a rule:
// forward by the sign of the margin, and learn every label; or taste what would be dropped.
enum : int64_t { PAPER, FOUND, SCARCE, PATIENT, SPARING, EVERYTHING = -1, TASTING = -2 };
// Where things stand in what was heard: labels N, relevant ones among them m, and the recent mean of widths xᵀA⁻¹x.
enum : int64_t { HEARD, RELEVANT, WIDTH };
// After SOME labels, items of a mean width above the share NEW of the widest are taken for text: something in them is always
// new. Where less than the share MOSTLY of what was heard is irrelevant, a sparing filter explores less. However little is
// found, the threshold goes no further below zero than PATIENCE for it: below -1 everything would be forwarded.
inline constexpr double SOME = 50.0, NEW = 0.3, MOSTLY = 0.75, PATIENCE = 0.9;

// −√(c·ln t / N), and −∞ while nothing has been heard.
INLINE double threshold(double c, int64_t t, double N) { return N > 0.0 ? -root(c * log(double(t)) / N) : -INF; }

// How likely item t is forwarded in spite of its margin, after so many relevant items found that way.
INLINE double tasting_chance(double surprises, int64_t t) {
    return smallest(1.0, root((1.0 + surprises) / (double(t) + 1.0)));
}

// b·A⁻¹x / (1 + xᵀA⁻¹x): the estimate w·x with x itself already counted in (eq. 3).
INLINE double margin_of(double mean, double width) { return mean / (1.0 + width); }

// The rule, its c, and the key of its coins.
struct Exploring {
    int64_t rule;
    double c;
    Vec<const uint64_t> key;
    FIELDS(rule, c, key)

    INLINE void check(Vec<const double> heard) const {
        require(TASTING <= rule && rule <= SPARING, "there is no such rule");
        require(heard.n > (rule >= SCARCE ? WIDTH : rule == FOUND ? RELEVANT : HEARD), "a rule needs more of what was heard");
        require(rule != TASTING || key.n == 2, "a key has two words");
    }
};

// The margin that item t must reach; −∞ while nothing has been heard. Of the last three rules, c is the ridge.
inline double threshold_of(int64_t rule, double c, int64_t t, Vec<const double> heard) {
    double N = heard[HEARD], ln_t = log(double(t));
    if (rule == PAPER || N <= 0.0) return threshold(c, t, N);
    double found = root(0.1 * ln_t / (heard[RELEVANT] + 1.0));
    if (rule == FOUND) return -largest(found, root(ln_t / N));
    double width = heard[WIDTH];
    // margins are small where widths are large: so is the threshold
    if (N >= SOME && c * width > NEW) return -largest(found, root(ln_t / N)) * (1.0 + c * width) / (1.0 + width);
    if (rule == SCARCE) return -largest(found, root(2.0 * ln_t / N));
    double scarce = smallest(PATIENCE, root(0.15 * ln_t / (heard[RELEVANT] + 1.0)));
    double patient = largest(scarce, root(3.0 * ln_t / N));
    if (rule == PATIENT || c * width > NEW) return -patient;
    double irrelevant = smallest(1.0, (1.0 - heard[RELEVANT] / (N + 1.0)) / MOSTLY);
    return -patient * irrelevant;
}

// One more label heard; the older ones fade by `keep`.
INLINE void count_label(Vec<double> heard, bool relevant, double keep, double width) {
    heard[HEARD] = keep * heard[HEARD] + 1.0;
    if (heard.n > RELEVANT) heard[RELEVANT] = keep * heard[RELEVANT] + double(relevant);
    if (heard.n > WIDTH) heard[WIDTH] += largest(0.2, 1.0 / heard[HEARD]) * (width - heard[WIDTH]);
}

// Of a filter that watches for change: the faded sum S of p − y over what was heard, its variance, how many labels since the
// last fresh start, and how many in all.
enum : int64_t { RESIDUALS, VARIANCE, WATCHED, ALL_LABELS };
inline constexpr double FADING = 0.96, LEAST_VARIANCE = 0.05, DEVIATIONS = 4.0, FEWEST = 10.0, CHANGED = -1.0;

// S ← .96 S + (p − y), p = (1 + w·x)/2 in [0, 1]; whether less is relevant than was estimated, by four standard deviations.
INLINE bool watch_label(Vec<double> watched, double mean, bool relevant) {
    double p = smallest(largest((1.0 + mean) / 2.0, 0.0), 1.0);
    watched[RESIDUALS] = FADING * watched[RESIDUALS] + (p - double(relevant));
    watched[VARIANCE] = FADING * FADING * watched[VARIANCE] + largest(p * (1.0 - p), LEAST_VARIANCE);
    watched[WATCHED] += 1.0;
    watched[ALL_LABELS] += 1.0;
    return watched[WATCHED] >= FEWEST && watched[RESIDUALS] > DEVIATIONS * root(watched[VARIANCE]);
}

// What was heard; of a filter that tastes, the number of surprises; of one that watches for change, its residuals.
struct Counts {
    Vec<double> heard, tasted, watched;
    FIELDS(heard, tasted, watched)

    void check(const Exploring& e) const {
        e.check(heard);
        require(tasted.n == 1, "tasted is one number");
        require(watched.n == 0 || watched.n > ALL_LABELS, "watched is four numbers, or none");
    }
};

// Whether item t is forwarded.
INLINE bool forwards(const Exploring& e, double margin, int64_t t, const Counts& counts) {
    if (e.rule == EVERYTHING) return margin >= 0.0;
    if (e.rule == TASTING) {
        return margin >= 0.0 || first_uniform(key_in(e.key), uint64_t(t)) < tasting_chance(counts.tasted[0], t);
    }
    return margin >= threshold_of(e.rule, e.c, t, counts.heard);
}

// A stream: compressed rows, whether each is relevant, the order of play.
struct Items {
    Indices indices;
    Vec<const double> values;
    Vec<const int64_t> starts;
    Vec<const Flag> truth;
    Vec<const int64_t> order;
    FIELDS(indices, values, starts, truth, order)

    Csr<double> rows() const { return {indices, values, starts}; }
};

// What was forwarded in each round, and what the margin alone would have forwarded.
struct Forwarded {
    Vec<Flag> actions, greedy;
    FIELDS(actions, greedy)

    void check(int64_t rounds, int64_t first) const {
        require(actions.n == rounds && greedy.n == rounds, "what is shown needs one place per round");
        require(first >= 0 && first < int64_t(1) << 62, "the number of the first round is not one of a decision");
    }
};

inline void require_items(const Items& items, const Forwarded& shown, int64_t first, int64_t dim) {
    items.rows().check(dim);
    int64_t n = items.rows().rows();
    require(items.truth.n == n, "a stream needs one label per row");
    shown.check(items.order.n, first);
    bool sound = true;
    for (int64_t t : items.order) sound &= t >= 0 && t < n;
    require(sound, "the order of play names a row that is not there");
}

// Rounds in turn, until relevance has changed; how many. `ask` gives w·x and xᵀA⁻¹x of round i, `learn` learns its row;
// `relevant` says what is true. After a change the number of labels watched is CHANGED.
template <class Relevant, class Ask, class Learn>
INLINE int64_t play_rounds(const Exploring& e, const Counts& counts, int64_t first, const Forwarded& shown, Relevant relevant,
                        Ask ask, Learn learn) {
    for (int64_t i = 0; i < shown.actions.n; ++i) {
        Asked asked = ask(i);
        double margin = margin_of(asked.mean, asked.width);
        bool forward = forwards(e, margin, first + i, counts);
        shown.actions[i] = forward;
        shown.greedy[i] = margin >= 0.0;
        if (forward || e.rule == EVERYTHING) {
            bool truth = relevant(i);
            learn(i, truth ? 1.0 : -1.0, asked);
            count_label(counts.heard, truth, 1.0, asked.width);
            counts.tasted[0] += double(truth && margin < 0.0);
            if (counts.watched.n && watch_label(counts.watched, asked.mean, truth)) {
                counts.watched[WATCHED] = CHANGED;
                return i + 1;
            }
        }
    }
    return shown.actions.n;
}

// --- a ridge estimate is one class of second_order.hpp ----------------------------------------------------------------

INLINE void require_ridge(Mat<const double> W, Cube<const double> B) {
    require(W.rows == 1 && B.n0 == W.cols && B.n1 == 1 && B.n2 == W.cols, "W and B do not fit together");
}
INLINE void require_ridge(Mat<const double> S) { require(S.cols == 2, "S has two columns: weights and inverses"); }

// w·x and xᵀA⁻¹x; writes A⁻¹x, one row.
INLINE Asked full_ask(Mat<const double> W, Cube<const double> B, Indices idx, Vec<const double> val, Mat<double> product) {
    sum_rows(B, idx, val, product);
    return {sparse_dot(W[0], idx, val), sparse_dot(product[0], idx, val)};
}

// w ← w + (y − w·x)·A_new⁻¹x; A ← A + xxᵀ.
INLINE void full_learn(Mat<double> W, Cube<double> B, Mat<const double> product, double y, Asked asked) {
    double width = full_width(B, 0, product[0], asked.width);
    full_shift(W, 0, product[0], (y - asked.mean) / (1.0 + width));
    full_absorb(B, 0, product[0], width);
}

// The same if w·x and xᵀA⁻¹x are finite; returns both as they were.
inline Asked full_hear(Mat<double> W, Cube<double> B, Indices idx, Vec<const double> val, double y) {
    Scratch<double> space(W.cols);
    Mat<double> product = space.mat(1, W.cols);
    Asked asked = full_ask(W, B, idx, val, product);
    if (is_finite(asked.mean) && is_finite(asked.width)) full_learn(W, B, product, y, asked);
    return asked;
}

// w·x and xᵀA⁻¹x with diagonal A.
INLINE Asked diagonal_ask(Mat<const double> S, Indices idx, Vec<const double> val) {
    double moments[2];
    diagonal_moments(S, idx, val, Mat<double>{moments, 2, 1});
    return {moments[0], moments[1]};
}

// w ← w + (y − w·x)·u/(1 + x·u), u = x/a; a ← a + x².
INLINE void diagonal_learn(Mat<double> S, Indices idx, Vec<const double> val, double y, Asked asked) {
    diagonal_absorb(S, 0, idx, val, (y - asked.mean) / (1.0 + asked.width));
}

}  // namespace smidgen
