// Ridge regression of rewards on the features of candidates, with A in full or as its diagonal (state/root_ridge.py,
// state/columns.py).
#pragma once

#include "math.hpp"
#include "rows.hpp"

namespace smidgen {

// What became of an example: learnt; refused, since a number is not finite; not learnt, for want of free rows.
enum : int64_t { LEARNT, STRANGE, FULL };

// No row is longer: its length could not be squared and multiplied.
inline constexpr double LONGEST_ROW = 1e100;

// Whether a row is short enough.
INLINE bool usable(Vec<const double> val) { return dot(val, val) < LONGEST_ROW * LONGEST_ROW; }

struct Row {
    Indices idx;
    Vec<const double> val;
};

// The name of a candidate: as given, or of a row with one feature that feature; 0 if it has none.
INLINE uint32_t arm_name(Vec<const uint32_t> given, int64_t k, Row x) {
    if (given.n) return given[k];
    uint32_t name = 0;
    int64_t many = 0;
    for (int64_t e = 0; e < x.val.n && many < 2; ++e) {
        if (x.val[e] != 0.0) {
            name = x.idx[e] + 1;
            ++many;
        }
    }
    return many == 1 ? name : 0;
}

// Rows of several candidates. Dense ones have no starts: there the indices are those of every row.
struct Offer {
    Indices idx;
    Vec<const double> val;
    Vec<const int64_t> starts;
    FIELDS(idx, val, starts)

    INLINE Row row(int64_t k) const {
        if (starts.n == 0) return {idx, val.slice(k * idx.n, (k + 1) * idx.n)};
        return {idx.slice(starts[k], starts[k + 1]), val.slice(starts[k], starts[k + 1])};
    }
    INLINE int64_t rows() const { return starts.n == 0 ? (idx.n ? val.n / idx.n : 0) : starts.n - 1; }
    // The rows first … first + count − 1 are there, and have indices below dim.
    INLINE void check(int64_t first, int64_t count, int64_t dim) const {
        require(first >= 0 && count >= 0 && first <= rows() && count <= rows() - first, "a row is not there");
        if (starts.n == 0) {
            require(all_below(idx, dim), "an index is not below the number of features");
            return;
        }
        require(idx.n == val.n, "idx and val must have one length");
        bool sound = starts[first] >= 0 && starts[first + count] <= val.n;
        for (int64_t k = first; k < first + count; ++k) sound &= starts[k] <= starts[k + 1];
        require(sound, "the row starts do not fit the values");
        require(all_below(idx.slice(starts[first], starts[first + count]), dim), "an index is not below the number of features");
    }
};

// Of each candidate: its estimate, its spread (a width in the end), its probability.
struct Estimates {
    Vec<double> means, spreads, p;
};

// --- full A, kept as a square root of its inverse: S·Sᵀ = A⁻¹ (Potter 1963) ------------------------------------------
//
// xᵀA⁻¹x = ‖Sᵀx‖² can then never come out below zero, however badly features are scaled, and w + S·z with normal z is a
// draw from the posterior. R holds all of it, a row per column of the features: S, then w, then the diagonal of A. So one
// pass over R gives Sᵀx and w·x.
//
// Features may have many more columns than are in use. `slots` says which row of R belongs to a column, −1 if none does
// yet: such a column has w = 0 and A = a. Without slots every column has its own row.
struct Root {
    Mat<const double> R;
    Vec<const int32_t> slots;

    INLINE void check() const { require(R.rows >= 1 && R.cols >= R.rows + 2, "R is too narrow for its rows"); }
    INLINE bool many() const { return slots.n > 0; }
    INLINE int64_t dim() const { return many() ? slots.n : R.rows; }
};

// Space for the rows of R that an example meets, and for its values there; without slots none is needed.
struct Gathered {
    Scratch<uint32_t, 256> where;
    Scratch<double, 256> what;
    explicit Gathered(const Root& root) : where(root.many() ? root.R.rows : 0), what(root.many() ? root.R.rows : 0) {}
};

struct Lean {
    double mean, rest;    // w·x, and the sum of squares of entries whose columns have no row yet
};

// out = Sᵀx, zero behind it.
INLINE Lean lean(const Root& root, Row x, Gathered& space, Vec<double> out) {
    int64_t rows = root.R.rows;
    double rest = 0.0;
    if (!root.many() && x.val.n == rows) {    // indices are sorted and differ: so these are all of them
        sum_all_rows(root.R, x.val, out);
    } else if (!root.many()) {
        sum_rows(root.R, x.idx, x.val, out);
    } else {
        int64_t n = 0;
        for (int64_t k = 0; k < x.idx.n; ++k) {
            double v = x.val[k];
            if (v == 0.0) continue;
            int32_t slot = root.slots[x.idx[k]];
            if (slot < 0) {
                rest += v * v;
            } else {
                require(slot < rows && n < rows, "a slot is not below the number of rows");
                space.where[n] = uint32_t(slot);
                space.what[n++] = v;
            }
        }
        sum_rows(root.R, space.where.vec().slice(0, n), space.what.vec().slice(0, n), out);
    }
    double mean = out[rows];
    for (int64_t j = rows; j < out.n; ++j) out[j] = 0.0;
    return {mean, rest};
}

// w·x and xᵀA⁻¹x of the rows from the first-th on; `leans` keeps Sᵀx of each, if it has as many rows.
INLINE void root_moments(const Root& root, const Offer& offer, int64_t first, double ridge, Gathered& space,
                         Mat<double> leans, const Estimates& out) {
    for (int64_t k = 0; k < out.means.n; ++k) {
        Vec<double> work = leans[smallest(k, leans.rows - 1)];
        Lean found = lean(root, offer.row(first + k), space, work);
        out.means[k] = found.mean;
        out.spreads[k] = dot(work, work) + found.rest / ridge;
    }
}

// The same state to write to: with the number of rows in use.
struct RootState {
    Mat<double> R;
    Vec<int32_t> slots;
    Vec<int64_t> used;

    INLINE Root root() const { return {R, slots}; }
    INLINE void check() const {
        root().check();
        require(used.n == 1 && used[0] >= 0 && used[0] <= R.rows, "used is not a number of rows");
    }
    INLINE int64_t new_columns(Row x) const {
        int64_t fresh = 0;
        bool sound = true;
        for (int64_t k = 0; k < x.idx.n; ++k) {
            fresh += x.val[k] != 0.0 && slots[x.idx[k]] < 0;
            sound &= slots[x.idx[k]] < R.rows;
        }
        require(sound, "a slot is not below the number of rows");
        return fresh;
    }
    // Give a row to every column of an example that has none. There must be enough of them.
    INLINE void claim(Row x) const {
        int64_t next = used[0];
        for (int64_t k = 0; k < x.idx.n; ++k) {
            if (x.val[k] != 0.0 && slots[x.idx[k]] < 0) slots[x.idx[k]] = int32_t(next++);
        }
        used[0] = next;
    }
    // Undo `claim`.
    INLINE void give_back(Row x, int64_t before) const {
        if (slots.n == 0) return;
        for (int64_t k = 0; k < x.idx.n; ++k) {
            if (slots[x.idx[k]] >= before) slots[x.idx[k]] = -1;
        }
        used[0] = before;
    }
    INLINE int64_t row_of(uint32_t column) const { return slots.n > 0 ? slots[column] : int64_t(column); }
};

// The step of an example whose w·x and Sᵀx are known, if that leads to finite numbers:
// S ← S − shrink·(S·u)·uᵀ, w ← w + rate·S·u for u = Sᵀx, in one pass; u is zero behind Sᵀx.
INLINE bool root_absorb(const RootState& state, Row x, double y, double mean, Vec<double> u) {
    Mat<double> R = state.R;
    int64_t rows = R.rows;
    double spread = dot(u, u);
    if (!(is_finite(mean) && is_finite(spread))) return false;
    double grown = 1.0 + spread, rate = (y - mean) / grown, shrink = 1.0 / (grown + root(grown));
    for (int64_t i = 0; i < rows; ++i) {
        double product = dot(R[i], u);
        shift(R[i], R[i], u, -(shrink * product));
        R(i, rows) += rate * product;
    }
    for (int64_t k = 0; k < x.idx.n; ++k) {
        if (x.val[k] != 0.0) R(state.row_of(x.idx[k]), rows + 1) += x.val[k] * x.val[k];
    }
    return true;
}

// A ← A + xxᵀ, w ← w + (y − w·x)·A_new⁻¹x; changes nothing where it cannot.
INLINE int64_t root_step(const RootState& state, Row x, double y, Gathered& space, Vec<double> work) {
    bool many = state.slots.n > 0;
    if (!usable(x.val)) return STRANGE;
    if (many && state.used[0] + state.new_columns(x) > state.R.rows) return FULL;
    int64_t before = state.used[0];
    if (many) state.claim(x);
    double mean = lean(state.root(), x, space, work).mean;
    if (!root_absorb(state, x, y, mean, work)) {
        state.give_back(x, before);
        return STRANGE;
    }
    return LEARNT;
}

// --- Cholesky: written out here, and not left to a library, so that a replayed log gives the same bits everywhere ----

// A = L·Lᵀ for the leading n × n block; L is lower triangular, and not touched above its diagonal.
//
// `least` is a lower bound on the eigenvalues of A. So is it on what stands under each root, and rounding may not lead
// below it; nor below what rounding is beside the diagonal, or columns of very different sizes would run away.
inline void cholesky(Mat<const double> A, int64_t n, double least, Mat<double> L) {
    constexpr double ROUNDING = 1e-14;    // what rounding leaves of a number that should have vanished beside it
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) L(i, j) = (A(i, j) - dot(&L(i, 0), &L(j, 0), j)) / L(j, j);
        double left = A(i, i) - dot(L.data + i * L.cols, L.data + i * L.cols, i);
        L(i, i) = root(largest(largest(least, ROUNDING * A(i, i)), left));
    }
}

// X = L⁻¹ for the leading n × n block of a lower triangular L; X is zero above its diagonal.
inline void invert_lower(Mat<const double> L, int64_t n, Mat<double> X) {
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) X(i, j) = 0.0;
        double over = 1.0 / L(i, i);
        for (int64_t k = 0; k < i; ++k) {
            double share = L(i, k) * over;
            for (int64_t j = 0; j <= k; ++j) X(i, j) -= share * X(k, j);
        }
        X(i, i) = over;
    }
}

// R from A and b: S = L⁻ᵀ for A = L·Lᵀ, w = S·Sᵀb. F holds A, and behind it b; n rows are in use.
inline void take_root(Mat<const double> F, int64_t n, double ridge, Mat<double> R) {
    int64_t rows = R.rows;
    Scratch<double> L_space(n * n), X_space(n * n), u(n, 0.0);
    Mat<double> L = L_space.mat(n, n), X = X_space.mat(n, n);
    cholesky(F, n, ridge, L);
    invert_lower(L, n, X);
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            u[j] += X(j, i) * F(i, rows);
            R(i, j) = X(j, i);
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        R(i, rows) = 0.0;
        R(i, rows + 1) = F(i, i);
    }
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) R(i, rows) += X(j, i) * u[j];
    }
}

// A ← λA + (1−λ)aI + xxᵀ, b ← λb + yx, and R from them; F holds A, and behind it b.
inline int64_t fading_step(const RootState& state, Mat<double> F, Row x, double y, double ridge, double keep) {
    int64_t rows = state.R.rows;
    bool many = state.slots.n > 0;
    if (!usable(x.val)) return STRANGE;
    if (many && state.used[0] + state.new_columns(x) > rows) return FULL;
    if (many) state.claim(x);
    int64_t n = many ? state.used[0] : rows;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) F(i, j) *= keep;
        F(i, i) += (1.0 - keep) * ridge;
        F(i, rows) *= keep;
    }
    for (int64_t e = 0; e < x.idx.n; ++e) {
        if (x.val[e] == 0.0) continue;
        int64_t row = state.row_of(x.idx[e]);
        for (int64_t h = 0; h < x.idx.n; ++h) {
            if (x.val[h] != 0.0) F(row, state.row_of(x.idx[h])) += x.val[e] * x.val[h];
        }
        F(row, rows) += y * x.val[e];
    }
    take_root(F, n, ridge, state.R);
    return LEARNT;
}

// --- diagonal A: D has a row per column of the features, its weight and its entry of A --------------------------------
//
// With forgetting, λ < 1, columns fade together but are written only when they are next met: m rounds without an example
// turn a into a₀ + λᵐ(a − a₀) and w into λᵐ·a·w over the new a. So a column also keeps the round in which it was last
// written.

// What columns fade by: a₀, λ, and the rounds learnt.
struct Fading {
    double ridge, keep, now;
    FIELDS(ridge, keep, now)

    INLINE void check(Mat<const double> D) const {
        require(D.cols >= (keep == 1.0 ? 2 : 3), "D is too narrow for columns that fade");
    }
};

struct Column {
    double w, a;
};

// The weight of a column and its entry of A, as they are after `now` rounds.
INLINE Column column(Mat<const double> D, int64_t j, const Fading& f) {
    double w = D(j, 0), a = D(j, 1);
    if (f.keep == 1.0 || D(j, 2) == f.now) return {w, a};
    double left = pow(f.keep, f.now - D(j, 2)), faded = f.ridge + left * (a - f.ridge);
    return {left * a * w / faded, faded};
}

struct Moments {
    double mean, spread;
};

INLINE Moments row_moments(Mat<const double> D, Row x, const Fading& f) {
    double mean = 0.0, spread = 0.0;
    for (int64_t k = 0; k < x.idx.n; ++k) {
        double v = x.val[k];
        Column c = column(D, x.idx[k], f);
        mean += v * c.w;
        spread += v * v / c.a;
    }
    return {mean, spread};
}

// w·x and xᵀA⁻¹x of the rows from the first-th on.
INLINE void column_moments(Mat<const double> D, const Offer& offer, int64_t first, const Fading& f, const Estimates& out) {
    for (int64_t k = 0; k < out.means.n; ++k) {
        Moments found = row_moments(D, offer.row(first + k), f);
        out.means[k] = found.mean;
        out.spreads[k] = found.spread;
    }
}

// With u = x/a: w ← w + (y − w·x)·u/(1 + x·u), then a ← a + x²; all of them faded once more before.
INLINE int64_t column_step(Mat<double> D, Row x, double y, Fading f) {
    f.now += 1.0;
    if (!usable(x.val)) return STRANGE;
    Moments m = row_moments(D, x, f);
    if (!(is_finite(m.mean) && is_finite(m.spread))) return STRANGE;
    double rate = (y - m.mean) / (1.0 + m.spread);
    for (int64_t k = 0; k < x.idx.n; ++k) {
        double v = x.val[k];
        int64_t j = x.idx[k];
        if (v == 0.0) continue;
        Column c = column(D, j, f);
        D(j, 0) = c.w + rate * v / c.a;
        D(j, 1) = c.a + v * v;
        if (f.keep < 1.0) D(j, 2) = f.now;
    }
    return LEARNT;
}

}  // namespace smidgen
