// Rankings: the documents of a query in an order (Shivaswamy and Joachims, Coactive Learning, JAIR 2015, Section 6.1.1).
//
// y_i is the document at place i. φ(x, y) = Σ_i γ_i·docs[y_i] over the first places, with the discounts γ_i.
#pragma once

#include "dense.hpp"

namespace smidgen {

using Order = Vec<const int64_t>;

// Up to this many documents are sorted by counting those before each.
inline constexpr int64_t RUN = 32;

// --- what entry points require of their arguments -----------------------------------------------------------------

// The first position that holds no document below n, or one that stood before; −1 if there is none.
inline int64_t first_fault(Order order, int64_t n) {
    Scratch<uint8_t> seen(n, uint8_t(0));
    for (int64_t i = 0; i < order.n; ++i) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]]) return i;
        seen[order[i]] = 1;
    }
    return -1;
}
// Each document 0 … n − 1 once.
inline void require_ranking(Order order, int64_t n) {
    require(order.n == n && first_fault(order, n) < 0, "a ranking must hold every document once");
}
INLINE void require_documents(Order some, int64_t n) {
    bool sound = true;
    for (int64_t each : some) sound &= each >= 0 && each < n;
    require(sound, "a document is not there");
}

// --- sorting ---------------------------------------------------------------------------------------------------------

// Write eight documents from the first on (fewer at the end) to their places among those from start to end. Before a
// document come those of higher scores, and equals in front of it. Scores are numbers.
INLINE void rank_eight(const double* scores, int64_t first, int64_t start, int64_t end, int64_t* order) {
    int64_t left = smallest(end - first, LANES);
    Lanes eight;
    if (left == LANES) {
        eight = load(scores + first);
    } else {    // nothing is read beyond the end
        alignas(64) double few[LANES] = {};
        for (int64_t k = 0; k < left; ++k) few[k] = scores[first + k];
        eight = load(few);
    }
    const WholeLanes place = {0, 1, 2, 3, 4, 5, 6, 7};
    WholeLanes before = WholeLanes{} + start;    // a comparison is −1 where it holds
    for (int64_t i = start; i < first; ++i) before -= fill(scores[i]) >= eight;
    for (int64_t i = first; i < first + left; ++i) {
        Lanes score = fill(scores[i]);
        WholeLanes later = place > WholeLanes{} + (i - first);
        before -= (score > eight) | ((score == eight) & later);
    }
    for (int64_t i = first + left; i < end; ++i) before -= fill(scores[i]) > eight;
    alignas(64) int64_t found[LANES];
    store_vector(found, before);
    for (int64_t k = 0; k < left; ++k) order[found[k]] = first + k;
}

// Merge sorted runs, two by two.
inline void merge_runs(Vec<const double> scores, Vec<int64_t> order) {
    int64_t n = order.n;
    Scratch<int64_t> spare(n);
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t left = 0; left < n; left += 2 * width) {
            int64_t middle = smallest(left + width, n), right = smallest(left + 2 * width, n), i = left, j = middle;
            for (int64_t k = left; k < right; ++k) {
                bool first = i < middle && (j == right || scores[order[i]] >= scores[order[j]]);
                spare[k] = first ? order[i++] : order[j++];
            }
        }
        copy(order, spare.vec());
    }
}

// The documents by falling score, equals in the given order: runs sorted by counting, then merged. Returns false, and
// writes nothing, if a score is not a number.
inline bool rank(Vec<const double> scores, Vec<int64_t> order) {
    int64_t n = scores.n, strange = 0;
    for (int64_t i = 0; i < n; ++i) strange += scores[i] != scores[i];
    if (strange) return false;
    for (int64_t start = 0; start < n; start += RUN) {
        int64_t end = smallest(start + RUN, n);
        for (int64_t first = start; first < end; first += LANES) rank_eight(scores.data, first, start, end, order.data);
    }
    if (n > RUN) merge_runs(scores, order);
    return true;
}

INLINE bool all_finite(Vec<const double> x) {
    int64_t strange = 0;
    for (int64_t i = 0; i < x.n; ++i) strange += !is_finite(x[i]);
    return strange == 0;
}

// --- utilities and differences ------------------------------------------------------------------------------------

// w·φ(x, y) from the scores of the documents.
INLINE double utility(Order order, Vec<const double> scores, Vec<const double> discounts) {
    double sum = 0.0;
    for (int64_t i = 0; i < discounts.n; ++i) sum += discounts[i] * scores[order[i]];
    return sum;
}

// The documents that φ(better) − φ(shown) touches, and their coefficients; those that cancel are left out. What is left
// of the two arrays, which hold twice the discounts, is filled with zeros. `each` gets the coefficient of every document.
INLINE void write_merged(Order better, Order shown, Vec<const double> discounts, Vec<double> each, Vec<int64_t> touched,
                         Vec<double> weights) {
    clear(each);
    for (int64_t i = 0; i < smallest(better.n, discounts.n); ++i) each[better[i]] += discounts[i];
    for (int64_t i = 0; i < smallest(shown.n, discounts.n); ++i) each[shown[i]] -= discounts[i];
    int64_t k = 0;
    for (int64_t i = 0; i < each.n && k < touched.n; ++i) {
        touched[k] = i;
        weights[k] = each[i];
        k += each[i] != 0.0;
    }
    clear(touched.from(k));
    clear(weights.from(k));
}

// Memory for differences of rankings with up to `longest` documents and `top` discounts.
class Differences {
  public:
    Differences(int64_t longest, int64_t top) : each_(longest), touched_(2 * top), weights_(2 * top), top_(2 * top) {}

    // out = φ(better) − φ(shown), each document touched once.
    INLINE void write(Mat<const double> docs, Order better, Order shown, Vec<const double> discounts, Vec<double> out) {
        Vec<int64_t> touched = touched_.vec().slice(0, smallest(2 * discounts.n, top_));
        Vec<double> weights = weights_.vec().slice(0, touched.n);
        write_merged(better, shown, discounts, each_.vec().slice(0, docs.rows), touched, weights);
        combine_dense(docs, touched, weights, out);
    }

  private:
    Scratch<double> each_;
    Scratch<int64_t> touched_;
    Scratch<double> weights_;
    int64_t top_;
};

// The first documents of a ranking that has these in front, and then the others in the order shown; as many as fit.
// `lifted` is scratch, a place per document.
inline void put_first(Order front, Order shown, Vec<int64_t> better, Vec<uint8_t> lifted) {
    clear(lifted);
    int64_t filled = smallest(front.n, better.n);
    for (int64_t i = 0; i < filled; ++i) {
        better[i] = front[i];
        lifted[front[i]] = 1;
    }
    for (int64_t place = 0; filled < better.n && place < shown.n; ++place) {
        if (!lifted[shown[place]]) better[filled++] = shown[place];
    }
}

}  // namespace smidgen
