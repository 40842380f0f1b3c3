"""RIDGE-FIL in forms that a service could afford: the diagonal, a window, fewer words; and P-RIDGE-FIL on few words."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.filtering.plays import play
from smidgen_papers.filtering.scores import Scores
from smidgen_papers.filtering.topics import SHARES, filter_part, setting
from smidgen_papers.outcome import Curve, Outcome, Panel, Table
from smidgen_papers.part import Answers, Part, Run, part

WORDS = 500

add_figure(
    "filtering/forms",
    title="Forms of RIDGE-FIL: exact, diagonal, window, few words",
    shows="No figure of the paper. It names the kernel (dual) form, which is exact and grows with the documents "
    "forwarded; how its "
    "own runs were computed is not said.",
)

#: Name: what to play, with which settings, on how many words (None: all).
FORMS_PLAYED: dict[str, tuple[str, dict[str, Any], int | None]] = {
    "exact": ("RIDGE-FIL", {}, None),
    "diagonal": ("RIDGE-FIL, form", {"covariance": "diagonal"}, None),
    "diagonal, c = 0.2": ("RIDGE-FIL, form", {"covariance": "diagonal", "c": 0.2}, None),
    "window of 200": ("RIDGE-FIL, form", {"window": 200}, None),
    "window of 500": ("RIDGE-FIL, form", {"window": 500}, None),
    f"{WORDS} words": ("RIDGE-FIL", {}, WORDS),
    f"P-RIDGE-FIL, {WORDS} words": ("P-RIDGE-FIL", {}, WORDS),
    f"RIDGE-FULL, {WORDS} words": ("RIDGE-FULL, form", {"covariance": "full"}, WORDS),
    "RIDGE-FULL, diagonal": ("RIDGE-FULL, form", {"covariance": "diagonal"}, None),
}
QUICK = ("exact", "diagonal", f"P-RIDGE-FIL, {WORDS} words")


def _part(stream: dict[str, Any], name: str) -> Part:
    learner, settings, words = FORMS_PLAYED[name]
    if words is None:
        return filter_part(
            stream, learner, seconds=90.0 if "window" in name else 10.0, wide=name == "exact", **settings
        )
    given = {**stream, "reading": f"the {words} most frequent words"}
    return part(play, seconds=15.0, learner=learner, shares=SHARES, settings=settings, **given)


def plan(run: Run) -> list[Part]:
    """Every form on the indexed stories."""
    stream = setting(run, documents=12_902, quick=2000, stories="indexed")
    return [_part(stream, name) for name in (QUICK if run.quick else FORMS_PLAYED)]


def gather(run: Run, answers: Answers) -> Outcome:
    """A row per form."""
    names = list(QUICK if run.quick else FORMS_PLAYED)
    scores = [Scores(Answers([answer])) for answer in answers]
    source = (
        "Reuters-21578, indexed stories"
        if next(iter(answers)).settings["source"] == "reuters"
        else "generated documents"
    )
    rows = [
        [name, *(round(float(np.mean(v)), 3) for v in (s.f(), s.precision(), s.recall(), s.forwarded(), s.f(0.5)))]
        for name, s in zip(names, scores, strict=True)
    ]
    columns = ["form", "F", "precision", "recall", "forwarded", "F, second half"]
    means = np.array([s.f().mean() for s in scores])
    late = np.array([s.f(0.5).mean() for s in scores])
    x = np.arange(len(names), dtype=np.float64)
    curves = [Curve("F", x, means, style="bars"), Curve("F, second half", x, late, style="bars")]
    panel = Panel(source, "form", "F-measure, mean over topics", curves, ticks=names)
    return Outcome(
        panels=[panel], tables=[Table(f"{source}: forms", columns, rows, note="Means over topics of 1 to 5 %.")]
    )


add_study("filtering/forms", "forms", plan=plan, gather=gather, data=("reuters",))
