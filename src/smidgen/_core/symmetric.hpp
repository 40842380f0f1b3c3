// Symmetric matrices of which only one half is kept: products, and rank-one steps in the same pass over memory.
//
// A matrix B is an n × n array whose numbers on and below the diagonal count. (Those above it count only within the
// 8 × 8 blocks on the diagonal; `mirror` sets them all.) Half the numbers are half the memory to read and write, and that
// is where the time of these operations goes. Where n is a multiple of eight only because zeros were added, the last four
// rows may be missing.
//
// A large matrix is processed in panels of rows, forward or backward: what was read last is still in the cache when the
// next pass begins there. Each panel has sums of its own, and they are added in the order of the panels, so that the
// direction of a pass does not change the result.
//
// An inverse that takes rank-one steps is kept in this form: with u = B·x and B = A⁻¹,
// (A + γxxᵀ)⁻¹ = B − vvᵀ for v = u·√(γ/(1 + γx·u)) (Sherman and Morrison, 1950).
#pragma once

#include "lanes.hpp"

namespace smidgen {

inline constexpr int64_t PANEL = 128;    // rows

// B is a matrix for vectors of n numbers.
template <class T>
INLINE void require_symmetric(Mat<T> B, int64_t n) {
    require(B.cols == n && (B.rows == n || (n % 8 == 0 && B.rows == n - 4)), "the matrix does not fit the vectors");
}
// `waiting` holds v, and space for the diagonal of B.
INLINE void require_waiting(Mat<const double> waiting, int64_t n) {
    require(waiting.rows == 2 && waiting.cols == n, "the waiting step does not fit the matrix");
}

// B ← B − v·vᵀ.
inline void shrink(Mat<double> B, Vec<const double> v) {
    for (int64_t i = 0; i < B.rows; ++i) {
        double vi = v[i];
        for (int64_t j = 0; j < smallest(i - i % 8 + 8, v.n); ++j) B(i, j) -= vi * v[j];
    }
}

// B ← B − v·vᵀ, v the first row of `waiting`, which becomes 0.
inline void settle(Mat<double> B, Mat<double> waiting) {
    shrink(B, waiting[0]);
    clear(waiting[0]);
}

// Copy what is below the diagonal above it; at least as many columns as rows.
inline void mirror(Mat<double> B) {
    for (int64_t i = 0; i < B.rows; ++i) {
        for (int64_t j = 0; j < i; ++j) B(j, i) = B(i, j);
    }
}

struct FourSums {
    Lanes s0, s1, s2, s3;
};

// The part of rows i … i + 3 in B·x: each number counts for its own place and for the one across the diagonal.
//
// If B may be written to, first B ← B − v·vᵀ in these rows, and the diagonal is noted. Adds to the products of the rows
// above; returns those of these four rows with the columns before their own block.
template <class T>
INLINE FourSums four_rows(T* B, const double* v, double* diagonal, const double* x, double* out, int64_t n, int64_t i) {
    constexpr bool STEP = !std::is_const_v<T>;
    int64_t block = i - i % 8;
    T *a = B + i * n, *b = a + n, *c = b + n, *d = c + n;
    Lanes x0 = fill(x[i]), x1 = fill(x[i + 1]), x2 = fill(x[i + 2]), x3 = fill(x[i + 3]);
    Lanes s0 = fill(0.0), s1 = fill(0.0), s2 = fill(0.0), s3 = fill(0.0);
    Lanes v0, v1, v2, v3;
    if constexpr (STEP) {
        v0 = fill(v[i]), v1 = fill(v[i + 1]), v2 = fill(v[i + 2]), v3 = fill(v[i + 3]);
        // before the rows are written: to read single numbers of what was just written in lanes is slow
        for (int64_t k = i; k < i + 4; ++k) diagonal[k] = B[k * n + k] - v[k] * v[k];
    }
    for (int64_t j = 0; j <= block; j += 8) {
        Lanes b0 = load(a + j), b1 = load(b + j), b2 = load(c + j), b3 = load(d + j);
        if constexpr (STEP) {
            Lanes vj = load(v + j);
            b0 = b0 - v0 * vj, b1 = b1 - v1 * vj, b2 = b2 - v2 * vj, b3 = b3 - v3 * vj;
            store(a + j, b0);
            store(b + j, b1);
            store(c + j, b2);
            store(d + j, b3);
        }
        add_to(out + j, (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3));
        if (j < block) {
            Lanes xj = load(x + j);
            s0 = s0 + b0 * xj, s1 = s1 + b1 * xj, s2 = s2 + b2 * xj, s3 = s3 + b3 * xj;
        }
    }
    return {s0, s1, s2, s3};
}

// What the rows first … last − 1 add to B·x, after the step if B may be written to; both are multiples of eight, or last
// is n.
template <class T>
INLINE void some_rows(Mat<T> B, const double* v, double* diagonal, Vec<const double> x, double* out, int64_t first,
                      int64_t last) {
    constexpr bool STEP = !std::is_const_v<T>;
    int64_t n = x.n, whole = last - last % 8;
    for (int64_t i = first; i < whole; i += 8) {
        FourSums s = four_rows(B.data, v, diagonal, x.data, out, n, i), t{};
        if (i + 4 < B.rows) t = four_rows(B.data, v, diagonal, x.data, out, n, i + 4);
        if (i > 0) add_to(out + i, totals(s.s0, s.s1, s.s2, s.s3, t.s0, t.s1, t.s2, t.s3));
    }
    for (int64_t i = whole; i < last; ++i) {    // the rows and columns that make no block of eight
        T* row = B.data + i * n;
        Lanes s0 = fill(0.0), x0 = fill(x[i]);
        for (int64_t j = 0; j < whole; j += 8) {
            Lanes b0 = load(row + j);
            if constexpr (STEP) {
                b0 = b0 - fill(v[i]) * load(v + j);
                store(row + j, b0);
            }
            s0 = s0 + b0 * load(x.data + j);
            add_to(out + j, b0 * x0);
        }
        if constexpr (STEP) {
            for (int64_t j = whole; j < n; ++j) row[j] -= v[i] * v[j];
            diagonal[i] = row[i];
        }
        out[i] += total(s0) + row[i] * x[i];
        for (int64_t j = whole; j < i; ++j) {
            out[i] += row[j] * x[j];
            out[j] += row[j] * x[i];
        }
    }
}

// The same for all rows; large matrices panel by panel.
template <class T>
INLINE double all_rows(Mat<T> B, const double* v, double* diagonal, Vec<const double> x, Vec<double> out, bool back) {
    int64_t n = x.n;
    if (n <= PANEL) {
        clear(out);
        some_rows(B, v, diagonal, x, out.data, 0, n);
        return dot(x, out);
    }
    int64_t panels = (n + PANEL - 1) / PANEL;
    Scratch<double> space(panels * n);
    Mat<double> parts = space.mat(panels, n);
    for (int64_t turn = 0; turn < panels; ++turn) {
        int64_t k = back ? panels - 1 - turn : turn, last = smallest((k + 1) * PANEL, n);
        clear(parts[k].slice(0, last));
        some_rows(B, v, diagonal, x, parts[k].data, k * PANEL, last);
    }
    clear(out);
    for (int64_t k = 0; k < panels; ++k) {
        for (int64_t j = 0; j < smallest((k + 1) * PANEL, n); ++j) out[j] += parts(k, j);
    }
    return dot(x, out);
}

// out = B·x; returns x·B·x. It may go backward from the end of B: the result is the same.
inline double multiply(Mat<const double> B, Vec<const double> x, Vec<double> out, bool back) {
    return all_rows(B, nullptr, nullptr, x, out, back);
}

// `shrink` and `multiply` in one pass: B ← B − v·vᵀ, then out = B·x; returns x·B·x.
//
// v is the first row of `waiting`; its second row takes the diagonal of B, which is in a register now and scattered later.
inline double shrink_and_multiply(Mat<double> B, Mat<double> waiting, Vec<const double> x, Vec<double> out, bool back) {
    return all_rows(B, waiting[0].data, waiting[1].data, x, out, back);
}

}  // namespace smidgen
