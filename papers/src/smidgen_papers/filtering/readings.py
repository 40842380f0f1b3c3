"""The representation of documents in Section 4.1 and what it leaves open, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_claim, add_figure, add_study
from smidgen_papers.claims import Finding, judge, mean
from smidgen_papers.filtering.documents import READINGS
from smidgen_papers.filtering.scores import Scores
from smidgen_papers.filtering.topics import PRINTED, filter_part, setting
from smidgen_papers.outcome import Curve, Outcome, Panel, Table
from smidgen_papers.part import Answers, Part, Run

#: Readings of generated word counts: they have no plurals and no stop words.
COUNTED = ("as printed", "idf of the past", "log base 10", "no idf", "binary", "not normalised")

SHORT = 2000

add_figure(
    "filtering/tfidf",
    title="Readings of the tf-idf of Section 4.1",
    shows="No figure of the paper. It maps documents to (1 + ln TF) ln(N/DF) scaled to length 1, after lemmatising, "
    "without "
    "stop words and words that occur less than three times, all digits replaced by one character. It does not say "
    "which "
    "lemmatiser and stop words, and N and DF over all documents look ahead in a stream.",
)


def plan(run: Run) -> list[Part]:
    """RIDGE-FULL, RIDGE-FIL and the perceptron on every reading."""
    base = setting(run, documents=12_902, quick=2000, stories="indexed")
    names = READINGS if base["source"] == "reuters" else COUNTED
    chosen = ["as printed", "idf of the past", "binary"] if run.quick else list(names)
    return [
        filter_part(
            {**base, "reading": reading, "documents": _documents(base["documents"], reading, learner)},
            learner,
            seconds=seconds,
            wide=reading == "as printed" and learner != "perceptron",
        )
        for reading in chosen
        for learner, seconds in (("RIDGE-FULL", 60.0), ("RIDGE-FIL", 40.0), ("perceptron", 2.0))
    ]


def _documents(count: int, reading: str, learner: str) -> int:
    """How many to play. On long vectors RIDGE-FIL forwards everything, and n² numbers per document are many then."""
    return min(count, SHORT) if (reading, learner) == ("not normalised", "RIDGE-FIL") else count


def gather(run: Run, answers: Answers) -> Outcome:
    """A row per reading."""
    one = next(iter(answers))
    name = "Reuters-21578, indexed stories" if one.settings["source"] == "reuters" else "generated documents"
    readings = list(dict.fromkeys(answer.settings["reading"] for answer in answers))
    rows: list[list[Any]] = []
    values: dict[str, list[float]] = {learner: [] for learner in PRINTED}
    for reading in readings:
        scores = {who: Scores(answers.where(reading=reading, learner=who)) for who in PRINTED}
        means = {who: float(score.f().mean()) for who, score in scores.items()}
        off = float(np.mean([abs(means[who] - PRINTED[who]) for who in PRINTED]))
        for who in PRINTED:
            values[who].append(means[who])
        fil = scores["RIDGE-FIL"]
        more = float(fil.f(0.5).mean()), float(fil.forwarded().mean()), off
        rows.append([reading, READINGS[reading], *(round(v, 3) for v in (*means.values(), *more))])
    printed = ["printed, 70,000 stories of RCV1", "", *PRINTED.values(), "–", "–", 0.0]
    columns = ["reading", "what", *(f"{who} F" for who in PRINTED), "RIDGE-FIL F, second half"]
    columns += ["RIDGE-FIL forwards", "distance to printed"]
    closest = min(rows, key=lambda row: float(row[-1]))[0]
    first = min(
        rows, key=lambda row: abs(float(row[2]) - PRINTED["RIDGE-FULL"]) + abs(float(row[3]) - PRINTED["perceptron"])
    )[0]
    note = (
        f"Means over topics of 1 to 5 %. Closest to the printed numbers: {closest}; for the two with full "
        f"information: {first}."
        + (
            f" RIDGE-FIL on vectors that are not normalised: the first {SHORT:,} documents only."
            if "not normalised" in readings
            else ""
        )
    )
    x = np.arange(len(readings), dtype=np.float64)
    curves = [Curve(who, x, np.array(values[who]), style="bars") for who in PRINTED]
    return Outcome(
        panels=[Panel(name, "reading", "F-measure, mean over topics", curves, ticks=readings)],
        tables=[Table(f"{name}: readings", columns, [printed, *rows], note=note)],
    )


add_study("filtering/tfidf", "readings", plan=plan, gather=gather, data=("reuters",))


@add_claim(
    "filtering/looking-ahead",
    says="Not in the paper, but its set-up depends on it: N and DF over all documents, known before the stream "
    "starts, do not "
    "flatter the filters (here: by less than 0.03 in F)",
    where="Section 4.1",
    needs="filtering/tfidf:readings",
)
def _looking_ahead(run: Run, answers: Answers) -> Finding:
    gaps = [
        Scores(answers.where(reading="as printed", learner=who)).f()
        - Scores(answers.where(reading="idf of the past", learner=who)).f()
        for who in PRINTED
    ]
    what = "F with idf over all documents minus F with idf over the past, mean over topics and three filters"
    return judge(mean(np.mean(gaps, axis=0)), below=0.03, what=what)
