// Convex sets and symmetric matrices, for the classes of smidgen.geometry.
#include "geometry.hpp"

#include "bind.hpp"

namespace smidgen {
namespace {

double norm(Vec<const double> x) { return root(dot(x, x)); }

void onto_ball(Mat<const double> B, Vec<const double> v, double radius, double tolerance, Vec<double> out) {
    require(v.n >= 1 && out.n == v.n, "v and out must have one length, at least 1");
    require_symmetric(B, v.n);
    project_on_ball(B, v, radius, tolerance, out);
}

void into_box(Vec<const double> z, Vec<const double> low, Vec<const double> center, Vec<const double> high, Vec<double> x) {
    require(low.n == z.n && center.n == z.n && high.n == z.n && x.n == z.n, "all vectors must have one length");
    embed_in_box(z, low, center, high, x);
}

void clip(Vec<double> z, Vec<const double> half) {
    require(half.n == z.n, "z and half must have one length");
    clip_to_box(z, half);
}

void lift_to_simplex(Vec<const double> z, Vec<double> x) {
    require(x.n == z.n + 1, "x needs one number more than z");
    lift(z, x);
}

void along(Vec<const double> g, Vec<double> out) {
    require(g.n == out.n + 1, "g needs one number more than out");
    along_simplex(g, out);
}

void into_simplex(Vec<const double> z, double floor, Vec<double> x) {
    require(x.n == z.n + 1, "x needs one number more than z");
    embed_in_simplex(z, floor, x);
}

void shares(Vec<double> values, double total) {
    require(values.n >= 1, "there must be at least one value");
    to_shares(values, total);
}

void nearest(Vec<double> z, Mat<const double> inverse, int64_t kind, Vec<const double> bounds, double tolerance) {
    require(z.n >= 1 && inverse.rows == z.n && inverse.cols == z.n, "the matrix does not fit z, which has at least one number");
    require(kind == BOX || kind == SIMPLEX || kind == L1_BALL, "there is no such kind of polytope");
    require(bounds.n == (kind == BOX ? z.n : 1), "the bounds do not fit the polytope");
    move_to_nearest(z, inverse, kind, bounds, tolerance);
}

double times(Mat<const double> B, Vec<const double> x, Vec<double> out, bool back) {
    require(out.n == x.n, "x and out must have one length");
    require_symmetric(B, x.n);
    return multiply(B, x, out, back);
}

double step_and_times(Mat<double> B, Mat<double> waiting, Vec<const double> x, Vec<double> out, bool back) {
    require(out.n == x.n, "x and out must have one length");
    require_symmetric(B, x.n);
    require_waiting(waiting, x.n);
    return shrink_and_multiply(B, waiting, x, out, back);
}

void take_step(Mat<double> B, Mat<double> waiting) {
    require_symmetric(B, B.cols);
    require_waiting(waiting, B.cols);
    settle(B, waiting);
}

void whole(Mat<double> B) {
    require(B.rows <= B.cols, "the matrix needs at least as many columns as rows");
    mirror(B);
}

const Family family("geometry", {
    entry<norm>("norm", "x", "‖x‖, summed in lanes."),
    entry<onto_ball>("project_on_ball", "B, v, radius, tolerance, out", "out = (I + λB)⁻¹v with the λ that gives ‖out‖ = radius."),
    entry<into_box>("embed_in_box", "z, low, center, high, x", "x = center + z, not beyond the limits by rounding."),
    entry<clip>("clip_to_box", "z, half", "Each coordinate clipped to ±half."),
    entry<lift_to_simplex>("lift", "z, x", "x = Q·z of a simplex."),
    entry<along>("along_simplex", "g, out", "out = Qᵀg of a simplex."),
    entry<into_simplex>("embed_in_simplex", "z, floor, x", "x = 1/d + Q·z, not below the floor by rounding."),
    entry<shares>("to_shares", "values, total", "The nearest u ≥ 0 with Σu = total, in place."),
    entry<nearest>("move_to_nearest", "z, inverse, kind, bounds, tolerance", "The nearest point of a polytope in a norm, in place."),
    entry<times>("multiply", "B, x, out, back", "out = B·x of a lower triangle; returns x·B·x."),
    entry<step_and_times>("shrink_and_multiply", "B, waiting, x, out, back", "B ← B − v·vᵀ, then out = B·x; returns x·B·x."),
    entry<take_step>("settle", "B, waiting", "B ← B − v·vᵀ, v the first row of waiting, which becomes 0."),
    entry<whole>("mirror", "B", "Copy what is below the diagonal above it."),
});

}  // namespace
}  // namespace smidgen
