// Products of matrices. Each sum runs in the order of its terms, at every size, so that the tiling does not show.
#pragma once

#include "lanes.hpp"

namespace smidgen {

// How many columns, terms and rows a tile has. The number of columns follows the registers; it changes no sum.
#ifdef __AVX512F__
inline constexpr int64_t TILE_VALUES = 2;
#else
inline constexpr int64_t TILE_VALUES = 1;
#endif
inline constexpr int64_t TILE_COLUMNS = TILE_VALUES * LANES, TILE_TERMS = 256, TILE_ROWS = 4;

// C ← C + A·B for ROWS rows of A and C and one tile of B, laid out with its columns side by side.
template <int64_t ROWS>
INLINE void add_tile(const double* A, int64_t stride, const double* tile, int64_t terms, double* C, int64_t C_stride) {
    Lanes sums[ROWS][TILE_VALUES];
    for (int64_t i = 0; i < ROWS; ++i) {
        for (int64_t v = 0; v < TILE_VALUES; ++v) sums[i][v] = load(C + i * C_stride + v * LANES);
    }
    for (int64_t k = 0; k < terms; ++k) {
        for (int64_t i = 0; i < ROWS; ++i) {
            Lanes a = fill(A[i * stride + k]);
            for (int64_t v = 0; v < TILE_VALUES; ++v) {
                sums[i][v] = sums[i][v] + a * load(tile + k * TILE_COLUMNS + v * LANES);
            }
        }
    }
    for (int64_t i = 0; i < ROWS; ++i) {
        for (int64_t v = 0; v < TILE_VALUES; ++v) store(C + i * C_stride + v * LANES, sums[i][v]);
    }
}

// C ← C + A·B: c_ij + a_i0·b_0j + a_i1·b_1j + …, added in this order. B and C may have more columns than `columns`,
// and more rows than are used.
inline void add_product(Mat<const double> A, Mat<const double> B, int64_t columns, Mat<double> C) {
    alignas(64) double tile[TILE_TERMS * TILE_COLUMNS], part[TILE_ROWS * TILE_COLUMNS];
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
        int64_t width = smallest(TILE_COLUMNS, columns - j);
        for (int64_t first = 0; first < A.cols; first += TILE_TERMS) {
            int64_t terms = smallest(TILE_TERMS, A.cols - first);
            for (int64_t k = 0; k < terms; ++k) {
                const double* row = &B(first + k, j);
                for (int64_t c = 0; c < TILE_COLUMNS; ++c) tile[k * TILE_COLUMNS + c] = c < width ? row[c] : 0.0;
            }
            for (int64_t i = 0; i < A.rows; i += TILE_ROWS) {
                int64_t height = smallest(TILE_ROWS, A.rows - i);
                const double* a = &A(i, first);
                if (height == TILE_ROWS && width == TILE_COLUMNS) {
                    add_tile<TILE_ROWS>(a, A.cols, tile, terms, &C(i, j), C.cols);
                    continue;
                }
                for (int64_t r = 0; r < height; ++r) {    // at the edges: in a copy of what there is of C
                    for (int64_t c = 0; c < TILE_COLUMNS; ++c) part[c] = c < width ? C(i + r, j + c) : 0.0;
                    add_tile<1>(a + r * A.cols, A.cols, tile, terms, part, TILE_COLUMNS);
                    for (int64_t c = 0; c < width; ++c) C(i + r, j + c) = part[c];
                }
            }
        }
    }
}

}  // namespace smidgen
