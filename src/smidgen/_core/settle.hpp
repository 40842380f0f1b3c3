// From estimates to a choice: how each rule shares its choice among the candidates, the floor, the draw.
#pragma once

#include "random.hpp"
#include "ridge.hpp"
#include "ties.hpp"

namespace smidgen {

using Mask = Vec<const Flag>;    // which candidates may be chosen; empty: all

// Where things stand in a learner's array of numbers (learners/choose/round.py): the rounds learnt, then its settings.
enum : int64_t { ROUNDS, RULE, WIDTH, GAMMA, FLOOR, MIN_SHARE, DRAWS, RIDGE, KEEP, COUNT, NUMBERS };
// Rules: the highest upper confidence bound, inverse gaps, the argmaxes of posterior samples.
enum Rule { UCB, GAPS, SAMPLES };
// In place of an action: a number is not finite; the least shares add up to more than 1.
inline constexpr int64_t NOT_FINITE = -1, TOO_MUCH = -2;

INLINE Fading fading_of(Vec<const double> numbers) { return {numbers[RIDGE], numbers[KEEP], numbers[ROUNDS]}; }
INLINE bool draws_samples(Vec<const double> numbers) { return numbers[RULE] == double(SAMPLES); }

INLINE void require_numbers(Vec<const double> numbers) {
    require(numbers.n == NUMBERS, "a learner of this loop has eleven numbers");
}
INLINE void require_estimates(const Estimates& out, Mask mask) {
    int64_t K = out.means.n;
    require(K >= 1 && out.spreads.n == K && out.p.n == K, "scores, widths and p need one place per candidate");
    require(mask.n == 0 || mask.n == K, "a mask needs one place per candidate");
    bool any = mask.n == 0;
    for (int64_t k = 0; k < mask.n; ++k) any |= bool(mask[k]);
    require(any, "no candidate is on offer");
}

// --- from estimates to probabilities ---------------------------------------------------------------------------------

INLINE bool on_offer(Mask mask, int64_t k) { return mask.n == 0 || bool(mask[k]); }

INLINE int64_t how_many(Mask mask, int64_t n) {
    if (mask.n == 0) return n;
    int64_t count = 0;
    for (int64_t k = 0; k < n; ++k) count += bool(mask[k]);
    return count;
}

// All to the highest f_a + κ√(x_aᵀA⁻¹x_a), to equals evenly (Chu et al. 2011).
INLINE void share_by_bound(Vec<const double> means, Vec<const double> widths, Mask mask, Vec<double> p) {
    auto bound = [&](int64_t k) { return means[k] + widths[k]; };
    Best best = best_of(means.n, bound, [&](int64_t k) { return on_offer(mask, k); });
    for (int64_t k = 0; k < means.n; ++k) p[k] = on_offer(mask, k) && bound(k) >= best.least ? 1.0 / double(best.tied) : 0.0;
}

// p_a = 1/(K + γ(f_best − f_a)), and the rest to the best, to equals evenly (Foster & Rakhlin 2020).
INLINE void share_by_gap(Vec<const double> means, Mask mask, const Best& best, double gamma, Vec<double> p) {
    double K = double(how_many(mask, means.n)), rest = 1.0;
    for (int64_t k = 0; k < means.n; ++k) {
        p[k] = 0.0;
        if (on_offer(mask, k) && !(means[k] >= best.least)) {
            p[k] = 1.0 / (K + gamma * (means[best.place] - means[k]));
            rest -= p[k];
        }
    }
    for (int64_t k = 0; k < means.n; ++k) {
        if (on_offer(mask, k) && means[k] >= best.least) p[k] = rest / double(best.tied);
    }
}

// All to the candidate of the largest share, the first of equals.
INLINE void only_the_largest(Vec<double> p) {
    int64_t best = 0;
    for (int64_t k = 1; k < p.n; ++k) {
        if (p[k] > p[best]) best = k;
    }
    for (int64_t k = 0; k < p.n; ++k) p[k] = k == best ? 1.0 : 0.0;
}

// Give every candidate its part of the floor, or its least share; says no where the least shares exceed 1.
INLINE bool mix(Vec<double> p, Mask mask, double floor, double min_share) {
    double K = double(how_many(mask, p.n)), each = largest(floor / K, min_share);
    if (each > 0.0) {
        double left = 1.0 - K * each;
        if (left < 0.0) {
            if (left < -1e-9) return false;
            left = 0.0;
        }
        for (int64_t k = 0; k < p.n; ++k) {
            if (on_offer(mask, k)) p[k] = left * p[k] + each;
        }
    }
    return true;
}

// The candidate that has all, −1 if none has: then there is something to draw.
INLINE int64_t sole(Vec<const double> p) {
    for (int64_t k = 0; k < p.n; ++k) {
        if (p[k] > 0.0) return p[k] == 1.0 ? k : -1;
    }
    return -1;
}

// The candidate that a uniform number falls to.
INLINE int64_t draw(Vec<const double> p, double u) {
    int64_t last = 0;
    double total = 0.0;
    for (int64_t k = 0; k < p.n; ++k) {
        if (p[k] > 0.0) {
            last = k;
            total += p[k];
            if (u < total) return k;
        }
    }
    return last;
}

INLINE bool sane(Vec<const double> means, Vec<const double> spreads) {
    int64_t strange = 0;
    for (int64_t k = 0; k < means.n; ++k) strange += !(is_finite(means[k]) && is_finite(spreads[k]));
    return strange == 0;
}

// The action, the greedy one, and the probability of the action.
using Settled = std::tuple<int64_t, int64_t, double>;

// From estimates, spreads and (of samples) shares. Leaves the widths in place of the spreads, and the propensities.
inline Settled settle(const Estimates& out, Mask mask, Vec<const double> numbers, Key key, int64_t number) {
    if (!sane(out.means, out.spreads)) return {NOT_FINITE, NOT_FINITE, 0.0};
    for (int64_t k = 0; k < out.spreads.n; ++k) out.spreads[k] = numbers[WIDTH] * root(out.spreads[k]);
    auto mean = [&](int64_t k) { return out.means[k]; };
    Best best = best_of(out.means.n, mean, [&](int64_t k) { return on_offer(mask, k); });
    if (numbers[RULE] == double(UCB)) {
        share_by_bound(out.means, out.spreads, mask, out.p);
    } else if (numbers[RULE] == double(GAPS)) {
        share_by_gap(out.means, mask, best, numbers[GAMMA] * root(numbers[ROUNDS]), out.p);
    }
    if (numbers[DRAWS] == 0.0) only_the_largest(out.p);
    if (!mix(out.p, mask, numbers[FLOOR], numbers[MIN_SHARE])) return {TOO_MUCH, TOO_MUCH, 0.0};
    int64_t certain = sole(out.p);
    int64_t action = certain >= 0 ? certain : draw(out.p, first_uniform(key, uint64_t(number)));
    return {action, greedy_of(best, mean, action, number), out.p[action]};
}

// --- under a budget ----------------------------------------------------------------------------------------------------

// What a budget asks for each candidate: what is taken off its score, and its part of the floor. Empty: no budget.
struct Pricing {
    Vec<const double> price, shares;
    FIELDS(price, shares)

    INLINE bool there() const { return price.n > 0; }
    void check(int64_t K) const {
        require(price.n == shares.n && (price.n == 0 || price.n == K), "prices and shares need one place per candidate");
    }
};

// Give every candidate its part of the floor, or its least share if that is larger; says no where the least shares exceed 1.
INLINE bool mix_in_parts(Vec<double> p, Mask mask, double floor, double min_share, Vec<const double> shares) {
    double K = double(how_many(mask, p.n)), least = K * min_share, total = 0.0;
    if (least > 1.0 + 1e-9) return false;
    auto part = [&](int64_t k) { return largest(floor * shares[k], min_share); };
    for (int64_t k = 0; k < p.n; ++k) total += on_offer(mask, k) ? part(k) : 0.0;
    if (total == 0.0) return true;
    double left = largest(1.0 - total, 0.0), rest = largest(1.0 - least, 0.0);
    for (int64_t k = 0; k < p.n; ++k) {
        if (on_offer(mask, k)) p[k] = total <= 1.0 ? left * p[k] + part(k) : min_share + rest * shares[k];
    }
    return true;
}

// From estimates, widths and (of samples) shares, less the prices, to a choice. A score counts as at most 1, the best reward.
inline Settled settle_priced(const Estimates& out, Mask mask, Vec<const double> numbers, Key key, int64_t number,
                             const Pricing& pricing) {
    if (!sane(out.means, out.spreads) || !sane(pricing.price, pricing.shares)) return {NOT_FINITE, NOT_FINITE, 0.0};
    int64_t K = out.means.n;
    Scratch<double> worth(K), none(K, 0.0);
    for (int64_t k = 0; k < K; ++k) worth[k] = smallest(out.means[k], 1.0) - pricing.price[k];
    auto mean = [&](int64_t k) { return worth[k]; };
    Best best = best_of(K, mean, [&](int64_t k) { return on_offer(mask, k); });
    if (numbers[RULE] == double(UCB)) {
        Scratch<double> bound(K);
        for (int64_t k = 0; k < K; ++k) bound[k] = smallest(out.means[k] + out.spreads[k], 1.0) - pricing.price[k];
        share_by_bound(bound.vec(), none.vec(), mask, out.p);
    } else if (numbers[RULE] == double(GAPS)) {
        share_by_gap(worth.vec(), mask, best, numbers[GAMMA] * root(numbers[ROUNDS]), out.p);
    }
    if (numbers[DRAWS] == 0.0) only_the_largest(out.p);
    if (!mix_in_parts(out.p, mask, numbers[FLOOR], numbers[MIN_SHARE], pricing.shares)) return {TOO_MUCH, TOO_MUCH, 0.0};
    int64_t certain = sole(out.p);
    int64_t action = certain >= 0 ? certain : draw(out.p, first_uniform(key, uint64_t(number)));
    return {action, greedy_of(best, mean, action, number), out.p[action]};
}

}  // namespace smidgen
