"""What Section 6.1 says of Figs. 3 and 4."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, ratio
from smidgen_papers.confidit.algorithms import NAMES
from smidgen_papers.confidit.cells import tasks_of
from smidgen_papers.part import Answers, Run

_CLEAN = ("confidit/fig3:texts", "confidit/fig4:texts")
_AMAZON = ("amazon3", "amazon4")


def joined(*answers: Answers) -> Answers:
    """The answers of several studies as one."""
    return Answers([answer for one in answers for answer in one])


def by_epoch(answers: Answers, task: str, name: str, noise: float = 0.0, what: str = "mistakes") -> FloatArray:
    """Counts, one row per fold and one column per epoch."""
    return np.asarray(answers.one(task=task, learner=name, noise=noise)[f"epoch_{what}"], dtype=np.float64)


def first(answers: Answers, task: str, name: str, noise: float = 0.0, what: str = "mistakes") -> FloatArray:
    """The mistakes of every fold in the first epoch: of the label shown, or "greedy_mistakes"."""
    return by_epoch(answers, task, name, noise, what)[:, 0]


def fewer(answers: Answers, task: str, better: str, worse: str, what: str = "mistakes") -> Finding:
    """Check whether one algorithm makes fewer mistakes than another in the first epoch."""
    share = ratio(first(answers, task, better, what=what), first(answers, task, worse, what=what))
    return judge(share, below=1.0, what=f"mistakes of {better} over {worse}")


def slowdown(answers: Answers, task: str, name: str, noise: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Mistakes per epoch in epochs 2 and later, and in the first."""
    table = by_epoch(answers, task, name, noise)
    return table[:, 1:].mean(axis=1), table[:, 0]


@add_claim(
    "confidit/arow-fewest-mistakes",
    says="In the first epoch AROW makes the fewest mistakes.",
    where="Section 6.1, Figs. 3 and 4",
    needs=_CLEAN,
)
def _arow(run: Run, *studies: Answers) -> Finding:
    answers = joined(*studies)
    others = [name for name in NAMES if name != "AROW"]
    found = {}
    for task in tasks_of(answers):
        means = [float(first(answers, task, name).mean()) for name in others]
        found[task] = fewer(answers, task, "AROW", others[int(np.argmin(means))])
    return every(found)


@add_claim(
    "confidit/banditron-most-mistakes",
    says="In the first epoch Banditron makes the most mistakes.",
    where="Section 6.1, Figs. 3 and 4",
    needs=_CLEAN,
)
def _banditron(run: Run, *studies: Answers) -> Finding:
    answers = joined(*studies)
    others = [name for name in NAMES if name != "Banditron"]
    found = {}
    for task in tasks_of(answers):
        means = [float(first(answers, task, name).mean()) for name in others]
        found[task] = fewer(answers, task, others[int(np.argmax(means))], "Banditron")
    return every(found)


@add_claim(
    "confidit/no-clear-order",
    says="Among Perceptron, 2nd-order perceptron and Confidit there is no clear order in the first epoch.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _order(run: Run, *studies: Answers) -> Finding:
    answers = joined(*studies)
    effect, turned = orders(answers, "mistakes")
    greedy, too = orders(answers, "greedy_mistakes")
    other = f"counting the greedy labels, {greedy}: {', '.join(too) or 'no two'} change places"
    if turned:
        return Finding("holds", effect, f"{', '.join(turned)} change places; {other}")
    return Finding("does not hold here", effect, f"no two change places for certain; {other}")


def orders(answers: Answers, what: str) -> tuple[str, list[str]]:
    """The order of the three on every set, and the pairs of which each is ahead for certain on some set."""
    rest = ("Perceptron", "2nd-order", "Confidit")
    said = []
    for task in tasks_of(answers):
        order = np.argsort([first(answers, task, name, what=what).mean() for name in rest])
        said.append(f"{task}: {' < '.join(rest[k] for k in order)}")
    turned = []
    for a, b in combinations(rest, 2):
        verdicts = {fewer(answers, task, a, b, what).verdict for task in tasks_of(answers)}
        turned += [f"{a} and {b}"] if {"holds", "does not hold here"} <= verdicts else []
    return "; ".join(said), turned


@add_claim(
    "confidit/banditron-same-rate",
    says="Over ten epochs Banditron makes mistakes at the rate of the first epoch.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _rate(run: Run, *studies: Answers) -> Finding:
    answers, found = joined(*studies), {}
    for task in tasks_of(answers):
        share = ratio(*slowdown(answers, task, "Banditron"))
        found[task] = judge(share, above=0.8, below=1.25, what="mistakes per later epoch over the first")
    return every(found)


@add_claim(
    "confidit/others-slow-down",
    says="On 20 newsgroups all others make noticeably fewer mistakes per epoch after the first.",
    where="Section 6.1",
    needs=_CLEAN[0],
)
def _slow(run: Run, answers: Answers) -> Finding:
    others = [name for name in NAMES if name != "Banditron"]
    shares = {name: ratio(*slowdown(answers, "newsgroups", name)) for name in others}
    return every({n: judge(share, below=0.8, what="per later epoch over the first") for n, share in shares.items()})


@add_claim(
    "confidit/banditron-explores-evenly",
    says="Banditron's exploration rate is fixed.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _fixed(run: Run, *studies: Answers) -> Finding:
    answers, found = joined(*studies), {}
    for task in tasks_of(answers):
        one = answers.one(task=task, learner="Banditron", noise=0.0)
        rate = by_epoch(answers, task, "Banditron", what="explored") / one["train"]
        expected = one["value"] * (one["classes"] - 1) / one["classes"]
        what = f"last epoch over first (γ = {one['value']:g}; rate {rate.mean():.3f}, γ(K − 1)/K = {expected:.3f})"
        found[task] = judge(ratio(rate[:, -1], rate[:, 0]), above=0.9, below=1.1, what=what)
    return every(found)


@add_claim(
    "confidit/explores-less",
    says="Outside Amazon Confidit explores less than Banditron over ten epochs.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _less(run: Run, *studies: Answers) -> Finding:
    answers = joined(*studies)
    return every({t: _explored(answers, t, below=True) for t in tasks_of(answers) if t not in _AMAZON})


@add_claim(
    "confidit/explores-more-on-amazon",
    says="On Amazon3 and Amazon7, which have the most features, Confidit explores more than Banditron.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _more(run: Run, *studies: Answers) -> Finding:
    answers = joined(*studies)
    return every({task: _explored(answers, task, below=False) for task in _AMAZON})


def _explored(answers: Answers, task: str, *, below: bool) -> Finding:
    ours, theirs = (by_epoch(answers, task, n, what="explored").sum(axis=1) for n in ("Confidit", "Banditron"))
    values = tuple(answers.one(task=task, learner=n, noise=0.0)["value"] for n in ("Confidit", "Banditron"))
    what = f"explorations of Confidit (η = {values[0]:g}) over Banditron (γ = {values[1]:g})"
    share = ratio(ours + 1.0, theirs + 1.0)
    return judge(share, below=1.0, what=what) if below else judge(share, above=1.0, what=what)


@add_claim(
    "confidit/exploration-falls",
    says="Outside Amazon Confidit's exploration rate falls monotonically.",
    where="Section 6.1",
    needs=_CLEAN,
)
def _falls(run: Run, *studies: Answers) -> Finding:
    answers, found = joined(*studies), {}
    for task in (t for t in tasks_of(answers) if t not in _AMAZON):
        table = by_epoch(answers, task, "Confidit", what="explored")
        rises = int((np.diff(table.mean(axis=0)) > 0).sum())
        what = f"last epoch over first ({rises} of 9 steps rise)"
        fall = judge(ratio(table[:, -1] + 1.0, table[:, 0] + 1.0), below=1.0, what=what)
        if fall.verdict == "holds" and rises > 4:
            fall = Finding("does not hold here", fall.effect, "it falls at first and rises in later epochs")
        found[task] = fall
    return every(found)
