"""Records, field by field: every kind of value that JSON can say becomes features with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smidgen._core.text import term_weight, term_weights
from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.book import Book, bounded
from smidgen.features.categories import CategoryIndex, Strings, one_after_the_other
from smidgen.features.dates import as_moment, parts
from smidgen.features.gathered import Gathered
from smidgen.features.record import as_record, plain, refuse_kind, refuse_many, refuse_number, shown
from smidgen.features.scaling import Scaling
from smidgen.features.scanning import COUNT, ID, NOTHING, TermIndex
from smidgen.features.words import spelt, terms


class RecordField:
    """What is known of one field: its path, its categories by value, and, of a number, where its statistics stand.

    The tables are only quick ways to what the book says. They hold known names only, so they cannot outgrow it.
    """

    __slots__ = ("fields", "index", "path", "slot", "strange", "strings", "table", "words")

    def __init__(self, path: str, words: bool) -> None:
        self.path = path
        self.words = words
        self.slot = -1
        self.table: dict[Any, int] = {}  # value -> id; of a text: word or pair -> id
        self.fields: dict[str, RecordField] = {}
        self.index = TermIndex() if words else NOTHING
        self.strange = words  # whether the latest text had a term that the index does not hold
        self.strings: CategoryIndex | None = None  # what the table holds, for the columns of frames


class Reader:
    """Reads records into `Gathered`, by what book and statistics know."""

    __slots__ = ("_fields", "_roots", "book", "scaling", "texts")

    def __init__(self, book: Book, scaling: Scaling, texts: tuple[str, ...]) -> None:
        self.book, self.scaling, self.texts = book, scaling, frozenset(texts)
        self.forget()

    def forget(self) -> None:
        """Drop the tables; they fill up again."""
        self._roots: dict[str, dict[str, RecordField]] = {}
        self._fields = 0

    def root(self, prefix: str) -> dict[str, RecordField]:
        """The fields of one kind of record: of contexts ("context.") or of all else ("")."""
        if self._fields > limits.TABLES:
            self.forget()
        return self._roots.setdefault(prefix, {})

    def field(self, fields: dict[str, RecordField], key: Any, prefix: str) -> RecordField:
        """The field of that name, made if it is new."""
        found = fields.get(key) if type(key) is str else None
        if found is not None:
            return found
        where = prefix or "the record"
        if not isinstance(key, str):
            raise InvalidFeatures(f"{where} has a field called {shown(key)}", "give names that are strings")
        if not key or len(key) > limits.KEY:
            raise InvalidFeatures(
                f"{where} has a field whose name is {shown(key)}", f"give 1 to {limits.KEY} characters"
            )
        path = prefix + str(key)
        bare = path.removeprefix("context.")
        made = fields[str(key)] = RecordField(path, path in self.texts or bare in self.texts)
        self._fields += 1
        return made

    def read(self, record: Any, fields: dict[str, RecordField], prefix: str, into: Gathered, depth: int = 1) -> None:
        """Read one record, or one object inside a record."""
        if type(record) is not dict:
            record = as_record(record, prefix[:-1] or "the record")
        into.fields += len(record)
        if into.fields > limits.FIELDS:
            refuse_many(prefix[:-1] or "the record", into.fields)
        cats, slots, raw = into.cats, into.slots, into.raw
        for key, value in record.items():
            try:
                field = fields[key]
            except (KeyError, TypeError):
                field = self.field(fields, key, prefix)
            kind = type(value)
            if kind is str or kind is bool:
                found = field.table.get(value)
                if found is not None and not field.words:
                    cats.append(found)
                else:
                    self._said(field, value, into)
            elif kind is float or kind is int:
                if field.slot >= 0 and -1e100 <= value <= 1e100:
                    slots.append(field.slot)
                    raw.append(value)
                else:
                    self.number(field, value, into)
            elif value is not None:
                self._rest(field, value, into, depth)

    def value(self, field: RecordField, value: Any, into: Gathered, depth: int = 1) -> None:
        """Read the value of one field."""
        kind = type(value)
        if kind is str or kind is bool:
            self._said(field, value, into)
        elif kind is float or kind is int:
            self.number(field, value, into)
        elif value is not None:
            self._rest(field, value, into, depth)

    def number(self, field: RecordField, value: float, into: Gathered) -> None:
        """A number: to its statistics, if it has any yet."""
        if not -limits.LARGEST <= value <= limits.LARGEST:
            refuse_number(field.path, value)
        if field.slot < 0:
            field.slot = self.scaling.slots.get(field.path, -1)
        if field.slot >= 0:
            into.slots.append(field.slot)
            into.raw.append(float(value))
        elif self.book.find(field.path) < 0:
            into.new_numbers.append((into.row, into.place(field.path), float(value)))

    def category(self, field: RecordField, value: Any) -> int | str:
        """The id of a category; its name, if it has none yet."""
        found = field.table.get(value)
        if found is not None:
            return found
        told = value if type(value) is str else "true" if value is True else "false" if value is False else str(value)
        name = bounded(f"{field.path}={told}")
        place = self.book.find(name)
        if 0 <= place < self.book.capacity:
            field.table[value] = place
        return place if place >= 0 else name

    def _said(self, field: RecordField, value: str | bool, into: Gathered) -> None:
        """A string or a bool: a category, a text, or a moment."""
        if field.words and type(value) is str:
            self.text(field, value, into)
            return
        if type(value) is str:
            if len(value) > limits.CATEGORY:
                raise InvalidFeatures(
                    f"{field.path} is {shown(value)}, and a category has at most {limits.CATEGORY:,} characters",
                    f"if it is a text, say text=({field.path!r},); else leave it out",
                )
            moment = as_moment(value)
            if moment is not None:
                told, days = parts(moment)
                for part, said in told.items():
                    self._said(self.field(field.fields, part, f"{field.path}."), said, into)
                self.number(self.field(field.fields, "days", f"{field.path}."), days, into)
                return
        found = self.category(field, value)
        if isinstance(found, int):
            into.cats.append(found)
        else:
            into.add_new(found)

    def text(self, field: RecordField, value: str, into: Gathered) -> None:
        """Words and pairs of neighbours."""
        if len(value) > limits.TEXT:
            raise InvalidFeatures(
                f"{field.path} is {shown(value)}, and a text has at most {limits.TEXT:,} characters", "cut it"
            )
        if value.isascii():
            if into.later is None or field.strange or len(self.texts) > 1:
                self._scanned(field, value, into)
            elif value:
                into.later.append((field, value))
            return
        found, often = terms(value)
        if not found:
            return
        first = len(into.terms)
        into.texts.append((field.path, into.row, first))
        ids: list[Any] = list(map(field.table.get, found))
        if None in ids:
            for k, term in enumerate(found):
                if ids[k] is None:
                    ids[k] = self._term(field, term, first + k, into)
        into.terms += ids
        for k, weight in often.items():
            into.weights[first + k] = weight

    def scan(self, into: Gathered) -> None:
        """Find the terms of the text that waits."""
        for field, value in into.later or ():
            self._scanned(field, value, into)
        into.later = None

    def _scanned(self, field: RecordField, value: str, into: Gathered) -> None:
        """The same for ASCII, by compiled code."""
        found, simple = field.index.scan(value.encode())
        ids = found[ID].tolist()
        field.strange = not simple and min(ids) < 0
        if not ids:
            return
        first = len(into.terms)
        into.texts.append((field.path, into.row, first))
        if not simple:
            for k, often in enumerate(found[COUNT].tolist()):
                if often > 1:
                    into.weights[first + k] = term_weight(often)
                if ids[k] < 0:
                    ids[k] = self._term(field, spelt(value, found[:, k]), first + k, into)
        into.terms += ids

    def texts_at_once(self, field: RecordField, column: Sequence[str | None] | Strings, into: Gathered) -> bool:
        """The texts of many rows; says no if one is not ASCII or too long."""
        texts = column if isinstance(column, Strings) else one_after_the_other(column)
        first, last = texts.starts[[0, -1]].tolist()
        longest = np.diff(texts.starts).max(initial=0)
        if len(texts.there) or longest > limits.TEXT or (texts.letters[first:last] > 127).any():
            return False
        starts, found, simple = field.index.scan_many(texts.letters, first, texts.starts[1:])
        ids, places, weights = found[ID].copy(), {}, np.ones(len(found[ID]))
        if not simple:
            term_weights(found[COUNT], weights)
            joined = texts.letters[:last].tobytes().decode("latin-1")
            for k in np.flatnonzero(ids < 0).tolist():
                name = self._named(field, spelt(joined, found[:, k]))
                if isinstance(name, int):
                    ids[k] = name
                else:
                    places[k] = into.place(name)
        into.wide.texts.append((field.path, starts, ids, weights, places))
        return True

    def _named(self, field: RecordField, term: str) -> int | str:
        """The id of a term that the tables do not know; its name, if it has none yet."""
        name = bounded(f"{field.path}:{term}")
        found = self.book.find(name)
        if 0 <= found < self.book.capacity and term not in field.table:
            field.table[term] = found
            field.index.add(term, found)
        return found if found >= 0 else name

    def _term(self, field: RecordField, term: str, at: int, into: Gathered) -> int:
        """The id of such a term; −1 if it has none yet."""
        found = self._named(field, term)
        if isinstance(found, int):
            return found
        into.places[at] = into.place(found)
        return -1

    def _rest(self, field: RecordField, value: Any, into: Gathered, depth: int) -> None:
        """Lists, objects, and what Python has beside JSON's kinds."""
        value = plain(value)
        kind = type(value)
        if kind is dict:
            if depth >= limits.DEPTH:
                raise InvalidFeatures(
                    f"{field.path} is the {limits.DEPTH + 1}th object inside another",
                    f"flatten the record to {limits.DEPTH} levels",
                )
            self.read(value, field.fields, f"{field.path}.", into, depth + 1)
        elif kind is list:
            self._set(field, value, into)
        elif kind in (str, bool, float) or value is None:
            self.value(field, value, into)
        else:
            refuse_kind(field.path, value)

    def _set(self, field: RecordField, values: list[Any], into: Gathered) -> None:
        """A list of strings: a set of categories."""
        if len(values) > limits.LIST:
            raise InvalidFeatures(
                f"{field.path} is a list of {len(values):,}, and at most {limits.LIST:,} are taken", "shorten it"
            )
        for k, value in enumerate(values):
            if not isinstance(value, str):
                raise InvalidFeatures(
                    f"{field.path}[{k}] is {shown(value)}, and a list holds strings",
                    'write categories as strings, ["3", "7"], and numbers as an object, {"x": 3, "y": 7}',
                )
        if field.words:
            raise InvalidFeatures(f"{field.path} is a list, and was announced as a text", "give one string")
        for value in dict.fromkeys(values):
            self._said(field, str(value), into)

    def read_ids(self, ids: tuple[str | int, ...], into: Gathered) -> None:
        """The ids of candidates, one per row: categories of a field ``id``."""
        field = self.field(self.root(""), "id", "")
        told = [value if type(value) is str else str(value) for value in ids]
        known: list[Any] = list(map(field.table.get, told))
        if None in known:
            known = [self.category(field, value) for value in told]
            fresh = [row for row, found in enumerate(known) if isinstance(found, str)]
            into.new += [(row, into.place(known[row])) for row in fresh]
            if fresh:
                into.wide.some += [(row, found) for row, found in enumerate(known) if isinstance(found, int)]
                return
        into.wide.cats += known
