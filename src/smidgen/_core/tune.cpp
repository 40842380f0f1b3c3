// Knobs (knobs.py), and QuadraticTuner: a discounted quadratic surface through the losses, and candidates around its best point. Points are
// z = 2x − 1 in [−1, 1]^d (learners/tune/quadratic_round.py).
#include "bind.hpp"
#include "math.hpp"
#include "random.hpp"

namespace smidgen {
namespace {

inline constexpr double RIDGE = 0.1, FIRST_ERROR = 0.05;
// Candidates of each of the two spreads; the present best point is one more. Twice eight at a time: the last seven are the
// best point again.
inline constexpr int64_t EACH = 100, COUNT = 2 * EACH + 8;
inline constexpr double WIDE = 0.3, NARROW = 0.1;    // .15 and .05 of the edge, which is 2 long in z
// Where the few numbers stand: losses learned, discounted squared errors, the loss that counts .4 and the range above it that
// counts as much again, whether all losses so far were the same, so that the range is not known yet, and whether the latest
// loss lay far out (above: 1, below: −1).
enum : int64_t { LEARNT, ERRORS, LOW, RANGE, FLAT, SIDE, NUMBERS };
// Losses that the scale is taken from.
inline constexpr int64_t SCALE_ROUNDS = 8;
// So many ranges beyond what the scale knows a loss is far out; two in a row make it wider, at most tenfold at a time.
inline constexpr double FAR = 3.0, TENFOLD = 10.0;

// x̂ as z; A and b; A = LLᵀ with 1/L_ii on the diagonal of L; w = A⁻¹b; the few numbers; the first points and losses.
struct Surface {
    Vec<double> best;
    Mat<double> A;
    Vec<double> b;
    Mat<double> L;
    Vec<double> w, numbers;
    Mat<double> first_points;
    Vec<double> first_losses;
    FIELDS(best, A, b, L, w, numbers, first_points, first_losses)

    int64_t dim() const { return best.n; }
    void check() const {
        int64_t d = dim(), p = w.n;
        require(1 <= d && d <= 64, "a surface has 1 … 64 coordinates");
        require(p == 1 + d + d * (d + 1) / 2 && b.n == p, "w and b need one number per feature");
        require(A.rows == p && A.cols == p && L.rows == p && L.cols == p, "A and L need a row and a column per feature");
        require(numbers.n == NUMBERS, "the few numbers are six");
        require(first_points.rows == SCALE_ROUNDS && first_points.cols == d && first_losses.n == SCALE_ROUNDS,
                "the first points are eight");
    }
};

// φ = [1, z_i, z_i·z_j with i ≤ j].
void write_features(Vec<const double> z, Vec<double> phi) {
    int64_t d = z.n, k = 1 + d;
    phi[0] = 1.0;
    for (int64_t i = 0; i < d; ++i) {
        phi[1 + i] = z[i];
        for (int64_t j = i; j < d; ++j) phi[k++] = z[i] * z[j];
    }
}

void factorize(const Surface& s) {
    int64_t p = s.b.n;
    Mat<double> L = s.L;
    Vec<double> w = s.w;
    for (int64_t i = 0; i < p; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            double sum = s.A(i, j);
            for (int64_t k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
            L(i, j) = i == j ? 1.0 / root(sum) : sum * L(j, j);
        }
    }
    for (int64_t i = 0; i < p; ++i) {
        double sum = s.b[i];
        for (int64_t k = 0; k < i; ++k) sum -= L(i, k) * w[k];
        w[i] = sum * L(i, i);
    }
    for (int64_t i = p - 1; i >= 0; --i) {
        double sum = w[i];
        for (int64_t k = i + 1; k < p; ++k) sum -= L(k, i) * w[k];
        w[i] = sum * L(i, i);
    }
}

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

// Around the best point, clipped to the cube: 100 wide, 100 narrow, the point itself.
void write_candidates(Key key, int64_t number, Vec<const double> best, Mat<double> Z) {
    write_normals(key, 0, uint64_t(number), Z.rows * COUNT, Z.data);
    for (int64_t i = 0; i < Z.rows; ++i) {
        double center = best[i];
        double* z = &Z(i, 0);
        auto spread_out = [&](int64_t first, int64_t last, double spread) {
            for (int64_t c = first; c < last; ++c) z[c] = smallest(largest(center + spread * z[c], -1.0), 1.0);
        };
        spread_out(0, EACH, WIDE);
        spread_out(EACH, 2 * EACH, NARROW);
        spread_out(2 * EACH, COUNT, 0.0);
    }
}

// φ of every candidate, by feature.
void write_all_features(Mat<const double> Z, Mat<double> F) {
    int64_t d = Z.rows, k = 1 + d;
    for (double& one : F[0]) one = 1.0;
    for (int64_t i = 0; i < d; ++i) {
        copy(F[1 + i], Z[i]);
        for (int64_t j = i; j < d; ++j, ++k) {
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
    Scratch<double> space(16 * L.rows);
    double* V = space.data();    // a row of sixteen for each feature
    for (int64_t c = 0; c < COUNT; c += 16) {
        Lanes sum = fill(0.0), other = fill(0.0);
        for (int64_t i = 0; i < L.rows; ++i) {
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

struct Candidates {
    Scratch<double, 1> space;    // always on the heap: they are many
    Mat<double> Z, F;
    Vec<double> values;

    Candidates(const Surface& s, Key key, int64_t number)
        : space((s.dim() + s.w.n + 1) * COUNT),
          Z{space.data(), s.dim(), COUNT},
          F{space.data() + s.dim() * COUNT, s.w.n, COUNT},
          values{space.data() + (s.dim() + s.w.n) * COUNT, COUNT} {
        write_candidates(key, number, s.best, Z);
        write_all_features(Z, F);
        write_means(s.w, F, values);
    }
};

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

// The candidate of least w·φ − κs√(φᵀA⁻¹φ), as a point of the box; whether it is another one than the best.
bool ask(Surface s, double kappa, double f, Vec<const uint64_t> key, int64_t number, Mat<const double> limits, Vec<double> x) {
    s.check();
    require_limits(limits, s.dim());
    require(x.n == s.dim(), "x needs one place per coordinate");
    double deviation = kappa * root(variance(s.numbers, f));
    Candidates all(s, key_in(key), number);
    Scratch<double> widths(COUNT);
    write_widths(s.L, all.F, widths.vec());
    for (int64_t c = 0; c < COUNT; ++c) all.values[c] -= deviation * widths[c];
    int64_t chosen = least(all.values);
    Scratch<double> z(s.dim());
    bool other = false;
    for (int64_t i = 0; i < s.dim(); ++i) {
        z[i] = all.Z(i, chosen);
        other |= z[i] != s.best[i];
    }
    to_box(z.vec(), limits, x);
    return other;
}

// As it was before the first loss.
void forget(const Surface& s) {
    clear(s.A.flat());
    clear(s.b);
    clear(s.L.flat());
    clear(s.w);
    for (int64_t i = 0; i < s.b.n; ++i) {
        s.A(i, i) = RIDGE;
        s.L(i, i) = 1.0 / root(RIDGE);
    }
    s.numbers[LEARNT] = 0.0;
    s.numbers[ERRORS] = FIRST_ERROR;
}

void begin(Surface s) {
    s.check();
    forget(s);
}

// A loss in the tuner's own scale: .4 for the least of the first eight, .8 for the greatest.
INLINE double scaled(Vec<const double> numbers, double loss) { return 0.4 + 0.4 * (loss - numbers[LOW]) / numbers[RANGE]; }

// One loss, in the tuner's own scale: errors, then A ← fA + (1−f)aI + φφᵀ, b ← fb + yφ, and what follows.
void absorb(const Surface& s, Vec<const double> z, double y, double f) {
    int64_t p = s.b.n;
    Scratch<double> space(p);
    Vec<double> phi = space.vec();
    write_features(z, phi);
    double mean = 0.0;
    for (int64_t i = 0; i < p; ++i) mean += s.w[i] * phi[i];
    s.numbers[ERRORS] = f * s.numbers[ERRORS] + (y - mean) * (y - mean) / (1.0 + width_at(s.L, phi));
    for (int64_t i = 0; i < p; ++i) {
        for (int64_t j = 0; j <= i; ++j) s.A(i, j) = f * s.A(i, j) + phi[i] * phi[j];
        s.A(i, i) += (1.0 - f) * RIDGE;
        s.b[i] = f * s.b[i] + y * phi[i];
    }
    factorize(s);
    s.numbers[LEARNT] += 1.0;
}

// Take another scale, as if it had been there from the first loss on.
void rescale(const Surface& s, double low, double spread) {
    double old_low = s.numbers[LOW], factor = s.numbers[RANGE] / spread;
    double shift = 0.4 + 0.4 * (old_low - low) / spread - 0.4 * factor;
    for (int64_t i = 0; i < s.b.n; ++i) s.b[i] = factor * s.b[i] + shift * (s.A(i, 0) - (i == 0 ? RIDGE : 0.0));
    s.numbers[ERRORS] *= factor * factor;
    s.numbers[LOW] = low;
    s.numbers[RANGE] = spread;
    factorize(s);
}

// The first n losses again, in the scale that they make together.
void learn_first(const Surface& s, int64_t n, double f) {
    forget(s);
    double low = s.first_losses[0], high = low;
    for (int64_t i = 1; i < n; ++i) {
        low = smallest(low, s.first_losses[i]);
        high = largest(high, s.first_losses[i]);
    }
    s.numbers[LOW] = low;
    s.numbers[RANGE] = high - low > 0.0 ? high - low : 1.0;
    s.numbers[FLAT] = high - low > 0.0 ? 0.0 : 1.0;
    for (int64_t i = 0; i < n; ++i) absorb(s, s.first_points[i], scaled(s.numbers, s.first_losses[i]), f);
}

// A later loss; one that lies far out counts for no more than FAR, a second one makes the scale wider.
void learn_later(const Surface& s, Vec<const double> z, double loss, double f) {
    Vec<double> numbers = s.numbers;
    double low = numbers[LOW], spread = numbers[RANGE], before = numbers[SIDE];
    double distance = largest(low - loss, loss - low - spread);
    numbers[SIDE] = distance <= FAR * spread ? 0.0 : loss > low ? 1.0 : -1.0;
    if (numbers[FLAT] > 0.0) {
        if (loss != low) {
            rescale(s, smallest(low, loss), __builtin_fabs(loss - low));
            numbers[FLAT] = 0.0;
        }
        numbers[SIDE] = 0.0;
    } else if (numbers[SIDE] != 0.0 && numbers[SIDE] == before) {
        double wider = smallest(spread + distance, TENFOLD * spread);
        rescale(s, loss < low ? low + spread - wider : low, wider);
    }
    absorb(s, z, smallest(largest(scaled(numbers, loss), 0.4 - 0.4 * FAR), 0.8 + 0.4 * FAR), f);
}

// Learn one loss; from the first few on, x̂ ← the candidate of least w·φ. Returns whether it did.
bool learn(Surface s, double f, Vec<const double> z, double loss, Vec<const uint64_t> key, int64_t number) {
    s.check();
    require(z.n == s.dim(), "z needs one number per coordinate");
    Key moves = key_in(key);
    double learned = s.numbers[LEARNT];
    require(learned >= 0.0, "the number of losses learned is below 0");
    if (learned < double(SCALE_ROUNDS)) {
        int64_t n = int64_t(learned);
        copy(s.first_points[n], z);
        s.first_losses[n] = loss;
        learn_first(s, n + 1, f);
    } else {
        learn_later(s, z, loss, f);
    }
    if (learned + 1.0 < double(s.dim() + 3)) return false;
    Candidates all(s, moves, number);
    int64_t chosen = least(all.values);
    for (int64_t i = 0; i < s.dim(); ++i) s.best[i] = all.Z(i, chosen);
    return true;
}

// The value of the surface at x̂, and its standard deviation √(s²·φᵀA⁻¹φ).
std::tuple<double, double> expect(Surface s, double f) {
    s.check();
    Scratch<double> phi(s.w.n);
    write_features(s.best, phi.vec());
    double mean = 0.0;
    for (int64_t i = 0; i < s.w.n; ++i) mean += s.w[i] * phi[i];
    return {mean, root(variance(s.numbers, f) * width_at(s.L, phi.vec()))};
}

void candidates(Vec<const double> best, Vec<const uint64_t> key, int64_t number, Mat<double> Z) {
    require(best.n <= 64 && Z.rows == best.n && Z.cols == COUNT, "Z needs a row per coordinate and 208 columns");
    write_candidates(key_in(key), number, best, Z);
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
    entry<ask>("ask", "s, kappa, f, key, number, limits, x",
               "Write the point to play, of the box with these limits; whether it is another one than the best."),
    entry<learn>("learn", "s, f, z, loss, key, number", "Learn one loss, and move x̂; whether it was moved."),
    entry<expect>("expect", "s, f", "The value of the surface at x̂, and its standard deviation."),
    entry<candidates>("candidates", "best, key, number, Z", "Write the candidates around a point, by coordinate."),
    entry<to_box>("to_box", "z, limits, out", "x = low + (high − low)(z + 1)/2, within the limits."),
    entry<from_box>("from_box", "x, limits, out", "z = 2(x − low)/(high − low) − 1; whether x lies within the limits."),
});

}  // namespace
}  // namespace smidgen
