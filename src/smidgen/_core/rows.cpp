// A sparse row times a block of columns: where the learners of sparse texts spend their time.
//
// W has a row per feature, and in it a number per class. An example picks some rows of W, and wants their sum, weighted
// by its values. Up to 32 columns at a time stay in registers, and memory is asked for some rows ahead. Each sum runs in
// the order of the features, whatever the width of the registers.
#include "rows.hpp"

#include "bind.hpp"

namespace smidgen {

// How many columns are summed in one pass.
inline constexpr int COLUMNS = 32;

// Sums of N neighboring columns, kept in registers of up to 64 bytes.
template <class T, int N>
struct Columns {
    static constexpr int largest_power(int n) { return n >= 2 ? 2 * largest_power(n / 2) : 1; }
    static constexpr int MOST = 64 / int(sizeof(T));
    static constexpr int HERE = largest_power(N) < MOST ? largest_power(N) : MOST;
    using Register = VectorOf<T, HERE>;
    Register sums = Register{} + T(0);
    Columns<T, N - HERE> others;

    INLINE void add(const T* row, T x) {
        sums = sums + x * load_vector<Register>(row);
        others.add(row + HERE, x);
    }
    INLINE void write(T* out) const {
        store_vector(out, sums);
        others.write(out + HERE);
    }
    static INLINE void ask_for(const T* row) {
        prefetch(row);
        Columns<T, N - HERE>::ask_for(row + HERE);
    }
};
template <class T>
struct Columns<T, 0> {
    INLINE void add(const T*, T) {}
    INLINE void write(T*) const {}
    static INLINE void ask_for(const T*) {}
};

// Rows of a block by the features of an example: those that it names, or all in their order.
struct NamedRows {
    Indices idx;
    static constexpr bool SCATTERED = true;
    INLINE int64_t operator()(int64_t k) const { return idx[k]; }
};
struct AllRows {
    static constexpr bool SCATTERED = false;
    INLINE int64_t operator()(int64_t k) const { return k; }
};

template <int N, class T, class Rows>
INLINE void sum_columns(const T* W, int64_t stride, Rows rows, Vec<const T> val, T* out) {
    Columns<T, N> columns;
    int64_t last = val.n - 1;
    for (int64_t k = 0; k <= last; ++k) {
        if constexpr (Rows::SCATTERED) Columns<T, N>::ask_for(W + rows(smallest(k + AHEAD, last)) * stride);
        columns.add(W + rows(k) * stride, val[k]);
    }
    columns.write(out);
}

template <int N, class T, class Rows>
INLINE void sum_fewer(int64_t columns, const T* W, int64_t stride, Rows rows, Vec<const T> val, T* out) {
    if constexpr (N > 0) {
        if (columns == N) {
            sum_columns<N>(W, stride, rows, val, out);
        } else {
            sum_fewer<N <= 4 ? N - 1 : N - 4>(columns, W, stride, rows, val, out);
        }
    }
}

template <class T, class Rows>
inline void sum_block(const T* W, int64_t stride, Rows rows, Vec<const T> val, T* out, int64_t columns) {
    int64_t at = 0;
    for (; at + COLUMNS <= columns; at += COLUMNS) sum_columns<COLUMNS>(W + at, stride, rows, val, out + at);
    int64_t fours = (columns - at) / 4 * 4;
    if (fours) sum_fewer<COLUMNS - 4>(fours, W + at, stride, rows, val, out + at);
    at += fours;
    if (at < columns) sum_fewer<3>(columns - at, W + at, stride, rows, val, out + at);
}

template <class T>
void sum_named_rows(const T* W, int64_t stride, Indices idx, Vec<const T> val, Vec<T> out) {
    sum_block(W, stride, NamedRows{idx}, val, out.data, out.n);
}
template <class T>
void sum_every_row(const T* W, int64_t stride, Vec<const T> val, Vec<T> out) {
    sum_block(W, stride, AllRows{}, val, out.data, out.n);
}

template <int N, class T>
INLINE void sum_columns_twice(const T* S, int64_t stride, int64_t half, Indices idx, Vec<const T> val, T* first, T* second) {
    Columns<T, N> ones, squares;
    int64_t last = val.n - 1;
    for (int64_t k = 0; k <= last; ++k) {
        const T *row = S + int64_t(idx[k]) * stride, *later = S + int64_t(idx[smallest(k + AHEAD, last)]) * stride;
        Columns<T, N>::ask_for(later);
        Columns<T, N>::ask_for(later + half);
        ones.add(row, val[k]);
        squares.add(row + half, val[k] * val[k]);
    }
    ones.write(first);
    squares.write(second);
}
template <int N, class T>
INLINE void sum_fewer_twice(int64_t columns, const T* S, int64_t stride, int64_t half, Indices idx, Vec<const T> val,
                            T* first, T* second) {
    if constexpr (N > 0) {
        if (columns == N) {
            sum_columns_twice<N>(S, stride, half, idx, val, first, second);
        } else {
            sum_fewer_twice<N <= 4 ? N - 1 : N - 4>(columns, S, stride, half, idx, val, first, second);
        }
    }
}

template <class T>
void sum_named_rows_twice(const T* S, int64_t stride, Indices idx, Vec<const T> val, Vec<T> first, Vec<T> second) {
    int64_t C = first.n, at = 0;
    for (; at + COLUMNS <= C; at += COLUMNS) {
        sum_columns_twice<COLUMNS>(S + at, stride, C, idx, val, first.data + at, second.data + at);
    }
    int64_t fours = (C - at) / 4 * 4;
    if (fours) sum_fewer_twice<COLUMNS - 4>(fours, S + at, stride, C, idx, val, first.data + at, second.data + at);
    at += fours;
    if (at < C) sum_fewer_twice<3>(C - at, S + at, stride, C, idx, val, first.data + at, second.data + at);
}

#define FOR_EACH_TYPE(T)                                                                                     \
    template void sum_named_rows<T>(const T*, int64_t, Indices, Vec<const T>, Vec<T>);                       \
    template void sum_every_row<T>(const T*, int64_t, Vec<const T>, Vec<T>);                                 \
    template void sum_named_rows_twice<T>(const T*, int64_t, Indices, Vec<const T>, Vec<T>, Vec<T>);
FOR_EACH_TYPE(double)
FOR_EACH_TYPE(float)

namespace {

template <class T>
void sum(Mat<const T> W, Indices idx, Vec<const T> val, Vec<T> out) {
    require_row(idx, val, W.rows);
    require(out.n <= W.cols, "out has more columns than W");
    sum_rows(W, idx, val, out);
}

template <class T>
void sum_cube(Cube<const T> B, Indices idx, Vec<const T> val, Mat<T> out) {
    require_row(idx, val, B.n0);
    require(out.rows <= B.n1 && out.cols == B.n2, "out does not fit B");
    sum_rows(B, idx, val, out);
}

template <class T>
void sum_every(Mat<const T> W, Vec<const T> val, Vec<T> out) {
    require(val.n <= W.rows && out.n <= W.cols, "val or out has more places than W");
    sum_all_rows(W, val, out);
}

template <class T>
void sum_twice(Mat<const T> S, Indices idx, Vec<const T> val, Mat<T> out) {
    require_row(idx, val, S.rows);
    require(out.rows == 2 && 2 * out.cols == S.cols, "out needs two rows of half as many columns as S");
    sum_rows_twice(S, idx, val, out[0], out[1]);
}

// --- one vector of features ------------------------------------------------------------------------------------------

// out = x / ‖x‖, and return ‖x‖²; a zero vector, or one that is not finite, stays as it is. The sum runs in the order of
// the features, so that it is the same for a sparse row and a dense one.
template <class T>
double unit_row(Vec<const T> values, Vec<T> out) {
    double squares = 0.0;
    for (int64_t k = 0; k < values.n; ++k) squares += double(values[k]) * double(values[k]);
    double scale = over_length(squares);
    for (int64_t k = 0; k < values.n; ++k) out[k] = static_cast<T>(double(values[k]) * scale);
    return squares;
}

template <class T>
double write_unit_row(Vec<const T> values, Vec<T> out) {
    require(values.n == out.n, "values and out must have one length");
    return unit_row(values, out);
}

template <class T>
double copied(Vec<const T> values, Vec<T> out) {
    copy(out, values);
    return dot(out, out);
}

template <class T>
double copy_row(Vec<const T> values, Vec<T> out) {
    require(values.n == out.n, "values and out must have one length");
    return copied(values, out);
}

template <class T>
double squares(Vec<const T> values) {
    return dot(values, values);
}

// Copy the one row of a CSR matrix and return its ‖x‖²; −1 if its indices do not rise strictly within 0 … dim − 1.
template <class T, class I>
double take_csr_row(Vec<const I> indices, Vec<const T> data, Vec<const I> starts, int64_t dim, bool unit,
                    Vec<uint32_t> where, Vec<T> values) {
    int64_t n = indices.n;
    require(where.n == data.n && values.n == data.n, "where and values need one place per value");
    if (starts.n != 2 || starts[0] != 0 || starts[1] != n || data.n != n) return -1.0;
    bool rising = n == 0 || (indices[0] >= 0 && indices[n - 1] < dim);
    for (int64_t k = 1; k < n; ++k) rising &= indices[k] > indices[k - 1];
    if (!rising || dim > int64_t(UINT32_MAX)) return -1.0;
    for (int64_t k = 0; k < n; ++k) where[k] = static_cast<uint32_t>(indices[k]);
    return unit ? unit_row(data, values) : copied(data, values);
}

// --- a matrix of examples --------------------------------------------------------------------------------------------

// A row of smaller values cannot be longer than LONGEST, however many they are.
inline constexpr double SMALL = 1e30;

// Whether the row starts rise from 0 to the end, every index is below dim, and every row is shorter than `longest`.
template <class T>
bool sound_rows(Indices indices, Vec<const T> values, Vec<const int64_t> starts, int64_t dim, double longest) {
    int64_t n = starts.n - 1;
    if (n < 0 || starts[0] != 0 || starts[n] != values.n || indices.n != values.n) return false;
    bool rising = true;
    for (int64_t i = 0; i < n; ++i) rising &= starts[i] <= starts[i + 1];
    if (!rising || !all_below(indices, dim)) return false;
    bool large = false;
    const T limit = static_cast<T>(SMALL);
    for (int64_t k = 0; k < values.n; ++k) large |= !(__builtin_fabs(values[k]) < limit);    // NaN and infinity too
    if (!large) return true;
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) sum += double(values[k]) * double(values[k]);
        if (!(sum < longest * longest)) return false;
    }
    return true;
}

const Family family("rows", {
    entry<squares<double>, squares<float>>("squares", "values", "‖x‖² in double precision: finite only if every value is."),
    entry<copy_row<double>, copy_row<float>>("copy_row", "values, out", "out = x, and return ‖x‖²."),
    entry<write_unit_row<double>, write_unit_row<float>>(
        "write_unit_row", "values, out",
        "out = x / ‖x‖, and return ‖x‖²; a zero vector, or one that is not finite, stays as it is."),
    entry<take_csr_row<double, int32_t>, take_csr_row<double, int64_t>, take_csr_row<float, int32_t>,
          take_csr_row<float, int64_t>>(
        "take_csr_row", "indices, data, starts, dim, unit, where, values",
        "Copy the one row of a CSR matrix and return its ‖x‖²; −1 if its indices do not rise strictly below dim."),
    entry<sound_rows<double>, sound_rows<float>>(
        "sound_rows", "indices, values, starts, dim, longest",
        "Whether compressed rows have sound starts and indices, finite values, and are shorter than `longest`."),
    entry<sum<double>, sum<float>>("sum_rows", "W, idx, val, out", "out_c = Σ_k x_k·W[i_k, c] for each column of `out`."),
    entry<sum_cube<double>, sum_cube<float>>("sum_cube_rows", "B, idx, val, out", "out_cj = Σ_k x_k·B[i_k, c, j]."),
    entry<sum_every<double>, sum_every<float>>("sum_all_rows", "W, val, out", "out_c = Σ_k x_k·W[k, c]."),
    entry<sum_twice<double>, sum_twice<float>>("sum_rows_twice", "S, idx, val, out",
                                               "out_0c = Σ_k x_k·S[i_k, c] and out_1c = Σ_k x_k²·S[i_k, C + c]."),
});

}  // namespace

}  // namespace smidgen
