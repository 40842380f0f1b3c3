// Online Newton steps on least squares, from gradients (ONS) and from one loss value per round (ONSEG), for one fixed
// dimension: the practical limit of these loops. No set to stay in, no checks, no record, and for ONSEG a generator of
// its own.

#include <cmath>
#include <cstdint>

static double dot(const double* a, const double* b) {
    double total = 0.0;
    for (int j = 0; j < DIM; j++) total += a[j] * b[j];
    return total;
}

// x <- x - scale (A + gg^T)^-1 g for g = factor * direction; B is the inverse of A.
static void step(double* x, double* B, const double* direction, double factor, double scale) {
    double product[DIM] = {};
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) product[j] += direction[i] * B[i * DIM + j];
    const double shrink = factor / (1.0 + factor * factor * dot(product, direction));
    for (int i = 0; i < DIM; i++) {
        const double row = shrink * factor * product[i];
        for (int j = 0; j < DIM; j++) B[i * DIM + j] -= row * product[j];
    }
    for (int j = 0; j < DIM; j++) x[j] -= scale * shrink * product[j];
}

extern "C" void ons(double* x, double* B, const double* Z, const double* y, int64_t n, double scale) {
    for (int64_t t = 0; t < n; t++) step(x, B, Z + t * DIM, dot(x, Z + t * DIM) - y[t], scale);
}

extern "C" void onseg(double* x, double* B, const double* Z, const double* y, int64_t n, double scale, double delta) {
    uint64_t state = 88172645463325252u;
    auto uniform = [&state] {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return (double(state >> 11) + 0.5) * 0x1p-53;
    };
    for (int64_t t = 0; t < n; t++) {
        double v[DIM + 1];
        for (int j = 0; j < DIM; j += 2) {
            const double length = std::sqrt(-2.0 * std::log(uniform())), angle = 6.283185307179586 * uniform();
            v[j] = length * std::cos(angle), v[j + 1] = length * std::sin(angle);
        }
        const double norm = 1.0 / std::sqrt(dot(v, v));
        for (int j = 0; j < DIM; j++) v[j] *= norm;
        const double gap = dot(x, Z + t * DIM) + delta * dot(v, Z + t * DIM) - y[t];
        step(x, B, v, DIM / delta * 0.5 * gap * gap, scale);
    }
}
