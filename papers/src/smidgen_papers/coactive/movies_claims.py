"""Claims about movies: feedback of several strengths, batches, and the baselines (Sections 6.2 and 6.3).

Effects are ratios per user, averaged on a log scale, so that no user counts for more than another.
"""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.coactive.movies import (
    ALPHAS,
    BATCHES,
    BEST,
    BETTER,
    EXPECTED,
    FIG7,
    FIG8,
    FIG11,
    FIG12,
    HELD,
    WithSVM,
    batch,
)
from smidgen_papers.coactive.movies_duel import KINDS, best
from smidgen_papers.coactive.movies_series import NOISY, rows
from smidgen_papers.coactive.series import STRICT, Line, Lines, Rows, Settings
from smidgen_papers.part import Answers, Run

#: "Approaches zero": the last tenth of the rounds has less than this share of a random movie's regret, and less than
#: the rounds before.
NEARLY_ZERO = 0.05


def approaches_zero(found: Rows) -> Finding:
    """Small in the last tenth of the rounds, and still falling."""
    return every(
        {
            "small": judge(ratio(found.end, found.random), below=NEARLY_ZERO, what="last tenth over a random movie"),
            "falling": judge(ratio(found.end, found.middle), below=1.0, what="last tenth over the four before"),
        }
    )


def falls_soon(answers: Answers, t: int) -> Finding:
    """Check whether the average regret is below half of a random movie's after t rounds, for each α."""
    what = f"average regret of {t} rounds over a random movie's (limit: 0.5)"
    found = {line.name: rows(answers, line) for line in ALPHAS.values()}
    return every({name: judge(ratio(one.at(t), one.random), below=0.5, what=what) for name, one in found.items()})


def stronger_is_lower(answers: Answers) -> Finding:
    """Check whether a higher α ends lower."""
    ends = {alpha: rows(answers, line).last for alpha, line in ALPHAS.items()}
    what = "last average regret over that of the next higher α"
    pairs = {"α = 0.1": (0.1, 0.5), "α = 0.5": (0.5, 1.0)}
    return every(
        {name: judge(ratio(ends[low], ends[high]), above=1.0, what=what) for name, (low, high) in pairs.items()}
    )


def strict_goes_to_zero(answers: Answers) -> Finding:
    """Check whether regret approaches zero for each α."""
    return every({line.name: approaches_zero(rows(answers, line)) for line in ALPHAS.values()})


@add_claim(
    "coactive/movies-fall-soon",
    says="Regret is substantially reduced after tens or hundreds of rounds (movies).",
    where="Section 6.2.1",
    needs="coactive/fig2:movies",
)
def _soon(run: Run, answers: Answers) -> Finding:
    return falls_soon(answers, 300)


@add_claim(
    "coactive/movies-stronger-is-lower",
    says="Regret for α = 1 is lower than for smaller α (movies).",
    where="Section 6.2.1",
    needs="coactive/fig2:movies",
)
def _stronger(run: Run, answers: Answers) -> Finding:
    return stronger_is_lower(answers)


@add_claim(
    "coactive/movies-less-than-tenfold",
    says="The difference between α = 1 and α = 0.1 is much smaller than a factor of ten (movies).",
    where="Section 6.2.1",
    needs="coactive/fig2:movies",
)
def _tenfold(run: Run, answers: Answers) -> Finding:
    weak, strong = (rows(answers, ALPHAS[alpha]).last for alpha in (0.1, 1.0))
    return judge(ratio(weak, strong), below=5.0, what="last average regret, α = 0.1 over α = 1 (limit: 5)")


@add_claim(
    "coactive/movies-strict-to-zero",
    says="Without noise regret approaches zero for every α (movies).",
    where="Section 6.2.1",
    needs="coactive/fig2:movies",
)
def _zero(run: Run, answers: Answers) -> Finding:
    return strict_goes_to_zero(answers)


@add_claim(
    "coactive/movies-noise-is-higher",
    says="On movies regret is higher with noisy feedback than with strict feedback.",
    where="Section 6.2.2",
    needs="coactive/fig3:movies",
)
def _noise(run: Run, answers: Answers) -> Finding:
    strict = rows(answers, ALPHAS[0.5]).last
    what = "last average regret over that of α = 0.5"
    return every(
        {line.name: judge(ratio(rows(answers, line).last, strict), above=1.0, what=what) for line in (BETTER, BEST)}
    )


for _figure, _user, _kind in ((4, STRICT, "strict"), (5, NOISY, "noisy")):

    @add_claim(
        f"coactive/movies-smaller-batches-faster-{_kind}",
        says=f"The smaller k, the faster regret falls ({_kind} feedback, movies).",
        where="Section 6.2.3",
        needs=f"coactive/fig{_figure}:movies",
    )
    def _faster(run: Run, answers: Answers, user: Settings = _user) -> Finding:
        ends = {k: rows(answers, batch(k, user)).last for k in (1, *BATCHES)}
        pairs = zip((1, *BATCHES), BATCHES, strict=False)
        what = "last average regret over that of the k before"
        return every({f"k = {b}": judge(ratio(ends[b], ends[a]), above=1.0, what=what) for a, b in pairs})

    @add_claim(
        f"coactive/movies-batches-better-than-root-k-{_kind}",
        says=f"Regret grows with k by substantially less than the √k of the bound ({_kind} feedback, movies).",
        where="Section 6.2.3",
        needs=f"coactive/fig{_figure}:movies",
    )
    def _cheaper(run: Run, answers: Answers, user: Settings = _user) -> Finding:
        one = rows(answers, batch(1, user)).last
        found = {k: ratio(rows(answers, batch(k, user)).last, one) for k in BATCHES}
        what = "last average regret over that of k = 1"
        return every({f"k = {k}": judge(x, below=k**0.5, what=f"{what} (√k = {k**0.5:.1f})") for k, x in found.items()})


@add_claim(
    "coactive/movies-expected-as-good",
    says="After many rounds there is not much difference between expected and deterministic feedback (movies).",
    where="Section 6.2.4",
    needs="coactive/fig6:movies",
)
def _expected(run: Run, answers: Answers) -> Finding:
    pair = ratio(rows(answers, EXPECTED).last, rows(answers, Line("deterministic")).last)
    return judge(pair, above=2 / 3, below=1.5, what="last average regret, expected over deterministic (2/3 to 3/2)")


@add_claim(
    "coactive/movies-expected-to-zero",
    says="Regret converges to zero with feedback that is informative in expectation only (movies).",
    where="Section 6.2.4",
    needs="coactive/fig6:movies",
)
def _expected_zero(run: Run, answers: Answers) -> Finding:
    return approaches_zero(rows(answers, EXPECTED))


def _both(answers: Answers, pair: WithSVM) -> tuple[Rows, Rows]:
    """Perceptron and SVM on the same users."""
    svm = rows(answers, pair.svm)
    return rows(answers, pair.perceptron).first(len(svm.regret)), svm


def _ahead(perceptron: Rows, svm: Rows) -> FloatArray:
    """Per user: the share of the SVM's rounds, on a log scale, at which the perceptron's average regret is lower."""
    late = svm.t >= 2
    rival = np.array([np.interp(np.log(svm.t), np.log(perceptron.t), row) for row in perceptron.regret])
    return np.asarray((rival[:, late] < svm.regret[:, late]).mean(axis=1))


def with_reason(found: Finding, answers: Answers, pair: WithSVM) -> Finding:
    """Say what becomes of the comparison if the SVM's C is small: what it hangs on."""
    if found.verdict == "holds":
        return found
    slow = rows(answers, pair.held[0])
    quick = rows(answers, pair.perceptron).first(len(slow.regret)).at(int(slow.t[-1]))
    sentence = f"It hangs on C: with C held at {HELD[0]:g}, SVM over perceptron is {ratio(slow.last, quick)}"
    return Finding(found.verdict, found.effect, f"{found.reason}. {sentence}" if found.reason else sentence)


def ahead_of_svm(answers: Answers) -> Finding:
    """Check whether the perceptron is lower than the SVM over most of the range, under noise."""
    perceptron, svm = _both(answers, FIG8)
    end = int(svm.t[-1])
    found = every(
        {
            "range": judge(
                mean(_ahead(perceptron, svm)),
                above=0.5,
                what=f"share of the rounds 2 to {end:,} (log scale) with the perceptron ahead",
            ),
            "end": judge(
                ratio(svm.last, perceptron.at(end)),
                above=1.0,
                what=f"average regret of {end:,} rounds, SVM over perceptron",
            ),
        }
    )
    return with_reason(found, answers, FIG8)


def cheaper_than_svm(answers: Answers, pair: WithSVM) -> Finding:
    """Check whether the perceptron takes less time per round than the SVM; both times are means over users."""
    perceptron, svm = _both(answers, pair)
    slow, quick = (float(one.seconds.mean()) / int(one.t[-1]) for one in (svm, perceptron))
    quotient = slow / quick
    effect = f"seconds per round, SVM over perceptron: {quotient:.3g} (the paper: 260/125 = 2.1)"
    return Finding("holds" if quotient > 2.0 else "does not hold here", effect)


@add_claim(
    "coactive/movies-far-ahead-of-svm-strict",
    says="With strict feedback the perceptron does much better than the ranking SVM on movies.",
    where="Section 6.2.5",
    needs="coactive/fig7:movies",
)
def _svm_strict(run: Run, answers: Answers) -> Finding:
    perceptron, svm = _both(answers, FIG7)
    end = int(svm.t[-1])
    what = f"average regret of {end:,} rounds, SVM over perceptron (much better: above 1.5)"
    return with_reason(judge(ratio(svm.last, perceptron.at(end)), above=1.5, what=what), answers, FIG7)


@add_claim(
    "coactive/movies-ahead-of-svm-noisy",
    says="With noisy feedback the perceptron is significantly better than the SVM over most of the range (movies).",
    where="Section 6.2.5",
    needs="coactive/fig8:movies",
)
def _svm_noisy(run: Run, answers: Answers) -> Finding:
    return ahead_of_svm(answers)


@add_claim(
    "coactive/movies-fraction-of-the-cost",
    says="The perceptron takes about half of the SVM's time per user (125 s against 260 s on movies).",
    where="Section 6.2.5",
    needs="coactive/fig7:movies",
)
def _cost(run: Run, answers: Answers) -> Finding:
    return cheaper_than_svm(answers, FIG7)


@add_claim(
    "coactive/movies-bandit-far-behind",
    says="The dueling bandit with the best of 25 settings does substantially worse than the perceptron on movies.",
    where="Section 6.2.6",
    needs="coactive/fig10:movies",
)
def _bandit(run: Run, answers: Answers) -> Finding:
    findings = {}
    for kind, (compare, feedback) in KINDS.items():
        bandit = best(answers, compare)[2].last
        perceptron = rows(answers, Line("perceptron", user=feedback)).last[: len(bandit)]
        what = "last average regret, bandit over perceptron (limit: 1.5)"
        findings[kind] = judge(ratio(bandit, perceptron), above=1.5, what=what)
    return every(findings)


_SAYS = {
    "early": "The exponentiated algorithm is slightly better than the additive one at first ({} feedback, movies).",
    "late": "After many rounds exponentiated and additive updates perform comparably ({} feedback, movies).",
    "fixed": "With a fixed rate the exponentiated algorithm behaves almost as the additive one ({} feedback, movies).",
}
for _figure, _pair, _kind in ((11, FIG11, "strict"), (12, FIG12, "noisy")):
    for _which, _says in _SAYS.items():

        @add_claim(
            f"coactive/movies-exponentiated-{_which}-{_kind}",
            says=_says.format(_kind),
            where="Section 6.3",
            needs=f"coactive/fig{_figure}:movies",
        )
        def _updates(run: Run, answers: Answers, pair: Lines = _pair, which: str = _which) -> Finding:
            additive = rows(answers, pair.lines[0])
            other = rows(answers, pair.table_only[0] if which == "fixed" else pair.lines[1])
            if which == "early":
                what = "average regret of 30 rounds, exponentiated over additive"
                return judge(ratio(other.at(30), additive.at(30)), below=1.0, what=what)
            what = "last average regret, exponentiated over additive (limits: 0.8, 1.25)"
            return judge(ratio(other.last, additive.last), above=0.8, below=1.25, what=what)
