"""What people's corrections say of their taste, counted trait by trait, and told in words.

Only corrections that moved a trait count for it; what was left as it was contradicts nothing. A trait is told once
`ENOUGH` corrections have moved it one way, and at most a quarter as many the other way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen.features.prose import TRAITS, Trait

#: How many corrections must have moved a trait one way before it is told, and how many times as many as the other way.
ENOUGH, TIMES = 3, 4
#: A size has moved if it is a tenth more or less, another number if it differs by so much.
_TENTH, _STEP = math.log(1.1), 0.05
_NAMES = {trait.name: trait for trait in TRAITS}
#: Of traits with as much support: the length first, then what is there or not, then finer points.
_FINER = {"flag": 1, "count": 1, "size": 2, "rate": 3}
_ORDER = {name: (0 if name == "length" else _FINER[trait.kind]) for name, trait in _NAMES.items()}
_MOST = 10_000
UP, DOWN, SHOWN, WANTED = range(4)


class Wish(NamedTuple):
    """What corrections say of one trait: its mean in what was shown and in what people made of it, where it moved."""

    name: str
    shown: float
    wanted: float
    edits: int


class Taste:
    """Counts, for every trait, how often corrections raised or lowered it, from where and to where."""

    __slots__ = ("_counted",)

    def __init__(self) -> None:
        self._counted: dict[str, FloatArray] = {}

    def take(self, shown: Mapping[str, float], wanted: Mapping[str, float]) -> None:
        """Count one correction."""
        for name, before in shown.items():
            after = wanted[name]
            if before == after or not _moved(name, before, after):
                continue
            row = self._counted.setdefault(name, np.zeros(4))
            row += (after > before, after < before, before, after)

    def wishes(self) -> list[Wish]:
        """All traits that any correction has moved, those moved most often first."""
        told = [
            Wish(name, float(row[SHOWN] / n), float(row[WANTED] / n), n)
            for name, row in self._counted.items()
            if (n := int(row[UP] + row[DOWN]))
        ]
        return sorted(told, key=lambda wish: (-wish.edits, _ORDER.get(wish.name, 1), wish.name))

    def in_words(self) -> list[str]:
        """A sentence for every trait that enough corrections agree on, those best supported first."""
        kept = {wish.name: wish for wish in self.wishes() if self._agreed(wish.name)}
        length = kept.get("length")
        ratio = length.wanted / length.shown if length is not None and length.shown else 1.0
        told = [_said(_NAMES.get(wish.name), wish, ratio) for wish in kept.values()]
        return [sentence for sentence in told if sentence]

    def _agreed(self, name: str) -> bool:
        up, down = self._counted[name][UP], self._counted[name][DOWN]
        return bool(max(up, down) >= ENOUGH and max(up, down) >= TIMES * min(up, down))

    def notes(self) -> dict[str, Any]:
        """All that was counted, for saving; nothing if nothing was."""
        return {"taste": dict(self._counted)} if self._counted else {}

    def take_notes(self, notes: Mapping[str, Any]) -> None:
        """Take over what `notes` gave."""
        given = notes.get("taste", {})
        if not isinstance(given, dict) or len(given) > _MOST:
            raise InvalidRecord("the saved taste is not what was counted", "give what Learner.save wrote")
        counted = {name: np.array(row, np.float64) for name, row in given.items()}
        if not all(row.shape == (4,) and np.isfinite(row).all() for row in counted.values()):
            raise InvalidRecord("the saved taste is not what was counted", "give what Learner.save wrote")
        self._counted = counted


def _moved(name: str, before: float, after: float) -> bool:
    """Whether a trait differs by more than chance; one of somebody's own structure if it differs at all."""
    trait = _NAMES.get(name)
    if trait is not None and trait.kind == "size":
        return abs(math.log(max(after, 1.0)) - math.log(max(before, 1.0))) > _TENTH
    return trait is None or abs(after - before) > _STEP


def _said(trait: Trait | None, wish: Wish, length: float) -> str:
    """The sentence for a trait; empty where it follows from the length."""
    more = wish.wanted > wish.shown
    if trait is None:
        return f"{'more' if more else 'less'} {wish.name}: {wish.wanted:.2g} rather than {wish.shown:.2g}"
    if trait.kind == "size":
        ratio = wish.wanted / max(wish.shown, 1e-9)
        what = "the length" if trait.name == "length" else f"the {trait.name}"
        return f"{trait.more}: {ratio:.1f} times {what}" if more else f"{trait.less}: {ratio:.1f} of {what}"
    if more:
        return trait.more if trait.kind != "count" or wish.wanted > 1.2 * length * wish.shown else ""
    if trait.none and wish.wanted < 0.2 and wish.wanted < 0.2 * wish.shown:
        return trait.none
    return trait.less if trait.kind != "count" or wish.wanted < 0.8 * length * wish.shown else ""
