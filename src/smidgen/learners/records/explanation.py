"""Why an answer, and not its nearest rival, in the names of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import Decision, FloatArray, IntArray

Contributions = list[tuple[str, float]]


@dataclass(frozen=True)
class Explanation:
    """What each named feature adds to the score of an answer, and to that of its nearest rival.

    Attributes
    ----------
    answer
        The label, the position of the item (or of the first document), or whether it was forwarded.
    contributions
        Its features as (name, weight times value), strongest first, under the present weights.
    rival
        The answer of the next best score; None where there is none (a filter's rival is a score of zero).
    rival_contributions
        The same for the rival.
    """

    answer: Any
    contributions: Contributions
    rival: Any = None
    rival_contributions: Contributions | None = None


class Named(NamedTuple):
    """Rows as CSR arrays, and the names of their columns."""

    starts: IntArray
    indices: NDArray[np.uint32]
    values: NDArray[Any]
    names: Mapping[int, str]

    def added(self, row: int, w: FloatArray) -> Contributions:
        """What each feature of a row adds to its score, strongest first."""
        part = slice(self.starts[row], self.starts[row + 1])
        pairs = zip(self.indices[part].tolist(), self.values[part].tolist(), strict=True)
        told = [(self.names.get(c, f"#{c}"), float(w[c] * v)) for c, v in pairs]
        return sorted(told, key=lambda entry: (-abs(entry[1]), entry[0]))


def of_candidates(decision: Decision, rows: Named, weights: FloatArray) -> Explanation:
    """The first of the answer, and the next best."""
    first, second = _two_best(decision, len(rows.starts) - 1)
    rival = None if second is None else rows.added(second, weights)
    return Explanation(first, rows.added(first, weights), second, rival)


def of_record(decision: Decision, row: Named, weights: FloatArray, labels: list[Any]) -> Explanation:
    """The label shown and the best other one; of a filter only what speaks for forwarding."""
    if weights.ndim == 1:
        return Explanation(decision.action, row.added(0, weights))
    shown, scores = labels.index(decision.action), weights[:, row.indices] @ row.values
    other = next(int(i) for i in np.argsort(-scores, kind="stable") if i != shown)
    return Explanation(decision.action, row.added(0, weights[shown]), labels[other], row.added(0, weights[other]))


def _two_best(decision: Decision, n: int) -> tuple[int, int | None]:
    """In a ranking the first two; in a choice the item and the other one of highest score."""
    action, scores = decision.action, decision.scores
    if isinstance(action, np.ndarray):
        return int(action[0]), int(action[1]) if len(action) > 1 else None
    shown = int(action[0]) if isinstance(action, tuple) else int(action)
    others = [i for i in range(n) if i != shown]
    if scores is None or not others:
        return shown, None
    return shown, max(others, key=lambda i: (float(scores[i]), -i))
