// A bank of models that all hear every reward (learners/bank.py): cosines of a row, which model leads, change.
#pragma once

#include "random.hpp"
#include "rows.hpp"

namespace smidgen {

// --- random cosines (Rahimi & Recht 2007): x ↦ [x, √(2/D)·cos(2π(Ωx + b))], of unit length -----------------------------

// D cosines; columns beyond DIRECTIONS share the directions of those below. The last row of the table holds b.
inline constexpr int64_t COSINES = 100, DIRECTIONS = 4096;

// cos(2πt), by the sine of what lies between the nearest quarter turns: the same bits at each level, for |t| < 2⁵⁰.
INLINE double cos_turns(double t) {
    constexpr double ROUND = 6755399441055744.0;    // 1.5·2⁵²: adding it rounds to a whole number
    double whole = (t + ROUND) - ROUND, left = t - whole;
    double y = (left < 0.0 ? -left : left) - 0.25, z = y * y;    // cos 2π|left| = −sin 2πy, |y| ≤ ¼
    double even = 3.8199525848482803 + z * (-0.7181223017785001 + z * (0.10422916220813978 + z * -0.012031585942120619));
    double odd = 81.60524927607504 + z * (-76.70585975306136 + z * (42.058693944897634 + z * (-15.094642576822984 + z * even)));
    return -(y * (6.283185307179586 + z * (-41.341702240399755 + z * odd)));
}

// Ω/2π and b, made as columns come: `made` says which rows are there. A function of the key alone.
struct Directions {
    Mat<double> omega;
    Vec<uint8_t> made;
    Vec<const uint64_t> key;
    FIELDS(omega, made, key)

    INLINE void check() const {
        require(omega.rows == DIRECTIONS + 1 && omega.cols == COSINES, "the directions must be a table of 4,097 × 100");
        require(made.n == omega.rows && key.n == 2, "the directions lack their marks or their key");
    }
    INLINE Vec<double> of(int64_t column) const {
        int64_t row = column % DIRECTIONS;
        Vec<double> out = omega[row];
        if (!made[row]) {
            fill_normals(key_in(key), uint64_t(row), 0, out);
            for (double& each : out) each *= 0.15915494309189535;    // 1/2π
            made[row] = 1;
        }
        return out;
    }
    INLINE Vec<const double> phases() const {
        if (!made[DIRECTIONS]) {
            fill_uniforms(key_in(key), uint64_t(DIRECTIONS), omega[DIRECTIONS]);
            made[DIRECTIONS] = 1;
        }
        return omega[DIRECTIONS];
    }
};

// A row of unit length without its zeros, in space of its own; with directions, followed by its cosines. The space has
// as many places as the row, and `COSINES` more where there are directions.
INLINE int64_t unit_part(Indices idx, Vec<const double> val, Vec<uint32_t> where, Vec<double> what) {
    double top = 0.0, sum = 0.0;
    int64_t n = 0;
    for (double v : val) top = largest(top, v < 0.0 ? -v : v);
    if (!(top > 0.0)) return 0;
    for (int64_t k = 0; k < val.n; ++k) {
        if (val[k] == 0.0) continue;
        where[n] = idx[k];
        what[n] = val[k] / top;
        sum += what[n] * what[n];
        ++n;
    }
    double over = 1.0 / root(sum);
    for (int64_t k = 0; k < n; ++k) what[k] *= over;
    return n;
}
INLINE int64_t add_cosines(const Directions& directions, int64_t dim, int64_t n, Vec<uint32_t> where, Vec<double> what) {
    alignas(64) double turns[COSINES];
    Vec<const double> phases = directions.phases();
    for (int64_t j = 0; j < COSINES; ++j) turns[j] = phases[j];
    for (int64_t k = 0; k < n; ++k) {
        const double* towards = directions.of(where[k]).data;
        double v = what[k];
        for (int64_t j = 0; j < COSINES; ++j) turns[j] += v * towards[j];
    }
    double sum = 0.0;
    for (int64_t j = 0; j < COSINES; ++j) turns[j] = cos_turns(turns[j]);
    for (int64_t j = 0; j < COSINES; ++j) sum += turns[j] * turns[j];
    double gain = root(2.0 / double(COSINES)), shrink = 1.0 / root((n > 0 ? 1.0 : 0.0) + gain * gain * sum);
    for (int64_t k = 0; k < n; ++k) what[k] *= shrink;
    for (int64_t j = 0; j < COSINES; ++j) {
        where[n + j] = uint32_t(dim + j);
        what[n + j] = gain * shrink * turns[j];
    }
    return n + COSINES;
}

// --- which model leads, and change ---------------------------------------------------------------------------------------

// Where things stand in the array of a bank: who leads (0: the plain model); the answers since the start; where the next
// one goes; the sums of the last RECENT and of those before them, and the sum of squares of all of these; then of each
// other model the discounted sum of how much smaller its squared error was than the plain model's, and of the squares of
// that; whether answers have been late (1), so that the latest residuals would be one-sided; then the last rewards.
enum : int64_t { LEADER, ANSWERS, NEXT, NEW, OLD, SQUARES, GAINS, LATE = GAINS + 4, RING };
inline constexpr int64_t OTHERS = 2, RECENT = 100, KEPT = 500, FEWEST_ANSWERS = 200, BOOK = RING + KEPT;
inline constexpr double DISCOUNT = 0.999, ALARM_AT = 5.0;

INLINE void require_book(Vec<const double> book) {
    require(book.n == BOOK, "the book of a bank has 511 numbers");
    require(book[LEADER] >= 0.0 && book[LEADER] <= double(OTHERS), "the leader is none of the models");
    require(book[NEXT] >= 0.0 && book[NEXT] < double(KEPT), "the next place is not in the ring");
    require(book[ANSWERS] >= 0.0, "the answers are below 0");
}

// Squared errors of the plain model and of the others (below 0: there is no such model). A model leads in the plain one's
// place if it was ahead by more than one standard error; of several the one that was ahead by most.
INLINE void compare(Vec<double> book, double plain, const double* others) {
    double best = 0.0;
    book[LEADER] = 0.0;
    for (int64_t m = 0; m < OTHERS; ++m) {
        double& sum = book[GAINS + 2 * m];
        double& squares = book[GAINS + 2 * m + 1];
        if (others[m] < 0.0) {
            sum = squares = 0.0;
            continue;
        }
        double gain = plain - others[m];
        sum = DISCOUNT * sum + gain;
        squares = DISCOUNT * squares + gain * gain;
        double lead = sum - root(squares);
        if (lead > best) {
            best = lead;
            book[LEADER] = double(m + 1);
        }
    }
}

// Count a reward; whether the last 100 are worse than up to 400 before them, by five standard errors (of these rewards
// and of one 0 and one 1 more).
INLINE bool watch(Vec<double> book, double reward) {
    Vec<double> ring = book.slice(RING, RING + KEPT);
    int64_t next = truncated(book[NEXT]), answers = truncated(smallest(book[ANSWERS], double(KEPT)));
    auto back = [&](int64_t n) { return ring[(next + KEPT - n) % KEPT]; };    // the n-th before this one
    if (answers >= RECENT) {
        double passed = back(RECENT);
        book[NEW] -= passed;
        book[OLD] += passed;
    }
    if (answers >= KEPT) {
        double gone = ring[next];
        book[OLD] -= gone;
        book[SQUARES] -= gone * gone;
    }
    ring[next] = reward;
    book[NEW] += reward;
    book[SQUARES] += reward * reward;
    book[NEXT] = double((next + 1) % KEPT);
    book[ANSWERS] += 1.0;
    double n = smallest(book[ANSWERS], double(KEPT)), before = n - double(RECENT);
    if (book[ANSWERS] < double(FEWEST_ANSWERS)) return false;
    double mean = (book[NEW] + book[OLD] + 1.0) / (n + 2.0), variance = (book[SQUARES] + 1.0) / (n + 2.0) - mean * mean;
    double fall = book[OLD] / before - book[NEW] / double(RECENT);
    return fall > 0.0 && fall * fall > ALARM_AT * ALARM_AT * variance * (1.0 / double(RECENT) + 1.0 / before);
}

// A fast model, of what the leader leaves unexplained: gradient steps on rows of unit length, a weight per column. What it
// gains is the logarithm of the ratio of two likelihoods, of rewards of chance `mean` + fast and `mean` (within PROBABLE
// and 1 − PROBABLE). Behind the weights: the evidence, which is the sum of the gains beyond USUAL times what they were
// lately and never below 0 (Page 1954), and the faded sum and number of the gains.
enum : int64_t { EVIDENCE, GAINED, GAINED_BY, FAST };
inline constexpr int64_t FAST_ANSWERS = 200, EVIDENCE_ANSWERS = 300;    // from so many answers on
inline constexpr double FAST_STEP = 0.3, EVIDENCE_AT = 8.5, PROBABLE = 0.05;
inline constexpr double LEAST_GAIN = 0.01, USUAL = 4.0, GAIN_KEEP = 0.99, FEW_GAINS = 20.0;

// Compare the two on a reward, and let the fast model learn it; whether the evidence says that the world has changed.
INLINE bool follow_fast(Vec<double> fast, Indices idx, Vec<const double> val, double mean, double y, double answers) {
    if (answers <= double(FAST_ANSWERS)) return false;
    Vec<double> known = fast.slice(fast.n - FAST, fast.n);
    double more = 0.0;
    for (int64_t k = 0; k < idx.n; ++k) more += fast[idx[k]] * val[k];
    auto chance = [](double p) { return smallest(largest(p, PROBABLE), 1.0 - PROBABLE); };
    double slow = chance(mean), quick = chance(mean + more);
    double gain = y * log(quick / slow) + (1.0 - y) * log((1.0 - quick) / (1.0 - slow));
    double usual = USUAL * largest(0.0, known[GAINED] / (known[GAINED_BY] + FEW_GAINS));
    if (answers > double(EVIDENCE_ANSWERS)) known[EVIDENCE] = largest(0.0, known[EVIDENCE] + (gain - LEAST_GAIN - usual));
    known[GAINED] = GAIN_KEEP * known[GAINED] + gain;
    known[GAINED_BY] = GAIN_KEEP * known[GAINED_BY] + 1.0;
    double step = FAST_STEP * (y - mean - more);
    for (int64_t k = 0; k < idx.n; ++k) fast[idx[k]] += step * val[k];
    return known[EVIDENCE] > EVIDENCE_AT;
}

}  // namespace smidgen
