"""Claims of the paper of 2012 about movies (Section 5.2)."""

from __future__ import annotations

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, ratio
from smidgen_papers.coactive.movies import ALPHAS, FIG8
from smidgen_papers.coactive.movies_claims import (
    ahead_of_svm,
    cheaper_than_svm,
    strict_goes_to_zero,
    stronger_is_lower,
)
from smidgen_papers.coactive.movies_series import rows
from smidgen_papers.part import Answers, Run


@add_claim(
    "coactive2012/movies-strict-to-zero",
    says="On movies the average regret falls towards zero for every α.",
    where="Section 5.2.1",
    needs="coactive2012/fig4:movies",
)
def _zero(run: Run, answers: Answers) -> Finding:
    return strict_goes_to_zero(answers)


@add_claim(
    "coactive2012/movies-fall-within-tens",
    says="Even for a moderate α regret is substantially reduced after tens of rounds (movies).",
    where="Section 5.2.1",
    needs="coactive2012/fig4:movies",
)
def _soon(run: Run, answers: Answers) -> Finding:
    found = rows(answers, ALPHAS[0.5])
    what = "average regret of 50 rounds over a random movie's, α = 0.5 (limit: 0.5)"
    return judge(ratio(found.at(50), found.random), below=0.5, what=what)


@add_claim(
    "coactive2012/movies-stronger-is-faster",
    says="With higher α regret converges to zero at a much faster rate (movies).",
    where="Section 5.2.1",
    needs="coactive2012/fig4:movies",
)
def _faster(run: Run, answers: Answers) -> Finding:
    weak, strong = (rows(answers, ALPHAS[alpha]) for alpha in (0.1, 1.0))
    what = "last average regret, α = 0.1 over α = 1 (much: above 1.5)"
    return every(
        {"order": stronger_is_lower(answers), "rate": judge(ratio(weak.last, strong.last), above=1.5, what=what)}
    )


@add_claim(
    "coactive2012/movies-ahead-of-svm",
    says="With noisy feedback the regret of the perceptron is significantly lower than that of the SVM (movies).",
    where="Section 5.2.2",
    needs="coactive2012/fig5:movies",
)
def _svm(run: Run, answers: Answers) -> Finding:
    return ahead_of_svm(answers)


@add_claim(
    "coactive2012/movies-fraction-of-the-cost",
    says="The perceptron takes a small fraction of the SVM's computing (movies).",
    where="Section 5.2.2",
    needs="coactive2012/fig5:movies",
)
def _cost(run: Run, answers: Answers) -> Finding:
    return cheaper_than_svm(answers, FIG8)
