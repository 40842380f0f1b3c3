// A course of decisions and answers that a learner follows (learners/courses.py, learners/follower.py).
#pragma once

#include "rows.hpp"

namespace smidgen {

// In the place of an action: one is to be decided on.
inline constexpr int64_t DECIDE = -1;

// A course: rows below one another, and of each step its rows, and what came back.
struct Way {
    Indices indices;    // dense rows have no starts: there the indices are those of every row
    Vec<const double> values;
    Vec<const int64_t> starts, first, counts, actions;
    Vec<const double> rewards, chances;
    FIELDS(indices, values, starts, first, counts, actions, rewards, chances)

    // The one row of a step.
    INLINE Indices idx(int64_t t) const { return indices.slice(starts[first[t]], starts[first[t] + 1]); }
    INLINE Vec<const double> val(int64_t t) const { return values.slice(starts[first[t]], starts[first[t] + 1]); }
};

// What one learner brings along, by step: the number of the decision, and the place where it is noted.
struct Trip {
    Vec<const int64_t> numbers, places;
    FIELDS(numbers, places)
};

// What a learner decided, by place.
struct Noted {
    Vec<int64_t> actions, greedy;
    Vec<double> p, shares, scores;
    FIELDS(actions, greedy, p, shares, scores)
};

// Of an answer about labels: the label, how right it was, and how likely it was shown.
struct Heard {
    int64_t action;
    double reward, p;
};
INLINE Heard heard_at(const Way& way, const Trip& trip, const Noted& noted, int64_t t) {
    int64_t action = way.actions[t];
    if (action >= 0) return {action, way.rewards[t], way.chances[t]};
    int64_t own = noted.actions[trip.places[t]];
    return {own, own == -2 - action ? 1.0 : 0.0, noted.p[trip.places[t]]};
}

// The steps begin … end − 1 of a course about labels can be followed.
// With space for shares, there is one for each row and label.
inline void require_course(const Way& way, const Trip& trip, const Noted& noted, int64_t begin, int64_t end, int64_t dim,
                           int64_t K) {
    require_row(way.indices, way.values, dim);
    require_starts(way.starts, way.values.n);
    int64_t steps = way.first.n, rows = way.starts.n - 1;
    require(0 <= begin && begin <= end && end <= steps, "begin and end must be steps of the course");
    require(way.counts.n == steps && way.actions.n == steps && way.rewards.n == steps && way.chances.n == steps,
            "the parts of a course must have one length");
    require(trip.numbers.n == steps && trip.places.n == steps, "a trip must have the steps of its course");
    require(noted.greedy.n == noted.actions.n && noted.p.n == noted.actions.n, "the notes must have one length");
    require(noted.shares.n == 0 || noted.shares.n == rows * K, "shares need one place per row and label");
    bool sound = true;
    for (int64_t t = begin; t < end; ++t) {
        sound &= way.first[t] >= 0 && way.first[t] < rows;
        sound &= trip.places[t] >= 0 && trip.places[t] < noted.actions.n && trip.numbers[t] >= 0;
        sound &= way.actions[t] > std::numeric_limits<int64_t>::min() + 2;
    }
    require(sound, "a step of the course names a row or a place that is not there");
}

}  // namespace smidgen
