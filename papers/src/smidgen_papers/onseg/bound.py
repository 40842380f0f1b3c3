"""The theorems' right-hand sides against T, and the regret that is measured with the theorems' constants."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen.theory import bounds
from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every, judge, mean, ratio
from smidgen_papers.onseg.horizons import FORMS, READING, horizon
from smidgen_papers.onseg.readings import source_of
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

add_figure(
    "onseg/bound",
    title="the theorems' bounds per round against T, and the measured regret",
    shows="The paper has no such figure. It states a regret of T^{2/3} (Theorem 1) and √T (Theorem 2) for ONSEG "
    "against T^{5/6} and T^{3/4} for OGDEG. Both theorems print a second term, 5d·log T/α.",
)


def plan(run: Run) -> list[Part]:
    """Horizons of 8 to 256 epochs of kin: below, Theorem 1 leaves nothing of the set."""
    epochs = (32, 64, 128) if run.quick else (8, 16, 32, 64, 128, 256)
    repeats = 3 if run.quick else 10
    return [
        part(
            horizon,
            seconds=0.002 * e * repeats,
            table="kin8nm",
            source=source_of(run, "kin8nm"),
            form=form,
            epochs=e,
            repeats=repeats,
            seed=run.seed,
        )
        for form in FORMS
        for e in epochs
    ]


def printed(form: str, T: FloatArray, answers: Answers, *, whole: bool = True) -> FloatArray:
    """The bound on the regret as its theorem prints it; of ONSEG perhaps without 5d·log T/α."""
    size, rounds = next(iter(answers)), np.rint(T).astype(np.int64)
    dim, F, D, r, G = (size[name] for name in ("dim", "F", "D", "r", "G"))
    learner, lipschitz, _ = FORMS[form]
    L = G if lipschitz else None
    if learner == "OGDEG":
        return np.asarray(bounds.ogdeg(T=rounds, dim=dim, F=F, R=D / 2.0, r=r, lipschitz=L, per_round=False))
    sigma = 1.0 if whole else 1e100  # the last term is all that depends on σ, and it does as 1/σ
    return np.asarray(bounds.onseg(T=rounds, dim=dim, F=F, D=D, r=r, lipschitz=L, sigma=sigma, per_round=False))


def slope_of_bound(form: str, answers: Answers) -> float:
    """The exponent of T in the printed bound, between 10^10 and 10^14 rounds."""
    low, high = printed(form, np.array([1e10, 1e14]), answers)
    return math.log(high / low) / math.log(1e4)


def slopes(form: str, answers: Answers) -> FloatArray:
    """The exponent of T in the regret over the three longest horizons, by least squares: one per repetition.

    At short ones the regret is ruled by γ, the share of the set that is given up.
    """
    found = sorted(answers.where(form=form), key=lambda answer: int(answer["T"]))[-3:]
    logs = np.log([answer["T"] for answer in found])
    regrets = np.log(np.maximum(np.array([answer["regret"] for answer in found]), 1e-12))
    return np.asarray(np.polyfit(logs, regrets, 1)[0])


def gather(run: Run, answers: Answers) -> Outcome:
    """Bounds over T per round; measured regret per round; exponents."""
    T, size = np.geomspace(1e3, 1e14, 60), next(iter(answers))
    lines = []
    for form in FORMS:
        lines.append(Curve(f"{form}: printed", T, printed(form, T, answers) / T))
        if form.startswith("ONSEG"):
            without = printed(form, T, answers, whole=False) / T
            lines.append(Curve(f"{form}: without 5d·log T/α", T, without, style="dashed"))
    trivial = 2.0 * float(size["F"])
    lines.append(Curve("2F: what anybody can lose", T[[0, -1]], np.full(2, trivial), style="dotted"))
    measured, rows = [], []
    for form, (_, _, rate) in FORMS.items():
        found = sorted(answers.where(form=form), key=lambda answer: int(answer["T"]))
        at = np.array([answer["T"] for answer in found], dtype=np.float64)
        measured.append(curve(form, at, np.array([answer["regret"] for answer in found]).T / at))
        last, bound = found[-1], float(printed(form, at[-1:], answers)[0])
        rows.append(
            [
                form,
                rate,
                f"{slope_of_bound(form, answers):.3g}",
                f"{mean(slopes(form, answers)):.2f}",
                f"{float(np.mean(last['regret'])) / at[-1]:.3g}",
                f"{bound / at[-1]:.3g}",
            ]
        )
    still = Curve("stay in the centre", at[[0, -1]], np.full(2, float(size["centre"])), style="dotted")
    made = "" if source_of(run, "kin8nm") == "file" else " (generated)"
    table = Table(
        "exponents of T",
        [
            "learner",
            "stated rate",
            "exponent of the printed bound",
            "exponent measured",
            f"regret/T at T = {int(at[-1]):,}",
            "bound/T there",
        ],
        rows,
        note="the bound's exponent between 10^10 and 10^14 rounds; the measured one over the three longest horizons",
    )
    return Outcome(
        [
            Panel(f"kin{made}: bounds", "T", "bound per round", lines, x_scale="log", y_scale="log"),
            Panel(
                f"kin{made}: measured",
                "horizon T",
                "regret per round",
                [*measured, still],
                x_scale="log",
                y_scale="log",
            ),
        ],
        [table],
        [f"reading: {READING}; each point is a run with the constants of the theorem for its T (β by Algorithm 1)"],
    )


add_study("onseg/bound", "kin8nm", plan=plan, gather=gather, data=("kin8nm",))


def _rate(answers: Answers, form: str, stated: float) -> Finding:
    exponent, measured = slope_of_bound(form, answers), mean(slopes(form, answers))
    effect = f"exponent of T: stated {stated:.3g}, in the printed bound {exponent:.3g}, measured {measured:.2f}"
    if exponent <= stated + 0.05:  # a factor of log T is allowed for
        return Finding("holds", effect)
    return Finding(
        "does not hold here",
        effect,
        "the statement leaves out the theorem's own term 5d·log T/α: α falls with δ², and δ falls with T",
    )


@add_claim(
    "onseg/rate-theorem-1",
    says="The expected regret of ONSEG is of the order T^{2/3}.",
    where="Abstract; Theorem 1",
    needs="onseg/bound:kin8nm",
)
def _theorem_1(run: Run, answers: Answers) -> Finding:
    return _rate(answers, "ONSEG", 2.0 / 3.0)


@add_claim(
    "onseg/rate-theorem-2",
    says="For Lipschitz losses the expected regret of ONSEG is of the order √T.",
    where="Section 1; Theorem 2",
    needs="onseg/bound:kin8nm",
)
def _theorem_2(run: Run, answers: Answers) -> Finding:
    return _rate(answers, "ONSEG, Lipschitz", 0.5)


@add_claim(
    "onseg/rate-below-ogdeg",
    says="ONSEG, with its theorem's constants, reduces the expected regret of OGDEG from T^{5/6} to T^{2/3}.",
    where="Abstract",
    needs="onseg/bound:kin8nm",
)
def _below_ogdeg(run: Run, answers: Answers) -> Finding:
    gap = mean(slopes("ONSEG", answers) - slopes("OGDEG", answers))
    ours, theirs = (max(answers.where(form=form), key=lambda answer: int(answer["T"])) for form in ("ONSEG", "OGDEG"))
    share = ratio(ours["regret"], theirs["regret"])
    return every(
        {
            "exponent": judge(gap, below=0.0, what="that of ONSEG less that of OGDEG"),
            "regret": judge(share, below=1.0, what=f"that of ONSEG over that of OGDEG at T = {int(ours['T']):,}"),
        }
    )


@add_claim(
    "onseg/bound-holds",
    says="The regret is below the right-hand side of Theorem 1.",
    where="Theorem 1",
    needs="onseg/bound:kin8nm",
)
def _bound_holds(run: Run, answers: Answers) -> Finding:
    found = answers.where(form="ONSEG")
    shares, trivial = [], []
    for answer in found:
        bound = float(printed("ONSEG", np.array([float(answer["T"])]), answers)[0])
        shares.append(float(np.mean(answer["regret"])) / bound)
        trivial.append(bound / (2.0 * float(answer["F"]) * float(answer["T"])))
    effect = (
        f"regret over bound: at most {max(shares):.2g}; bound over 2FT, which nobody can exceed: "
        f"{min(trivial):.3g} or more"
    )
    if max(shares) > 1.0:
        return Finding("does not hold here", effect)
    return Finding("holds", effect, "the bound says nothing: it is above 2FT for every T" if min(trivial) > 1.0 else "")
