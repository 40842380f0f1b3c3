// Coactive learners of rankings (learners/coactive): stretches of a log, streams, and duels.
#include "coactive.hpp"

#include "bind.hpp"
#include "random.hpp"
#include "rounds.hpp"
#include "steps.hpp"

namespace smidgen {
namespace {

// --- duels -----------------------------------------------------------------------------------------------------------

void draft(Order first, Order second, Vec<const double> coins, Vec<int64_t> order, Vec<int64_t> teams) {
    int64_t n = first.n;
    require_ranking(first, n);
    require_ranking(second, n);
    require(coins.n >= (n + 1) / 2, "there must be a coin per turn");
    require(order.n == n && teams.n == n, "each document needs a place and a team");
    Scratch<uint8_t> taken(n);
    team_draft(first, second, coins, order, teams, taken.vec());
}

int64_t count_credit(Order shown, Order teams, Order better, int64_t top) {
    require_documents(shown, shown.n);
    require(teams.n == shown.n, "each document needs a team");
    for (int64_t each : better) require(each >= 0, "a document is not there");
    Scratch<int64_t> side(shown.n, 0);
    return credit(shown, teams, better, top, side.vec());
}

int64_t count_team_clicks(Order shown, Order teams, Order clicked) {
    require(teams.n == shown.n, "each document needs a team");
    return team_clicks(shown, teams, clicked);
}

// The settings of a dueling bandit; if it does not play, a rule does.
struct Duel {
    bool plays;
    double explore, step;
    Vec<const uint64_t> directions, coins;    // keys of its random streams
    FIELDS(plays, explore, step, directions, coins)
};

// --- streams ---------------------------------------------------------------------------------------------------------

// One query after the other; returns how many were played: all, unless a step went wrong, or a learner that is retrained
// has the pairs that it waited for.
int64_t rounds(Queries q, Vec<const int64_t> order, Program p, RuleMemory m, Duel duel, Person user, Record record,
               Generator rng) {
    require_stream(q, order, user, record);
    require_rule(p, m);
    require(m.w.n == q.X.cols, "the weights do not fit the features");
    Key directions = key_in(duel.directions), coins = key_in(duel.coins);
    int64_t longest = q.longest(), d = m.w.n;
    Scratch<double> scores_(longest), delta_(d), rival_(d), coins_((longest + 1) / 2);
    Scratch<int64_t> orders_(6 * longest);
    Scratch<uint8_t> taken_(longest);
    Differences differences(longest, q.discounts.n);
    Answering a(longest, user.kind == EXPECTED ? user.randoms : 0);
    Vec<double> delta = delta_.vec();
    for (int64_t t = 0; t < order.n; ++t) {
        int64_t first = q.starts[order[t]], last = q.starts[order[t] + 1], n = last - first;
        Mat<const double> docs = rows_of(q.X, first, last);
        Vec<const double> discounts = q.discounts_of(n);
        auto part = [&](int64_t k) { return orders_.vec().slice(k * longest, k * longest + n); };
        Vec<double> scores = scores_.vec().slice(0, n);
        Vec<int64_t> shown = part(0), better = part(1).slice(0, discounts.n), clicked = part(2), teams = part(3);
        uint64_t number = uint64_t(++m.counts[DECIDED]);
        if (duel.plays) {
            Vec<double> coin = coins_.vec().slice(0, (n + 1) / 2), rival = rival_.vec();
            unit_direction(directions, number, delta);
            for (int64_t i = 0; i < d; ++i) rival[i] = m.w[i] + duel.explore * delta[i];
            fill_uniforms(coins, number, coin);
            dense_scores(docs, m.w, scores);
            if (!rank(scores, part(4))) return t;
            dense_scores(docs, rival, scores);
            if (!rank(scores, part(5))) return t;
            team_draft(part(4), part(5), coin, shown, teams, taken_.vec().slice(0, n));
        } else {
            scores_ahead(q.X, first, last, q.starts[order[smallest(t + 1, order.n - 1)]], m.w, scores);
            if (!rank(scores, shown)) return t;
        }
        Order hit = clicked.slice(0, 0);
        if (user.kind == CLICKING) {
            hit = clicked.slice(0, click(user, shown, q.labels.slice(first, last), rng, a, clicked));
            put_first(hit, shown, better, a.lifted.vec().slice(0, n));
        } else {
            answer(q, first, shown, user, rng, a, better);
        }
        record.note(q, t, first, shown, better);
        if (duel.plays) {
            int64_t ahead = user.tells ? team_clicks(shown, teams, hit) : credit(shown, teams, better, discounts.n, part(4));
            if (ahead > 0) move(m.w, delta, duel.step, m.w);
        } else {
            differences.write(docs, better, shown, discounts, delta);
            if (!learn(p, m, delta)) return t;
            if (p.kind == RETRAINED && m.counts[FILLED] == m.pairs.rows) return t + 1;
        }
    }
    return order.n;
}

// --- stretches of a log (learners/coactive/stretches.py) -------------------------------------------------------------

// How better and shown of the answers differ, which belong to the steps `where`; false if one is no ranking. `cuts` are
// the starts of each answer's discounts.
bool write_differences(Mat<const double> X, Vec<const int64_t> starts, Vec<const int64_t> where,
                       Vec<const double> discounts, Vec<const int64_t> cuts, Order better, Order shown,
                       Mat<double> deltas) {
    require_starts(starts, X.rows);
    require_starts(cuts, discounts.n);
    require(cuts.n == where.n + 1 && deltas.rows == where.n && deltas.cols == X.cols, "the answers do not fit together");
    int64_t longest = 0, top = 0, places = 0;
    for (int64_t k = 0; k < where.n; ++k) {
        require(where[k] >= 0 && where[k] < starts.n - 1, "a step is not there");
        int64_t n = starts[where[k] + 1] - starts[where[k]];
        require(cuts[k + 1] - cuts[k] <= n, "there are more discounts than documents");
        longest = largest(longest, n);
        top = largest(top, cuts[k + 1] - cuts[k]);
        places += n;
    }
    require(better.n == places && shown.n == places, "the rankings do not fit the documents");
    Differences differences(longest, top);
    for (int64_t k = 0, at = 0; k < where.n; ++k) {
        int64_t first = starts[where[k]], last = starts[where[k] + 1], n = last - first;
        Order above = better.slice(at, at + n), below = shown.slice(at, at + n);
        if (first_fault(above, n) >= 0 || first_fault(below, n) >= 0) return false;
        differences.write(rows_of(X, first, last), above, below, discounts.slice(cuts[k], cuts[k + 1]), deltas[k]);
        at += n;
    }
    return true;
}

// A stretch: the documents of all steps, where those of each begin, the number of each step's answer (−1 of decisions),
// and φ(better) − φ(shown) by answer.
struct Columns {
    Mat<const double> X;
    Vec<const int64_t> starts, answers;
    Mat<const double> deltas;
    FIELDS(X, starts, answers, deltas)
};

// The steps begin … end − 1: rankings go to `orders`, weights before answers to `weights`, if they have space. Returns the
// end, or an earlier step that cannot be taken.
int64_t follow(Columns c, int64_t begin, int64_t end, Program p, RuleMemory m, Vec<int64_t> orders, Mat<double> weights) {
    require_rule(p, m);
    require_starts(c.starts, c.X.rows);
    require(c.starts.n == c.answers.n + 1 && 0 <= begin && begin <= end && end <= c.answers.n, "the steps are not there");
    require(m.w.n == c.X.cols && c.deltas.cols == m.w.n, "the weights do not fit the features");
    require(p.kind != RETRAINED, "a rule that is retrained follows no stretch");
    int64_t origin = c.starts[begin], longest = 0, answered = 0, seen = 0;
    for (int64_t t = begin; t < end; ++t) {
        require(c.answers[t] < c.deltas.rows, "an answer is not there");
        longest = largest(longest, c.starts[t + 1] - c.starts[t]);
        answered += c.answers[t] >= 0;
    }
    require(orders.n == 0 || orders.n == c.starts[end] - origin, "orders needs one place per document");
    require(weights.rows == 0 || (weights.rows == answered && weights.cols == m.w.n), "weights needs one row per answer");
    Scratch<double> scores_(longest), delta(m.w.n);
    for (int64_t t = begin; t < end; ++t) {
        int64_t first = c.starts[t], last = c.starts[t + 1];
        if (c.answers[t] < 0) {
            Vec<double> scores = scores_.vec().slice(0, last - first);
            dense_scores(rows_of(c.X, first, last), m.w, scores);
            if (!all_finite(scores)) return t;
            if (orders.n > 0) rank(scores, orders.slice(first - origin, last - origin));
        } else {
            if (weights.rows > 0) copy(weights[seen], m.w);
            ++seen;
            copy(delta.vec(), c.deltas[c.answers[t]]);
            if (!learn(p, m, delta.vec())) return t;
        }
    }
    return end;
}

const Family family("coactive", {
    entry<draft>("team_draft", "first, second, coins, order, teams",
                 "Interleave two rankings: captains pick in turn, a coin per turn decides who begins."),
    entry<count_credit>("credit", "shown, teams, better, top",
                        "How many more of the first documents the second team contributed than the first."),
    entry<count_team_clicks>("team_clicks", "shown, teams, clicked", "The same of clicked documents."),
    entry<rounds>("rounds", "q, order, p, m, duel, user, record, rng",
                  "One query after the other by a rule or by duels; returns how many were played."),
    entry<write_differences>("write_differences", "X, starts, where, discounts, cuts, better, shown, deltas",
                             "How better and shown of answers differ; False if one is no ranking."),
    entry<follow>("follow", "c, begin, end, p, m, orders, weights",
                  "Steps of a stretch by a rule; returns the end, or a step that cannot be taken."),
});

}  // namespace
}  // namespace smidgen
