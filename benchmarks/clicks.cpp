// Rankings that are drawn and clicked: PDGD, FairPairs and 3PR with their user, round after round.
// Random numbers of a round are those of the counter-based generator, key (seed, stream), counter (block, round).
// The user draws from numpy's PCG64, whose state is given: two rows of DEPTH per round, for clicks and for stopping.
// DOCS, DIM and DEPTH are fixed at compile time; all queries have DOCS documents.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr int TOP = 5;

struct Words { uint64_t x[4]; };

inline Words philox(uint64_t k0, uint64_t k1, uint64_t c0, uint64_t c1) {
    uint64_t x0 = c0, x1 = c1, x2 = 0, x3 = 0;
    for (int r = 0; r < 10; r++) {
        const __uint128_t p0 = (__uint128_t)0xD2E7470EE14C6C93ull * x0, p1 = (__uint128_t)0xCA5A826395121157ull * x2;
        const uint64_t y0 = (uint64_t)(p1 >> 64) ^ x1 ^ k0, y2 = (uint64_t)(p0 >> 64) ^ x3 ^ k1;
        x1 = (uint64_t)p1, x3 = (uint64_t)p0, x0 = y0, x2 = y2;
        k0 += 0x9E3779B97F4A7C15ull, k1 += 0xBB67AE8584CAA73Bull;
    }
    return {{x0, x1, x2, x3}};
}

struct Pcg {  // numpy's PCG64: XSL-RR on a 128-bit congruential generator
    __uint128_t state, inc;
    explicit Pcg(const uint64_t* given)
        : state(((__uint128_t)given[0] << 64) | given[1]), inc(((__uint128_t)given[2] << 64) | given[3]) {}
    inline double next() {
        const __uint128_t factor = ((__uint128_t)0x2360ED051FC65DA4ull << 64) | 0x4385DF649FCCF645ull;
        state = state * factor + inc;
        const uint64_t mixed = (uint64_t)(state >> 64) ^ (uint64_t)state;
        const unsigned turn = (unsigned)(state >> 122);
        return double(((mixed >> turn) | (mixed << ((64 - turn) & 63))) >> 11) * 0x1p-53;
    }
};

inline void uniforms(uint64_t seed, uint64_t stream, uint64_t number, double* out, int n) {
    for (int i = 0; i < n; i += 4) {
        const Words w = philox(seed, stream, i / 4, number);
        for (int k = 0; k < 4 && i + k < n; k++) out[i + k] = double(w.x[k] >> 11) * 0x1p-53;
    }
}

inline void score(const double* docs, const double* w, double* s) {
    for (int i = 0; i < DOCS; i += 4) {
        double a = 0, b = 0, c = 0, d = 0;
        const double* x = docs + i * DIM;
        for (int j = 0; j < DIM; j++) {
            a += x[j] * w[j], b += x[DIM + j] * w[j], c += x[2 * DIM + j] * w[j], d += x[3 * DIM + j] * w[j];
        }
        s[i] = a, s[i + 1] = b, s[i + 2] = c, s[i + 3] = d;
    }
}

inline void rank(const double* s, int64_t* order) {  // by counting: no branch that could be foretold wrongly
    for (int i = 0; i < DOCS; i++) {
        int place = 0;
        for (int k = 0; k < DOCS; k++) place += (s[k] > s[i]) | ((s[k] == s[i]) & (k < i));
        order[place] = i;
    }
}

// Standing by document: 0 clicked, 1 not; returns the places that the clicks speak of.
inline int click(const int64_t* shown, const double* labels, const double* attract, int grades, Pcg& user,
                 int* standing) {
    double draws[2 * DEPTH];
    for (int i = 0; i < 2 * DEPTH; i++) draws[i] = user.next();
    for (int i = 0; i < DOCS; i++) standing[i] = 1;
    int last = -1;
    for (int i = 0; i < DEPTH; i++) {
        if (draws[i] < attract[i * grades + int(labels[shown[i]])]) standing[shown[i]] = 0, last = i;
    }
    return last < 0 ? 0 : std::min(last + 2, DOCS);
}

inline void add(double* w, const double* x, double c) {
    for (int j = 0; j < DIM; j++) w[j] += c * x[j];
}

inline void swaps(uint64_t seed, uint64_t number, double swap, bool alternate, int64_t* order, int* start) {
    double coins[1 + DEPTH / 2];
    uniforms(seed, 2, number, coins, 1 + DEPTH / 2);
    *start = alternate && coins[0] >= 0.5 ? 1 : 0;
    for (int k = 0, i = *start; i + 1 < DEPTH; k++, i += 2) {
        if (coins[1 + k] < swap) std::swap(order[i], order[i + 1]);
    }
}

}  // namespace

extern "C" void pdgd(const double* X, const double* labels, const double* attract, int64_t grades, const uint64_t* seed,
                     int64_t queries, int64_t rounds, double step, double* w) {
    Pcg user(seed);
    for (int64_t t = 0; t < rounds; t++) {
        const double* docs = X + (t % queries) * DOCS * DIM;
        double s[DOCS], noisy[DOCS], at[DOCS], left[DOCS + 1], worth[DOCS] = {0};
        int64_t shown[DOCS];
        int standing[DOCS];
        score(docs, w, s);
        uniforms(0, 2, t + 1, noisy, DOCS);
        for (int i = 0; i < DOCS; i++) noisy[i] = s[i] - std::log(-std::log(std::max(noisy[i], 0x1p-54)));
        rank(noisy, shown);
        const double high = *std::max_element(s, s + DOCS);
        left[DOCS] = 0;
        for (int r = DOCS - 1; r >= 0; r--) at[r] = std::exp(s[shown[r]] - high), left[r] = left[r + 1] + at[r];
        const int places =
            std::min(click(shown, labels + (t % queries) * DOCS, attract, grades, user, standing), DEPTH);
        for (int j = 1; j < places; j++) {
            for (int i = 0; i < j; i++) {
                if (standing[shown[i]] == standing[shown[j]]) continue;
                double rest = left[j + 1], odds = (rest + at[i]) / (rest + at[j]);
                for (int r = j - 1; r > i; r--) rest += at[r], odds *= (rest + at[i]) / (rest + at[j]);
                const double gap = std::exp(-std::fabs(s[shown[i]] - s[shown[j]]));
                double value = step / (1 + odds) * gap / ((1 + gap) * (1 + gap));
                if (standing[shown[j]] > standing[shown[i]]) value = -value;
                worth[j] += value, worth[i] -= value;
            }
        }
        double delta[DIM] = {0};
        for (int i = 0; i < places; i++) {
            if (worth[i] != 0) add(delta, docs + shown[i] * DIM, worth[i]);
        }
        add(w, delta, 1.0);
    }
}

extern "C" void fair_pairs(const double* X, const double* labels, const double* attract, int64_t grades,
                           const uint64_t* seed, int64_t queries, int64_t rounds, double step, double* w, double* G,
                           double* total) {
    Pcg user(seed);
    for (int64_t t = 0; t < rounds; t++) {
        const double* docs = X + (t % queries) * DOCS * DIM;
        double s[DOCS];
        int64_t shown[DOCS];
        int standing[DOCS], start;
        score(docs, w, s);
        rank(s, shown);
        swaps(0, t + 1, 0.5, false, shown, &start);
        click(shown, labels + (t % queries) * DOCS, attract, grades, user, standing);
        for (int i = start; i + 1 < DEPTH; i += 2) {
            const int above = standing[shown[i]], below = standing[shown[i + 1]];
            if (above == below) continue;
            const double* better = docs + shown[above < below ? i : i + 1] * DIM;
            const double* other = docs + shown[above < below ? i + 1 : i] * DIM;
            double delta[DIM], margin = 0;
            for (int j = 0; j < DIM; j++) delta[j] = better[j] - other[j];
            for (int j = 0; j < DIM; j++) margin += w[j] * delta[j];
            const double away = 1 / (1 + std::exp(margin));
            for (int j = 0; j < DIM; j++) {
                const double g = away * delta[j];
                G[j] += g * g;
                w[j] += step * g / std::sqrt(G[j]);
            }
        }
        add(total, w, 1.0);
    }
}

extern "C" void perturbed(const double* X, const double* labels, const double* attract, int64_t grades,
                          const uint64_t* seed, int64_t queries, int64_t rounds, double swap, double* w) {
    Pcg user(seed);
    double discount[DEPTH];
    for (int i = 0; i < DEPTH; i++) discount[i] = i < TOP ? 1 / std::log2(i + 2.0) : 0;
    for (int64_t t = 0; t < rounds; t++) {
        const double* docs = X + (t % queries) * DOCS * DIM;
        double s[DOCS], weight[DOCS] = {0}, delta[DIM] = {0};
        int64_t shown[DOCS];
        int standing[DOCS], start;
        score(docs, w, s);
        rank(s, shown);
        swaps(0, t + 1, swap, true, shown, &start);
        click(shown, labels + (t % queries) * DOCS, attract, grades, user, standing);
        for (int i = start; i + 1 < DEPTH; i += 2) {
            if (standing[shown[i + 1]] < standing[shown[i]]) {
                weight[shown[i + 1]] = discount[i] - discount[i + 1], weight[shown[i]] = discount[i + 1] - discount[i];
            }
        }
        for (int i = 0; i < DOCS; i++) {
            if (weight[i] != 0) add(delta, docs + i * DIM, weight[i]);
        }
        add(w, delta, 1.0);
    }
}
