// LinUCB with full covariance for one fixed dimension and number of candidates: the practical limit of this loop. The
// square root S of the inverse is kept (S S^T = A^-1). No floor, no checks, no record.

#include <cmath>
#include <cstdint>

static double dot(const double* a, const double* b) {
    double total = 0.0;
    for (int j = 0; j < DIM; j++) total += a[j] * b[j];
    return total;
}

// X: n x CANDIDATES x DIM, rewards: n x CANDIDATES; w and S are the state; shown gets the actions.
extern "C" void linucb(double* w, double* S, const double* X, const double* rewards, int64_t n, double width,
                       int64_t* shown) {
    for (int64_t t = 0; t < n; t++) {
        double best = -INFINITY, lean[DIM], kept[DIM] = {}, mean = 0.0, spread = 0.0;
        int64_t action = 0;
        for (int k = 0; k < CANDIDATES; k++) {
            const double* x = X + (t * CANDIDATES + k) * DIM;
            for (int j = 0; j < DIM; j++) lean[j] = 0.0;
            for (int i = 0; i < DIM; i++)
                for (int j = 0; j < DIM; j++) lean[j] += x[i] * S[i * DIM + j];
            const double m = dot(w, x), s = dot(lean, lean), bound = m + width * std::sqrt(s);
            if (bound > best) {
                best = bound, action = k, mean = m, spread = s;
                for (int j = 0; j < DIM; j++) kept[j] = lean[j];
            }
        }
        const double grown = 1.0 + spread, shrink = 1.0 / (grown + std::sqrt(grown));
        const double rate = (rewards[t * CANDIDATES + action] - mean) / grown;
        for (int i = 0; i < DIM; i++) {
            const double product = dot(S + i * DIM, kept), share = shrink * product;
            for (int j = 0; j < DIM; j++) S[i * DIM + j] -= share * kept[j];
            w[i] += rate * product;
        }
        shown[t] = action;
    }
}
