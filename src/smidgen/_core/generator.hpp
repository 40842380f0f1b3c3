// numpy's random generators, for simulated users: a `numpy.random.Generator` gives what its own methods would give.
#pragma once

#include <numpy/random/bitgen.h>

#include "arrays.hpp"

namespace smidgen {

struct Generator {
    const bitgen_t* bits;

    // Generator.random()
    INLINE double random() const { return bits->next_double(bits->state); }

    // Generator.integers(0, n), of n <= 2³²: Lemire, Fast random integer generation in an interval, 2019.
    INLINE int64_t below(int64_t n) const {
        if (n == 1) return 0;
        uint64_t product = uint64_t(next32()) * uint64_t(n);
        uint32_t low = uint32_t(product);
        if (low < n) {
            uint32_t threshold = uint32_t((uint64_t(0x100000000) - uint64_t(n)) % uint64_t(n));
            while (low < threshold) {
                product = uint64_t(next32()) * uint64_t(n);
                low = uint32_t(product);
            }
        }
        return int64_t(product >> 32);
    }

    // Generator.permutation(n)
    void permute(Vec<int64_t> out) const {
        for (int64_t i = 0; i < out.n; ++i) out[i] = i;
        for (int64_t i = out.n - 1; i > 0; --i) {
            int64_t j = up_to(i), kept = out[j];
            out[j] = out[i];
            out[i] = kept;
        }
    }

  private:
    // One of 0 … most, most below 2³²: of as many bits as it has, the first that is not larger.
    INLINE int64_t up_to(int64_t most) const {
        uint32_t mask = uint32_t(most), found;
        for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
        do found = next32() & mask;
        while (found > most);
        return int64_t(found);
    }
    INLINE uint32_t next32() const { return bits->next_uint32(bits->state); }
};

}  // namespace smidgen
