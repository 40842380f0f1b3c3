"""Claims about web search: ranking SVM, dueling bandit, exponentiated updates (Sections 6.2.5, 6.2.6, 6.3)."""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, ratio, untestable
from smidgen_papers.coactive.duels import matched
from smidgen_papers.coactive.series import Line, Rows
from smidgen_papers.coactive.web import FIG7, FIG8, FIG11, FIG12, Updates, WithSVM
from smidgen_papers.coactive.web_claims import on_each
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.coactive.web_duel import USERS, best
from smidgen_papers.coactive.web_series import ROUNDS, rows
from smidgen_papers.part import Answers, Run


def _both(answers: Answers, source: str, pair: WithSVM) -> tuple[Rows, Rows]:
    """Perceptron and SVM on the same random orders."""
    svm = rows(answers, source, pair.svm)
    return rows(answers, source, pair.perceptron).first(len(svm.regret)), svm


def _ahead(perceptron: Rows, svm: Rows) -> FloatArray:
    """Per order: the share of the SVM's rounds, on a log scale, at which the perceptron's average regret is lower."""
    late = svm.t >= 2
    rival = np.array([np.interp(np.log(svm.t), np.log(perceptron.t), row) for row in perceptron.regret])
    return np.asarray((rival[:, late] < svm.regret[:, late]).mean(axis=1))


@add_claim(
    "coactive/svm-comparable-strict",
    says="With strict feedback perceptron and ranking SVM do comparably on web search.",
    where="Section 6.2.5",
    needs="coactive/fig7:web",
)
def _comparable(run: Run, answers: Answers) -> Finding:
    def check(source: str) -> Finding:
        perceptron, svm = _both(answers, source, FIG7)
        end = int(svm.t[-1])
        what = f"average regret of {end:,} rounds, SVM over perceptron (comparable: 2/3 to 3/2)"
        return judge(ratio(svm.last, perceptron.at(end)), above=2 / 3, below=1.5, what=what)

    return on_each(run, check)


def ahead_of_svm(run: Run, answers: Answers) -> Finding:
    """Check whether the perceptron is ahead of the SVM over most of the range, under noise."""

    def check(source: str) -> Finding:
        perceptron, svm = _both(answers, source, FIG8)
        what = f"share of the rounds 2 to {svm.t[-1]:,} (log scale) with the perceptron ahead"
        return judge(mean(_ahead(perceptron, svm)), above=0.5, what=what)

    return on_each(run, check)


def cheaper_than_svm(run: Run, answers: Answers, pair: WithSVM) -> Finding:
    """Check whether the perceptron's rounds cost a small fraction of the SVM's."""

    def check(source: str) -> Finding:
        perceptron, svm = _both(answers, source, pair)
        slow, fast = svm.seconds / svm.t[-1], perceptron.seconds / perceptron.t[-1]
        what = "time per round, SVM over perceptron (limit: 10)"
        return judge(ratio(slow, np.full(len(slow), np.median(fast))), above=10.0, what=what)

    return on_each(run, check)


@add_claim(
    "coactive/ahead-of-svm-noisy",
    says="With noisy feedback the perceptron is significantly better than the SVM over most of the range (web search).",
    where="Section 6.2.5",
    needs="coactive/fig8:web",
)
def _noisy(run: Run, answers: Answers) -> Finding:
    return ahead_of_svm(run, answers)


@add_claim(
    "coactive/fraction-of-the-cost",
    says="The perceptron takes a fraction of the SVM's time (20 minutes against 20 hours).",
    where="Section 6.2.5",
    needs="coactive/fig7:web",
)
def _cost(run: Run, answers: Answers) -> Finding:
    return cheaper_than_svm(run, answers, FIG7)


@add_claim(
    "coactive/bandit-orders-of-magnitude",
    says="With the best of 25 settings the dueling bandit is worse than the perceptron by orders of magnitude.",
    where="Section 6.2.6",
    needs="coactive/fig9:web",
)
def _magnitude(run: Run, answers: Answers) -> Finding:
    findings = {}
    for source in main_sources(run):
        for kind, user in USERS.items():
            bandit = best(answers, source, user)[2].last
            perceptron = rows(answers, source, Line("perceptron", user=user)).last[: len(bandit)]
            what = "last average regret, bandit over perceptron (limit: 10)"
            findings[f"{NAMES[source]}, {kind}"] = judge(ratio(bandit, perceptron), above=10.0, what=what)
    return every(findings)


@add_claim(
    "coactive/bandit-matched-before-100",
    says="What the dueling bandit reaches after 28,000 rounds the perceptron has in fewer than 100, with both kinds "
    "of feedback.",
    where="Section 6.2.6",
    needs="coactive/fig9:web",
)
def _matched(run: Run, answers: Answers) -> Finding:
    findings = {}
    for source in main_sources(run):
        for kind, user in USERS.items():
            level = float(best(answers, source, user)[2].last.mean())
            perceptron = rows(answers, source, Line("perceptron", user=user))
            early = perceptron.t < 100
            there = (perceptron.regret[:, early] <= level).any(axis=1)
            when = matched(perceptron, level)
            what = f"mean curve there in round {when:.0f}" if np.isfinite(when) else "mean curve never there"
            findings[f"{NAMES[source]}, {kind}"] = judge(
                mean(there.astype(float)), above=0.5, what=f"{what}; share of the orders there before round 100"
            )
    found = every(findings)
    if run.quick:
        return untestable(
            f"a quick run has {ROUNDS[True]:,} rounds, not 28,000, and the bandit goes on falling", found.effect
        )
    return found


def _updates(run: Run, answers: Answers, pair: Updates, which: str) -> Finding:
    def check(source: str) -> Finding:
        additive, other = (rows(answers, source, line) for line in pair.lines)
        if which == "early":
            what = "average regret of 100 rounds, exponentiated over additive"
            return judge(ratio(other.at(100), additive.at(100)), below=1.0, what=what)
        if which == "fixed":
            other = rows(answers, source, pair.fixed(run))
        what = f"last average regret, exponentiated{', fixed rate,' if which == 'fixed' else ''} over additive"
        return judge(ratio(other.last, additive.last), above=0.8, below=1.25, what=f"{what} (limits: 0.8, 1.25)")

    return on_each(run, check)


_SAYS = {
    "early": "The exponentiated algorithm is slightly better than the additive one at first ({} feedback, web search).",
    "late": "After many rounds exponentiated and additive updates perform comparably ({} feedback, web search).",
    "fixed": "With a fixed rate the exponentiated algorithm behaves almost as the additive one ({} feedback, web "
    "search).",
}
for _figure, _pair, _kind in ((11, FIG11, "strict"), (12, FIG12, "noisy")):
    for _which, _says in _SAYS.items():

        @add_claim(
            f"coactive/exponentiated-{_which}-{_kind}",
            says=_says.format(_kind),
            where="Section 6.3",
            needs=f"coactive/fig{_figure}:web",
        )
        def _claim(run: Run, answers: Answers, pair: Updates = _pair, which: str = _which) -> Finding:
            return _updates(run, answers, pair, which)
