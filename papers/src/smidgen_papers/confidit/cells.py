"""The cells of Tables 3–6 as parts, for the tables and the figures of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.confidit.corpora import TASKS
from smidgen_papers.confidit.folds import cross_validate, final_errors
from smidgen_papers.part import Answers, Part, Run, part

#: Label noise of Tables 3, 4, 5 and 6.
NOISES = (0.0, 0.1, 0.2, 0.3)
#: How the paper is read unless a reading says otherwise; the remarks on Table 3 tell how this was chosen.
MAIN: dict[str, Any] = {
    "words": "words",
    "counts": "count",
    "scale": "raw",
    "update": "residual",
    "alpha": 1.0,
    "tested": 10,
    "epochs": 10,
}
#: The other one, by the letter of the text: counts or 1s as Section 5.1 says, vectors of length 1 as Algorithm 1 asks.
OTHER: dict[str, Any] = {"counts": "paper", "scale": "unit"}
#: What a reader must know of the data.
DATA_NOTE = (
    "20 newsgroups is the paper's own set. Amazon: 4 of the paper's 7 kinds of product (books, dvd, electronics, "
    "kitchen), and the first 3 of these for Amazon3 (the paper: books, dvd, music). Reuters: RCV1 cannot be had; "
    "stories of Reuters-21578 with exactly one topic, of the four largest such topics. NYT: headlines in place of "
    "articles, 27 topic codes in place of sections. Enron A and B and two of the three NYT annotations cannot be had. "
    "Epochs go in the same random order."
)
_ONLY_CONFIDIT = ("update", "alpha")
_SECONDS = {"newsgroups": 12.0, "amazon4": 6.0, "amazon3": 6.0, "headlines": 1.0, "reuters4": 3.0}


def where(run: Run, task: str) -> str:
    """The data set that a task reads in this run, or "generated"."""
    return TASKS[task].source if run.has(TASKS[task].source) else "generated"


def title(task: str, source: str) -> str:
    """The task's name in a figure; says so if the data are generated."""
    return TASKS[task].title if source != "generated" else f"{TASKS[task].title} (generated)"


def cell(run: Run, task: str, learner: str, noise: float = 0.0, **reading: Any) -> Part:
    """The part behind one cell of a table; the figures of the same data share it."""
    settings = {**MAIN, **reading}
    if learner != "Confidit":
        settings |= {name: MAIN[name] for name in _ONLY_CONFIDIT}
    return part(
        cross_validate,
        seconds=0.3 if run.quick else _SECONDS[task],
        task=task,
        source=where(run, task),
        learner=learner,
        noise=noise,
        documents=1200 if run.quick else 4000 if where(run, task) == "generated" else TASKS[task].size + 1000,
        folds=3 if run.quick else 10,
        coarse=run.quick,
        seed=run.seed,
        **settings,
    )


def distance(errors: Sequence[float], printed: Sequence[float]) -> float:
    """How far errors are from printed ones: the mean of |ln(error / printed error)|."""
    return float(np.abs(np.log(np.array(errors) / np.array(printed))).mean())


def errors_of(answers: Answers, task: str, learner: str, noise: float = 0.0) -> FloatArray:
    """The test error of every fold, in percent."""
    return final_errors(answers.one(task=task, learner=learner, noise=noise))


def tasks_of(answers: Answers) -> list[str]:
    """The tasks that the answers speak of, in order."""
    return list(dict.fromkeys(answer.settings["task"] for answer in answers))
