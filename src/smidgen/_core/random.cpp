#include "random.hpp"

#include "bind.hpp"

namespace smidgen {
namespace {

void uniforms(Vec<const uint64_t> key, uint64_t number, Vec<double> out) { fill_uniforms(key_in(key), number, out); }

void normals(Vec<const uint64_t> key, uint64_t number, int64_t part, Vec<double> out) {
    fill_normals(key_in(key), number, part, out);
}

// The normal numbers that pairs of words give.
void normals_of(Vec<const uint64_t> words, Vec<double> out) {
    require(words.n % 2 == 0 && words.n == out.n, "out needs one place per word, and words come in pairs");
    for (int64_t i = 0; i < words.n; i += 16) {
        Pairs pairs;
        pairs.clear();
        for (int64_t k = i; k < smallest(i + 16, words.n); k += 2) pairs.take_apart(words[k], words[k + 1], (k - i) / 2);
        double normals[16];
        pairs.write(normals);
        for (int64_t k = i; k < smallest(i + 16, words.n); ++k) out[k] = normals[k - i];
    }
}

void direction(Vec<const uint64_t> key, uint64_t number, Vec<double> out) { unit_direction(key_in(key), number, out); }

// The direction v that belongs to a decision, and z = y + reach·v.
void perturb(Vec<const uint64_t> key, uint64_t number, Vec<const double> y, double reach, Vec<double> v, Vec<double> z) {
    require(y.n == v.n && z.n == v.n, "y, v and z must have one length");
    unit_direction(key_in(key), number, v);
    for (int64_t i = 0; i < y.n; ++i) z[i] = y[i] + reach * v[i];
}

const Family family("random", {
    entry<uniforms>("fill_uniforms", "key, number, out", "As many uniforms as fit, that belong to a decision."),
    entry<normals>("fill_normals", "key, number, part, out", "As many normal numbers as fit: one portion of a decision's."),
    entry<normals_of>("normals_of", "words, out", "The normal numbers that pairs of words give."),
    entry<direction>("unit_direction", "key, number, out", "A uniform direction that belongs to a decision."),
    entry<perturb>("perturb", "key, number, y, reach, v, z", "Write the direction v, and z = y + reach·v."),
});

}  // namespace
}  // namespace smidgen
