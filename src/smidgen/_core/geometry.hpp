// Convex sets: ball, box, simplex, L1 ball. Their coordinates, and projections: the nearest point of the set, or the
// nearest in the norm of a matrix A of which the inverse is known.
//
// z are free coordinates: 0 is the center of the set. x are the coordinates that users see.
#pragma once

#include <algorithm>
#include <vector>

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

// x ← (I + lam·T)⁻¹x for the symmetric tridiagonal T with diagonal a and off-diagonal b.
inline void solve_shifted(Vec<const double> a, Vec<const double> b, double lam, Vec<double> pivot, Vec<double> x) {
    int64_t m = x.n;
    pivot[0] = 1.0 + lam * a[0];
    for (int64_t i = 1; i < m; ++i) {
        double factor = lam * b[i - 1] / pivot[i - 1];
        pivot[i] = 1.0 + lam * a[i] - factor * lam * b[i - 1];
        x[i] -= factor * x[i - 1];
    }
    x[m - 1] /= pivot[m - 1];
    for (int64_t i = m - 2; i >= 0; --i) x[i] = (x[i] - lam * b[i] * x[i + 1]) / pivot[i];
}

// The lam ≥ 0 with ‖z‖ = radius for z = (I + lam·T)⁻¹ norm·e_1, from a first guess; writes z.
//
// 1/‖z‖ is concave in lam, so a Newton step from above the root leads below it, and the steps from there rise to it and
// never overshoot.
inline double multiplier(Vec<const double> a, Vec<const double> b, double norm, double radius, double lam, Vec<double> z) {
    int64_t m = z.n;
    Scratch<double, 64> product(m), pivot(m);
    Vec<double> Tz = product.vec();
    for (int k = 0; k < 200; ++k) {
        clear(z);
        z[0] = norm;
        solve_shifted(a, b, lam, pivot.vec(), z);
        double length = root(dot(z, z));
        if (__builtin_fabs(length - radius) <= 1e-15 * radius || (k > 0 && length < radius)) break;
        for (int64_t i = 0; i < m; ++i) {
            Tz[i] = a[i] * z[i];
            if (i > 0) Tz[i] += b[i - 1] * z[i - 1];
            if (i < m - 1) Tz[i] += b[i] * z[i + 1];
        }
        solve_shifted(a, b, lam, pivot.vec(), Tz);
        double next = largest(lam + (length - radius) / radius * length * length / dot(z, Tz), 0.0);
        if (k > 0 && next <= lam) break;
        lam = next;
    }
    return lam;
}

// out = (I + lam·B)⁻¹v with norm radius: Lanczos on (B, v) until the residual is below tolerance·radius.
//
// B as in symmetric.hpp, v not empty; out may be v itself.
inline void project_on_ball(Mat<const double> B, Vec<const double> v, double radius, double tolerance, Vec<double> out) {
    int64_t n = v.n, m = 1;
    double lam = 0.0, norm = root(dot(v, v));
    std::vector<double> basis(static_cast<size_t>(smallest(n, int64_t(16)) * n));    // orthonormal rows
    Scratch<double> space(4 * n, 0.0);
    Vec<double> a = space.vec().slice(0, n), b = space.vec().slice(n, 2 * n), z = space.vec().slice(2 * n, 3 * n);
    Vec<double> u = space.vec().slice(3 * n, 4 * n);
    auto Q = [&](int64_t k) { return Vec<double>{basis.data() + k * n, n}; };
    for (int64_t i = 0; i < n; ++i) Q(0)[i] = v[i] / norm;
    while (true) {
        a[m - 1] = multiply(B, Q(m - 1), u, m % 2 == 0);
        for (int twice = 0; twice < 2; ++twice) {    // full reorthogonalization: the basis is short, so this is cheap
            for (int64_t k = 0; k < m; ++k) shift(u, u, Q(k), -dot(u, Q(k)));
        }
        b[m - 1] = root(dot(u, u));
        lam = multiplier(a.slice(0, m), b.slice(0, m), norm, radius, lam, z.slice(0, m));
        // Lanczos: (I + lam·B)Qᵀz − v = lam·b_m·z_m·q_{m+1}, so this is the residual, and it bounds the error
        if (m == n || lam * b[m - 1] * __builtin_fabs(z[m - 1]) <= tolerance * radius) break;
        if (m * n == int64_t(basis.size())) basis.resize(static_cast<size_t>(smallest(n, 2 * m) * n));
        for (int64_t i = 0; i < n; ++i) Q(m)[i] = u[i] / b[m - 1];
        ++m;
    }
    clear(u);
    for (int64_t k = 0; k < m; ++k) shift(u, u, Q(k), z[k]);
    double length = root(dot(u, u));
    if (0.0 < length && length < INF) {
        scale(out, u, smallest(1.0, radius / length));
    } else {    // rounding has left nothing of the metric: the nearest point then
        scale(out, v, radius / norm);
    }
}

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
inline void to_shares(Vec<double> values, double total) {
    int64_t n = values.n;
    double highest = values[0], added = 0.0, tau = 0.0;
    for (int64_t i = 1; i < n; ++i) highest = largest(highest, values[i]);
    for (int64_t i = 0; i < n; ++i) values[i] -= highest;    // positive shares lie within `total` of it: no digits are lost
    Scratch<double> falling(n);
    copy(falling.vec(), values);
    // NaN comes last, as a sort must not meet an order that contradicts itself
    std::sort(falling.data(), falling.data() + n, [](double a, double b) { return a > b || (a == a && b != b); });
    for (int64_t k = 1; k <= n; ++k) {
        double value = falling[k - 1];
        added += value;
        if (value * double(k) > added - total) tau = (added - total) / double(k);
    }
    for (int64_t i = 0; i < n; ++i) values[i] = largest(values[i] - tau, 0.0);
}

// --- polytopes: the nearest point in a norm ------------------------------------------------------------------------------
//
// The dual active-set method of Goldfarb and Idnani (Mathematical Programming 27, 1983): see
// `smidgen.geometry.polytope.nearest_in_norm`. A polytope is known only by its separation: given a point, the most
// violated of the constraints n·u ≤ b. So the 2^d facets of an L1 ball are never listed.

namespace polytope {

// Sums in the order of the coordinates.
INLINE double inner(Vec<const double> x, Vec<const double> y) {
    double sum = 0.0;
    for (int64_t i = 0; i < x.n; ++i) sum += x[i] * y[i];
    return sum;
}
INLINE double norm(Vec<const double> x) { return root(inner(x, x)); }

// The lower triangular L with L·Lᵀ = H; a pivot lost to rounding is lifted to the size of the rounding.
inline void factor(Mat<const double> H, Mat<double> L) {
    int64_t n = H.rows;
    double floor = 0.0;
    for (int64_t i = 0; i < n; ++i) floor = largest(floor, 1e-16 * double(n) * H(i, i));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            double sum = H(i, j);
            for (int64_t k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
            L(i, j) = i == j ? root(largest(sum, floor)) : sum / L(j, j);
        }
        for (int64_t j = i + 1; j < n; ++j) L(i, j) = 0.0;
    }
}

struct Violation {
    double by, bound;
};

// The most violated constraint normal·u ≤ bound; writes its normal.
inline Violation separate(int64_t kind, Vec<const double> bounds, Vec<const double> u, Vec<double> normal) {
    int64_t n = u.n, worst = 0;
    if (kind == L1_BALL) {    // s·u ≤ radius for every s of signs
        double sum = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            normal[i] = u[i] >= 0.0 ? 1.0 : -1.0;
            sum += __builtin_fabs(u[i]);
        }
        return {sum - bounds[0], bounds[0]};
    }
    if (kind == BOX) {    // ±u_i ≤ bounds_i
        double found = -INF;
        clear(normal);
        for (int64_t i = 0; i < n; ++i) {
            if (__builtin_fabs(u[i]) - bounds[i] > found) {
                worst = i;
                found = __builtin_fabs(u[i]) - bounds[i];
            }
        }
        normal[worst] = u[worst] >= 0.0 ? 1.0 : -1.0;
        return {found, bounds[worst]};
    }
    // −(Qu)_i ≤ bounds_0 for the n + 1 rows of Q = [I − c·11ᵀ; −1ᵀ/√(n + 1)]
    double sum = 0.0, side = root(double(n) + 1.0);
    for (int64_t i = 0; i < n; ++i) sum += u[i];
    double c = 1.0 / (double(n) + 1.0 + side), lowest = -sum / side;
    worst = n;
    for (int64_t i = 0; i < n; ++i) {
        if (u[i] - c * sum < lowest) {
            worst = i;
            lowest = u[i] - c * sum;
        }
    }
    for (int64_t i = 0; i < n; ++i) normal[i] = worst == n ? 1.0 / side : c;
    if (worst < n) normal[worst] -= 1.0;
    return {-lowest - bounds[0], bounds[0]};
}

// x ← T⁻ᵀx for the lower triangular T.
inline void solve_back(Mat<const double> T, Vec<double> x, int64_t m) {
    for (int64_t k = m - 1; k >= 0; --k) {
        x[k] /= T(k, k);
        for (int64_t j = 0; j < k; ++j) x[j] -= T(k, j) * x[k];
    }
}

// The active part of v and the rest: v = Σ_j r_j v_j + rest = Σ_k q_k Q_k + rest.
inline void split(Vec<const double> v, Mat<const double> Q, Mat<const double> T, int64_t m, Vec<double> q, Vec<double> r,
                  Vec<double> rest) {
    clear(q.slice(0, m));
    copy(rest, v);
    for (int twice = 0; twice < 2; ++twice) {    // Gram and Schmidt: orthogonal up to rounding
        for (int64_t k = 0; k < m; ++k) {
            double along = inner(Q[k], rest);
            q[k] += along;
            for (int64_t i = 0; i < v.n; ++i) rest[i] -= along * Q(k, i);
        }
    }
    copy(r.slice(0, m), q);
    solve_back(T, r, m);
}

// Remove the row `leaving` of T, and turn T back to a triangle, Q with it.
//
// One loop for each sum, each difference: of a loop with both GCC 12 makes fused instructions (vfmsubadd) and other bits,
// in spite of -ffp-contract=off.
inline void drop(int64_t leaving, Mat<double> Q, Mat<double> T, int64_t m) {
    Scratch<double, 64> turned(largest(Q.cols, m));
    for (int64_t k = leaving; k < m - 1; ++k) {
        for (int64_t j = 0; j < m; ++j) T(k, j) = T(k + 1, j);
    }
    for (int64_t k = leaving; k < m - 1; ++k) {
        double length = smidgen::hypot(T(k, k), T(k, k + 1)), cos = T(k, k) / length, sin = T(k, k + 1) / length;
        for (int64_t j = k; j < m - 1; ++j) turned[j] = cos * T(j, k) + sin * T(j, k + 1);
        for (int64_t j = k; j < m - 1; ++j) T(j, k + 1) = cos * T(j, k + 1) - sin * T(j, k);
        for (int64_t j = k; j < m - 1; ++j) T(j, k) = turned[j];
        for (int64_t i = 0; i < Q.cols; ++i) turned[i] = cos * Q(k, i) + sin * Q(k + 1, i);
        for (int64_t i = 0; i < Q.cols; ++i) Q(k + 1, i) = cos * Q(k + 1, i) - sin * Q(k, i);
        copy(Q[k], turned.vec());
    }
}

// u = the nearest point to z in the norm of H⁻¹.
inline void nearest(Mat<const double> H, Vec<const double> z, int64_t kind, Vec<const double> bounds, double tolerance,
                    Vec<double> u) {
    int64_t n = z.n, m = 0;
    Scratch<double> lower(n * n), basis(n * n), triangle((n + 1) * (n + 1), 0.0), vectors(10 * (n + 1), 0.0);
    Mat<double> L = lower.mat(n, n);
    Mat<double> Q = basis.mat(n, n), T = triangle.mat(n + 1, n + 1);    // the active v_j = Σ_k T_jk Q_k, Q_k orthonormal
    auto vector = [&](int64_t k, int64_t length) { return vectors.vec().slice(k * (n + 1), k * (n + 1) + length); };
    Vec<double> h = vector(0, n + 1), lam = vector(1, n + 1), lengths = vector(2, n + 1), q = vector(3, n + 1);
    Vec<double> r = vector(4, n + 1), p = vector(5, n), normal = vector(6, n), v = vector(7, n), rest = vector(8, n);
    Vec<double> c = vector(9, n + 1);
    factor(H, L);
    double trace = 0.0;
    for (int64_t i = 0; i < n; ++i) trace += H(i, i);
    double size = root(trace), far = norm(z);
    copy(u, z);
    for (int64_t round = 0; round < 50 * (n + 10); ++round) {
        Violation worst = separate(kind, bounds, u, normal);
        double violation = worst.by, bound = worst.bound, rounding = 1e-15 * norm(normal) * (far + size * norm(p));
        if (violation <= tolerance * bound + rounding) return;
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int64_t i = j; i < n; ++i) sum += L(i, j) * normal[i];
            v[j] = sum;
        }
        while (true) {
            split(v, Q, T, m, q, r, rest);
            double noise = norm(v), square = inner(rest, rest);
            for (int64_t j = 0; j < m; ++j) noise += __builtin_fabs(r[j]) * lengths[j];
            bool independent = m < n && root(square) > 1e-14 * noise;
            double t = independent ? violation / square : INF;
            int64_t leaving = -1;
            for (int64_t j = 0; j < m; ++j) {
                if (r[j] > 0.0 && lam[j] < t * r[j]) {
                    t = lam[j] / r[j];
                    leaving = j;
                }
            }
            if (!is_finite(t)) return;    // only rounding leads here: the set is not empty
            for (int64_t j = 0; j < m; ++j) lam[j] -= t * r[j];
            if (independent) violation = largest(0.0, violation - t * square);
            if (leaving < 0) {
                copy(T[m].slice(0, m), q);
                T(m, m) = root(square);
                for (int64_t i = 0; i < n; ++i) Q(m, i) = rest[i] / T(m, m);
                h[m] = inner(normal, z) - bound;
                lengths[m] = norm(v);
                ++m;
                break;
            }
            drop(leaving, Q, T, m);
            for (int64_t j = leaving; j < m - 1; ++j) {
                h[j] = h[j + 1];
                lam[j] = lam[j + 1];
                lengths[j] = lengths[j + 1];
            }
            --m;
        }
        // again from the active constraints, so that rounding does not add up: p = Σ_k c_k Q_k, T c = h, Tᵀlam = c
        clear(p);
        for (int64_t k = 0; k < m; ++k) {
            double sum = h[k];
            for (int64_t j = 0; j < k; ++j) sum -= T(k, j) * c[j];
            c[k] = sum / T(k, k);
            for (int64_t i = 0; i < n; ++i) p[i] += c[k] * Q(k, i);
        }
        copy(lam.slice(0, m), c);
        solve_back(T, lam, m);
        for (int64_t j = 0; j < m; ++j) lam[j] = largest(lam[j], 0.0);
        for (int64_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (int64_t j = 0; j <= i; ++j) sum += L(i, j) * p[j];
            u[i] = z[i] - sum;
        }
    }
}

}  // namespace polytope

// z ← argmin over u in the polytope of (u − z)ᵀA(u − z), up to the tolerance outside; z is not empty. Of A⁻¹ the first
// z.n rows and columns count, of those the lower triangle.
inline void move_to_nearest(Vec<double> z, Mat<const double> inverse, int64_t kind, Vec<const double> bounds,
                            double tolerance) {
    int64_t n = z.n;
    double trace = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        trace += inverse(i, i);
        squares += z[i] * z[i];
    }
    double length = root(squares), unit = trace > 0.0 ? trace : 1.0;    // so that nothing overflows
    Scratch<double> matrix(n * n), vectors(2 * n), limits(bounds.n);
    Mat<double> H = matrix.mat(n, n);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) H(i, j) = inverse(i, j) / unit;
    }
    Vec<double> near = vectors.vec().slice(0, n), u = vectors.vec().slice(n, 2 * n);
    for (int64_t i = 0; i < n; ++i) near[i] = z[i] / length;
    for (int64_t i = 0; i < bounds.n; ++i) limits[i] = bounds[i] / length;
    polytope::nearest(H, near, kind, limits.vec(), tolerance, u);
    scale(z, u, length);
}

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
inline double absorb_carefully(Mat<double> B, Vec<const double> d, double gamma, Vec<double> product) {
    int64_t n = B.rows;
    Scratch<double> factor(n * n, 0.0), vectors(2 * n, 0.0);
    Mat<double> L = factor.mat(n, n);    // B = S·L·Lᵀ·S, S = diag(sizes), for the next B without negative eigenvalues
    Vec<double> sizes = vectors.vec().slice(0, n), u = vectors.vec().slice(n, 2 * n);
    for (int64_t i = 0; i < n; ++i) sizes[i] = root(largest(B(i, i), 1e-300));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            double rest = smallest(largest(B(i, j) / sizes[i] / sizes[j], -1.0), 1.0);
            for (int64_t k = 0; k < j; ++k) rest -= L(i, k) * L(j, k);
            L(i, j) = rest / L(j, j);
        }
        double rest = 1.0;
        for (int64_t k = 0; k < i; ++k) rest -= L(i, k) * L(i, k);
        L(i, i) = root(largest(rest, 1e-15));    // what is left of a pivot when rounding has destroyed it
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) u[j] += L(i, j) * (sizes[i] * d[i]);
    }
    double squares = polytope::inner(u, u), growth = 1.0 + gamma * squares, length = 0.0;
    if (!is_finite(gamma * squares)) return INF;
    double shrinking = squares > 0.0 ? (1.0 / root(growth) - 1.0) / squares : 0.0;
    for (int64_t i = 0; i < n; ++i) {    // F = L·(I + shrinking·u·uᵀ), a row at a time
        double along = 0.0;
        for (int64_t j = 0; j <= i; ++j) along += L(i, j) * u[j];
        product[i] = sizes[i] * along / growth;
        length += product[i] * product[i];
        for (int64_t j = 0; j < n; ++j) L(i, j) += shrinking * along * u[j];
    }
    if (!(length < LONGEST)) return INF;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) B(i, j) = B(j, i) = sizes[i] * sizes[j] * polytope::inner(L[i], L[j]);
    }
    return squares;
}

}  // namespace smidgen
