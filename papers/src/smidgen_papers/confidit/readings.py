"""Table 3 on 20 newsgroups under other readings of the paper, and which comes closest to the printed numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_study
from smidgen_papers.confidit import tables
from smidgen_papers.confidit.algorithms import NAMES
from smidgen_papers.confidit.cells import OTHER, cell, distance, title
from smidgen_papers.confidit.corpora import TASKS
from smidgen_papers.confidit.folds import final_errors
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: What a reading of Table 3 may say of the words and their weights, and of Confidit's diagonal rule.
VECTORS: dict[str, dict[str, Any]] = {
    "counts": {"counts": "count"},
    "binary": {"counts": "paper"},
    "counts; letters only": {"counts": "count", "words": "letters"},
    "counts; compounds": {"counts": "count", "words": "compounds"},
    "counts; between spaces": {"counts": "count", "words": "spaces"},
    "counts; rule as printed": {"counts": "count", "update": "printed"},
    "binary; rule as printed": {"counts": "paper", "update": "printed"},
}
_SCALES = {"raw": "as they are", "unit": "length 1"}
#: α, which the paper fixes to 1 after trials of its own.
ALPHAS = (0.0, 0.5, 0.9, 1.0)


def settings(vectors: str, scale: str, epochs: int) -> dict[str, Any]:
    """The settings of a reading: the number of epochs before the test is that of the training."""
    return {**VECTORS[vectors], "scale": scale, "tested": epochs, "epochs": epochs}


def readings(run: Run) -> list[tuple[str, str, int]]:
    """Vectors, their scale, and the number of epochs before the test; the tokenisers in one combination only."""
    kinds = ("counts", "binary", "counts; rule as printed") if run.quick else tuple(VECTORS)
    everything = product(kinds, _SCALES, (1, 10))
    return [one for one in everything if "words" not in VECTORS[one[0]] or one[1:] == ("raw", 10)]


def _plan(run: Run) -> list[Part]:
    parts = [cell(run, "newsgroups", name, **settings(*reading)) for reading in readings(run) for name in NAMES]
    parts += [cell(run, "newsgroups", "Confidit", alpha=alpha) for alpha in ALPHAS]
    parts += [cell(run, "newsgroups", name, **OTHER) for name in NAMES]
    return list({repr(sorted(one.settings.items())): one for one in parts}.values())


def errors_of_reading(run: Run, answers: Answers, reading: tuple[str, str, int]) -> list[float]:
    """The five errors in percent under a reading."""
    found = [answers.one(**cell(run, "newsgroups", name, **settings(*reading)).settings) for name in NAMES]
    return [float(final_errors(answer).mean()) for answer in found]


def _gather(run: Run, answers: Answers) -> Outcome:
    printed = TASKS["newsgroups"].printed[0]
    rows: list[list[Any]] = []
    for vectors, scale, epochs in readings(run):
        errors = errors_of_reading(run, answers, (vectors, scale, epochs))
        rounded = [round(error, 2) for error in errors]
        rows.append([vectors, _SCALES[scale], epochs, *rounded, round(distance(errors, printed), 3)])
    rows.sort(key=lambda row: float(row[-1]))
    closest = Table(
        "20 newsgroups under the readings, the closest first",
        ["words", "vectors", "epochs", *NAMES, "distance"],
        [*rows, ["Table 3 of the paper", "", "", *printed, 0]],
        note="Distance: the mean over the five algorithms of |ln(error / printed error)|. Every reading tunes anew.",
    )
    alphas = []
    for alpha in ALPHAS:
        answer = answers.one(**cell(run, "newsgroups", "Confidit", alpha=alpha).settings)
        alphas.append([alpha, round(float(final_errors(answer).mean()), 2), answer["value"]])
    panels = []
    for reading, said in (({}, "counts as they are"), (OTHER, "1s, length 1")):
        main = {name: answers.one(**cell(run, "newsgroups", name, **reading).settings) for name in NAMES}
        where = title("newsgroups", str(main["AROW"].settings["source"]))
        lines = [curve(name, np.arange(1, 11), 100.0 * answer["errors"]) for name, answer in main.items()]
        panels.append(Panel(f"{where}, {said}: error by epoch", "epochs", "test error (%)", lines))
    return Outcome(panels=panels, tables=[closest, Table("Confidit's α", ["α", "test error (%)", "η"], alphas)])


add_study(tables.NAME.format(3), "readings", plan=_plan, gather=_gather, data=("newsgroups",))
