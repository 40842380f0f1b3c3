"""Tables 3–6: test errors by ten-fold cross-validation, without and with label noise."""

from __future__ import annotations

from functools import partial
from typing import Any

from smidgen.decision import FloatArray
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.confidit.algorithms import BANDITS, FOUR, LETTERS, NAMES
from smidgen_papers.confidit.cells import DATA_NOTE, NOISES, OTHER, cell, distance, tasks_of, title
from smidgen_papers.confidit.corpora import TASKS
from smidgen_papers.confidit.folds import final_errors, mcnemar, unpacked
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answer, Answers, Part, Run

#: The figures' ids.
NAME = "confidit/table{}"


def _plan(run: Run, noise: float, reading: dict[str, Any]) -> list[Part]:
    return [cell(run, task, learner, noise, **reading) for task in TASKS for learner in NAMES]


def _gather(run: Run, answers: Answers, noise: float, said: str) -> Outcome:
    rows, printed, tuned, far = [], [], [], []
    for task in tasks_of(answers):
        here = {name: answers.one(task=task, learner=name) for name in NAMES}
        errors = {name: final_errors(answer) for name, answer in here.items()}
        name = title(task, here["AROW"].settings["source"])
        about = here["AROW"]
        numbers = [f"{errors[learner].mean():.2f}{_mark(learner, errors, here)}" for learner in NAMES]
        size = f"{about['documents']:,} × {about['features']:,}, {about['classes']} classes"
        rows.append([name, *numbers, size])
        away = distance([float(errors[learner].mean()) for learner in NAMES], TASKS[task].printed[NOISES.index(noise)])
        far.append(f"{TASKS[task].stands_for} {away:.2f}")
        printed.append([TASKS[task].stands_for, *TASKS[task].printed[NOISES.index(noise)]])
        tuned.append([name, *(_tuned(learner, here[learner]) for learner in NAMES if learner != "Perceptron")])
    note = (
        "Bold (here *): lowest of the four algorithms other than AROW. Underlined (here _): the lower of the two "
        "bandits. † and ‡: p < 0.01 and p < 0.001 against each of the other three; in brackets: against the other "
        "bandit only. The paper does not name its test; here McNemar's on the pooled test examples of all folds."
    )
    return Outcome(
        tables=[
            Table(f"Test error in percent, {noise:.0%} label noise; {said}", ["data", *NAMES, "size"], rows, note=note),
            Table("The paper's numbers", ["data of the paper", *NAMES], printed),
            Table(
                f"Tuned parameters; {said}",
                ["data", *(f"{name}: {LETTERS[name]}" for name in NAMES if name != "Perceptron")],
                tuned,
                note="On one split into 80 % and 20 %, noisy in both.",
            ),
        ],
        notes=[
            DATA_NOTE,
            f"Distance from the paper's rows ({said}; mean |ln(error / printed error)|): {', '.join(far)}.",
        ],
    )


def _tuned(learner: str, answer: Answer) -> str:
    edge = answer["value"] in (answer["grid"][0], answer["grid"][-1])
    return f"{answer['value']:g}{' (edge of the grid)' if edge else ''}"


def _mark(learner: str, errors: dict[str, FloatArray], here: dict[str, Answer]) -> str:
    """The signs behind a number: best of four, better bandit, and how sure that is."""
    if learner == "AROW":
        return ""
    best = min(FOUR, key=lambda name: float(errors[name].mean()))
    bandit = min(BANDITS, key=lambda name: float(errors[name].mean()))
    signs = ("*" if learner == best else "") + ("_" if learner == bandit else "")
    if learner == best:
        signs += stars(here, learner, [name for name in FOUR if name != learner])
    elif learner == bandit and (sure := stars(here, learner, [name for name in BANDITS if name != learner])):
        signs += f"({sure})"
    return signs


def stars(here: dict[str, Answer], learner: str, others: list[str]) -> str:
    """† or ‡ by the largest p-value of the comparisons, or nothing."""
    p = max(p_value(here[learner], here[other]) for other in others)
    return "‡" if p < 0.001 else "†" if p < 0.01 else ""


def p_value(first: Answer, second: Answer) -> float:
    """McNemar's test between two algorithms on the same folds."""
    return mcnemar(*(unpacked(answer["right"], answer["documents"]) for answer in (first, second)))


_SHOWS = {
    0.0: "Ten-fold cross-validation on nine text sets. AROW has the lowest error on all nine. Without AROW, Confidit "
    "is best on 20 newsgroups (12.41 %), Amazon7 (24.73 %) and Reuters (3.55 %), and below Banditron (50.52 % on 20 "
    "newsgroups) on all nine.",
    0.1: "The same with a tenth of the training labels replaced at random: Confidit is best of the four on 20 "
    "newsgroups (17.70 %), Amazon7, Amazon3 and Reuters, and below Banditron everywhere.",
    0.2: "The same with a fifth of the labels replaced: Confidit is the best of the four on all nine sets.",
    0.3: "The same with three tenths of the labels replaced: Confidit is the best of the four on all nine sets; AROW "
    "is lower still.",
}

#: The two readings of the tables, by the names of their studies: what they change, and in words.
STUDIES: dict[str, tuple[dict[str, Any], str]] = {
    "texts": ({}, "word counts as they are"),
    "unit": (OTHER, "vectors of length 1, 1s for 20 newsgroups"),
}


def _enter(table: int, noise: float) -> None:
    add_figure(
        NAME.format(table),
        title=f"Test error, {noise:.0%} label noise" if noise else "Test error without label noise",
        shows=_SHOWS[noise],
    )
    for name, (reading, said) in STUDIES.items():
        add_study(
            NAME.format(table),
            name,
            plan=partial(_plan, noise=noise, reading=reading),
            gather=partial(_gather, noise=noise, said=said),
            data=("newsgroups", "amazon", "new_york_times", "reuters"),
        )


for _number, _noise in zip((3, 4, 5, 6), NOISES, strict=True):
    _enter(_number, _noise)
