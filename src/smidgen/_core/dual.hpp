// Second order by the examples learned from, in place of A⁻¹ (state/dual.py, state/sparse_ridge.py).
//
// A⁻¹x = (x − Σ_m [G·k(x)]_m·x_m)/a with k(x)_m = x_m·x and G = (Gram + aI)⁻¹, exactly; with a kernel in place of the inner
// product the same holds in its feature space. G has space for more examples than there are.
#pragma once

#include "math.hpp"
#include "rows.hpp"

namespace smidgen {

// What xᵀA⁻¹x cannot be below, with the sum of the squared lengths of the examples: A ≤ (start + that sum)·I. The width is
// a difference of two nearly equal numbers; below this bound it is rounding.
INLINE double least_width(double own, double start, double lengths) { return (1.0 - 1e-9) * own / (start + lengths); }

// out = G·near on the first n rows and columns, each sum in the order of the examples; G is symmetric.
inline void solve(Mat<const double> G, int64_t n, Vec<const double> near, Vec<double> out) {
    clear(out);
    int64_t fours = n - n % 4;
    for (int64_t i = 0; i < fours; i += 4) {
        const double *a = &G(i, 0), *b = &G(i + 1, 0), *c = &G(i + 2, 0), *d = &G(i + 3, 0);
        double p = near[i], q = near[i + 1], r = near[i + 2], s = near[i + 3];
        for (int64_t j = 0; j < n; ++j) out.data[j] = (((out.data[j] + p * a[j]) + q * b[j]) + r * c[j]) + s * d[j];
    }
    for (int64_t i = fours; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) out[j] += near[i] * G(i, j);
    }
}

// G with one more example: a Schur complement.
inline void grow(Mat<double> G, int64_t n, Vec<const double> solved, double pivot) {
    for (int64_t i = 0; i < n; ++i) {
        double each = solved[i];
        for (int64_t j = 0; j < n; ++j) G(i, j) += each * solved[j] / pivot;
        G(i, n) = -each / pivot;
        G(n, i) = G(i, n);
    }
    G(n, n) = 1.0 / pivot;
}

// G without the oldest of n examples.
inline void drop_first(Mat<double> G, int64_t n) {
    Scratch<double> first(n);
    for (int64_t i = 0; i < n; ++i) first[i] = G(i, 0);
    for (int64_t i = 1; i < n; ++i) {
        for (int64_t j = 1; j < n; ++j) G(i - 1, j - 1) = G(i, j) - first[i] * first[j] / first[0];
    }
}

// w ← w + rate·(x − Σ_m solved_m·x_m).
inline void shift_by_examples(Vec<double> w, const Csr<double>& examples, Vec<const double> solved, Indices idx,
                              Vec<const double> val, double rate) {
    for (int64_t k = 0; k < idx.n; ++k) w[idx[k]] += rate * val[k];
    for (int64_t m = 0; m < solved.n; ++m) {
        for (int64_t e = examples.starts[m]; e < examples.starts[m + 1]; ++e) {
            w[examples.indices[e]] -= rate * solved[m] * examples.values[e];
        }
    }
}

// --- a block of rows that ask, and of which some are learned (state/sparse_ridge.py: AskedRows) ----------------------

// Compressed rows with free space behind them.
struct Growing {
    Vec<uint32_t> indices;
    Vec<double> values;
    Vec<int64_t> starts;
    FIELDS(indices, values, starts)

    INLINE Csr<double> rows(int64_t n) const { return {indices, values, Vec<const int64_t>(starts).slice(0, n + 1)}; }
};

struct AskedRows {
    Vec<int64_t> counts;    // examples now, and before the block
    double start;
    Vec<double> squares;    // the squared lengths of all examples, added up
    Vec<double> w;
    Growing examples;
    Vec<double> y;
    Csr<double> rows;          // of the block
    Mat<const double> inner;    // their inner products with each other
    Mat<double> near, solved;    // a row for each: k(x) and G·k(x)
    Vec<double> pivots;          // a(1 + xᵀA⁻¹x) of what was learned, in turn
    Vec<int64_t> learned;        // and which rows these were
    FIELDS(counts, start, squares, w, examples, y, rows, inner, near, solved, pivots, learned)

    void check() const {
        int64_t block = rows.rows(), dim = w.n;
        require(counts.n == 2 && squares.n == 1, "counts are two numbers, squares is one");
        int64_t n = counts[0], before = counts[1];
        require(0 <= before && before <= n && n <= int64_t(1) << 40, "counts are not numbers of examples");
        rows.check(dim);
        require(inner.rows == block && inner.cols == block, "inner needs a row and a column per row of the block");
        require(near.rows == block && solved.rows == block && near.cols == solved.cols, "near and solved need a row per row");
        require(near.cols >= n + block && y.n >= n + block && examples.starts.n > n + block, "too little space for the block");
        require(n - before <= pivots.n && block <= pivots.n - (n - before) && learned.n == pivots.n,
                "too little space for what is learned");
        require(examples.indices.n == examples.values.n, "indices and values must have one length");
        examples.rows(n).check(dim);
        require(examples.values.n - examples.starts[n] >= rows.starts[block] - rows.starts[0],
                "too little space for the values of the block");
    }
};

struct Asked {
    double mean, width;
};

// w·x and xᵀA⁻¹x of the i-th row.
INLINE Asked asked_moments(const AskedRows& r, int64_t i) {
    int64_t n = r.counts[0];
    double own = r.inner(i, i);
    double width = (own - dot(r.near[i].slice(0, n), r.solved[i].slice(0, n))) / r.start;
    return {sparse_dot(r.w, r.rows.idx(i), r.rows.val(i)), largest(width, least_width(own, r.start, r.squares[0]))};
}

// Learn the i-th row; those after it learn of it.
//
// With s = G·k(x) and the pivot p of x, a later row z has the product (G·k(z) − c·s, c) with the larger G,
// c = (x·z − s·k(z))/p.
inline void asked_learn(const AskedRows& r, int64_t i, double y, Asked asked) {
    Indices idx = r.rows.idx(i);
    Vec<const double> val = r.rows.val(i);
    int64_t n = r.counts[0], added = n - r.counts[1];
    Vec<const double> solved = r.solved[i].slice(0, n);
    double pivot = r.start * (1.0 + asked.width);
    shift_by_examples(r.w, r.examples.rows(n), solved, idx, val, (y - asked.mean) / (1.0 + asked.width) / r.start);
    for (int64_t j = i + 1; j < r.near.rows; ++j) {
        double c = (r.inner(i, j) - dot(solved, r.near[j].slice(0, n))) / pivot;
        Vec<double> later = r.solved[j].slice(0, n);
        shift(later, later, solved, -c);
        r.near(j, n) = r.inner(i, j);
        r.solved(j, n) = c;
    }
    int64_t end = r.examples.starts[n];
    for (int64_t k = 0; k < idx.n; ++k) {
        if (val[k] == 0.0) continue;
        r.examples.indices[end] = idx[k];
        r.examples.values[end++] = val[k];
    }
    r.examples.starts[n + 1] = end;
    r.y[n] = y;
    r.pivots[added] = pivot;
    r.learned[added] = i;
    r.squares[0] += r.inner(i, i);
    r.counts[0] = n + 1;
}

}  // namespace smidgen
