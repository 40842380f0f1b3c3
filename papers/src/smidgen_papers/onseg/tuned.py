"""Tuned against tuned: the best step and δ of either one-point method, chosen in hindsight."""

from __future__ import annotations

from functools import partial

import numpy as np

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every, judge, mean
from smidgen_papers.onseg.grids import FACTORS, LEARNERS, REACHES, tune
from smidgen_papers.onseg.paper import EPOCHS, PRINTED
from smidgen_papers.onseg.readings import MAIN, source_of
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

add_figure(
    "onseg/tuned",
    title="OGDEG against ONSEG, both tuned in hindsight",
    shows="Not in the paper, which gives ONSEG a β of its own on every set and OGDEG the step of its theorem. Here "
    "both get the best of the same grid: seven factors of the step times five δ.",
)


def plan(run: Run, data: str) -> list[Part]:
    """Both learners; the quick set has 10·n rounds."""
    quick = run.quick
    return [
        part(
            tune,
            seconds=(0.5 if quick else 30.0) * {"abalone": 1.2, "kin8nm": 0.9, "ionosphere": 0.4, "cancer": 0.2}[data],
            table=data,
            source=source_of(run, data),
            reading=MAIN,
            learner=learner,
            epochs=10 if quick else EPOCHS,
            trials=1 if quick else 4,
            repeats=3 if quick else 10,
            seed=run.seed,
        )
        for learner in LEARNERS
    ]


def gather(run: Run, answers: Answers, data: str) -> Outcome:
    """Both curves, and the settings that were chosen."""
    made = "" if source_of(run, data) == "file" else " (generated)"
    title = f"{PRINTED[data].title}{made}"
    curves, rows = [], []
    for learner in LEARNERS:
        found = answers.one(learner=learner)
        curves.append(curve(learner, found["at"], found["losses"]))
        last = np.asarray(found["losses"])[:, -1]
        grid = np.asarray(found["grid"])
        rows.append(
            [
                learner,
                f"{found['reach']:g}·r{_edge(found['reach'], REACHES)}",
                f"{found['factor']:g}{_edge(found['factor'], FACTORS)}",
                f"{last.mean():.4g} ± {last.std(ddof=1) / np.sqrt(len(last)):.1g}",
                f"{float(grid[:, FACTORS.index(1.0)].min()):.4g}",
                f"{found['best']:.4g}",
            ]
        )
    columns = ["learner", "δ", "factor of D/F or 1/β", "F(X^T)", "F(X^T), only δ tuned", "best fixed point"]
    panel = Panel(f"{title}, tuned", "iterations t", "mean loss F(X^t)", curves, x_scale="log", y_scale="log")
    return Outcome(
        [panel],
        [Table(f"{title}: tuned in hindsight", columns, rows, note="* at the edge of the grid")],
        [f"reading: {MAIN}"],
    )


def _edge(value: float, grid: tuple[float, ...]) -> str:
    return " *" if value in (grid[0], grid[-1]) else ""


for _name in PRINTED:
    add_study("onseg/tuned", _name, plan=partial(plan, data=_name), gather=partial(gather, data=_name), data=(_name,))


@add_claim(
    "onseg/tuned-beats-ogdeg",
    says="The second-order ONSEG converges faster than the first-order OGDEG: also when both are tuned alike.",
    where="Section 4, summary; Section 6 (significant improvement in terms of convergence rate)",
    needs=tuple(f"onseg/tuned:{name}" for name in PRINTED),
)
def _tuned(run: Run, *answers: Answers) -> Finding:
    findings = {}
    for name, found in zip(PRINTED, answers, strict=True):
        ogdeg, onseg = (np.asarray(found.one(learner=learner)["losses"])[:, -1] for learner in LEARNERS)
        gap = mean(100.0 * (onseg - ogdeg) / ogdeg.mean())
        findings[PRINTED[name].title] = judge(
            gap, below=0.0, what="F(X^T) of tuned ONSEG against tuned OGDEG, per cent"
        )
    return every(findings)
