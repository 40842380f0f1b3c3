"""Fig. 8: accuracy against the size of the training set, on what stands in for the Vocal Joystick vowels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.confidit.algorithms import NAMES
from smidgen_papers.confidit.spoken import SPEECH, accuracy_by_size, skyline
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

SKYLINE = "softmax, all data"
_NOTE = (
    "The Vocal Joystick vowels cannot be had. Panels 1–4: spoken digits (FSDD), the middle half of each recording, "
    "where the vowel is; digits 2 3 4 5 for the paper's four vowels, 0 1 2 3 4 5 6 8 for its eight; each of six "
    "speakers in turn is the test speaker. Panels 5–6: two classical vowel sets, random halves of the speakers. One "
    "pass. The skyline is softmax regression, in place of PLM."
)


def source(run: Run, task: str) -> str:
    """The data set that a task reads in this run, or "generated"."""
    return SPEECH[task].source if run.has(SPEECH[task].source) else "generated"


def plan(run: Run, scale: str) -> list[Part]:
    """One part per task and algorithm, and one per task for the skyline; seven frames only as they are."""
    parts = []
    for task, about in SPEECH.items():
        if about.window > 1 and (run.quick or scale == "unit"):
            continue
        read = source(run, task)
        few = about.source == "digits" or read == "generated"
        shared: dict[str, Any] = {
            "task": task,
            "source": read,
            "scale": scale,
            "seed": run.seed,
            "splits": (2 if run.quick else 6) if few else (3 if run.quick else 20),
            "most": 4000 if run.quick else 100_000,
        }
        seconds = 0.5 if run.quick else 30.0 if about.window > 1 else 5.0 if few else 1.0
        sizes = [size for size in about.sizes if not run.quick or size <= 1000]
        for name in NAMES:
            one = part(accuracy_by_size, seconds=seconds, learner=name, sizes=sizes, coarse=run.quick, **shared)
            parts.append(one)
        parts.append(part(skyline, seconds=seconds, **shared))
    return parts


def sizes_of(answers: Answers, task: str) -> list[int]:
    """The sizes of the training sets of a task, the whole one last."""
    asked = answers.one(task=task, learner=NAMES[0]).settings["sizes"]
    whole = min(int(answer["size"].min()) for answer in answers.where(task=task) if "learner" not in answer.settings)
    return [*(size for size in asked if size < whole), whole]


def skyline_of(answers: Answers, task: str) -> Any:
    """The accuracy of the skyline in every split."""
    return next(answer["accuracy"] for answer in answers.where(task=task) if "learner" not in answer.settings)


def tasks_of(answers: Answers) -> list[str]:
    """The tasks that the answers speak of, in order."""
    return list(dict.fromkeys(answer.settings["task"] for answer in answers))


def _gather(run: Run, answers: Answers, said: str) -> Outcome:
    panels, rows = [], []
    for task in tasks_of(answers):
        sizes = sizes_of(answers, task)
        made = " (generated)" if source(run, task) == "generated" else ""
        curves: list[Curve] = [curve(name, sizes, answers.one(task=task, learner=name)["accuracy"]) for name in NAMES]
        top = float(np.mean(skyline_of(answers, task)))
        curves.append(curve(SKYLINE, [sizes[0], sizes[-1]], [top, top], style="dashed"))
        title = f"{SPEECH[task].title}{made}; {said}"
        panels.append(Panel(title, "training examples", "test accuracy (%)", curves, x_scale="log"))
        for k, size in enumerate(sizes):
            means = [answers.one(task=task, learner=name)["accuracy"][:, k].mean() for name in NAMES]
            rows.append([f"{SPEECH[task].title}{made}", size, *(round(float(m), 1) for m in means), round(top, 1)])
    table = Table(f"Test accuracy in percent; {said}", ["data", "examples", *NAMES, SKYLINE], rows)
    return Outcome(panels=panels, tables=[table], notes=[_NOTE])


add_figure(
    "confidit/fig8",
    title="Accuracy against the size of the training set",
    shows="Vocal Joystick vowels, four or eight of them, one or seven frames; one pass. On four vowels and one frame "
    "AROW and Confidit have 89 % after 1,000 examples, the skyline (PLM) has 90.0 %; with seven frames it has 91.6 %. "
    "On eight vowels (67.2 and 68.4 %) no online algorithm comes near it; AROW is best, then the 2nd-order perceptron, "
    "Confidit, Perceptron and Banditron.",
)
_DATA = ("digits", "vowels", "peterson_barney")
for _name, _scale, _said in (("speech", "raw", "vectors as they are"), ("unit", "unit", "vectors of length 1")):
    add_study("confidit/fig8", _name, plan=partial(plan, scale=_scale), gather=partial(_gather, said=_said), data=_DATA)
