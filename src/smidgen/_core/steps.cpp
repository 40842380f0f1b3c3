// Steps of update rules, for the classes of smidgen.optim.
#include "steps.hpp"

#include "bind.hpp"

namespace smidgen {

bool step(const Program& p, const RuleMemory& m, Vec<const double> d, double factor) {
    int64_t t = ++m.counts[STEPS];
    double squares = 0.0;
    switch (p.kind) {
        case EXPONENTIATED:
            exponentiated_move(m.theta, d, p.scale, double(p.horizon > 0 ? p.horizon : t), p.is_signed, m.theta, m.w);
            return true;
        case RETRAINED:
            if (!silent(d)) {
                require(m.counts[FILLED] < m.pairs.rows, "there is no space for another pair");
                copy(m.pairs[m.counts[FILLED]++], d);
            }
            return true;
        case ADDITIVE:
            move(m.w, d, 1.0, m.w);
            return true;
        case SOFT:
            soft_move(m.w, d, factor, m.w);
            return true;
        case GRADIENT:
            squares = gradient_move(m.w, d, p.scale * factor, double(t), m.end);
            break;
        default:
            squares = newton_move(m.inverse, m.waiting, d, m.w, p.gamma * (factor * factor), p.scale * factor, m.end,
                                  t % 2 == 0);
    }
    if (!is_finite(squares)) return false;
    Vec<double> end = m.end.slice(0, m.dim);
    if (!inside(p.region, end, root(squares), m.scratch)) {
        ++m.counts[PROJECTED];
        if (p.kind == NEWTON) {
            settle(m.inverse, m.waiting);
            to_nearest_in_norm(p.region, p.region.kind == BALL ? m.end : end, m.inverse, m.scratch);
        } else {
            to_nearest(p.region, end, root(squares), m.scratch);
        }
    }
    copy(m.w, m.end);
    return true;
}

namespace {

void require_move(Vec<const double> start, Vec<const double> d, Vec<const double> end) {
    require(d.n == start.n && end.n == start.n, "the vectors of a step must have one length");
}

double plain_move(Vec<const double> start, Vec<const double> d, double rate, Vec<double> end) {
    require_move(start, d, end);
    return move(start, d, rate, end);
}

void scaled(Vec<const double> x, double factor, Vec<double> out) {
    require(out.n == x.n, "x and out must have one length");
    scale(out, x, factor);
}

double soft(Vec<const double> w, Vec<const double> d, double weight, Vec<double> end) {
    require_move(w, d, end);
    return soft_move(w, d, weight, end);
}

void weights_of(Vec<const double> theta, bool is_signed, Vec<double> w) {
    require(w.n == theta.n, "theta and w must have one length");
    normalize(theta, is_signed, w);
}

double exponentiated(Vec<const double> theta, Vec<const double> d, double bound, int64_t t, bool is_signed, Vec<double> end,
                     Vec<double> w) {
    require_move(theta, d, end);
    require(w.n == theta.n, "theta and w must have one length");
    return exponentiated_move(theta, d, bound, double(t), is_signed, end, w);
}

double newton(Mat<double> B, Mat<double> waiting, Vec<const double> d, Vec<const double> w, double gamma, double factor,
              Vec<double> end, bool back) {
    require_move(w, d, end);
    require_symmetric(B, w.n);
    require_waiting(waiting, w.n);
    return newton_move(B, waiting, d, w, gamma, factor, end, back);
}

// How many of the directions could be learnt from: all, unless one leads beyond the finite numbers.
int64_t learn_rows(Program program, RuleMemory memory, Mat<const double> directions) {
    require_rule(program, memory);
    require(directions.cols == memory.w.n, "the directions do not fit the weights");
    Scratch<double> d(directions.cols);
    for (int64_t i = 0; i < directions.rows; ++i) {
        copy(d.vec(), directions[i]);
        if (!learn(program, memory, d.vec())) return i;
    }
    return directions.rows;
}

const Family family("steps", {
    entry<plain_move>("move", "start, direction, rate, end", "end = start + rate·direction; returns ‖end‖²."),
    entry<scaled>("scale", "x, factor, out", "out = factor·x."),
    entry<soft>("soft_move", "w, d, weight, end", "end = w + weight·σ(−w·d)·d; returns ‖end‖²."),
    entry<weights_of>("normalize", "theta, signed, w", "Weights ∝ exp(theta), folded to w⁺ − w⁻ if signed."),
    entry<exponentiated>("exponentiated_move", "theta, d, bound, t, signed, end, w",
                         "end = theta + d/(2·bound·√t), and its weights; returns ‖end‖²."),
    entry<newton>("newton_move", "B, waiting, d, w, gamma, factor, end, back",
                  "A ← A + gamma·d·dᵀ, end = w + factor·A⁻¹d; returns ‖end‖²."),
    entry<learn_rows>("learn", "program, memory, directions", "Step along each row of directions; returns how many it could."),
});

}  // namespace
}  // namespace smidgen
