// exp and log of eight numbers at a time, with the bits of math.hpp.
#pragma once

#include "lanes.hpp"
#include "math.hpp"

namespace smidgen {

using WordLanes = VectorOf<uint64_t, 8>;

INLINE WordLanes bits_of(Lanes x) {
    WordLanes bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE Lanes from_bits(WordLanes bits) {
    Lanes x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
INLINE WholeLanes signed_lanes(WordLanes words) {
    WholeLanes out;
    std::memcpy(&out, &words, sizeof out);
    return out;
}
INLINE WordLanes word_lanes(WholeLanes whole) {
    WordLanes out;
    std::memcpy(&out, &whole, sizeof out);
    return out;
}
// Lane by lane: yes where the mask says so, else no.
INLINE Lanes select(WholeLanes mask, Lanes yes, Lanes no) {
    WordLanes keep = word_lanes(mask);
    return from_bits((bits_of(yes) & keep) | (bits_of(no) & ~keep));
}
INLINE Lanes absolute(Lanes x) { return from_bits(bits_of(x) & ~(uint64_t(1) << 63)); }

// log of positive numbers that are neither infinite nor subnormal.
INLINE Lanes log(Lanes x) {
    WordLanes bits = bits_of(x);
    WordLanes above = word_lanes(signed_lanes(bits - 0x3FE6A09E667F3BCDu) >> 52);    // the bits of √½
    Lanes m = from_bits(bits - (above << 52));
    Lanes k = from_bits(above + bits_of(ROUNDING)) - ROUNDING;
    return log_series<Lanes>(k, {m - 1.0, fill(0.0)}).hi;
}

INLINE Lanes exp(Lanes x) {
    Lanes shifted = x * OVER_LN2 + ROUNDING, k = shifted - ROUNDING;
    Lanes y = exp_series<Lanes>(x, fill(0.0), k);
    WordLanes n = bits_of(shifted) - bits_of(ROUNDING), half = word_lanes(signed_lanes(n) >> 1);
    y = y * from_bits((half + 1023u) << 52) * from_bits((n - half + 1023u) << 52);
    y = select(x < fill(EXP_LEAST), fill(0.0), y);
    return select(x > fill(EXP_MOST), fill(INF), y);
}

// x_i ← f(x_i), eight at a time.
template <class F>
INLINE void for_lanes(Vec<double> x, F f) {
    int64_t whole = x.n - x.n % 8;
    for (int64_t i = 0; i < whole; i += 8) store(x.data + i, f(load(x.data + i)));
    if (whole < x.n) {
        alignas(64) double rest[8] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
        for (int64_t i = whole; i < x.n; ++i) rest[i - whole] = x[i];
        store(rest, f(load(rest)));
        for (int64_t i = whole; i < x.n; ++i) x[i] = rest[i - whole];
    }
}
inline void exp_all(Vec<double> x) {
    for_lanes(x, [](Lanes v) __attribute__((always_inline)) { return exp(v); });
}
// Of positive numbers that are neither infinite nor subnormal.
inline void log_all(Vec<double> x) {
    for_lanes(x, [](Lanes v) __attribute__((always_inline)) { return log(v); });
}

}  // namespace smidgen
