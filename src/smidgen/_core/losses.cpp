// Losses of the inner product of a point with a row of features (evaluate/point_losses.py).
#include "bind.hpp"
#include "math.hpp"

namespace smidgen {
namespace {

enum : int64_t { LEAST_SQUARES, LOGISTIC, PORTFOLIO };

// log(1 + exp(x)), without overflow.
INLINE double softplus(double x) { return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

struct Cost {
    double loss, slope;
};

INLINE Cost cost_of(int64_t kind, double score, double target) {
    if (kind == LEAST_SQUARES) {
        double off = score - target;
        return {0.5 * (off * off), off};
    }
    if (kind == PORTFOLIO) return {-score, -1.0};
    double margin = target * score;
    return {softplus(-margin), -target * exp(-softplus(margin))};
}

void require_kind(int64_t kind) { require(LEAST_SQUARES <= kind && kind <= PORTFOLIO, "there is no such kind of loss"); }

std::tuple<double, double> cost(int64_t kind, double score, double target) {
    require_kind(kind);
    Cost found = cost_of(kind, score, target);
    return {found.loss, found.slope};
}

void costs(int64_t kind, Vec<const double> scores, Vec<const double> targets, Vec<double> losses, Vec<double> slopes) {
    require_kind(kind);
    int64_t n = scores.n;
    require(targets.n == n && losses.n == n && slopes.n == n, "scores, targets, losses and slopes must have one length");
    for (int64_t t = 0; t < n; ++t) {
        Cost found = cost_of(kind, scores[t], targets[t]);
        losses[t] = found.loss;
        slopes[t] = found.slope;
    }
}

const Family family("losses", {
    entry<cost>("cost", "kind, score, target", "The loss of a score x·z_t of the point, and its slope."),
    entry<costs>("write_costs", "kind, scores, targets, losses, slopes", "The same of many scores."),
});

}  // namespace
}  // namespace smidgen
