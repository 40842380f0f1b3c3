// Streams of rankings: queries, what users answer, and what is written down (evaluate/players).
#pragma once

#include "rows.hpp"
#include "users.hpp"

namespace smidgen {

// What is read of a table of queries; arrays that are not needed are empty.
struct Queries {
    Mat<const double> X;    // the documents of all queries, below one another
    Vec<const int64_t> starts;
    Vec<const double> labels;
    Vec<const double> taste;    // the score of every document under the user's own w*
    Vec<const double> truth;    // the same under the w* that regret is measured by
    Vec<const double> discounts;
    FIELDS(X, starts, labels, taste, truth, discounts)

    INLINE Vec<const double> discounts_of(int64_t n) const { return discounts.slice(0, smallest(n, discounts.n)); }
    INLINE int64_t count() const { return starts.n - 1; }
    // The number of documents of the longest query.
    int64_t longest() const {
        int64_t most = 0;
        for (int64_t i = 0; i < count(); ++i) most = largest(most, starts[i + 1] - starts[i]);
        return most;
    }
};

// What is written down, one row per round: the first documents shown; the utilities of y and ȳ, if measured.
struct Record {
    Mat<int64_t> shown;
    Mat<double> utilities;
    FIELDS(shown, utilities)

    INLINE bool measured() const { return utilities.rows > 0; }
    INLINE void note(const Queries& q, int64_t t, int64_t first, Order order, Order better) const {
        int64_t n = order.n;
        for (int64_t i = 0; i < smallest(shown.cols, n); ++i) shown(t, i) = order[i];
        if (measured()) {
            Vec<const double> truth = q.truth.slice(first, first + n), discounts = q.discounts_of(n);
            utilities(t, 0) = utility(order, truth, discounts);
            utilities(t, 1) = utility(better, truth, discounts);
        }
    }
};

// Check all that a stream relies on.
inline void require_stream(const Queries& q, Vec<const int64_t> order, const Person& user, const Record& record) {
    int64_t n = q.X.rows;
    require_starts(q.starts, n);
    bool sound = true;
    for (int64_t i = 0; i < q.count(); ++i) sound &= q.starts[i] < q.starts[i + 1];
    require(sound, "a query has no documents");
    for (int64_t each : order) sound &= each >= 0 && each < q.count();
    require(sound, "a query is not there");
    user.check(q.longest());
    bool labeled = user.kind == NOISY || user.kind == CLICKING;
    require(labeled ? q.labels.n == n : q.taste.n == n, "each document needs a label or a score of the user");
    require(record.shown.rows == order.n, "the record needs one row per round");
    require(!record.measured() || (record.utilities.rows == order.n && record.utilities.cols == 2 && q.truth.n == n),
            "the utilities need one row per round, and each document a score");
}

// What a user who does not click thinks better: the first documents, as many as fit, at least those that count.
inline void answer(const Queries& q, int64_t first, Order shown, const Person& user, Generator rng, Answering& a,
                   Vec<int64_t> better) {
    int64_t last = first + shown.n;
    Vec<const double> discounts = q.discounts_of(shown.n);
    if (user.kind == NOISY) {
        put_best_first(shown, q.labels.slice(first, last), user.depth, discounts.n, a, better);
    } else if (user.kind == EXPECTED) {
        mix(shown, q.taste.slice(first, last), discounts, user, rng, a, better);
    } else {
        inspect(q.taste.slice(first, last), shown, discounts, user.alpha, a, better);
    }
}

}  // namespace smidgen
