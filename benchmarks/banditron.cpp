// The Banditron on a stream of sparse rows, for one fixed number of classes: the practical limit of this loop.
// It does the arithmetic of smidgen.Banditron and nothing else: no checks, no record, and a generator of its own.

#include <cstddef>
#include <cstdint>

template <class F>
static void banditron(F* W, double gamma, const uint32_t* indices, const F* values, const int64_t* starts,
                      const int64_t* truth, int64_t n, int64_t* actions, int64_t* greedy) {
    uint64_t state = 88172645463325252u;
    for (int64_t t = 0; t < n; t++) {
        const int64_t from = starts[t], to = starts[t + 1];
        F scores[CLASSES] = {};
        for (int64_t k = from; k < to; k++) {
            const F* row = W + size_t(indices[k]) * CLASSES;
            for (int c = 0; c < CLASSES; c++) scores[c] += values[k] * row[c];
        }
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (scores[c] > scores[best]) best = c;
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const double u = double(state >> 11) * 0x1p-53;
        int action = best;
        if (u >= 1.0 - gamma) {
            action = int((u - (1.0 - gamma)) / gamma * CLASSES);
            if (action > CLASSES - 1) action = CLASSES - 1;
        }
        double gain = action == truth[t] ? 1.0 / ((action == best ? 1.0 - gamma : 0.0) + gamma / CLASSES) : 0.0;
        if (gain > 0.0 && action != best) {
            for (int64_t k = from; k < to; k++) W[size_t(indices[k]) * CLASSES + action] += F(gain) * values[k];
            gain = 0.0;
        }
        const F rate = F(gain - 1.0);
        for (int64_t k = from; k < to; k++) W[size_t(indices[k]) * CLASSES + best] += rate * values[k];
        actions[t] = action, greedy[t] = best;
    }
}

extern "C" void banditron_float32(float* W, double gamma, const uint32_t* indices, const float* values,
                                  const int64_t* starts, const int64_t* truth, int64_t n, int64_t* actions,
                                  int64_t* greedy) {
    banditron(W, gamma, indices, values, starts, truth, n, actions, greedy);
}

extern "C" void banditron_float64(double* W, double gamma, const uint32_t* indices, const double* values,
                                  const int64_t* starts, const int64_t* truth, int64_t n, int64_t* actions,
                                  int64_t* greedy) {
    banditron(W, gamma, indices, values, starts, truth, n, actions, greedy);
}
