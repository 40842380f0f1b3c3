#include "math.hpp"

#include "bind.hpp"
#include "lanes_math.hpp"

namespace smidgen {
namespace {

template <double (*f)(double)>
void each(Vec<const double> x, Vec<double> out) {
    require(x.n == out.n, "x and out must have one length");
    for (int64_t i = 0; i < x.n; ++i) out[i] = f(x[i]);
}

template <void (*f)(Vec<double>)>
void all(Vec<const double> x, Vec<double> out) {
    require(x.n == out.n, "x and out must have one length");
    copy(out, x);
    f(out);
}

template <double (*f)(double, double)>
void both(Vec<const double> x, Vec<const double> y, Vec<double> out) {
    require(x.n == out.n && y.n == out.n, "x, y and out must have one length");
    for (int64_t i = 0; i < x.n; ++i) out[i] = f(x[i], y[i]);
}

const Family family("math", {
    entry<each<exp>>("exp", "x, out", "exp of each."),
    entry<each<log>>("log", "x, out", "The natural logarithm of each."),
    entry<each<log1p>>("log1p", "x, out", "log(1 + x) of each."),
    entry<all<exp_all>>("exp_lanes", "x, out", "exp of each, eight at a time."),
    entry<all<log_all>>("log_lanes", "x, out", "The natural logarithm of each, eight at a time; of normal numbers > 0."),
    entry<both<smidgen::pow>>("pow", "x, y, out", "x to the power of y, of each."),
    entry<both<smidgen::hypot>>("hypot", "x, y, out", "√(x² + y²) of each."),
});

}  // namespace
}  // namespace smidgen
