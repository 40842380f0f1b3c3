// A direction for each candidate: a ridge regression on the vector of the context, per candidate or category, of what the
// model that leads leaves unexplained (learners/choose/directions.py). A is block-diagonal; each block is full.
#pragma once

#include "ridge.hpp"

namespace smidgen {

// What stands in place of a block: there is none, or one that would begin if this were learnt.
enum : int64_t { NO_BLOCK = -1, FREE_BLOCK = -2 };
// Where the gate stands: the discounted sum of how much smaller squared errors were with blocks than without, and of the
// squares of that; then the discounted sum of the leader's squared errors, and of their number.
enum : int64_t { AHEAD_BY, AHEAD_SQUARES, ERRORS, ANSWERED, GATE };
// Blocks are left out of the estimates where they were behind by more than so many standard errors.
inline constexpr double BEHIND = 3.0, GATE_KEEP = 0.999;
// Blocks are compared where they know enough of the vector: where their spread is at most this.
inline constexpr double KNOWN = 0.5;
// Spreads count in full where the leader's squared errors are so large (those of clicks), and less below; so many answers
// of that kind are assumed.
inline constexpr double LOUD = 0.15, LOUD_ANSWERS = 10.0;

struct Blocks {
    Cube<double> R;           // a block after the other, each as in ridge.hpp; the first one is that of all candidates
    Vec<int32_t> slots;       // which row of a block belongs to a column
    Vec<int64_t> used;
    Vec<double> gate;
    Indices idx;              // the vector of the context
    Vec<const double> val;
    Mat<const int32_t> places;    // of each candidate, the blocks that count
    double ridge;
    FIELDS(R, slots, used, gate, idx, val, places, ridge)

    INLINE bool there() const { return R.n0 > 0 && idx.n > 0; }
    INLINE Row row() const { return {idx, val}; }
    INLINE bool in_use() const {
        double ahead = gate[AHEAD_BY];
        return ahead >= 0.0 || ahead * ahead <= BEHIND * BEHIND * gate[AHEAD_SQUARES];
    }
    INLINE double noise() const {
        double mean = (gate[ERRORS] + LOUD_ANSWERS * LOUD) / (gate[ANSWERED] + LOUD_ANSWERS);
        return smallest(1.0, mean / LOUD);
    }
    void check(int64_t dim, int64_t candidates) const {
        if (R.n0 == 0) {
            require(idx.n == 0 && val.n == 0, "a vector needs blocks");
            return;
        }
        require(gate.n == GATE && slots.n == dim && used.n == 1, "the parts of the blocks do not fit together");
        require(ridge > 0.0, "the blocks need a ridge above 0");
        RootState{R[0], slots, used}.check();
        require(used[0] >= 0 && used[0] <= R.n1, "used is not a number of rows");
        require_row(idx, val, dim);
        if (idx.n == 0) return;
        require(places.rows == candidates, "the blocks need one line of places per candidate");
        for (int64_t k = 0; k < candidates; ++k) {
            for (int64_t j = 0; j < places.cols; ++j) {
                require(places(k, j) >= FREE_BLOCK && places(k, j) < R.n0, "a block is not there");
            }
        }
    }
    INLINE double length() const { return dot(val, val); }
    INLINE Moments moments(int64_t block, Gathered& space, Vec<double> work) const {
        Lean found = lean({R[block], slots}, row(), space, work);
        return {found.mean, dot(work, work) + found.rest / ridge};
    }
};

// Adds to the estimates of all candidates what their blocks say of the vector.
INLINE void add_directions(const Blocks& blocks, Vec<double> means, Vec<double> spreads) {
    if (!blocks.there() || !blocks.in_use()) return;
    Gathered space({blocks.R[0], blocks.slots});
    Scratch<double> work(blocks.R.n2), mean(blocks.R.n0), spread(blocks.R.n0, -1.0);
    double shared = blocks.moments(0, space, work.vec()).mean, noise = blocks.noise();
    double fresh = noise * (blocks.length() / blocks.ridge);
    for (int64_t k = 0; k < means.n; ++k) {
        means[k] += shared;
        for (int64_t j = 0; j < blocks.places.cols; ++j) {
            int64_t at = blocks.places(k, j);
            if (at == FREE_BLOCK) spreads[k] += fresh;
            if (at < 0) continue;
            if (spread[at] < 0.0) {
                Moments found = blocks.moments(at, space, work.vec());
                mean[at] = found.mean;
                spread[at] = found.spread;
            }
            means[k] += mean[at];
            spreads[k] += noise * spread[at];
        }
    }
}

// Learn what is left unexplained of row k: one step for all of its blocks. Gives their estimate of it and its spread.
INLINE Moments learn_directions(const Blocks& blocks, int64_t k, double left) {
    Moments all{0.0, 0.0};
    RootState first{blocks.R[0], blocks.slots, blocks.used};
    first.claim(blocks.row());
    Gathered space({blocks.R[0], blocks.slots});
    int64_t n = 1 + blocks.places.cols, cols = blocks.R.n2;
    Scratch<double> leans(n * cols), means(n);
    Scratch<int64_t> at(n);
    at[0] = 0;
    for (int64_t j = 1; j < n; ++j) at[j] = blocks.places(k, j - 1);
    for (int64_t j = 0; j < n; ++j) {
        if (at[j] < 0) continue;
        Moments found = blocks.moments(at[j], space, leans.vec().slice(j * cols, (j + 1) * cols));
        means[j] = found.mean;
        all.mean += found.mean;
        all.spread += found.spread;
    }
    double rate = (left - all.mean) / (1.0 + all.spread);
    for (int64_t j = 0; j < n; ++j) {
        if (at[j] < 0) continue;
        Vec<double> u = leans.vec().slice(j * cols, (j + 1) * cols);
        RootState state{blocks.R[at[j]], blocks.slots, blocks.used};
        root_absorb(state, blocks.row(), means[j] + rate * (1.0 + dot(u, u)), means[j], u);
    }
    return all;
}

// Compare squared errors without and with blocks, whose spread was so large.
INLINE void move_gate(const Blocks& blocks, double spread, double without, double with_them) {
    blocks.gate[ERRORS] = GATE_KEEP * blocks.gate[ERRORS] + smallest(without, with_them);
    blocks.gate[ANSWERED] = GATE_KEEP * blocks.gate[ANSWERED] + 1.0;
    if (spread > KNOWN) return;
    double gain = without - with_them;
    blocks.gate[AHEAD_BY] = GATE_KEEP * blocks.gate[AHEAD_BY] + gain;
    blocks.gate[AHEAD_SQUARES] = GATE_KEEP * blocks.gate[AHEAD_SQUARES] + gain * gain;
}

}  // namespace smidgen
