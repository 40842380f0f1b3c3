"""Claims that compare web search with movies, or speak of both."""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Estimate, Finding, Verdict, every, judge, mean, ratio
from smidgen_papers.coactive import movies, movies_convex, movies_series, web, web_convex, web_series
from smidgen_papers.coactive.web_claims import on_each
from smidgen_papers.coactive.web_data import NAMES, main_sources
from smidgen_papers.part import Answers, Run


def less(low: Estimate, high: Estimate, what: str) -> Finding:
    """Check whether one estimate lies below another, by their intervals."""
    verdict: Verdict = "cannot be tested here"
    if low.high < high.low:
        verdict = "holds"
    elif low.low > high.high:
        verdict = "does not hold here"
    effect = f"{what}: {low} on web search, {high} on movies"
    return Finding(verdict, effect, "the intervals overlap" if verdict == "cannot be tested here" else "")


@add_claim(
    "coactive/alpha-matters-less-on-web",
    says="The differences between the values of α are less prominent for web search than for movies.",
    where="Section 6.2.1",
    needs=("coactive/fig2:web", "coactive/fig2:movies"),
)
def _alpha(run: Run, searched: Answers, watched: Answers) -> Finding:
    played = Answers(answer for answer in watched if "learner" in answer.settings)
    weak, strong = (movies_series.rows(played, movies.ALPHAS[alpha]).last for alpha in (0.1, 1.0))
    on_movies = _ratio_of_means(weak, strong)

    def check(source: str) -> Finding:
        low, high = (web_series.rows(searched, source, web.ALPHAS[alpha]).last for alpha in (0.1, 1.0))
        return less(ratio(low, high), on_movies, "last average regret, α = 0.1 over α = 1")

    return on_each(run, check)


@add_claim(
    "coactive/gamma-broader-on-web",
    says="The range of suitable γ is much broader for web search than for movies.",
    where="Section 6.4.1",
    needs=("coactive/fig15:web", "coactive/fig16:movies"),
)
def _gamma(run: Run, searched: Answers, watched: Answers) -> Finding:
    users = movies_convex.sweep(watched, movies_convex.TIMES[run.quick][-1])
    groups = np.array([group.mean(axis=0) for group in np.array_split(users, 10)])
    narrow = mean(_suitable(groups))

    def check(source: str) -> Finding:
        t = web_convex.sweep_times(run, source)[-1]
        broad = mean(_suitable(web_convex.sweep(run, searched, source, t)))
        what = "values of γ, of nine powers of ten, within twice the least regret"
        found = less(narrow, broad, what)
        return Finding(found.verdict, f"{what}: {broad} on web search, {narrow} on movies", found.reason)

    return on_each(run, check)


@add_claim(
    "coactive/on-par-with-svm",
    says="The perceptron does as well as ranking SVMs or better, on both tasks and with both kinds of feedback.",
    where="Section 6.2.5",
    needs=("coactive/fig7:web", "coactive/fig8:web", "coactive/fig7:movies", "coactive/fig8:movies"),
)
def _svm(run: Run, strict: Answers, noisy: Answers, strict_movies: Answers, noisy_movies: Answers) -> Finding:
    findings = {}
    what = "average regret at the SVM's last round, SVM over perceptron (on par: above 0.8)"
    for kind, pair, answers in (("strict", web.FIG7, strict), ("noisy", web.FIG8, noisy)):
        for source in main_sources(run):
            svm = web_series.rows(answers, source, pair.svm)
            rival = web_series.rows(answers, source, pair.perceptron).at(int(svm.t[-1]))[: len(svm.regret)]
            findings[f"{NAMES[source]}, {kind}"] = judge(ratio(svm.last, rival), above=0.8, what=what)
    for kind, both, answers in (("strict", movies.FIG7, strict_movies), ("noisy", movies.FIG8, noisy_movies)):
        slow = movies_series.rows(answers, both.svm)
        quick = movies_series.rows(answers, both.perceptron).at(int(slow.t[-1]))[: len(slow.regret)]
        findings[f"movies, {kind}"] = judge(_ratio_of_means(slow.last, quick), above=0.8, what=what)
    return every(findings)


def _suitable(regret: FloatArray) -> FloatArray:
    """How many γ (columns) have at most twice the least regret, per row."""
    return np.asarray((regret <= 2.0 * regret.min(axis=1, keepdims=True)).sum(axis=1), dtype=np.float64)


def _ratio_of_means(above: FloatArray, below: FloatArray) -> Estimate:
    """The ratio of two means over users, by groups of users: single users may have no regret at all."""
    groups = max(2, min(10, len(above)))
    parts = [[group.mean() for group in np.array_split(values, groups)] for values in (above, below)]
    return ratio(*parts)
