"""The users' taste according to their corrections, counted by trait and described in words.

A correction that moves a trait counts for one direction. Once a trait has been moved, a text that users leave unchanged
in that respect counts too: for the wish if it is nearer to their edited texts, against it if it is nearer to the texts
that they corrected. A trait is reported once corrections, plus half of the unchanged texts, reach `ENOUGH`, and the
evidence against it is at most a quarter of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen.features.style import TRAITS, Trait

#: Evidence for a wish, in corrections, before it is reported, and its required ratio to the evidence against it.
ENOUGH, TIMES = 3, 4
#: A size has moved if it is a tenth more or less, a rate if it is a quarter, another number if it differs by this much.
_TENTH, _QUARTER, _STEP = math.log(1.1), 0.25, 0.05
#: A size is reported if it differs by at least this much on average.
_VISIBLE = math.log(1.15)
_NAMES = {trait.name: trait for trait in TRAITS}
#: Order of the report: the length, then what is present or absent, then details.
_FINER = {"flag": 1, "count": 2, "size": 3, "rate": 4}
_ORDER = {name: (0 if name == "length" else _FINER[trait.kind]) for name, trait in _NAMES.items()}
_MOST = 10_000
UP, DOWN, SHOWN, WANTED, FOR, AGAINST = range(6)
_COLUMNS = 6


class StyleShift(NamedTuple):
    """Evidence about one trait: its mean in the shown and in the edited texts, where it changed."""

    name: str
    shown: float
    wanted: float
    edits: int


class Taste:
    """Counts, for every trait, how often it was raised or lowered, from where and to where, and what was left so."""

    __slots__ = ("_counted",)

    def __init__(self) -> None:
        self._counted: dict[str, list[float]] = {}  # numbers one by one are quicker in a list

    def take(self, shown: Mapping[str, float], wanted: Mapping[str, float]) -> None:
        """Count one correction."""
        for name, before in shown.items():
            after = wanted[name]
            if before != after and _moved(name, before, after):
                row = self._counted.setdefault(name, [0.0] * _COLUMNS)
                row[UP] += after > before
                row[DOWN] += after < before
                row[SHOWN] += before
                row[WANTED] += after
            elif (counted := self._counted.get(name)) is not None:
                _left(name, counted, after)

    def wishes(self) -> list[StyleShift]:
        """All traits that any correction has moved, those moved most often first."""
        wishes = [
            StyleShift(name, float(row[SHOWN] / n), float(row[WANTED] / n), n)
            for name, row in self._counted.items()
            if (n := int(row[UP] + row[DOWN]))
        ]
        return sorted(wishes, key=lambda wish: (-wish.edits, _ORDER.get(wish.name, 1), wish.name))

    def in_words(self) -> list[str]:
        """A sentence for every trait that enough corrections agree on.

        The length comes first, then what is there or not, then finer points; of each kind those best supported first.
        """
        kept = {wish.name: wish for wish in self.wishes() if self._agreed(wish.name)}
        length = kept.get("length")
        ratio = length.wanted / length.shown if length is not None and length.shown else 1.0
        ordered = sorted(kept.values(), key=lambda wish: _ORDER.get(wish.name, 1))
        sentences = [_said(_NAMES.get(wish.name), wish, ratio) for wish in ordered]
        return [sentence for sentence in sentences if sentence]

    def _agreed(self, name: str) -> bool:
        up, down, _, _, kept, against = self._counted[name]
        most, least = max(up, down), min(up, down)
        if (trait := _NAMES.get(name)) is not None and trait.kind == "rate" and most < ENOUGH:
            return False  # finer points take corrections of their own
        return bool(most + kept / 2 >= ENOUGH and most + kept >= TIMES * (least + against))

    def notes(self) -> dict[str, Any]:
        """All that was counted, for saving; nothing if nothing was."""
        return {"taste": {name: np.array(row) for name, row in self._counted.items()}} if self._counted else {}

    def take_notes(self, notes: Mapping[str, Any]) -> None:
        """Take over what `notes` gave."""
        given = notes.get("taste", {})
        if not isinstance(given, dict) or len(given) > _MOST:
            raise InvalidRecord("the saved taste is not a table of counts", "use a file that Learner.save wrote")
        counted = {name: _whole(np.array(row, np.float64)) for name, row in given.items()}
        if not all(row.shape == (_COLUMNS,) and np.isfinite(row).all() for row in counted.values()):
            raise InvalidRecord("the saved taste is not a table of counts", "use a file that Learner.save wrote")
        self._counted = {name: row.tolist() for name, row in counted.items()}


def _whole(row: FloatArray) -> FloatArray:
    """A saved row; the first form had no counts of what was left as it is."""
    return np.concatenate([row, np.zeros(_COLUMNS - FOR)]) if row.shape == (FOR,) else row


def _moved(name: str, before: float, after: float) -> bool:
    """True if a trait differs by more than chance; a trait of a user's own structure counts if it differs at all."""
    trait = _NAMES.get(name)
    if trait is not None and trait.kind == "size":
        return abs(math.log(max(after, 1.0)) - math.log(max(before, 1.0))) > _TENTH
    least = _STEP + (_QUARTER * abs(before) if trait is not None and trait.kind == "rate" else 0.0)
    return trait is None or abs(after - before) > least


def _left(name: str, row: list[float], value: float) -> None:
    """Count a text that was left as it is: for the wish, or against it; how long it is may be due to what it says."""
    moved = row[UP] + row[DOWN]
    from_shown, from_wanted = abs(value - row[SHOWN] / moved), abs(value - row[WANTED] / moved)
    trait = _NAMES.get(name)
    if from_wanted < from_shown:
        row[FOR] += 1.0
    elif from_shown < from_wanted and (trait is None or trait.kind != "size"):
        row[AGAINST] += 1.0


def _said(trait: Trait | None, wish: StyleShift, length: float) -> str:
    """The sentence for a trait; empty where it follows from the length."""
    more = wish.wanted > wish.shown
    if trait is None:
        return f"{'more' if more else 'less'} {wish.name}: {wish.wanted:.2g} rather than {wish.shown:.2g}"
    if trait.kind == "size":
        ratio = wish.wanted / max(wish.shown, 1e-9)
        if abs(math.log(max(ratio, 1e-9))) < _VISIBLE:
            return ""
        what = "the length" if trait.name == "length" else f"the {trait.name}"
        return f"{trait.more}: {ratio:.1f} times {what}" if more else f"{trait.less}: {ratio:.1f} of {what}"
    if more:
        return trait.more if trait.kind != "count" or wish.wanted > 1.2 * length * wish.shown else ""
    if trait.none and wish.wanted < 0.2 and wish.wanted < 0.2 * wish.shown:
        return trait.none
    return trait.less if trait.kind != "count" or wish.wanted < 0.8 * length * wish.shown else ""
