// Learners that draw the rankings they show (learners/rank), their streams, and the examination curve.
#include "rank.hpp"

#include "bind.hpp"
#include "rounds.hpp"
#include "steps.hpp"

namespace smidgen {
namespace {

INLINE void require_scored(Vec<const double> scores, Order order) {
    require(scores.n > 0, "there are no documents");
    require(scores.n == order.n, "each document needs a score and a place");
    require_documents(order, scores.n);
}

// --- one round -------------------------------------------------------------------------------------------------------

double chance_of(Vec<const double> scores, Order order, int64_t places) {
    require_scored(scores, order);
    return all_finite(scores) ? log_probability(scores, order, places) : NaN;
}

double draw_with_chance(Vec<const double> scores, Vec<const uint64_t> key, uint64_t number, int64_t places,
                        Vec<int64_t> order) {
    require(scores.n > 0 && order.n == scores.n, "each document needs a place");
    Scratch<double> noisy(scores.n);
    bool drawn = draw(scores, key_in(key), number, places, order, noisy.vec());
    return drawn ? log_probability(scores, order, places) : NaN;
}

std::tuple<double, bool> exchange_odds(Vec<const double> scores, Order order, int64_t places, int64_t i, int64_t j) {
    require_scored(scores, order);
    require(0 <= i && i < j && j < order.n, "i and j must be places, i above j");
    Scratch<double> space(2 * order.n + 1);
    Suffixes suffixes(scores, order, places, space.vec());
    return {suffixes.odds(i, j), suffixes.safe};
}

double swap_with_chance(Vec<const uint64_t> key, uint64_t number, int64_t depth, double swap, bool alternate,
                        Vec<int64_t> order, Vec<int64_t> teams) {
    require(depth >= 0 && order.n == teams.n, "order and teams must have one length");
    int64_t places = smallest(depth, order.n);
    Scratch<double> coins(1 + places / 2);
    int64_t swapped = swap_pairs(key_in(key), number, depth, swap, alternate, order, teams, coins.vec());
    return swap_chance(places, swapped, swap, alternate, teams);
}

int64_t read_clicks(Order shown, Order clicked, Vec<int64_t> standing) {
    require(standing.n == shown.n, "each document needs a standing");
    require_documents(shown, shown.n);
    return stand_clicked(shown, clicked, standing);
}

void read_placed(Order better, Vec<int64_t> standing) {
    for (int64_t each : better) require(each >= 0, "a document is not there");
    stand_placed(better, standing);
}

void require_answer(Order shown, Order standing) {
    require(standing.n == shown.n, "each document needs a standing");
    require_documents(shown, shown.n);
}
void require_answer(Order shown, Order teams, Order standing) {
    require_answer(shown, standing);
    require(teams.n == shown.n, "each place needs a team");
}

bool coefficients(Vec<const double> scores, Order shown, Order standing, int64_t places, bool clicks, double step,
                  Vec<double> out) {
    require_scored(scores, shown);
    require_answer(shown, standing);
    require(0 <= places && places <= shown.n, "places must be at least 0 and at most the number of documents");
    require(out.n == 3 * shown.n + 1, "out needs three numbers per document, and one more");
    return pair_coefficients(scores, shown, standing, places, clicks, step, out);
}

int64_t write_preferred(Order shown, Order teams, Order standing, bool clicks, Mat<int64_t> pairs) {
    require_answer(shown, teams, standing);
    require(pairs.cols == 2, "pairs needs two columns");
    return preferred_pairs(shown, teams, standing, clicks, pairs);
}

bool adagrad(Mat<const double> deltas, double step, Vec<double> w, Vec<double> squares) {
    require(deltas.cols == w.n && squares.n == w.n, "deltas, w and squares must have one width");
    return adagrad_pairs(deltas, step, w, squares);
}

bool exchange(Order shown, Order teams, Order standing, Vec<int64_t> better) {
    require_answer(shown, teams, standing);
    require(shown.n > 0 && better.n == shown.n, "each document needs a place");
    return exchange_pairs(shown, teams, standing, better);
}

// --- the examination curve (evaluate/examination_curve.py) -----------------------------------------------------------

// What a click counts at each pair of neighbors of a drawn list R, R* the list with the two exchanged: its overlap
// 2 P(R*)/(P(R) + P(R*)), or the inverse (P(R) + P(R*))/(2 P(R)).
void weigh_drawn(Vec<const double> scores, Order order, bool overlap, Vec<double> out) {
    require_scored(scores, order);
    Scratch<double> space(2 * order.n + 1);
    Suffixes suffixes(scores, order, 1, space.vec());
    clear(out);
    for (int64_t k = 0; k < smallest(out.n, order.n - 1); ++k) {
        double odds = suffixes.odds(k, k + 1);
        out[k] = overlap ? 2.0 / (1.0 + odds) : 0.5 * (1.0 + 1.0 / odds);
    }
}

// 1/(2p) for each swapped pair, 1/(2(1 − p)) for one that was left, 0 for neighbors that are no pair.
void weigh_swapped(Order greedy, Order order, Order teams, double swap, Vec<double> out) {
    require(greedy.n == order.n && teams.n == order.n, "greedy, order and teams must have one length");
    clear(out);
    for (int64_t k = 0; k < smallest(out.n, order.n - 1); ++k) {
        if (is_pair(teams, k)) out[k] = 0.5 / (order[k] == greedy[k] ? 1.0 - swap : swap);
    }
}

// The weighed clicks at the upper and at the lower place of each pair of neighbors.
void count_clicks(Order order, Order clicked, Vec<const double> weight, Vec<double> above, Vec<double> below) {
    require(above.n == weight.n && below.n == weight.n, "weight, above and below must have one length");
    int64_t n = order.n;
    Scratch<uint8_t> hit(n, uint8_t(0));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t each : clicked) hit[i] |= order[i] == each;
    }
    for (int64_t k = 0; k < weight.n; ++k) {
        above[k] = k < n && hit[k] ? weight[k] : 0.0;
        below[k] = k + 1 < n && hit[k + 1] ? weight[k] : 0.0;
    }
}

// --- streams ---------------------------------------------------------------------------------------------------------

enum DrawingKind : int64_t { DRAWN, FAIR, PERTURBED };    // PDGD, FairPairs, 3PR (learners/rank/base.py)
enum DrawnCount : int64_t { SHOWN, UNINFORMATIVE };

// The settings of a learner. A kind reads its own fields.
struct Drawing {
    int64_t kind, depth;
    Vec<const uint64_t> coins;
    double step, swap;
    bool alternate;
    FIELDS(kind, depth, coins, step, swap, alternate)
};

// What a learner remembers.
struct DrawnMemory {
    Vec<double> w, squares, total;
    Vec<int64_t> counts;
    FIELDS(w, squares, total, counts)
};

// One learner on a stream.
class DrawnLearner {
  public:
    DrawnLearner(const Queries& q, const Drawing& s, const DrawnMemory& m)
        : q(q), s(s), m(m), key(key_in(s.coins)), longest(q.longest()), scores_(longest), work_(3 * longest + 1),
          orders_(4 * longest), pairs_(2 * longest), deltas_(smallest(longest, s.depth) * q.X.cols), delta_(q.X.cols),
          differences_(longest, q.discounts.n) {}

    static void check(const Queries& q, const Drawing& s, const DrawnMemory& m) {
        require(s.kind >= DRAWN && s.kind <= PERTURBED, "the kind of learner is not known");
        require(s.depth >= 0, "depth must be at least 0");
        require(m.w.n == q.X.cols, "the weights do not fit the features");
        require(s.kind != FAIR || (m.squares.n == m.w.n && m.total.n == m.w.n), "squares and total must fit the weights");
        require(m.counts.n == 2 && m.counts[SHOWN] >= 0, "a learner has two counts");
    }

    Vec<int64_t> shown(int64_t n) { return part(0, n); }
    Vec<int64_t> standing(int64_t n) { return part(2, n); }
    Vec<int64_t> better(int64_t n) { return part(3, n); }

    // Score the documents and write the ranking to show, and its pairs; false if the scores are beyond numbers.
    bool show(int64_t first, int64_t last, int64_t then) {
        int64_t n = last - first;
        uint64_t number = uint64_t(++m.counts[SHOWN]);
        Vec<double> scores = scores_.vec().slice(0, n);
        scores_ahead(q.X, first, last, then, m.w, scores);
        if (s.kind == DRAWN) {
            return draw(scores, key, number, smallest(s.depth, n), shown(n), work_.vec().slice(0, n));
        }
        if (!rank(scores, shown(n))) return false;
        swap_pairs(key, number, s.depth, s.swap, s.alternate, shown(n), teams(n), work_.vec());
        return true;
    }

    // One step from the standing of the documents; false if it left the finite numbers.
    bool learn(int64_t first, int64_t n, int64_t places, bool clicks) {
        Mat<const double> docs = rows_of(q.X, first, first + n);
        bool found, sound = true;
        if (s.kind == DRAWN) {
            found = step_drawn(docs, places, clicks);
        } else if (s.kind == FAIR) {
            int64_t count = step_fair(docs, clicks, sound);
            found = count > 0;
        } else {
            found = step_perturbed(docs);
        }
        if (sound) m.counts[UNINFORMATIVE] += !found;
        return sound;
    }

  private:
    Vec<int64_t> part(int64_t k, int64_t n) { return orders_.vec().slice(k * longest, k * longest + n); }
    Vec<int64_t> teams(int64_t n) { return part(1, n); }

    bool step_drawn(Mat<const double> docs, int64_t places, bool clicks) {
        int64_t n = docs.rows;
        Vec<double> work = work_.vec().slice(0, 3 * n + 1), delta = delta_.vec();
        if (!pair_coefficients(scores_.vec().slice(0, n), shown(n), standing(n), smallest(places, s.depth), clicks, s.step,
                               work)) {
            return false;
        }
        combine_dense(docs, shown(n), work.slice(0, n), delta);
        shift(m.w, m.w, delta, 1.0);
        return true;
    }
    int64_t step_fair(Mat<const double> docs, bool clicks, bool& sound) {
        int64_t n = docs.rows, count = preferred_pairs(shown(n), teams(n), standing(n), clicks, pairs_.mat(longest, 2));
        if (count) {
            Mat<double> deltas = deltas_.mat(count, docs.cols);
            dense_differences(docs, pairs_.mat(longest, 2), deltas);
            sound = adagrad_pairs(deltas, s.step, m.w, m.squares);
        }
        shift(m.total, m.total, m.w, 1.0);
        return count;
    }
    bool step_perturbed(Mat<const double> docs) {
        int64_t n = docs.rows;
        if (!exchange_pairs(shown(n), teams(n), standing(n), better(n))) return false;
        differences_.write(docs, better(n), shown(n), q.discounts_of(n), delta_.vec());
        shift(m.w, m.w, delta_.vec(), 1.0);
        return true;
    }

    const Queries& q;
    const Drawing& s;
    const DrawnMemory& m;
    Key key;
    int64_t longest;
    Scratch<double> scores_, work_;
    Scratch<int64_t> orders_;    // shown, teams, standing, and a better ranking
    Scratch<int64_t> pairs_;
    Scratch<double> deltas_, delta_;
    Differences differences_;
};

// Write the ranking that clicks stand for, from their standing.
void write_clicked(Order clicked, Order shown, Order standing, Vec<int64_t> better) {
    int64_t count = clicked.n;
    copy(better.slice(0, count), clicked);
    for (int64_t each : shown) {
        if (standing[each] == 1) better[count++] = each;
    }
}

int64_t drawn_rounds(Queries q, Vec<const int64_t> order, Drawing s, DrawnMemory m, Person user, Record record,
                     Generator rng) {
    require_stream(q, order, user, record);
    DrawnLearner::check(q, s, m);
    DrawnLearner learner(q, s, m);
    Answering a(q.longest(), user.kind == EXPECTED ? user.randoms : 0);
    Scratch<int64_t> clicked(q.longest());
    for (int64_t t = 0; t < order.n; ++t) {
        int64_t first = q.starts[order[t]], last = q.starts[order[t] + 1], n = last - first, places = n;
        if (!learner.show(first, last, q.starts[order[smallest(t + 1, order.n - 1)]])) return t;
        Vec<int64_t> shown = learner.shown(n), standing = learner.standing(n), better = learner.better(n);
        bool clicks = user.kind == CLICKING && user.tells;
        if (user.kind == CLICKING) {
            int64_t count = click(user, shown, q.labels.slice(first, last), rng, a, clicked.vec());
            Order hit = clicked.vec().slice(0, count);
            if (clicks) {
                places = stand_clicked(shown, hit, standing);
                if (record.measured()) write_clicked(hit, shown, standing, better);
            } else {
                put_first(hit, shown, better, a.lifted.vec().slice(0, n));
            }
        } else {
            answer(q, first, shown, user, rng, a, better);
        }
        if (!clicks) stand_placed(better, standing);
        record.note(q, t, first, shown, better);
        if (!learner.learn(first, n, places, clicks)) return t;
    }
    return order.n;
}

const Family family("rank", {
    entry<chance_of>("log_probability", "scores, order, places",
                     "The log of the chance that the first places of a drawn ranking are these."),
    entry<draw_with_chance>("draw_with_chance", "scores, key, number, places, order",
                            "Draw a ranking by scores; returns its `log_probability`, NaN if there is none."),
    entry<exchange_odds>("exchange_odds", "scores, order, places, i, j",
                         "P(R)/P(R*), R* with places i < j exchanged, and whether it went by products."),
    entry<swap_with_chance>("swap_with_chance", "key, number, depth, swap, alternate, order, teams",
                            "Swap neighbors at random; returns the log of the probability of the list."),
    entry<read_clicks>("stand_clicked", "shown, clicked, standing",
                       "The standing of clicks; returns the places they say something about, −1 for a strange document."),
    entry<read_placed>("stand_placed", "better, standing", "The standing of a better ranking."),
    entry<coefficients>("pair_coefficients", "scores, shown, standing, places, clicks, step, out",
                        "PDGD: what each document is worth to the step, by place; whether there was a pair."),
    entry<write_preferred>("preferred_pairs", "shown, teams, standing, clicks, pairs",
                           "FairPairs: (preferred, other) for each pair that the answer tells apart; returns how many."),
    entry<adagrad>("adagrad_pairs", "deltas, step, w, squares",
                   "One AdaGrad step on log(1 + exp(−w·δ)) per δ, in place; whether all stayed finite."),
    entry<exchange>("exchange_pairs", "shown, teams, standing, better",
                    "3PR: the ranking with every pair exchanged whose lower document stands better; if there was one."),
    entry<weigh_drawn>("weigh_drawn", "scores, order, overlap, out", "What a click counts at neighbors of a drawn list."),
    entry<weigh_swapped>("weigh_swapped", "greedy, order, teams, swap, out", "The same where neighbors were swapped."),
    entry<count_clicks>("count_clicks", "order, clicked, weight, above, below",
                        "The weighed clicks at the upper and lower place of each pair of neighbors."),
    entry<drawn_rounds>("drawn_rounds", "q, order, s, m, user, record, rng",
                        "One query after the other; returns how many were played: all, unless a step was not finite."),
});

}  // namespace
}  // namespace smidgen
