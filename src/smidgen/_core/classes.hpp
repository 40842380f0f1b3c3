// One weight vector per class, stored by feature: W has a row per feature, and in it a number per class. Rows are padded
// to a multiple of four columns; K is the number of classes that there are.
#pragma once

#include "rows.hpp"

namespace smidgen {

// out_i = w_i · x for every class i.
template <class T>
INLINE void class_scores(Mat<T> W, Indices idx, Same<Vec<const plain<T>>> val, Same<Vec<plain<T>>> out) {
    sum_rows(W, idx, val, out);
}

// w_c ← w_c + rate · x.
template <class T>
INLINE void add_to_class(Mat<T> W, int64_t c, Indices idx, Same<Vec<const T>> val, double rate) {
    T r = static_cast<T>(rate);
    for (int64_t k = 0; k < idx.n; ++k) W(idx[k], c) += r * val[k];
}

// Ask for the first rows that an example needs, before its turn comes.
template <class T>
INLINE void prefetch_rows(Mat<T> W, Indices idx) {
    constexpr int64_t line = 64 / int64_t(sizeof(T));
    for (int64_t k = 0; k < smallest(idx.n, AHEAD); ++k) {
        const T* row = W.data + int64_t(idx[k]) * W.cols;
        for (int64_t c = 0; c < W.cols; c += line) prefetch(row + c);
        prefetch(row + W.cols - 1);
    }
}

// The first class of highest score among the first K.
template <class T>
INLINE int64_t best_class(Vec<T> scores, int64_t K) {
    int64_t best = 0;
    plain<T> highest = scores[0];
    for (int64_t c = 1; c < K; ++c) {
        if (scores[c] > highest) {
            best = c;
            highest = scores[c];
        }
    }
    return best;
}

// The same, one class left out.
template <class T>
INLINE int64_t best_other_class(Vec<T> scores, int64_t K, int64_t but) {
    int64_t best = but != 0 ? 0 : 1;
    for (int64_t c = best + 1; c < K; ++c) {
        if (c != but && scores[c] > scores[best]) best = c;
    }
    return best;
}

// Write the score of every class, in double precision; return the first of highest score.
template <class T>
INLINE int64_t score_classes(Mat<T> W, Indices idx, Same<Vec<const plain<T>>> val, Vec<double> scores) {
    Scratch<plain<T>> every(W.cols);
    class_scores(W, idx, val, every.vec());
    copy(scores, every.vec());
    return best_class(every.vec(), scores.n);
}

template <class T>
INLINE bool all_finite(Vec<T> values) {
    int64_t strange = 0;
    for (int64_t i = 0; i < values.n; ++i) strange += !is_finite(values[i]);
    return strange == 0;
}

INLINE void require_classes(int64_t K, int64_t columns) {
    require(K >= 1 && K <= columns, "K must be at least 1 and at most the number of columns");
}
INLINE void require_class(int64_t c, int64_t K) { require(c >= 0 && c < K, "a class is not below K"); }

// A labelled stream: compressed rows, true labels, the order of play.
template <class T>
struct Stream {
    Indices indices;
    Vec<const T> values;
    Vec<const int64_t> starts, truth, order;
    FIELDS(indices, values, starts, truth, order)

    Csr<T> rows() const { return {indices, values, starts}; }
};

// What was shown in each round, and what had the highest score.
struct Shown {
    Vec<int64_t> actions, greedy;
    FIELDS(actions, greedy)
};

template <class T>
void require_stream(const Stream<T>& stream, const Shown& shown, int64_t dim, int64_t K) {
    stream.rows().check(dim);
    int64_t n = stream.rows().rows(), rounds = stream.order.n;
    require(stream.truth.n == n, "a stream needs one label per row");
    require(shown.actions.n == rounds && shown.greedy.n == rounds, "what is shown needs one place per round");
    bool sound = true;
    for (int64_t i = 0; i < n; ++i) sound &= stream.truth[i] >= 0 && stream.truth[i] < K;
    require(sound, "a label is not below K");
    for (int64_t i = 0; i < rounds; ++i) sound &= stream.order[i] >= 0 && stream.order[i] < n;
    require(sound, "the order of play names a row that is not there");
}

}  // namespace smidgen
