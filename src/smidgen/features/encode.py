"""From parsed records to rows: statistics, weights of words, indicators, crosses, columns.

The common case is one compiled step (`encode_one`): one record, all of whose names are known, with at most one text.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core import records as core_records
from smidgen._core import text as core_text
from smidgen.decision import FloatArray, IntArray
from smidgen.features import limits
from smidgen.features.batch import CSR, read_sheet
from smidgen.features.crossing import (
    SIGN,
    Crossing,
    KnownValues,
    NamedValue,
    indicator,
    known_values,
    named_values,
    new_names,
    term_weights,
)
from smidgen.features.encoded import Encoded, lay_rows
from smidgen.features.names import bounded
from smidgen.features.parse import ParsedRecords, Reader
from smidgen.features.state import CONTEXT, VectorizerState
from smidgen.features.vectors import FieldVector, cosines, feature_names, field_of, unit_vector
from smidgen.features.words import CONSTANT, NOTHING


@lru_cache(maxsize=1024)
def _starts(kept: int) -> IntArray:
    starts = np.array([0, kept])
    starts.flags.writeable = False
    return starts


#: As dtypes, which numpy takes sooner than classes.
WHOLE, COLUMN = np.dtype(np.int64), np.dtype(np.uint32)


class EncodedRow(NamedTuple):
    """A row, how many of its numbers were clipped, and the path and the ids of the terms of its text."""

    columns: NDArray[np.uint32]
    values: FloatArray
    clipped: int
    path: str
    terms: IntArray


def encode_one(g: ParsedRecords, memory: VectorizerState, scale: bool) -> EncodedRow | None:
    """The row of what was gathered; None if a text that waits to be scanned has a term that is not known."""
    first, text, known, path = len(g.cats) + len(g.slots), "", NOTHING.known, ""
    if g.later:
        field, text = g.later[0]
        known, path, terms = field.index.known, field.path, np.empty(core_text.count_terms(text), WHOLE)
        n = first + len(terms)
        columns, values = np.empty(n, COLUMN), np.empty(n)
    else:
        n, terms = first + len(g.terms), _NO_TERMS
        columns, values = np.empty(n, COLUMN), np.empty(n)
        if g.terms:
            terms, path, values[first:] = np.array(g.terms, np.int64), g.texts[0][0], 1.0
            for at, weight in g.weights.items():
                values[first + at] = weight
    numbers, frequencies = memory.scaling, memory.frequencies
    learnt = (numbers.table, numbers.ids), frequencies.df, memory.book.columns
    texts = float(frequencies.rows.get(path, 0))
    kept, clipped, found = core_records.lay_record(
        g.cats, g.slots, g.raw, scale, text, known, terms, texts, learnt, columns, values
    )
    if found < 0:
        return None
    if kept < n:
        columns.resize(kept, refcheck=False)  # nobody else holds them
        values.resize(kept, refcheck=False)
    return EncodedRow(columns, values, clipped, path, terms[:found] if found < len(terms) else terms)


def one_row(laid: EncodedRow, memory: VectorizerState, g: ParsedRecords) -> Encoded:
    """Encode one row, with the values that learning needs later."""
    more: dict[str, Any] = {}
    if len(laid.terms):
        more = {"terms": laid.terms.copy(), "texts": (laid.path,), "text_counts": _ONE}
    if g.vectors:
        more["vectors"], more["vector_lengths"] = _vectors_in(g)
    if len(memory.book.names) >= memory.book.capacity:
        more["forgotten"] = memory.book.forgotten(np.concatenate([np.array(g.cats, WHOLE), laid.terms]))
    return Encoded(
        dim=memory.book.dim,
        starts=_starts(len(laid.columns)),
        indices=laid.columns,
        values=laid.values,
        slots=np.array(g.slots, WHOLE),
        raw=np.array(g.raw, np.float64),
        clipped=laid.clipped,
        **more,
    )


_ONE: IntArray = np.ones(1, np.int64)
_NO_TERMS: IntArray = np.empty(0, np.int64)
_NO_VALUES: FloatArray = np.empty(0)
_ONE.flags.writeable = False


class Some(NamedTuple):
    """Features of some rows: those with an id as arrays, those whose name is new as (row, place, value)."""

    rows: IntArray
    ids: IntArray
    values: FloatArray
    new: list[tuple[int, int, float]]


def _some(entries: list[tuple[int, int, float]]) -> Some:
    """Entries (row, id, value) apart; an id of −1 − place stands for a new name."""
    old = [entry for entry in entries if entry[1] >= 0]
    new = [(row, -1 - found, value) for row, found, value in entries if found < 0]
    rows, ids = np.array([entry[0] for entry in old], np.int64), np.array([entry[1] for entry in old], np.int64)
    return Some(rows, ids, np.array([entry[2] for entry in old], np.float64), new)


def crossed(name: str, other: str) -> str:
    """The name of a cross."""
    return bounded(name + SIGN + other)


def is_vector_cross(name: str) -> bool:
    """Report whether a feature is a cross of a vector with an id."""
    first, sign, _ = name.partition(SIGN)
    return bool(sign) and field_of(first) is not None


def key_of(name: str) -> int:
    """The key of a category that vectors are crossed with; 0 of every other feature, and of ids."""
    if "=" not in name or name.startswith("id="):
        return 0
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) or 1


def _rows_with_words(g: ParsedRecords) -> IntArray:
    """The rows whose texts have words."""
    ends = [*(first for _, _, first in g.texts), len(g.terms)][1:]
    found = [row for (_, row, first), end in zip(g.texts, ends, strict=True) if end > first]
    wide = [np.flatnonzero(np.diff(block[1])) for block in g.wide.texts]
    return np.unique(np.concatenate([np.array(found, np.int64), *wide]))


class VectorFeatures(NamedTuple):
    """A vector as features: its row, their ids (a new name: −1 − its place) and their values."""

    row: int
    ids: IntArray
    values: FloatArray


def _vectors_in(*gathered: ParsedRecords | None) -> tuple[tuple[str, ...], IntArray]:
    """The fields that held vectors, and how many numbers these had."""
    found = {each.path: len(each.numbers) for g in gathered if g is not None for _, each in g.vectors}
    return tuple(found), np.array(list(found.values()), np.int64)


class Encoder:
    """Encodes records and candidates by what memory knows; changes nothing but its own tables of known names."""

    __slots__ = ("_absent", "_constant", "_cross", "_keys", "_memory", "_places", "_scale", "_vectors", "reader")

    def __init__(
        self,
        memory: VectorizerState,
        reader: Reader,
        crossing: Crossing,
        constant: bool,
        scale: bool,
        vectors: tuple[int, int] = (0, 0),
    ) -> None:
        self._memory, self.reader, self._cross = memory, reader, crossing
        self._constant, self._scale = constant, scale
        self._vectors = vectors  # the most columns of a vector, and the seed of projections
        self._places: dict[str, IntArray] = {}  # of each field with vectors, the ids of its features
        self._keys: dict[int, int] = {}  # of each category, its key
        self._absent: dict[int, int] = {}  # of each number, the id of its indicator

    def forget(self) -> None:
        """Drop all tables; they fill up again."""
        self.reader.forget()
        self._cross.forget()
        self._absent, self._places, self._keys = {}, {}, {}

    def record(self, record: Any) -> Encoded:
        """Encode a record as one row."""
        g, laid = self._at_once(record)
        return self._whole(g) if laid is None else one_row(laid, self._memory, g)

    def row(self, record: Any) -> tuple[NDArray[np.uint32], FloatArray] | Encoded:
        """Encode a record as one row. Returns only columns and values if no name is new."""
        g, laid = self._at_once(record)
        return self._whole(g) if laid is None else (laid.columns, laid.values)

    def _at_once(self, record: Any) -> tuple[ParsedRecords, EncodedRow | None]:
        """Parse a record. The row is given too if the compiled path could make it."""
        g = self._read(record, True)
        if g.names and g.later:  # new names are numbered as the record has them, those of texts too
            g = self._read(record, False)
        laid = self._laid_at_once(g)
        if laid is None and g.later:
            self.reader.scan(g)
            laid = self._laid_at_once(g)
        return g, laid

    def _laid_at_once(self, g: ParsedRecords) -> EncodedRow | None:
        crossed = self._cross.pairs and self._cross.pairs != "auto"
        laid = None if g.names or crossed or len(g.texts) > 1 else encode_one(g, self._memory, self._scale)
        if laid is not None and self._constant and len(laid.terms):
            laid.values[0] = CONSTANT
        return laid if laid is None or not g.vectors else self._joined(laid, g)

    def _joined(self, laid: EncodedRow, g: ParsedRecords) -> EncodedRow | None:
        """The row with the features of its vectors; None where one of them has a new name."""
        found = [self._features_of(each, 0, None) for _, each in g.vectors]
        if any(each is None for each in found):
            return None
        known = [each for each in found if each is not None]
        columns = np.concatenate([laid.columns, *(self._memory.book.columns[each.ids] for each in known)])
        values = np.concatenate([laid.values, *(each.values for each in known)])
        starts, where, what = np.empty(2, WHOLE), np.empty(len(columns), COLUMN), np.empty(len(columns))
        n = core_records.lay_rows(np.zeros(len(columns), WHOLE), columns, values, starts, where, what)
        return (
            laid._replace(columns=where[:n], values=what[:n])
            if n == len(where)
            else laid._replace(columns=where[:n].copy(), values=what[:n].copy())
        )

    def _features_of(self, vector: FieldVector, row: int, g: ParsedRecords | None) -> VectorFeatures | None:
        """A vector as features; new names go into what was gathered, or lead to None."""
        path, (most, seed) = vector.path, self._vectors
        ids = self._places.get(path)
        if ids is None or len(ids) != min(len(vector.numbers), most):
            find = self._memory.book.find
            ids = np.array([find(name) for name in feature_names(path, len(vector.numbers), most)], np.int64)
            if ids.min() >= 0 and ids.max() < self._memory.book.capacity:
                self._places[path] = ids
            elif ids.min() < 0 and g is None:
                return None
            elif g is not None:
                names = feature_names(path, len(vector.numbers), most)
                ids = np.array([i if i >= 0 else -1 - g.place(names[k]) for k, i in enumerate(ids.tolist())], np.int64)
        return VectorFeatures(row, ids, unit_vector(vector.numbers, most, seed))

    def _placed(self, vectors: list[VectorFeatures | None]) -> Some:
        """Features of vectors as entries of rows."""
        rows, ids, values, new = [_NO_TERMS], [_NO_TERMS], [_NO_VALUES], list[tuple[int, int, float]]()
        for each in vectors:
            if each is None:
                continue
            known = each.ids >= 0
            rows.append(np.full(int(known.sum()), each.row))
            ids.append(each.ids[known])
            values.append(each.values[known])
            fresh = zip(each.ids[~known].tolist(), each.values[~known].tolist(), strict=True)
            new += [(each.row, -1 - found, value) for found, value in fresh]
        return Some(np.concatenate(rows), np.concatenate(ids), np.concatenate(values), new)

    def _own_vectors(self, g: ParsedRecords) -> list[Some]:
        """The vectors of the records themselves."""
        return [self._placed([self._features_of(each, row, g) for row, each in g.vectors])] if g.vectors else []

    def _cosines(self, about: ParsedRecords, g: ParsedRecords) -> list[Some]:
        """Cosines of the candidates' vectors with those of their context."""
        near = cosines([each for _, each in about.vectors], g.vectors) if about.vectors and g.vectors else []
        if not near:
            return []
        ids = {name: self._memory.book.find(name) for _, name, _ in near}
        return [_some([(row, ids[name] if ids[name] >= 0 else -1 - g.place(name), value) for row, name, value in near])]

    def _direction(self, about: ParsedRecords, every: KnownValues, g: ParsedRecords) -> dict[str, Any]:
        """The vectors of a context, for a learner that crosses them itself, and what it crosses them with."""
        found = [each for _, vector in about.vectors if (each := self._features_of(vector, 0, g)) is not None]
        ids = np.concatenate([each.ids for each in found])
        columns = np.where(ids >= 0, self._memory.book.columns[np.maximum(ids, 0)], 0)
        return {
            "direction": np.concatenate([each.values for each in found]),
            "direction_columns": columns.astype(np.uint32),
            "direction_names": np.where(ids >= 0, -1, -1 - ids),
            "groups": self._groups(every, g),
        }

    def _groups(self, every: KnownValues, g: ParsedRecords) -> NDArray[np.uint32]:
        """Of each candidate the keys of its first categories, but for its id."""
        out = np.zeros((g.row, limits.VECTOR_GROUPS), np.uint32)
        filled = [0] * g.row
        c, names = every.categories, self._memory.book.names
        known = zip(every.rows[:c].tolist(), every.ids[:c].tolist(), strict=True)
        entries = [(row, self._key(i, names)) for row, i in known]
        entries += [(row, key_of(name)) for (row, _), name in zip(g.new, new_names(g), strict=True)]
        for row, key in entries:
            if key and filled[row] < limits.VECTOR_GROUPS:
                out[row, filled[row]] = key
                filled[row] += 1
        return out[:, : max(filled, default=0)].ravel()

    def _key(self, i: int, names: list[str]) -> int:
        if i >= self._memory.book.capacity:
            return 0
        found = self._keys.get(i)
        if found is None:
            found = self._keys[i] = key_of(names[i])
        return found

    def _crossed(self, about: ParsedRecords, mains: bool, ids: Any, g: ParsedRecords) -> list[Some]:
        """The vectors of a context for a learner that does not cross them: with all candidates, and with each id."""
        own: list[VectorFeatures | None] = [self._features_of(each, 0, g) for _, each in about.vectors]
        out = [self._placed([each and each._replace(row=row) for each in own for row in range(g.row)])] if mains else []
        if ids is None or not self._cross.pairs:
            return out
        most, book, entries = self._vectors[0], self._memory.book, list[tuple[int, int, float]]()
        left = limits.VECTOR_CROSSES - sum(is_vector_cross(name) for name in book.names)
        for _, vector in about.vectors:
            names, values = (
                feature_names(vector.path, len(vector.numbers), most),
                unit_vector(vector.numbers, *self._vectors),
            )
            for row, each in enumerate(ids):
                crosses = [crossed(name, f"id={each}") for name in names]
                if crosses[0] not in book.ids:
                    left -= len(names)
                    if left < 0:
                        continue
                for name, value in zip(crosses, values.tolist(), strict=True):
                    found = book.find(name)
                    entries.append((row, found if found >= 0 else -1 - g.place(name), value))
        return [*out, _some(entries)]

    def _read(self, record: Any, later: bool) -> ParsedRecords:
        """Parse a record, its absent fields and the constant. Words of a text may be looked up later."""
        g = ParsedRecords(later)
        self.reader.read(record, self.reader.root(""), "", g)
        self._notice_absent(g, "")
        if self._constant:
            g.cats.append(0)
        return g

    def _whole(self, g: ParsedRecords) -> Encoded:
        more: list[Some] = []
        if self._cross.pairs and self._cross.pairs != "auto":
            features = named_values(g, self._memory, self._scale, self._constant)
            more.append(_some([(0, found, value) for found, value in self._cross.within(features, g)]))
        g.end_row()
        return self._laid(g, known_values(g, self._memory, self._scale), more)

    def laid(self, g: ParsedRecords) -> Encoded:
        """Many records as rows, without a context."""
        every = known_values(g, self._memory, self._scale)
        return self._laid(g, every, [], ones=(self._indicators(g, every), self._constants(g.row)))

    def matrix(self, records: Any) -> CSR | None:
        """Many records of alike fields, all of whose names are known, as CSR arrays; None for all others."""
        sheet = read_sheet(self.reader, self._memory, records)
        return None if sheet is None else sheet.lay(self._known_indicator, self._scale, self._constant)

    def _known_indicator(self, slot: int) -> int:
        return self._indicator(slot, ParsedRecords())

    def candidates(
        self, g: ParsedRecords, context: Any, mains: bool, ids: Any, top: int | None, directions: bool = False
    ) -> Encoded:
        """Candidates, crossed with their context; with ``mains`` also what is the same for all of them.

        With ``directions`` the vectors of the context stand apart: the learner crosses them itself.
        """
        apart: dict[str, Any] = {}
        about, every, n = ParsedRecords(), known_values(g, self._memory, self._scale), g.row
        more = [self._indicators(g, every)]
        if mains:
            more.append(self._constants(n))
        if context is not None:
            self.reader.read(context, self.reader.root(CONTEXT), CONTEXT, about)
            self._notice_absent(about, CONTEXT)
            features = named_values(about, self._memory, self._scale, False)
            if features and self._cross.pairs:
                fresh = [(row, name, 1.0, False) for (row, _), name in zip(g.new, new_names(g), strict=True)]
                more.append(Some(*self._cross.cross(features, every, fresh, g)))
            if mains:
                more += [self._shared(each, n, g) for each in features]
            more += self._cosines(about, g)
            if about.vectors and directions and self._cross.pairs:
                apart = self._direction(about, every, g)
            elif about.vectors:
                more += self._crossed(about, mains, ids, g)
        return self._laid(g, every, more, about, candidates=True, ids=ids, top=top, **apart)

    def _constants(self, n: int) -> Some:
        n = n if self._constant else 0
        return Some(np.arange(n), np.zeros(n, np.int64), np.ones(n), [])

    def _shared(self, each: NamedValue, n: int, g: ParsedRecords) -> Some:
        """Features of the context alone, equal in every row."""
        found = self._memory.book.find(each.name)
        if found < 0:
            place = g.place(each.name)
            return Some(*(np.empty(0, np.int64),) * 2, np.empty(0), [(row, place, each.value) for row in range(n)])
        return Some(np.arange(n), np.full(n, found), np.full(n, each.value), [])

    def _notice_absent(self, g: ParsedRecords, kind: str) -> None:
        """Add the indicators of numbers that are absent from one record."""
        missing = self._memory.expected[kind].difference(g.slots)
        for slot in sorted(missing) if missing else ():
            found = self._indicator(slot, g)
            if found >= 0:
                g.cats.append(found)
            else:
                g.new.append((g.row, -1 - found))

    def _indicator(self, slot: int, g: ParsedRecords) -> int:
        """The id of a number's indicator; −1 − its place where the name is new."""
        found = self._absent.get(slot)
        if found is not None:
            return found
        name = indicator(self._memory.scaling.paths[slot])
        found = self._memory.book.find(name)
        if 0 <= found < self._memory.book.capacity:
            self._absent[slot] = found
        return found if found >= 0 else -1 - g.place(name)

    def _indicators(self, g: ParsedRecords, every: KnownValues) -> Some:
        """The numbers that are absent from some of many rows."""
        missing = self._memory.expected[""].difference(g.wide.full)
        entries: list[tuple[int, int, float]] = []
        if missing:
            present = np.zeros((g.row, len(self._memory.scaling.paths)), np.bool_)
            present[every.rows[every.categories :], every.slots] = True
            for slot in sorted(missing):
                absent = np.flatnonzero(~present[:, slot]).tolist()
                found = self._indicator(slot, g) if absent else 0
                entries += [(row, found, 1.0) for row in absent]
        return _some(entries)

    def _laid(
        self,
        g: ParsedRecords,
        every: KnownValues,
        more: list[Some],
        about: ParsedRecords | None = None,
        ones: tuple[Some, ...] = (),
        **settings: Any,
    ) -> Encoded:
        """All rows: known features and more; texts; the numbers and words of the context counted once.

        Features that are 1 stand before numbers, and those before words, as in one record: so the sums of a shared
        column are the same.
        """
        new = [(row, place, 1.0) for row, place in g.new]
        new += [(row, place, 0.0 if self._scale else number) for row, place, number in g.new_numbers]
        blocks = [self._block(block) for block in g.wide.texts]
        if g.vectors or (about is not None and about.vectors):
            settings["vectors"], settings["vector_lengths"] = _vectors_in(g, about)
        parts = [*more, *self._own_vectors(g), *([self._words(g)] if g.terms else []), *(part for part, _ in blocks)]
        for part in (*ones, *parts):
            new += part.new
        c = every.categories
        said = Some(every.rows[:c], every.ids[:c], every.values[:c], [])
        counted = Some(every.rows[c:], every.ids[c:], every.values[c:], [])
        parts = [said, *ones, counted, *parts]
        rows, ids = np.concatenate([part.rows for part in parts]), np.concatenate([part.ids for part in parts])
        columns, values = self._memory.book.columns[ids], np.concatenate([part.values for part in parts])
        starts, indices, laid = lay_rows(g.row, rows, columns, values)
        if self._constant and not settings.get("candidates"):
            laid[starts[_rows_with_words(g)]] = CONSTANT  # its column is the first, and nobody else's
        slots, raw, numbers = every.slots, every.raw, [(place, number) for _, place, number in g.new_numbers]
        terms, new_terms = [i for i in g.terms if i >= 0], list(g.places.values())
        for block in g.wide.texts:
            new_terms += block[4].values()
        texts: dict[str, int] = {}
        for path, _, _ in [*g.texts, *(about.texts if about else [])]:
            texts[path] = texts.get(path, 0) + 1
        for block in g.wide.texts:
            texts[block[0]] = texts.get(block[0], 0) + int(np.count_nonzero(np.diff(block[1])))
        if about is not None:
            slots, raw = np.concatenate([slots, about.slots]).astype(np.int64), np.concatenate([raw, about.raw])
            old = list(about.names)
            numbers += [(g.place(old[place]), number) for _, place, number in about.new_numbers]
            terms += [i for i in about.terms if i >= 0]
            new_terms += [g.place(old[place]) for place in about.places.values()]
        return Encoded(
            dim=self._memory.book.dim,
            starts=starts,
            indices=indices,
            values=laid,
            names=tuple(g.names),
            new_rows=np.array([entry[0] for entry in new], np.int64),
            new_names=np.array([entry[1] for entry in new], np.int64),
            new_values=np.array([entry[2] for entry in new], np.float64),
            slots=slots,
            raw=raw,
            new_numbers=np.array([place for place, _ in numbers], np.int64),
            new_raw=np.array([number for _, number in numbers], np.float64),
            terms=np.concatenate([np.array(terms, np.int64), *(known_terms for _, known_terms in blocks)]),
            new_terms=np.array(new_terms, np.int64),
            texts=tuple(texts),
            text_counts=np.array(list(texts.values()), np.int64),
            forgotten=self._memory.book.forgotten(ids),
            clipped=every.clipped,
            **settings,
        )

    def _words(self, g: ParsedRecords) -> Some:
        """The terms of all texts."""
        worth, terms = term_weights(g, self._memory), np.array(g.terms, np.int64)
        starts = np.array([*(first for _, _, first in g.texts), len(terms)])
        where, old = np.repeat(np.array([row for _, row, _ in g.texts]), np.diff(starts)), terms >= 0
        new = [(int(where[at]), place, float(worth[at])) for at, place in g.places.items()]
        return Some(where[old], terms[old], worth[old], new)

    def _block(self, block: tuple[str, IntArray, IntArray, FloatArray, dict[int, int]]) -> tuple[Some, IntArray]:
        """Features of the texts of a whole column, with the ids of the known terms."""
        path, starts, ids, worth, places = block
        seen = np.full(len(starts) - 1, float(self._memory.frequencies.rows.get(path, 0)))
        core_text.weigh_texts(self._memory.frequencies.df, starts, ids, seen, worth)
        where, old = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), ids >= 0
        new = [(int(where[at]), place, float(worth[at])) for at, place in places.items()]
        if not new:
            return Some(where, ids, worth, []), ids
        return Some(where[old], ids[old], worth[old], new), ids[old]
