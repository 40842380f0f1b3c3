// Item choice by a preference perceptron for one user, items being offered once: the practical limit of this loop. The
// scores move by rows of the Gram matrix; scores and matrix are in single precision and nothing is checked again in
// double, as smidgen does it.

#include <cmath>
#include <cstdint>

typedef float Pack __attribute__((vector_size(64), aligned(4)));
static const int64_t WIDTH = 16;

// s <- s + plus - minus; the place of the highest. n is a multiple of WIDTH.
static int64_t shifted(float* s, const float* plus, const float* minus, int64_t n) {
    Pack highest = Pack{} - INFINITY;
    for (int64_t k = 0; k < n; k += WIDTH) {
        const Pack p = *(Pack*)(s + k) + (*(const Pack*)(plus + k) - *(const Pack*)(minus + k));
        *(Pack*)(s + k) = p;
        highest = p > highest ? p : highest;
    }
    float best = -INFINITY;
    for (int64_t k = 0; k < WIDTH; k++) best = highest[k] > best ? highest[k] : best;
    int64_t place = 0;
    while (s[place] != best) place++;
    return place;
}

// Of the items by rising utility (order), the user gives the first that gains the share alpha of what can be gained.
extern "C" void choices(const float* gram, const double* utility, const int64_t* order, float* scores, int64_t items,
                        int64_t padded, int64_t rounds, double alpha, int64_t* shown) {
    for (int64_t k = 0; k < padded; k++) scores[k] = k < items ? 0.0f : -INFINITY;
    int64_t last = items - 1, item = 0;
    for (int64_t t = 0; t < rounds; t++) {
        while (scores[order[last]] == -INFINITY) last--;
        const double before = utility[item], best = utility[order[last]];
        int64_t better = item;
        if (before < best) {
            const double target = before + alpha * (best - before) - 1e-12 * (std::fabs(best) + std::fabs(before));
            int64_t low = 0, high = last;  // the first of at least the target
            while (low < high) {
                const int64_t middle = (low + high) / 2;
                if (utility[order[middle]] < target) low = middle + 1;
                else high = middle;
            }
            while (scores[order[low]] == -INFINITY) low++;
            better = order[low];
        }
        shown[t] = item;
        scores[item] = scores[better] = -INFINITY;
        item = shifted(scores, gram + better * padded, gram + item * padded, padded);
    }
}
