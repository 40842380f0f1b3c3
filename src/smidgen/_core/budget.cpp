// Budgets: the price of cost, estimates of costs that are not known, and what the floor gives to each candidate.
#include "bind.hpp"
#include "settle.hpp"

namespace smidgen {
namespace {

// Where things stand in the numbers of one currency (learners/pacing.py): the price, how many decisions were paid, their
// sum, where the next one goes among the latest, the faded sum, count and squares of the logarithms of reported costs, the
// faded sum and count of reported over estimated, the largest reported cost, the latest costs.
enum : int64_t { PRICE, PAID, SPENT, NEXT, LOGS, REPORTS, SQUARES, RATIOS, RATIO_COUNT, LARGEST, LATEST, PACER = LATEST + 200 };
inline constexpr int64_t MEMORY = PACER - LATEST;
// How far one decision moves the price, and the highest price: with it the cheapest candidate always wins.
inline constexpr double STEP = 0.02, MOST = 50.0;
// A cost counts as at least this part of the highest one on offer; what fades by how much; bounds of estimates in logs.
inline constexpr double LEAST = 1e-3, FADES = 0.99, FURTHEST = 6.0, ODDEST = 3.0;

void require_pacer(Vec<const double> numbers, double limit) {
    require(numbers.n == PACER, "the numbers of a currency do not have the right length");
    require(limit > 0.0, "a limit must be above 0");
    require(numbers[NEXT] >= 0.0 && numbers[NEXT] < double(MEMORY), "the place of the next cost is out of range");
}

INLINE double within(double x, double low, double high) { return smallest(largest(x, low), high); }

// Costs by candidate's name, logs: the faded count and sum. Names share places.
INLINE int64_t arm_place(Mat<const double> arms, uint32_t name) {
    return int64_t((name * 2654435769u) >> 8) & (arms.rows - 1);
}
void require_arms(Mat<const double> arms) {
    require(arms.rows >= 2 && (arms.rows & (arms.rows - 1)) == 0 && arms.cols == 2, "the table of costs has another form");
}

// The costs that were reported for one currency, and what is expected of a row.
struct Costs {
    Vec<double> numbers;
    Mat<double> arms, D;
    FIELDS(numbers, arms, D)

    INLINE bool any() const { return numbers[REPORTS] > 0.0; }
    INLINE bool met(uint32_t name) const { return name && arms(arm_place({arms.data, arms.rows, arms.cols}, name), 0) > 0.0; }
    INLINE double mean() const { return numbers[LOGS] / numbers[REPORTS]; }
    // The log of a cost without its features: of a candidate that was never paid, a low one, so that it is tried.
    INLINE double base(uint32_t name) const {
        if (met(name)) {
            int64_t at = arm_place({arms.data, arms.rows, arms.cols}, name);
            return arms(at, 1) / arms(at, 0);
        }
        double spread = largest(numbers[SQUARES] / numbers[REPORTS] - mean() * mean(), 0.0);
        return mean() - (name ? 2.0 * root(spread) : 0.0);
    }
    INLINE double by_features(Row x) const {
        double sum = 0.0;
        for (int64_t e = 0; e < x.idx.n && D.rows > 0; ++e) sum += x.val[e] * D(x.idx[e], 0);
        return is_finite(sum) ? within(sum, -FURTHEST, FURTHEST) : 0.0;
    }
    INLINE double expected(uint32_t name, Row x) const {
        double usual = numbers[RATIO_COUNT] > 0.0 ? numbers[RATIOS] / numbers[RATIO_COUNT] : 1.0;
        return exp(base(name) + by_features(x)) * usual;
    }
};

// Costs of the candidates (those of `known` that are numbers, else estimates); add λ·g to the prices, with
// g = log(1 + cost/limit) less that of the cheapest, and cost ÷ limit to the loads by which the floor is spread.
void quote(Costs paid, Vec<const uint32_t> names, Mask mask, Offer offer, Vec<const double> known, double limit,
           Vec<double> costs, Vec<double> prices, Vec<double> loads) {
    int64_t K = costs.n;
    require_pacer({paid.numbers.data, paid.numbers.n}, limit);
    require_arms({paid.arms.data, paid.arms.rows, paid.arms.cols});
    require(known.n == 0 || known.n == K, "known costs need one place per candidate");
    require(names.n == 0 || names.n == K, "names need one place per candidate");
    require(K >= 1 && prices.n == K && loads.n == K && (mask.n == 0 || mask.n == K), "there must be one place per candidate");
    if (paid.D.rows > 0) offer.check(0, K, paid.D.rows);
    double least = INF;
    for (int64_t k = 0; k < K; ++k) {
        double own = known.n ? known[k] : std::numeric_limits<double>::quiet_NaN();
        Row x = paid.D.rows > 0 ? offer.row(k) : Row{offer.idx.slice(0, 0), offer.val.slice(0, 0)};
        if (!(own >= 0.0) && paid.any()) own = paid.expected(arm_name(names, k, x), x);
        costs[k] = own;
        if (own >= 0.0 && on_offer(mask, k)) least = smallest(least, own);
    }
    if (!is_finite(least)) least = 0.0;
    double high = 0.0;
    for (int64_t k = 0; k < K; ++k) {
        if (!(costs[k] >= 0.0)) costs[k] = least;    // nothing is known of it: as the cheapest
        if (on_offer(mask, k)) high = largest(high, costs[k]);
    }
    if (high > 0.0) {
        least = largest(least, LEAST * high);
        double free = log1p(smallest(least / limit, 1e100));
        for (int64_t k = 0; k < K; ++k) {
            double cost = within(costs[k], least, high);
            prices[k] += paid.numbers[PRICE] * (log1p(smallest(cost / limit, 1e100)) - free);
            loads[k] += smallest(cost / limit, 1e100);
        }
    }
}

// From loads to the part of the floor of each candidate: in proportion to 1/load, evenly if there is none.
void share_floor(Vec<double> loads, Mask mask) {
    double high = 0.0, total = 0.0;
    for (int64_t k = 0; k < loads.n; ++k) high = on_offer(mask, k) ? largest(high, loads[k]) : high;
    for (int64_t k = 0; k < loads.n; ++k) {
        loads[k] = !on_offer(mask, k) ? 0.0 : high > 0.0 ? high / largest(loads[k], LEAST * high) : 1.0;
        total += loads[k];
    }
    for (double& load : loads) load /= total;
}

// Pay a decision: the price moves, and the cost is one of the latest.
void pay(Vec<double> numbers, double cost, double limit) {
    require_pacer({numbers.data, numbers.n}, limit);
    numbers[PRICE] = within(numbers[PRICE] + STEP * (smallest(cost / limit, 1e6) - 1.0), 0.0, MOST);
    numbers[PAID] += 1.0;
    numbers[SPENT] += cost;
    int64_t at = truncated(numbers[NEXT]);
    numbers[LATEST + at] = cost;
    numbers[NEXT] = double((at + 1) % MEMORY);
}

// A decision cost so much more than was paid.
void pay_rest(Vec<double> numbers, double rest, double limit) {
    require_pacer({numbers.data, numbers.n}, limit);
    numbers[PRICE] = within(numbers[PRICE] + STEP * within(rest / limit, -1e6, 1e6), 0.0, MOST);
    numbers[SPENT] += rest;
    numbers[LATEST + (truncated(numbers[NEXT]) + MEMORY - 1) % MEMORY] += rest;
}

// Learn what one candidate has cost. Zeros count as a trillionth of the largest; before there is one they tell nothing.
void learn_cost(Costs paid, Vec<const uint32_t> names, Offer offer, int64_t row, double cost) {
    require_pacer({paid.numbers.data, paid.numbers.n}, 1.0);
    require_arms({paid.arms.data, paid.arms.rows, paid.arms.cols});
    if (paid.D.rows > 0) offer.check(row, 1, paid.D.rows);
    require(names.n == 0 || (row >= 0 && row < names.n), "the candidate has no name");
    Vec<double>& n = paid.numbers;
    n[LARGEST] = largest(n[LARGEST], cost);
    if (n[LARGEST] == 0.0) return;
    Row x = paid.D.rows > 0 ? offer.row(row) : Row{offer.idx.slice(0, 0), offer.val.slice(0, 0)};
    uint32_t name = arm_name(names, row, x);
    double y = log(largest(cost, 1e-12 * n[LARGEST]));
    double base = paid.met(name) ? paid.base(name) : paid.any() ? paid.mean() : y;
    if (paid.met(name) || (!name && paid.any())) {
        double off = within(y - base - paid.by_features(x), -ODDEST, ODDEST);
        n[RATIOS] = FADES * n[RATIOS] + exp(off);
        n[RATIO_COUNT] = FADES * n[RATIO_COUNT] + 1.0;
    }
    if (paid.D.rows > 0) column_step(paid.D, x, y - base, {1.0, 1.0, 0.0});
    if (name) {
        int64_t at = arm_place({paid.arms.data, paid.arms.rows, paid.arms.cols}, name);
        paid.arms(at, 0) = FADES * paid.arms(at, 0) + 1.0;
        paid.arms(at, 1) = FADES * paid.arms(at, 1) + y;
    }
    n[LOGS] = FADES * n[LOGS] + y;
    n[SQUARES] = FADES * n[SQUARES] + y * y;
    n[REPORTS] = FADES * n[REPORTS] + 1.0;
}

const Family family("budget", {
    entry<quote>("quote", "paid, names, mask, offer, known, limit, costs, prices, loads",
                 "Costs of candidates, known or estimated; adds their prices, and the loads that spread the floor."),
    entry<share_floor>("share_floor", "loads, mask", "From loads to the part of the floor of each candidate."),
    entry<pay>("pay", "numbers, cost, limit", "Pay a decision: the price moves."),
    entry<pay_rest>("pay_rest", "numbers, rest, limit", "Pay the difference between a reported cost and what was paid."),
    entry<learn_cost>("learn_cost", "paid, names, offer, row, cost", "Learn what one candidate has cost."),
});

}  // namespace
}  // namespace smidgen
