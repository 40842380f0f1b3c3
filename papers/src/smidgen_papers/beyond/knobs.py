"""Knobs: mean regret of tuners that hear one noisy loss per round, over eight losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen_papers.beyond import paper
from smidgen_papers.beyond.knobs_play import TUNERS, from_safe, in_context, losses, play, plays
from smidgen_papers.beyond.means import geometric
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Run, part

__all__ = ["gather", "paper", "plan"]

FIRST_SEED = 70
#: What is recommended.
OURS = "QuadraticTuner"
#: Tuners and dimensions of the runs without noise.
QUIET, QUIET_DIMS = ("QuadraticTuner", "CMA-ES"), (3, 8)
#: Knobs and columns of the runs with a context.
CONTEXTS = ((1, 3), (3, 5), (3, 20))
#: What the loss is told in: unit and offset.
UNITS = ((1.0, 0.0), (0.001, 0.0), (1.0, 1000.0))


def plan(run: Run) -> list[Part]:
    """Every tuner on every loss; other units for those that must not mind."""
    rounds, seeds, dims = (200, 1, (3,)) if run.quick else (1000, 4, (2, 3, 5, 8, 16, 32))
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
    quiet = {"rounds": rounds, "noise": 0.0, "unit": 1.0, "offset": 0.0}
    for dim in [each for each in QUIET_DIMS if each in dims]:
        for loss in losses(dim, 0):
            for tuner in [each for each in QUIET if plays(each, dim)]:
                given: dict[str, Any] = {"tuner": tuner, "loss": loss, "dim": dim, **quiet}
                parts += [part(play, seconds=1.0, seed=run.seed + FIRST_SEED + s, **given) for s in range(seeds)]
    for dim, columns in CONTEXTS[:1] if run.quick else CONTEXTS:
        for context in (False, True):
            asked: dict[str, Any] = {"dim": dim, "columns": columns, "rounds": rounds, "context": context}
            parts += [part(in_context, seed=run.seed + FIRST_SEED + s, **asked) for s in range(seeds)]
    for loss in losses(3, 0):
        for safe in (False, True):
            parts += [
                part(from_safe, loss=loss, dim=3, rounds=rounds, safe=safe, seed=run.seed + FIRST_SEED + s)
                for s in range(seeds)
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
    for dim in sorted({answer.settings["dim"] for answer in answers if "tuner" in answer.settings}):
        ours = _regrets(answers, tuner=OURS, dim=dim, unit=1.0, offset=0.0, noise=0.1)
        for tuner in TUNERS:
            theirs = _regrets(answers, tuner=tuner, dim=dim, unit=1.0, offset=0.0, noise=0.1)
            if theirs:
                ratio = geometric([ours[loss] / theirs[loss] for loss in theirs])
                rows.append([dim, tuner, geometric(list(theirs.values())), ratio if tuner != OURS else "–"])
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
            Table(
                "Without noise, the last tenth of the rounds",
                ["d", "tuner", "mean regret", "worst loss"],
                _quiet(answers),
            ),
            Table(
                "With a context", ["knobs", "columns", "best fixed", "without", "with", "ratio"], _in_context(answers)
            ),
            Table("A safe setting, d = 3, noise .05", ["", "mean regret", "unsafe points a run"], _safe(answers)),
        ]
    )


def _quiet(answers: Answers) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for dim in QUIET_DIMS:
        for tuner in QUIET:
            by_loss: dict[str, list[float]] = {}
            for answer in answers.where(tuner=tuner, dim=dim, noise=0.0):
                by_loss.setdefault(answer.settings["loss"], []).append(answer["last"])
            if by_loss:
                means = [float(np.mean(values)) for values in by_loss.values()]
                rows.append([dim, tuner, f"{np.mean(means):.1e}", f"{max(means):.1e}"])
    return rows


def _in_context(answers: Answers) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for dim, columns in CONTEXTS:
        played = {context: answers.where(dim=dim, columns=columns, context=context) for context in (False, True)}
        if played[True]:
            without, with_it = (float(np.mean([a["regret"] for a in played[each]])) for each in (False, True))
            fixed = float(np.mean([a["fixed"] for a in played[True]]))
            rows.append([dim, columns, fixed, without, with_it, f"{with_it / without:.2f}"])
    return rows


def _safe(answers: Answers) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for safe, name in ((False, "without"), (True, "with a safe setting")):
        played = answers.where(safe=safe)
        regrets, unsafe = ([a[each] for a in played] for each in ("regret", "unsafe"))
        rows.append([name, float(np.mean(regrets)), f"{np.mean(unsafe):.2f}"])
    return rows


add_figure(
    "beyond/knobs",
    title="Knobs: QuadraticTuner beside OGDEG, CMA-ES, Optuna and chance; contexts, safe settings",
    shows="No paper has this: eight losses on the unit cube, one noisy value per round.",
)
add_study("beyond/knobs", "losses", plan=plan, gather=gather)
