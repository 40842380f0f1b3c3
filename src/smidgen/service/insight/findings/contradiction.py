"""The same question, answered both ways."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.insight.tables import lines
from smidgen.service.insight.tracing import Step
from smidgen.service.messages import Finding

#: So many answers to questions that were asked before are enough.
CONTRADICTION_AFTER = 20
#: From this share of pairs of answers to one question that disagree; answers at random disagree in half of them.
CONTRADICTION_SHARE = 0.45


class Contradiction(Check):
    """Answers to one and the same question that disagree.

    A question is which of two candidates is the better one, among the same candidates with the same features; or
    whether the same features have the same label, or are relevant. An answer that leaves what was shown as it was says
    that it is better than those that were preferred to it elsewhere. Rewards, losses and clicks are noisy by nature,
    and no contradiction.
    """

    code = "contradiction"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say how often two answers to one question disagree."""
        asked: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
        for question, answer in _answers(evidence.steps):
            asked[question][answer] += 1
        again = [answers for answers in asked.values() if answers.total() > 1]
        n = sum(answers.total() for answers in again)
        if n < CONTRADICTION_AFTER:
            return None
        pairs = sum(answers.total() * (answers.total() - 1) // 2 for answers in again)
        agreeing = sum(count * (count - 1) // 2 for answers in again for count in answers.values())
        share = 1.0 - agreeing / pairs
        if share < CONTRADICTION_SHARE:
            return None
        questions = "one question was" if len(again) == 1 else f"{len(again)} questions were"
        return self.found(
            "warning",
            f"Feedback contradicts itself: {questions} answered {n} times, and {percent(share)} of the pairs of "
            "answers to one question disagree.",
            'Different people may want different things: make a model with "keyed": true, or add features that tell '
            "them apart. If the answer is a matter of chance, send it as a reward.",
            {"questions": len(again), "answers": n, "share": share},
        )


def _answers(steps: list[Step]) -> Iterator[tuple[Hashable, Hashable]]:
    """Questions and answers; none where answers are a matter of chance, or nothing is known of what was asked."""
    rivals: defaultdict[Hashable, set[tuple[int, int]]] = defaultdict(set)
    kept: list[tuple[Hashable, int]] = []
    for step in steps:
        if (features := _features(step.decision.context)) is None:
            continue
        place: Hashable = (step.key, features)
        if step.kind == Feedback.BETTER:
            better, shown = _first(step.told, step.decision.action)
            if better == shown:
                kept.append((place, shown))
                continue
            pair = (min(better, shown), max(better, shown))
            rivals[place].add(pair)
            yield (place, pair), better
        elif step.kind == Feedback.BIT:
            yield (place, str(step.decision.action)), bool(step.told)
        elif step.kind in (Feedback.LABEL, Feedback.RELEVANCE):
            yield place, str(step.value)
    for place, shown in kept:
        for pair in rivals[place]:
            if shown in pair:
                yield (place, pair), shown


def _first(told: Any, action: Any) -> tuple[int, int]:
    """The first of what is better and of what was shown; of two that were shown, the better one and the other."""
    if isinstance(action, tuple):
        return int(np.ravel(action[told])[0]), int(np.ravel(action[1 - told])[0])
    better = told.order if hasattr(told, "order") else told
    return int(np.ravel(better)[0]), int(np.ravel(action)[0])


def _features(context: Any) -> Hashable | None:
    found = lines(context)
    return (found.starts.tobytes(), found.columns.tobytes(), found.values.tobytes()) if found is not None else None
