"""What Section 6.4 says of Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim
from smidgen_papers.claims import Finding, every, judge, mean, untestable
from smidgen_papers.confidit.algorithms import NAMES
from smidgen_papers.confidit.vowels import sizes_of, skyline_of, tasks_of
from smidgen_papers.part import Answers, Run

_NEEDS = "confidit/fig8:speech"
_WHERE = "Section 6.4"
#: In the order that the paper gives for eight vowels, the best first.
ORDER = ("AROW", "2nd-order", "Confidit", "Perceptron", "Banditron")


def accuracy(answers: Answers, task: str, learner: str) -> FloatArray:
    """Percent: one row per split of the speakers, one column per size."""
    return np.asarray(answers.one(task=task, learner=learner)["accuracy"], dtype=np.float64)


def above(answers: Answers, task: str, better: str, worse: str) -> Finding:
    """Check whether one algorithm is more accurate than another, on the mean over all sizes."""
    gain = accuracy(answers, task, better).mean(axis=1) - accuracy(answers, task, worse).mean(axis=1)
    return judge(mean(gain), above=0.0, what=f"accuracy of {better} minus {worse}, points")


def best(answers: Answers, task: str, names: Sequence[str]) -> str:
    """The most accurate of some algorithms, on the mean over all sizes."""
    return max(names, key=lambda name: float(accuracy(answers, task, name).mean()))


def _absent(answers: Answers, task: str) -> Finding | None:
    return None if task in tasks_of(answers) else untestable(f"{task} was not run")


@add_claim(
    "confidit/vowels-arow-best",
    says="AROW is the most accurate online algorithm on every set.",
    where=_WHERE,
    needs=_NEEDS,
)
def _arow(run: Run, answers: Answers) -> Finding:
    found = {}
    for task in tasks_of(answers):
        found[task] = above(answers, task, "AROW", best(answers, task, [name for name in NAMES if name != "AROW"]))
    return every(found)


@add_claim(
    "confidit/vowels-above-banditron",
    says="Confidit is more accurate than Banditron on every set.",
    where="Section 1 and Fig. 8",
    needs=_NEEDS,
)
def _banditron(run: Run, answers: Answers) -> Finding:
    return every({task: above(answers, task, "Confidit", "Banditron") for task in tasks_of(answers)})


@add_claim(
    "confidit/vowels-1000-examples",
    says="With 1,000 examples of four classes and one frame, AROW and Confidit are about a point below the skyline.",
    where=_WHERE,
    needs=_NEEDS,
)
def _thousand(run: Run, answers: Answers) -> Finding:
    if missing := _absent(answers, "v4.w1"):
        return missing
    column = sizes_of(answers, "v4.w1").index(1000)
    top = np.asarray(skyline_of(answers, "v4.w1"))
    gaps = {name: mean(top - accuracy(answers, "v4.w1", name)[:, column]) for name in ("AROW", "Confidit")}
    return every({name: judge(gap, below=2.0, what="points below the skyline") for name, gap in gaps.items()})


@add_claim(
    "confidit/vowels-confidit-second",
    says="With four classes and seven frames Confidit is above all algorithms but AROW.",
    where=_WHERE,
    needs=_NEEDS,
)
def _second(run: Run, answers: Answers) -> Finding:
    task = "v4.w7"
    return _absent(answers, task) or every(
        {name: above(answers, task, "Confidit", name) for name in ("Perceptron", "2nd-order", "Banditron")}
    )


@add_claim(
    "confidit/vowels-more-data",
    says="With eight classes all online algorithms improve with more training data.",
    where=_WHERE,
    needs=_NEEDS,
)
def _more(run: Run, answers: Answers) -> Finding:
    found = {}
    for task in (task for task in tasks_of(answers) if task.startswith("v8")):
        for name in NAMES:
            table = accuracy(answers, task, name)
            found[f"{task} {name}"] = judge(mean(table[:, -1] - table[:, 0]), above=0.0, what="gain in points")
    return every(found)


@add_claim(
    "confidit/vowels-banditron-gains-most",
    says="With eight classes Banditron gains most from more data.",
    where=_WHERE,
    needs=_NEEDS,
)
def _gains(run: Run, answers: Answers) -> Finding:
    found = {}
    for task in (task for task in tasks_of(answers) if task.startswith("v8")):
        gain = {name: accuracy(answers, task, name)[:, -1] - accuracy(answers, task, name)[:, 0] for name in NAMES}
        others = np.max([gain[name] for name in NAMES if name != "Banditron"], axis=0)
        found[task] = judge(mean(gain["Banditron"] - others), above=0.0, what="gain over the next best gain, points")
    return every(found)


@add_claim(
    "confidit/vowels-order-of-eight",
    says="With eight classes the order is AROW, 2nd-order perceptron, Confidit, Perceptron, Banditron.",
    where=_WHERE,
    needs=_NEEDS,
)
def _order(run: Run, answers: Answers) -> Finding:
    tasks = [task for task in tasks_of(answers) if task.startswith("v8")]
    return every({f"{task} {a} > {b}": above(answers, task, a, b) for task in tasks for a, b in pairwise(ORDER)})


@add_claim(
    "confidit/vowels-skyline-of-eight",
    says="With eight classes no online algorithm reaches the skyline or comes close to it.",
    where=_WHERE,
    needs=_NEEDS,
)
def _skyline(run: Run, answers: Answers) -> Finding:
    found = {}
    for task in (task for task in tasks_of(answers) if task.startswith("v8")):
        first = best(answers, task, NAMES)
        gap = np.asarray(skyline_of(answers, task)) - accuracy(answers, task, first)[:, -1]
        found[task] = judge(mean(gap), above=0.0, what=f"points of {first} below the skyline")
    return every(found)


@add_claim(
    "confidit/vowels-overfit",
    says="With four classes and one frame all algorithms but AROW get slightly worse with the largest training sets.",
    where=_WHERE,
    needs=_NEEDS,
)
def _overfit(run: Run, answers: Answers) -> Finding:
    if missing := _absent(answers, "v4.w1"):
        return missing
    found = {}
    for name in (name for name in NAMES if name != "AROW"):
        table = accuracy(answers, "v4.w1", name)
        peak = int(table.mean(axis=0)[:-1].argmax())
        found[name] = judge(mean(table[:, peak] - table[:, -1]), above=0.0, what="points lost after the peak")
    return every(found)


@add_claim(
    "confidit/vowels-frames-help-banditron",
    says="With 1,000 examples of four classes Banditron is better with seven frames (82 %) than with one (77 %).",
    where=_WHERE,
    needs=_NEEDS,
)
def _frames(run: Run, answers: Answers) -> Finding:
    if missing := _absent(answers, "v4.w1") or _absent(answers, "v4.w7"):
        return missing
    wide, narrow = (
        accuracy(answers, task, "Banditron")[:, sizes_of(answers, task).index(1000)] for task in ("v4.w7", "v4.w1")
    )
    return judge(mean(wide - narrow), above=0.0, what="accuracy with seven frames minus one, points")
