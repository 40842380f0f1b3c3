// Convex sets: ball, box, simplex, L1 ball. Their coordinates, and projections: the nearest point of the set, or the
// nearest in the norm of a matrix A of which the inverse is known.
//
// z are free coordinates: 0 is the center of the set. x are the coordinates that users see.
#pragma once

#include "math.hpp"
#include "symmetric.hpp"

namespace smidgen {

enum Kind : int64_t { BOX, SIMPLEX, L1_BALL, BALL };

// --- ball --------------------------------------------------------------------------------------------------------------

// Bring z, which has this norm, to the length `radius`.
INLINE void shorten(Vec<double> z, double norm, double radius) {
    double factor = radius / norm;
    for (int64_t i = 0; i < z.n; ++i) z[i] *= factor;
}

// out = (I + lam·B)⁻¹v with norm radius: Lanczos on (B, v) until the residual is below tolerance·radius.
//
// B as in symmetric.hpp, v not empty; out may be v itself.
void project_on_ball(Mat<const double> B, Vec<const double> v, double radius, double tolerance, Vec<double> out);

// --- box ---------------------------------------------------------------------------------------------------------------

// x = center + z; what is inside, up to rounding, does not leave the limits.
inline void embed_in_box(Vec<const double> z, Vec<const double> low, Vec<const double> center, Vec<const double> high,
                         Vec<double> x) {
    for (int64_t i = 0; i < z.n; ++i) {
        x[i] = center[i] + z[i];
        double half = (high[i] - low[i]) / 2.0;
        if (__builtin_fabs(z[i]) <= half + 1e-14 * (__builtin_fabs(center[i]) + half)) {
            x[i] = smallest(largest(x[i], low[i]), high[i]);
        }
    }
}

// z ← argmin over u in the box of ‖u − z‖²: every coordinate clipped.
INLINE void clip_to_box(Vec<double> z, Vec<const double> half) {
    for (int64_t i = 0; i < z.n; ++i) z[i] = smallest(largest(z[i], -half[i]), half[i]);
}

// --- simplex: x = 1/d + Q·z with Q = [I − c·11ᵀ; −1ᵀ/√d] and c = 1/(d + √d); x has one number more than z ---------------

// x = Q·z.
inline void lift(Vec<const double> z, Vec<double> x) {
    int64_t n = z.n;
    double total = 0.0, side = root(double(n) + 1.0);
    for (int64_t i = 0; i < n; ++i) total += z[i];
    for (int64_t i = 0; i < n; ++i) x[i] = z[i] - total / (double(n) + 1.0 + side);
    x[n] = -total / side;
}

// out = Qᵀg: the part of a gradient that lies along the simplex.
inline void along_simplex(Vec<const double> g, Vec<double> out) {
    int64_t n = out.n;
    double total = 0.0, side = root(double(n) + 1.0);
    for (int64_t i = 0; i < n; ++i) total += g[i];
    double less = total / (double(n) + 1.0 + side) + g[n] / side;
    for (int64_t i = 0; i < n; ++i) out[i] = g[i] - less;
}

// x = 1/d + Q·z; what is inside does not fall below the floor by rounding.
inline void embed_in_simplex(Vec<const double> z, double floor, Vec<double> x) {
    lift(z, x);
    for (int64_t i = 0; i < x.n; ++i) {
        x[i] += 1.0 / double(x.n);
        if (floor - 1e-14 < x[i] && x[i] < floor) x[i] = floor;
    }
}

// values ← argmin over u ≥ 0 with Σu = total of ‖u − values‖²: max(values − τ, 0), where sorting finds τ (Held, Wolfe and
// Crowder 1974). At least one value.
void to_shares(Vec<double> values, double total);

// --- polytopes: the nearest point in a norm ------------------------------------------------------------------------------

namespace polytope {

// Sums in the order of the coordinates.
INLINE double inner(Vec<const double> x, Vec<const double> y) {
    double sum = 0.0;
    for (int64_t i = 0; i < x.n; ++i) sum += x[i] * y[i];
    return sum;
}
INLINE double norm(Vec<const double> x) { return root(inner(x, x)); }

}  // namespace polytope

// z ← argmin over u in the polytope of (u − z)ᵀA(u − z), up to the tolerance outside; z is not empty. Of A⁻¹ the first
// z.n rows and columns count, of those the lower triangle.
void move_to_nearest(Vec<double> z, Mat<const double> inverse, int64_t kind, Vec<const double> bounds,
                     double tolerance);

// --- any of ball, box and simplex ------------------------------------------------------------------------------------------

// A space, as `smidgen.geometry.space.Region` describes it.
struct Region {
    int64_t kind, dim;    // dim: of a point x
    Vec<const double> low, center, high;    // of a box; of a simplex, low[0] is the floor
    Vec<const double> bounds;               // the radius; half of each edge; how far below the center a share can fall
    FIELDS(kind, dim, low, center, high, bounds)

    // Whether projections of vectors z of n coordinates are defined, with space for a point.
    void check(int64_t n, Vec<const double> x) const {
        require(kind == BALL || kind == BOX || kind == SIMPLEX, "the region has no such kind");
        require(n >= 1 && bounds.n >= (kind == BOX ? n : 1), "the bounds of the region do not fit the vectors");
        require(kind != SIMPLEX || (dim == n + 1 && x.n >= dim), "the simplex does not fit the vectors");
    }
};

inline constexpr double TOLERANCE = 1e-10;    // of projections in a norm

// Whether z, which has this norm, lies in the set; x is space for a point.
inline bool inside(const Region& region, Vec<const double> z, double norm, Vec<double> x) {
    bool within = true;
    if (region.kind == BALL) return norm <= region.bounds[0];
    if (region.kind == BOX) {
        for (int64_t i = 0; i < z.n; ++i) within &= __builtin_fabs(z[i]) <= region.bounds[i];
    } else {
        lift(z, x);
        for (int64_t i = 0; i < region.dim; ++i) within &= x[i] >= -region.bounds[0];
    }
    return within;
}

// Move z, which has this norm and may lie outside, to the nearest point of the set: the Euclidean projection.
inline void to_nearest(const Region& region, Vec<double> z, double norm, Vec<double> x) {
    if (inside(region, z, norm, x)) return;
    if (region.kind == BALL) {
        shorten(z, norm, region.bounds[0]);
    } else if (region.kind == BOX) {
        clip_to_box(z, region.bounds);
    } else {
        x = x.slice(0, region.dim);
        lift(z, x);
        to_shares(x, double(region.dim) * region.bounds[0]);
        along_simplex(x, z);
    }
}

// Move z, which lies outside, to the nearest point of the set in the norm of A, given A⁻¹ (and zeros beyond).
inline void to_nearest_in_norm(const Region& region, Vec<double> z, Mat<const double> inverse, Vec<double> x) {
    if (region.kind == BALL) {
        project_on_ball(inverse, z, region.bounds[0], TOLERANCE, z);
        return;
    }
    move_to_nearest(z, inverse, region.kind, region.bounds, TOLERANCE);
    to_nearest(region, z, polytope::norm(z), x);
}

// --- rank-one steps of an inverse where rounding would destroy it ------------------------------------------------------------
//
// Sherman and Morrison's B − vvᵀ takes a number of size 1 from a number of size 1 when a direction is long under B. What
// is left should be 1e-24 and is rounding: B has lost its positive eigenvalues, and the next step runs away. A column of
// milliseconds is enough for that. Here B is brought to a unit diagonal, so that every column counts by its own scale, and
// is factored; the step is taken on the factor F, and B is F·Fᵀ again (Bierman 1977 on square-root filters).

inline constexpr double LONG = 1e8;         // a direction longer than this under B (squared) takes the careful way
inline constexpr double LONGEST = 1e200;    // a squared product beyond this is refused: the factor must fit next to it

// Whether B·x and x·B·x can result from a B without negative eigenvalues: (B·x)_i² ≤ B_ii · x·B·x.
INLINE bool sound(Vec<const double> diagonal, Vec<const double> product, double quadratic) {
    if (!(quadratic >= 0.0)) return false;
    bool holds = true;
    for (int64_t i = 0; i < diagonal.n; ++i) holds &= !(product[i] * product[i] > 2.0 * diagonal[i] * quadratic + 1e-300);
    return holds;
}

// B ← (B⁻¹ + gamma·d·dᵀ)⁻¹; writes B·d with the new B, and returns d·B·d with the old one.
//
// A result that is not finite means that nothing was done to B.
double absorb_carefully(Mat<double> B, Vec<const double> d, double gamma, Vec<double> product);

}  // namespace smidgen
