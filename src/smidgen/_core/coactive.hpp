// Duels of rankings: team drafts (Radlinski, Kurup and Joachims, CIKM 2008) and the dueling bandit (Yue and Joachims,
// ICML 2009).
#pragma once

#include "ranking.hpp"

namespace smidgen {

// Two captains pick in turn, a coin per turn decides who begins; each takes its best document that is left. Both rank all
// documents; `taken` is scratch.
inline void team_draft(Order first, Order second, Vec<const double> coins, Vec<int64_t> order, Vec<int64_t> teams,
                       Vec<uint8_t> taken) {
    int64_t n = first.n, i = 0, j = 0;
    clear(taken);
    for (int64_t k = 0; k < n; ++k) {
        int64_t begins = coins[k / 2] < 0.5 ? 0 : 1;
        teams[k] = k % 2 == 0 ? begins : 1 - begins;
        while (i < n && taken[first[i]]) ++i;
        while (j < n && taken[second[j]]) ++j;
        order[k] = teams[k] == 0 ? first[i] : second[j];
        taken[order[k]] = 1;
    }
}

INLINE int64_t side_of(int64_t team) { return team == 1 ? 1 : -1; }

// How many more of the user's first `top` documents the second team contributed than the first. Documents that neither
// contributed count for nobody. `side` is scratch, a place per document.
inline int64_t credit(Order shown, Order teams, Order better, int64_t top, Vec<int64_t> side) {
    int64_t total = 0;
    for (int64_t i = 0; i < shown.n; ++i) side[shown[i]] = side_of(teams[i]);
    for (int64_t i = 0; i < smallest(top, better.n); ++i) total += better[i] < side.n ? side[better[i]] : 0;
    return total;
}

// How many more of the clicked documents the second team contributed than the first.
inline int64_t team_clicks(Order shown, Order teams, Order clicked) {
    int64_t total = 0;
    for (int64_t i = 0; i < shown.n; ++i) {
        for (int64_t each : clicked) total += each == shown[i] ? side_of(teams[i]) : 0;
    }
    return total;
}

}  // namespace smidgen
