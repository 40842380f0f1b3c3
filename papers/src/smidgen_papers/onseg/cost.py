"""Time per iteration of the four algorithms."""

from __future__ import annotations

import numpy as np

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.onseg.speeds import speed
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answer, Answers, Part, Run, part

DIMS = (8, 16, 32, 64, 128, 256)
LEARNERS = ("OGD", "ONS", "OGDEG", "ONSEG")

add_figure(
    "onseg/time",
    title="time per iteration against the number of features",
    shows="The paper prints no times. It says that ONS takes O(d²) per iteration and OGD O(d), that Sherman and "
    "Morrison's formula gives ONSEG O(d²), and that ONSEG runs much faster than ONS and OGD, which need gradients.",
)


def plan(run: Run) -> list[Part]:
    """Each learner and number of features, with the best point inside and outside."""
    dims = (8, 32, 128) if run.quick else DIMS
    return [
        part(speed, seconds=0.3, learner=name, dim=d, far=far, rounds=(2000 if run.quick else 10_000), repeats=5)
        for far in (False, True)
        for d in dims
        for name in LEARNERS
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Time against d, and how often a step had to be projected."""
    dims = sorted({int(answer.settings["dim"]) for answer in answers})
    panels, rows = [], []
    for far, title in ((False, "best point inside"), (True, "best point outside")):
        curves = []
        for name in LEARNERS:
            found = [answers.one(far=far, learner=name, dim=d) for d in dims]
            curves.append(curve(name, dims, np.array([answer["nanoseconds"] for answer in found]).T))
            cells = [f"{_best(answer):,.0f} ({100.0 * answer['projected']:.0f} %)" for answer in found]
            rows.append([title, name, *cells])
        panels.append(Panel(title, "features d", "ns per iteration", curves, x_scale="log", y_scale="log"))
    table = Table(
        "nanoseconds per iteration, the best of five (share of iterations with a projection)",
        ["", "algorithm", *(f"d = {d}" for d in dims)],
        rows,
        note="compiled streams on one core; gradients of least squares in closed form",
    )
    return Outcome(panels, [table], ["made-up regression; times depend on the machine and on what else it does"])


def _best(answer: Answer) -> float:
    return float(np.min(answer["nanoseconds"]))


add_study("onseg/time", "made-up", plan=plan, gather=gather)


@add_claim(
    "onseg/runs-faster-than-gradients",
    says="In running time ONSEG is much more efficient than ONS and OGD, which need gradients.",
    where="Section 4, Online Regression and summary; Section 6",
    needs="onseg/time:made-up",
)
def _faster(run: Run, answers: Answers) -> Finding:
    findings = {}
    dims = sorted({int(answer.settings["dim"]) for answer in answers})
    for other in ("ONS", "OGD"):
        ours = [_best(answers.one(learner="ONSEG", dim=d, far=False)) for d in dims]
        theirs = [_best(answers.one(learner=other, dim=d, far=False)) for d in dims]
        findings[other] = judge(ratio(ours, theirs), below=1.0, what=f"time of ONSEG over {other}, mean over d")
    finding = every(findings)
    if finding.verdict != "does not hold here":
        return finding
    why = "besides the same matrix update, ONSEG draws d normal numbers; a gradient of these losses is one more product"
    return Finding(finding.verdict, finding.effect, why)


@add_claim(
    "onseg/cost-per-iteration",
    says="An iteration takes O(d) with OGD, and O(d²) with ONS and with ONSEG.",
    where="Section 1; Section 4 (Sherman-Morrison)",
    needs="onseg/time:made-up",
)
def _cost(run: Run, answers: Answers) -> Finding:
    findings = {}
    dims = [d for d in sorted({int(answer.settings["dim"]) for answer in answers}) if d >= 32]
    for name, most in (("OGD", 1.25), ("ONS", 2.25), ("ONSEG", 2.25)):
        times = np.log([np.sort(answers.one(learner=name, dim=d, far=False)["nanoseconds"])[:3] for d in dims])
        exponents = np.polyfit(np.log(dims), times, 1)[0]
        findings[name] = judge(mean(exponents), below=most, what=f"exponent of d in the time, from d = {dims[0]} on")
    whole = every(findings)
    ratios = [
        _best(answers.one(learner="ONS", dim=d, far=True)) / _best(answers.one(learner="ONS", dim=d, far=False))
        for d in dims
    ]
    said = (
        "the projection is not in this count: where the best point lies outside, an iteration of ONS takes "
        f"{max(ratios):.3g} times as long"
    )
    return Finding(whole.verdict, whole.effect, "; ".join(filter(None, (whole.reason, said))))
