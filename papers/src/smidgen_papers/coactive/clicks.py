"""Figure 1: whether the rankings that clicks stand for are better than those shown."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim, add_study
from smidgen_papers.claims import Finding, every, judge, mean, untestable
from smidgen_papers.coactive.clicks_play import ASSESSORS, CONDITIONS, DISCOUNTS, QUESTIONS, SUBJECTS, clicks
from smidgen_papers.coactive.web_data import NAMES
from smidgen_papers.outcome import Curve, Outcome, Panel, Table
from smidgen_papers.part import Answer, Answers, Part, Run, part

MODELS = ("mixed", "perfect", "almost random")
#: Simulated studies: full, quick.
STUDIES = {False: 40, True: 10}
LIKE = [600, 24, 20]
#: The paper's shares of positive, negative and zero differences, and of unchanged rankings among the zeros.
PRINTED = (60.0, 10.0, 30.0, 88.0)
READINGS = [f"{discount}, {kind}" for kind in ASSESSORS for discount in DISCOUNTS]


def sources(run: Run) -> list[str]:
    """Where questions come from: real sets if there are any."""
    wanted = ("mq2008",) if run.quick else ("mq2008", "mslr")
    return [name for name in wanted if run.has(name)] or ["yahoo-like"]


def plan(run: Run) -> Iterable[Part]:
    """A part per set and click model."""
    for source in sources(run):
        for model in MODELS:
            yield part(
                clicks,
                seconds=2.0 + 0.1 * STUDIES[run.quick],
                source=source,
                size=LIKE if source == "yahoo-like" else None,
                model=model,
                read="yandex" if run.has("yandex") else "default",
                studies=STUDIES[run.quick],
                seed=run.seed,
            )


def shares(answer: Answer, reading: int = 0, condition: int | None = None) -> FloatArray:
    """Per study: percent of positive, negative and zero differences, and of unchanged rankings among the zeros."""
    rows = []
    for study in np.unique(answer["study"]):
        mine = answer["study"] == study
        if condition is not None:
            mine = mine & (answer["condition"] == condition)
        gain, changed = answer["gain"][mine, reading], answer["changed"][mine]
        zero = gain == 0
        rows.append([(gain > 0).mean(), (gain < 0).mean(), zero.mean(), (zero & ~changed).sum() / max(zero.sum(), 1)])
    return 100.0 * np.array(rows)


def gather(run: Run, answers: Answers) -> Outcome:
    """Distributions of the mixed model, shares by model and condition, shares by reading."""
    panels, cells, read = [], [], []
    for answer in answers:
        source, model = answer.settings["source"], answer.settings["model"]
        if model == "mixed":
            panels.append(
                Panel(f"{NAMES[source]}, simulated clicks", "DCG@10 gain", "share of chains up to it", _cdfs(answer))
            )
        for name, condition in (("overall", None), *zip(CONDITIONS, range(3), strict=True)):
            found = shares(answer, condition=condition)
            cells.append([NAMES[source], model, name, *_cells(found)])
        if model == "mixed":
            for i, reading in enumerate(READINGS):
                found = shares(answer, i)
                distance = float(np.abs(found.mean(axis=0) - PRINTED).mean())
                read.append([NAMES[source], reading, *_cells(found), f"{distance:.0f}"])
    columns = ["positive %", "negative %", "zero %", "unchanged among zeros %"]
    note = "mean ± standard deviation of single studies of 160 chains; log2(i+1), assessors share ranks"
    tables = [
        Table("Shares by click model", ["questions from", "model", "shown", *columns], cells, note),
        Table(
            "Readings of DCG and of the assessors (mixed model)",
            ["questions from", "reading", *columns, "mean distance to the printed 60, 10, 30, 88"],
            read,
            "ties: equal grades share a rank; five: the mean rank of five assessors who err",
        ),
    ]
    chains = STUDIES[run.quick] * SUBJECTS * QUESTIONS
    first = next(iter(answers))
    notes = [
        f"The study's data are not public: {chains:,} chains per model with simulated people. Mixed model: half of the "
        "questions navigational, half informational. "
        + ("How far people read is fitted to real clicks of Yandex. " if run.has("yandex") else "")
        + f"Two numbers are fitted to the printed 2.2 queries and 1.8 clicks per chain (here "
        f"{first['queries'].mean():.2f} "
        f"and {first['clicks'].mean():.2f}); the shares are not fitted.",
    ]
    return Outcome(panels=panels, tables=tables, notes=notes)


def _cells(found: FloatArray) -> list[str]:
    return [f"{m:.0f} ± {s:.0f}" for m, s in zip(found.mean(axis=0), found.std(axis=0), strict=True)]


def _cdfs(answer: Answer) -> list[Curve]:
    grid = np.linspace(-6.0, 10.0, 161)
    curves = []
    for name, condition in (*zip(CONDITIONS, range(3), strict=True), ("overall", None)):
        gain = answer["gain"][:, 0]
        gain = gain if condition is None else gain[answer["condition"] == condition]
        share = np.searchsorted(np.sort(gain), grid, side="right") / len(gain)
        curves.append(Curve(name, grid, share, style="line" if condition is None else "dashed"))
    return curves


add_study("coactive/fig1", "clicks", plan=plan, gather=gather, data=("mq2008", "mslr", "yandex"))

_PEOPLE = "the study's people are not at hand; this is what people do who follow the click model"


def _simulated(reason: str) -> str:
    return "; ".join(part for part in (reason, f"simulated: {_PEOPLE}") if part)


def _mixed(answers: Answers) -> dict[str, Answer]:
    return {NAMES[answer.settings["source"]]: answer for answer in answers.where(model="mixed")}


@add_claim(
    "coactive/click-shares",
    says="The click ranking's DCG@10 is higher on about 60 % of the chains, lower on about 10 % and equal on about "
    "30 %; 88 % "
    "of the equal cases are unchanged rankings.",
    where="Section 3.2",
    needs="coactive/fig1:clicks",
)
def _shares(run: Run, answers: Answers) -> Finding:
    names = ("positive", "negative", "zero", "unchanged among zeros")
    effect = "; ".join(
        f"{name}: "
        + ", ".join(f"{what} {value:.0f} %" for what, value in zip(names, shares(one).mean(axis=0), strict=True))
        for name, one in _mixed(answers).items()
    )
    return untestable(f"these are shares of 16 people's chains; {_PEOPLE}", effect)


@add_claim(
    "coactive/click-imbalance",
    says="Gains outnumber losses significantly (sign test, p < 0.0001).",
    where="Section 3.2",
    needs="coactive/fig1:clicks",
)
def _imbalance(run: Run, answers: Answers) -> Finding:
    from scipy.stats import binomtest

    findings = {}
    for name, one in _mixed(answers).items():
        clear = []
        for study in np.unique(one["study"]):
            gain = one["gain"][one["study"] == study, 0]
            up, down = int((gain > 0).sum()), int((gain < 0).sum())
            clear.append(float(up > down and binomtest(up, up + down).pvalue < 1e-4))
        findings[name] = judge(mean(clear), above=0.5, what="share of studies of 160 chains with p < 0.0001")
    found = every(findings)
    return Finding(found.verdict, found.effect, _simulated(found.reason))


@add_claim(
    "coactive/clicks-in-every-condition",
    says="Preferences from clicks are accurate also when the ranking shown is reversed or has its top swapped: every "
    "distribution lies far to the right of zero.",
    where="Section 3.2",
    needs="coactive/fig1:clicks",
)
def _conditions(run: Run, answers: Answers) -> Finding:
    findings = {}
    for name, one in _mixed(answers).items():
        for i, condition in enumerate(CONDITIONS):
            percent = shares(one, condition=i)
            findings[f"{name}, {condition}"] = judge(
                mean(percent[:, 0] - percent[:, 1]), above=0.0, what="gains minus losses, percent of the chains"
            )
    found = every(findings)
    return Finding(found.verdict, found.effect, _simulated(found.reason))


@add_claim(
    "coactive/worse-rankings-easier-to-improve",
    says="A worse ranking makes good results harder to find, but is an easier baseline: feedback quality does not "
    "suffer.",
    where="Section 3.2",
    needs="coactive/fig1:clicks",
)
def _easier(run: Run, answers: Answers) -> Finding:
    findings = {}
    for name, one in _mixed(answers).items():
        normal, reversed_ = (_mean_gains(one, condition) for condition in (0, 1))
        findings[name] = judge(
            mean(reversed_ - normal), above=-0.1, what="mean DCG@10 gain, reversed minus normal (limit: 0.1 lower)"
        )
    found = every(findings)
    return Finding(found.verdict, found.effect, _simulated(found.reason))


def _mean_gains(answer: Answer, condition: int) -> FloatArray:
    mine = answer["condition"] == condition
    return np.array([answer["gain"][mine & (answer["study"] == s), 0].mean() for s in np.unique(answer["study"])])
