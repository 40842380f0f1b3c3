// Simulated users of rankings (Shivaswamy and Joachims 2015, Sections 3 and 6): what they think better than what is
// shown, or what they click.
#pragma once

#include "generator.hpp"
#include "ranking.hpp"

namespace smidgen {

enum UserKind : int64_t { STRICT, NOISY, EXPECTED, CLICKING };    // users/person.py

// The settings of a user. A kind reads its own fields.
struct Person {
    int64_t kind;
    double alpha, strict;
    int64_t depth, randoms;
    Mat<const double> attract, stop;    // of one who clicks: by place and grade
    bool tells;                         // its clicks, not the better ranking that they stand for
    FIELDS(kind, alpha, strict, depth, randoms, attract, stop, tells)

    // It can answer rankings of up to `longest` documents.
    void check(int64_t longest) const {
        require(kind >= STRICT && kind <= CLICKING, "the kind of user is not known");
        require(depth >= 0 && randoms >= 1, "a user looks at documents and has a random ranking or more");
        require(randoms <= (int64_t(1) << 28) / (longest + 1), "the user has too many random rankings");
        require(attract.rows >= 1 && attract.cols >= 1 && attract.rows == stop.rows && attract.cols == stop.cols,
                "the tables of a user must have one shape");
    }
};

// The utility that gains the share α of what could be gained (eq. 5), less what may be rounding.
INLINE double enough(double before, double best, double alpha) {
    return before + alpha * (best - before) - 1e-12 * (__builtin_fabs(best) + __builtin_fabs(before));
}

// Memory for the answers to rankings of up to `longest` documents.
struct Answering {
    explicit Answering(int64_t longest, int64_t randoms = 0)
        : order(longest), found(longest), others(longest * randoms), draws(2 * longest), lifted(longest), seen(longest) {}
    Scratch<int64_t> order, found, others;
    Scratch<double> draws;
    Scratch<uint8_t> lifted;
    Scratch<double> seen;
};

// Go down the list; stop at the first prefix whose best documents, put on top, gain enough. Writes the better ranking.
inline void inspect(Vec<const double> scores, Order shown, Vec<const double> discounts, double alpha, Answering& a,
                    Vec<int64_t> better) {
    int64_t n = shown.n, top = discounts.n, filled = 0;
    Vec<int64_t> by_score = a.order.vec().slice(0, n), found = a.found.vec();
    double best = rank(scores, by_score) ? utility(by_score, scores, discounts) : NaN;
    double target = enough(utility(shown, scores, discounts), best, alpha);
    for (int64_t k = 0; k < n; ++k) {    // found: the best documents so far, best first; equals in the order shown
        int64_t place = smallest(filled, top);
        while (place > 0 && scores[shown[k]] > scores[found[place - 1]]) --place;
        if (place < top) {
            filled = smallest(filled + 1, top);
            for (int64_t i = filled - 1; i > place; --i) found[i] = found[i - 1];
            found[place] = shown[k];
        }
        double gained = 0.0;
        for (int64_t i = 0; i < top; ++i) gained += discounts[i] * scores[i < filled ? found[i] : shown[i]];
        if (gained >= target) break;
    }
    put_first(found.slice(0, filled), shown, better, a.lifted.vec().slice(0, n));
}

// The largest mass p on the random objects with (1 − p)·strict + p·random ≥ target, all of them gains.
INLINE double random_mass(double target, double strict, double random) {
    if (random >= smallest(target, strict)) return 1.0;
    return smallest(1.0, largest(0.0, (strict - target) / (strict - random)));
}

// A strict ranking, or at times one of some random rankings (Section 6.2.4).
inline void mix(Order shown, Vec<const double> scores, Vec<const double> discounts, const Person& user, Generator rng,
                Answering& a, Vec<int64_t> better) {
    int64_t n = shown.n;
    double before = utility(shown, scores, discounts), random = 0.0;
    inspect(scores, shown, discounts, user.strict, a, better);
    Mat<int64_t> others = a.others.mat(user.randoms, n);
    for (int64_t k = 0; k < user.randoms; ++k) {
        rng.permute(others[k]);
        random += utility(others[k], scores, discounts) - before;
    }
    Vec<int64_t> best = a.order.vec().slice(0, n);
    double most = rank(scores, best) ? utility(best, scores, discounts) : NaN;
    double target = user.alpha * (most - before), strict = utility(better, scores, discounts) - before;
    if (rng.random() < random_mass(target, strict, random / double(user.randoms))) {
        copy(better, others[rng.below(user.randoms)]);
    }
}

// The documents of highest label among the first `depth`, best first, equals in the order shown, in front of the others.
inline void put_best_first(Order shown, Vec<const double> labels, int64_t depth, int64_t top, Answering& a,
                           Vec<int64_t> better) {
    int64_t looks = smallest(depth, shown.n);
    Vec<double> seen = a.seen.vec().slice(0, looks);
    Vec<int64_t> places = a.order.vec().slice(0, looks), front = a.found.vec().slice(0, smallest(top, looks));
    for (int64_t i = 0; i < looks; ++i) seen[i] = labels[shown[i]];
    require(rank(seen, places), "a label is not a number");
    for (int64_t i = 0; i < front.n; ++i) front[i] = shown[places[i]];
    put_first(front, shown, better, a.lifted.vec().slice(0, shown.n));
}

// Go down the list and write the documents that are clicked; returns how many. A click at a place comes with the chance
// that `attract` has for the place and the grade of its document; after it the user stops with the chance that `stop`
// has. Places below a table's last row have that row.
inline int64_t click(const Person& user, Order shown, Vec<const double> labels, Generator rng, Answering& a,
                     Vec<int64_t> clicked) {
    int64_t looks = smallest(user.depth, shown.n), last = user.attract.rows - 1, count = 0;
    double* draws = a.draws.data();
    for (int64_t i = 0; i < 2 * looks; ++i) draws[i] = rng.random();
    for (int64_t i = 0; i < looks; ++i) {
        int64_t row = smallest(i, last), grade = truncated(labels[shown[i]]);
        require(grade >= 0 && grade < user.attract.cols, "a label is no grade of the user");
        bool hit = draws[i] < user.attract(row, grade);
        clicked[count] = shown[i];    // the next one overwrites it if it was none: a branch would be mispredicted
        count += hit;
        if (hit & (draws[looks + i] < user.stop(row, grade))) break;
    }
    return count;
}

}  // namespace smidgen
