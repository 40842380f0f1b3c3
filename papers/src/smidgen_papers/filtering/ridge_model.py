"""RIDGE-FIL on the model of Section 2, for which the paper proves no bound; its estimator; kernels and drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.filtering.model_plays import drifting, expected_margin, kernelled, modelled
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answer, Answers, Part, Run, part

MARGINS = (0.05, 0.2, 0.8)
DIM = 5

add_figure(
    "filtering/ridge-fil",
    title="RIDGE-FIL on its own model",
    shows="No figure of the paper: no bound could be proved for RIDGE-FIL. Its estimator is said to have the mean "
    "(u·x − uᵀA⁻¹x)/(1 + "
    "xᵀA⁻¹x), A = I + SSᵀ, and both ridge filters to work with kernels and with a u that drifts.",
)


def plan(run: Run) -> list[Part]:
    """RIDGE-FIL with two constants, RIDGE-FULL and STAP along the same streams."""
    items, runs = (10_000, 4) if run.quick else (100_000, 20)
    given: dict[str, Any] = {"items": items, "runs": runs, "dim": DIM, "seed": run.seed}
    fast = runs * items * 5e-7
    parts = []
    for margin in MARGINS[1:2] if run.quick else MARGINS:
        parts += [part(modelled, seconds=fast, learner="RIDGE-FIL", settings={}, margin=margin, **given)]
        parts += [part(modelled, seconds=fast, learner="RIDGE-FIL", settings={"c": 0.5}, margin=margin, **given)]
        parts += [part(modelled, seconds=fast, learner="RIDGE-FULL", settings={}, margin=margin, **given)]
        shorter = given | {"items": 3000 if run.quick else 10_000}
        tasting: dict[str, Any] = {"learner": "STAP on RIDGE-FULL", "settings": {}, "margin": margin}
        parts += [part(modelled, seconds=shorter["runs"] * shorter["items"] * 5e-5, **tasting, **shorter)]
    return parts


def _name(answer: Answer) -> str:
    c = answer.settings["settings"].get("c")
    return str(answer.settings["learner"]) + (f", c = {c:g}" if c is not None else "")


def gather(run: Run, answers: Answers) -> Outcome:
    """A panel per margin."""
    panels, rows = [], []
    for margin in dict.fromkeys(answer.settings["margin"] for answer in answers):
        chosen = list(answers.where(margin=margin))
        curves = [curve(_name(answer), answer["items"], answer["regret"]) for answer in chosen]
        panels.append(
            Panel(
                f"the model of Section 2, {DIM} features, γ = {margin:g}",
                "items",
                "cumulative regret",
                curves,
                "log",
                "log",
            )
        )
        for answer in chosen:
            end = float(answer["items"][-1])
            growth, share = mean(_decade(answer, 1)), float(answer["forwarded"][:, -1].mean() / end)
            rows.append(
                [
                    _name(answer),
                    margin,
                    int(end),
                    round(float(answer["regret"][:, -1].mean()), 1),
                    f"{growth:.3g}",
                    round(share, 3),
                    round(float(answer["mistakes"].sum() / answer["best"].sum()), 4),
                ]
            )
    columns = [
        "filter",
        "γ",
        "items",
        "regret",
        "slope in ln n, last decade",
        "forwarded",
        "mistakes to the best rule's",
    ]
    return Outcome(panels=panels, tables=[Table("Regret on the model", columns, rows)])


def _decade(answer: Answer, back: int) -> FloatArray:
    items, regret = answer["items"], answer["regret"]
    ends = [int(np.argmin(np.abs(np.log(items * 10.0**k / items[-1])))) for k in (back - 1, back)]
    return np.asarray((regret[:, ends[0]] - regret[:, ends[1]]) / np.log(10.0))


def plan_estimator(run: Run) -> list[Part]:
    """The mean of the estimate for few and for many examples."""
    draws = 2000 if run.quick else 20_000
    return [part(expected_margin, seconds=1.0, dim=5, examples=n, draws=draws, seed=run.seed) for n in (3, 10, 100)]


def gather_estimator(run: Run, answers: Answers) -> Outcome:
    """A row per number of examples."""
    rows = [
        [
            answer.settings["examples"],
            round(float(np.abs(answer["scores"]).max()), 2),
            round(float(np.abs(answer["formula"] - answer["true"]).mean()), 3),
        ]
        for answer in answers
    ]
    columns = ["examples", "largest deviation from the formula (standard errors)", "mean |E[w·x] − u·x|"]
    note = "Fixed examples, labels drawn again; 20 items each. The last column is the bias, which more examples remove."
    return Outcome(tables=[Table("The mean of the estimate of eq. 3", columns, rows, note=note)])


def plan_variants(run: Run) -> list[Part]:
    """Kernels and drift."""
    runs, items = (3, 1500) if run.quick else (10, 6000)
    given: dict[str, Any] = {"dim": DIM, "runs": runs, "seed": run.seed}
    turning = [
        part(drifting, seconds=runs * items * 1e-4, c=c, forgetting=keep, items=items, **given)
        for c in (5.0, 0.5)
        for keep in (1.0, 0.99)
    ]
    return [part(kernelled, seconds=0.2 * runs, items=600, **given), *turning]


def gather_variants(run: Run, answers: Answers) -> Outcome:
    """A row per constant and forgetting."""
    rows = [
        [
            answer.settings["c"],
            answer.settings["forgetting"],
            f"{mean(answer['regret']):.3g}",
            round(float(answer["forwarded"].mean()), 3),
        ]
        for answer in answers
        if "forgetting" in answer.settings
    ]
    items = max(answer.settings["items"] for answer in answers)
    note = f"u turns by half a circle over {items:,} items, so that in the end it is −u."
    return Outcome(tables=[Table("A u that drifts", ["c", "λ", "regret", "forwarded"], rows, note=note)])


add_study("filtering/ridge-fil", "regret", plan=plan, gather=gather)
add_study("filtering/ridge-fil", "estimator", plan=plan_estimator, gather=gather_estimator)
add_study("filtering/ridge-fil", "variants", plan=plan_variants, gather=gather_variants)


@add_claim(
    "filtering/ridge-fil-logarithmic",
    says="Left open by the paper: RIDGE-FIL inherits the logarithmic regret of SIMPLE-FIL (here: over the last factor "
    "of ten its regret "
    "grows by less than 1.5 times what it did over the one before; √n would give 3.2 times)",
    where="Section 4",
    needs="filtering/ridge-fil:regret",
)
def _logarithmic(run: Run, answers: Answers) -> Finding:
    found = {}
    for answer in answers.where(learner="RIDGE-FIL", settings={}):
        first, second = _decade(answer, 2), _decade(answer, 1)
        what = "growth over the last decade to that before"
        still = Finding("holds", "no regret at all over the last decade")
        found[f"γ = {answer.settings['margin']:g}"] = (
            judge(ratio(second, first), below=1.5, what=what) if second.any() else still
        )
    return every(found)


@add_claim(
    "filtering/model-above-apple-tasting",
    says="The margin pays: on the paper's own model, RIDGE-FIL has less regret than the apple-tasting rule around "
    "RIDGE-FULL",
    where="Section 1",
    needs="filtering/ridge-fil:regret",
)
def _above_tasting(run: Run, answers: Answers) -> Finding:
    found = {}
    for tasting in answers.where(learner="STAP on RIDGE-FULL"):
        margin, n = tasting.settings["margin"], tasting["items"][-1]
        for fil in answers.where(learner="RIDGE-FIL", margin=margin):
            at = int(np.argmin(np.abs(np.log(fil["items"] / n))))
            c = fil.settings["settings"].get("c", 5.0)
            gap = mean(fil["regret"][:, at] - tasting["regret"][:, -1])
            found[f"γ = {margin:g}, c = {c:g}"] = judge(
                gap, below=0.0, what=f"regret of RIDGE-FIL minus that of STAP at n = {n}"
            )
    return every(found)


@add_claim(
    "filtering/expected-margin",
    says="The estimate of eq. 3 has the mean (u·x − uᵀA⁻¹x)/(1 + xᵀA⁻¹x) for fixed forwarded items",
    where="Section 4, below eq. 3",
    needs="filtering/ridge-fil:estimator",
)
def _expected(run: Run, answers: Answers) -> Finding:
    scores = np.concatenate([answer["scores"] for answer in answers])
    limit = 3.7  # 60 items: one in a hundred such sets has a larger deviation by chance
    worst = float(np.abs(scores).max())
    effect = f"largest of {len(scores)} deviations {worst:.2f} standard errors (by chance up to {limit})"
    return Finding("holds" if worst < limit else "does not hold here", effect)


@add_claim(
    "filtering/kernels",
    says="RIDGE-FIL can be run with kernels (here: the linear kernel decides as the matrix form does)",
    where="Section 1",
    needs="filtering/ridge-fil:variants",
)
def _kernels(run: Run, answers: Answers) -> Finding:
    answer = next(a for a in answers if "forgetting" not in a.settings)
    differ = answer["differ"]
    effect = f"{int(differ.sum())} of {answer.settings['items'] * len(differ)} decisions differ"
    return Finding("holds" if not differ.any() else "does not hold here", effect)


@add_claim(
    "filtering/drift",
    says="RIDGE-FIL can be adapted to a u that drifts (here: forgetting, with one of two constants c, has less regret "
    "than RIDGE-FIL "
    "with either of them)",
    where="Section 1",
    needs="filtering/ridge-fil:variants",
)
def _drift(run: Run, answers: Answers) -> Finding:
    turning = [answer for answer in answers if "forgetting" in answer.settings]
    fading, plain = (
        min((a for a in turning if (a.settings["forgetting"] < 1.0) is fades), key=lambda a: float(a["regret"].mean()))
        for fades in (True, False)
    )
    what = (
        f"regret with forgetting (c = {fading.settings['c']:g}) minus without (c = {plain.settings['c']:g}), "
        f"out of {plain['regret'].mean():.0f}"
    )
    return judge(mean(fading["regret"] - plain["regret"]), below=0.0, what=what)
