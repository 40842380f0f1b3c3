// Second order by class: next to each weight vector w_c the inverse of its own matrix A_c, diagonal or full.
#pragma once

#include "classes.hpp"
#include "math.hpp"

namespace smidgen {

// --- diagonal: S has a row per feature; columns 0 … C−1 are weights, C … 2C−1 the inverses of A's diagonal --------

// means_i = w_i · x and widths_i = xᵀA_i⁻¹x for every class.
template <class T>
INLINE void diagonal_moments(Mat<T> S, Indices idx, Same<Vec<const plain<T>>> val, Same<Mat<plain<T>>> out) {
    sum_rows_twice(S, idx, val, out[0], out[1]);
}

// w_c ← w_c + rate · A_c⁻¹x.
template <class T>
INLINE void diagonal_shift(Mat<T> S, int64_t c, Indices idx, Same<Vec<const T>> val, double rate) {
    int64_t inverse = S.cols / 2 + c;
    T r = static_cast<T>(rate);
    for (int64_t k = 0; k < idx.n; ++k) S(idx[k], c) += r * val[k] * S(idx[k], inverse);
}

// w_c ← w_c + rate · A_c⁻¹x, then A_c ← A_c + diag(x²).
template <class T>
INLINE void diagonal_absorb(Mat<T> S, int64_t c, Indices idx, Same<Vec<const T>> val, double rate) {
    int64_t column = S.cols / 2 + c;
    T r = static_cast<T>(rate);
    for (int64_t k = 0; k < idx.n; ++k) {
        T x = val[k], inverse = S(idx[k], column);
        S(idx[k], c) += r * x * inverse;
        S(idx[k], column) = inverse / (T(1) + x * x * inverse);
    }
}

// xᵀA_c⁻¹x of one class.
template <class T>
INLINE double diagonal_width(Mat<T> S, int64_t c, Indices idx, Same<Vec<const T>> val) {
    int64_t column = S.cols / 2 + c;
    double width = 0.0;
    for (int64_t k = 0; k < idx.n; ++k) width += double(val[k]) * double(val[k]) * double(S(idx[k], column));
    return width;
}

INLINE void require_diagonal(int64_t columns, int64_t moments_rows, int64_t moments_columns, int64_t K) {
    require(columns % 2 == 0 && moments_rows == 2 && moments_columns == columns / 2, "the moments do not fit the state");
    require_classes(K, moments_columns);
}

// --- full: W has a row per class; in B, d × C × d, the i-th rows of all classes lie side by side ------------------

// How many times larger a number of the diagonal can be than rounding has left it.
inline constexpr double MENDED = 1e6;
// A width between these is taken as it is, if it is not small beside the squares of the product.
inline constexpr double USUAL_LEAST = 1e-6, USUAL_MOST = 1e4, USUAL_SHARE = 1e-3;
// What two sides of an inequality may differ by, and yet be equal but for rounding.
inline constexpr double NEARLY = 1.0 - 1e-6;
// What the diagonal of A⁻¹ is never below, with rows no longer than 1e100; and the largest width that is reported.
inline constexpr double LEAST = 1e-220, WIDEST = 1e300;

// The i-th row · x, both whole, summed in lanes of double precision.
template <class T, class X>
INLINE double dot_row(Vec<T> row, Vec<X> x) {
    int64_t n = x.n, whole = n - n % 8;
    Lanes lanes = fill(0.0);
    double rest = 0.0;
    for (int64_t j = 0; j < whole; j += 8) lanes = lanes + load(row.data + j) * load(x.data + j);
    for (int64_t j = whole; j < n; ++j) rest += double(row[j]) * double(x[j]);
    return total(lanes) + rest;
}

// means_i = w_i · x, P_i = A_i⁻¹x and widths_i = xᵀA_i⁻¹x for the classes that P holds.
template <class T>
inline void full_moments(Mat<T> W, Cube<T> B, Indices idx, Same<Vec<const plain<T>>> val, Same<Vec<plain<T>>> means,
                         Same<Vec<plain<T>>> widths, Same<Mat<plain<T>>> P) {
    using U = plain<T>;
    sum_rows(B, idx, val, P);    // by rows, so that a sparse x reads only its own
    bool sparse = idx.n != P.cols;    // sums over all features, so that they run alike for a sparse row and a dense one
    Scratch<U> dense(sparse ? P.cols : 0, U(0));
    for (int64_t k = 0; sparse && k < idx.n; ++k) dense[idx[k]] = val[k];
    Vec<const U> x = sparse ? Vec<const U>(dense.vec()) : val;
    for (int64_t c = 0; c < P.rows; ++c) {
        means[c] = static_cast<U>(dot_row(W[c], x));
        widths[c] = static_cast<U>(dot_row(P[c], x));
    }
}

// w_c ← w_c + rate · A_c⁻¹x, given the product.
template <class T>
INLINE void full_shift(Mat<T> W, int64_t c, Same<Vec<const T>> product, double rate) {
    T r = static_cast<T>(rate);
    for (int64_t j = 0; j < product.n; ++j) W(c, j) += r * product[j];
}

// xᵀA_c⁻¹x, where rounding has not made it less than it can be: (A⁻¹x)_i² ≤ (A⁻¹)_ii · xᵀA⁻¹x for every i.
//
// Where the two sides contradict each other the diagonal is corrected, up to MENDED times, and then the width. With that
// no step can run away: |A_new⁻¹x|_i ≤ √(A⁻¹)_ii / 2.
template <class T>
inline double full_width(Cube<T> B, int64_t c, Same<Vec<const T>> product, double width) {
    double most = 0.0;
    for (int64_t i = 0; i < product.n; ++i) most = largest(most, __builtin_fabs(double(product[i])));
    if (largest(USUAL_SHARE * most * most, USUAL_LEAST) < width && width < USUAL_MOST) return width;
    double least = largest(width, 0.0);
    for (int64_t i = 0; i < product.n; ++i) {
        least = largest(least, double(product[i]) * double(product[i]) / (MENDED * largest(double(B(i, c, i)), LEAST)));
    }
    least = smallest(least, WIDEST);
    if (least > 0.0) {
        for (int64_t i = 0; i < product.n; ++i) {
            B(i, c, i) = largest(B(i, c, i), static_cast<T>(NEARLY * double(product[i]) * double(product[i]) / least));
        }
    }
    return least;
}

struct Absorbed {
    double width, growth;    // the new width, and the growth of log|A_c|
};

// A_c ← A_c + xxᵀ, given A_c⁻¹x and its `full_width`.
//
// The diagonal of the new inverse is at least 1/(1 + width) of the old one; what rounding takes is put back.
template <class T>
inline Absorbed full_absorb(Cube<T> B, int64_t c, Same<Vec<const T>> product, double width) {
    T f = static_cast<T>(1.0 / (1.0 + width)), nearly = static_cast<T>(NEARLY / (1.0 + width));
    for (int64_t i = 0; i < product.n; ++i) {
        T least = nearly * B(i, c, i);
        for (int64_t j = 0; j < product.n; ++j) B(i, c, j) -= f * (product[i] * product[j]);
        B(i, c, i) = largest(B(i, c, i), least);
    }
    return {width / (1.0 + width), log1p(width)};
}

template <class T>
INLINE void require_full(Mat<T> W, Cube<T> B, int64_t moments_rows, int64_t moments_columns, Same<Mat<plain<T>>> P, int64_t K) {
    require(B.n0 == W.cols && B.n1 == W.rows && B.n2 == W.cols, "W and B do not fit together");
    require(moments_rows == 2 && moments_columns == W.rows, "the moments do not fit the state");
    require(P.cols == W.cols && P.rows >= K && P.rows <= W.rows, "the products do not fit the state");
    require_classes(K, W.rows);
}

// --- full over the columns in use: a column's slot is its row and column in the matrices, −1 if it has none -------

struct Part {
    int64_t n, fresh;    // how long the part in use is, and how many columns are new
    double beyond;       // their ‖x‖²
};

// Write the part of a row that is in use by its slots.
template <class T>
INLINE Part take_slots(Vec<const int32_t> slots, Indices idx, Same<Vec<const T>> val, Vec<uint32_t> where, Vec<T> values) {
    Part part{0, 0, 0.0};
    for (int64_t k = 0; k < idx.n; ++k) {
        if (val[k] == T(0)) continue;
        if (slots[idx[k]] < 0) {
            ++part.fresh;
            part.beyond += double(val[k]) * double(val[k]);
        } else {
            require(part.n < where.n, "more columns are in use than there is space for");
            where[part.n] = uint32_t(slots[idx[k]]);
            values[part.n++] = val[k];
        }
    }
    return part;
}

// Take the columns of a row into use, in their order; how many are in use then.
template <class T>
INLINE int64_t give_slots(Vec<int32_t> slots, Vec<uint32_t> columns, int64_t used, Indices idx, Vec<const T> val) {
    for (int64_t k = 0; k < idx.n; ++k) {
        if (val[k] != T(0) && slots[idx[k]] < 0) {
            require(used < columns.n, "more columns come into use than there is space for");
            slots[idx[k]] = int32_t(used);
            columns[used] = idx[k];
            ++used;
        }
    }
    return used;
}

inline void require_slots(Vec<const int32_t> slots, int64_t rows) {
    bool sound = true;
    for (int64_t k = 0; k < slots.n; ++k) sound &= slots[k] < rows;
    require(sound, "a slot is not below the number of columns in use");
}

// --- rows of a stream, scaled --------------------------------------------------------------------------------------

// What is played: the stream, what each row is multiplied by, the number of the first round, and what was shown.
template <class T>
struct Played {
    Stream<T> stream;
    Vec<const double> scales;
    int64_t first;
    Shown shown;
    FIELDS(stream, scales, first, shown)

    void check(int64_t dim, int64_t K) const {
        require_stream(stream, shown, dim, K);
        require(scales.n == stream.rows().rows(), "a stream needs one scale per row");
    }
};

// A row times a number.
template <class T>
INLINE void scaled(Vec<const T> row, double scale, Vec<T> out) {
    for (int64_t k = 0; k < row.n; ++k) out[k] = static_cast<T>(double(row[k]) * scale);
}

}  // namespace smidgen
