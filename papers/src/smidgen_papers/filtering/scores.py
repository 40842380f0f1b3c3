"""Precision, recall and F-measure of kept counts, whole or over part of a stream, with their uncertainty."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen_papers.claims import Estimate
from smidgen_papers.filtering.documents import COMMON, RARE
from smidgen_papers.part import Answer, Answers


class Scores:
    """What a filter did on its topics; several seeds are averaged.

    Attributes
    ----------
    topics
        The topics with a share of 1 to 5 %, the most frequent first.
    share
        The share of relevant documents of each.
    """

    def __init__(self, answers: Answers, *, low: float = RARE, high: float = COMMON) -> None:
        self._runs = list(answers)
        one = self._runs[0]
        share = one["relevant"][:, -1] / one["ends"][-1]
        self._rows: IntArray = np.flatnonzero((share >= low) & (share <= high))
        self.topics = [one["topics"][k] for k in self._rows]
        self.share: FloatArray = share[self._rows]
        self.relevant: FloatArray = one["relevant"][self._rows, -1].astype(np.float64)

    def f(self, start: float = 0.0) -> FloatArray:
        """The F-measure of each topic over the stream from this part of it on."""
        return self._mean([_f(*_since(run, self._rows, start)) for run in self._runs])

    def precision(self, start: float = 0.0) -> FloatArray:
        """The share of relevant documents among those forwarded."""
        found = [_since(run, self._rows, start) for run in self._runs]
        return self._mean([good / np.maximum(sent, 1.0) for sent, good, _ in found])

    def recall(self, start: float = 0.0) -> FloatArray:
        """The share of forwarded documents among the relevant ones."""
        found = [_since(run, self._rows, start) for run in self._runs]
        return self._mean([good / np.maximum(all_, 1.0) for _, good, all_ in found])

    def forwarded(self) -> FloatArray:
        """The share of all documents that was forwarded."""
        return self._mean([run["forwarded"][self._rows, -1] / run["ends"][-1] for run in self._runs])

    def explored(self, start: float, stop: float) -> FloatArray:
        """How many documents were forwarded in spite of their margin between two parts of the stream."""
        return self._mean(
            [_at(run, "explored", self._rows, stop) - _at(run, "explored", self._rows, start) for run in self._runs]
        )

    def prolonged(self, documents: float) -> FloatArray:
        """The F-measure of a stream of this length that goes on like the second half of this one."""
        out = []
        for run in self._runs:
            whole, half = _since(run, self._rows, 0.0), _since(run, self._rows, 0.5)
            n = float(run["ends"][-1])
            times = max(documents - n, 0.0) / (n / 2.0)
            out.append(_f(*(a + times * b for a, b in zip(whole, half, strict=True))))
        return self._mean(out)

    def so_far(self) -> tuple[FloatArray, FloatArray]:
        """The relevant documents so far and the F-measure so far, at the ends of all stretches: one row per topic."""
        counts = [[run[name][self._rows].astype(np.float64) for name in _NAMES] for run in self._runs]
        return counts[0][2], self._mean([_f(*each) for each in counts])

    def by_stretch(self, pieces: int = 8) -> tuple[FloatArray, FloatArray]:
        """The ends of equal stretches, and the F-measure within each: one row per topic."""
        ends = np.linspace(0.0, 1.0, pieces + 1)
        rows = []
        for low, high in pairwise(ends):
            values = []
            for run in self._runs:
                counts = [_at(run, name, self._rows, high) - _at(run, name, self._rows, low) for name in _NAMES]
                values.append(_f(*counts))
            rows.append(self._mean(values))
        return ends[1:] * float(self._runs[0]["ends"][-1]), np.array(rows).T

    @staticmethod
    def _mean(rows: list[FloatArray]) -> FloatArray:
        return np.asarray(np.mean(rows, axis=0))


_NAMES = ("forwarded", "found", "relevant")


def difference(a: Answer, b: Answer, topic: str) -> Estimate:
    """F of one filter minus F of another on a topic, with the jackknife's interval over stretches of the stream."""
    rows = [run["topics"].index(topic) for run in (a, b)]
    left, right = (
        [np.diff(run[name][row], prepend=0).astype(np.float64) for name in _NAMES]
        for run, row in zip((a, b), rows, strict=True)
    )
    whole = float(_f(*(x.sum() for x in left)) - _f(*(x.sum() for x in right)))
    rest = _f(*(x.sum() - x for x in left)) - _f(*(x.sum() - x for x in right))
    n = len(rest)
    half = 1.96 * float(np.sqrt((n - 1) / n * np.sum((rest - rest.mean()) ** 2)))
    return Estimate(whole, whole - half, whole + half)


def _f(forwarded: FloatArray, found: FloatArray, relevant: FloatArray) -> FloatArray:
    """2PR/(P + R) = 2·found/(forwarded + relevant)."""
    return np.asarray(2.0 * found / np.maximum(forwarded + relevant, 1.0))


def _at(run: Answer, name: str, rows: IntArray, part: float) -> FloatArray:
    counts = run[name][rows]
    column = round(part * counts.shape[1])
    return np.asarray(counts[:, column - 1] if column else np.zeros(len(rows)), np.float64)


def _since(run: Answer, rows: IntArray, start: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    sent, good, all_ = (_at(run, name, rows, 1.0) - _at(run, name, rows, start) for name in _NAMES)
    return sent, good, all_
