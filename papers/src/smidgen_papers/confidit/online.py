"""Figs. 3–7: mistakes and exploration while learning, without and with label noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.confidit.algorithms import BANDITS, NAMES
from smidgen_papers.confidit.cells import DATA_NOTE, cell, tasks_of, title
from smidgen_papers.confidit.corpora import TASKS
from smidgen_papers.outcome import Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run

#: The data sets of Fig. 3, and what is left of Fig. 4.
FIRST, SECOND = ("newsgroups", "amazon3", "headlines", "reuters4"), ("amazon4",)
_NOTE = (
    "Means over the folds of the cross-validation behind Tables 3–6, with the parameters tuned there. "
    "Mistakes of the label shown, against the clean label."
)


def panel(answers: Answers, task: str, noise: float, what: str) -> Panel:
    """One panel: ``what`` is "first" (mistakes, first epoch), "all" (mistakes, all epochs) or "explored"."""
    names = BANDITS if what == "explored" else NAMES
    curves = []
    for name in names:
        answer = answers.one(task=task, noise=noise, learner=name)
        kept = answer["rounds"] <= (answer["train"] if what == "first" else np.inf)
        rows = np.asarray(answer["explored" if what == "explored" else "mistakes"], dtype=np.float64)
        curves.append(curve(name, answer["rounds"][kept], rows[:, kept]))
    said = {"first": "first epoch", "all": "ten epochs", "explored": "exploration"}[what]
    source = answers.one(task=task, noise=noise, learner=names[0]).settings["source"]
    return Panel(
        f"{title(task, source)}, {said}{f', {noise:.0%} noise' if noise else ''}",
        "examples",
        "label shown is not the greedy one" if what == "explored" else "mistakes",
        curves,
    )


def _log(one: Panel) -> Panel:
    positive = [
        curve(c.name, c.x[c.y > 0], c.y[c.y > 0]) for c in one.curves
    ]  # the first rounds may be free of mistakes
    return Panel(one.title, one.x, one.y, positive, x_scale="log", y_scale="log")


def counts(
    answers: Answers, tasks: Sequence[str], noises: Sequence[float], names: Sequence[str] = NAMES
) -> list[Table]:
    """Mistakes and explorations in numbers: in the first epoch, and per epoch in the others."""
    rows: list[list[Any]] = []
    for task in tasks:
        for noise in noises:
            for name in names:
                a = answers.one(task=task, noise=noise, learner=name)
                wrong, greedy, explored = (
                    a[key].mean(axis=0) for key in ("epoch_mistakes", "epoch_greedy_mistakes", "epoch_explored")
                )
                numbers = (wrong[0], wrong[1:].mean(), greedy[0], greedy[1:].mean(), explored.sum())
                rows.append([TASKS[task].title, f"{noise:.0%}", name, *(round(float(number)) for number in numbers)])
    heads = ["data", "noise", "algorithm", "mistakes, epoch 1", "per later epoch"]
    heads += ["of the greedy label, epoch 1", "per later epoch", "explored in all"]
    note = 'The paper says "prediction mistakes"; it may mean the label shown or the greedy one, so both are here.'
    return [Table("Mistakes in numbers", heads, rows, note=note)]


def _plan(run: Run, tasks: Sequence[str], noises: Sequence[float]) -> list[Part]:
    return [cell(run, task, name, noise) for task in tasks for noise in noises for name in NAMES]


def _clean(answers: Answers) -> Outcome:
    panels = []
    for task in tasks_of(answers):
        panels += [panel(answers, task, 0.0, "first"), _log(panel(answers, task, 0.0, "all"))]
        panels.append(panel(answers, task, 0.0, "explored"))
    return Outcome(panels=panels, tables=counts(answers, tasks_of(answers), (0.0,)), notes=[_NOTE, DATA_NOTE])


def _noisy(answers: Answers, noises: Sequence[float], what: str) -> Outcome:
    panels = [panel(answers, task, noise, what) for task in tasks_of(answers) for noise in noises]
    names = BANDITS if what == "explored" else NAMES
    return Outcome(panels=panels, tables=counts(answers, tasks_of(answers), noises, names), notes=[_NOTE, DATA_NOTE])


_DATA = tuple(dict.fromkeys(TASKS[name].source for name in FIRST))
_HIGH, _FLAT = (0.1, 0.2, 0.3), (0.0, 0.2, 0.3)

add_figure(
    "confidit/fig3",
    title="Mistakes in one and in ten epochs, and exploration",
    shows="20 newsgroups, Amazon3, NYTS and Reuters. AROW makes the fewest mistakes and Banditron the most; the other "
    "three have no clear order. Over ten epochs Banditron goes on at the same rate, the others slow down on 20 "
    "newsgroups. Confidit explores less and less, and less than Banditron, except on Amazon.",
)
add_study(
    "confidit/fig3",
    "texts",
    plan=lambda run: _plan(run, FIRST, (0.0,)),
    gather=lambda run, answers: _clean(answers),
    data=_DATA,
)
add_figure(
    "confidit/fig4",
    title="The same on the other data sets",
    shows="Amazon7, Enron A and B, NYTD and NYTO, with the same picture as in Fig. 3.",
)
add_study(
    "confidit/fig4",
    "texts",
    plan=lambda run: _plan(run, SECOND, (0.0,)),
    gather=lambda run, answers: _clean(answers),
    data=("amazon",),
)
add_figure(
    "confidit/fig5",
    title="Mistakes in the first epoch with label noise",
    shows="Six data sets at 10, 20 and 30 % noise. More noise, more mistakes, in the same order: on 20 newsgroups the "
    "2nd-order perceptron makes about 8,000, 9,000 and 10,000, Confidit about 10,000, 11,500 and 12,000.",
)
add_study(
    "confidit/fig5",
    "texts",
    plan=lambda run: _plan(run, FIRST, _HIGH),
    gather=lambda run, answers: _noisy(answers, _HIGH, "first"),
    data=_DATA,
)
add_figure(
    "confidit/fig6",
    title="Mistakes in ten epochs with label noise",
    shows="Six data sets at 0, 20 and 30 % noise. Without noise the curves flatten in later epochs; with noise all "
    "algorithms go on making mistakes at about the same rate.",
)
add_study(
    "confidit/fig6",
    "texts",
    plan=lambda run: _plan(run, FIRST, _FLAT),
    gather=lambda run, answers: _noisy(answers, _FLAT, "all"),
    data=_DATA,
)
add_figure(
    "confidit/fig7",
    title="Exploration with label noise",
    shows="Six data sets at 10, 20 and 30 % noise. On 20 newsgroups Confidit explores about 20,000, 25,000 and 40,000 "
    "times in ten epochs; on others less with more noise, or without a trend.",
)
add_study(
    "confidit/fig7",
    "texts",
    plan=lambda run: _plan(run, FIRST, _HIGH),
    gather=lambda run, answers: _noisy(answers, _HIGH, "explored"),
    data=_DATA,
)
