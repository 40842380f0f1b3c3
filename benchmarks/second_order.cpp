// A <- A + xx^T, w <- w + A^-1 x, with A^-1 kept: the practical limit of the second-order step. Only the lower triangle
// of A^-1 is kept, and an update is written while the next product is taken: one pass over memory per step.

#include <cstddef>
#include <cstdint>

typedef double Pack __attribute__((vector_size(64), aligned(8)));
static const int64_t WIDTH = 8;

static double sum(Pack p) { return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7])); }

// B <- B - vv^T/s on rows i ... i + ROWS - 1 up to the diagonal, and out <- out + Bx.
template <int ROWS>
static void rows(double* B, const double* v, double scale, const double* x, double* out, int64_t i, int64_t dim) {
    Pack sums[ROWS] = {};
    double factor[ROWS], tails[ROWS] = {};
    for (int r = 0; r < ROWS; r++) factor[r] = v[i + r] * scale;
    int64_t j = 0;
    for (; j + WIDTH <= i; j += WIDTH) {
        const Pack vj = *(const Pack*)(v + j), xj = *(const Pack*)(x + j);
        Pack across = *(Pack*)(out + j);
        for (int r = 0; r < ROWS; r++) {
            Pack* place = (Pack*)(B + (i + r) * dim + j);
            const Pack b = *place - factor[r] * vj;
            *place = b, sums[r] += b * xj, across += b * x[i + r];
        }
        *(Pack*)(out + j) = across;
    }
    for (int r = 0; r < ROWS; r++) {
        for (int64_t k = j; k < i + r; k++) {
            const double b = B[(i + r) * dim + k] -= factor[r] * v[k];
            tails[r] += b * x[k], out[k] += b * x[i + r];
        }
        tails[r] += (B[(i + r) * dim + i + r] -= factor[r] * v[i + r]) * x[i + r];
    }
    for (int r = 0; r < ROWS; r++) out[i + r] += sum(sums[r]) + tails[r];
}

extern "C" void second_order_steps(double* B, double* w, const double* xs, double* product, double* update, int64_t n,
                                   int64_t dim) {
    double scale = 0.0;  // nothing to write yet
    for (int64_t t = 0; t < n; t++) {
        const double* x = xs + t * dim;
        for (int64_t j = 0; j < dim; j++) product[j] = 0.0;
        int64_t i = 0;
        for (; i + 4 <= dim; i += 4) rows<4>(B, update, scale, x, product, i, dim);
        for (; i < dim; i++) rows<1>(B, update, scale, x, product, i, dim);
        Pack sums = {};
        double quadratic = 0.0;
        int64_t j = 0;
        for (; j + WIDTH <= dim; j += WIDTH) sums += *(const Pack*)(product + j) * *(const Pack*)(x + j);
        for (; j < dim; j++) quadratic += product[j] * x[j];
        scale = 1.0 / (1.0 + quadratic + sum(sums));
        for (j = 0; j < dim; j++) w[j] += scale * product[j], update[j] = product[j];
    }
}
