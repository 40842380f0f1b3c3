// Rows of features. A row is (idx, val): all columns of a dense vector, the non-zero ones of a sparse vector. Every sum
// runs in the order of the features, so that a sparse row and a dense one of the same numbers give the same bits.
#pragma once

#include "lanes.hpp"

namespace smidgen {

using Indices = Vec<const uint32_t>;

// How many rows ahead memory is asked for.
inline constexpr int64_t AHEAD = 16;

// --- what entry points require of their arguments ---------------------------------------------------------------

// Every index is below n.
INLINE bool all_below(Indices idx, int64_t n) {
    uint32_t last = 0;
    for (int64_t k = 0; k < idx.n; ++k) last = idx[k] > last ? idx[k] : last;
    return idx.n == 0 || last < n;
}

// One row of a learner with `dim` features.
template <class T>
INLINE void require_row(Indices idx, Vec<T> val, int64_t dim) {
    require(idx.n == val.n, "idx and val must have one length");
    require(all_below(idx, dim), "an index is not below the number of features");
}

// The starts of compressed rows: they rise from 0 or more to at most the number of values.
inline void require_starts(Vec<const int64_t> starts, int64_t values) {
    require(starts.n >= 1 && starts[0] >= 0 && starts[starts.n - 1] <= values, "the row starts do not fit the values");
    bool rising = true;
    for (int64_t i = 1; i < starts.n; ++i) rising &= starts[i - 1] <= starts[i];
    require(rising, "the row starts must rise");
}

// Compressed rows (CSR), as Python gives them: (indices, values, starts).
template <class T>
struct Csr {
    Indices indices;
    Vec<const T> values;
    Vec<const int64_t> starts;
    FIELDS(indices, values, starts)

    void check(int64_t dim) const {
        require_row(indices, values, dim);
        require_starts(starts, values.n);
    }
    INLINE int64_t rows() const { return starts.n - 1; }
    INLINE Indices idx(int64_t t) const { return indices.slice(starts[t], starts[t + 1]); }
    INLINE Vec<const T> val(int64_t t) const { return values.slice(starts[t], starts[t + 1]); }
    // The number of values in the longest row.
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t t = 0; t < rows(); ++t) most = largest(most, starts[t + 1] - starts[t]);
        return most;
    }
};

// --- a sparse row times a block of columns (rows.cpp) -------------------------------------------------------------

template <class T>
void sum_named_rows(const T* W, int64_t stride, Indices idx, Vec<const T> val, Vec<T> out);
template <class T>
void sum_every_row(const T* W, int64_t stride, Vec<const T> val, Vec<T> out);
template <class T>
void sum_named_rows_twice(const T* S, int64_t stride, Indices idx, Vec<const T> val, Vec<T> first, Vec<T> second);

// out_c = Σ_k x_k·W[i_k, c] for each column c of `out`; W may have more.
template <class T>
INLINE void sum_rows(Mat<T> W, Indices idx, Same<Vec<const plain<T>>> val, Same<Vec<plain<T>>> out) {
    sum_named_rows<plain<T>>(W.data, W.cols, idx, val, out);
}
// The same, each column being a row of a cube: out[c, j] = Σ_k x_k·B[i_k, c, j].
template <class T>
INLINE void sum_rows(Cube<T> B, Indices idx, Same<Vec<const plain<T>>> val, Same<Mat<plain<T>>> out) {
    sum_named_rows<plain<T>>(B.data, B.n1 * B.n2, idx, val, out.flat());
}
// out_c = Σ_k x_k·W[k, c]: `sum_rows` of an example that has every feature.
template <class T>
INLINE void sum_all_rows(Mat<T> W, Same<Vec<const plain<T>>> val, Same<Vec<plain<T>>> out) {
    sum_every_row<plain<T>>(W.data, W.cols, val, out);
}
// first_c = Σ_k x_k·S[i_k, c] and second_c = Σ_k x_k²·S[i_k, C + c] for each of the C columns of `first`.
template <class T>
INLINE void sum_rows_twice(Mat<T> S, Indices idx, Same<Vec<const plain<T>>> val, Same<Vec<plain<T>>> first,
                           Same<Vec<plain<T>>> second) {
    sum_named_rows_twice<plain<T>>(S.data, S.cols, idx, val, first, second);
}

// dense · x, in double precision, in the order of the features.
template <class T, class X>
INLINE double sparse_dot(Vec<T> dense, Indices idx, Vec<X> val) {
    double sum = 0.0;
    for (int64_t k = 0; k < idx.n; ++k) sum += double(dense[idx[k]]) * double(val[k]);
    return sum;
}

// 1 / ‖x‖, given ‖x‖²; 1 for a zero vector, or one that is not finite.
INLINE double over_length(double squares) { return 0.0 < squares && squares < INF ? 1.0 / root(squares) : 1.0; }

}  // namespace smidgen
