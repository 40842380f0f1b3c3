"""A paper that does not exist: work for the tests of the papers' machinery."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from smidgen_papers.catalogue import Claim, Figure, Study, claims, figures
from smidgen_papers.claims import Finding, judge, mean
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Place, Run, part
from smidgen_papers.store import Arrays, prepared

CALLS = "calls.txt"


def noted(place: Place, what: str) -> None:
    place.kept.mkdir(parents=True, exist_ok=True)
    with (place.kept / CALLS).open("a") as file:
        file.write(what + "\n")


def calls(place: Place) -> list[str]:
    path = place.kept / CALLS
    return path.read_text().splitlines() if path.exists() else []


@prepared()
def numbers(place: Place, *, n: int) -> Arrays:
    noted(place, f"numbers {n}")
    return {"x": np.arange(float(n))}


def double(place: Place, *, n: int, seed: int, wait: float = 0.0) -> dict[str, Any]:
    x = numbers(place, n=n)["x"]
    time.sleep(wait)
    noted(place, f"double {n} {seed}")
    return {"y": 2.0 * x + seed, "name": "double", "half": 0.5}


def broken(place: Place, *, n: int) -> dict[str, Any]:
    raise ArithmeticError(f"{n} is not to be had")


def plan(run: Run) -> list[Part]:
    return [part(double, n=4, seed=run.seed + i) for i in range(2 if run.quick else 5)]


def slow_plan(run: Run) -> list[Part]:
    return [part(double, n=4, seed=run.seed + i, wait=0.3) for i in range(30)]


def gather(run: Run, answers: Answers) -> Outcome:
    rows = np.array([answer["y"] for answer in answers])
    flat = Curve("flat", np.arange(4.0), np.ones(4), style="dashed")
    return Outcome(
        panels=[
            Panel("made up", "x", "y", [curve("double", np.arange(4.0), rows), flat]),
            Panel("named", "who", "y", [curve("double", [0, 1], rows[:, :2], style="bars")], ticks=["ann", "bob"]),
        ],
        tables=[Table("sizes", ["n", "value"], [["4", 1.23456789]], note="a | pipe")],
        notes=["nothing here is real"],
    )


def even(run: Run, answers: Answers) -> Finding:
    return judge(mean([answer["y"][1] for answer in answers]), above=1.0, what="y at 1")


FIGURE = Figure(
    "made/fig1",
    title="twice x",
    shows="a line <straight> & rising",
    remarks="It *rises*.",
    studies=[Study("all", plan, gather)],
)
CLAIM = Claim("made/rises", "twice is more than once", "Section 2", ("made/fig1:all",), even)


def enter() -> Figure:
    figures[FIGURE.id] = FIGURE
    claims[CLAIM.id] = CLAIM
    return FIGURE


def leave() -> None:
    figures.pop(FIGURE.id, None)
    claims.pop(CLAIM.id, None)


def main(folder: str) -> None:
    """Compute slowly; the tests interrupt it."""
    from smidgen_papers.runner import Work, compute

    run = Run(Place(None, Path(folder)))
    compute(Work(tuple(slow_plan(run)), ()), run, jobs=2)


if __name__ == "__main__":
    import sys

    from papers import made_up  # the parts' functions must be found by the module's own name

    made_up.main(sys.argv[1])
