// Estimators that keep their examples: with a kernel, one per class (state/dual.py); of sparse rows (state/sparse_ridge.py).
#include "dual.hpp"

#include "bind.hpp"

namespace smidgen {
namespace {

void require_gram(Mat<const double> G, int64_t n) {
    require(n >= 0 && n <= G.rows && n <= G.cols, "G is too small for the examples");
}

// --- kernels: out[i, j] = k(x_i, z_j) ---------------------------------------------------------------------------------

void require_kernel(Mat<const double> X, Mat<const double> Z, Mat<double> out) {
    require(X.cols == Z.cols, "X and Z must have one number of columns");
    require(out.rows == X.rows && out.cols == Z.rows, "out needs a row per row of X and a column per row of Z");
}

template <class Pair>
INLINE void each_pair(Mat<const double> X, Mat<const double> Z, Mat<double> out, Pair pair) {
    require_kernel(X, Z, out);
    for (int64_t i = 0; i < X.rows; ++i) {
        for (int64_t j = 0; j < Z.rows; ++j) out(i, j) = pair(X[i], Z[j]);
    }
}

void linear_kernel(Mat<const double> X, Mat<const double> Z, Mat<double> out) {
    each_pair(X, Z, out, [](Vec<const double> x, Vec<const double> z) { return dot(x, z); });
}

// ‖x − z‖², summed in lanes.
INLINE double squared_distance(Vec<const double> x, Vec<const double> z) {
    int64_t whole = x.n - x.n % LANES;
    Lanes sums = fill(0.0);
    double rest = 0.0;
    for (int64_t i = 0; i < whole; i += LANES) {
        Lanes gap = load(x.data + i) - load(z.data + i);
        sums = sums + gap * gap;
    }
    for (int64_t i = whole; i < x.n; ++i) {
        double gap = x[i] - z[i];
        rest += gap * gap;
    }
    return total(sums) + rest;
}

void rbf_kernel(Mat<const double> X, Mat<const double> Z, double gamma, Mat<double> out) {
    each_pair(X, Z, out, [gamma](Vec<const double> x, Vec<const double> z) { return exp(-gamma * squared_distance(x, z)); });
}

// x to the power of a degree: a small whole one by multiplication; a negative x has whole powers only.
INLINE double power(double x, double degree) {
    constexpr double SMALL = 16.0;
    bool whole = __builtin_floor(degree) == degree;
    if (whole && 0.0 <= degree && degree <= SMALL) {
        double product = 1.0;
        for (int64_t k = 0; k < int64_t(degree); ++k) product *= x;
        return product;
    }
    if (!(x < 0.0)) return pow(x, degree);
    if (!whole) return NaN;
    bool even = __builtin_floor(degree / 2.0) == degree / 2.0;
    return even ? pow(-x, degree) : -pow(-x, degree);
}

void poly_kernel(Mat<const double> X, Mat<const double> Z, double degree, double offset, Mat<double> out) {
    each_pair(X, Z, out, [degree, offset](Vec<const double> x, Vec<const double> z) {
        return power(dot(x, z) + offset, degree);
    });
}

// --- one class with a kernel ------------------------------------------------------------------------------------------

// w_c·φ(x) and φ(x)ᵀA_c⁻¹φ(x), given k(x), k(x, x) and the squared lengths of all points; writes G·k(x) on the members.
std::tuple<double, double> class_moments(Mat<const double> coefficients, int64_t c, Vec<const double> k,
                                         Vec<const int64_t> members, Mat<const double> G, double own, double start,
                                         Vec<const double> lengths, Vec<double> solved) {
    require(c >= 0 && c < coefficients.rows, "a class is not below the number of rows");
    require(coefficients.cols == k.n && lengths.n == k.n, "each point needs a coefficient and a length");
    require_gram(G, members.n);
    require(solved.n == members.n, "solved needs one place per member");
    bool sound = true;
    for (int64_t m : members) sound &= m >= 0 && m < k.n;
    require(sound, "a member is not there");
    Scratch<double> near(members.n);
    double sum = 0.0;
    for (int64_t m = 0; m < members.n; ++m) {
        near[m] = k[members[m]];
        sum += lengths[members[m]];
    }
    solve(G, members.n, near.vec(), solved);
    double width = (own - dot(near.vec(), solved)) / start, least = least_width(own, start, sum);
    return {dot(coefficients[c], k), width < least ? least : width};    // rounding away, but not NaN, which must be seen
}

// A_c ← A_c + φ(x)φ(x)ᵀ; the new width, and the growth of log|A_c|.
std::tuple<double, double> class_absorb(Mat<double> G, Vec<const double> solved, double start, double width) {
    int64_t n = solved.n;
    require_gram(G, n + 1);
    grow(G, n, solved, start * (1.0 + width));
    return {width / (1.0 + width), log1p(width)};
}

// out[r, c] = w_c·φ(x_r), given k(x_r) of every row.
void class_scores_of(Mat<const double> coefficients, Mat<const double> k, Mat<double> out) {
    require(coefficients.cols == k.cols, "each point needs a coefficient");
    require(out.rows == k.rows && out.cols == coefficients.rows, "out needs a row per row and a column per class");
    for (int64_t r = 0; r < out.rows; ++r) {
        for (int64_t c = 0; c < out.cols; ++c) out(r, c) = dot(coefficients[c], k[r]);
    }
}

// --- sparse rows --------------------------------------------------------------------------------------------------------

// The examples, and G of the same; `scratch` has a place per feature, and is zero before and after a call.
struct Kept {
    Csr<double> examples;
    Mat<double> G;
    Vec<double> w, scratch;
    double start;
    FIELDS(examples, G, w, scratch, start)

    int64_t n() const { return examples.rows(); }
    void check(Indices idx, Vec<const double> val) const {
        examples.check(w.n);
        require_gram(G, n());
        require(scratch.n == w.n, "scratch needs one place per feature");
        require_row(idx, val, w.n);
    }
};

// w·x and xᵀA⁻¹x; writes G·k(x).
std::tuple<double, double> ask(const Kept& kept, Indices idx, Vec<const double> val, Vec<double> solved) {
    const Csr<double>& examples = kept.examples;
    Scratch<double> near(kept.n());
    for (int64_t k = 0; k < idx.n; ++k) kept.scratch[idx[k]] = val[k];
    for (int64_t m = 0; m < kept.n(); ++m) near[m] = sparse_dot(kept.scratch, examples.idx(m), examples.val(m));
    for (int64_t k = 0; k < idx.n; ++k) kept.scratch[idx[k]] = 0.0;
    solve(kept.G, kept.n(), near.vec(), solved);
    double own = dot(val, val), width = (own - dot(near.vec(), solved)) / kept.start;
    double least = least_width(own, kept.start, dot(examples.values, examples.values));
    return {sparse_dot(kept.w, idx, val), largest(width, least)};    // NaN stays NaN
}

std::tuple<double, double> example_moments(Kept kept, Indices idx, Vec<const double> val) {
    kept.check(idx, val);
    Scratch<double> solved(kept.n());
    return ask(kept, idx, val, solved.vec());
}

// Learn one example, if w·x and xᵀA⁻¹x are finite; returns both as they were. G needs space for one more.
std::tuple<double, double> learn_example(Kept kept, Indices idx, Vec<const double> val, double y) {
    kept.check(idx, val);
    int64_t n = kept.n();
    require_gram(kept.G, n + 1);
    Scratch<double> solved(n);
    auto [mean, width] = ask(kept, idx, val, solved.vec());
    if (is_finite(mean) && is_finite(width)) {
        shift_by_examples(kept.w, kept.examples, solved.vec(), idx, val, (y - mean) / (1.0 + width) / kept.start);
        grow(kept.G, n, solved.vec(), kept.start * (1.0 + width));
    }
    return {mean, width};
}

// Drop the first example from G, and find w again: w = Xᵀ(Gram + aI)⁻¹y. The examples and y are those that stay.
void forget_first(Kept kept, Vec<const double> y) {
    int64_t n = kept.n();
    kept.check({nullptr, 0}, {nullptr, 0});
    require(y.n == n, "each example needs its y");
    require_gram(kept.G, n + 1);
    drop_first(kept.G, n + 1);
    Scratch<double> coefficients(n);
    solve(kept.G, n, y, coefficients.vec());
    for (double& each : coefficients.vec()) each = -each;
    clear(kept.w);
    shift_by_examples(kept.w, kept.examples, coefficients.vec(), {nullptr, 0}, {nullptr, 0}, 1.0);
}

const Family family("dual", {
    entry<linear_kernel>("linear_kernel", "X, Z, out", "out_ij = x_i·z_j."),
    entry<rbf_kernel>("rbf_kernel", "X, Z, gamma, out", "out_ij = exp(−gamma·‖x_i − z_j‖²)."),
    entry<poly_kernel>("poly_kernel", "X, Z, degree, offset, out", "out_ij = (x_i·z_j + offset)^degree."),
    entry<class_moments>("class_moments", "coefficients, c, k, members, G, own, start, lengths, solved",
                         "w_c·φ(x) and φ(x)ᵀA_c⁻¹φ(x) of one class; writes G·k(x) on its members."),
    entry<class_absorb>("class_absorb", "G, solved, start, width",
                        "A_c ← A_c + φ(x)φ(x)ᵀ; the new width, and the growth of log|A_c|."),
    entry<class_scores_of>("write_class_scores", "coefficients, k, out", "out_rc = w_c·φ(x_r), given k(x_r) of every row."),
    entry<example_moments>("example_moments", "kept, idx, val", "w·x and xᵀA⁻¹x, by the examples kept."),
    entry<learn_example>("learn_example", "kept, idx, val, y",
                         "Learn one example, if w·x and xᵀA⁻¹x are finite; returns both as they were."),
    entry<forget_first>("forget_first", "kept, y", "Drop the first example from G, and find w again from those that stay."),
});

}  // namespace
}  // namespace smidgen
