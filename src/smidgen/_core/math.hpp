// exp, log, log1p, pow and hypot, correct to one unit in the last place, with the same bits on every machine.
//
// Each is a sum of powers after a reduction of the argument; what would be lost to rounding is carried along in a second
// number (Dekker, A floating-point technique for extending the available precision, 1971). No fused multiply-add: the
// levels would differ in it.
#pragma once

#include <cstring>

#include "arrays.hpp"

namespace smidgen {

// A number as the sum hi + lo, where lo is at most half a unit in the last place of hi. V is double, or eight of them
// (lanes_math.hpp): both go by the same formulas, and give the same bits.
template <class V>
struct Two {
    V hi, lo;
};
using Double2 = Two<double>;

template <class V>
INLINE Two<V> two_sum(V a, V b) {
    V s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
// The same where |a| >= |b|, or a is 0.
template <class V>
INLINE Two<V> quick_two_sum(V a, V b) {
    V s = a + b;
    return {s, b - (s - a)};
}
template <class V>
INLINE Two<V> halve(V a) {    // 26 bits and the rest
    V t = 134217729.0 * a, hi = t - (t - a);
    return {hi, a - hi};
}
template <class V>
INLINE Two<V> two_product(V a, V b) {
    V p = a * b;
    Two<V> x = halve(a), y = halve(b);
    return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}
template <class V>
INLINE Two<V> multiply(Two<V> a, Two<V> b) {
    Two<V> p = two_product(a.hi, b.hi);
    return quick_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

INLINE uint64_t bits_of(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE double from_bits(uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// √(x² + y²), correct to one unit in the last place.
inline double hypot(double x, double y) {
    x = __builtin_fabs(x), y = __builtin_fabs(y);
    if (x == INF || y == INF) return INF;
    double a = x < y ? y : x, b = x < y ? x : y;
    if (!(b > a * 0x1p-54)) return a + b;    // NaN too
    double up = a > 0x1p500 ? 0x1p-600 : b < 0x1p-450 ? 0x1p600 : 1.0;
    a *= up, b *= up;
    Double2 p = two_product(a, a), q = two_product(b, b), s = quick_two_sum(p.hi, q.hi);
    double h = __builtin_sqrt(s.hi);
    Double2 square = two_product(h, h);
    return (h + ((s.hi - square.hi) - square.lo + (s.lo + (p.lo + q.lo))) / (2.0 * h)) / up;
}

// ln 2: the first part has 42 bits, so that its product with an exponent is exact.
inline constexpr double LN2_HI = 0x1.62e42fefa38p-1, LN2_LO = 0x1.ef35793c7673p-45;

// log of 2^k·(1 + f), for 1 + f in [√½, √2): with s = f/(2 + f) it is k·ln 2 + 2(s + s³/3 + s⁵/5 + …).
template <class V>
INLINE Two<V> log_series(V k, Two<V> f) {
    V g = 2.0 + f.hi, beyond = (f.hi - (g - 2.0)) + f.lo;
    V over = 1.0 / g, s = f.hi * over;
    Two<V> product = two_product(s, g);
    V rest = ((((f.hi - product.hi) - product.lo) + f.lo) - s * beyond) * over;    // s + rest is f/(2 + f)
    V z = s * s;
    // 2/5 + 2/7·z + …: the first power of three is taken in two numbers, as `pow` needs it
    V tail = 2.0 / 23 + z * (2.0 / 25);
    tail = 2.0 / 21 + z * tail;
    tail = 2.0 / 19 + z * tail;
    tail = 2.0 / 17 + z * tail;
    tail = 2.0 / 15 + z * tail;
    tail = 2.0 / 13 + z * tail;
    tail = 2.0 / 11 + z * tail;
    tail = 2.0 / 9 + z * tail;
    tail = 2.0 / 7 + z * tail;
    tail = 2.0 / 5 + z * tail;
    Two<V> exact = quick_two_sum(s, rest);
    Two<V> square = multiply(exact, exact);
    Two<V> cube = multiply(square, exact);
    Two<V> third = multiply(cube, {V{} + 2.0 / 3, V{} + 0x1.5555555555555p-55});
    V fifth = cube.hi * z * tail;
    Two<V> sum = two_sum(k * LN2_HI, 2.0 * exact.hi);
    Two<V> more = two_sum(sum.hi, third.hi);
    V low = ((sum.lo + more.lo) + (2.0 * exact.lo + k * LN2_LO)) + (third.lo + fifth);
    return quick_two_sum(more.hi, low);
}
inline Double2 log_of(int64_t k, Double2 f) { return log_series(double(k), f); }

struct Exponent {
    int64_t k;
    double m;    // in [√½, √2)
};
// A positive, finite number as 2^k·m.
INLINE Exponent take_exponent(double x) {
    int64_t k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    int64_t above = static_cast<int64_t>(bits_of(x) - 0x3FE6A09E667F3BCDu) >> 52;    // the bits of √½
    return {k + above, from_bits(bits_of(x) - (static_cast<uint64_t>(above) << 52))};
}

inline double log(double x) {
    if (!(x > 0.0)) return x == 0.0 ? -INF : NaN;
    if (x == INF) return x;
    Exponent e = take_exponent(x);
    return log_of(e.k, {e.m - 1.0, 0.0}).hi;
}

inline double log1p(double x) {
    if (!(x > -1.0)) return x == -1.0 ? -INF : NaN;
    if (x == INF || (x > -0x1p-54 && x < 0x1p-54)) return x;
    if (x > -0.29 && x < 0.41) return log_of(0, {x, 0.0}).hi;
    Double2 u = two_sum(1.0, x);
    Exponent e = take_exponent(u.hi);
    double scale = from_bits(static_cast<uint64_t>(1023 - largest(smallest(e.k, int64_t(1022)), int64_t(-1022))) << 52);
    return log_of(e.k, {e.m - 1.0, u.lo * scale}).hi;
}

// exp(x + more)/2^k, where k is the whole number nearest to x/ln 2, and more is small beside x.
template <class V>
INLINE V exp_series(V x, V more, V k) {
    Two<V> r = two_sum(x - k * LN2_HI, more - k * LN2_LO);
    V z = r.hi;
    V tail = 1.0 / 1307674368000 * z + 1.0 / 87178291200;
    tail = tail * z + 1.0 / 6227020800;
    tail = tail * z + 1.0 / 479001600;
    tail = tail * z + 1.0 / 39916800;
    tail = tail * z + 1.0 / 3628800;
    tail = tail * z + 1.0 / 362880;
    tail = tail * z + 1.0 / 40320;
    tail = tail * z + 1.0 / 5040;
    tail = tail * z + 1.0 / 720;
    tail = tail * z + 1.0 / 120;
    tail = tail * z + 1.0 / 24;
    tail = tail * z + 1.0 / 6;
    tail = tail * z + 0.5;
    Two<V> one = two_sum(V{} + 1.0, r.hi);
    return one.hi + (z * z * tail + (one.lo + r.lo));
}
inline constexpr double OVER_LN2 = 0x1.71547652b82fep0, ROUNDING = 0x1.8p52;    // (x + ROUNDING) − ROUNDING is whole
inline constexpr double EXP_MOST = 709.79, EXP_LEAST = -745.14;                 // beyond, exp is ∞ or 0

inline double exp_of(double x, double more) {
    if (x != x) return x;
    if (x > EXP_MOST) return INF;
    if (x < EXP_LEAST) return 0.0;
    double k = x * OVER_LN2;
    k = (k + ROUNDING) - ROUNDING;
    double y = exp_series(x, more, k);
    int64_t n = static_cast<int64_t>(k), half = n / 2;    // in two steps: 2^n need not be a number
    return y * from_bits(static_cast<uint64_t>(1023 + half) << 52) * from_bits(static_cast<uint64_t>(1023 + n - half) << 52);
}

inline double exp(double x) { return exp_of(x, 0.0); }

// x^y for x >= 0; a negative x gives NaN.
inline double pow(double x, double y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (x != x || y != y) return NaN;
    if (x < 0.0) return NaN;
    if (x == 0.0) return y > 0.0 ? 0.0 : INF;
    if (x == INF) return y > 0.0 ? INF : 0.0;
    if (y == INF || y == -INF) return (x > 1.0) == (y > 0.0) ? INF : 0.0;
    if (y > 0x1p70 || y < -0x1p70) return (x > 1.0) == (y > 0.0) ? INF : 0.0;    // beyond any exponent, for every x
    Exponent e = take_exponent(x);
    Double2 l = log_of(e.k, {e.m - 1.0, 0.0});
    double head = y * l.hi;
    if (!(head > -800.0 && head < 800.0)) return head > 0.0 ? INF : 0.0;
    Double2 product = two_product(y, l.hi);
    return exp_of(product.hi, product.lo + y * l.lo);
}

}  // namespace smidgen
