"""Knobs: mean regret of tuners that hear one noisy loss per round, over eight losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen_papers.beyond import paper
from smidgen_papers.beyond.knobs_play import TUNERS, losses, play, plays
from smidgen_papers.beyond.means import geometric
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Run, part

__all__ = ["gather", "paper", "plan"]

FIRST_SEED = 70
#: What is recommended: up to five coordinates, and beyond.
OURS = ("QuadraticTuner", "OGDEG, as recommended")
#: What the loss is told in: unit and offset.
UNITS = ((1.0, 0.0), (0.001, 0.0), (1.0, 1000.0))


def plan(run: Run) -> list[Part]:
    """Every tuner on every loss; other units for those that must not mind."""
    rounds, seeds, dims = (200, 1, (3,)) if run.quick else (1000, 4, (2, 3, 5, 8, 16))
    parts: list[Part] = []
    for dim in dims:
        for loss in losses(dim, 0):
            for tuner in TUNERS:
                if not plays(tuner, dim):
                    continue
                for unit, offset in UNITS if tuner == "QuadraticTuner" and dim == 3 else UNITS[:1]:
                    settings: dict[str, Any] = {"tuner": tuner, "loss": loss, "dim": dim, "rounds": rounds}
                    settings |= {"noise": 0.1, "unit": unit, "offset": offset}
                    many = 1 if tuner == "Optuna TPE" else seeds
                    seconds = 40.0 if tuner == "Optuna TPE" else 0.5
                    parts += [
                        part(play, seconds=seconds, seed=run.seed + FIRST_SEED + s, **settings) for s in range(many)
                    ]
    return parts


def _regrets(answers: Answers, **settings: Any) -> dict[str, float]:
    """The mean regret on each loss."""
    found: dict[str, list[float]] = {}
    for answer in answers.where(**settings):
        found.setdefault(answer.settings["loss"], []).append(answer["regret"])
    return {loss: float(np.mean(values)) for loss, values in found.items()}


def gather(run: Run, answers: Answers) -> Outcome:
    """Geometric means over the losses, our share of each, and the effect of units."""
    rows, each = [], []
    for dim in sorted({answer.settings["dim"] for answer in answers}):
        mine = next(name for name in TUNERS if name in OURS and plays(name, dim))
        ours = _regrets(answers, tuner=mine, dim=dim, unit=1.0, offset=0.0)
        for tuner in TUNERS:
            theirs = _regrets(answers, tuner=tuner, dim=dim, unit=1.0, offset=0.0)
            if theirs:
                ratio = geometric([ours[loss] / theirs[loss] for loss in theirs])
                rows.append([dim, tuner, geometric(list(theirs.values())), ratio if tuner != mine else "–"])
                each.append([dim, tuner, *(f"{theirs.get(loss, np.nan):.4f}" for loss in ours)])
    units = [
        [f"× {unit:g}, + {offset:g}", geometric(list(regrets.values()))]
        for unit, offset in UNITS
        if (regrets := _regrets(answers, tuner="QuadraticTuner", dim=3, unit=unit, offset=offset))
    ]
    names = list(losses(2, 0))
    return Outcome(
        tables=[
            Table(
                "Mean regret, noise .1",
                ["d", "tuner", "geometric mean (95 %)", "the recommended one's share of it"],
                rows,
            ),
            Table("Each loss", ["d", "tuner", *names], each),
            Table("QuadraticTuner, d = 3, losses in other units", ["told as", "geometric mean of regret"], units),
        ]
    )


add_figure(
    "beyond/knobs",
    title="Knobs: QuadraticTuner and OGDEG with a running mean beside CMA-ES, Optuna and chance",
    shows="No paper has this: eight losses on the unit cube, one noisy value per round.",
)
add_study("beyond/knobs", "losses", plan=plan, gather=gather)
