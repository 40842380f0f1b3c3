"""Does the code of today still give the answers of an earlier run? Compute some of them again, and compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from smidgen_papers.catalogue import Figure
from smidgen_papers.part import Part, Run
from smidgen_papers.runner import results, work_of
from smidgen_papers.store import Kept, Store, data_of

#: What a run measures of the machine, not of the method: never the same twice, and so not compared.
TIMES = frozenset({"seconds", "nanoseconds"})


@dataclass(frozen=True)
class Checked:
    """A part that was computed again.

    Attributes
    ----------
    part
        Which.
    deviation
        The largest relative difference of a number from the one that was kept; 0 if all are the same bit for bit,
        infinite if something other than a number differs.
    where
        The value that it is found in, or empty.
    """

    part: Part
    deviation: float
    where: str


@dataclass(frozen=True)
class Verdict:
    """What was found for a figure.

    Attributes
    ----------
    figure
        Which.
    parts
        All that it needs.
    kept
        How many of these the earlier run has.
    checked
        Those that were computed again.
    """

    figure: Figure
    parts: tuple[Part, ...]
    kept: int
    checked: tuple[Checked, ...]

    def holds(self, tolerance: float = 0.0) -> bool:
        """Check whether every kind of work that the earlier run has was computed again and came out as it was."""
        return bool(self.checked) and all(one.deviation <= tolerance for one in self.checked)


def verify(
    figures: Iterable[Figure],
    run: Run,
    earlier: Path,
    *,
    everything: bool = False,
    jobs: int = 1,
    report: Callable[[Checked], None] = lambda checked: None,
) -> list[Verdict]:
    """Compare figures with an earlier run.

    Parameters
    ----------
    figures
        Which.
    run
        Where the data are; as large and with the seed of the earlier run.
    earlier
        The folder of its finished parts, ``OUT/kept``.
    everything
        Compute every part again. Otherwise one of each kind, the quickest: a kind is a function with its data sets
        and its learner.
    jobs
        How many parts at a time.
    report
        Called with every part that was compared.
    """
    kept, by_id = Kept(earlier), {figure.id: figure for figure in figures}
    needed = {id: work_of([figure], run).parts for id, figure in by_id.items()}
    chosen: dict[bytes, Part] = {}
    for parts in needed.values():
        there = [part for part in parts if part in kept]
        for part in there if everything else _one_of_each(there):
            chosen.setdefault(kept.name(part), part)
    checked: dict[bytes, Checked] = {}
    for part, values, _ in results(list(chosen.values()), run.place, jobs):
        old = kept.get(part)
        deviation, where = difference(old, values) if old is not None else (math.inf, "")
        checked[kept.name(part)] = Checked(part, deviation, where)
        report(checked[kept.name(part)])
    return [
        Verdict(
            by_id[id],
            parts,
            sum(part in kept for part in parts),
            tuple(checked[kept.name(part)] for part in parts if kept.name(part) in checked),
        )
        for id, parts in needed.items()
    ]


def take_over(verdicts: Iterable[Verdict], run: Run, earlier: Path, tolerance: float = 0.0) -> int:
    """Keep the earlier run's answers as answers of today's code, for figures that came out as they were.

    What was computed again is kept as it is now. An answer is taken over if one of its kind was compared. Gives
    how many were.
    """
    kept, store, done = Kept(earlier), Store(run.place), 0
    for verdict in verdicts:
        if not verdict.holds(tolerance):
            continue
        compared = {_kind(one.part) for one in verdict.checked}
        for part in verdict.parts:
            old = kept.record(part)
            if old is not None and _kind(part) in compared and store.get(part) is None:
                store.take_over(part, old)
                done += 1
    return done


def difference(old: Any, new: Any, where: str = "") -> tuple[float, str]:
    """The largest relative difference of two answers, and where it is; times are left out."""
    if isinstance(old, dict) and isinstance(new, dict):
        if set(old) - TIMES != set(new) - TIMES:
            return math.inf, where or "names"
        found = [difference(old[name], new[name], f"{where}.{name}".strip(".")) for name in old if name not in TIMES]
        return max(found, default=(0.0, ""))
    if isinstance(old, str) or isinstance(new, str) or old is None or new is None:
        return (0.0, "") if old == new else (math.inf, where)
    one, two = np.asarray(old), np.asarray(new)
    if one.shape != two.shape:
        return math.inf, where
    if one.dtype.kind in "OUS" or two.dtype.kind in "OUS":
        return (0.0, "") if one.tolist() == two.tolist() else (math.inf, where)
    return _distance(one, two), where


def _distance(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> float:
    if np.array_equal(one, two, equal_nan=one.dtype.kind == "f" and two.dtype.kind == "f"):
        return 0.0
    a, b = one.astype(np.float64), two.astype(np.float64)
    if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
        return math.inf
    finite = np.isfinite(a)
    scale = np.maximum(np.abs(a), np.abs(b))[finite]
    return float(np.max(np.abs(a - b)[finite] / np.where(scale > 0, scale, 1.0), initial=0.0))


def _one_of_each(parts: Iterable[Part]) -> list[Part]:
    quickest: dict[tuple[str, ...], Part] = {}
    for part in sorted(parts, key=lambda part: part.seconds):
        quickest.setdefault(_kind(part), part)
    return list(quickest.values())


def _kind(part: Part) -> tuple[str, ...]:
    """The function, the data sets that it reads, and the learner."""
    learner = part.settings.get("learner")
    named = learner.get("name") if isinstance(learner, dict) else learner
    return (part.work, *data_of(part), str(named))
