// Dense rows of features: scores, and sums of rows. Each sum runs in the order of the features, as for sparse rows.
#pragma once

#include "lanes.hpp"

namespace smidgen {

// Memory is asked for this many numbers ahead: they should fit into the second cache.
inline constexpr int64_t NUMBERS_AHEAD = 32768;

// Rows of a matrix: first … last − 1.
INLINE Mat<const double> rows_of(Mat<const double> X, int64_t first, int64_t last) {
    part_within(first, last, X.rows);
    return {X.data + first * X.cols, last - first, X.cols};
}

// The sums of four rows, and what the features first … last − 1 add to them.
struct RowSums {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    INLINE void add(const double* row, int64_t d, const double* w, int64_t first, int64_t last) {
        const double *a = row, *b = a + d, *c = b + d, *e = c + d;
        for (int64_t j = first; j < last; ++j) {
            s0 += a[j] * w[j];
            s1 += b[j] * w[j];
            s2 += c[j] * w[j];
            s3 += e[j] * w[j];
        }
    }
    INLINE void write(double* out) const {
        out[0] = s0;
        out[1] = s1;
        out[2] = s2;
        out[3] = s3;
    }
};

INLINE double row_score(Vec<const double> row, Vec<const double> w) {
    double sum = 0.0;
    for (int64_t j = 0; j < w.n; ++j) sum += row[j] * w[j];
    return sum;
}

// out = rows @ w, four rows at once.
inline void dense_scores(Mat<const double> rows, Vec<const double> w, Vec<double> out) {
    int64_t n = rows.rows, d = rows.cols, fours = n - n % 4;
    for (int64_t i = 0; i < fours; i += 4) {
        RowSums sums;
        sums.add(rows.data + i * d, d, w.data, 0, d);
        sums.write(out.data + i);
    }
    for (int64_t i = fours; i < n; ++i) out[i] = row_score(rows[i], w);
}

// `dense_scores` of the rows first … last − 1 of X. Meanwhile memory is asked for the rows from `then` on, so that it
// is not idle while the scores are made use of.
inline void scores_ahead(Mat<const double> X, int64_t first, int64_t last, int64_t then, Vec<const double> w,
                         Vec<double> out) {
    int64_t n = last - first, d = X.cols, fours = n - n % 4, whole = d - d % 8;
    int64_t ahead = smallest(n * d, NUMBERS_AHEAD), size = X.rows * d;
    for (int64_t k = 0; k < fours; k += 4) {
        RowSums sums;
        const double* row = X.data + (first + k) * d;
        int64_t at = (first + k) * d + ahead;
        if (at >= last * d) at += (then - last) * d;
        for (int64_t j = 0; j < whole; j += 8, at += 32) {
            const double* line = X.data + smallest(largest(at, int64_t(0)), size);    // near the array, if not in it
            for (int64_t more = 0; more < 32; more += 8) prefetch_later(line + more);
            sums.add(row, d, w.data, j, j + 8);
        }
        sums.add(row, d, w.data, whole, d);
        sums.write(out.data + k);
    }
    for (int64_t k = fours; k < n; ++k) out[k] = row_score(X[first + k], w);
}

// out = Σ_k weight_k · rows[index_k].
inline void combine_dense(Mat<const double> rows, Vec<const int64_t> index, Vec<const double> weight, Vec<double> out) {
    clear(out);
    for (int64_t k = 0; k < index.n; ++k) {
        if (weight[k] != 0.0) shift(out, out, rows[index[k]], weight[k]);
    }
}

// out[k] = rows[pairs[k, 0]] − rows[pairs[k, 1]].
inline void dense_differences(Mat<const double> rows, Mat<const int64_t> pairs, Mat<double> out) {
    for (int64_t k = 0; k < out.rows; ++k) {
        Vec<const double> first = rows[pairs(k, 0)], second = rows[pairs(k, 1)];
        for (int64_t j = 0; j < out.cols; ++j) out(k, j) = first[j] - second[j];
    }
}

}  // namespace smidgen
