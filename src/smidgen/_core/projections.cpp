// The projections of geometry.hpp that are long: compiled once, and used by every family that has a rule of learning.
#include "geometry.hpp"

#include <algorithm>
#include <vector>

namespace smidgen {

namespace {

// x ← (I + lam·T)⁻¹x for the symmetric tridiagonal T with diagonal a and off-diagonal b.
void solve_shifted(Vec<const double> a, Vec<const double> b, double lam, Vec<double> pivot, Vec<double> x) {
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
double multiplier(Vec<const double> a, Vec<const double> b, double norm, double radius, double lam, Vec<double> z) {
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

}  // namespace

void project_on_ball(Mat<const double> B, Vec<const double> v, double radius, double tolerance, Vec<double> out) {
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

void to_shares(Vec<double> values, double total) {
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

namespace polytope {
namespace {

// The dual active-set method of Goldfarb and Idnani (Mathematical Programming 27, 1983): see
// `smidgen.geometry.polytope.nearest_in_norm`. A polytope is known only by its separation: given a point, the most
// violated of the constraints n·u ≤ b. So the 2^d facets of an L1 ball are never listed.

// The lower triangular L with L·Lᵀ = H; a pivot lost to rounding is lifted to the size of the rounding.
void factor(Mat<const double> H, Mat<double> L) {
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
Violation separate(int64_t kind, Vec<const double> bounds, Vec<const double> u, Vec<double> normal) {
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
void solve_back(Mat<const double> T, Vec<double> x, int64_t m) {
    for (int64_t k = m - 1; k >= 0; --k) {
        x[k] /= T(k, k);
        for (int64_t j = 0; j < k; ++j) x[j] -= T(k, j) * x[k];
    }
}

// The active part of v and the rest: v = Σ_j r_j v_j + rest = Σ_k q_k Q_k + rest.
void split(Vec<const double> v, Mat<const double> Q, Mat<const double> T, int64_t m, Vec<double> q, Vec<double> r,
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
void drop(int64_t leaving, Mat<double> Q, Mat<double> T, int64_t m) {
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
void nearest(Mat<const double> H, Vec<const double> z, int64_t kind, Vec<const double> bounds, double tolerance,
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

}  // namespace
}  // namespace polytope

void move_to_nearest(Vec<double> z, Mat<const double> inverse, int64_t kind, Vec<const double> bounds,
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

double absorb_carefully(Mat<double> B, Vec<const double> d, double gamma, Vec<double> product) {
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
