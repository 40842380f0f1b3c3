// Matrices of rows, dense and sparse: scores, sums, differences, products. Each sum runs in the order of the features.
#include "matrix.hpp"

#include <algorithm>

#include "bind.hpp"
#include "dense.hpp"
#include "rows.hpp"

namespace smidgen {
namespace {

// --- dense -----------------------------------------------------------------------------------------------------------

void write_dense_scores(Mat<const double> rows, Vec<const double> w, Vec<double> out) {
    require(w.n == rows.cols && out.n == rows.rows, "w needs one weight per column, and out one place per row");
    dense_scores(rows, w, out);
}

void write_scores_ahead(Mat<const double> X, int64_t first, int64_t last, int64_t then, Vec<const double> w,
                        Vec<double> out) {
    require(0 <= first && first <= last && last <= X.rows && 0 <= then && then <= X.rows, "these are no rows of X");
    require(w.n == X.cols && out.n == last - first, "w needs one weight per column, and out one place per row");
    scores_ahead(X, first, last, then, w, out);
}

void require_chosen(Vec<const int64_t> index, Vec<const double> weight, int64_t rows) {
    require(weight.n >= index.n, "each index needs a weight");
    for (int64_t k = 0; k < index.n; ++k) require(index[k] >= 0 && index[k] < rows, "a row is not there");
}

void combine_rows(Mat<const double> rows, Vec<const int64_t> index, Vec<const double> weight, Vec<double> out) {
    require_chosen(index, weight, rows.rows);
    require(out.n == rows.cols, "out needs one place per column");
    combine_dense(rows, index, weight, out);
}

void require_pairs(Mat<const int64_t> pairs, int64_t rows, Mat<const double> out) {
    require(pairs.cols == 2 && out.rows == pairs.rows, "out needs one row per pair");
    for (int64_t each : pairs.flat()) require(each >= 0 && each < rows, "a row is not there");
}

void write_dense_differences(Mat<const double> rows, Mat<const int64_t> pairs, Mat<double> out) {
    require_pairs(pairs, rows.rows, out);
    require(out.cols == rows.cols, "out needs one column per feature");
    dense_differences(rows, pairs, out);
}

// out = (rows − least)/(greatest − least), column by column; a constant column becomes 0.
void to_unit_columns(const double* rows, int64_t n, int64_t d, double* out) {
    for (int64_t j = 0; n > 0 && j < d; ++j) {
        double low = rows[j], high = rows[j];
        for (int64_t i = 1; i < n; ++i) {
            low = smallest(low, rows[i * d + j]);
            high = largest(high, rows[i * d + j]);
        }
        double spread = high - low;
        for (int64_t i = 0; i < n; ++i) out[i * d + j] = spread > 0.0 ? (rows[i * d + j] - low) / spread : 0.0;
    }
}

void unit_columns(Mat<const double> rows, Mat<double> out) {
    require(out.rows == rows.rows && out.cols == rows.cols, "rows and out must have one shape");
    to_unit_columns(rows.data, rows.rows, rows.cols, out.data);
}

void unit_queries(Mat<const double> X, Vec<const int64_t> starts, Mat<double> out) {
    require(out.rows == X.rows && out.cols == X.cols, "X and out must have one shape");
    require_starts(starts, X.rows);
    for (int64_t i = 0; i + 1 < starts.n; ++i) {
        int64_t at = starts[i] * X.cols;
        to_unit_columns(X.data + at, starts[i + 1] - starts[i], X.cols, out.data + at);
    }
}

// --- dense, in blocks: 32 rows are summed side by side, their values for one feature lie side by side ----------------

inline constexpr int64_t ROWS = 32;    // four values of eight lanes each

void write_blocks(Mat<const double> rows, Mat<double> blocks) {
    require(blocks.cols == ROWS && blocks.rows == (rows.rows + ROWS - 1) / ROWS * rows.cols, "the blocks do not fit the rows");
    for (int64_t i = 0; i < rows.rows; ++i) {
        for (int64_t j = 0; j < rows.cols; ++j) blocks(i / ROWS * rows.cols + j, i % ROWS) = rows(i, j);
    }
}

void block_scores(Mat<const double> blocks, Vec<const double> w, Vec<double> out) {
    require(blocks.cols == ROWS && blocks.rows == (out.n + ROWS - 1) / ROWS * w.n, "the blocks do not fit w and out");
    for (int64_t first = 0; first < out.n; first += ROWS) {
        Lanes s0 = fill(0.0), s1 = fill(0.0), s2 = fill(0.0), s3 = fill(0.0);
        const double* at = blocks.data + first * w.n;
        for (int64_t j = 0; j < w.n; ++j, at += ROWS) {
            Lanes v = fill(w[j]);
            s0 = s0 + load(at) * v;
            s1 = s1 + load(at + 8) * v;
            s2 = s2 + load(at + 16) * v;
            s3 = s3 + load(at + 24) * v;
        }
        alignas(64) double sums[ROWS];
        store(sums, s0);
        store(sums + 8, s1);
        store(sums + 16, s2);
        store(sums + 24, s3);
        for (int64_t i = first; i < smallest(first + ROWS, out.n); ++i) out[i] = sums[i - first];
    }
}

// --- sparse ------------------------------------------------------------------------------------------------------------

// Compressed rows: (data, indices, starts).
template <class I>
struct Compressed {
    Vec<const double> data;
    Vec<const I> indices;
    Vec<const int64_t> starts;
    FIELDS(data, indices, starts)

    int64_t rows() const { return starts.n - 1; }
    void check_row(int64_t i, int64_t dim) const {
        bool sound = 0 <= starts[i] && starts[i] <= starts[i + 1] && starts[i + 1] <= data.n;
        require(sound, "the row starts do not fit the values");
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) sound &= int64_t(indices[k]) >= 0 && int64_t(indices[k]) < dim;
        require(sound, "an index is not below the number of features");
    }
    void check_lengths() const {
        require(data.n == indices.n && starts.n >= 1, "the three arrays of sparse rows do not fit together");
    }
    void check(int64_t dim) const {
        check_lengths();
        for (int64_t i = 0; i < rows(); ++i) check_row(i, dim);
    }
};

void sparse_scores(Compressed<int64_t> rows, Vec<const double> w, Vec<double> out) {
    rows.check(w.n);
    require(out.n == rows.rows(), "out needs one place per row");
    for (int64_t i = 0; i < out.n; ++i) {
        double sum = 0.0;
        for (int64_t k = rows.starts[i]; k < rows.starts[i + 1]; ++k) sum += rows.data[k] * w[rows.indices[k]];
        out[i] = sum;
    }
}

void combine_sparse(Compressed<int64_t> rows, Vec<const int64_t> index, Vec<const double> weight, Vec<double> out) {
    rows.check_lengths();
    require_chosen(index, weight, rows.rows());
    for (int64_t i : index) rows.check_row(i, out.n);
    clear(out);
    for (int64_t k = 0; k < index.n; ++k) {
        if (weight[k] == 0.0) continue;
        for (int64_t e = rows.starts[index[k]]; e < rows.starts[index[k] + 1]; ++e) {
            out[rows.indices[e]] += weight[k] * rows.data[e];
        }
    }
}

void sparse_differences(Compressed<int64_t> rows, Mat<const int64_t> pairs, Mat<double> out) {
    rows.check_lengths();
    require_pairs(pairs, rows.rows(), out);
    for (int64_t i : pairs.flat()) rows.check_row(i, out.cols);
    clear(out.flat());
    for (int64_t k = 0; k < out.rows; ++k) {
        int64_t first = pairs(k, 0), second = pairs(k, 1);
        for (int64_t e = rows.starts[first]; e < rows.starts[first + 1]; ++e) out(k, rows.indices[e]) = rows.data[e];
        for (int64_t e = rows.starts[second]; e < rows.starts[second + 1]; ++e) out(k, rows.indices[e]) -= rows.data[e];
    }
}

// ‖x‖² of each row, summed in the order of the columns.
void squared_lengths(Vec<const double> data, Vec<const int64_t> starts, Vec<double> out) {
    require_starts(starts, data.n);
    require(out.n == starts.n - 1, "out needs one place per row");
    for (int64_t i = 0; i < out.n; ++i) {
        double sum = 0.0;
        for (int64_t k = starts[i]; k < starts[i + 1]; ++k) sum += data[k] * data[k];
        out[i] = sum;
    }
}

// out += A·Bᵀ: the inner product of every row of a with every row of b, summed in the order of the columns of a. By the
// columns of b, which are found first: so only what two rows have in common is multiplied.
template <class I>
void products(Compressed<I> a, Compressed<I> b, int64_t dim, Mat<double> out) {
    require(dim >= 0 && dim < int64_t(1) << 40, "dim is not a number of features");
    a.check(dim);
    b.check(dim);
    require(out.rows == a.rows() && out.cols >= b.rows(), "out needs a row per row of a and a column per row of b");
    int64_t n = b.rows();
    dim = 0;    // only the columns up to the last one of b matter, however many there are
    for (int64_t k = 0; k < b.starts[n]; ++k) dim = std::max(dim, int64_t(b.indices[k]) + 1);
    Scratch<int64_t> places(dim + 1, 0);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = b.starts[i]; k < b.starts[i + 1]; ++k) ++places[int64_t(b.indices[k]) + 1];
    }
    for (int64_t j = 0; j < dim; ++j) places[j + 1] += places[j];
    Scratch<int64_t> rows(places[dim]);
    Scratch<double> values(places[dim]);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = b.starts[i]; k < b.starts[i + 1]; ++k) {
            int64_t place = places[b.indices[k]]++;
            rows[place] = i;
            values[place] = b.data[k];
        }
    }
    for (int64_t i = 0; i < a.rows(); ++i) {    // each column now ends where it began the next
        for (int64_t k = a.starts[i]; k < a.starts[i + 1]; ++k) {
            int64_t j = a.indices[k];
            if (j >= dim) continue;
            for (int64_t e = j > 0 ? places[j - 1] : 0; e < places[j]; ++e) out(i, rows[e]) += a.data[k] * values[e];
        }
    }
}

// C ← C + A·B for the first columns of B and C, which may be larger than the product.
void add_dense_product(Mat<const double> A, Mat<const double> B, int64_t columns, Mat<double> C) {
    require(columns >= 0 && columns <= B.cols && columns <= C.cols, "B and C need that number of columns");
    require(A.cols <= B.rows && A.rows <= C.rows, "A needs a row of C per row, and a row of B per column");
    add_product(A, B, columns, C);
}

const Family family("matrix", {
    entry<add_dense_product>("add_product", "A, B, columns, C",
                             "C ← C + A·B for the first columns of B and C, which may be larger than the product."),
    entry<write_dense_scores>("write_dense_scores", "rows, w, out", "out = rows @ w."),
    entry<write_scores_ahead>("write_scores_ahead", "X, first, last, then, w, out",
                              "out = X[first:last] @ w; memory is asked for the rows from `then` on."),
    entry<combine_rows>("combine_dense", "rows, index, weight, out", "out = Σ_k weight_k · rows[index_k]."),
    entry<write_dense_differences>("write_dense_differences", "rows, pairs, out", "Row minus row for each of the pairs."),
    entry<unit_columns>("write_unit_columns", "rows, out", "Each column brought to [0, 1]; a constant column becomes 0."),
    entry<unit_queries>("write_unit_queries", "X, starts, out", "The same for blocks of rows that begin at `starts`."),
    entry<write_blocks>("write_blocks", "rows, blocks", "Lay rows out in blocks of 32."),
    entry<block_scores>("write_block_scores", "blocks, w, out", "out = rows @ w, of rows in blocks."),
    entry<sparse_scores>("write_sparse_scores", "rows, w, out", "out = rows @ w; rows are (data, indices, starts)."),
    entry<combine_sparse>("combine_sparse", "rows, index, weight, out", "out = Σ_k weight_k · rows[index_k], sparse rows."),
    entry<sparse_differences>("write_sparse_differences", "rows, pairs, out", "Row minus row for each pair, sparse rows."),
    entry<squared_lengths>("write_squared_lengths", "data, starts, out", "‖x‖² of each row."),
    entry<products<int64_t>, products<uint32_t>>("write_products", "a, b, dim, out", "out += A·Bᵀ, of sparse rows."),
});

}  // namespace
}  // namespace smidgen
