"""Features of the context times features of each candidate: so "phones prefer short articles" can be learnt at all.

Crosses are made of one record's features by name (`named_values`). `Indicators` are the features that say that a
number is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen._core import records, text
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.features import limits
from smidgen.features.names import FeatureNames, bounded
from smidgen.features.parse import ParsedRecords
from smidgen.features.state import VectorizerState


class NamedValue(NamedTuple):
    """A feature by its name: its value, and whether it is a number."""

    name: str
    value: float
    number: bool


class KnownValues(NamedTuple):
    """Features with an id: row, id, value, those from ``categories`` on are numbers; and the numbers as they came."""

    rows: IntArray
    ids: IntArray
    values: FloatArray
    categories: int
    slots: IntArray
    raw: FloatArray
    clipped: int


def known_values(g: ParsedRecords, memory: VectorizerState, scale: bool) -> KnownValues:
    """Categories and numbers of all rows, as far as they have an id."""
    rows, ids = g.categories()
    more, slots, raw = g.numbers()
    values = np.ones(len(ids) + len(raw))
    clipped = scaled_values(memory, slots, raw, values[len(ids) :], scale)
    every = memory.scaling.ids[slots]
    return KnownValues(
        np.concatenate([rows, more]), np.concatenate([ids, every]), values, len(ids), slots, raw, clipped
    )


def scaled_values(memory: VectorizerState, slots: IntArray, raw: FloatArray, out: FloatArray, scale: bool) -> int:
    """Numbers as features; how many were clipped."""
    if scale:
        return records.standardize(memory.scaling.table, slots, raw, out)
    out[:] = raw
    return 0


def term_weights(g: ParsedRecords, memory: VectorizerState) -> FloatArray:
    """The weight of every term gathered."""
    starts = np.array([*(first for _, _, first in g.texts), len(g.terms)])
    seen = np.array([memory.frequencies.rows.get(path, 0) for path, _, _ in g.texts], np.float64)
    worth = np.ones(len(g.terms))
    worth[list(g.weights)] = list(g.weights.values())
    text.weigh_texts(memory.frequencies.df, starts, np.array(g.terms, np.int64), seen, worth)
    return worth


def new_names(g: ParsedRecords) -> list[str]:
    """The names of the new features that are 1."""
    names = list(g.names)
    return [names[place] for _, place in g.new]


def named_values(g: ParsedRecords, memory: VectorizerState, scale: bool, constant: bool) -> list[NamedValue]:
    """The features of one record: categories, numbers that are not 0, and the single words of its texts."""
    names, capacity = memory.book.names, memory.book.capacity
    ids = g.cats[:-1] if constant else g.cats
    out = [NamedValue(names[i] if i < capacity else f"#{i - capacity}", 1.0, False) for i in ids]
    out += [NamedValue(name, 1.0, False) for name in new_names(g)]
    if g.slots:
        z = np.empty(len(g.slots))
        scaled_values(memory, np.array(g.slots, np.int64), np.array(g.raw, np.float64), z, scale)
        paths = memory.scaling.paths
        out += [NamedValue(paths[slot], value, True) for slot, value in zip(g.slots, z.tolist(), strict=True) if value]
    if g.terms:
        fresh = list(g.names)
        for at, (i, value) in enumerate(zip(g.terms, term_weights(g, memory).tolist(), strict=True)):
            if i < capacity:
                name = names[i] if i >= 0 else fresh[g.places[at]]
                if " " not in name.rpartition(":")[2]:
                    out.append(NamedValue(name, value, False))
    return out


SIGN = " × "
Pairs = tuple[tuple[str, str], ...]


def as_pairs(crosses: Any) -> str | Pairs:
    """Check what is to be crossed: "auto", or pairs of field paths."""
    hint = (
        'say "auto", () for none, or pairs of paths: the context\'s, then the candidate\'s, e.g. [("device", "kind")]'
    )
    if isinstance(crosses, str):
        if crosses != "auto":
            raise InvalidArgument(f"crosses is {crosses!r}", hint)
        return crosses
    if not isinstance(crosses, Iterable):
        raise InvalidArgument(f"crosses is {crosses!r}", hint)
    pairs = []
    for pair in crosses:
        whole = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not whole or not all(isinstance(path, str) and path for path in pair):
            raise InvalidArgument(f"crosses holds {pair!r}", hint)
        pairs.append((pair[0].removeprefix("context."), pair[1]))
    return tuple(pairs)


def path_of(name: str) -> str:
    """The field that a feature comes from."""
    return name.partition("=")[0]


def lies_under(path: str, of: str) -> bool:
    """True if a field is the one named, or a part of it."""
    return path == of or path.startswith(f"{of}.")


def _only(known: KnownValues, which: Any) -> KnownValues:
    """Some of the features."""
    return known._replace(rows=known.rows[which], ids=known.ids[which], values=known.values[which])


class Crossing:
    """Makes crosses by what the book knows; the tables are a quick way to it, and hold known names only."""

    __slots__ = ("_book", "_tables", "pairs")

    def __init__(self, book: FeatureNames, pairs: str | Pairs) -> None:
        self._book, self.pairs = book, pairs
        self._tables: dict[str, dict[int, int]] = {}

    def forget(self) -> None:
        """Drop the tables; they fill up again."""
        self._tables = {}

    def cross(
        self,
        context: list[NamedValue],
        known: KnownValues,
        fresh: list[tuple[int, str, float, bool]],
        into: ParsedRecords,
    ) -> Any:
        """Cross a context with all candidates.

        ``fresh`` are features without an id yet: row, name, value, whether it is a number. Returns the known crosses as
        rows, ids and values, and those with a new name as (row, place, value).
        """
        rows: list[IntArray] = []
        ids: list[IntArray] = []
        values: list[FloatArray] = []
        new: list[tuple[int, int, float]] = []
        chosen = context[: limits.CROSSES]
        kept, later = self._within_limit(len(chosen), known, fresh)
        for new_value in chosen:
            part = self._fitting(new_value, kept)
            if len(part.rows):
                unique, inverse = np.unique(part.ids, return_inverse=True)
                found = np.array([self._id(new_value.name, i, into) for i in unique.tolist()], np.int64)[inverse]
                worth = new_value.value * part.values
                old = found >= 0
                rows.append(part.rows[old])
                ids.append(found[old])
                values.append(worth[old])
                missing = ~old
                new += zip(
                    part.rows[missing].tolist(), (-1 - found[missing]).tolist(), worth[missing].tolist(), strict=True
                )
            for row, name, value, number in later:
                apart = self.pairs != "auto" or not (new_value.number and number)
                if apart and self._asked(new_value.name, name):
                    new.append((row, into.place(bounded(new_value.name + SIGN + name)), new_value.value * value))
        if not rows:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), new
        return np.concatenate(rows), np.concatenate(ids), np.concatenate(values), new

    def within(self, features: list[NamedValue], into: ParsedRecords) -> list[tuple[int, float]]:
        """Crosses of a record with itself, by pairs: ids and values; new names go into what was gathered."""
        out: list[tuple[int, float]] = []
        if isinstance(self.pairs, str):
            return out
        left = limits.CROSSES
        for first, second in self.pairs:
            for a in features:
                for b in features:
                    if left and lies_under(path_of(a.name), first) and lies_under(path_of(b.name), second):
                        left -= 1
                        out.append((self._named(bounded(a.name + SIGN + b.name), into), a.value * b.value))
        return out

    def _named(self, name: str, into: ParsedRecords) -> int:
        found = self._book.find(name)
        return found if found >= 0 else -1 - into.place(name)

    def _id(self, name: str, other: int, into: ParsedRecords) -> int:
        """The id of a cross; −1 − its place where the name is new."""
        table = self._tables.get(name)
        if table is not None and other in table:
            return table[other]
        capacity = self._book.capacity
        second = self._book.names[other] if other < capacity else f"#{other - capacity}"
        found = self._named(bounded(name + SIGN + second), into)
        if 0 <= found < capacity:
            self._tables.setdefault(name, {})[other] = found
        return found

    def _fitting(self, value: NamedValue, known: KnownValues) -> KnownValues:
        """The features that one of the context is crossed with."""
        part = known
        if value.number:  # a number with a number: only where it is asked for
            stop = known.categories if self.pairs == "auto" else len(known.rows)
            part = _only(known, slice(stop))
        if self.pairs != "auto":
            names, capacity = self._book.names, self._book.capacity
            asked = [i < capacity and self._asked(value.name, names[i]) for i in part.ids.tolist()]
            mask = np.array(asked, np.bool_)
            part = _only(part, mask)
        if len(part.values) and not part.values.all():
            mask = part.values != 0.0
            part = _only(part, mask)
        return part

    def _asked(self, name: str, other: str) -> bool:
        if isinstance(self.pairs, str):
            return True
        path, second = path_of(name).removeprefix("context."), path_of(other)
        return any(lies_under(path, a) and lies_under(second, b) for a, b in self.pairs)

    def _within_limit(
        self, size: int, known: KnownValues, fresh: list[tuple[int, str, float, bool]]
    ) -> tuple[KnownValues, list[tuple[int, str, float, bool]]]:
        """The first features of each candidate, up to the limit of crosses with the features of the context."""
        each = limits.CROSSES // max(size, 1)
        counts: dict[int, int] = {}
        if len(known.rows):
            most = np.bincount(known.rows)
            counts = dict(enumerate(most.tolist()))
            if most.max() > each:
                order = np.argsort(known.rows, kind="stable")
                rank = np.empty(len(order), np.int64)
                rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(most) - most, most)
                mask = rank < each
                stop = int(mask[: known.categories].sum())
                known = _only(known, mask)._replace(categories=stop)
        later = []
        for entry in fresh:
            counts[entry[0]] = counts.get(entry[0], 0) + 1
            if counts[entry[0]] <= each:
                later.append(entry)
        return known, later


_CUT = "…#"  # stands in names that were longer


def indicator(path: str) -> str:
    """The name of the feature that says that a number is absent."""
    return f"{path} (missing)"


class Indicators:
    """The indicators of some numbers, and their crosses.

    Parameters
    ----------
    paths
        The numbers.

    Examples
    --------
    >>> from smidgen.features.crossing import Indicators
    >>> found = Indicators(["context.pay"])
    >>> [found.has(name) for name in ("context.pay (missing)", "context.pay (missing) × id=a", "context.pay", "id=a")]
    [True, True, False, False]
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._names = frozenset(map(indicator, paths))

    def __bool__(self) -> bool:
        return bool(self._names)

    def has(self, name: str, partners: Callable[[], Iterable[str]] = tuple) -> bool:
        """True if the name is an indicator, or a cross with an indicator.

        ``partners`` gives names that it may be a cross with: of a long cross only a part and a digest are kept.
        """
        if name in self._names:
            return True
        for own in self._names:
            if name.startswith(own + SIGN) or name.endswith(SIGN + own):
                return True
        if _CUT not in name:
            return False
        crosses = ((own + SIGN + other, other + SIGN + own) for own in self._names for other in partners())
        return any(name in map(bounded, both) for both in crosses)
