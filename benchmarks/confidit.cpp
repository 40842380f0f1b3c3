// Confidit on streams of rows, for one fixed number of classes: the practical limit of these two loops.
// They do the arithmetic of smidgen.Confidit (alpha = 1, a fixed eta, no projection, rows scaled to unit length) and
// nothing else: no checks, no record.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

template <class F>
static int highest(const F* means, const F* widths, double eta, int64_t* greedy) {
    int best = 0, first = 0;
    double bound = -INFINITY;
    for (int c = 0; c < CLASSES; c++) {
        const double upper = double(means[c]) + std::sqrt(eta * double(widths[c]));
        if (upper > bound) best = c, bound = upper;
        if (means[c] > means[first]) first = c;
    }
    *greedy = first;
    return best;
}

template <class F>
static void scale(const F* values, int64_t n, F* out) {
    double squares = 0.0;
    for (int64_t k = 0; k < n; k++) squares += double(values[k]) * double(values[k]);
    const double factor = squares > 0.0 ? 1.0 / std::sqrt(squares) : 1.0;
    for (int64_t k = 0; k < n; k++) out[k] = F(double(values[k]) * factor);
}

// Diagonal: a row of S holds the weights of all classes for one feature, then their inverse entries of A.
template <class F>
static void diagonal(F* S, double eta, const uint32_t* indices, const F* values, const int64_t* starts,
                       const int64_t* truth, int64_t n, int64_t* actions, int64_t* greedy) {
    int64_t longest = 0;
    for (int64_t t = 0; t < n; t++) longest = std::max(longest, starts[t + 1] - starts[t]);
    std::vector<F> room(longest);
    F* const x = room.data();
    for (int64_t t = 0; t < n; t++) {
        const int64_t size = starts[t + 1] - starts[t];
        const uint32_t* idx = indices + starts[t];
        scale(values + starts[t], size, x);
        F means[CLASSES] = {}, widths[CLASSES] = {};
        for (int64_t k = 0; k < size; k++) {
            const F* row = S + size_t(idx[k]) * 2 * CLASSES;
            const F v = x[k], vv = v * v;
            for (int c = 0; c < CLASSES; c++) means[c] += v * row[c];
            for (int c = 0; c < CLASSES; c++) widths[c] += vv * row[CLASSES + c];
        }
        const int shown = highest(means, widths, eta, greedy + t);
        const double sign = shown == truth[t] ? 1.0 : -1.0;
        const F rate = F((sign - double(means[shown])) / (1.0 + double(widths[shown])));
        for (int64_t k = 0; k < size; k++) {
            F* row = S + size_t(idx[k]) * 2 * CLASSES;
            const F inverse = row[CLASSES + shown];
            row[shown] += rate * x[k] * inverse;
            row[CLASSES + shown] = inverse / (F(1) + x[k] * x[k] * inverse);
        }
        actions[t] = shown;
    }
}

// Full: W holds the weights by class, B the inverse of A, one square matrix per class.
template <class F>
static double full(F* W, F* B, double eta, const F* X, const int64_t* truth, int64_t n, int64_t* actions,
                   int64_t* greedy) {
    double logdet = 0.0;
    for (int64_t t = 0; t < n; t++) {
        F x[FEATURES];
        scale(X + t * FEATURES, FEATURES, x);
        F means[CLASSES], widths[CLASSES], products[CLASSES][FEATURES];
        for (int c = 0; c < CLASSES; c++) {
            const F* inverse = B + size_t(c) * FEATURES * FEATURES;
            F product[FEATURES] = {};
            for (int i = 0; i < FEATURES; i++)
                for (int j = 0; j < FEATURES; j++) product[j] += x[i] * inverse[i * FEATURES + j];
            double mean = 0.0, width = 0.0;
            for (int j = 0; j < FEATURES; j++) {
                mean += double(W[c * FEATURES + j]) * double(x[j]);
                width += double(product[j]) * double(x[j]);
                products[c][j] = product[j];
            }
            means[c] = F(mean), widths[c] = F(width);
        }
        const int shown = highest(means, widths, eta, greedy + t);
        const double sign = shown == truth[t] ? 1.0 : -1.0, width = double(widths[shown]);
        const F rate = F((sign - double(means[shown])) / (1.0 + width)), shrink = F(1.0 / (1.0 + width));
        const F* u = products[shown];
        F* inverse = B + size_t(shown) * FEATURES * FEATURES;
        for (int j = 0; j < FEATURES; j++) W[shown * FEATURES + j] += rate * u[j];
        for (int i = 0; i < FEATURES; i++)
            for (int j = 0; j < FEATURES; j++) inverse[i * FEATURES + j] -= shrink * (u[i] * u[j]);
        logdet += std::log1p(width);
        actions[t] = shown;
    }
    return logdet;
}

#define CONFIDIT(F, name)                                                                                             \
    extern "C" void confidit_diagonal_##name(F* S, double eta, const uint32_t* indices, const F* values,              \
                                             const int64_t* starts, const int64_t* truth, int64_t n,                  \
                                             int64_t* actions, int64_t* greedy) {                                     \
        diagonal(S, eta, indices, values, starts, truth, n, actions, greedy);                                         \
    }                                                                                                                 \
    extern "C" double confidit_full_##name(F* W, F* B, double eta, const F* X, const int64_t* truth, int64_t n,       \
                                           int64_t* actions, int64_t* greedy) {                                       \
        return full(W, B, eta, X, truth, n, actions, greedy);                                                         \
    }

CONFIDIT(float, float32)
CONFIDIT(double, float64)
