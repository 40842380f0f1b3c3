// Update rules: one step along a direction of improvement, and the way back to the set that the weights stay in.
//
// A `Program` holds the settings of a rule, a `RuleMemory` what it remembers, in place. A stream of rounds checks both
// once (`require_rule`), and then calls `learn` for each direction.
#pragma once

#include "geometry.hpp"

namespace smidgen {

// end = start + rate·direction; returns ‖end‖², which is not finite where the end is not, or too long to square.
INLINE double move(Vec<const double> start, Vec<const double> direction, double rate, Vec<double> end) {
    shift(end, start, direction, rate);
    return dot(end, end);
}

// --- exponentiated gradient (Kivinen and Warmuth 1997) -------------------------------------------------------------------

// Weights ∝ exp(theta); signed: exp(theta) for φ and exp(−theta) for −φ, folded to their difference.
//
// The largest exponent is subtracted first, so that nothing overflows however long the run.
inline void normalize(Vec<const double> theta, bool is_signed, Vec<double> w) {
    double most = -INF, sum = 0.0;
    for (int64_t i = 0; i < theta.n; ++i) most = largest(most, is_signed ? __builtin_fabs(theta[i]) : theta[i]);
    for (int64_t i = 0; i < theta.n; ++i) {
        double plus = exp(theta[i] - most), minus = is_signed ? exp(-theta[i] - most) : 0.0;
        w[i] = plus - minus;
        sum += plus + minus;
    }
    for (int64_t i = 0; i < theta.n; ++i) w[i] /= sum;
}

// end = theta + d/(2·bound·√t), and its weights; returns ‖end‖². The end may be theta itself.
inline double exponentiated_move(Vec<const double> theta, Vec<const double> d, double bound, double t, bool is_signed,
                                 Vec<double> end, Vec<double> w) {
    double squares = move(theta, d, 1.0 / (2.0 * bound * root(t)), end);
    normalize(end, is_signed, w);
    return squares;
}

// --- gradient (Zinkevich 2003) and soft perceptron --------------------------------------------------------------------------

// end = w + scale/√t · d; returns ‖end‖². The way back to the space is up to the caller.
INLINE double gradient_move(Vec<const double> w, Vec<const double> d, double scale, double t, Vec<double> end) {
    return move(w, d, scale / root(t), end);
}

// σ(−z) = 1/(1 + e^z): 1 where the weights say the opposite, 0 where they agree; without overflow.
INLINE double doubt(double agreement) {
    if (agreement > 0.0) {
        double small = exp(-agreement);
        return small / (1.0 + small);
    }
    return 1.0 / (1.0 + exp(agreement));
}

// end = w + weight·σ(−w·d)·d; returns ‖end‖².
INLINE double soft_move(Vec<const double> w, Vec<const double> d, double weight, Vec<double> end) {
    return move(w, d, weight * doubt(dot(w, d)), end);
}

// --- the online Newton step (Hazan, Agarwal and Kale 2007) --------------------------------------------------------------------

// `newton_move` where rounding would destroy B.
inline double careful_move(Mat<double> B, Vec<const double> d, Vec<const double> w, double gamma, double factor,
                           Vec<double> end) {
    if (!is_finite(absorb_carefully(B, d, gamma, end))) return INF;
    shift(end, w, end, factor);
    return dot(end, end);
}

// A ← A + gamma·d·dᵀ and end = w + factor·A⁻¹d, where A⁻¹ = B − v·vᵀ before and after; returns ‖end‖².
//
// v is the first row of `waiting`, as for `shrink_and_multiply`. A result that is not finite means that the step must not
// be taken; then A stays as it was. To go forward and backward through B in turns is faster, and makes no other
// difference.
inline double newton_move(Mat<double> B, Mat<double> waiting, Vec<const double> d, Vec<const double> w, double gamma,
                          double factor, Vec<double> end, bool back) {
    Vec<double> product = end, v = waiting[0];
    double quadratic = shrink_and_multiply(B, waiting, d, product, back);
    if (!sound(waiting[1], product, quadratic) || gamma * quadratic > LONG) {
        clear(v);
        return careful_move(B, d, w, gamma, factor, end);
    }
    double growth = 1.0 + gamma * quadratic, length = dot(product, product);
    scale(v, product, root(gamma / growth));
    shift(end, w, product, factor / growth);    // the product with the new A⁻¹, from that with the old one
    double squares = dot(end, end);
    if (!is_finite(growth + length + squares)) {
        clear(v);
        return INF;
    }
    return squares;
}

// --- any rule ------------------------------------------------------------------------------------------------------------------

// Kinds of rules, and what a memory counts (smidgen.optim.rule, smidgen.optim.program).
enum RuleKind : int64_t { ADDITIVE, GRADIENT, NEWTON, EXPONENTIATED, RETRAINED, SOFT, RULES };
enum Count : int64_t { STEPS, WAITING, SILENT, DECIDED, FILLED, PROJECTED, COUNTS };

// The settings of a rule. A kind reads its own fields.
struct Program {
    int64_t kind, batch;    // rounds per step
    double scale, gamma;    // scale: of a step; the bound S of an exponentiated one
    int64_t horizon;        // 0: none, the rate falls with the steps
    bool is_signed;
    Region region;    // what the weights are brought back to
    FIELDS(kind, batch, scale, gamma, horizon, is_signed, region)
};

// What a rule remembers; arrays that it does not need are empty.
struct RuleMemory {
    int64_t dim;                 // of the weights; arrays may hold more, which stays 0
    Vec<double> w, end, theta;   // end: space for the next weights; theta: the log-weights of an exponentiated rule
    Mat<double> inverse;         // Newton: A⁻¹ is inverse − v·vᵀ, by its lower triangle
    Mat<double> waiting;         // v, and space for the diagonal
    Vec<double> total;           // batch: the sum of its directions so far
    Mat<double> pairs;           // retrained: space for the directions until the next training
    Vec<double> scratch;         // space for a point of the region
    Vec<int64_t> counts;
    FIELDS(dim, w, end, theta, inverse, waiting, total, pairs, scratch, counts)
};

// Check all that `learn` and `step` rely on; directions have as many numbers as w.
inline void require_rule(const Program& p, const RuleMemory& m) {
    int64_t n = m.w.n;
    require(p.kind >= 0 && p.kind < RULES, "there is no such kind of rule");
    require(m.dim >= 1 && m.dim <= n, "the weights do not fit their dimension");
    require(m.counts.n == COUNTS, "a rule has six counts");
    for (int64_t count : m.counts) require(count >= 0 && count < int64_t(1) << 62, "a count is out of range");
    require(p.batch <= 1 || m.total.n == n, "the sum of the batch does not fit the weights");
    require(p.kind != EXPONENTIATED || m.theta.n == n, "the log-weights do not fit the weights");
    require(p.kind != RETRAINED || m.pairs.cols == n, "the pairs do not fit the weights");
    if (p.kind == GRADIENT || p.kind == NEWTON) {
        require(m.end.n == n, "the next weights do not fit the weights");
        p.region.check(m.dim, m.scratch);
    }
    if (p.kind == NEWTON) {
        require_symmetric(m.inverse, n);
        require(m.inverse.rows >= m.dim, "the matrix does not fit the weights");
        require_waiting(m.waiting, n);
    }
}

// Whether a direction is zero.
INLINE bool silent(Vec<const double> d) {
    int64_t i = 0;
    while (i < d.n && d[i] == 0.0) ++i;
    return i == d.n;
}

// One step of the rule along factor·d; false if the step leaves the finite numbers, and must not be kept.
bool step(const Program& p, const RuleMemory& m, Vec<const double> d, double factor);    // steps.cpp

// Step along d, or, of a batch, along the sum when it is full; then d becomes the sum.
inline bool learn(const Program& p, const RuleMemory& m, Vec<double> d) {
    m.counts[SILENT] += silent(d);
    if (p.batch > 1) {
        move(m.total, d, 1.0, m.total);
        if (++m.counts[WAITING] < p.batch) return true;
        copy(d, m.total);
        clear(m.total);
        m.counts[WAITING] = 0;
    }
    return step(p, m, d, 1.0);
}

}  // namespace smidgen
