// Structures that are put together from scored parts: rankings and choices (structures/ranking.py, structures/choice.py).
#include "ranking.hpp"

#include "bind.hpp"
#include "rows.hpp"

namespace smidgen {
namespace {

// A query has at most this many documents: what a call may cost has a limit.
inline constexpr int64_t MOST = int64_t(1) << 24;

int64_t find_fault(Order order, int64_t n) {
    require(n >= 0 && n <= MOST, "n is not a number of documents");
    return first_fault(order, n);
}

bool write_ranked(Vec<const double> scores, Vec<int64_t> order) {
    require(order.n == scores.n, "order needs one place per score");
    return rank(scores, order);
}

bool rank_finite(Vec<const double> scores, Vec<int64_t> order) {
    require(order.n == scores.n, "order needs one place per score");
    return all_finite(scores) && rank(scores, order);
}

bool vanishes(Vec<const double> delta) {
    int64_t touched = 0;
    for (int64_t i = 0; i < delta.n; ++i) touched += delta[i] != 0.0;
    return touched == 0;
}

void require_discounts(Vec<const double> discounts, int64_t n) {
    require(discounts.n <= n, "there are more discounts than documents");
}

bool merged(Order better, Order shown, Vec<const double> discounts, int64_t n, Vec<int64_t> touched, Vec<double> weights) {
    require(n >= 0 && n <= MOST, "n is not a number of documents");
    require(touched.n == 2 * discounts.n && weights.n == touched.n, "touched and weights need two places per discount");
    if (first_fault(better, n) >= 0 || first_fault(shown, n) >= 0) return false;
    Scratch<double> each(n);
    write_merged(better, shown, discounts, each.vec(), touched, weights);
    return true;
}

bool difference(Mat<const double> docs, Order better, Order shown, Vec<const double> discounts, Vec<double> out) {
    require(out.n == docs.cols, "out needs one place per column");
    require_discounts(discounts, docs.rows);
    if (first_fault(better, docs.rows) >= 0 || first_fault(shown, docs.rows) >= 0) return false;
    Differences differences(docs.rows, discounts.n);
    differences.write(docs, better, shown, discounts, out);
    return true;
}

// The utility of the best ranking of every query, whose documents begin at `starts`.
void best_utilities(Vec<const int64_t> starts, Vec<const double> scores, Vec<const double> discounts, Vec<double> out) {
    require_starts(starts, scores.n);
    require(out.n == starts.n - 1, "out needs one place per query");
    for (int64_t i = 0; i < out.n; ++i) {
        Vec<const double> own = scores.slice(starts[i], starts[i + 1]);
        Scratch<int64_t> order(own.n, 0);
        rank(own, order.vec());
        out[i] = utility(order.vec(), own, discounts.slice(0, smallest(own.n, discounts.n)));
    }
}

// --- choices -----------------------------------------------------------------------------------------------------------

// a if it is higher, else b: what is not a number is never higher.
INLINE double higher(double a, double b) { return a > b ? a : b; }

// The first index of the highest score. Four maxima at once, so that none waits for the other.
int64_t best_of_all(Vec<const double> scores) {
    int64_t n = scores.n, fours = n - n % 4;
    double a = scores[0], b = a, c = a, d = a;
    for (int64_t j = 0; j < fours; j += 4) {
        a = higher(scores[j], a);
        b = higher(scores[j + 1], b);
        c = higher(scores[j + 2], c);
        d = higher(scores[j + 3], d);
    }
    double highest = higher(higher(a, b), higher(c, d));
    for (int64_t j = fours; j < n; ++j) highest = higher(scores[j], highest);
    for (int64_t j = 0; j < n; ++j) {
        if (scores[j] == highest) return j;
    }
    return 0;    // the first score is not a number
}

// The first index of the highest score among the available ones; an empty mask means all.
int64_t best_available(Vec<const double> scores, Vec<const Flag> available) {
    require(scores.n > 0, "there are no scores");
    if (available.n == 0) return best_of_all(scores);
    require(available.n == scores.n, "the mask needs one place per score");
    int64_t best = -1;
    for (int64_t j = 0; j < scores.n; ++j) {
        if (available[j] && (best < 0 || scores[j] > scores[best])) best = j;
    }
    return best;
}

const Family family("ranking", {
    entry<find_fault>("first_fault", "order, n",
                      "The first position that holds no document below n, or one that stood before; −1 if there is none."),
    entry<write_ranked>("write_ranked", "scores, order",
                        "The documents by falling score, equals in the given order; False if a score is not a number."),
    entry<rank_finite>("rank_finite", "scores, order", "The same; False if a score is not finite."),
    entry<all_finite>("all_finite", "scores", "Whether every score is finite."),
    entry<vanishes>("vanishes", "delta", "Whether a difference is zero."),
    entry<merged>("write_merged", "better, shown, discounts, n, touched, weights",
                  "The documents that φ(better) − φ(shown) touches, with their coefficients; False if one is no ranking."),
    entry<difference>("write_difference", "docs, better, shown, discounts, out",
                      "out = φ(better) − φ(shown); False if one of the two is no ranking."),
    entry<best_utilities>("write_best_utilities", "starts, scores, discounts, out",
                          "The utility of the best ranking of every query."),
    entry<best_available>("best_available", "scores, available",
                          "The first index of the highest score among those available; an empty mask means all."),
});

}  // namespace
}  // namespace smidgen
