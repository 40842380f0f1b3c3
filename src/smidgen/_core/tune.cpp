// Knobs (knobs.py), and QuadraticTuner: a discounted quadratic surface through the losses, and candidates around its best point.
// Points are z = 2x − 1 in [−1, 1]^d; c is the context, a number per column (learners/tune/quadratic_tuner.py).
#include <algorithm>
#include <utility>

#include "bind.hpp"
#include "math.hpp"
#include "random.hpp"

namespace smidgen {
namespace {

inline constexpr double RIDGE = 0.1, FIRST_ERROR = 0.05;
// With a safe setting: the first losses are all near to it, and say nothing of how large terms are elsewhere.
inline constexpr double SAFE_RIDGE = 0.01;
// Above FEW coordinates products of two have CROSS times the ridge; above MANY the surface has squares only.
inline constexpr int64_t FEW = 5, MANY = 10, MOST = 64;
inline constexpr double CROSS = 10.0;
// The first columns of the context have products with each other, the rest their squares only.
inline constexpr int64_t PAIRED = 8;
// Candidates of each of the two spreads; the present best point is one more. Twice eight at a time: the last seven are the
// best point again.
inline constexpr int64_t EACH = 100, COUNT = 2 * EACH + 8;
inline constexpr double WIDE = 0.3, NARROW = 0.1;    // .15 and .05 of the edge, which is 2 long in z
// Where the few numbers stand: losses learned, discounted squared errors, the loss that counts .4 and the range above it that
// counts as much again, whether all losses so far were the same, so that the range is not known yet, whether the latest
// loss lay far out (above: 1, below: −1).
enum : int64_t { LEARNT, ERRORS, LOW, RANGE, FLAT, SIDE, NUMBERS };
// Where two more stand: columns of the context seen, and how far the points of the local fit reach (0: there is none).
enum : int64_t { COLUMNS, RADIUS, MORE };
// Losses that the scale is taken from.
inline constexpr int64_t SCALE_ROUNDS = 8;
// So many ranges beyond what the scale knows a loss is far out; two in a row make it wider, at most tenfold at a time.
inline constexpr double FAR = 3.0, TENFOLD = 10.0;
// A local fit counts while its residuals are below this share of the deviation of its losses; its ridge; the next point lies
// SHRINK of its radius away, and at most so far; a fit is looked for after every LOOK losses, by at least FEWEST points.
inline constexpr double CLEAR = 0.3, LOCAL_RIDGE = 1e-3, SHRINK = 0.5, SMALLEST_RADIUS = 1e-7;
inline constexpr int64_t LOOK = 4, FEWEST = 16;
// Sweeps over the coordinates, to find the least value of a surface.
inline constexpr int64_t SWEEPS = 20;
// With a safe setting: how near the first points lie, how many deviations above its mean a point must be safe, and how many
// times the terms over the losses more while there are few losses.
inline constexpr double NEAR = 0.04, SURE = 3.0, EARLY = 0.4;

// The terms of d coordinates: 1, z_i, and z_i·z_j with i ≤ j or z_i² alone.
INLINE int64_t own_terms(int64_t d) { return 1 + d + (d <= MANY ? d * (d + 1) / 2 : d); }

// All terms with so many columns of context: c_j, c_j·z_i, and c_j·c_i with i ≤ j, or c_j² alone.
INLINE int64_t terms_of(int64_t d, int64_t columns) {
    int64_t n = own_terms(d);
    for (int64_t j = 0; j < columns; ++j) n += 1 + d + (j < PAIRED ? j + 1 : 1);
    return n;
}

// x̂ as z; A and b; A = LLᵀ with 1/L_ii on the diagonal of L; w = A⁻¹b; the few numbers; the first points, with their contexts,
// and losses; the latest points and losses, for local fits; two more numbers.
struct Surface {
    Vec<double> best;
    Mat<double> A;
    Vec<double> b;
    Mat<double> L;
    Vec<double> w, numbers;
    Mat<double> first_points;
    Vec<double> first_losses;
    Mat<double> points;
    Vec<double> losses, more;
    FIELDS(best, A, b, L, w, numbers, first_points, first_losses, points, losses, more)

    int64_t dim() const { return best.n; }
    int64_t columns() const { return first_points.cols - best.n; }
    // The terms that count so far; those of columns that were never seen are 0.
    int64_t active() const { return terms_of(dim(), int64_t(more[COLUMNS])); }
    void check() const {
        int64_t d = dim(), p = w.n;
        require(1 <= d && d <= MOST, "a surface has 1 … 64 coordinates");
        require(first_points.rows == SCALE_ROUNDS && columns() >= 0 && columns() <= MOST && first_losses.n == SCALE_ROUNDS,
                "the first points are eight, with at most 64 columns of context");
        require(p == terms_of(d, columns()) && b.n == p, "w and b need one number per feature");
        require(A.rows == p && A.cols == p && L.rows == p && L.cols == p, "A and L need a row and a column per feature");
        require(numbers.n == NUMBERS && more.n == MORE, "the few numbers are six, and two more");
        require(more[COLUMNS] >= 0.0 && more[COLUMNS] <= double(columns()), "columns seen are among those there are");
        require(points.cols == d && losses.n == points.rows, "the latest points need a loss each");
    }
};

// A setting known to be safe, as z, if there is one, and how much more another may cost.
struct Safe {
    Vec<const double> z;
    double margin;
    FIELDS(z, margin)

    bool given() const { return z.n > 0; }
    void check(int64_t dim) const { require(z.n == 0 || z.n == dim, "a safe setting has a number per coordinate"); }
};

// The terms of the coordinates.
void write_features(Vec<const double> z, Vec<double> phi) {
    int64_t d = z.n, k = 1 + d;
    phi[0] = 1.0;
    for (int64_t i = 0; i < d; ++i) {
        phi[1 + i] = z[i];
        for (int64_t j = i; j < (d <= MANY ? d : i + 1); ++j) phi[k++] = z[i] * z[j];
    }
}

// The terms of a point in a context, for so many columns of it.
void write_terms(Vec<const double> z, Vec<const double> c, int64_t columns, Vec<double> phi) {
    write_features(z, phi);
    int64_t k = own_terms(z.n);
    for (int64_t j = 0; j < columns; ++j) {
        phi[k++] = c[j];
        for (double each : z) phi[k++] = c[j] * each;
        for (int64_t i = j < PAIRED ? 0 : j; i <= j; ++i) phi[k++] = c[j] * c[i];
    }
}

// The ridge of every term.
void write_ridge(int64_t d, double ridge, Vec<double> a) {
    for (double& each : a) each = ridge;
    if (d <= FEW || d > MANY) return;
    for (int64_t i = 0, k = 1 + d; i < d; ++i) {
        for (int64_t j = i; j < d; ++j, ++k) a[k] = i == j ? ridge : CROSS * ridge;
    }
}

// A = LLᵀ with 1/L_ii on the diagonal, and w = A⁻¹b, of the first n rows.
void solve(Mat<const double> A, Vec<const double> b, int64_t n, Mat<double> L, Vec<double> w) {
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            double sum = A(i, j);
            for (int64_t k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
            L(i, j) = i == j ? 1.0 / root(sum) : sum * L(j, j);
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        double sum = b[i];
        for (int64_t k = 0; k < i; ++k) sum -= L(i, k) * w[k];
        w[i] = sum * L(i, i);
    }
    for (int64_t i = n - 1; i >= 0; --i) {
        double sum = w[i];
        for (int64_t k = i + 1; k < n; ++k) sum -= L(k, i) * w[k];
        w[i] = sum * L(i, i);
    }
}

void factorize(const Surface& s) { solve(s.A, s.b, s.active(), s.L, s.w); }

// φᵀA⁻¹φ = ‖L⁻¹φ‖².
double width_at(Mat<const double> L, Vec<const double> phi) {
    int64_t p = phi.n;
    Scratch<double> v(p);
    double sum = 0.0;
    for (int64_t i = 0; i < p; ++i) {
        double s = phi[i];
        for (int64_t k = 0; k < i; ++k) s -= L(i, k) * v[k];
        v[i] = s * L(i, i);
        sum += v[i] * v[i];
    }
    return sum;
}

// --- candidates, by coordinate: a row of COUNT numbers for each -----------------------------------------------------

// Around the best point, clipped to the cube: 100 wide, 100 narrow, the point itself. With a safe setting, half of the wide
// ones lie around that.
void write_candidates(Key key, int64_t number, Vec<const double> best, Vec<const double> safe, Mat<double> Z) {
    write_normals(key, 0, uint64_t(number), Z.rows * COUNT, Z.data);
    for (int64_t i = 0; i < Z.rows; ++i) {
        double center = best[i];
        double* z = &Z(i, 0);
        auto spread_out = [&](int64_t first, int64_t last, double spread) {
            for (int64_t c = first; c < last; ++c) z[c] = smallest(largest(center + spread * z[c], -1.0), 1.0);
        };
        spread_out(0, safe.n ? EACH / 2 : EACH, WIDE);
        spread_out(EACH, 2 * EACH, NARROW);
        spread_out(2 * EACH, COUNT, 0.0);
        if (!safe.n) continue;
        center = safe[i];
        spread_out(EACH / 2, EACH, WIDE);
    }
}

// φ of every candidate, by feature.
void write_all_features(Mat<const double> Z, Mat<double> F) {
    int64_t d = Z.rows, k = 1 + d;
    for (double& one : F[0]) one = 1.0;
    for (int64_t i = 0; i < d; ++i) {
        copy(F[1 + i], Z[i]);
        for (int64_t j = i; j < (d <= MANY ? d : i + 1); ++j, ++k) {
            for (int64_t c = 0; c < COUNT; ++c) F(k, c) = Z(i, c) * Z(j, c);
        }
    }
}

// w·φ of every candidate.
void write_means(Vec<const double> w, Mat<const double> F, Vec<double> out) {
    for (int64_t c = 0; c < COUNT; c += 16) {
        Lanes sum = fill(0.0), other = fill(0.0);
        for (int64_t k = 0; k < w.n; ++k) {
            Lanes factor = fill(w[k]);
            sum = sum + factor * load(&F(k, c));
            other = other + factor * load(&F(k, c + 8));
        }
        store(&out[c], sum);
        store(&out[c + 8], other);
    }
}

// √(φᵀA⁻¹φ) of every candidate, sixteen at a time, as each sum waits.
void write_widths(Mat<const double> L, Mat<const double> F, Vec<double> out) {
    Scratch<double> space(16 * F.rows);
    double* V = space.data();    // a row of sixteen for each feature
    for (int64_t c = 0; c < COUNT; c += 16) {
        Lanes sum = fill(0.0), other = fill(0.0);
        for (int64_t i = 0; i < F.rows; ++i) {
            Lanes s = load(&F(i, c)), t = load(&F(i, c + 8));
            for (int64_t k = 0; k < i; ++k) {
                Lanes factor = fill(L(i, k));
                s = s - factor * load(V + 16 * k);
                t = t - factor * load(V + 16 * k + 8);
            }
            s = s * fill(L(i, i));
            t = t * fill(L(i, i));
            store(V + 16 * i, s);
            store(V + 16 * i + 8, t);
            sum = sum + s * s;
            other = other + t * t;
        }
        store(&out[c], root(sum));
        store(&out[c + 8], root(other));
    }
}

// The first candidate of least value among those that count.
int64_t least(Vec<const double> values) {
    int64_t best = 0;
    for (int64_t c = 1; c <= 2 * EACH; ++c) {
        if (values[c] < values[best]) best = c;
    }
    return best;
}

// w·φ of a point.
double value_at(Vec<const double> w, Vec<const double> z) {
    int64_t p = own_terms(z.n);
    Scratch<double> phi(p);
    write_features(z, phi.vec());
    double sum = 0.0;
    for (int64_t i = 0; i < p; ++i) sum += w[i] * phi[i];
    return sum;
}

// --- a surface in one context: a surface of the coordinates alone ------------------------------------------------------

// With φ(z, c) = Mψ(z): w = Mᵀw, and G = MᵀA⁻¹M unless no column was seen yet (then L has it).
struct InContext {
    Scratch<double, 1> space;
    Vec<double> w;
    Mat<double> G;
    bool plain;

    InContext(const Surface& s, Vec<const double> c)
        : space(own_terms(s.dim()) * (own_terms(s.dim()) + 1)),
          w{space.data(), own_terms(s.dim())},
          G{space.data() + w.n, w.n, w.n},
          plain(true) {
        int64_t d = s.dim(), p = w.n, columns = int64_t(s.more[COLUMNS]);
        for (int64_t j = 0; j < c.n; ++j) {
            if (c[j] != 0.0) columns = largest(columns, j + 1);
        }
        copy(w, s.w.slice(0, p));
        plain = columns == 0;
        if (plain) return;
        int64_t n = terms_of(d, columns), row = p;
        Scratch<double, 1> products(n * p);
        Mat<double> U = products.mat(n, p);    // M, then L⁻¹M
        clear(U.flat());
        for (int64_t i = 0; i < p; ++i) U(i, i) = 1.0;
        for (int64_t j = 0; j < columns; ++j) {
            for (int64_t i = 0; i <= d; ++i, ++row) {
                U(row, i) = c[j];
                w[i] += c[j] * s.w[row];
            }
            for (int64_t i = j < PAIRED ? 0 : j; i <= j; ++i, ++row) {
                U(row, 0) = c[j] * c[i];
                w[0] += c[j] * c[i] * s.w[row];
            }
        }
        for (int64_t r = 0; r < n; ++r) {
            for (int64_t k = 0; k < r; ++k) {
                double factor = s.L(r, k);
                if (factor == 0.0) continue;
                for (int64_t i = 0; i < p; ++i) U(r, i) -= factor * U(k, i);
            }
            for (int64_t i = 0; i < p; ++i) U(r, i) *= s.L(r, r);
        }
        clear(G.flat());
        for (int64_t r = 0; r < n; ++r) {
            for (int64_t i = 0; i < p; ++i) {
                for (int64_t j = 0; j < p; ++j) G(i, j) += U(r, i) * U(r, j);
            }
        }
    }

    // √(φᵀA⁻¹φ) of every candidate.
    void write_widths_of(const Surface& s, Mat<const double> F, Vec<double> out) const {
        if (plain) {
            write_widths(s.L, F, out);
            return;
        }
        for (int64_t c = 0; c < COUNT; c += 8) {
            Lanes sum = fill(0.0);
            for (int64_t i = 0; i < F.rows; ++i) {
                Lanes row = fill(0.0);
                for (int64_t j = 0; j < F.rows; ++j) row = row + fill(G(i, j)) * load(&F(j, c));
                sum = sum + row * load(&F(i, c));
            }
            store(&out[c], sum);
        }
        for (double& each : out) each = root(largest(each, 0.0));
    }

    // φᵀA⁻¹φ of one point.
    double width_of(const Surface& s, Vec<const double> z) const {
        Scratch<double> phi(w.n);
        write_features(z, phi.vec());
        if (plain) return width_at(s.L, phi.vec());
        double sum = 0.0;
        for (int64_t i = 0; i < w.n; ++i) {
            for (int64_t j = 0; j < w.n; ++j) sum += phi[i] * G(i, j) * phi[j];
        }
        return largest(sum, 0.0);
    }
};

// The least value of a surface between two corners, by one coordinate after the other, from where z is.
void descend(Vec<const double> w, Vec<const double> low, Vec<const double> high, Vec<double> z) {
    int64_t d = z.n;
    auto place = [d](int64_t i, int64_t j) { return d > MANY ? 1 + d + i : 1 + d + i * d - i * (i - 1) / 2 + (j - i); };
    for (int64_t sweep = 0; sweep < SWEEPS; ++sweep) {
        for (int64_t i = 0; i < d; ++i) {
            double slope = w[1 + i], bend = w[place(i, i)];
            for (int64_t j = 0; j < (d > MANY ? 0 : d); ++j) {
                if (j != i) slope += w[i < j ? place(i, j) : place(j, i)] * z[j];
            }
            double at_low = (slope + bend * low[i]) * low[i], at_high = (slope + bend * high[i]) * high[i];
            double ends = at_low <= at_high ? low[i] : high[i];
            z[i] = bend > 1e-12 ? smallest(largest(-slope / (2.0 * bend), low[i]), high[i]) : ends;
        }
    }
}

// x̂ in a context: the one that is state while no column was seen, else the least of the surface.
void write_best(const Surface& s, const InContext& here, Vec<double> z) {
    copy(z, s.best);
    if (here.plain || s.numbers[LEARNT] < double(s.dim() + 3)) return;
    Scratch<double> low(z.n), high(z.n);
    for (int64_t i = 0; i < z.n; ++i) {
        low[i] = -1.0;
        high[i] = 1.0;
    }
    clear(z);
    descend(here.w, low.vec(), high.vec(), z);
}

struct Candidates {
    Scratch<double, 1> space;    // always on the heap: they are many
    Mat<double> Z, F;
    Vec<double> values, widths;

    Candidates(Vec<const double> w, Vec<const double> best, Vec<const double> safe, Key key, int64_t number)
        : space((best.n + w.n + 2) * COUNT),
          Z{space.data(), best.n, COUNT},
          F{space.data() + best.n * COUNT, w.n, COUNT},
          values{space.data() + (best.n + w.n) * COUNT, COUNT},
          widths{space.data() + (best.n + w.n + 1) * COUNT, COUNT} {
        write_candidates(key, number, best, safe, Z);
        write_all_features(Z, F);
        write_means(w, F, values);
    }

    // Lose those that may cost more than the limit: mean + SURE deviations.
    void keep_safe(double limit, double deviations) {
        for (int64_t c = 0; c < COUNT; ++c) {
            if (values[c] + deviations * widths[c] > limit) values[c] = INF;
        }
    }
};

// So many deviations a point must be safe: more of them while few losses say how large the deviation is.
INLINE double sure(const Surface& s) { return SURE * (1.0 + EARLY * double(own_terms(s.dim())) / largest(s.numbers[LEARNT], 1.0)); }

// What a safe setting costs by the surface, and the margin.
double limit_of(const Surface& s, Vec<const double> w, const Safe& safe) {
    return value_at(w, safe.z) + 0.4 * safe.margin / s.numbers[RANGE];
}

// s² = sse/(1 + min(n, 1/(1−f))).
INLINE double variance(Vec<const double> numbers, double f) {
    double n = numbers[LEARNT];
    return numbers[ERRORS] / (1.0 + (f >= 1.0 ? n : smallest(n, 1.0 / (1.0 - f))));
}

// --- the box: limits are its lowest and its highest point -------------------------------------------------------------

void require_limits(Mat<const double> limits, int64_t dim) {
    require(limits.rows == 2 && limits.cols == dim, "limits are two points");
}

// x = low + (high − low)(z + 1)/2, within the limits.
void to_box(Vec<const double> z, Mat<const double> limits, Vec<double> out) {
    require_limits(limits, z.n);
    require(out.n == z.n, "z and out must have one length");
    for (int64_t i = 0; i < z.n; ++i) {
        double low = limits(0, i), high = limits(1, i);
        out[i] = smallest(largest(low + (high - low) * 0.5 * (z[i] + 1.0), low), high);
    }
}

// z = 2(x − low)/(high − low) − 1; whether x lies within the limits.
bool from_box(Vec<const double> x, Mat<const double> limits, Vec<double> out) {
    require_limits(limits, x.n);
    require(out.n == x.n, "x and out must have one length");
    bool inside = true;
    for (int64_t i = 0; i < x.n; ++i) {
        double low = limits(0, i), high = limits(1, i);
        inside &= low <= x[i] && x[i] <= high;
        out[i] = 2.0 * (x[i] - low) / (high - low) - 1.0;
    }
    return inside;
}

// --- the two verbs ----------------------------------------------------------------------------------------------------

// The point to play as a point of the box, and x̂ in this context: the candidate of least w·φ − κs√(φᵀA⁻¹φ). With a safe
// setting: first near it, then among those that are sure to cost little more. While a local fit holds: near its best point.
// Returns whether the point is another one than x̂, and the bound w·φ − κs√(φᵀA⁻¹φ) in the unit of losses.
std::tuple<bool, double> ask(Surface s, double kappa, double f, Vec<const uint64_t> key, int64_t number, Mat<const double> limits,
                             Vec<const double> context, Safe safe, Vec<double> x, Vec<double> greedy) {
    s.check();
    safe.check(s.dim());
    require_limits(limits, s.dim());
    require(context.n == s.columns(), "the context needs a number per column");
    require(x.n == s.dim() && greedy.n == s.dim(), "x and greedy need one place per coordinate");
    int64_t d = s.dim();
    Scratch<double> space(2 * d + normals_space(d));
    Vec<double> z = space.vec().slice(0, d), best = space.vec().slice(d, 2 * d);
    double* normals = space.data() + 2 * d;
    double sigma = root(variance(s.numbers, f)), bound = 0.0;
    InContext here(s, context);
    write_best(s, here, best);
    auto near = [&](Vec<const double> center, double spread) {
        write_normals(key_in(key), 0, uint64_t(number), d, normals);
        for (int64_t i = 0; i < d; ++i) z[i] = smallest(largest(center[i] + spread * normals[i], -1.0), 1.0);
        bound = value_at(here.w, z) - kappa * sigma * root(here.width_of(s, z));
    };
    if (safe.given() && s.numbers[LEARNT] < double(d + 3)) {
        near(safe.z, NEAR);
    } else if (s.more[RADIUS] > 0.0 && here.plain && !safe.given()) {
        near(best, smallest(NARROW, SHRINK * s.more[RADIUS] / root(double(d))));
    } else {
        Candidates all(here.w, best, safe.z, key_in(key), number);
        here.write_widths_of(s, all.F, all.widths);
        if (safe.given()) all.keep_safe(limit_of(s, here.w, safe), sure(s) * sigma);
        double deviation = kappa * sigma;
        for (int64_t c = 0; c < COUNT; ++c) all.values[c] -= deviation * all.widths[c];
        int64_t chosen = least(all.values);
        bound = all.values[chosen];
        for (int64_t i = 0; i < d; ++i) z[i] = all.Z(i, chosen);
        if (bound == INF) near(safe.z, NEAR);
    }
    bool other = false;
    for (int64_t i = 0; i < d; ++i) other |= z[i] != best[i];
    to_box(z, limits, x);
    to_box(best, limits, greedy);
    return {other, s.numbers[LOW] + (bound - 0.4) / 0.4 * s.numbers[RANGE]};
}

// As before the first loss.
void forget(const Surface& s, double each) {
    Scratch<double> ridge(s.b.n);
    write_ridge(s.dim(), each, ridge.vec());
    clear(s.A.flat());
    clear(s.b);
    clear(s.L.flat());
    clear(s.w);
    for (int64_t i = 0; i < s.b.n; ++i) {
        s.A(i, i) = ridge[i];
        s.L(i, i) = 1.0 / root(ridge[i]);
    }
    s.numbers[LEARNT] = 0.0;
    s.numbers[ERRORS] = FIRST_ERROR;
}

void begin(Surface s) {
    s.check();
    forget(s, RIDGE);
}

// A loss in the tuner's own scale: .4 for the least of the first eight, .8 for the greatest.
INLINE double scaled(Vec<const double> numbers, double loss) { return 0.4 + 0.4 * (loss - numbers[LOW]) / numbers[RANGE]; }

// One loss, in the tuner's own scale: errors, then A ← fA + (1−f)aI + φφᵀ, b ← fb + yφ, and what follows.
void absorb(const Surface& s, Vec<const double> z, Vec<const double> context, double y, double f,
            double each) {
    int64_t p = s.active();
    Scratch<double> space(2 * p);
    Vec<double> phi = space.vec().slice(0, p), ridge = space.vec().slice(p, 2 * p);
    write_terms(z, context, int64_t(s.more[COLUMNS]), phi);
    write_ridge(s.dim(), each, ridge);
    double mean = 0.0;
    for (int64_t i = 0; i < p; ++i) mean += s.w[i] * phi[i];
    s.numbers[ERRORS] = f * s.numbers[ERRORS] + (y - mean) * (y - mean) / (1.0 + width_at(s.L, phi));
    for (int64_t i = 0; i < p; ++i) {
        for (int64_t j = 0; j <= i; ++j) s.A(i, j) = f * s.A(i, j) + phi[i] * phi[j];
        s.A(i, i) += (1.0 - f) * ridge[i];
        s.b[i] = f * s.b[i] + y * phi[i];
    }
    factorize(s);
    s.numbers[LEARNT] += 1.0;
}

// Take another scale, as if it had been there from the first loss on.
void rescale(const Surface& s, double low, double spread, double ridge) {
    double old_low = s.numbers[LOW], factor = s.numbers[RANGE] / spread;
    double shift = 0.4 + 0.4 * (old_low - low) / spread - 0.4 * factor;
    for (int64_t i = 0; i < s.b.n; ++i) s.b[i] = factor * s.b[i] + shift * (s.A(i, 0) - (i == 0 ? ridge : 0.0));
    s.numbers[ERRORS] *= factor * factor;
    s.numbers[LOW] = low;
    s.numbers[RANGE] = spread;
    factorize(s);
}

// The first n losses again, in the scale that they make together.
void learn_first(const Surface& s, int64_t n, double f, double ridge) {
    forget(s, ridge);
    double low = s.first_losses[0], high = low;
    for (int64_t i = 1; i < n; ++i) {
        low = smallest(low, s.first_losses[i]);
        high = largest(high, s.first_losses[i]);
    }
    s.numbers[LOW] = low;
    s.numbers[RANGE] = high - low > 0.0 ? high - low : 1.0;
    s.numbers[FLAT] = high - low > 0.0 ? 0.0 : 1.0;
    for (int64_t i = 0; i < n; ++i) {
        absorb(s, s.first_points[i].slice(0, s.dim()), s.first_points[i].from(s.dim()), scaled(s.numbers, s.first_losses[i]), f,
               ridge);
    }
}

// A later loss; one that lies far out counts for no more than FAR, a second one makes the scale wider.
void learn_later(const Surface& s, Vec<const double> z, Vec<const double> context, double loss, double f, double ridge) {
    Vec<double> numbers = s.numbers;
    double low = numbers[LOW], spread = numbers[RANGE], before = numbers[SIDE];
    double distance = largest(low - loss, loss - low - spread);
    numbers[SIDE] = distance <= FAR * spread ? 0.0 : loss > low ? 1.0 : -1.0;
    if (numbers[FLAT] > 0.0) {
        if (loss != low) {
            rescale(s, smallest(low, loss), __builtin_fabs(loss - low), ridge);
            numbers[FLAT] = 0.0;
        }
        numbers[SIDE] = 0.0;
    } else if (numbers[SIDE] != 0.0 && numbers[SIDE] == before) {
        double wider = smallest(spread + distance, TENFOLD * spread);
        rescale(s, loss < low ? low + spread - wider : low, wider, ridge);
    }
    absorb(s, z, context, smallest(largest(scaled(numbers, loss), 0.4 - 0.4 * FAR), 0.8 + 0.4 * FAR), f, ridge);
}

// --- local fits: without noise a surface near its best point is clear, and the tuner settles there -----------------------

// A quadratic fit to the 2p points nearest to x̂, of the latest; x̂ ← its least value within their reach, if its residuals are
// small beside the spread of the losses. Else there is no local fit.
void settle(const Surface& s) {
    int64_t d = s.dim(), p = own_terms(d), kept = smallest(int64_t(s.numbers[LEARNT]), s.points.rows), m = largest(2 * p, FEWEST);
    if (kept < m) return;
    Scratch<std::pair<double, int64_t>, 1> ordered(kept);
    for (int64_t k = 0; k < kept; ++k) {
        double distance = 0.0;
        for (int64_t i = 0; i < d; ++i) distance += (s.points(k, i) - s.best[i]) * (s.points(k, i) - s.best[i]);
        ordered[k] = {distance, k};
    }
    std::nth_element(ordered.data(), ordered.data() + m - 1, ordered.data() + kept);
    std::pair<double, int64_t> last = ordered[m - 1];
    double radius = root(last.first), mean = 0.0, spread = 0.0, residual = 0.0;
    if (radius < SMALLEST_RADIUS) return;
    std::sort(ordered.data(), ordered.data() + m, [](const auto& a, const auto& b) { return a.second < b.second; });
    for (int64_t k = 0; k < m; ++k) mean += scaled(s.numbers, s.losses[ordered[k].second]);
    mean /= double(m);
    Scratch<double, 1> space(2 * p * p + 2 * p + m * p + 4 * d);
    double* at = space.data();
    auto take = [&at](int64_t n) { return Vec<double>{std::exchange(at, at + n), n}; };
    Mat<double> A{take(p * p).data, p, p}, L{take(p * p).data, p, p}, F{take(m * p).data, m, p};
    Vec<double> b = take(p), w = take(p), u = take(d), low = take(d), high = take(d), step = take(d);
    clear(A.flat());
    clear(b);
    for (int64_t i = 0; i < p; ++i) A(i, i) = LOCAL_RIDGE;
    for (int64_t k = 0; k < m; ++k) {
        int64_t place = ordered[k].second;
        double y = scaled(s.numbers, s.losses[place]) - mean;
        for (int64_t i = 0; i < d; ++i) u[i] = (s.points(place, i) - s.best[i]) / radius;
        write_features(u, F[k]);
        for (int64_t i = 0; i < p; ++i) {
            for (int64_t j = 0; j <= i; ++j) A(i, j) += F(k, i) * F(k, j);
            b[i] += y * F(k, i);
        }
        spread += y * y;
    }
    if (spread <= 0.0) return;
    solve(A, b, p, L, w);
    for (int64_t k = 0; k < m; ++k) {
        double error = scaled(s.numbers, s.losses[ordered[k].second]) - mean;
        for (int64_t i = 0; i < p; ++i) error -= w[i] * F(k, i);
        residual += error * error;
    }
    bool clear_enough = residual / double(m - p) <= CLEAR * CLEAR * spread / double(m);
    s.more[RADIUS] = clear_enough ? radius : 0.0;
    if (!clear_enough) return;
    double reach = 1.0 / root(double(d));
    for (int64_t i = 0; i < d; ++i) {
        low[i] = largest(-reach, (-1.0 - s.best[i]) / radius);
        high[i] = smallest(reach, (1.0 - s.best[i]) / radius);
        step[i] = 0.0;
    }
    descend(w, low, high, step);
    for (int64_t i = 0; i < d; ++i) s.best[i] = smallest(largest(s.best[i] + radius * step[i], -1.0), 1.0);
}

// x̂ ← the candidate of least w·φ; with a safe setting, among those that are safe.
void move_best(const Surface& s, double f, const Safe& safe, Key key, int64_t number) {
    Candidates all(s.w.slice(0, own_terms(s.dim())), s.best, safe.z, key, number);
    if (safe.given()) {
        write_widths(s.L, all.F, all.widths);
        all.keep_safe(limit_of(s, s.w, safe), sure(s) * root(variance(s.numbers, f)));
    }
    int64_t chosen = least(all.values);
    for (int64_t i = 0; i < s.dim(); ++i) s.best[i] = all.values[chosen] == INF ? safe.z[i] : all.Z(i, chosen);
}

// Learn one loss; from the first few on, move x̂. Returns whether it did.
bool learn(Surface s, double f, Vec<const double> z, Vec<const double> context, double loss, Safe safe, Vec<const uint64_t> key,
           int64_t number) {
    s.check();
    safe.check(s.dim());
    require(z.n == s.dim(), "z needs one number per coordinate");
    require(context.n == s.columns(), "the context needs a number per column");
    Key moves = key_in(key);
    double learned = s.numbers[LEARNT], ridge = safe.given() ? SAFE_RIDGE : RIDGE;
    require(learned >= 0.0 && learned < 1e15, "the number of losses learned is not one");
    for (int64_t j = 0; j < context.n; ++j) {
        if (context[j] != 0.0) s.more[COLUMNS] = largest(s.more[COLUMNS], double(j + 1));
    }
    if (s.points.rows) {
        int64_t place = int64_t(learned) % s.points.rows;
        copy(s.points[place], z);
        s.losses[place] = loss;
    }
    if (learned < double(SCALE_ROUNDS)) {
        int64_t n = int64_t(learned);
        copy(s.first_points[n].slice(0, s.dim()), z);
        copy(s.first_points[n].from(s.dim()), context);
        s.first_losses[n] = loss;
        learn_first(s, n + 1, f, ridge);
    } else {
        learn_later(s, z, context, loss, f, ridge);
    }
    if (learned + 1.0 < double(s.dim() + 3)) return false;
    if (s.more[COLUMNS] > 0.0) {
        s.more[RADIUS] = 0.0;
        Scratch<double> nothing(s.columns());
        clear(nothing.vec());
        InContext here(s, nothing.vec());
        write_best(s, here, s.best);
        if (safe.given()) {
            double upper = value_at(here.w, s.best) + sure(s) * root(variance(s.numbers, f) * here.width_of(s, s.best));
            if (upper > limit_of(s, here.w, safe)) copy(s.best, safe.z);
        }
        return true;
    }
    if (safe.given()) s.more[RADIUS] = 0.0;
    if (s.more[RADIUS] <= 0.0) move_best(s, f, safe, moves, number);
    if (s.points.rows && !safe.given() && (s.more[RADIUS] > 0.0 || (int64_t(learned) + 1) % LOOK == 0)) settle(s);
    return true;
}

// x̂ in a context, as a point of the box, the value of the surface there, and its standard deviation √(s²·φᵀA⁻¹φ).
std::tuple<double, double> expect(Surface s, double f, Vec<const double> context, Mat<const double> limits, Vec<double> x) {
    s.check();
    require(context.n == s.columns(), "the context needs a number per column");
    require(x.n == s.dim(), "x needs one place per coordinate");
    InContext here(s, context);
    Scratch<double> z(s.dim());
    write_best(s, here, z.vec());
    to_box(z.vec(), limits, x);
    return {value_at(here.w, z.vec()), root(variance(s.numbers, f) * here.width_of(s, z.vec()))};
}

void candidates(Vec<const double> best, Vec<const uint64_t> key, int64_t number, Mat<double> Z) {
    require(best.n <= 64 && Z.rows == best.n && Z.cols == COUNT, "Z needs a row per coordinate and 208 columns");
    write_candidates(key_in(key), number, best, {nullptr, 0}, Z);
}

// --- a knob whose size counts in factors --------------------------------------------------------------------------------

// The value at a share of the way from low to high: low·(high/low)^share, within the limits.
double log_value(double low, double high, double share) {
    return smallest(largest(low * pow(high / low, share), low), high);
}

// How far a value is on the way from low to high.
double log_share(double low, double high, double value) { return log(value / low) / log(high / low); }

const Family family("tune", {
    entry<log_value>("log_value", "low, high, share", "low·(high/low)^share, within the limits."),
    entry<log_share>("log_share", "low, high, value", "ln(value/low)/ln(high/low)."),
    entry<begin>("begin", "s", "Make a surface as it is before the first loss."),
    entry<ask>("ask", "s, kappa, f, key, number, limits, context, safe, x, greedy",
               "Write the point to play, of the box with these limits, and the best one; whether they differ, and the bound."),
    entry<learn>("learn", "s, f, z, context, loss, safe, key, number", "Learn one loss, and move x̂; whether it was moved."),
    entry<expect>("expect", "s, f, context, limits, x",
                  "Write x̂ in a context; the value of the surface there, and its standard deviation."),
    entry<candidates>("candidates", "best, key, number, Z", "Write the candidates around a point, by coordinate."),
    entry<to_box>("to_box", "z, limits, out", "x = low + (high − low)(z + 1)/2, within the limits."),
    entry<from_box>("from_box", "x, limits, out", "z = 2(x − low)/(high − low) − 1; whether x lies within the limits."),
});

}  // namespace
}  // namespace smidgen
