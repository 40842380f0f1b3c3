// Ties in the score that decides: scores equal to 1e-12 of the highest one. One of them is drawn, each as likely as the
// others, by (seed, decision number); the number 0, of predictions, takes the first.
#pragma once

#include "random.hpp"

namespace smidgen {

inline constexpr double TIE = 1e-12;

// The highest score's place, the least score that equals it, and how many do.
struct Best {
    int64_t place = 0;
    double least = INF;
    int64_t tied = 1;
};

// Of the scores of n places, those on offer; a score that is no number is never the highest.
template <class Score, class Offered>
INLINE Best best_of(int64_t n, Score score, Offered offered) {
    Best best;
    double highest = -INF;
    int64_t first = -1;
    for (int64_t k = 0; k < n; ++k) {
        if (!offered(k)) continue;
        if (first < 0) first = k;
        double mine = score(k);
        if (mine > highest) {
            first = k;
            highest = mine;
        }
    }
    best.place = largest(first, int64_t(0));
    best.least = highest - TIE * (highest < 0.0 ? -highest : highest);
    int64_t tied = 0;
    for (int64_t k = 0; k < n; ++k) {
        if (offered(k) && score(k) >= best.least && tied++ == 0) best.place = k;
    }
    best.tied = largest(tied, int64_t(1));    // none, if the highest is not finite
    return best;
}

template <class Score>
INLINE Best best_of(int64_t n, Score score) {
    return best_of(n, score, [](int64_t) { return true; });
}

// One of the tied places. The first uniform of a decision is for its floor, the second for this.
template <class Score>
INLINE int64_t break_tie(const Best& best, int64_t n, Score score, Key key, int64_t number) {
    if (best.tied == 1 || number == 0) return best.place;
    double u = to_unit(philox(key, 0, uint64_t(number)).word[1]);
    int64_t left = smallest(truncated(u * double(best.tied)), best.tied - 1);
    for (int64_t k = best.place; k < n; ++k) {
        if (score(k) >= best.least && left-- == 0) return k;
    }
    return best.place;
}

// The best guess without exploration, given what goes out: that, if its estimate is as high as any, else the first.
template <class Score>
INLINE int64_t greedy_of(const Best& best, Score score, int64_t shown, int64_t number) {
    return number != 0 && best.tied > 1 && score(shown) >= best.least ? shown : best.place;
}

// How likely each of n places is, if the tied ones share what a floor leaves.
template <class Score>
INLINE void tie_shares(const Best& best, int64_t n, Score score, double floor, Vec<double> out) {
    double each = floor / double(n), more = (1.0 - floor) / double(best.tied);
    for (int64_t k = 0; k < n; ++k) {
        bool chosen = best.tied == 1 ? k == best.place : score(k) >= best.least;
        out[k] = (chosen ? more : 0.0) + each;
    }
}

}  // namespace smidgen
