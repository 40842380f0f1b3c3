// Label learners whose whole state is one weight vector per class: the Banditron and the multiclass perceptron.
#include "bind.hpp"
#include "classes.hpp"
#include "follow.hpp"
#include "random.hpp"
#include "ties.hpp"

namespace smidgen {
namespace {

template <class T>
void scores_by_feature(Mat<const T> W, Csr<T> rows, Mat<T> out) {
    rows.check(W.rows);
    require(out.rows == rows.rows() && out.cols <= W.cols, "out needs one row per row, and at most W's columns");
    for (int64_t t = 0; t < out.rows; ++t) class_scores(W, rows.idx(t), rows.val(t), out[t]);
}

template <class T>
void scores_by_class(Mat<const T> W, Csr<T> rows, Mat<T> out) {
    rows.check(W.cols);
    require(out.rows == rows.rows() && out.cols <= W.rows, "out needs one row per row, and at most W's classes");
    for (int64_t t = 0; t < out.rows; ++t) {
        for (int64_t c = 0; c < out.cols; ++c) out(t, c) = static_cast<T>(sparse_dot(W[c], rows.idx(t), rows.val(t)));
    }
}

template <class T>
int64_t score(Mat<const T> W, Indices idx, Vec<const T> val, Vec<double> scores) {
    require_row(idx, val, W.rows);
    require_classes(scores.n, W.cols);
    return score_classes(W, idx, val, scores);
}

template <class T>
void add(Mat<T> W, int64_t c, Indices idx, Vec<const T> val, double rate) {
    require_row(idx, val, W.rows);
    require_class(c, W.cols);
    add_to_class(W, c, idx, val, rate);
}

// --- the multiclass perceptron (Crammer and Singer 2003) ----------------------------------------------------------

template <class T>
void perceptron_stream(Mat<T> W, int64_t K, Stream<T> stream, Shown shown) {
    require_classes(K, W.cols);
    require_stream(stream, shown, W.rows, K);
    Csr<T> rows = stream.rows();
    Scratch<T> scores(W.cols);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i], later = stream.order[smallest(i + 1, stream.order.n - 1)];
        class_scores(W, rows.idx(t), rows.val(t), scores.vec());
        prefetch_rows(W, rows.idx(later));
        int64_t action = best_class(scores.vec(), K), true_class = stream.truth[t];
        if (action != true_class) {
            add_to_class(W, true_class, rows.idx(t), rows.val(t), 1.0);
            add_to_class(W, action, rows.idx(t), rows.val(t), -1.0);
        }
        shown.actions[i] = shown.greedy[i] = action;
    }
}

// --- the Banditron (Kakade, Shalev-Shwartz and Tewari 2008) -------------------------------------------------------

// ŷ ~ (1 − γ)[r = ỹ] + γ/K, from one uniform number.
INLINE int64_t draw(int64_t greedy, int64_t K, double gamma, double u) {
    if (u < 1.0 - gamma) return greedy;
    return smallest(truncated((u - (1.0 - gamma)) / gamma * double(K)), K - 1);
}

INLINE double propensity_of(int64_t action, int64_t greedy, int64_t K, double gamma) {
    return (action == greedy ? 1.0 - gamma : 0.0) + gamma / double(K);
}

INLINE void require_gamma(double gamma) { require(gamma > 0.0 && gamma <= 1.0, "gamma must be in (0, 1]"); }

struct Choice {
    int64_t action, greedy;
    double propensity;
};

template <class T>
INLINE Choice choose(Mat<T> W, Indices idx, Vec<const plain<T>> val, double gamma, Key key, int64_t number,
                     Vec<double> scores) {
    int64_t K = scores.n, greedy = score_classes(W, idx, val, scores);
    int64_t action = draw(greedy, K, gamma, first_uniform(key, uint64_t(number)));
    return {action, greedy, propensity_of(action, greedy, K, gamma)};
}

// w_r += x·([right][r = ŷ]/P(ŷ) − [r = ỹ]).
template <class T>
INLINE void update(Mat<T> W, Indices idx, Vec<const T> val, int64_t action, int64_t greedy, bool right, double propensity) {
    double gain = right ? 1.0 / propensity : 0.0;
    if (gain > 0.0 && action != greedy) {
        add_to_class(W, action, idx, val, gain);
        gain = 0.0;
    }
    add_to_class(W, greedy, idx, val, gain - 1.0);
}

template <class T>
std::tuple<int64_t, int64_t, double> banditron_choose(Mat<const T> W, Indices idx, Vec<const T> val, double gamma,
                                                      Vec<const uint64_t> key, int64_t number, Vec<double> scores) {
    require_row(idx, val, W.rows);
    require_classes(scores.n, W.cols);
    require_gamma(gamma);
    Choice made = choose(W, idx, val, gamma, key_in(key), number, scores);
    return {made.action, made.greedy, made.propensity};
}

template <class T>
void banditron_update(Mat<T> W, Indices idx, Vec<const T> val, int64_t action, int64_t greedy, bool right,
                      double propensity) {
    require_row(idx, val, W.rows);
    require_class(action, W.cols);
    require_class(greedy, W.cols);
    update(W, idx, val, action, greedy, right, propensity);
}

template <class T>
void banditron_stream(Mat<T> W, int64_t K, double gamma, Vec<const uint64_t> key, Stream<T> stream, int64_t first,
                      Shown shown) {
    require_classes(K, W.cols);
    require_gamma(gamma);
    require_stream(stream, shown, W.rows, K);
    Csr<T> rows = stream.rows();
    Key coin = key_in(key);
    Scratch<T> scores(W.cols);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i], later = stream.order[smallest(i + 1, stream.order.n - 1)];
        class_scores(W, rows.idx(t), rows.val(t), scores.vec());
        prefetch_rows(W, rows.idx(later));
        int64_t greedy = best_class(scores.vec(), K);
        int64_t action = draw(greedy, K, gamma, first_uniform(coin, uint64_t(first) + uint64_t(i)));
        update(W, rows.idx(t), rows.val(t), action, greedy, action == stream.truth[t],
               propensity_of(action, greedy, K, gamma));
        shown.actions[i] = action;
        shown.greedy[i] = greedy;
    }
}

// The steps begin … end − 1 of a course; returns the end, or an earlier step that cannot be taken.
int64_t banditron_follow(Mat<double> W, int64_t K, double gamma, Vec<const uint64_t> key, Way way, Trip trip,
                         int64_t begin, int64_t end, Noted noted) {
    require_classes(K, W.cols);
    require_gamma(gamma);
    require_course(way, trip, noted, begin, end, W.rows, K);
    Key coin = key_in(key);
    Scratch<double> scores(K);
    for (int64_t t = begin; t < end; ++t) {
        int64_t place = trip.places[t];
        if (way.actions[t] == DECIDE) {
            Choice made = choose(W, way.idx(t), way.val(t), gamma, coin, trip.numbers[t], scores.vec());
            noted.actions[place] = made.action;
            noted.greedy[place] = made.greedy;
            noted.p[place] = made.propensity;
            continue;
        }
        Heard heard = heard_at(way, trip, noted, t);
        if (!(heard.p > 0.0 && heard.p <= 1.0)) return t;
        require_class(heard.action, K);
        require_class(noted.greedy[place], K);
        update(W, way.idx(t), way.val(t), heard.action, noted.greedy[place], heard.reward == 1.0, heard.p);
    }
    return end;
}

// How likely each label is, given the scores that decide, if the highest share what a floor leaves.
void shares_of(Vec<const double> bounds, double floor, Vec<double> out) {
    require(bounds.n == out.n && out.n >= 1, "bounds and out must have one length");
    auto bound = [&](int64_t i) { return bounds[i]; };
    tie_shares(best_of(bounds.n, bound), bounds.n, bound, floor, out);
}

const Family family("label", {
    entry<scores_by_feature<double>, scores_by_feature<float>>(
        "scores_by_feature", "W, rows, out", "out_ti = w_i · x_t, W stored by feature; its further columns are not read."),
    entry<scores_by_class<double>, scores_by_class<float>>(
        "scores_by_class", "W, rows, out", "out_ti = w_i · x_t, W stored by class."),
    entry<score<double>, score<float>>(
        "score_classes", "W, idx, val, scores", "Write the score of every class; return the first of highest score."),
    entry<shares_of>("tie_shares", "bounds, floor, out",
                     "How likely each label is, if those of highest score share what a floor leaves."),
    entry<add<double>, add<float>>("add_to_class", "W, c, idx, val, rate", "w_c ← w_c + rate · x."),
    entry<perceptron_stream<double>, perceptron_stream<float>>(
        "perceptron_stream", "W, K, stream, shown", "Rounds of the multiclass perceptron."),
    entry<banditron_choose<double>, banditron_choose<float>>(
        "banditron_choose", "W, idx, val, gamma, key, number, scores",
        "ŷ, ỹ and P(ŷ) of one decision; writes the scores."),
    entry<banditron_update<double>, banditron_update<float>>(
        "banditron_update", "W, idx, val, action, greedy, right, propensity",
        "w_r += x·([right][r = ŷ]/P(ŷ) − [r = ỹ])."),
    entry<banditron_stream<double>, banditron_stream<float>>(
        "banditron_stream", "W, K, gamma, key, stream, first, shown", "Rounds of the Banditron."),
    entry<banditron_follow>(
        "banditron_follow", "W, K, gamma, key, way, trip, begin, end, noted",
        "Steps of a course; returns the end, or an earlier step that cannot be taken."),
});

}  // namespace
}  // namespace smidgen
