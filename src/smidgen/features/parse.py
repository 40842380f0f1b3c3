"""Records, field by field: every kind of value that JSON can say becomes features with names.

`as_record` makes a dict of what people hand over, `Reader` reads its fields, `ParsedRecords` is what was read, before
it is laid out in rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from smidgen._core import text as core
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidFeatures
from smidgen.features import limits
from smidgen.features.frames import frame_records, is_frame, missing
from smidgen.features.names import CategoryIndex, FeatureNames, Strings, bounded, one_after_the_other
from smidgen.features.state import Scaling
from smidgen.features.vectors import FieldVector, Lengths, Numbers, as_numbers, from_json, is_json_vector, is_vector
from smidgen.features.words import COUNT, ID, NOTHING, TermIndex, spelt, terms

FORMS = "give a mapping, a dataclass, or a row of a pandas or polars frame"


def as_record(value: Any, path: str = "the record") -> dict[Any, Any]:
    """A record as a dict; the values are still to be looked at."""
    if type(value) is dict:
        return value
    if isinstance(value, Mapping):
        if len(value) > limits.FIELDS:
            refuse_many(path, len(value))
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__struct_fields__"):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if hasattr(value, "to_dict") and hasattr(value, "index") and getattr(value, "ndim", 0) == 1:  # a pandas row
        if len(value) > limits.FIELDS:
            refuse_many(path, len(value))
        return {key: None if missing(entry) else entry for key, entry in value.to_dict().items()}
    if is_frame(value) and len(value) == 1:
        return frame_records(value)[0]
    raise InvalidFeatures(f"{path} is {shown(value)} and must be a record", FORMS)


def plain(value: Any) -> Any:
    """A value of Python's or numpy's own kinds as JSON would say it; what has no such form comes back as it is."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        return _of_numpy(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # the latter says that it is a date
        return None
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _number(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value) if all(isinstance(item, str) for item in value) else list(value)
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value[: limits.LIST + 1].tolist()
    structured = isinstance(value, (Mapping, tuple)) or hasattr(value, "__struct_fields__")
    structured = structured or (dataclasses.is_dataclass(value) and not isinstance(value, type))
    return as_record(value) if structured and not isinstance(value, bytes) else value


_PLAIN = frozenset((str, int, float, bool))


def plain_record(value: Any) -> dict[str, Any]:
    """A record with its values as JSON would say them, objects inside objects too; vectors in single precision."""
    return {str(name): _plain(each) for name, each in as_record(value).items()}


def _plain(value: Any) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if is_vector(value):
        return as_numbers("a vector", value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    found = plain(value)
    return _plain(found) if found is not value and isinstance(found, (dict, list)) else found


def _of_numpy(value: Any) -> Any:
    """A scalar of numpy's; a moment that is none is nothing."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None if np.isnat(value) else str(value)
    return str(value) if isinstance(value, np.void) else plain(value.item())


def _number(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):
        return float("inf")


def shown(value: Any) -> str:
    """A value for a refusal: short, whatever it is."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else f"{value[:40]!r}… ({len(value):,} characters)"
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 128 else f"a number of {value.bit_length():,} bits"
    if isinstance(value, (list, tuple, dict, set, frozenset, bytes, bytearray)):
        return f"a {type(value).__name__} of {len(value):,}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def refuse_many(path: str, fields: int) -> NoReturn:
    """Too many fields."""
    raise InvalidFeatures(
        f"{path} has at least {fields:,} fields, and the limit is {limits.FIELDS:,}",
        "remove fields, or give a matrix of features",
    )


def refuse_number(path: str, value: Any) -> NoReturn:
    """NaN, infinity, or far too large."""
    raise InvalidFeatures(
        f"{path} is {shown(value)}, and a number must be finite and within ±{limits.LARGEST:g}",
        "use null for a value that is not known, or remove the field",
    )


def refuse_kind(path: str, value: Any) -> NoReturn:
    """Refuse a value of a type that records cannot hold."""
    hint = "give a number, a bool, a string, null, a list of strings, or an object"
    if isinstance(value, (bytes, bytearray)):
        hint = "decode it to a string first"
    raise InvalidFeatures(f"{path} is {shown(value)}", hint)


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LONGEST_DATE = 40
DAY = 86_400.0


def as_moment(text: str) -> datetime | date | None:
    """The date, or date and time, that a string says in the form of ISO 8601; None if it says none."""
    if not 10 <= len(text) <= LONGEST_DATE or text[4] != "-" or text[7] != "-" or not text[:4].isdigit():
        return None
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return None


def date_parts(moment: datetime | date) -> tuple[dict[str, str], float]:
    """Categories (weekday, month, and of a time its hour, as its own clock shows them), and days since 1970."""
    parts = {"weekday": WEEKDAYS[moment.weekday()], "month": str(moment.month)}
    if not isinstance(moment, datetime):
        return parts, float(moment.toordinal() - 719_163)
    parts["hour"] = str(moment.hour)
    universal = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return parts, universal.timestamp() / DAY


class ParsedColumns:
    """Values parsed column by column, for many rows at a time."""

    __slots__ = ("arrays", "cats", "full", "number_arrays", "raw", "slots", "some", "texts")

    def __init__(self) -> None:
        #: path, where each row's terms begin, ids, weights, places of new ones
        self.texts: list[tuple[str, IntArray, IntArray, FloatArray, dict[int, int]]] = []
        self.some: list[tuple[int, int]] = []  #: row and id of features that are 1, in any order
        self.arrays: list[tuple[IntArray, IntArray]] = []  #: the same, as rows and ids
        self.full: set[int] = set()  #: slots of numbers that every row has
        self.number_arrays: list[tuple[IntArray, int, FloatArray]] = []  #: rows, slot, numbers
        self.cats: list[int] = []  #: one id per row, column after column
        self.slots: list[int] = []  #: one per column
        self.raw: list[float] = []  #: one per row, column after column


_NARROW = ParsedColumns()  # of all single records


class ParsedRecords:
    """Features parsed from records, row by row. Columns of records that have the same shape are kept separately.

    ``cats`` are ids of features that are 1; ``slots`` and ``raw`` are numbers; ``terms`` are the words of texts. The
    ``ends`` say after each row how long the first two lists were. Rare cases are separate: ``places`` of terms whose
    name is new, ``weights`` of those that stand there more than once. Of a single record nothing is wide, and the words
    of its one text may be found ``later``.
    """

    __slots__ = (
        "cats",
        "ends",
        "fields",
        "later",
        "names",
        "new",
        "new_numbers",
        "places",
        "raw",
        "row",
        "slots",
        "terms",
        "texts",
        "vectors",
        "weights",
        "wide",
    )

    def __init__(self, later: bool = False) -> None:
        self.row = 0
        self.fields = 0  #: of the present record
        self.cats: list[int] = []
        self.slots: list[int] = []
        self.raw: list[float] = []
        self.ends: list[tuple[int, int]] = []
        self.terms: list[int] = []
        self.texts: list[tuple[str, int, int]] = []  #: path, row, where its terms begin
        self.vectors: list[tuple[int, FieldVector]] = []  #: row and vector
        self.places: dict[int, int] = {}  #: of terms, by where they stand
        self.weights: dict[int, float] = {}
        self.names: dict[str, int] = {}  #: new names, and their places
        self.new: list[tuple[int, int]] = []  #: row and place of features with a new name that are 1
        self.new_numbers: list[tuple[int, int, float]] = []  #: row, place, number
        self.later: list[tuple[RecordField, str]] | None = [] if later else None
        self.wide = _NARROW if later else ParsedColumns()

    def place(self, name: str) -> int:
        """The place of a new name."""
        return self.names.setdefault(name, len(self.names))

    def add_new(self, name: str) -> None:
        """A feature of the present row that is 1 and has no column yet."""
        self.new.append((self.row, self.place(name)))

    def end_row(self) -> None:
        """The next record is another row."""
        self.ends.append((len(self.cats), len(self.slots)))
        self.row += 1
        self.fields = 0

    def categories(self) -> tuple[IntArray, IntArray]:
        """Rows and ids of all features that are 1."""
        wide = np.array(self.wide.cats, np.int64)
        rows = _tiled(self.row, len(wide))
        if self.wide.arrays:
            rows = np.concatenate([rows, *(part[0] for part in self.wide.arrays)])
            wide = np.concatenate([wide, *(part[1] for part in self.wide.arrays)])
        if not self.cats and not self.wide.some:
            return rows, wide
        own = np.concatenate(
            [_rows([end for end, _ in self.ends]), np.array([row for row, _ in self.wide.some], np.int64)]
        )
        ids = np.array([*self.cats, *(found for _, found in self.wide.some)], np.int64)
        return np.concatenate([own, rows]), np.concatenate([ids, wide])

    def numbers(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, slots and values of all numbers."""
        wide = np.array(self.wide.raw, np.float64)
        rows, slots = _tiled(self.row, len(wide)), np.repeat(np.array(self.wide.slots, np.int64), self.row)
        if self.wide.number_arrays:
            rows = np.concatenate([rows, *(part[0] for part in self.wide.number_arrays)])
            slots = np.concatenate([slots, *(np.full(len(part[0]), part[1]) for part in self.wide.number_arrays)])
            wide = np.concatenate([wide, *(part[2] for part in self.wide.number_arrays)])
        if not self.slots:
            return rows, slots, wide
        own, raw = _rows([end for _, end in self.ends]), np.array(self.raw, np.float64)
        joined = np.concatenate([np.array(self.slots, np.int64), slots])
        return np.concatenate([own, rows]), joined, np.concatenate([raw, wide])


def _rows(ends: list[int]) -> IntArray:
    """The row of every entry, given where each row ends."""
    return np.repeat(np.arange(len(ends)), np.diff(np.array([0, *ends])))


def _tiled(n: int, size: int) -> IntArray:
    """0 … n − 1 again and again."""
    return np.tile(np.arange(n), size // n) if size else np.empty(0, np.int64)


class RecordField:
    """State of one field: its path, its categories by value, and the place of a number's statistics.

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
    """Reads records into `ParsedRecords`, by what the names and statistics know."""

    __slots__ = ("_fields", "_roots", "book", "lengths", "scaling", "texts")

    def __init__(
        self, book: FeatureNames, scaling: Scaling, texts: tuple[str, ...], lengths: Lengths | None = None
    ) -> None:
        self.book, self.scaling, self.texts = book, scaling, frozenset(texts)
        self.lengths = lengths  #: None: vectors are refused
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

    def read(
        self, record: Any, fields: dict[str, RecordField], prefix: str, into: ParsedRecords, depth: int = 1
    ) -> None:
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

    def value(self, field: RecordField, value: Any, into: ParsedRecords, depth: int = 1) -> None:
        """Read the value of one field."""
        kind = type(value)
        if kind is str or kind is bool:
            self._said(field, value, into)
        elif kind is float or kind is int:
            self.number(field, value, into)
        elif value is not None:
            self._rest(field, value, into, depth)

    def number(self, field: RecordField, value: float, into: ParsedRecords) -> None:
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
        text = value if type(value) is str else "true" if value is True else "false" if value is False else str(value)
        name = bounded(f"{field.path}={text}")
        place = self.book.find(name)
        if 0 <= place < self.book.capacity:
            field.table[value] = place
        return place if place >= 0 else name

    def _said(self, field: RecordField, value: str | bool, into: ParsedRecords) -> None:
        """A string or a bool: a category, a text, or a moment."""
        if field.words and type(value) is str:
            self.text(field, value, into)
            return
        if type(value) is str:
            if len(value) > limits.CATEGORY:
                raise InvalidFeatures(
                    f"{field.path} is {shown(value)}, and a category has at most {limits.CATEGORY:,} characters",
                    f"if it is prose, set text=({field.path!r},); otherwise remove the field",
                )
            moment = as_moment(value)
            if moment is not None:
                parts, days = date_parts(moment)
                for part, said in parts.items():
                    self._said(self.field(field.fields, part, f"{field.path}."), said, into)
                self.number(self.field(field.fields, "days", f"{field.path}."), days, into)
                return
        found = self.category(field, value)
        if isinstance(found, int):
            into.cats.append(found)
        else:
            into.add_new(found)

    def text(self, field: RecordField, value: str, into: ParsedRecords) -> None:
        """Words and pairs of neighbours."""
        if len(value) > limits.TEXT:
            raise InvalidFeatures(
                f"{field.path} is {shown(value)}, and a text has at most {limits.TEXT:,} characters", "shorten it"
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

    def scan(self, into: ParsedRecords) -> None:
        """Find the terms of the text that waits."""
        for field, value in into.later or ():
            self._scanned(field, value, into)
        into.later = None

    def _scanned(self, field: RecordField, value: str, into: ParsedRecords) -> None:
        """Scan an ASCII text with compiled code."""
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
                    into.weights[first + k] = core.term_weight(often)
                if ids[k] < 0:
                    ids[k] = self._term(field, spelt(value, found[:, k]), first + k, into)
        into.terms += ids

    def texts_at_once(self, field: RecordField, column: Sequence[str | None] | Strings, into: ParsedRecords) -> bool:
        """The texts of many rows; says no if one is not ASCII or too long."""
        texts = column if isinstance(column, Strings) else one_after_the_other(column)
        first, last = texts.starts[[0, -1]].tolist()
        longest = np.diff(texts.starts).max(initial=0)
        if len(texts.there) or longest > limits.TEXT or (texts.letters[first:last] > 127).any():
            return False
        starts, found, simple = field.index.scan_many(texts.letters, first, texts.starts[1:])
        ids, places, weights = found[ID].copy(), {}, np.ones(len(found[ID]))
        if not simple:
            core.term_weights(found[COUNT], weights)
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

    def _term(self, field: RecordField, term: str, at: int, into: ParsedRecords) -> int:
        """The id of such a term; −1 if it has none yet."""
        found = self._named(field, term)
        if isinstance(found, int):
            return found
        into.places[at] = into.place(found)
        return -1

    def _rest(self, field: RecordField, value: Any, into: ParsedRecords, depth: int) -> None:
        """Read lists, objects, and the types of Python that JSON does not have."""
        if is_vector(value):
            self._vector(field, as_numbers(field.path, value), into)
            return
        value = plain(value)
        kind = type(value)
        if is_json_vector(value):
            self._vector(field, from_json(field.path, value), into)
        elif kind is list and is_vector(value):
            self._vector(field, as_numbers(field.path, value), into)
        elif kind is dict:
            if depth >= limits.DEPTH:
                raise InvalidFeatures(
                    f"{field.path} is nested {limits.DEPTH + 1} levels deep",
                    f"flatten the record to {limits.DEPTH} levels",
                )
            self.read(value, field.fields, f"{field.path}.", into, depth + 1)
        elif kind is list:
            self._set(field, value, into)
        elif kind in (str, bool, float) or value is None:
            self.value(field, value, into)
        else:
            refuse_kind(field.path, value)

    def _vector(self, field: RecordField, numbers: Numbers, into: ParsedRecords) -> None:
        """A vector, of the length that the vectors of its field have."""
        n = len(numbers)
        if field.words or self.lengths is None:
            why = "the field is declared as text" if field.words else "this model refuses vectors (vectors=0)"
            hint = "give one string" if field.words else "set vectors to the number of columns that a vector may have"
            raise InvalidFeatures(f"{field.path} is a list of {n:,} numbers, and {why}", hint)
        self.lengths.check(field.path, n)
        first = next((each.numbers for _, each in into.vectors if each.path == field.path), numbers)
        if len(first) != n:
            raise InvalidFeatures(
                f"{field.path} has {n:,} numbers, and that of another candidate has {len(first):,}",
                "give vectors of one length",
            )
        into.vectors.append((into.row, FieldVector(field.path, numbers)))

    def _set(self, field: RecordField, values: list[Any], into: ParsedRecords) -> None:
        """A list of strings: a set of categories."""
        if not values and self.lengths is not None and self.lengths.of(field.path):
            self.lengths.check(field.path, 0)
        if len(values) > limits.LIST:
            raise InvalidFeatures(
                f"{field.path} is a list of {len(values):,}, and the limit is {limits.LIST:,}", "shorten it"
            )
        for k, value in enumerate(values):
            if not isinstance(value, str):
                raise InvalidFeatures(
                    f"{field.path}[{k}] is {shown(value)}, and a list holds strings, or numbers",
                    'write categories as strings, ["3", "7"], or give a vector: 2 to 4,096 numbers',
                )
        if field.words:
            raise InvalidFeatures(f"{field.path} is a list, and the field is declared as text", "give one string")
        for value in dict.fromkeys(values):
            self._said(field, str(value), into)

    def read_ids(self, ids: tuple[str | int, ...], into: ParsedRecords) -> None:
        """The ids of candidates, one per row: categories of a field ``id``."""
        field = self.field(self.root(""), "id", "")
        texts = [value if type(value) is str else str(value) for value in ids]
        known: list[Any] = list(map(field.table.get, texts))
        if None in known:
            known = [self.category(field, value) for value in texts]
            fresh = [row for row, found in enumerate(known) if isinstance(found, str)]
            into.new += [(row, into.place(known[row])) for row in fresh]
            if fresh:
                into.wide.some += [(row, found) for row, found in enumerate(known) if isinstance(found, int)]
                return
        into.wide.cats += known
