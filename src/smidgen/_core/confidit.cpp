// Confidit (Crammer and Gentile 2013): confidence, choice, the two kinds of step, and whole streams of rounds.
#include <algorithm>

#include "bind.hpp"
#include "follow.hpp"
#include "random.hpp"
#include "second_order.hpp"
#include "ties.hpp"

namespace smidgen {
namespace {

// Where things stand in a learner's one array of numbers (learners/label/confidit_round.py). First what is remembered:
// rounds learnt, widths, log-determinants, approximation errors so far. Then the settings; the number of the decision
// whose moments stand ready (0: none); space for the projection's shifts, one per class; the errors q_1, q_2, …
enum : int64_t { LEARNT, WIDTHS, LOGDET, ERRORS, MEMORY };

struct Settings {
    double alpha, eta;
    bool theory;
    double norm_bound, delta;
    bool project, printed;
    FIELDS(alpha, eta, theory, norm_bound, delta, project, printed)
};

inline constexpr int64_t FRESH = MEMORY + 7, SHIFTS = FRESH + 1;

INLINE Settings settings_in(Vec<const double> numbers) {
    const double* n = numbers.data + MEMORY;
    return {n[0], n[1], n[2] != 0.0, n[3], n[4], n[5] != 0.0, n[6] != 0.0};
}

INLINE void require_numbers(Vec<const double> numbers, int64_t columns) {
    require(columns >= 0 && columns < numbers.n - SHIFTS, "the numbers do not fit the state");
    require(numbers[LEARNT] >= 0.0, "the number of rounds learnt is below 0");
}

// The projection of Section 3.1: the shifts c_i with which w_i + c_i·A_i⁻¹x satisfies the constraints, nearest in the
// norms of the A_i.
//
// argmin Σ_i (u_i − w_i)ᵀA_i(u_i − w_i) over u_i·x ≥ −alpha, Σ_i u_i·x = 1 + alpha − K·alpha has the solution
// u_i = w_i + c_i·A_i⁻¹x with c_i = max(lam, −(alpha + m_i)/q_i), m_i = w_i·x, q_i = xᵀA_i⁻¹x. Sorting by
// (alpha + m_i)/q_i finds the classes whose bound is not tight, and with them lam: O(K log K).
template <class T>
void constraint_shifts(Vec<const T> means, Vec<const T> widths, int64_t K, double alpha, Vec<double> out) {
    clear(out);
    Scratch<double> keys(K);
    Scratch<int64_t> order(K);
    for (int64_t i = 0; i < K; ++i) {
        if (!(widths[i] > T(0))) return;    // x = 0: no shift changes any score
        keys[i] = (alpha + double(means[i])) / double(widths[i]);
        order[i] = i;
    }
    const double* key = keys.data();    // the highest first, NaN last, equals in the order of the classes
    std::sort(order.data(), order.data() + K, [key](int64_t a, int64_t b) {
        if (key[a] > key[b]) return true;
        if (key[b] > key[a]) return false;
        bool strange_a = key[a] != key[a], strange_b = key[b] != key[b];
        return strange_a == strange_b ? a < b : strange_b;
    });
    double total_mean = 0.0, total_width = 0.0, lam = 0.0;
    for (int64_t r = 0; r < K; ++r) {
        int64_t i = order[r];
        total_mean += double(means[i]);
        total_width += double(widths[i]);
        double candidate = (1.0 + alpha - alpha * double(r + 1) - total_mean) / total_width;
        if (r > 0 && candidate <= -keys[i]) break;
        lam = candidate;
    }
    for (int64_t i = 0; i < K; ++i) out[i] = largest(lam, -keys[i]);
}

// The factor of xᵀA⁻¹x in ε²: η (eq. 11), or 2η_t (eq. 9 and 10).
INLINE double confidence(const Settings& s, Vec<const double> numbers) {
    if (!s.theory) return s.eta;
    double t = numbers[LEARNT] + 1.0, seen = numbers[WIDTHS];
    double spread = 0.5 * (s.norm_bound * s.norm_bound) + 0.5 * seen + numbers[ERRORS] + 9.0 * log((t + 4.0) / s.delta);
    return 2.0 * ((1.0 + s.alpha) * (1.0 + s.alpha)) * spread;
}

// Write ε and, if asked for, the projection's shifts.
template <class T>
INLINE void write_confidence(Mat<const T> moments, int64_t K, const Settings& s, Vec<double> numbers, Vec<double> eps) {
    Vec<const T> widths = moments[1];
    double factor = confidence(s, numbers);
    if (s.project) constraint_shifts(moments[0], widths, K, s.alpha, numbers.slice(SHIFTS, SHIFTS + moments.cols));
    for (int64_t i = 0; i < K; ++i) eps[i] = root(factor * largest(double(widths[i]), 0.0));
}

// Δ̂_i + ε_i, the Δ̂ projected if asked for.
template <class T>
struct Bound {
    Mat<const T> moments;
    Vec<const double> numbers, eps;
    INLINE double operator()(int64_t i) const {
        return double(moments(0, i)) + numbers[SHIFTS + i] * double(moments(1, i)) + eps[i];
    }
};

// +1 if right (1); if wrong (0), −1 with probability (1 + α)/2, else +1; between them (1 + α)·r − α.
INLINE double sign_of(double reward, double alpha, Key key, int64_t number) {
    if (0.0 < reward && reward < 1.0) return (1.0 + alpha) * reward - alpha;
    if (reward == 1.0 || (alpha < 1.0 && first_uniform(key, uint64_t(number)) >= (1.0 + alpha) / 2.0)) return 1.0;
    return -1.0;
}

// Keep what the next confidence needs: rounds, widths, log-determinants, approximation errors.
INLINE void count_round(Vec<double> numbers, int64_t columns, double width, double growth) {
    int64_t first = SHIFTS + columns, last = numbers.n - 1;
    double at = double(first) + numbers[LEARNT];
    numbers[ERRORS] += numbers[at < double(last) ? int64_t(at) : last];
    numbers[LEARNT] += 1.0;
    numbers[WIDTHS] += width;
    numbers[LOGDET] += growth;
}

// w_r ← (a_r·w_r + s·x_r)/(a_r + x_r²), the letter of step 8.
template <class T>
void printed_step(Mat<T> S, int64_t c, Indices idx, Vec<const T> val, double sign) {
    int64_t inverse = S.cols / 2 + c;    // times 1/a above and below, so that a stored zero changes nothing
    for (int64_t k = 0; k < idx.n; ++k) {
        double x = val[k], over = S(idx[k], inverse);
        S(idx[k], c) = static_cast<T>((double(S(idx[k], c)) + sign * x * over) / (1.0 + x * x * over));
    }
}

// Steps 2 and 8 on diagonal state: shift all classes by the projection, then the shown class by the residual.
template <class T>
INLINE void step_diagonal(Mat<T> S, int64_t K, Indices idx, Vec<const T> val, int64_t c, double sign, const Settings& s,
                          Mat<const T> moments, Vec<double> numbers) {
    double shift = numbers[SHIFTS + c], width = moments(1, c);
    if (s.project) {
        for (int64_t i = 0; i < K; ++i) diagonal_shift(S, i, idx, val, numbers[SHIFTS + i]);
    }
    if (s.printed) {
        printed_step(S, c, idx, val, sign);
        diagonal_absorb(S, c, idx, val, 0.0);
    } else {
        double mean = double(moments(0, c)) + shift * width;
        diagonal_absorb(S, c, idx, val, (sign - mean) / (1.0 + width));
    }
    double seen = s.theory ? diagonal_width(S, c, idx, val) : 0.0;    // of use to the theory's confidence only
    count_round(numbers, moments.cols, seen, 0.0);                    // log|A| is in S
}

// The same on full state, given the products P_i = A_i⁻¹x.
template <class T>
INLINE void step_full(Mat<T> W, Cube<T> B, int64_t K, Mat<const T> P, int64_t c, double sign, const Settings& s,
                      Mat<const T> moments, Vec<double> numbers) {
    double shift = numbers[SHIFTS + c], width = full_width(B, c, P[c], double(moments(1, c)));
    if (s.project) {
        for (int64_t i = 0; i < K; ++i) full_shift(W, i, P[i], numbers[SHIFTS + i]);
    }
    double mean = double(moments(0, c)) + shift * width;
    full_shift(W, c, P[c], (sign - mean) / (1.0 + width));
    Absorbed now = full_absorb(B, c, P[c], width);
    count_round(numbers, moments.cols, now.width, now.growth);
}

// ŷ and ỹ of one decision, and how many labels are tied.
using Decided = std::tuple<int64_t, int64_t, int64_t>;

// ŷ = argmax Δ̂_i + ε_i, ties drawn; writes the scores and ε of every class.
template <class T>
INLINE Decided show(Mat<const T> moments, const Settings& s, Vec<double> numbers, Key key, int64_t number,
                    Vec<double> scores, Vec<double> eps) {
    int64_t K = scores.n;
    write_confidence(moments, K, s, numbers, eps);
    for (int64_t i = 0; i < K; ++i) scores[i] = moments(0, i);
    Bound<T> bound{moments, numbers, eps};
    auto mean = [&](int64_t i) { return scores[i]; };
    Best best = best_of(K, bound);
    int64_t action = break_tie(best, K, bound, key, number);
    return {action, greedy_of(best_of(K, mean), mean, action, number), best.tied};
}

// Write the projection's shifts, if asked for; whether everything is finite.
template <class T>
INLINE bool prepare(Mat<const T> moments, int64_t K, const Settings& s, Vec<double> numbers) {
    for (int64_t i = 0; i < moments.cols; ++i) {
        if (!(is_finite(moments(0, i)) && is_finite(moments(1, i)))) return false;
    }
    if (s.project) {
        constraint_shifts(moments[0], moments[1], K, s.alpha, numbers.slice(SHIFTS, SHIFTS + moments.cols));
    }
    return true;
}

// --- the two verbs -------------------------------------------------------------------------------------------------

template <class T>
INLINE Decided decide_on_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<double> numbers, Key key,
                                  int64_t number, Mat<T> moments, Vec<double> scores, Vec<double> eps) {
    diagonal_moments(S, idx, val, moments);
    numbers[FRESH] = double(number);
    return show(Mat<const T>(moments), settings_in(numbers), numbers, key, number, scores, eps);
}

template <class T>
INLINE Decided decide_on_full(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val, Vec<double> numbers, Key key,
                              int64_t number, Mat<T> moments, Mat<T> P, Vec<double> scores, Vec<double> eps) {
    full_moments(W, B, idx, val, moments[0], moments[1], P);
    numbers[FRESH] = double(number);
    return show(Mat<const T>(moments), settings_in(numbers), numbers, key, number, scores, eps);
}

template <class T>
INLINE bool learn_on_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t K, int64_t c, double reward,
                              Vec<double> numbers, Key key, int64_t number, Mat<T> moments) {
    Settings s = settings_in(numbers);
    if (numbers[FRESH] != double(number)) diagonal_moments(S, idx, val, moments);
    numbers[FRESH] = 0.0;
    bool finite = prepare(Mat<const T>(moments), K, s, numbers);
    if (finite) {
        double sign = sign_of(reward, s.alpha, key, number);
        step_diagonal(S, K, idx, val, c, sign, s, Mat<const T>(moments), numbers);
    }
    return finite;
}

template <class T>
INLINE bool learn_on_full(Mat<T> W, Cube<T> B, Indices idx, Vec<const T> val, int64_t K, int64_t c, double reward,
                          Vec<double> numbers, Key key, int64_t number, Mat<T> moments, Mat<T> P) {
    Settings s = settings_in(numbers);
    if (numbers[FRESH] != double(number)) full_moments(W, B, idx, val, moments[0], moments[1], P);
    numbers[FRESH] = 0.0;
    bool finite = prepare(Mat<const T>(moments), K, s, numbers);
    if (finite) {
        double sign = sign_of(reward, s.alpha, key, number);
        step_full(W, B, K, Mat<const T>(P), c, sign, s, Mat<const T>(moments), numbers);
    }
    return finite;
}

// --- entry points ---------------------------------------------------------------------------------------------------

void project(Vec<const double> means, Vec<const double> widths, double alpha, Vec<double> out) {
    require(means.n == out.n && widths.n == out.n, "means, widths and out must have one length");
    constraint_shifts(means, widths, means.n, alpha, out);
}

double draw_sign(double reward, double alpha, Vec<const uint64_t> key, int64_t number) {
    return sign_of(reward, alpha, key_in(key), number);
}

void count(Vec<double> numbers, int64_t columns, double width, double growth) {
    require(columns >= 0, "columns is below 0");
    require_numbers(numbers, columns);
    count_round(numbers, columns, width, growth);
}

Decided show_moments(Mat<const double> moments, Settings s, Vec<double> numbers, Vec<const uint64_t> key, int64_t number,
                     Vec<double> scores, Vec<double> eps) {
    require(moments.rows == 2 && eps.n == scores.n, "the moments, scores and eps do not fit together");
    require_classes(scores.n, moments.cols);
    require_numbers(numbers, moments.cols);
    return show(moments, s, numbers, key_in(key), number, scores, eps);
}

bool prepare_moments(Mat<const double> moments, int64_t K, Settings s, Vec<double> numbers) {
    require(moments.rows == 2, "moments must have two rows");
    require_classes(K, moments.cols);
    require_numbers(numbers, moments.cols);
    return prepare(moments, K, s, numbers);
}

template <class T>
Decided decide_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<double> numbers, Vec<const uint64_t> key,
                        int64_t number, Mat<T> moments, Vec<double> scores, Vec<double> eps) {
    require_row(idx, val, S.rows);
    require_diagonal(S.cols, moments.rows, moments.cols, scores.n);
    require_numbers(numbers, moments.cols);
    require(eps.n == scores.n, "scores and eps must have one length");
    return decide_on_diagonal(S, idx, val, numbers, key_in(key), number, moments, scores, eps);
}

template <class T>
Decided decide_full(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val, Vec<double> numbers,
                    Vec<const uint64_t> key, int64_t number, Mat<T> moments, Mat<T> P, Vec<double> scores, Vec<double> eps) {
    require_row(idx, val, W.cols);
    require_full(W, B, moments.rows, moments.cols, P, scores.n);
    require_numbers(numbers, moments.cols);
    require(eps.n == scores.n, "scores and eps must have one length");
    return decide_on_full(W, B, idx, val, numbers, key_in(key), number, moments, P, scores, eps);
}

template <class T>
bool learn_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t K, int64_t c, double reward, Vec<double> numbers,
                    Vec<const uint64_t> key, int64_t number, Mat<T> moments) {
    require_row(idx, val, S.rows);
    require_diagonal(S.cols, moments.rows, moments.cols, K);
    require_class(c, K);
    require_numbers(numbers, moments.cols);
    return learn_on_diagonal(S, idx, val, K, c, reward, numbers, key_in(key), number, moments);
}

template <class T>
bool learn_full(Mat<T> W, Cube<T> B, Indices idx, Vec<const T> val, int64_t K, int64_t c, double reward,
                Vec<double> numbers, Vec<const uint64_t> key, int64_t number, Mat<T> moments, Mat<T> P) {
    require_row(idx, val, W.cols);
    require_full(W, B, moments.rows, moments.cols, P, K);
    require_class(c, K);
    require_numbers(numbers, moments.cols);
    return learn_on_full(W, B, idx, val, K, c, reward, numbers, key_in(key), number, moments, P);
}

template <class T>
void stream_diagonal(Mat<T> S, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Played<T> played) {
    int64_t C = S.cols / 2;
    require_diagonal(S.cols, 2, C, K);
    require_numbers(numbers, C);
    played.check(S.rows, K);
    Csr<T> rows = played.stream.rows();
    Vec<const int64_t> order = played.stream.order, truth = played.stream.truth;
    Settings s = settings_in(numbers);
    Key coin = key_in(key);
    Scratch<T> moment_space(2 * C), buffer(rows.longest());
    Mat<T> moments = moment_space.mat(2, C);
    Scratch<double> scores(K), eps(K);
    for (int64_t i = 0; i < order.n; ++i) {
        int64_t t = order[i];
        Indices idx = rows.idx(t);
        Vec<T> val = buffer.vec().slice(0, idx.n);
        scaled(rows.val(t), played.scales[t], val);
        diagonal_moments(S, idx, val, moments);
        Decided made = show(Mat<const T>(moments), s, numbers, coin, played.first + i, scores.vec(), eps.vec());
        int64_t action = std::get<0>(made);
        played.shown.actions[i] = action;
        played.shown.greedy[i] = std::get<1>(made);
        double sign = sign_of(action == truth[t] ? 1.0 : 0.0, s.alpha, coin, played.first + i);
        step_diagonal(S, K, idx, Vec<const T>(val), action, sign, s, Mat<const T>(moments), numbers);
    }
}

template <class T>
void stream_full(Mat<T> W, Cube<T> B, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Played<T> played) {
    require_classes(K, W.rows);
    require_numbers(numbers, W.rows);
    played.check(W.cols, K);
    Scratch<T> moment_space(2 * W.rows), product_space(K * W.cols), buffer(played.stream.rows().longest());
    Mat<T> moments = moment_space.mat(2, W.rows), P = product_space.mat(K, W.cols);
    require_full(W, B, 2, W.rows, P, K);
    Csr<T> rows = played.stream.rows();
    Vec<const int64_t> order = played.stream.order, truth = played.stream.truth;
    Settings s = settings_in(numbers);
    Key coin = key_in(key);
    Scratch<double> scores(K), eps(K);
    for (int64_t i = 0; i < order.n; ++i) {
        int64_t t = order[i];
        Indices idx = rows.idx(t);
        Vec<T> val = buffer.vec().slice(0, idx.n);
        scaled(rows.val(t), played.scales[t], val);
        full_moments(W, B, idx, val, moments[0], moments[1], P);
        Decided made = show(Mat<const T>(moments), s, numbers, coin, played.first + i, scores.vec(), eps.vec());
        int64_t action = std::get<0>(made);
        played.shown.actions[i] = action;
        played.shown.greedy[i] = std::get<1>(made);
        double sign = sign_of(action == truth[t] ? 1.0 : 0.0, s.alpha, coin, played.first + i);
        step_full(W, B, K, Mat<const T>(P), action, sign, s, Mat<const T>(moments), numbers);
    }
}

// A label that was drawn from several has a probability, and so have the others where there is space to note it.
INLINE void note(const Noted& noted, int64_t place, int64_t row, const Decided& made, const Bound<double>& bound, int64_t K) {
    int64_t tied;
    std::tie(noted.actions[place], noted.greedy[place], tied) = made;
    if (tied > 1) noted.p[place] = 1.0 / double(tied);
    if (tied > 1 && noted.shares.n > 0) {
        tie_shares(best_of(K, bound), K, bound, 0.0, noted.shares.slice(row * K, row * K + K));
    }
}

int64_t follow_diagonal(Mat<double> S, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Way way, Trip trip,
                        int64_t begin, int64_t end, Noted noted) {
    int64_t C = S.cols / 2;
    require_diagonal(S.cols, 2, C, K);
    require_numbers(numbers, C);
    require_course(way, trip, noted, begin, end, S.rows, K);
    Key coin = key_in(key);
    Scratch<double> moments(2 * C), scores(K), eps(K);
    for (int64_t t = begin; t < end; ++t) {
        int64_t place = trip.places[t], number = trip.numbers[t];
        if (way.actions[t] == DECIDE) {
            Decided made = decide_on_diagonal<double>(S, way.idx(t), way.val(t), numbers, coin, number,
                                                      moments.mat(2, C), scores.vec(), eps.vec());
            note(noted, place, way.first[t], made, Bound<double>{moments.mat(2, C), numbers, eps.vec()}, K);
        } else {
            Heard heard = heard_at(way, trip, noted, t);
            require_class(heard.action, K);
            if (!learn_on_diagonal(S, way.idx(t), way.val(t), K, heard.action, heard.reward, numbers, coin, number,
                                   moments.mat(2, C))) {
                return t;
            }
        }
    }
    return end;
}

int64_t follow_full(Mat<double> W, Cube<double> B, int64_t K, Vec<double> numbers, Vec<const uint64_t> key, Way way,
                    Trip trip, int64_t begin, int64_t end, Noted noted) {
    require_classes(K, W.rows);
    Scratch<double> moment_space(2 * W.rows), product_space(K * W.cols), scores(K), eps(K);
    Mat<double> moments = moment_space.mat(2, W.rows), P = product_space.mat(K, W.cols);
    for (double& each : moment_space.vec()) each = 0.0;    // the places for classes that are not there yet are read too
    require_full(W, B, 2, W.rows, P, K);
    require_numbers(numbers, W.rows);
    require_course(way, trip, noted, begin, end, W.cols, K);
    Key coin = key_in(key);
    for (int64_t t = begin; t < end; ++t) {
        int64_t place = trip.places[t], number = trip.numbers[t];
        if (way.actions[t] == DECIDE) {
            Decided made = decide_on_full<double>(W, B, way.idx(t), way.val(t), numbers, coin, number, moments, P,
                                                  scores.vec(), eps.vec());
            note(noted, place, way.first[t], made, Bound<double>{moments, numbers, eps.vec()}, K);
        } else {
            Heard heard = heard_at(way, trip, noted, t);
            require_class(heard.action, K);
            if (!learn_on_full(W, B, way.idx(t), way.val(t), K, heard.action, heard.reward, numbers, coin, number, moments,
                               P)) {
                return t;
            }
        }
    }
    return end;
}

// 1 / ‖x‖ of every row, for four rows at once, so that no sum waits; each runs in the order of the features.
template <class T>
void row_scales(Vec<const T> values, Vec<const int64_t> starts, Vec<double> out) {
    require_starts(starts, values.n);
    require(out.n == starts.n - 1, "out needs one place per row");
    auto more = [&](double sum, int64_t first, int64_t last) {
        for (int64_t k = first; k < last; ++k) sum += double(values[k]) * double(values[k]);
        return over_length(sum);
    };
    int64_t n = out.n, fours = n - n % 4;
    for (int64_t i = 0; i < fours; i += 4) {
        int64_t a = starts[i], b = starts[i + 1], c = starts[i + 2], d = starts[i + 3], e = starts[i + 4];
        int64_t common = smallest(smallest(b - a, c - b), smallest(d - c, e - d));
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        for (int64_t k = 0; k < common; ++k) {
            double w = values[a + k], x = values[b + k], y = values[c + k], z = values[d + k];
            s0 += w * w;
            s1 += x * x;
            s2 += y * y;
            s3 += z * z;
        }
        out[i] = more(s0, a + common, b);
        out[i + 1] = more(s1, b + common, c);
        out[i + 2] = more(s2, c + common, d);
        out[i + 3] = more(s3, d + common, e);
    }
    for (int64_t i = fours; i < n; ++i) out[i] = more(0.0, starts[i], starts[i + 1]);
}

const Family family("confidit", {
    entry<project>("constraint_shifts", "means, widths, alpha, out",
                   "The shifts c_i with which w_i + c_i·A_i⁻¹x satisfies the constraints of Section 3.1."),
    entry<draw_sign>("sign_of", "reward, alpha, key, number",
                     "+1 if right; if wrong, −1 with probability (1 + α)/2, else +1; between them (1 + α)·r − α."),
    entry<count>("count_round", "numbers, columns, width, growth", "Keep what the next confidence needs."),
    entry<show_moments>("show", "moments, s, numbers, key, number, scores, eps",
                        "ŷ and ỹ of one decision, and how many are tied; writes the scores and ε of every class."),
    entry<prepare_moments>("prepare", "moments, K, s, numbers",
                           "Write the projection's shifts, if asked for; whether everything is finite."),
    entry<decide_diagonal<double>, decide_diagonal<float>>(
        "decide_diagonal", "S, idx, val, numbers, key, number, moments, scores, eps",
        "One decision on diagonal state: ŷ, ỹ, how many are tied; leaves its moments ready."),
    entry<decide_full<double>, decide_full<float>>(
        "decide_full", "W, B, idx, val, numbers, key, number, moments, P, scores, eps",
        "One decision on full state: ŷ, ỹ, how many are tied; leaves its moments and products ready."),
    entry<learn_diagonal<double>, learn_diagonal<float>>(
        "learn_diagonal", "S, idx, val, K, c, reward, numbers, key, number, moments",
        "Learn how right class c was, on diagonal state; says no, and changes nothing, where that is not finite."),
    entry<learn_full<double>, learn_full<float>>(
        "learn_full", "W, B, idx, val, K, c, reward, numbers, key, number, moments, P",
        "Learn how right class c was, on full state; says no, and changes nothing, where that is not finite."),
    entry<stream_diagonal<double>, stream_diagonal<float>>(
        "stream_diagonal", "S, K, numbers, key, played", "Rounds on diagonal state; every row is scaled first."),
    entry<stream_full<double>, stream_full<float>>(
        "stream_full", "W, B, K, numbers, key, played", "Rounds on full state; every row is scaled first."),
    entry<follow_diagonal>("follow_diagonal", "S, K, numbers, key, way, trip, begin, end, noted",
                           "Steps of a course on diagonal state; returns the end, or a step that cannot be taken."),
    entry<follow_full>("follow_full", "W, B, K, numbers, key, way, trip, begin, end, noted",
                       "Steps of a course on full state; returns the end, or a step that cannot be taken."),
    entry<row_scales<double>, row_scales<float>>("row_scales", "values, starts, out", "1 / ‖x‖ of every row."),
});

}  // namespace
}  // namespace smidgen
