// Rankings that are shown with some randomness, and what clicks on them say (learners/rank).
#pragma once

#include "lanes_math.hpp"
#include "random.hpp"
#include "ranking.hpp"

namespace smidgen {

// --- Plackett–Luce: one place after the other, each document with a chance of exp(score) among those left ------------
// (R. L. Plackett, The analysis of permutations, 1975). To draw from it, sort by the scores plus Gumbel noise.

inline constexpr double LEAST = 0x1p-54;    // a uniform of 0 counts as this
inline constexpr double SAFE = 600.0;       // exponents whose sum stays below this neither overflow nor vanish

struct Range {
    double low, high;
    INLINE double spread(int64_t places) const { return (high - low) * double(places); }
};
INLINE Range range_of(Vec<const double> scores) {
    Range r{scores[0], scores[0]};
    for (int64_t i = 0; i < scores.n; ++i) {
        r.low = smallest(r.low, scores[i]);
        r.high = largest(r.high, scores[i]);
    }
    return r;
}

// log(exp(a) + exp(b)) for numbers of any size; one of them may be −∞.
inline double log_sum(double a, double b) {
    double high = largest(a, b);
    return high + log(exp(a - high) + exp(b - high));
}

// The log of the chance that the first places of a drawn ranking are these. Of scores that are numbers.
inline double log_probability(Vec<const double> scores, Order order, int64_t places) {
    int64_t n = order.n, few = smallest(largest(places, int64_t(0)), n);
    Scratch<double> space(2 * n + few);
    Vec<double> high = space.vec().slice(0, n), step = space.vec().slice(n, 2 * n), left = space.vec().from(2 * n);
    double above = -INF;    // the highest score from here on
    for (int64_t r = n - 1; r >= 0; --r) {
        double s = scores[order[r]];
        step[r] = s <= above ? s - above : above - s;
        above = s <= above ? above : s;
        high[r] = above;
    }
    exp_all(step);
    double sum = 0.0, total = 0.0;    // exp(high)·sum is the sum over the documents from here on
    for (int64_t r = n - 1; r >= 0; --r) {
        bool lower = r + 1 < n && scores[order[r]] <= high[r + 1];
        sum = lower ? sum + step[r] : sum * step[r] + 1.0;
        if (r < few) left[r] = sum;
    }
    log_all(left);
    for (int64_t r = few - 1; r >= 0; --r) total += scores[order[r]] - high[r] - left[r];
    return total;
}

// Write the ranking that belongs to a decision; returns false, and writes none, if the probability of the first places
// would have no logarithm. `noisy` is scratch.
inline bool draw(Vec<const double> scores, Key key, uint64_t number, int64_t places, Vec<int64_t> order,
                 Vec<double> noisy) {
    if (!(range_of(scores).spread(places) < INF)) return false;
    fill_uniforms(key, number, noisy);
    for (int64_t i = 0; i < noisy.n; ++i) noisy[i] = largest(noisy[i], LEAST);
    for_lanes(noisy, [](Lanes u) __attribute__((always_inline)) { return log(-log(u)); });
    for (int64_t i = 0; i < noisy.n; ++i) noisy[i] = scores[i] - noisy[i];
    return rank(noisy, order);
}

// What the odds of an exchange are computed from: a weight per place, and the sum of those from each place on.
//
// The weights are exp(score − highest) if none of their products over `places` can vanish; then they are safe. Otherwise
// they are the scores themselves, and the sums are logs of sums of exponentials.
struct Suffixes {
    Vec<double> at, left;    // a place per document, and one more for `left`
    bool safe;

    // `space` holds two numbers per document, and one more.
    Suffixes(Vec<const double> scores, Order order, int64_t places, Vec<double> space)
        : at(space.slice(0, order.n)), left(space.slice(order.n, 2 * order.n + 1)) {
        int64_t n = order.n;
        Range r = range_of(scores);
        safe = r.spread(places) <= SAFE;
        if (safe) {
            for (int64_t k = 0; k < n; ++k) at[k] = scores[order[k]] - r.high;
            exp_all(at);
            left[n] = 0.0;
            for (int64_t k = n - 1; k >= 0; --k) left[k] = left[k + 1] + at[k];
        } else {
            for (int64_t k = 0; k < n; ++k) at[k] = scores[order[k]];
            left[n] = -INF;
            for (int64_t k = n - 1; k >= 0; --k) left[k] = log_sum(left[k + 1], at[k]);
        }
    }

    // P(R)/P(R*), R the ranking and R* the one with places i < j exchanged.
    //
    // Only the choices between the two differ: where R still has the document of place j, R* has that of place i. The
    // sums of all others are of positive terms, from place j up, so that nothing cancels.
    INLINE double odds(int64_t i, int64_t j) const { return safe ? safe_odds(i, j) : log_odds(i, j); }

  private:
    INLINE double safe_odds(int64_t i, int64_t j) const {
        double rest = left[j + 1], upper = at[i], lower = at[j], odds = (rest + upper) / (rest + lower);
        for (int64_t r = j - 1; r > i; --r) {
            rest += at[r];
            odds *= (rest + upper) / (rest + lower);
        }
        return odds;
    }
    __attribute__((noinline)) double log_odds(int64_t i, int64_t j) const {
        double rest = left[j + 1], total = log_sum(rest, at[i]) - log_sum(rest, at[j]);
        for (int64_t r = j - 1; r > i; --r) {
            rest = log_sum(rest, at[r]);
            total += log_sum(rest, at[i]) - log_sum(rest, at[j]);
        }
        return total < SAFE ? exp(total) : INF;
    }
};

// --- answers: the lower the standing of a document, the better -------------------------------------------------------

// Clicked documents have standing 0, others 1. Returns the places that the clicks say something about, down to the one
// below the last click; 0 without clicks, −1 if a document is not there.
inline int64_t stand_clicked(Order shown, Order clicked, Vec<int64_t> standing) {
    int64_t n = shown.n;
    for (int64_t& each : standing) each = 1;
    for (int64_t document : clicked) {
        if (document < 0 || document >= n) return -1;
        standing[document] = 0;
    }
    int64_t last = n - 1;
    while (last >= 0 && standing[shown[last]] == 1) --last;
    return last >= 0 ? smallest(last + 2, n) : 0;
}

// The standing of a document is its place in the better ranking, which may hold later documents too.
INLINE void stand_placed(Order better, Vec<int64_t> standing) {
    for (int64_t i = 0; i < better.n; ++i) {
        if (better[i] < standing.n) standing[better[i]] = i;
    }
}

// --- PDGD (Oosterhuis and de Rijke, Differentiable unbiased online learning to rank, CIKM 2018) ----------------------

// What each place is worth to the step: Σ over pairs of step·ρ·σ(s_a − s_b)·σ(s_b − s_a), + for a, − for b, with
// ρ = P(R*)/(P(R) + P(R*)). Pairs are those within the first `places`, at least 0 and at most n. The first n numbers of
// `out` are the answer; it holds three numbers per place, and one more. Returns whether there was a pair.
inline bool pair_coefficients(Vec<const double> scores, Order shown, Order standing, int64_t places, bool clicks,
                              double step, Vec<double> out) {
    int64_t n = shown.n, waiting = 0;
    bool found = false;
    Vec<double> worth = out.slice(0, n);
    clear(worth);
    if (places < 2) return false;
    Suffixes suffixes(scores, shown, places, out.slice(n, 3 * n + 1));
    struct Pair {
        int64_t i, j;
        bool lower;    // the one below is preferred
    } pairs[LANES];
    alignas(64) double gaps[LANES] = {};
    auto add = [&]() {    // exponentials of eight pairs at a time
        store(gaps, exp(load(gaps)));
        for (int64_t k = 0; k < waiting; ++k) {
            Pair pair = pairs[k];
            double gap = gaps[k];
            double each = step / (1.0 + suffixes.odds(pair.i, pair.j)) * gap / ((1.0 + gap) * (1.0 + gap));
            each = pair.lower ? each : -each;
            worth[pair.j] += each;
            worth[pair.i] -= each;
        }
        waiting = 0;
    };
    for (int64_t j = 1; j < places; ++j) {
        int64_t below = standing[shown[j]];
        for (int64_t i = 0; i < j; ++i) {
            int64_t above = standing[shown[i]];
            if (below == above || (above < below && !clicks)) continue;
            pairs[waiting] = {i, j, below < above};
            gaps[waiting++] = -__builtin_fabs(scores[shown[i]] - scores[shown[j]]);
            found = true;
            if (waiting == LANES) add();
        }
    }
    if (waiting) add();
    return found;
}

// --- neighbors swapped at random (Radlinski and Joachims, FairPairs, AAAI 2006; Raman et al., 3PR, ICML 2013) --------

// How many pairs of neighbors there are from a place on.
INLINE int64_t pairs_from(int64_t places, int64_t start) { return largest(places - start, int64_t(0)) / 2; }

// Swap neighbors of `order` within its first `depth` places, as belongs to a decision; returns how many were.
//
// The pairs are (1, 2), (3, 4), …; if they alternate, a coin chooses between those and (2, 3), (4, 5), …. Writes the
// number of the pair at each place to `teams`, −1 where there is none. `coins` is scratch: one number, and one per pair.
inline int64_t swap_pairs(Key key, uint64_t number, int64_t depth, double swap, bool alternate, Vec<int64_t> order,
                          Vec<int64_t> teams, Vec<double> coins) {
    int64_t places = smallest(depth, order.n), swapped = 0;
    fill_uniforms(key, number, coins.slice(0, 1 + places / 2));
    int64_t start = alternate && coins[0] >= 0.5 ? 1 : 0;
    for (int64_t& each : teams) each = -1;
    for (int64_t k = 0; k < pairs_from(places, start); ++k) {
        int64_t i = start + 2 * k, a = order[i], b = order[i + 1];
        bool turned = coins[1 + k] < swap;
        teams[i] = teams[i + 1] = k;
        order[i] = turned ? b : a;
        order[i + 1] = turned ? a : b;
        swapped += turned;
    }
    return swapped;
}

// log(baseᵉ), with 0⁰ = 1.
inline double log_power(double base, int64_t exponent) {
    return exponent == 0 ? 0.0 : base > 0.0 ? double(exponent) * log(base) : -INF;
}

// The log of the probability of a list with some pairs swapped. One without a swap can come of either pairing.
inline double swap_chance(int64_t places, int64_t swapped, double swap, bool alternate, Order teams) {
    const int64_t pairs[2] = {pairs_from(places, 0), pairs_from(places, 1)};
    int64_t start = places > 0 && teams[0] < 0 && pairs[1] > 0 ? 1 : 0;
    double chance = log_power(swap, swapped) + log_power(1.0 - swap, pairs[start] - swapped);
    if (alternate && swapped == 0) return log(0.5 * (exp(chance) + exp(log_power(1.0 - swap, pairs[1 - start]))));
    return alternate ? chance + log(0.5) : chance;
}

INLINE bool is_pair(Order teams, int64_t i) { return (teams[i] >= 0) & (teams[i] == teams[i + 1]); }

// Write (preferred, other) for each pair of places that the answer tells apart, from the top; returns how many, at most
// the number of documents. A better ranking counts a pair that it turned round twice, and others not at all.
inline int64_t preferred_pairs(Order shown, Order teams, Order standing, bool clicks, Mat<int64_t> pairs) {
    int64_t count = 0;
    auto note = [&](int64_t preferred, int64_t other) {
        require(count < pairs.rows, "there are more pairs than places for them");
        pairs(count, 0) = preferred;
        pairs(count++, 1) = other;
    };
    for (int64_t i = 0; i + 1 < shown.n; ++i) {
        if (!is_pair(teams, i)) continue;
        int64_t above = standing[shown[i]], below = standing[shown[i + 1]];
        if (below < above) {
            note(shown[i + 1], shown[i]);
            if (!clicks) note(shown[i + 1], shown[i]);
        } else if (above < below && clicks) {
            note(shown[i], shown[i + 1]);
        }
    }
    return count;
}

// One AdaGrad step on log(1 + exp(−w·δ)) per δ, in turn and in place (Duchi, Hazan and Singer 2011); returns whether all
// stayed finite.
inline bool adagrad_pairs(Mat<const double> deltas, double step, Vec<double> w, Vec<double> squares) {
    for (int64_t k = 0; k < deltas.rows; ++k) {
        Vec<const double> delta = deltas[k];
        double margin = row_score(delta, w);
        double gap = exp(-__builtin_fabs(margin));
        double away = (margin > 0.0 ? gap : 1.0) / (1.0 + gap);    // σ(−margin)
        for (int64_t j = 0; j < w.n; ++j) {
            double gradient = away * delta[j];
            squares[j] += gradient * gradient;
            w[j] += step * gradient / root(squares[j]);
        }
    }
    return all_finite(w) && all_finite(squares);
}

// Write the ranking with every pair exchanged whose lower document stands better; returns whether there was one. At
// least one document.
inline bool exchange_pairs(Order shown, Order teams, Order standing, Vec<int64_t> better) {
    int64_t last = shown.n - 1, above = shown[0];    // above: what stands there once the pair above it is settled
    bool found = false;
    for (int64_t i = 0; i < last; ++i) {
        int64_t lower = shown[i + 1];
        bool turned = is_pair(teams, i) & (standing[lower] < standing[shown[i]]);
        better[i] = turned ? lower : above;
        above = turned ? above : lower;
        found |= turned;
    }
    better[last] = above;
    return found;
}

}  // namespace smidgen
