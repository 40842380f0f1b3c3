// A confidence sequence for bounded values by betting (Waudby-Smith and Ramdas 2024; evaluate/offline/betting.py).
#include "bind.hpp"
#include "math.hpp"

namespace smidgen {
namespace {

// A bet may lose at most this share of the money.
inline constexpr double MOST = 0.5;
// The money is written as 2^k·m once in so many rounds: before that it can neither overflow nor vanish.
inline constexpr int64_t PAUSE = 8;
inline constexpr int64_t HALVINGS = 50;

// λ_i = √(2·ln(2/α)/(σ̂²·i·ln(1 + i))), σ̂² the variance of the terms before i around their mean so far.
void write_stakes(Vec<const double> u, Vec<const double> v, double alpha, Vec<double> out) {
    require(u.n == v.n && out.n == u.n, "u, v and out must have one length");
    double sums = 0.5, weights = 1.0, squares = 0.25, twice = 2.0 * log(2.0 / alpha);
    for (int64_t i = 0; i < u.n; ++i) {
        double variance = squares / double(i + 1);
        out[i] = root(twice / (variance * double(i + 1) * log(2.0 + double(i))));
        double error = u[i] - sums / weights * v[i];
        squares += error * error;
        sums += u[i];
        weights += v[i];
    }
}

// Whether betting on u_i − m·v_i > 0 has multiplied the money by exp(enough).
bool rejected(Vec<const double> u, Vec<const double> v, Vec<const double> stakes, double m, double enough) {
    double most = m > 0.0 ? MOST / m : INF, money = 1.0;
    int64_t doublings = 0;
    for (int64_t first = 0; first < u.n; first += PAUSE) {
        double factor = 1.0;    // a product of its own, so that the next one need not wait for it
        for (int64_t i = first; i < smallest(first + PAUSE, u.n); ++i) {
            factor *= 1.0 + smallest(stakes[i], most) * (u[i] - m * v[i]);
        }
        money *= factor;
        if (!(0.0 < money && money < INF)) return money > 0.0;
        Exponent e = take_exponent(money);
        doublings += e.k;
        money = e.m;
    }
    return log_of(doublings, {money - 1.0, 0.0}).hi >= enough;
}

// The lowest m in [0, 1] that is not rejected: of Σ(u_i − m·v_i) = 0 on average, u and v in [0, 1], u ≤ v.
double lowest(Vec<const double> u, Vec<const double> v, double alpha) {
    Scratch<double> space(u.n);
    Vec<double> stakes = space.vec();
    write_stakes(u, v, alpha, stakes);
    double enough = log(2.0 / alpha), low = 0.0, high = 1.0;
    if (!rejected(u, v, stakes, low, enough)) return 0.0;
    for (int64_t k = 0; k < HALVINGS; ++k) {
        double middle = 0.5 * (low + high);
        (rejected(u, v, stakes, middle, enough) ? low : high) = middle;
    }
    return low;
}

const Family family("betting", {
    entry<write_stakes>("write_stakes", "u, v, alpha, out",
                        "λ_i = √(2·ln(2/α)/(σ̂²·i·ln(1 + i))), σ̂² the variance of the terms before i."),
    entry<lowest>("lowest", "u, v, alpha", "The lowest m in [0, 1] that is not rejected: of Σ(u_i − m·v_i) = 0 on average."),
});

}  // namespace
}  // namespace smidgen
