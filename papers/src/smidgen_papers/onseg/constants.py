"""Table 2, and what the printed values of β say about the constants that are not printed."""

from __future__ import annotations

import math
from typing import Any

from smidgen.theory import one_point
from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, every
from smidgen_papers.onseg.paper import EPOCHS, PRINTED
from smidgen_papers.onseg.plays import fixed
from smidgen_papers.onseg.readings import READINGS, source_of, space_of
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answer, Answers, Part, Run, part

add_figure(
    "onseg/table2",
    title="the data sets, and the constants behind the printed β",
    shows="Table 2 gives n and d of the five data sets. Section 4 gives β of ONS and of ONSEG on each, but none of "
    "D, F, G, r and σ that the formulas for β take.",
)


def plan(run: Run) -> list[Part]:
    """The constants of every reading of every table."""
    planned = []
    for data in PRINTED:
        for reading in READINGS.values():
            if reading.order == "shuffled":
                settings = {key: value for key, value in reading.settings().items() if key != "order"}
                planned.append(part(fixed, seconds=1.0, table=data, source=source_of(run, data), **settings))
    return planned


def betas(data: str, where: Answer) -> dict[str, float]:
    """β by the formulas for one reading: of ONS; of ONSEG without α, with σ = 1, and with the largest possible σ."""
    settings = where.settings
    space = space_of(int(where["dim"]), settings["space"], settings["radius"])
    T, F, d, D = EPOCHS * PRINTED[data].rows, float(where["F"]), int(where["dim"]), float(where["D"])
    delta, _ = one_point.onseg_constants(space, F, None, T)
    practical, alpha = delta / (4.0 * d * F * D), (delta / (d * F)) ** 2
    return {
        "ons": 0.5 * min(1.0 / (4.0 * float(where["G"]) * D), float(where["exp_concavity"])),
        "ons_slope": 1.0 / (8.0 * float(where["G"]) * D),
        "practical": 0.5 * practical,
        "theory": 0.5 * min(practical, alpha),
        "theory_largest": 0.5 * min(practical, float(where["most_curvature"]) * alpha),
        "delta": delta,
    }


def distance(data: str, where: Answer) -> float:
    """How far the formulas of a reading are from both printed β: the larger factor."""
    found, printed = betas(data, where), PRINTED[data]
    ons = min(abs(math.log(found[key] / printed.ons)) for key in ("ons", "ons_slope"))
    return math.exp(max(ons, abs(math.log(found["practical"] / printed.onseg))))


def gather(run: Run, answers: Answers) -> Outcome:
    """Sizes, implied constants, and every reading's β against the printed ones."""
    sizes: list[list[Any]] = []
    rows: list[list[Any]] = []
    names = {
        tuple(sorted(_region(reading.settings()).items(), key=str)): name
        for name, reading in READINGS.items()
        if reading.order == "shuffled"
    }
    for data, printed in PRINTED.items():
        found = answers.where(table=data)
        first = next(iter(found))
        T, d = EPOCHS * printed.rows, printed.dim
        unit, gamma = one_point.onseg_constants(space_of(d, "ball", 1.0), 1.0, None, T)
        sizes.append(
            [
                printed.title,
                f"{printed.rows} × {d}",
                f"{first['rows']} × {first['dim']}",
                f"{1.0 / (8.0 * printed.ons):.4g}",
                f"{unit / (16.0 * d * printed.onseg):.4g}",
                f"{unit:.3g}",
                f"{gamma:.3g}",
            ]
        )
        closest = min(found, key=lambda where: distance(data, where))
        for where in found:
            by = betas(data, where)
            rows.append(
                [
                    printed.title,
                    names[tuple(sorted(_region(where.settings).items(), key=str))],
                    f"{by['ons']:.2g}",
                    f"{by['ons'] / printed.ons:.2g}",
                    f"{by['practical']:.2g}",
                    f"{by['practical'] / printed.onseg:.2g}",
                    f"{by['theory'] / printed.onseg:.2g}",
                    "closest" if where is closest else "",
                ]
            )
    implied = Table(
        "what Table 2 prints, what we have, and what the printed β imply for a ball",
        ["data", "printed n × d", "here", "G·D by β of ONS", "F by β of ONSEG", "δ/r of Thm 1", "γ of Thm 1"],
        sizes,
        note="G·D if β = 1/(8GD); F if β = δ/(8dFD), which does not depend on the radius",
    )
    readings = Table(
        "β by the formulas, for every reading",
        ["data", "reading", "ONS", "/ printed", "ONSEG without α", "/ printed", "ONSEG with α / printed", ""],
        rows,
        note="with α: σ = 1; closest: the reading whose β (ONSEG without α) are within the least factor of the printed",
    )
    return Outcome(tables=[implied, readings], notes=_notes(run))


def _region(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: settings[key] for key in ("scale", "target", "space", "radius")}


def _notes(run: Run) -> list[str]:
    absent = [PRINTED[data].title for data in PRINTED if source_of(run, data) == "generated"]
    return [f"generated data of the same shape: {', '.join(absent)}"] if absent else []


add_study("onseg/table2", "constants", plan=plan, gather=gather, data=tuple(PRINTED))


@add_claim(
    "onseg/beta-by-algorithm-1",
    says="The β of ONSEG's experiments are those of Algorithm 1, ½·min(δ/(4dFD), σδ²/(d²F²)).",
    where="Algorithm 1, step 2; Section 4 (β is estimated to be …)",
    needs="onseg/table2:constants",
)
def _by_formula(run: Run, answers: Answers) -> Finding:
    findings = {}
    for data, printed in PRINTED.items():
        closest = betas(data, min(answers.where(table=data), key=lambda where: distance(data, where)))
        near, plain = printed.onseg / closest["theory_largest"], printed.onseg / closest["practical"]
        effect = (
            f"printed over the formula, in the closest reading: {near:.3g} with the largest σ that one loss allows, "
            f"{plain:.3g} if α is left out"
        )
        findings[printed.title] = Finding("holds" if 0.5 < near < 2.0 else "does not hold here", effect)
    return every(findings)


@add_claim(
    "onseg/losses-are-nice",
    says="The losses of the experiments are σ-nice with σ > 0, as the theorems assume.",
    where="Section 2.2; Theorems 1 and 2",
    needs="onseg/table2:constants",
)
def _nice(run: Run, answers: Answers) -> Finding:
    worst = max(float(where["least_curvature"]) / float(where["most_curvature"]) for where in answers)
    effect = (
        f"least over largest eigenvalue of the Hessian of a single loss: at most {worst:.1g} over all sets and readings"
    )
    if worst > 1e-12:
        return Finding("holds", effect)
    return Finding(
        "does not hold here",
        effect,
        "a loss of one inner product x·z is flat in the d − 1 directions across z, and smoothing leaves it so; a "
        "return is flat in all. So σ = 0, α = 0 and the formula's β = 0",
    )
