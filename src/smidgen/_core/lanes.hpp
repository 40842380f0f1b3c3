// Eight numbers at a time. The order of a sum is part of the program, and the same at every instruction-set level.
//
// A compiler must not turn a sum into vector code by itself, since that would change its order. Here a kernel says what
// it wants: `load` gives eight neighbors as one value, which + − * / treat lane by lane; `total` adds the lanes up, in
// halves. A value is one register of AVX-512, two of AVX2, four of SSE and NEON.
#pragma once

#include <cstring>

#include "arrays.hpp"

namespace smidgen {

inline constexpr int64_t LANES = 8;

template <class T, int N>
struct Vector {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using VectorOf = typename Vector<T, N>::type;

using Lanes = VectorOf<double, 8>;
using WholeLanes = VectorOf<int64_t, 8>;

// The vector at an address, which need not be aligned.
template <class V, class T>
INLINE V load_vector(const T* at) {
    V v;
    std::memcpy(&v, at, sizeof(V));
    return v;
}
template <class V, class T>
INLINE void store_vector(T* at, V v) {
    std::memcpy(at, &v, sizeof(V));
}

INLINE Lanes load(const double* at) { return load_vector<Lanes>(at); }
INLINE Lanes load(const float* at) { return __builtin_convertvector((load_vector<VectorOf<float, 8>>(at)), Lanes); }
INLINE void store(double* at, Lanes v) { store_vector(at, v); }
INLINE void add_to(double* at, Lanes v) { store(at, load(at) + v); }
INLINE Lanes fill(double x) { return Lanes{x, x, x, x, x, x, x, x}; }
INLINE Lanes root(Lanes v) {
    Lanes out;
    for (int k = 0; k < 8; ++k) out[k] = __builtin_sqrt(v[k]);
    return out;
}
// The first lanes, as many as `count` says, and 0 in the place of the others.
INLINE Lanes only(Lanes v, int64_t count) {
    const WholeLanes place = {0, 1, 2, 3, 4, 5, 6, 7};
    WholeLanes limit = WholeLanes{} + count;
    WholeLanes keep = place < limit;
    WholeLanes bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= keep;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}
template <int N, class V>
INLINE auto halves(V v) {
    struct Pair {
        VectorOf<double, N> low, high;
    } pair;
    std::memcpy(&pair, &v, sizeof pair);
    return pair;
}
// The sum of the lanes: halves are added to each other until one number is left.
INLINE double total(Lanes v) {
    auto four = halves<4>(v);
    auto two = halves<2>(four.low + four.high);
    VectorOf<double, 2> last = two.low + two.high;
    return last[0] + last[1];
}
// The total of each of eight.
INLINE Lanes totals(Lanes a, Lanes b, Lanes c, Lanes d, Lanes e, Lanes f, Lanes g, Lanes h) {
    return Lanes{total(a), total(b), total(c), total(d), total(e), total(f), total(g), total(h)};
}
// The lanes of both in turn: a0, b0, a1, b1, …
INLINE void store_shuffled(double* at, Lanes a, Lanes b) {
    for (int k = 0; k < 8; ++k) {
        at[2 * k] = a[k];
        at[2 * k + 1] = b[k];
    }
}

INLINE void prefetch(const void* at) { __builtin_prefetch(at, 0, 3); }
INLINE void prefetch_later(const void* at) { __builtin_prefetch(at, 0, 2); }

// Σ x_i·y_i of n numbers, summed in lanes.
template <class X, class Y>
INLINE double dot(const X* x, const Y* y, int64_t n) {
    int64_t whole = n - n % 8;
    double rest = 0.0;
    Lanes s = fill(0.0), t = fill(0.0);
    for (int64_t i = 0; i < whole - 8; i += 16) {
        s = s + load(x + i) * load(y + i);
        t = t + load(x + i + 8) * load(y + i + 8);
    }
    if (whole % 16 != 0) s = s + load(x + whole - 8) * load(y + whole - 8);
    for (int64_t i = whole; i < n; ++i) rest += double(x[i]) * double(y[i]);
    return total(s + t) + rest;
}
template <class X, class Y>
INLINE double dot(Vec<X> x, Vec<Y> y) {
    return dot(x.data, y.data, x.n);
}

// out = x + factor·y
INLINE void shift(Vec<double> out, Vec<const double> x, Vec<const double> y, double factor) {
    int64_t n = out.n, whole = n - n % 8;
    Lanes lanes = fill(factor);
    for (int64_t i = 0; i < whole; i += 8) store(out.data + i, load(x.data + i) + lanes * load(y.data + i));
    for (int64_t i = whole; i < n; ++i) out[i] = x[i] + factor * y[i];
}
// out = factor·x
INLINE void scale(Vec<double> out, Vec<const double> x, double factor) {
    int64_t n = out.n, whole = n - n % 8;
    Lanes lanes = fill(factor);
    for (int64_t i = 0; i < whole; i += 8) store(out.data + i, lanes * load(x.data + i));
    for (int64_t i = whole; i < n; ++i) out[i] = factor * x[i];
}
template <class T, class U>
INLINE void copy(Vec<T> out, Vec<U> x) {
    for (int64_t i = 0; i < out.n; ++i) out[i] = static_cast<T>(x[i]);
}
template <class T>
INLINE void clear(Vec<T> out) {
    for (int64_t i = 0; i < out.n; ++i) out[i] = T(0);
}

}  // namespace smidgen
