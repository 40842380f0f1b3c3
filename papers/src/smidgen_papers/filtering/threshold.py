"""The threshold −√(c·ln t / N) and the ridge a: what c = 5 and a = 1 do."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, judge, mean
from smidgen_papers.filtering.scores import Scores
from smidgen_papers.filtering.topics import filter_part, setting
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: c of the threshold; the paper takes 5 (and 4 in SIMPLE-FIL), 0 forwards by the sign of the margin.
CONSTANTS = (0.0, 0.01, 0.05, 0.2, 1.0, 5.0, 20.0)
#: The ridge; the paper takes 1.
RIDGES = (0.3, 1.0, 3.0)
RIDGED = 12_902

add_figure(
    "filtering/threshold",
    title="The constant of the threshold and the ridge",
    shows="No figure of the paper: it takes τ = −√(5 ln t / N) and adds the identity to the Gram matrix, and reports "
    "nothing else.",
)


def plan(run: Run) -> list[Part]:
    """RIDGE-FIL for every c on all stories; RIDGE-FULL for the comparison."""
    stream = setting(run, documents=21_578, quick=3000)
    constants = (0.0, 0.2, 5.0) if run.quick else CONSTANTS
    fils = [
        filter_part(stream, "RIDGE-FIL", seconds=40.0, wide=c == 5.0, **({} if c == 5.0 else {"c": c}))
        for c in constants
    ]
    return [*fils, filter_part(stream, "RIDGE-FULL", seconds=70.0, wide=True)]


def gather(run: Run, answers: Answers) -> Outcome:
    """F, precision and recall against c."""
    one = next(iter(answers))
    name = "Reuters-21578, all stories" if one.settings["source"] == "reuters" else "generated documents"
    constants, scores = _by_constant(answers)
    full = Scores(answers.where(learner="RIDGE-FULL"))
    shown = {
        "F": [s.f() for s in scores],
        "F, second half": [s.f(0.5) for s in scores],
        "precision": [s.precision() for s in scores],
        "recall": [s.recall() for s in scores],
    }
    x = np.maximum(constants, 0.002)
    curves = [curve(what, x, np.array(values).T) for what, values in shown.items()]
    level = np.repeat(full.f()[:, None], len(x), axis=1)
    curves.append(curve("F of RIDGE-FULL", x, level, style="dashed"))
    columns = [
        "c",
        "F",
        "F, second half",
        "F, prolonged",
        "precision",
        "recall",
        "forwarded",
        "topics lost (recall < 0.1)",
    ]
    rows = [
        [
            c,
            *(
                round(float(np.mean(v)), 3)
                for v in (s.f(), s.f(0.5), s.prolonged(70_000), s.precision(), s.recall(), s.forwarded())
            ),
            int(np.sum(s.recall() < 0.1)),
        ]
        for c, s in zip(constants, scores, strict=True)
    ]
    note = (
        f"Means over {len(full.topics)} topics. RIDGE-FULL: F {full.f().mean():.3f}, second half "
        f"{full.f(0.5).mean():.3f}. c = 0 is drawn at 0.002."
    )
    panel = Panel(name, "c", "mean over topics", curves, x_scale="log")
    return Outcome(panels=[panel], tables=[Table(f"{name}: RIDGE-FIL by c", columns, rows, note=note)])


def _by_constant(answers: Answers) -> tuple[list[float], list[Scores]]:
    fils = list(answers.where(learner="RIDGE-FIL"))
    pairs = sorted(((float(a.settings["settings"].get("c", 5.0)), a) for a in fils), key=lambda pair: pair[0])
    return [c for c, _ in pairs], [Scores(Answers([a])) for _, a in pairs]


def plan_ridge(run: Run) -> list[Part]:
    """Both for every a, on the indexed stories."""
    stream = setting(run, documents=RIDGED, quick=2000, stories="indexed")
    return [
        filter_part(stream, learner, seconds=40.0, wide=a == 1.0, **({} if a == 1.0 else {"a": a}))
        for a in ((0.3, 1.0) if run.quick else RIDGES)
        for learner in ("RIDGE-FULL", "RIDGE-FIL")
    ]


def gather_ridge(run: Run, answers: Answers) -> Outcome:
    """A row per a."""
    name = (
        "Reuters-21578, indexed stories"
        if next(iter(answers)).settings["source"] == "reuters"
        else "generated documents"
    )
    rows = []
    for a in sorted({float(answer.settings["settings"].get("a", 1.0)) for answer in answers}):
        given = {} if a == 1.0 else {"a": a}
        full, fil = (Scores(answers.where(learner=who, settings=given)) for who in ("RIDGE-FULL", "RIDGE-FIL"))
        values = full.f(), full.precision(), full.recall(), fil.f(), fil.precision(), fil.recall()
        rows.append([a, *(round(float(v.mean()), 3) for v in values)])
    columns = ["a", *(f"{who} {what}" for who in ("RIDGE-FULL", "RIDGE-FIL") for what in ("F", "precision", "recall"))]
    return Outcome(
        tables=[Table(f"{name}: by the ridge a", columns, rows, note="Means over topics; the paper has a = 1.")]
    )


add_study("filtering/threshold", "constant", plan=plan, gather=gather, data=("reuters",))
add_study("filtering/threshold", "ridge", plan=plan_ridge, gather=gather_ridge, data=("reuters",))


@add_claim(
    "filtering/threshold-compensates",
    says="The threshold makes up for the missing labels: with it (c = 5) RIDGE-FIL has a higher F-measure than the "
    "same filter "
    "that forwards by the sign of its margin (c = 0)",
    where="Section 4.1",
    needs="filtering/threshold:constant",
)
def _compensates(run: Run, answers: Answers) -> Finding:
    constants, scores = _by_constant(answers)
    at = dict(zip(constants, scores, strict=True))
    full = Scores(answers.where(learner="RIDGE-FULL")).f()
    gap = at[5.0].f() - at[0.0].f()
    made_up = float(np.mean(gap) / np.mean(full - at[0.0].f()))
    best = max(at, key=lambda c: float(at[c].f().mean()))
    what = (
        f"F with c = 5 minus F with c = 0, mean over topics ({100 * made_up:.0f} % of what c = 0 loses to RIDGE-FULL)"
    )
    finding = judge(mean(gap), above=0.0, what=what)
    if finding.verdict == "holds":
        return finding
    return Finding(
        finding.verdict,
        finding.effect,
        f"without a threshold {int(np.sum(at[0.0].recall() < 0.1))} of {len(full)} topics are lost for good and the "
        "others do "
        f"well; a smaller c does best here: c = {best:g}, F {at[best].f().mean():.2f}",
    )
