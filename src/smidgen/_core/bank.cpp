// Banks of models: the choice by reward of ChoiceBank, one reward learnt by all of its models, whole streams; cosines.
#include "bank.hpp"

#include "bind.hpp"
#include "blocks.hpp"
#include "second_order.hpp"
#include "settle.hpp"

namespace smidgen {
namespace {

// What became of an example, beside those of ridge.hpp: no free rows in the model with cosines; no place for a candidate;
// learnt, and the world has changed.
enum : int64_t { FULL_CURVED = FULL + 1, FULL_ARMS, ALARM };
// Who leads.
enum : int64_t { PLAIN, CURVED, ARMS };

// A ridge regression with A in full, or as its diagonal; with neither there is none.
struct Model {
    Mat<double> R;
    Vec<int32_t> slots;
    Vec<int64_t> used;
    Mat<double> D;
    FIELDS(R, slots, used, D)

    INLINE bool there() const { return R.rows > 0 || D.rows > 0; }
    INLINE RootState root_state() const { return {R, slots, used}; }
    INLINE int64_t dim() const { return R.rows > 0 ? Root{R, slots}.dim() : D.rows; }
    void check(int64_t wanted) const {
        if (R.rows > 0) root_state().check();
        if (D.rows > 0) require(D.cols == 2, "D is not of two columns");
        require(!there() || dim() == wanted, "a model is of another dimension");
    }
    INLINE bool lacks_rows(Row x) const {
        return R.rows > 0 && slots.n > 0 && used[0] + root_state().new_columns(x) > R.rows;
    }
    // w·x and xᵀA⁻¹x.
    INLINE Moments moments(Row x, double ridge, Gathered& space, Vec<double> work) const {
        if (R.rows == 0) return row_moments(D, x, {ridge, 1.0, 0.0});
        Lean found = lean({R, slots}, x, space, work);
        return {found.mean, dot(work, work) + found.rest / ridge};
    }
    // Learn y; there are free rows. Gives the moments of before.
    INLINE Moments learn(Row x, double y, double ridge) const {
        Gathered space({R, slots});
        Scratch<double> work(R.cols);
        if (R.rows == 0) {
            Moments before = row_moments(D, x, {ridge, 1.0, 0.0});
            column_step(D, x, y, {ridge, 1.0, 0.0});
            return before;
        }
        RootState state = root_state();
        if (slots.n > 0) state.claim(x);
        Moments before = moments(x, ridge, space, work.vec());
        root_absorb(state, x, y, before.mean, work.vec());
        return before;
    }
};

// Of each candidate that was met, by its name: how often, the sum of its rewards; the faded number and sum of what the
// leader left unexplained, and the round of that.
struct Arms {
    Vec<uint32_t> ids;    // 0: nobody; as many places as a power of two
    Mat<double> table;
    FIELDS(ids, table)

    void check() const {
        require(ids.n >= 2 && (ids.n & (ids.n - 1)) == 0 && table.rows == ids.n && table.cols == 5,
                "the table of candidates does not fit its names");
    }
    // The place of a name, or the one that it would get; −1 if there is none.
    INLINE int64_t place(uint32_t name) const {
        uint32_t hash = name * 2654435769u;
        for (int64_t step = 0; step < ids.n; ++step) {
            int64_t at = (int64_t(hash >> 7) + step) & (ids.n - 1);
            if (ids[at] == name || ids[at] == 0) return at;
        }
        return -1;
    }
    INLINE int64_t find(uint32_t name) const {
        int64_t at = name ? place(name) : -1;
        return at >= 0 && ids[at] == name ? at : -1;
    }
    INLINE int64_t taken() const {
        int64_t count = 0;
        for (uint32_t name : ids) count += name != 0;
        return count;
    }
};
// What a candidate's own rewards, and what is left unexplained, are weighed against; how the latter fades.
inline constexpr double ARM_RIDGE = 0.2, DRIFT_RIDGE = 2.0, DRIFT_KEEP = 0.995;
// More candidates than this have no place in the table.
inline constexpr int64_t MOST_ARMS = 8192;

struct Faded {
    double count, sum;
};
INLINE Faded drift_at(const Arms& arms, int64_t at, double now) {
    double left = pow(DRIFT_KEEP, now - arms.table(at, 4));
    return {left * arms.table(at, 2), left * arms.table(at, 3)};
}
INLINE Moments arm_moments(const Arms& arms, int64_t at) {
    double n = at >= 0 ? arms.table(at, 0) : 0.0, sum = at >= 0 ? arms.table(at, 1) : 0.0;
    return {sum / (n + ARM_RIDGE), 1.0 / (n + ARM_RIDGE)};
}

struct Bank {
    Model plain, curved;
    Arms arms;
    Directions directions;
    Vec<double> numbers, book, fast;
    FIELDS(plain, curved, arms, directions, numbers, book, fast)

    void check() const {
        plain.check(plain.dim());
        require(plain.there(), "there is no plain model");
        curved.check(plain.dim() + COSINES);
        arms.check();
        directions.check();
        require_numbers(numbers);
        require_book(book);
        require(fast.n == plain.dim() + FAST, "the fast model is of another dimension");
    }
    INLINE int64_t leader() const {
        int64_t leads = truncated(book[LEADER]);
        return leads == CURVED && !curved.there() ? PLAIN : leads;
    }
};

INLINE int64_t longest_row(const Offer& offer, int64_t first, int64_t K) {
    if (offer.starts.n == 0) return offer.idx.n;
    int64_t most = 0;
    for (int64_t k = first; k < first + K; ++k) most = largest(most, offer.starts[k + 1] - offer.starts[k]);
    return most;
}

INLINE Settled decide(const Bank& bank, const Offer& offer, int64_t first, Vec<const uint32_t> names,
                      const Blocks& blocks, Mask mask, Vec<const uint64_t> keys, int64_t number, const Estimates& out) {
    int64_t K = out.means.n, leads = bank.leader();
    const Model& model = leads == CURVED ? bank.curved : bank.plain;
    double ridge = bank.numbers[RIDGE], now = bank.numbers[ROUNDS];
    bool drifts = bank.book[LATE] == 0.0;
    Gathered space({model.R, model.slots});
    Scratch<double> work(model.R.cols), what(longest_row(offer, first, K) + COSINES);
    Scratch<uint32_t> where(longest_row(offer, first, K) + COSINES);
    for (int64_t k = 0; k < K; ++k) {
        Row x = offer.row(first + k);
        int64_t at = bank.arms.find(arm_name(names, k, x));
        Moments found;
        if (leads == ARMS) {
            found = arm_moments(bank.arms, at);
        } else {
            int64_t n = unit_part(x.idx, x.val, where.vec(), what.vec());
            if (leads == CURVED) n = add_cosines(bank.directions, bank.plain.dim(), n, where.vec(), what.vec());
            found = model.moments({where.vec().slice(0, n), what.vec().slice(0, n)}, ridge, space, work.vec());
        }
        if (drifts && at >= 0) {
            Faded drift = drift_at(bank.arms, at, now);
            found.mean += drift.sum / (drift.count + DRIFT_RIDGE);
            found.spread += 1.0 / (drift.count + DRIFT_RIDGE);
        } else if (drifts && names.n && names[k]) {
            found.spread += 1.0 / DRIFT_RIDGE;
        }
        out.means[k] = found.mean;
        out.spreads[k] = found.spread;
    }
    add_directions(blocks, out.means, out.spreads);
    return settle(out, mask, bank.numbers, key_in(keys), number);
}

INLINE double squared_error(double mean, double y) {
    double off = smallest(largest(mean, 0.0), 1.0) - y;
    return off * off;
}

// Let all models learn the reward of one row; changes nothing where one of them has no space.
INLINE int64_t learn(const Bank& bank, Row x, uint32_t name, const Blocks& blocks, int64_t k, double y, bool counts) {
    for (double v : x.val) {
        if (!is_finite(v)) return STRANGE;
    }
    int64_t leads = bank.leader();
    double ridge = bank.numbers[RIDGE], now = bank.numbers[ROUNDS], others[OTHERS] = {-1.0, -1.0};
    Scratch<double> what(x.val.n + COSINES);
    Scratch<uint32_t> where(x.val.n + COSINES);
    int64_t n = unit_part(x.idx, x.val, where.vec(), what.vec());
    auto row = [&] { return Row{where.vec().slice(0, n), what.vec().slice(0, n)}; };
    if (bank.plain.lacks_rows(row())) return FULL;
    int64_t at = name ? bank.arms.find(name) : -1;
    if (name && at < 0 && bank.arms.ids.n <= MOST_ARMS) {
        if (2 * (bank.arms.taken() + 1) > bank.arms.ids.n) {
            if (2 * bank.arms.ids.n <= MOST_ARMS) return FULL_ARMS;
        } else {
            at = bank.arms.place(name);
        }
    }
    Moments led{0.0, 0.0};
    if (bank.curved.there()) {
        Scratch<double> lifted(n + COSINES);
        Scratch<uint32_t> columns(n + COSINES);
        copy(lifted.vec().slice(0, n), what.vec().slice(0, n));
        for (int64_t k = 0; k < n; ++k) columns[k] = where[k];
        int64_t m = add_cosines(bank.directions, bank.plain.dim(), n, columns.vec(), lifted.vec());
        Row curved{columns.vec().slice(0, m), lifted.vec().slice(0, m)};
        if (bank.curved.lacks_rows(curved)) return FULL_CURVED;
        Moments found = bank.curved.learn(curved, y, ridge);
        others[CURVED - 1] = squared_error(found.mean, y);
        if (leads == CURVED) led = found;
    }
    Moments found = bank.plain.learn(row(), y, ridge);
    if (leads == PLAIN) led = found;
    if (at >= 0) {
        bank.arms.ids[at] = name;
        Moments own = arm_moments(bank.arms, at);
        others[ARMS - 1] = squared_error(own.mean, y);
        if (leads == ARMS) led = own;
    }
    if (blocks.there()) {
        bool counted = blocks.in_use();
        Moments more = learn_directions(blocks, k, y - led.mean);
        move_gate(blocks, more.spread, squared_error(led.mean, y), squared_error(led.mean + more.mean, y));
        if (counted) led = {led.mean + more.mean, led.spread + more.spread};
    }
    if (at >= 0) {
        Faded drift = drift_at(bank.arms, at, now);
        bank.arms.table(at, 0) += 1.0;
        bank.arms.table(at, 1) += y;
        bool drifts = bank.book[LATE] == 0.0;
        bank.arms.table(at, 2) = drifts ? drift.count * DRIFT_KEEP + 1.0 : 0.0;
        bank.arms.table(at, 3) = drifts ? drift.sum * DRIFT_KEEP + (y - led.mean) / (1.0 + led.spread) : 0.0;
        bank.arms.table(at, 4) = now + 1.0;
    }
    compare(bank.book, squared_error(found.mean, y), others);
    bank.numbers[ROUNDS] += 1.0;
    if (!counts) return LEARNT;
    bool fallen = watch(bank.book, y), trusted = bank.plain.R.rows > 0 && !blocks.there();
    bool moved = trusted && follow_fast(bank.fast, row().idx, row().val, led.mean, y, bank.book[ANSWERS]);
    return fallen || moved ? int64_t(ALARM) : int64_t(LEARNT);
}

// --- entry points ----------------------------------------------------------------------------------------------------

void require_names(Vec<const uint32_t> names, int64_t K) {
    require(names.n == 0 || names.n == K, "the names need one place per candidate");
}

Settled decide_bank(Bank bank, Offer offer, Vec<const uint32_t> names, Blocks blocks, Mask mask, Vec<const uint64_t> keys,
                    int64_t number, Vec<double> means, Vec<double> widths, Vec<double> p) {
    Estimates out{means, widths, p};
    bank.check();
    require_estimates(out, mask);
    offer.check(0, means.n, bank.plain.dim());
    require_names(names, means.n);
    blocks.check(bank.plain.dim(), means.n);
    return decide(bank, offer, 0, names, blocks, mask, keys, number, out);
}

int64_t learn_bank(Bank bank, Offer offer, Vec<const uint32_t> names, Blocks blocks, int64_t row, double y, bool counts) {
    bank.check();
    offer.check(row, 1, bank.plain.dim());
    require_names(names, offer.rows());
    blocks.check(bank.plain.dim(), offer.rows());
    if (blocks.there()) {
        RootState state{blocks.R[0], blocks.slots, blocks.used};
        require(blocks.used[0] + state.new_columns(blocks.row()) <= blocks.R.n1, "the blocks have too few rows");
    }
    Row x = offer.row(row);
    return learn(bank, x, arm_name(names, row, x), blocks, row, y, counts);
}

// Rounds, until they are over or one needs more space or brings an alarm: the next one, and why.
std::tuple<int64_t, int64_t> play_bank(Bank bank, Offer offer, int64_t stride, Mask masks, Mat<const double> rewards,
                                       Vec<const uint64_t> keys, int64_t first, int64_t begin, Vec<int64_t> actions,
                                       Vec<int64_t> greedy, Vec<double> shares) {
    int64_t T = rewards.rows, K = rewards.cols;
    bank.check();
    require(K >= 1 && 0 <= begin && begin <= T, "there must be candidates, and begin must be a round");
    require(stride == 0 || stride == K, "the rows of a round must follow those of the one before");
    require(masks.n == 0 || masks.n == K || masks.n == T * K, "the masks do not fit the rewards");
    require(actions.n == T && greedy.n == T && shares.n == T, "what is shown needs one place per round");
    offer.check(0, stride == 0 ? K : T * K, bank.plain.dim());
    Scratch<double> means(K), widths(K), p(K);
    Estimates out{means.vec(), widths.vec(), p.vec()};
    Vec<const uint32_t> nameless{nullptr, 0};
    const Blocks none{};
    for (int64_t t = begin; t < T; ++t) {
        int64_t place = masks.n ? smallest(t * K, masks.n - K) : 0;
        Mask mask = masks.n ? masks.slice(place, place + K) : masks;
        require_estimates(out, mask);
        Settled made = decide(bank, offer, t * stride, nameless, none, mask, keys, int64_t(uint64_t(first) + uint64_t(t)), out);
        int64_t action = std::get<0>(made);
        if (action < 0) return {t, action};
        std::tie(actions[t], greedy[t], shares[t]) = made;
        Row x = offer.row(t * stride + action);
        int64_t why = learn(bank, x, arm_name(nameless, action, x), none, 0, rewards(t, action), true);
        if (why == ALARM) return {t + 1, why};
        if (why != LEARNT) return {t, why};
    }
    return {T, 0};
}

// Learn how right class c was, as HingeConfidit does, on full state: the score of before, NaN if that is not finite.
double learn_class(Mat<double> W, Cube<double> B, Indices idx, Vec<const double> val, int64_t c, double reward, double wrong) {
    require_row(idx, val, W.cols);
    require_class(c, W.rows);
    require(B.n0 == W.cols && B.n1 == W.rows && B.n2 == W.cols, "W and B do not fit together");
    Scratch<double> product(W.cols, 0.0);
    double mean = 0.0, width = 0.0;
    for (int64_t k = 0; k < idx.n; ++k) {
        const double* row = &B(idx[k], c, 0);
        double v = val[k];
        mean += v * W(c, idx[k]);
        for (int64_t j = 0; j < W.cols; ++j) product[j] += v * row[j];
    }
    for (int64_t k = 0; k < idx.n; ++k) width += val[k] * product[idx[k]];
    if (!(is_finite(mean) && is_finite(width))) return std::numeric_limits<double>::quiet_NaN();
    if ((reward >= 1.0 && mean >= 1.0) || (reward <= 0.0 && mean <= wrong)) return mean;    // known already
    width = full_width<double>(B, c, product.vec(), width);
    full_shift<double>(W, c, product.vec(), (wrong + (1.0 - wrong) * reward - mean) / (1.0 + width));
    full_absorb<double>(B, c, product.vec(), width);
    return mean;
}

// The row of unit length, without its zeros, and with its cosines if asked for; how many entries there are.
int64_t seen_row(Indices idx, Vec<const double> val, int64_t dim, bool curved, Directions directions, Vec<uint32_t> where,
                 Vec<double> what) {
    directions.check();
    require_row(idx, val, dim);
    require(where.n == what.n && what.n >= val.n + (curved ? COSINES : 0), "there is too little space for the row");
    int64_t n = unit_part(idx, val, where, what);
    return curved ? add_cosines(directions, dim, n, where, what) : n;
}

void follow_errors(Vec<double> book, double plain, double first, double second) {
    require_book(book);
    double others[OTHERS] = {first, second};
    compare(book, plain, others);
}

bool count_reward(Vec<double> book, double reward) {
    require_book(book);
    return watch(book, reward);
}

double cosine(double turns) { return cos_turns(turns); }

const Family family("bank", {
    entry<decide_bank>("decide_bank", "bank, offer, names, blocks, mask, keys, number, means, widths, p",
                       "One decision by the model that leads: action, greedy one, propensity."),
    entry<learn_bank>("learn_bank", "bank, offer, names, blocks, row, y, counts",
                      "Let all models learn the reward of one row, and count it if asked to; says what became of it."),
    entry<play_bank>("play_bank",
                     "bank, offer, stride, masks, rewards, keys, first, begin, actions, greedy, shares",
                     "Rounds, until one needs more space or brings an alarm; the next round, and why."),
    entry<learn_class>("learn_class", "W, B, idx, val, c, reward, wrong",
                       "Learn how right class c was, on full state; the score of before, NaN if that is not finite."),
    entry<seen_row>("seen_row", "idx, val, dim, curved, directions, where, what",
                    "Write a row at unit length, with its cosines if asked for; returns how many entries it has."),
    entry<follow_errors>("follow_errors", "book, plain, first, second",
                         "Compare squared errors (below 0: no such model), and note who leads."),
    entry<count_reward>("count_reward", "book, reward", "Count a reward; whether rewards have fallen."),
    entry<cosine>("cosine", "turns", "The cosine of an angle in turns."),
});

}  // namespace
}  // namespace smidgen
