"""Claims of the paper of 2012 about web search (its Section 5.1)."""

from __future__ import annotations

from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding
from smidgen_papers.coactive.web import FIG8
from smidgen_papers.coactive.web_claims import less_than_tenfold, noise_stays, strict_goes_to_zero, stronger_is_lower
from smidgen_papers.coactive.web_claims_baselines import ahead_of_svm, cheaper_than_svm
from smidgen_papers.part import Answers, Run


@add_claim(
    "coactive2012/strong-feedback-lower-regret",
    says="Regret for α = 1 is lower than for α = 0.1.",
    where="Section 5.1.1",
    needs="coactive2012/fig2:web",
)
def _stronger(run: Run, answers: Answers) -> Finding:
    return stronger_is_lower(run, answers, (0.1,))


@add_claim(
    "coactive2012/far-less-than-tenfold",
    says="The difference between the two is much smaller than a factor of ten.",
    where="Section 5.1.1",
    needs="coactive2012/fig2:web",
)
def _tenfold(run: Run, answers: Answers) -> Finding:
    return less_than_tenfold(run, answers)


@add_claim(
    "coactive2012/strict-to-zero",
    says="Without noise utility regret approaches zero.",
    where="Section 5.1.1",
    needs="coactive2012/fig2:web",
)
def _zero(run: Run, answers: Answers) -> Finding:
    return strict_goes_to_zero(run, answers, (0.1, 1.0))


@add_claim(
    "coactive2012/noise-keeps-regret",
    says="With noisy feedback regret converges to a value above zero.",
    where="Section 5.1.2",
    needs="coactive2012/fig3:web",
)
def _noise(run: Run, answers: Answers) -> Finding:
    return noise_stays(run, answers, [FIG8.perceptron])


@add_claim(
    "coactive2012/ahead-of-svm",
    says="Over most of the range the perceptron is significantly better than the SVM.",
    where="Section 5.1.2",
    needs="coactive2012/fig3:web",
)
def _ahead(run: Run, answers: Answers) -> Finding:
    return ahead_of_svm(run, answers)


@add_claim(
    "coactive2012/fraction-of-the-cost",
    says="The perceptron takes a fraction of the SVM's time (30 minutes against 20 hours).",
    where="Section 5.1.2",
    needs="coactive2012/fig3:web",
)
def _cost(run: Run, answers: Answers) -> Finding:
    return cheaper_than_svm(run, answers, FIG8)
