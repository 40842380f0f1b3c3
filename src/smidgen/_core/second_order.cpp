// Full-information label learners with second-order state: AROW (Crammer, Kulesza and Dredze 2009) and the second-order
// perceptron (Cesa-Bianchi, Conconi and Gentile 2005).
#include "second_order.hpp"

#include "bind.hpp"
#include "ridge.hpp"

namespace smidgen {
namespace {

// Space for w·x, xᵀA⁻¹x and A⁻¹x of every class, full state.
template <class T>
struct FullMoments {
    Scratch<T> mean_space, width_space, product_space;
    Vec<T> means, widths;
    Mat<T> P;
    explicit FullMoments(Mat<const T> W)
        : mean_space(W.rows), width_space(W.rows), product_space(W.rows * W.cols), means(mean_space.vec()),
          widths(width_space.vec()), P(product_space.mat(W.rows, W.cols)) {}
    void measure(Mat<const T> W, Cube<const T> B, Indices idx, Vec<const T> val) {
        full_moments(W, B, idx, val, means, widths, P);
    }
};

template <class T>
void require_state(Mat<const T> W, Cube<const T> B) {
    require(B.n0 == W.cols && B.n1 == W.rows && B.n2 == W.cols, "W and B do not fit together");
}
void require_even(int64_t columns) { require(columns % 2 == 0, "S must have as many weights as inverses"); }

// --- AROW -----------------------------------------------------------------------------------------------------------

// Σ_c ← Σ_c − β·(Σ_c x)², entry by entry.
template <class T>
INLINE void shrink_diagonal(Mat<T> S, int64_t c, Indices idx, Vec<const T> val, double beta) {
    int64_t C = S.cols / 2;
    for (int64_t k = 0; k < idx.n; ++k) {
        double sx = double(S(idx[k], C + c)) * double(val[k]);
        S(idx[k], C + c) = static_cast<T>(double(S(idx[k], C + c)) - beta * sx * sx);
    }
}

// Σ_c ← Σ_c − β·(Σ_c x)(Σ_c x)ᵀ; what rounding takes from the diagonal beyond 1 − β·xᵀΣ_c x of it is put back.
template <class T>
INLINE void shrink_full(Cube<T> B, int64_t c, Vec<const T> product, double beta, double width) {
    T b = static_cast<T>(beta), left = static_cast<T>(NEARLY * largest(1.0 - beta * width, 0.0));
    for (int64_t i = 0; i < product.n; ++i) {
        T least = left * B(i, c, i);
        for (int64_t j = 0; j < product.n; ++j) B(i, c, j) -= b * (product[i] * product[j]);
        B(i, c, i) = largest(B(i, c, i), least);
    }
}

template <class T>
INLINE void arow_step_diagonal(Mat<T> S, int64_t K, Indices idx, Vec<const T> val, int64_t label, double r, Mat<T> moments) {
    Vec<T> means = moments[0], widths = moments[1];
    int64_t q = best_other_class(means, K, label);
    double margin = double(means[label]) - double(means[q]);
    if (margin < 1.0) {
        double beta = 1.0 / (double(widths[label]) + double(widths[q]) + r);
        diagonal_shift(S, label, idx, val, (1.0 - margin) * beta);
        diagonal_shift(S, q, idx, val, -(1.0 - margin) * beta);
        shrink_diagonal(S, label, idx, val, beta);
        shrink_diagonal(S, q, idx, val, beta);
    }
}

template <class T>
INLINE void arow_step_full(Mat<T> W, Cube<T> B, int64_t K, int64_t label, double r, FullMoments<T>& m) {
    int64_t q = best_other_class(m.means, K, label);
    double margin = double(m.means[label]) - double(m.means[q]);
    if (margin < 1.0) {
        double own = full_width(B, label, m.P[label], double(m.widths[label]));
        double other = full_width(B, q, m.P[q], double(m.widths[q]));
        double beta = 1.0 / (own + other + r);
        full_shift(W, label, m.P[label], (1.0 - margin) * beta);
        full_shift(W, q, m.P[q], -(1.0 - margin) * beta);
        shrink_full(B, label, Vec<const T>(m.P[label]), beta, own);
        shrink_full(B, q, Vec<const T>(m.P[q]), beta, other);
    }
}

// Another class than the label is looked at, even if there is only one.
INLINE void require_label(int64_t label, int64_t K, int64_t columns) {
    require_classes(K, columns);
    require(columns >= 2, "there must be places for two classes");
    require_class(label, K);
}

template <class T>
bool arow_learn_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t K, int64_t label, double r) {
    require_even(S.cols);
    require_row(idx, val, S.rows);
    require_label(label, K, S.cols / 2);
    Scratch<T> space(S.cols);
    Mat<T> moments = space.mat(2, S.cols / 2);
    diagonal_moments(S, idx, val, moments);
    if (!all_finite(moments[0])) return false;
    arow_step_diagonal(S, K, idx, val, label, r, moments);
    return true;
}

template <class T>
bool arow_learn_full(Mat<T> W, Cube<T> B, Indices idx, Vec<const T> val, int64_t K, int64_t label, double r) {
    require_state<T>(W, B);
    require_row(idx, val, W.cols);
    require_label(label, K, W.rows);
    FullMoments<T> moments(W);
    moments.measure(W, B, idx, val);
    if (!all_finite(moments.means)) return false;
    arow_step_full(W, B, K, label, r, moments);
    return true;
}

template <class T>
void arow_stream_diagonal(Mat<T> S, int64_t K, double r, Stream<T> stream, Shown shown) {
    require_even(S.cols);
    require_label(0, K, S.cols / 2);
    require_stream(stream, shown, S.rows, K);
    Csr<T> rows = stream.rows();
    Scratch<T> space(S.cols);
    Mat<T> moments = space.mat(2, S.cols / 2);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i];
        diagonal_moments(S, rows.idx(t), rows.val(t), moments);
        shown.actions[i] = shown.greedy[i] = best_class(moments[0], K);
        arow_step_diagonal(S, K, rows.idx(t), rows.val(t), stream.truth[t], r, moments);
    }
}

template <class T>
void arow_stream_full(Mat<T> W, Cube<T> B, int64_t K, double r, Stream<T> stream, Shown shown) {
    require_state<T>(W, B);
    require_label(0, K, W.rows);
    require_stream(stream, shown, W.cols, K);
    Csr<T> rows = stream.rows();
    FullMoments<T> moments(W);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i];
        moments.measure(W, B, rows.idx(t), rows.val(t));
        shown.actions[i] = shown.greedy[i] = best_class(moments.means, K);
        arow_step_full(W, B, K, stream.truth[t], r, moments);
    }
}

// --- the second-order perceptron ------------------------------------------------------------------------------------

// v_i · (A_i + diag(x²))⁻¹x.
template <class T>
INLINE void perceptron_scores_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<T> out) {
    int64_t C = out.n;
    clear(out);
    for (int64_t k = 0; k < idx.n; ++k) {
        T v = val[k], vv = v * v;
        Vec<const T> row = S[idx[k]];
        for (int64_t c = 0; c < C; ++c) {
            T above = v * row[c] * row[C + c];
            out[c] = static_cast<T>(double(out[c]) + double(above) / (1.0 + double(vv * row[C + c])));
        }
    }
}

// v_i · (A_i + xxᵀ)⁻¹x = v_i · A_i⁻¹x / (1 + xᵀA_i⁻¹x).
template <class T>
INLINE void perceptron_scores_full(Mat<const T> V, Cube<const T> B, Indices idx, Vec<const T> val, FullMoments<T>& m) {
    m.measure(V, B, idx, val);
    for (int64_t c = 0; c < V.rows; ++c) {
        double sum = 0.0;
        for (int64_t j = 0; j < V.cols; ++j) sum += double(V(c, j)) * double(m.P(c, j));
        m.means[c] = static_cast<T>(sum / (1.0 + largest(double(m.widths[c]), 0.0)));
    }
}

template <class T>
INLINE void perceptron_step_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t action, int64_t label) {
    add_to_class(S, label, idx, val, 1.0);
    add_to_class(S, action, idx, val, -1.0);
    diagonal_absorb(S, label, idx, val, 0.0);
    diagonal_absorb(S, action, idx, val, 0.0);
}

template <class T>
INLINE void perceptron_step_full(Mat<T> V, Cube<T> B, Indices idx, Vec<const T> val, int64_t action, int64_t label,
                                 FullMoments<T>& m) {
    for (int64_t k = 0; k < idx.n; ++k) {
        V(label, idx[k]) += val[k];
        V(action, idx[k]) -= val[k];
    }
    for (int64_t c : {label, action}) full_absorb(B, c, m.P[c], full_width(B, c, m.P[c], double(m.widths[c])));
}

template <class T>
void scores_diagonal(Mat<const T> S, Indices idx, Vec<const T> val, Vec<T> out) {
    require_row(idx, val, S.rows);
    require(out.n * 2 == S.cols, "out needs one place per class");
    perceptron_scores_diagonal(S, idx, val, out);
}

template <class T>
void scores_full(Mat<const T> V, Cube<const T> B, Indices idx, Vec<const T> val, Vec<T> out) {
    require_state<T>(V, B);
    require_row(idx, val, V.cols);
    require(out.n == V.rows, "out needs one place per class");
    FullMoments<T> moments(V);
    perceptron_scores_full(V, B, idx, val, moments);
    copy(out, moments.means);
}

template <class T>
void score_rows_diagonal(Mat<const T> S, Csr<T> rows, Mat<T> out) {
    rows.check(S.rows);
    require(out.rows == rows.rows() && out.cols * 2 == S.cols, "out needs one row per row and one column per class");
    for (int64_t t = 0; t < out.rows; ++t) perceptron_scores_diagonal(S, rows.idx(t), rows.val(t), out[t]);
}

template <class T>
void score_rows_full(Mat<const T> V, Cube<const T> B, Csr<T> rows, Mat<T> out) {
    require_state<T>(V, B);
    rows.check(V.cols);
    require(out.rows == rows.rows() && out.cols == V.rows, "out needs one row per row and one column per class");
    FullMoments<T> moments(V);
    for (int64_t t = 0; t < out.rows; ++t) {
        perceptron_scores_full(V, B, rows.idx(t), rows.val(t), moments);
        copy(out[t], moments.means);
    }
}

template <class T>
bool perceptron_learn_diagonal(Mat<T> S, Indices idx, Vec<const T> val, int64_t action, int64_t label) {
    require_even(S.cols);
    require_row(idx, val, S.rows);
    require_class(action, S.cols / 2);
    require_class(label, S.cols / 2);
    Scratch<T> scores(S.cols / 2);
    perceptron_scores_diagonal<T>(S, idx, val, scores.vec());
    if (!all_finite(scores.vec())) return false;
    if (action != label) perceptron_step_diagonal(S, idx, val, action, label);
    return true;
}

template <class T>
bool perceptron_learn_full(Mat<T> V, Cube<T> B, Indices idx, Vec<const T> val, int64_t action, int64_t label) {
    require_state<T>(V, B);
    require_row(idx, val, V.cols);
    require_class(action, V.rows);
    require_class(label, V.rows);
    FullMoments<T> moments(V);
    perceptron_scores_full<T>(V, B, idx, val, moments);
    if (!all_finite(moments.means)) return false;
    if (action != label) perceptron_step_full(V, B, idx, val, action, label, moments);
    return true;
}

template <class T>
void perceptron_stream_diagonal(Mat<T> S, int64_t K, Stream<T> stream, Shown shown) {
    require_even(S.cols);
    require_classes(K, S.cols / 2);
    require_stream(stream, shown, S.rows, K);
    Csr<T> rows = stream.rows();
    Scratch<T> scores(S.cols / 2);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i];
        perceptron_scores_diagonal<T>(S, rows.idx(t), rows.val(t), scores.vec());
        int64_t action = best_class(scores.vec(), K);
        if (action != stream.truth[t]) perceptron_step_diagonal(S, rows.idx(t), rows.val(t), action, stream.truth[t]);
        shown.actions[i] = shown.greedy[i] = action;
    }
}

template <class T>
void perceptron_stream_full(Mat<T> V, Cube<T> B, int64_t K, Stream<T> stream, Shown shown) {
    require_state<T>(V, B);
    require_classes(K, V.rows);
    require_stream(stream, shown, V.cols, K);
    Csr<T> rows = stream.rows();
    FullMoments<T> moments(V);
    for (int64_t i = 0; i < stream.order.n; ++i) {
        int64_t t = stream.order[i];
        perceptron_scores_full<T>(V, B, rows.idx(t), rows.val(t), moments);
        int64_t action = best_class(moments.means, K);
        if (action != stream.truth[t]) {
            perceptron_step_full(V, B, rows.idx(t), rows.val(t), action, stream.truth[t], moments);
        }
        shown.actions[i] = shown.greedy[i] = action;
    }
}

// --- what they share ------------------------------------------------------------------------------------------------

template <class T>
int64_t pick(Vec<const T> every, Vec<double> scores) {
    require_classes(scores.n, every.n);
    copy(scores, every);
    return best_class(every, scores.n);
}

template <class T>
void scores_of_weights(Mat<const T> W, Indices idx, Vec<const T> val, Vec<T> out) {
    require_row(idx, val, W.rows);
    require(out.n <= W.cols, "out has more places than there are classes");
    class_scores(W, idx, val, out);
}

template <class T>
void scores_by_class(Mat<const T> W, Indices idx, Vec<const T> val, Vec<T> out) {
    require_row(idx, val, W.cols);
    require(out.n <= W.rows, "out has more places than there are classes");
    for (int64_t c = 0; c < out.n; ++c) out[c] = static_cast<T>(sparse_dot(W[c], idx, val));
}

// Start with w = 0 and A⁻¹ = inverse·I, for every class.
template <class T>
void begin_diagonal(Mat<T> S, double inverse) {
    require_even(S.cols);
    int64_t C = S.cols / 2;
    T start = static_cast<T>(inverse);
    for (int64_t r = 0; r < S.rows; ++r) {
        for (int64_t c = 0; c < C; ++c) {
            S(r, c) = T(0);
            S(r, C + c) = start;
        }
    }
}

// The diagonal of the inverse of a symmetric matrix M with positive eigenvalues: of X = L⁻¹ with M = L·Lᵀ, M⁻¹ = XᵀX.
void inverse_diagonal(Mat<const double> M, Vec<double> out) {
    int64_t n = M.rows;
    require(M.cols == n && out.n == n, "M is square, and out needs one place per row");
    Scratch<double> L_space(n * n), X_space(n * n);
    Mat<double> L = L_space.mat(n, n), X = X_space.mat(n, n);
    cholesky(M, n, 0.0, L);
    invert_lower(L, n, X);
    clear(out);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) out[j] += X(i, j) * X(i, j);
    }
}

const Family family("second_order", {
    entry<inverse_diagonal>("inverse_diagonal", "M, out",
                            "The diagonal of the inverse of a symmetric matrix with positive eigenvalues."),
    entry<pick<double>, pick<float>>(
        "pick", "every, scores", "Copy the scores of the classes that there are; return the first class of highest score."),
    entry<scores_of_weights<double>, scores_of_weights<float>>(
        "class_scores", "W, idx, val, out", "out_i = w_i · x, W stored by feature."),
    entry<scores_by_class<double>, scores_by_class<float>>(
        "scores_by_class", "W, idx, val, out", "out_i = w_i · x, W stored by class."),
    entry<begin_diagonal<double>, begin_diagonal<float>>(
        "begin_diagonal", "S, inverse", "Start with w = 0 and A⁻¹ = inverse·I, for every class."),
    entry<arow_learn_diagonal<double>, arow_learn_diagonal<float>>(
        "arow_learn_diagonal", "S, idx, val, K, label, r",
        "Learn one true label on diagonal state; says no, and changes nothing, where the scores are not finite."),
    entry<arow_learn_full<double>, arow_learn_full<float>>(
        "arow_learn_full", "W, B, idx, val, K, label, r",
        "Learn one true label on full state; says no, and changes nothing, where the scores are not finite."),
    entry<arow_stream_diagonal<double>, arow_stream_diagonal<float>>(
        "arow_stream_diagonal", "S, K, r, stream, shown", "Rounds of AROW on diagonal state."),
    entry<arow_stream_full<double>, arow_stream_full<float>>(
        "arow_stream_full", "W, B, K, r, stream, shown", "Rounds of AROW on full state."),
    entry<scores_diagonal<double>, scores_diagonal<float>>(
        "perceptron_scores_diagonal", "S, idx, val, out", "v_i · (A_i + diag(x²))⁻¹x."),
    entry<scores_full<double>, scores_full<float>>(
        "perceptron_scores_full", "V, B, idx, val, out", "v_i · (A_i + xxᵀ)⁻¹x."),
    entry<score_rows_diagonal<double>, score_rows_diagonal<float>>(
        "perceptron_score_rows_diagonal", "S, rows, out", "The scores of many rows on diagonal state."),
    entry<score_rows_full<double>, score_rows_full<float>>(
        "perceptron_score_rows_full", "V, B, rows, out", "The scores of many rows on full state."),
    entry<perceptron_learn_diagonal<double>, perceptron_learn_diagonal<float>>(
        "perceptron_learn_diagonal", "S, idx, val, action, label",
        "Learn one true label on diagonal state; says no, and changes nothing, where the scores are not finite."),
    entry<perceptron_learn_full<double>, perceptron_learn_full<float>>(
        "perceptron_learn_full", "V, B, idx, val, action, label",
        "Learn one true label on full state; says no, and changes nothing, where the scores are not finite."),
    entry<perceptron_stream_diagonal<double>, perceptron_stream_diagonal<float>>(
        "perceptron_stream_diagonal", "S, K, stream, shown", "Rounds of the second-order perceptron on diagonal state."),
    entry<perceptron_stream_full<double>, perceptron_stream_full<float>>(
        "perceptron_stream_full", "V, B, K, stream, shown", "Rounds of the second-order perceptron on full state."),
});

}  // namespace
}  // namespace smidgen
