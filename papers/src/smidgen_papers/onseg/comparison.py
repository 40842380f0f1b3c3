"""The comparison of Figures 1 and 2: which parts it needs, and how they are shown."""

from __future__ import annotations

import numpy as np

from smidgen_papers.claims import Estimate, Finding, every, judge, mean
from smidgen_papers.onseg.learners import Choice
from smidgen_papers.onseg.paper import EPOCHS, PRINTED
from smidgen_papers.onseg.plays import fixed, play
from smidgen_papers.onseg.readings import MAIN, READINGS, source_of
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answer, Answers, Part, Run, part

#: What the paper's figures compare, with the constants that it names.
FOUR = (
    Choice("OGD"),
    Choice("ONS", "printed"),
    Choice("OGDEG", "", "theorem"),
    Choice("ONSEG", "printed", "theorem"),
)
ONSEG, OGDEG, FROZEN = FOUR[3], FOUR[2], Choice("frozen", "printed", "theorem")
#: Other origins of the constants: on every reading, and on the main one only.
OTHERS = (
    FROZEN,
    Choice("ONSEG", "theory", "theorem"),
    Choice("ONSEG", "practical", "theorem"),
    Choice("OGDEG", "", "fifth"),
    Choice("ONSEG", "printed", "fifth"),
)
EXTRA = (
    Choice("ONS", "theory"),
    Choice("OGDEG", "", "fkm"),
    Choice("ONSEG", "practical", "fifth"),
    Choice("frozen", "practical", "theorem"),
)
MARGIN = 1.0  # per cent: what is less apart counts as even
_SECONDS = {"abalone": 0.4, "kin8nm": 0.3, "ionosphere": 0.15, "cancer": 0.08}


def parts(run: Run, data: str) -> list[Part]:
    """Every algorithm on every reading of a table; the quick set has five on two readings, 15·n rounds."""
    source = source_of(run, data)
    planned = []
    for name, reading in READINGS.items():
        settings = reading.settings()
        if run.quick and name not in (MAIN, "[-1, 1], ball 1"):
            continue
        without_order = {key: value for key, value in settings.items() if key != "order"}
        if reading.order == "shuffled":
            planned.append(part(fixed, seconds=1.0, table=data, source=source, **without_order))
        repeats = 3 if run.quick else 10 if name == MAIN else 5
        choices = (*FOUR, FROZEN) if run.quick else (*FOUR, *OTHERS, *(EXTRA if name == MAIN else ()))
        planned += [
            part(
                play,
                seconds=_SECONDS[data] * repeats * (15 / EPOCHS if run.quick else 1.0),
                table=data,
                source=source,
                **settings,
                learner=choice.learner,
                beta=choice.beta,
                reach=choice.reach,
                epochs=15 if run.quick else EPOCHS,
                repeats=repeats,
                seed=run.seed,
            )
            for choice in choices
        ]
    return planned


def runs_of(answers: Answers, reading: str, choice: Choice) -> Answer:
    """The runs of one algorithm on one reading."""
    return answers.one(**READINGS[reading].settings(), learner=choice.learner, beta=choice.beta, reach=choice.reach)


def ran(answers: Answers, reading: str, choice: Choice) -> bool:
    """Check whether the algorithm was run on the reading."""
    found = answers.where(**READINGS[reading].settings())
    return len(found.where(learner=choice.learner, beta=choice.beta, reach=choice.reach)) > 0


def best_of(answers: Answers, reading: str) -> Answer:
    """What fixed points of this reading cost."""
    settings = {key: value for key, value in READINGS[reading].settings().items() if key != "order"}
    return next(answer for answer in answers.where(**settings) if "learner" not in answer.settings)


def shown_readings(answers: Answers) -> list[str]:
    """The readings that were run, in our order."""
    return [name for name, reading in READINGS.items() if len(answers.where(**reading.settings()))]


def shown_choices(answers: Answers) -> list[Choice]:
    """The algorithms that were run, in our order."""
    ran = {(a.settings["learner"], a.settings["beta"], a.settings["reach"]) for a in answers if "learner" in a.settings}
    return [choice for choice in (*FOUR, *OTHERS, *EXTRA) if (choice.learner, choice.beta, choice.reach) in ran]


def gather(run: Run, answers: Answers, data: str, *, errors: bool) -> Outcome:
    """The paper's curves on the reading next to it, and a table of all readings."""
    made = "" if source_of(run, data) == "file" else " (generated)"
    title = f"{PRINTED[data].title}{made}"
    panels = []
    if errors:
        panels.append(_panel(answers, f"{title}: error rate", "mean error rate", "mistakes", "best_mistakes"))
    panels.append(_panel(answers, f"{title}: loss", "mean loss F(X^t)", "losses", "best"))
    tables = [_table(answers, title, "losses", "mean loss F(X^T)", "best", "centre")]
    tables.append(_growth(answers, title))
    if errors:
        tables.append(_table(answers, title, "mistakes", "mean error rate at T", "best_mistakes", None))
    notes = [f"panels: {MAIN}; every row is used {_epochs(answers)} times, in a new order each time"]
    if any(answer.values.get("outside") for answer in answers):
        notes.append(
            f"{title}: the δ of Theorem 1 is larger than the set's inner radius, so the points played leave the set"
        )
    return Outcome(panels=panels, tables=tables, notes=notes)


def _epochs(answers: Answers) -> int:
    return next(int(answer.settings["epochs"]) for answer in answers if "epochs" in answer.settings)


def _panel(answers: Answers, title: str, label: str, series: str, best: str) -> Panel:
    curves = []
    for choice in shown_choices(answers):
        if choice in FOUR or choice.reach == "theorem":
            runs = runs_of(answers, MAIN, choice)
            curves.append(curve(choice.name, runs["at"], runs[series], style="line" if choice in FOUR else "dashed"))
    at = np.asarray(curves[0].x)
    level = float(best_of(answers, MAIN)[best])
    curves.append(Curve("best fixed point", at[[0, -1]], np.array([level, level]), style="dotted"))
    return Panel(title, "iterations t", label, curves, x_scale="log", y_scale="log")


def _table(answers: Answers, title: str, series: str, what: str, best: str, centre: str | None) -> Table:
    names = shown_readings(answers)
    rows: list[list[str]] = [
        [choice.name, *(_cell(answers, name, choice, series) for name in names)] for choice in shown_choices(answers)
    ]
    rows.append(["best fixed point", *(f"{best_of(answers, name)[best]:.4g}" for name in names)])
    if centre:
        rows.append(["stay in the centre", *(f"{best_of(answers, name)[centre]:.4g}" for name in names)])
    return Table(
        f"{title}: {what} by reading",
        ["algorithm", *names],
        rows,
        note="mean ± standard error over repetitions; * points leave the set, since δ ≥ r",
    )


def _growth(answers: Answers, title: str) -> Table:
    names = shown_readings(answers)
    rows = []
    for choice in shown_choices(answers):
        if choice.learner in ("ONS", "ONSEG"):
            found = [runs_of(answers, name, choice) if ran(answers, name, choice) else None for name in names]
            cells = [f"{one['least_growth']:.5g} to {one['most_growth']:.5g}" if one else "" for one in found]
            rows.append([choice.name, *cells])
    return Table(
        f"{title}: how much A has grown by T",
        ["algorithm", *names],
        rows,
        note="A over the A it starts with, in the direction that it knows least and most of; 1: nothing was learnt",
    )


def _cell(answers: Answers, reading: str, choice: Choice, series: str) -> str:
    if not ran(answers, reading, choice):
        return ""
    runs = runs_of(answers, reading, choice)
    last = np.asarray(runs[series])[:, -1]
    error = last.std(ddof=1) / np.sqrt(len(last)) if len(last) > 1 else 0.0
    return f"{last.mean():.4g} ± {error:.1g}{' *' if runs['outside'] else ''}"


def gap(answers: Answers, reading: str, series: str, one: Choice, other: Choice) -> Estimate:
    """The first one's end value less the other one's, as a share of the latter, over paired repetitions."""
    a = np.asarray(runs_of(answers, reading, one)[series])[:, -1]
    b = np.asarray(runs_of(answers, reading, other)[series])[:, -1]
    return mean(100.0 * (a - b) / b.mean())


def ahead(answers: Answers, series: str, one: Choice, other: Choice, what: str) -> Finding:
    """Is the first one below the other at T, by at least a per cent, on the main reading? The reason has the others."""
    finding = judge(gap(answers, MAIN, series, one, other), below=-MARGIN, what=f"{what}, per cent")
    count = {"ahead": 0, "behind": 0, "even": 0}
    others = [name for name in shown_readings(answers) if name != MAIN and ran(answers, name, one)]
    for name in others:
        estimate = gap(answers, name, series, one, other)
        count["ahead" if estimate.high < -MARGIN else "behind" if estimate.low > MARGIN else "even"] += 1
    words = ", ".join(f"{word} on {n}" for word, n in count.items() if n)
    said = f"{len(others)} other readings: {words}"
    return Finding(finding.verdict, finding.effect, "; ".join(filter(None, (finding.reason, said))))


def all_ahead(sets: dict[str, Answers], series: str, one: Choice, other: Choice, what: str) -> Finding:
    """Check whether one learner is ahead of another on both sets."""
    return on_both({name: ahead(answers, series, one, other, what) for name, answers in sets.items()})


def on_both(findings: dict[str, Finding]) -> Finding:
    """One verdict for two data sets; the reasons of both are kept."""
    whole = every(findings)
    return Finding(
        whole.verdict, whole.effect, "; ".join(f"{name}: {f.reason}" for name, f in findings.items() if f.reason)
    )


def newton_helps(answers: Answers, series: str, what: str) -> Finding:
    """Is ONSEG ahead of itself with A frozen? How much A has grown is said in the reason."""
    finding = ahead(answers, series, ONSEG, FROZEN, f"{what} of ONSEG against ONSEG with A frozen")
    made = runs_of(answers, MAIN, ONSEG)
    grown = f"A grew by a factor of {made['least_growth']:.5g} to {made['most_growth']:.5g}"
    return Finding(finding.verdict, finding.effect, "; ".join(filter(None, (grown, finding.reason))))
