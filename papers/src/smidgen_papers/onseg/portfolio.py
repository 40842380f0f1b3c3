"""Figure 3: a portfolio of 94 stocks."""

from __future__ import annotations

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, judge, mean, untestable
from smidgen_papers.onseg.markets import CHOICES, MARKET, SPACES, invest
from smidgen_papers.onseg.paper import PRINTED_RETURNS, WEEKS
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

add_figure(
    "onseg/fig3",
    title="portfolio: mean weekly return against weeks",
    shows="The mean weekly return of ONSEG and OGDEG over 680 weeks, 94 stocks of the SSE 180 drawn at random, 100 "
    "trials: in the end 2.88 % for ONSEG (β = 8.7142e-5, δ by Theorem 1) and 1.02 % for OGDEG. x satisfies ‖x‖₁ = 1; "
    "the stock data is not public.",
)


def plan(run: Run) -> list[Part]:
    """100 trials on either set, in parts of ten; quick: 4 on the simplex."""
    source = "file" if run.has("stocks") else "generated"
    groups = (
        [("simplex", 0, 4)] if run.quick else [(space, first, 10) for space in SPACES for first in range(0, 100, 10)]
    )
    return [
        part(
            invest,
            seconds=0.2 * trials,
            prices="stocks",
            source=source,
            space=space,
            choice=choice,
            first=first,
            trials=trials,
            seed=run.seed,
        )
        for space, first, trials in groups
        for choice in CHOICES
    ]


def of(answers: Answers, space: str, choice: str, name: str = "returns") -> FloatArray:
    """All trials of a learner on a set."""
    return np.concatenate([np.asarray(answer[name]) for answer in answers.where(space=space, choice=choice)])


def gather(run: Run, answers: Answers) -> Outcome:
    """Returns over time, and in the end."""
    made = "" if run.has("stocks") else ", generated prices"
    panels, rows = [], []
    for space in (space for space in SPACES if len(answers.where(space=space))):
        first = next(iter(answers.where(space=space)))
        at = np.asarray(first["at"])
        curves = [curve(choice, at, of(answers, space, choice)) for choice in CHOICES]
        level = float(of(answers, space, "OGDEG", "uniform").mean())
        curves.append(Curve("equal shares", at[[0, -1]].astype(float), np.array([level, level]), style="dotted"))
        panels.append(
            Panel(f"portfolio, {space}{made}", "weeks", "mean weekly return, per cent", curves, x_scale="log")
        )
        for choice in CHOICES:
            last = of(answers, space, choice)[:, -1]
            printed = PRINTED_RETURNS.get(choice.partition(",")[0], "") if choice != CHOICES[3] else ""
            rows.append(
                [space, choice, f"{last.mean():.3f} ± {last.std(ddof=1) / np.sqrt(len(last)):.3f}", len(last), printed]
            )
        rows.append([space, "equal shares", f"{level:.3f}", "", ""])
        rows.append(
            [space, "best stock in hindsight", f"{float(of(answers, space, 'OGDEG', 'best').mean()):.3f}", "", ""]
        )
    theorem = [
        [
            space,
            f"{answer['delta']:.3g}",
            f"{answer['r']:.3g}",
            f"{float(answer['delta']) / float(answer['r']):.3g}",
            f"{answer['gamma']:.3g}",
        ]
        for space in SPACES
        for answer in list(answers.where(space=space))[:1]
    ]
    tables = [
        Table(
            f"mean weekly return after {WEEKS} weeks, per cent{made}",
            ["set", "learner", "here", "trials", "printed"],
            rows,
        ),
        Table(
            "what Theorem 1 asks for",
            ["set", "δ", "inner radius r", "δ/r", "γ"],
            theorem,
            note="δ/r ≤ γ < 1 is needed; here δ = r/5 is used instead",
        ),
    ]
    notes = (
        []
        if run.has("stocks")
        else [
            f"no stock data is here: {MARKET} made-up stocks (`smidgen.data.price_stream`); prices of your own go to "
            "stocks/prices.csv in the data folder"
        ]
    )
    return Outcome(panels, tables, notes)


add_study("onseg/fig3", "stocks", plan=plan, gather=gather, data=("stocks",))


@add_claim(
    "onseg/portfolio-beats-ogdeg",
    says="ONSEG earns more per week than OGDEG (2.88 % against 1.02 %).",
    where="Section 4, Online Portfolio; Fig. 3",
    needs="onseg/fig3:stocks",
)
def _beats(run: Run, answers: Answers) -> Finding:
    gap = of(answers, "simplex", "ONSEG, β printed")[:, -1] - of(answers, "simplex", "OGDEG")[:, -1]
    finding = judge(mean(gap), above=0.0, what="mean weekly return of ONSEG less that of OGDEG, percentage points")
    even = float((of(answers, "simplex", "OGDEG")[:, -1] - of(answers, "simplex", "OGDEG", "uniform")).mean())
    said = f"OGDEG less equal shares: {even:.2g} points. " + (
        "" if run.has("stocks") else "The prices are made up, and past returns tell nothing of the next one"
    )
    return Finding(finding.verdict, finding.effect, "; ".join(filter(None, (finding.reason, said.strip()))))


@add_claim(
    "onseg/portfolio-printed-returns",
    says="The mean weekly returns are 2.88 % and 1.02 %.",
    where="Section 4, Online Portfolio",
    needs="onseg/fig3:stocks",
)
def _printed(run: Run, answers: Answers) -> Finding:
    best = of(answers, "simplex", "OGDEG", "best")
    effect = (
        f"ONSEG {of(answers, 'simplex', 'ONSEG, β printed')[:, -1].mean():.3f} %, "
        f"OGDEG {of(answers, 'simplex', 'OGDEG')[:, -1].mean():.3f} %, "
        f"best single stock in hindsight {best.mean():.3f} %"
    )
    if run.has("stocks"):
        gap = of(answers, "simplex", "ONSEG, β printed")[:, -1] - PRINTED_RETURNS["ONSEG"]
        return judge(mean(gap), above=-0.2, below=0.2, what=f"{effect}; ONSEG here less printed")
    return untestable("the paper's stock data is not public; 2.88 % a week is a factor of 4.4 a year", effect)


@add_claim(
    "onseg/portfolio-no-gradient",
    says="ONS and OGD cannot be applied to the portfolio, since there is no gradient information.",
    where="Section 4, Online Portfolio",
    needs="onseg/fig3:stocks",
)
def _no_gradient(run: Run, answers: Answers) -> Finding:
    last = of(answers, "simplex", "OGD, returns seen")[:, -1]
    return Finding(
        "does not hold here",
        f"OGD ran on {len(last)} trials: {mean(last):.3f} % a week",
        "the return x·z is linear, so its gradient is z, the week's returns, which everybody can read",
    )


@add_claim(
    "onseg/portfolio-theorem-1",
    says="δ can be set as in Theorem 1 on the portfolio.",
    where="Section 4, Online Portfolio",
    needs="onseg/fig3:stocks",
)
def _theorem(run: Run, answers: Answers) -> Finding:
    answer = next(iter(answers.where(space="simplex")))
    share = float(answer["delta"]) / float(answer["r"])
    effect = f"δ/r = {share:.3g} and γ = {float(answer['gamma']):.3g} on the simplex, where both must be below 1"
    if share < 1.0:
        return Finding("holds", effect)
    return Finding(
        "does not hold here", effect, "680 weeks are too few for 94 stocks, and the simplex is thin: r = 1/√(d(d−1))"
    )
