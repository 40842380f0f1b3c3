// Randomness that is a function of (seed, decision number): Philox-4x64-10 (Salmon, Moraes, Dror and Shaw, Parallel
// random numbers: as easy as 1, 2, 3, SC 2011). The key is (seed, stream), the counter (block, decision number).
#pragma once

#include "lanes.hpp"
#include "math.hpp"

namespace smidgen {

struct Key {
    uint64_t seed, stream;
};

// The key in an array of two words, from the first-th on.
INLINE Key key_in(Vec<const uint64_t> words, int64_t first = 0) {
    require(words.n >= first + 2, "a key has two words");
    return {words[first], words[first + 1]};
}

struct Words {
    uint64_t word[4];
};

// The four 64-bit words of the block with counter (c0, c1, 0, 0).
INLINE Words philox(Key key, uint64_t c0, uint64_t c1) {
    __extension__ typedef unsigned __int128 Wide;
    uint64_t k0 = key.seed, k1 = key.stream, x0 = c0, x1 = c1, x2 = 0, x3 = 0;
    for (int round = 0; round < 10; ++round) {
        Wide a = Wide(0xD2E7470EE14C6C93u) * x0, b = Wide(0xCA5A826395121157u) * x2;
        x0 = uint64_t(b >> 64) ^ x1 ^ k0;
        x1 = uint64_t(b);
        x2 = uint64_t(a >> 64) ^ x3 ^ k1;
        x3 = uint64_t(a);
        k0 += 0x9E3779B97F4A7C15u;
        k1 += 0xBB67AE8584CAA73Bu;
    }
    return {{x0, x1, x2, x3}};
}

// A number in [0, 1) out of the upper 53 bits of a word.
INLINE double to_unit(uint64_t word) { return double(int64_t(word >> 11)) * 0x1p-53; }

// The first of the uniforms that belong to a decision.
INLINE double first_uniform(Key key, uint64_t number) { return to_unit(philox(key, 0, number).word[0]); }

inline void fill_uniforms(Key key, uint64_t number, Vec<double> out) {
    for (int64_t i = 0; i < out.n; i += 4) {
        Words words = philox(key, uint64_t(i / 4), number);
        for (int64_t k = i; k < smallest(i + 4, out.n); ++k) out[k] = to_unit(words.word[k - i]);
    }
}

// Normal numbers by the method of Box and Muller (1958), eight pairs at a time: two uniforms u and t give the pair
// √(−2·log(1 − u))·(cos 2πt, sin 2πt).
//
// A block of them: what eight pairs of words are taken apart into.
struct Pairs {
    alignas(64) double mantissa[8], exponent[8], turn[8], cosine[8], sine[8];

    INLINE void clear() {
        for (int k = 0; k < 8; ++k) mantissa[k] = exponent[k] = turn[k] = cosine[k] = sine[k] = 0.0;
    }
    // Make two words ready, at place k.
    INLINE void take_apart(uint64_t first, uint64_t second, int64_t k) {
        double number = double((int64_t(1) << 53) - int64_t(first >> 11)) * 0x1p-53;    // 1 − u, without rounding
        uint64_t above = (bits_of(number) - 0x3FE6A09E667F3BCDu) & ~uint64_t(0xFFFFFFFFFFFFF);    // the bits of √½
        mantissa[k] = from_bits(bits_of(number) - above);    // at least √½, and below √2
        exponent[k] = double(int64_t(above) >> 52);
        int64_t t = int64_t(second >> 11);    // t·2^53
        int64_t quarter = (t + (int64_t(1) << 50)) >> 51;
        turn[k] = double(t - (quarter << 51)) * 0x1p-53;    // what is left: at most an eighth of a turn
        double sign = double(1 - (quarter & 2)), odd = double(quarter & 1);
        cosine[k] = sign * (1.0 - odd);    // of the quarter turns
        sine[k] = sign * odd;
    }
    // 1 + y·(a + b·y + c·y² + … + h·y⁷), in pairs, so that little waits for anything else.
    static INLINE Lanes powers(Lanes y, double a, double b, double c, double d, double e, double f, double g, double h) {
        Lanes squares = y * y;
        Lanes low = (fill(a) + fill(b) * y) + (fill(c) + fill(d) * y) * squares;
        Lanes high = (fill(e) + fill(f) * y) + (fill(g) + fill(h) * y) * squares;
        return fill(1.0) + y * (low + high * (squares * squares));
    }
    // Write the sixteen normals.
    INLINE void write(double* out) const {
        Lanes m = load(mantissa), f = (m - fill(1.0)) / (m + fill(1.0)), s = f * f;
        Lanes logs = powers(s, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17) * (f + f);
        Lanes lengths = root((logs + load(exponent) * fill(0x1.62e42fefa39efp-1)) * fill(-2.0));
        Lanes x = load(turn) * fill(0x1.921fb54442d18p+2), y = x * x;
        Lanes cos = powers(y, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                           -1.0 / 87178291200, 1.0 / 20922789888000);
        Lanes sin = x * powers(y, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800,
                               -1.0 / 1307674368000, 1.0 / 355687428096000);
        Lanes quarter_cos = load(cosine), quarter_sin = load(sine);
        store_shuffled(out, lengths * (quarter_cos * cos - quarter_sin * sin),
                       lengths * (quarter_sin * cos + quarter_cos * sin));
    }
};

// How many numbers `write_normals` writes for n: whole blocks of sixteen.
INLINE int64_t normals_space(int64_t n) { return (n + 15) / 16 * 16; }

// n normal numbers from the words of the blocks `block`, `block` + 1, …; `out` has `normals_space(n)`.
inline void write_normals(Key key, uint64_t block, uint64_t number, int64_t n, double* out) {
    for (int64_t i = 0; i < n; i += 16) {
        Pairs pairs;
        pairs.clear();
        for (int64_t k = 0; k < smallest(int64_t(4), (n - i + 3) / 4); ++k) {
            Words words = philox(key, block + uint64_t(i / 4 + k), number);
            pairs.take_apart(words.word[0], words.word[1], 2 * k);
            if (i + 4 * k + 2 < n) pairs.take_apart(words.word[2], words.word[3], 2 * k + 1);
        }
        pairs.write(out + i);
    }
}

// As many normal numbers as fit: the part-th portion of those that belong to a decision.
inline void fill_normals(Key key, uint64_t number, int64_t part, Vec<double> out) {
    Scratch<double> normals(normals_space(out.n));
    uint64_t blocks = uint64_t((out.n + 3) / 4);
    write_normals(key, uint64_t(part) * blocks, number, out.n, normals.data());
    copy(out, normals.vec());
}

// A uniform direction: normals, divided by their norm.
inline void unit_direction(Key key, uint64_t number, Vec<double> out) {
    int64_t n = out.n;
    Scratch<double> normals(normals_space(n));
    write_normals(key, 0, number, n, normals.data());
    Lanes squares = fill(0.0);
    for (int64_t i = 0; i < n; i += 8) {
        Lanes x = only(load(normals.data() + i), n - i);
        squares = squares + x * x;
    }
    scale(out, normals.vec().slice(0, n), 1.0 / root(total(squares)));
}

}  // namespace smidgen
