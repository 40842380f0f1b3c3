// Choosing by reward: estimates, how each rule shares its choice among the candidates, the draw, and whole streams.
#include "bind.hpp"
#include "follow.hpp"
#include "settle.hpp"

namespace smidgen {
namespace {

// --- draws from the posterior ------------------------------------------------------------------------------------------

// Entries of candidates that have no row in a root: by candidate, which of the extra normals, and how much of it.
struct Loose {
    Scratch<int64_t> begins;
    Scratch<int64_t> which;
    Scratch<double> much;
    int64_t extra = 0;
    Loose(int64_t K, int64_t entries) : begins(K + 1, 0), which(entries), much(entries) {}

    // A column gets a normal number of its own when it is met for the first time: it is marked by −2 − its number.
    INLINE void add(int64_t at, int32_t& mark, double amount) {
        if (mark == -1) mark = int32_t(-2 - extra++);
        require(-2 - int64_t(mark) < extra, "a column is marked already");
        which[at] = -2 - int64_t(mark);
        much[at] = amount;
    }
};

INLINE int64_t entries_of(const Offer& offer, int64_t first, int64_t K) {
    return offer.starts.n == 0 ? K * offer.idx.n : offer.starts[first + K] - offer.starts[first];
}

// Leave no mark on the columns that were given a normal number.
INLINE void unmark(Vec<int32_t> marks, const Offer& offer, int64_t first, int64_t K) {
    for (int64_t k = 0; k < K; ++k) {
        for (uint32_t j : offer.row(first + k).idx) {
            if (marks[j] < -1) marks[j] = -1;
        }
    }
}

struct Draws {
    double width;
    int64_t count;
    Key key;
    int64_t number;
};

INLINE Draws draws_of(Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number) {
    int64_t count = truncated(numbers[COUNT]);
    require(count >= 0 && count < int64_t(1) << 31, "the number of samples is out of range");
    return {numbers[WIDTH], count, key_in(keys, 2), number};
}

// p_a = the share of M draws f + v·(lean·z) in which a is best, equals sharing one evenly; z is normal. The first n normals go
// with the leans, the others with what is loose.
inline void count_best(Vec<const double> means, Mat<const double> leans, int64_t n, Loose& loose, Mask mask,
                       const Draws& draws, Vec<double> p, const Pricing& pricing) {
    int64_t K = means.n;
    Scratch<double> z(n + loose.extra), tied(leans.cols, 0.0), scores(K);
    clear(p);
    for (int64_t m = 0; m < draws.count; ++m) {
        fill_normals(draws.key, uint64_t(draws.number), m, z.vec());
        for (int64_t j = 0; j < n; ++j) tied[j] = z[j];
        for (int64_t k = 0; k < K; ++k) {
            if (!on_offer(mask, k)) continue;
            double noise = dot(leans[k], tied.vec());
            for (int64_t e = loose.begins[k]; e < loose.begins[k + 1]; ++e) noise += loose.much[e] * z[n + loose.which[e]];
            scores[k] = means[k] + draws.width * noise;
            if (pricing.there()) scores[k] = smallest(scores[k], 1.0) - pricing.price[k];
        }
        Best best = best_of(K, [&](int64_t k) { return scores[k]; }, [&](int64_t k) { return on_offer(mask, k); });
        if (best.tied == 1) {
            p[best.place] += 1.0;
            continue;
        }
        for (int64_t k = best.place; k < K; ++k) {
            if (on_offer(mask, k) && scores[k] >= best.least) p[k] += 1.0 / double(best.tied);
        }
    }
    for (int64_t k = 0; k < K; ++k) p[k] /= double(draws.count);
}

// Estimates, spreads and shares of the rows from the first-th on, with full A.
inline void root_samples(const RootState& state, const Offer& offer, int64_t first, double ridge, Mask mask,
                         const Draws& draws, const Estimates& out, const Pricing& pricing) {
    int64_t K = out.means.n;
    Root source = state.root();
    double over = 1.0 / root(ridge);
    Scratch<double> space(K * state.R.cols);
    Mat<double> leans = space.mat(K, state.R.cols);
    Gathered gathered(source);
    Loose loose(K, source.many() ? entries_of(offer, first, K) : 0);
    for (int64_t k = 0; k < K; ++k) {
        Row x = offer.row(first + k);
        Lean found = lean(source, x, gathered, leans[k]);
        out.means[k] = found.mean;
        out.spreads[k] = dot(leans[k], leans[k]) + found.rest / ridge;
        int64_t at = loose.begins[k];
        for (int64_t e = 0; source.many() && e < x.val.n; ++e) {
            int32_t& slot = state.slots[x.idx[e]];
            if (x.val[e] != 0.0 && slot < 0) loose.add(at++, slot, x.val[e] * over);
        }
        loose.begins[k + 1] = at;
    }
    if (source.many()) unmark(state.slots, offer, first, K);
    count_best(out.means, leans, state.used[0], loose, mask, draws, out.p, pricing);
}

// The same with diagonal A. `marks` is −1 for every column, before and after.
inline void column_samples(Mat<const double> D, Vec<int32_t> marks, const Offer& offer, int64_t first, const Fading& fading,
                           Mask mask, const Draws& draws, const Estimates& out, const Pricing& pricing) {
    int64_t K = out.means.n;
    Loose loose(K, entries_of(offer, first, K));
    for (int64_t k = 0; k < K; ++k) {
        Row x = offer.row(first + k);
        int64_t at = loose.begins[k];
        double mean = 0.0, spread = 0.0;
        for (int64_t e = 0; e < x.val.n; ++e) {
            Column c = column(D, x.idx[e], fading);
            mean += x.val[e] * c.w;
            spread += x.val[e] * x.val[e] / c.a;
            if (x.val[e] != 0.0) loose.add(at++, marks[x.idx[e]], x.val[e] / root(c.a));
        }
        out.means[k] = mean;
        out.spreads[k] = spread;
        loose.begins[k + 1] = at;
    }
    unmark(marks, offer, first, K);
    count_best(out.means, Mat<const double>{nullptr, K, 0}, 0, loose, mask, draws, out.p, pricing);
}

// --- the two verbs -------------------------------------------------------------------------------------------------------

INLINE Settled decide_with_root(const Root& root, const Offer& offer, int64_t first, Mask mask, Vec<const double> numbers,
                                Vec<const uint64_t> keys, int64_t number, const Estimates& out) {
    Gathered space(root);
    Scratch<double> work(root.R.cols);
    root_moments(root, offer, first, numbers[RIDGE], space, work.mat(1, root.R.cols), out);
    return settle(out, mask, numbers, key_in(keys), number);
}

// Without a budget as ever; with one, the widths are laid out first.
INLINE Settled settle_samples(const Estimates& out, Mask mask, Vec<const double> numbers, Key key, int64_t number,
                              const Pricing& pricing) {
    if (!pricing.there()) return settle(out, mask, numbers, key, number);
    for (int64_t k = 0; k < out.spreads.n; ++k) out.spreads[k] = numbers[WIDTH] * root(out.spreads[k]);
    return settle_priced(out, mask, numbers, key, number, pricing);
}

INLINE Settled sample_with_root(const RootState& state, const Offer& offer, int64_t first, Mask mask,
                                Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number, const Estimates& out,
                                const Pricing& pricing) {
    root_samples(state, offer, first, numbers[RIDGE], mask, draws_of(numbers, keys, number), out, pricing);
    return settle_samples(out, mask, numbers, key_in(keys), number, pricing);
}

INLINE Settled decide_with_columns(Mat<const double> D, const Offer& offer, int64_t first, Mask mask,
                                   Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number, const Estimates& out) {
    column_moments(D, offer, first, fading_of(numbers), out);
    return settle(out, mask, numbers, key_in(keys), number);
}

INLINE Settled sample_with_columns(Mat<const double> D, Vec<int32_t> marks, const Offer& offer, int64_t first, Mask mask,
                                   Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number, const Estimates& out,
                                   const Pricing& pricing) {
    column_samples(D, marks, offer, first, fading_of(numbers), mask, draws_of(numbers, keys, number), out, pricing);
    return settle_samples(out, mask, numbers, key_in(keys), number, pricing);
}

INLINE int64_t learn_with_root(const RootState& state, Row x, double y) {
    Gathered space(state.root());
    Scratch<double> work(state.R.cols);
    return root_step(state, x, y, space, work.vec());
}

Settled decide_root(Mat<const double> R, Vec<const int32_t> slots, Indices idx, Vec<const double> val,
                    Vec<const int64_t> starts, int64_t first, Mask mask, Vec<const double> numbers,
                    Vec<const uint64_t> keys, int64_t number, Vec<double> means, Vec<double> widths, Vec<double> p) {
    Root root{R, slots};
    Offer offer{idx, val, starts};
    Estimates out{means, widths, p};
    root.check();
    require_numbers(numbers);
    require_estimates(out, mask);
    offer.check(first, means.n, root.dim());
    return decide_with_root(root, offer, first, mask, numbers, keys, number, out);
}

Settled sample_root(Mat<double> R, Vec<int32_t> slots, Vec<int64_t> used, Indices idx, Vec<const double> val,
                    Vec<const int64_t> starts, int64_t first, Mask mask, Vec<const double> numbers,
                    Vec<const uint64_t> keys, int64_t number, Vec<double> means, Vec<double> widths, Vec<double> p, Pricing pricing) {
    RootState state{R, slots, used};
    Offer offer{idx, val, starts};
    Estimates out{means, widths, p};
    state.check();
    require_numbers(numbers);
    require_estimates(out, mask);
    pricing.check(means.n);
    offer.check(first, means.n, state.root().dim());
    return sample_with_root(state, offer, first, mask, numbers, keys, number, out, pricing);
}

// The choice again, with prices: after an entry point that has left means and widths.
Settled choose_priced(Mask mask, Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number, Vec<double> means,
                      Vec<double> widths, Vec<double> p, Pricing pricing) {
    Estimates out{means, widths, p};
    require_numbers(numbers);
    require_estimates(out, mask);
    pricing.check(means.n);
    require(pricing.there() && !draws_samples(numbers), "there are no prices, or the choice is one of samples");
    return settle_priced(out, mask, numbers, key_in(keys), number, pricing);
}

int64_t hear_root(Mat<double> R, Vec<int32_t> slots, Vec<int64_t> used, Indices idx, Vec<const double> val,
                  Vec<const int64_t> starts, int64_t row, double y, Vec<double> numbers) {
    RootState state{R, slots, used};
    Offer offer{idx, val, starts};
    state.check();
    require_numbers(numbers);
    offer.check(row, 1, state.root().dim());
    int64_t why = learn_with_root(state, offer.row(row), y);
    if (why == LEARNT) numbers[ROUNDS] += 1.0;
    return why;
}

int64_t fade_root(Mat<double> R, Vec<int32_t> slots, Vec<int64_t> used, Mat<double> F, Offer offer, int64_t row, double y,
                  double ridge, double keep) {
    RootState state{R, slots, used};
    state.check();
    require(F.rows == R.rows && F.cols == R.rows + 1, "F does not fit R");
    offer.check(row, 1, state.root().dim());
    return fading_step(state, F, offer.row(row), y, ridge, keep);
}

Settled decide_columns(Mat<const double> D, Indices idx, Vec<const double> val, Vec<const int64_t> starts, int64_t first,
                       Mask mask, Vec<const double> numbers, Vec<const uint64_t> keys, int64_t number, Vec<double> means,
                       Vec<double> widths, Vec<double> p) {
    Offer offer{idx, val, starts};
    Estimates out{means, widths, p};
    require_numbers(numbers);
    fading_of(numbers).check(D);
    require_estimates(out, mask);
    offer.check(first, means.n, D.rows);
    return decide_with_columns(D, offer, first, mask, numbers, keys, number, out);
}

Settled sample_columns(Mat<const double> D, Vec<int32_t> marks, Indices idx, Vec<const double> val,
                       Vec<const int64_t> starts, int64_t first, Mask mask, Vec<const double> numbers,
                       Vec<const uint64_t> keys, int64_t number, Vec<double> means, Vec<double> widths, Vec<double> p, Pricing pricing) {
    Offer offer{idx, val, starts};
    Estimates out{means, widths, p};
    require_numbers(numbers);
    fading_of(numbers).check(D);
    require_estimates(out, mask);
    pricing.check(means.n);
    require(marks.n == D.rows, "marks needs one place per column");
    offer.check(first, means.n, D.rows);
    return sample_with_columns(D, marks, offer, first, mask, numbers, keys, number, out, pricing);
}

int64_t hear_columns(Mat<double> D, Offer offer, int64_t row, double y, Fading fading) {
    fading.check(D);
    offer.check(row, 1, D.rows);
    return column_step(D, offer.row(row), y, fading);
}

// The weights and the diagonal of A, as they are after `now` rounds.
void faded_columns(Mat<const double> D, Fading fading, Vec<double> w, Vec<double> a) {
    fading.check(D);
    require(w.n == D.rows && a.n == D.rows, "w and a need one place per column");
    for (int64_t j = 0; j < D.rows; ++j) {
        Column c = column(D, j, fading);
        w[j] = c.w;
        a[j] = c.a;
    }
}

// --- streams ---------------------------------------------------------------------------------------------------------------

// What is played: the rows of all candidates; how many rows lie between one round and the next (0: the same again); which
// candidates are on offer, a row for each round, or one for all, or none; the rewards, a row for each round.
struct Played {
    Offer offer;
    int64_t stride;
    Mask masks;
    Mat<const double> rewards;
    FIELDS(offer, stride, masks, rewards)

    void check(int64_t dim, int64_t begin) const {
        int64_t T = rewards.rows, K = rewards.cols;
        require(K >= 1 && T >= 1 && begin >= 0 && begin <= T, "there must be candidates, and begin must be a round");
        require(stride == 0 || stride == K, "the rows of a round must follow those of the one before");
        offer.check(0, stride == 0 ? K : T * K, dim);
        require(masks.n == 0 || masks.n == K || masks.n == T * K, "the masks do not fit the rewards");
        for (int64_t t = 0; t < masks.n / K; ++t) {
            bool any = false;
            for (int64_t k = 0; k < K; ++k) any |= bool(masks[t * K + k]);
            require(any, "no candidate is on offer");
        }
    }
    INLINE Mask mask(int64_t t) const {
        int64_t K = rewards.cols, first = smallest(t * K, masks.n - K);
        return masks.n ? masks.slice(first, first + K) : masks;
    }
};

// The number of the first round, and the one to begin with.
struct Place {
    int64_t first, begin;
    FIELDS(first, begin)
};

// What was shown in each round, what had the highest estimate, and the probability of what was shown.
struct Shown {
    Vec<int64_t> actions, greedy;
    Vec<double> p;
    FIELDS(actions, greedy, p)

    void check(int64_t rounds) const {
        require(actions.n == rounds && greedy.n == rounds && p.n == rounds, "what is shown needs one place per round");
    }
};

using Reached = std::tuple<int64_t, int64_t>;

// Rounds with full A, until they are over or one cannot be played: which that is, and why (an action below 0).
Reached play_root(Mat<double> R, Vec<int32_t> slots, Vec<int64_t> used, Mat<double> F, Vec<double> numbers,
                  Vec<const uint64_t> keys, Played played, Place place, Shown shown) {
    RootState state{R, slots, used};
    Root source = state.root();
    state.check();
    require_numbers(numbers);
    played.check(source.dim(), place.begin);
    int64_t T = played.rewards.rows, K = played.rewards.cols;
    shown.check(T);
    bool sampled = draws_samples(numbers);
    double ridge = numbers[RIDGE], keep = numbers[KEEP];
    require(!(keep < 1.0) || (F.rows == R.rows && F.cols == R.rows + 1), "F does not fit R");
    bool known = !source.many() && keep == 1.0 && !sampled;    // then what deciding found serves to learn
    Gathered space(source);
    Scratch<double> lean_space((known ? K : 1) * R.cols), means(K), widths(K), p(K);
    Mat<double> leans = lean_space.mat(known ? K : 1, R.cols);
    Estimates out{means.vec(), widths.vec(), p.vec()};
    for (int64_t t = place.begin; t < T; ++t) {
        int64_t number = int64_t(uint64_t(place.first) + uint64_t(t)), row = t * played.stride;
        Mask mask = played.mask(t);
        Settled made;
        if (sampled) {
            made = sample_with_root(state, played.offer, row, mask, numbers, keys, number, out, {});
        } else {
            root_moments(source, played.offer, row, ridge, space, leans, out);
            made = settle(out, mask, numbers, key_in(keys), number);
        }
        int64_t action = std::get<0>(made), why;
        if (action < 0) return {t, action};
        std::tie(shown.actions[t], shown.greedy[t], shown.p[t]) = made;
        Row x = played.offer.row(row + action);
        double y = played.rewards(t, action);
        if (known) {
            why = usable(x.val) && root_absorb(state, x, y, out.means[action], leans[action]) ? LEARNT : STRANGE;
        } else if (keep < 1.0) {
            why = fading_step(state, F, x, y, ridge, keep);
        } else {
            why = root_step(state, x, y, space, leans[0]);
        }
        if (why != LEARNT) return {t, why};
        numbers[ROUNDS] += 1.0;
    }
    return {T, 0};
}

// The same with diagonal A.
Reached play_columns(Mat<double> D, Vec<int32_t> marks, Vec<double> numbers, Vec<const uint64_t> keys, Played played,
                     Place place, Shown shown) {
    require_numbers(numbers);
    fading_of(numbers).check(D);
    played.check(D.rows, place.begin);
    int64_t T = played.rewards.rows, K = played.rewards.cols;
    shown.check(T);
    bool sampled = draws_samples(numbers);
    require(!sampled || marks.n == D.rows, "marks needs one place per column");
    Scratch<double> means(K), widths(K), p(K);
    Estimates out{means.vec(), widths.vec(), p.vec()};
    for (int64_t t = place.begin; t < T; ++t) {
        int64_t number = int64_t(uint64_t(place.first) + uint64_t(t)), row = t * played.stride;
        Mask mask = played.mask(t);
        Settled made = sampled ? sample_with_columns(D, marks, played.offer, row, mask, numbers, keys, number, out, {})
                               : decide_with_columns(D, played.offer, row, mask, numbers, keys, number, out);
        int64_t action = std::get<0>(made);
        if (action < 0) return {t, action};
        std::tie(shown.actions[t], shown.greedy[t], shown.p[t]) = made;
        int64_t why = column_step(D, played.offer.row(row + action), played.rewards(t, action), fading_of(numbers));
        if (why != LEARNT) return {t, why};
        numbers[ROUNDS] += 1.0;
    }
    return {T, 0};
}

// --- courses -----------------------------------------------------------------------------------------------------------------

// The steps begin … end − 1 of a course about candidates can be followed.
void require_choices(const Way& way, const Trip& trip, const Noted& noted, int64_t begin, int64_t end, int64_t dim) {
    Offer offer{way.indices, way.values, way.starts};
    int64_t steps = way.first.n, rows = offer.rows();
    offer.check(0, rows, dim);
    require(0 <= begin && begin <= end && end <= steps, "begin and end must be steps of the course");
    require(way.counts.n == steps && way.actions.n == steps && way.rewards.n == steps,
            "the parts of a course must have one length");
    require(trip.numbers.n == steps && trip.places.n == steps, "a trip must have the steps of its course");
    require(noted.greedy.n == noted.actions.n && noted.p.n == noted.actions.n, "the notes must have one length");
    require(noted.scores.n == noted.shares.n, "scores and shares must have one length");
    bool sound = true;
    for (int64_t t = begin; t < end; ++t) {
        bool there = way.first[t] >= 0 && way.first[t] < rows && way.counts[t] >= 1 && way.counts[t] <= rows - way.first[t];
        sound &= there && (!there || way.first[t] + way.counts[t] <= noted.shares.n) && way.actions[t] < way.counts[t];
        sound &= trip.places[t] >= 0 && trip.places[t] < noted.actions.n;
    }
    require(sound, "a step of the course names a row or a place that is not there");
}

// Steps of a course: `decide` on the rows of a step, `learn` the reward of one of them.
template <class Decide, class Learn>
INLINE int64_t follow(const Way& way, const Trip& trip, int64_t begin, int64_t end, const Noted& noted, Decide decide,
                      Learn learn) {
    Offer offer{way.indices, way.values, way.starts};
    Scratch<double> widths(noted.shares.n);
    for (int64_t t = begin; t < end; ++t) {
        int64_t a = way.first[t], b = a + way.counts[t], place = trip.places[t];
        if (way.actions[t] >= 0) {
            if (learn(offer.row(a + way.actions[t]), way.rewards[t]) != LEARNT) return t;
            continue;
        }
        Estimates out{noted.scores.slice(a, b), widths.vec().slice(a, b), noted.shares.slice(a, b)};
        Settled made = decide(offer, a, trip.numbers[t], out);
        if (std::get<0>(made) < 0) return t;
        std::tie(noted.actions[place], noted.greedy[place], noted.p[place]) = made;
    }
    return end;
}

int64_t follow_root(Mat<double> R, Vec<int32_t> slots, Vec<int64_t> used, Vec<double> numbers, Vec<const uint64_t> keys,
                    Way way, Trip trip, int64_t begin, int64_t end, Noted noted) {
    RootState state{R, slots, used};
    state.check();
    require_numbers(numbers);
    require_choices(way, trip, noted, begin, end, state.root().dim());
    bool sampled = draws_samples(numbers);
    Mask mask{nullptr, 0};
    return follow(
        way, trip, begin, end, noted,
        [&](const Offer& offer, int64_t first, int64_t number, const Estimates& out) {
            return sampled ? sample_with_root(state, offer, first, mask, numbers, keys, number, out, {})
                           : decide_with_root(state.root(), offer, first, mask, numbers, keys, number, out);
        },
        [&](Row x, double y) {
            int64_t why = learn_with_root(state, x, y);
            if (why == LEARNT) numbers[ROUNDS] += 1.0;
            return why;
        });
}

int64_t follow_columns(Mat<double> D, Vec<int32_t> marks, Vec<double> numbers, Vec<const uint64_t> keys, Way way, Trip trip,
                       int64_t begin, int64_t end, Noted noted) {
    require_numbers(numbers);
    fading_of(numbers).check(D);
    bool sampled = draws_samples(numbers);
    require(!sampled || marks.n == D.rows, "marks needs one place per column");
    require_choices(way, trip, noted, begin, end, D.rows);
    Mask mask{nullptr, 0};
    return follow(
        way, trip, begin, end, noted,
        [&](const Offer& offer, int64_t first, int64_t number, const Estimates& out) {
            return sampled ? sample_with_columns(D, marks, offer, first, mask, numbers, keys, number, out, {})
                           : decide_with_columns(D, offer, first, mask, numbers, keys, number, out);
        },
        [&](Row x, double y) {
            int64_t why = column_step(D, x, y, fading_of(numbers));
            if (why == LEARNT) numbers[ROUNDS] += 1.0;
            return why;
        });
}

const Family family("choose", {
    entry<decide_root>("decide_root", "R, slots, idx, val, starts, first, mask, numbers, keys, number, means, widths, p",
                       "One decision with full A among the rows from the first-th on: action, greedy one, propensity."),
    entry<sample_root>("sample_root",
                       "R, slots, used, idx, val, starts, first, mask, numbers, keys, number, means, widths, p, pricing",
                       "The same by posterior samples, with prices if there is a budget."),
    entry<choose_priced>("choose_priced", "mask, numbers, keys, number, means, widths, p, pricing",
                         "The choice again with the prices of a budget, from means and widths."),
    entry<hear_root>("hear_root", "R, slots, used, idx, val, starts, row, y, numbers",
                     "Learn one row of an offer with full A, and count it; says what became of it."),
    entry<fade_root>("fade_root", "R, slots, used, F, offer, row, y, ridge, keep",
                     "Learn one row of an offer with full A, and let all before fade; says what became of it."),
    entry<decide_columns>("decide_columns", "D, idx, val, starts, first, mask, numbers, keys, number, means, widths, p",
                          "One decision with diagonal A: action, greedy one, propensity."),
    entry<sample_columns>("sample_columns",
                          "D, marks, idx, val, starts, first, mask, numbers, keys, number, means, widths, p, pricing",
                          "The same by posterior samples, with prices if there is a budget."),
    entry<hear_columns>("hear_columns", "D, offer, row, y, fading", "Learn one row of an offer with diagonal A."),
    entry<faded_columns>("faded_columns", "D, fading, w, a", "Write the weights and the diagonal of A as they are now."),
    entry<play_root>("play_root", "R, slots, used, F, numbers, keys, played, place, shown",
                     "Rounds with full A; the round that was reached, and why it could not be played."),
    entry<play_columns>("play_columns", "D, marks, numbers, keys, played, place, shown",
                        "Rounds with diagonal A; the round that was reached, and why it could not be played."),
    entry<follow_root>("follow_root", "R, slots, used, numbers, keys, way, trip, begin, end, noted",
                       "Steps of a course with full A; returns the end, or a step that cannot be taken."),
    entry<follow_columns>("follow_columns", "D, marks, numbers, keys, way, trip, begin, end, noted",
                          "Steps of a course with diagonal A; returns the end, or a step that cannot be taken."),
});

}  // namespace
}  // namespace smidgen
