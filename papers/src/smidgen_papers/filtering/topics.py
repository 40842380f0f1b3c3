"""Figure 1: the F-measure on each topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.filtering.documents import COMMON, RARE
from smidgen_papers.filtering.plays import play
from smidgen_papers.filtering.scores import Scores
from smidgen_papers.outcome import Curve, Outcome, Panel, Table, curve
from smidgen_papers.part import Answers, Part, Run, part

#: What the paper prints: the average F-measure over its 34 topics.
PRINTED = {"RIDGE-FULL": 0.68, "perceptron": 0.61, "RIDGE-FIL": 0.59}
#: Who hears what.
FILTERS = {
    "RIDGE-FULL": "everything",
    "perceptron": "everything",
    "RIDGE-FIL": "what it forwards",
    "STAP on RIDGE-FULL": "what it forwards",
    "STAP on perceptron": "what it forwards",
}
#: The topics that are played: those of the figure, or with them the more frequent ones, which stand apart as a check.
SHARES, WIDE = [RARE, COMMON], [RARE, 0.35]
#: The length of the paper's stream.
LENGTH = 70_000

add_figure(
    "filtering/fig1",
    title="F-measure per topic",
    shows="The F-measure of RIDGE-FIL, which hears of what it forwards, and of RIDGE-FULL, which hears everything, on "
    "34 "
    "topics of 1 to 5 % of 70,000 stories of Reuters Corpus Volume 1. RIDGE-FIL lies below on most topics and a little "
    "above on some. Printed averages: RIDGE-FULL 0.68, RIDGE-FIL 0.59, the perceptron with full information 0.61. "
    "Apple "
    "tasting (STAP around RIDGE-FULL) did so poorly that it is not drawn.",
)


def setting(run: Run, *, documents: int, quick: int, stories: str = "all") -> dict[str, Any]:
    """The stream of a run: Reuters if it is there, else generated documents of the same number."""
    source = "reuters" if run.has("reuters") else "generated"
    count = quick if run.quick else documents
    stories = stories if source == "reuters" else "all"
    return {"source": source, "stories": stories, "documents": count, "reading": "as printed", "seed": run.seed}


def filter_part(
    stream: dict[str, Any], learner: str, *, seconds: float = 10.0, wide: bool = False, **settings: Any
) -> Part:
    """One filter on the topics of a stream."""
    shares = WIDE if wide else SHARES
    scale = (stream["documents"] / 21_578) ** 2
    return part(play, seconds=max(0.3, seconds * scale), learner=learner, shares=shares, settings=settings, **stream)


def _plan(stream: dict[str, Any], run: Run) -> list[Part]:
    seeds = range(1 if run.quick else 3)
    return [
        filter_part(stream, "RIDGE-FULL", seconds=70.0, wide=True),
        filter_part(stream, "RIDGE-FIL", seconds=40.0, wide=True),
        filter_part(stream, "perceptron", seconds=2.0),
        *(filter_part(stream, "STAP on RIDGE-FULL", seconds=25.0, seed=run.seed + s) for s in seeds),
        *(filter_part(stream, "STAP on perceptron", seconds=3.0, seed=run.seed + s) for s in seeds),
    ]


def plan(run: Run) -> list[Part]:
    """All stories, in the order of time."""
    return _plan(setting(run, documents=21_578, quick=3000), run)


def plan_indexed(run: Run) -> list[Part]:
    """Only the stories that are known to have been given topics."""
    if not run.has("reuters"):
        return []
    return _plan(setting(run, documents=12_902, quick=2000, stories="indexed"), run)


def _gather(title: str) -> Callable[[Run, Answers], Outcome]:
    def gather(run: Run, answers: Answers) -> Outcome:
        if not len(answers):
            return Outcome(notes=["Without Reuters-21578 there are no stories to tell apart by their indexing."])
        one = next(iter(answers))
        name = f"Reuters-21578, {title}" if one.settings["source"] == "reuters" else "generated documents"
        scores = {learner: Scores(answers.where(learner=learner)) for learner in FILTERS}
        topics = scores["RIDGE-FULL"].topics
        x = np.arange(len(topics), dtype=np.float64)
        panels = [
            Panel(
                name,
                "topic, the most frequent first",
                "F-measure",
                [Curve(learner, x, score.f(), style="points") for learner, score in scores.items()],
                ticks=topics,
            ),
            Panel(
                f"{name}: along the stream",
                "documents",
                "F-measure within a stretch, mean over topics",
                [curve(learner, *score.by_stretch()) for learner, score in scores.items()],
            ),
        ]
        panels.append(_gap(name, answers))
        tables = [_averages(name, scores), _each(name, scores), *_frequent(name, answers)]
        note = f"{name}: {int(one['ends'][-1]):,} documents, {one['dim']:,} words, {len(topics)} topics of 1 to 5 %."
        return Outcome(panels=panels, tables=tables, notes=[note])

    return gather


def _gap(name: str, answers: Answers) -> Panel:
    """How far RIDGE-FIL is behind, by the number of relevant documents that have come; the frequent topics, too."""
    fil, full = (Scores(answers.where(learner=who), low=RARE, high=1.0) for who in ("RIDGE-FIL", "RIDGE-FULL"))
    (came, near), (_, best) = fil.so_far(), full.so_far()
    curves = [
        Curve(
            topic,
            np.maximum(came[k, 1:], 1.0),
            near[k, 1:] - best[k, 1:],
            style="line" if share <= COMMON else "dashed",
        )
        for k, (topic, share) in enumerate(zip(fil.topics, fil.share, strict=True))
    ]
    return Panel(f"{name}: the gap", "relevant documents so far", "F of RIDGE-FIL minus F of RIDGE-FULL", curves, "log")


def _averages(name: str, scores: dict[str, Scores]) -> Table:
    rows = [
        [
            learner,
            FILTERS[learner],
            PRINTED.get(learner, "–"),
            *(
                round(float(np.mean(v)), 3)
                for v in (s.f(), s.precision(), s.recall(), s.forwarded(), s.f(0.5), s.prolonged(LENGTH))
            ),
        ]
        for learner, s in scores.items()
    ]
    columns = [
        "filter",
        "hears",
        "F printed",
        "F",
        "precision",
        "recall",
        "forwarded",
        "F, second half",
        "F, prolonged",
    ]
    note = (
        "Means over topics. Second half: counts of the second half of the stream only. Prolonged: as if the stream "
        "went "
        f"on to {LENGTH:,} documents, the paper's number, just as in its second half."
    )
    return Table(f"{name}: averages", columns, rows, note=note)


def _each(name: str, scores: dict[str, Scores]) -> Table:
    full, fil, tasting = scores["RIDGE-FULL"], scores["RIDGE-FIL"], scores["STAP on RIDGE-FULL"]
    columns = ["topic", "relevant"]
    columns += [f"{who} {what}" for who in ("RIDGE-FULL", "RIDGE-FIL") for what in ("F", "precision", "recall")]
    columns += ["perceptron F", "STAP F"]
    values = [full.f(), full.precision(), full.recall(), fil.f(), fil.precision(), fil.recall()]
    values += [scores["perceptron"].f(), tasting.f()]
    rows = [
        [topic, int(full.relevant[k]), *(round(float(value[k]), 3) for value in values)]
        for k, topic in enumerate(full.topics)
    ]
    return Table(f"{name}: each topic", columns, rows)


def _frequent(name: str, answers: Answers) -> list[Table]:
    """The topics above 5 %: as many relevant documents as the paper's topics had, if too large a share."""
    fil, full = (Scores(answers.where(learner=who), low=0.0501, high=1.0) for who in ("RIDGE-FIL", "RIDGE-FULL"))
    rows = [
        [topic, int(fil.relevant[k]), *(round(float(v[k]), 3) for v in (full.f(), fil.f(), full.f(0.5), fil.f(0.5)))]
        for k, topic in enumerate(fil.topics)
    ]
    columns = [
        "topic",
        "relevant",
        "RIDGE-FULL F",
        "RIDGE-FIL F",
        "RIDGE-FULL F, second half",
        "RIDGE-FIL F, second half",
    ]
    note = (
        f"Not in the figure. In the paper's stream a topic of 1 to 5 % has {LENGTH // 100} to {LENGTH // 20:,} "
        "relevant documents."
    )
    return [Table(f"{name}: topics above 5 %", columns, rows, note=note)] if rows else []


add_study("filtering/fig1", "topics", plan=plan, gather=_gather("all stories"), data=("reuters",))
add_study("filtering/fig1", "indexed", plan=plan_indexed, gather=_gather("indexed stories"), data=("reuters",))
