// Simulated users (smidgen.users).
#include "users.hpp"

#include "bind.hpp"

namespace smidgen {
namespace {

void require_shown(Order shown, Vec<const double> numbers, Vec<int64_t> out) {
    require_ranking(shown, shown.n);
    require(numbers.n == shown.n, "each document needs a score or label");
    require(out.n == shown.n, "out needs one place per document");
}

void strict_answer(Vec<const double> scores, Order shown, Vec<const double> discounts, double alpha, Vec<int64_t> better) {
    require_shown(shown, scores, better);
    require(discounts.n <= shown.n, "there are more discounts than documents");
    Answering a(shown.n);
    inspect(scores, shown, discounts, alpha, a, better);
}

void expected_answer(Vec<const double> scores, Order shown, Vec<const double> discounts, Person user, Generator rng,
                     Vec<int64_t> better) {
    require_shown(shown, scores, better);
    require(discounts.n <= shown.n, "there are more discounts than documents");
    user.check(shown.n);
    Answering a(shown.n, user.randoms);
    mix(shown, scores, discounts, user, rng, a, better);
}

void noisy_answer(Vec<const double> labels, Order shown, int64_t depth, int64_t top, Vec<int64_t> better) {
    require_shown(shown, labels, better);
    require(depth >= 0 && top >= 0, "depth and top must be at least 0");
    Answering a(shown.n);
    put_best_first(shown, labels, depth, top, a, better);
}

int64_t write_clicks(Person user, Order shown, Vec<const double> labels, Generator rng, Vec<int64_t> clicked) {
    require_shown(shown, labels, clicked);
    user.check(shown.n);
    Answering a(shown.n);
    return click(user, shown, labels, rng, a, clicked);
}

const Family family("users", {
    entry<enough>("enough", "before, best, alpha", "The utility that gains the share alpha of what could be gained."),
    entry<random_mass>("random_mass", "target, strict, random",
                       "The largest mass on random objects that leaves the gain at the target."),
    entry<strict_answer>("write_strict", "scores, shown, discounts, alpha, better",
                         "The ranking of the shortest prefix whose best documents, put on top, gain enough."),
    entry<expected_answer>("write_expected", "scores, shown, discounts, user, rng, better",
                           "A strict ranking, or at times one of some random rankings."),
    entry<noisy_answer>("write_noisy", "labels, shown, depth, top, better",
                        "The documents of highest label among the first `depth`, in front of the others."),
    entry<write_clicks>("write_clicks", "user, shown, labels, rng, clicked", "The clicked documents; returns how many."),
});

}  // namespace
}  // namespace smidgen
