"""Features, candidates and knobs on the wire, as the structures of learners."""

from __future__ import annotations

import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from smidgen.arrays import read_only
from smidgen.checks import suggest
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.features import Row, Vectorizer
from smidgen.features.limits import DEPTH
from smidgen.features.parse import shown
from smidgen.features.rows import DenseRows, sparse_rows
from smidgen.knobs import MOST, Category, Integer, Knob, Knobs, Linear, Log, Number
from smidgen.service.errors import Impossible, json_text, record_error
from smidgen.service.schemas import CANDIDATES, ByName, Candidate, Compact, CompactCandidates, ModelBody
from smidgen.structures import Candidates as Offer
from smidgen.structures import Choice, Ranking

# Features from the wire: by position, by name, hashed, or as one compact matrix.

Given = list[float] | dict[str, Any]
#: A number may be as large as this, either way.
LARGEST = 1e100
#: Maximum number of values in the features of one request, after names have found their columns: 80 MB.
NUMBERS = 10_000_000
#: How an error of many records begins.
_ROW = re.compile(r"record (\d+): ")


class Vectors:
    """Conversion of a model's features to numbers.

    Parameters
    ----------
    model
        Its settings: names in order, hashed names, or neither (positions only).
    dim
        The number of features; None for learners without features.
    records
        Whether features are records, which the learner reads itself.
    """

    def __init__(self, model: ModelBody, dim: int | None, *, records: bool = False) -> None:
        self.dim = dim
        self.records = records
        self.hashed = isinstance(model.features, ByName) and not records
        names = model.features if isinstance(model.features, list) else []
        self.index = {name: i for i, name in enumerate(names)}
        self._pack = struct.Struct(f"{dim or 0}d").pack  # reads a list of floats several times faster than NumPy does

    def row(self, given: Given | None) -> Any:
        """An example: an array, a sparse row where names are hashed, or a record."""
        if self.records:
            return record(given, "features")
        if self.dim is None:
            if given is not None:
                raise Impossible("features are given and this learner does not use features", 'remove "features"')
            return None
        if given is None:
            raise Impossible("features is missing", f"send {self.dim} numbers")
        if self.hashed and isinstance(given, dict):
            return self._hashed_row(given)
        return self.rows([given])[0]

    def rows(self, given: Sequence[Given]) -> Any:
        """Several examples as a matrix; records as they are."""
        dim = self.dim or 0
        if self.records:
            return [record(features, f"candidates[{i}].features") for i, features in enumerate(given)]
        if self.hashed and any(isinstance(features, dict) for features in given):
            if not all(isinstance(features, dict) for features in given):
                raise Impossible(
                    "some features are objects and some are arrays", "send all as objects, or all as arrays"
                )
            parts = [self._hashed(features) for features in given if isinstance(features, dict)]
            starts = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in parts])])
            columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
            return sparse_rows(values, columns, starts, dim)
        if len(given) * dim > NUMBERS:
            raise Impossible(
                f"{len(given)} rows of {dim} features are more than {NUMBERS} numbers", "send fewer rows in one call"
            )
        packed = b"".join([self._pack(*self._listed(features, dim)) for features in given])
        return check_range(np.frombuffer(packed).reshape(len(given), dim))

    def matrix(self, given: Compact) -> FloatArray:
        """The matrix of a compact body."""
        n, d = given.shape
        if self.records:
            raise Impossible(
                f"features is a matrix of {n} × {d} numbers, and this model expects records",
                'send objects, e.g. {"age": 31, "country": "se"}, or create the model with an array of "features"',
            )
        if self.dim is None or d != self.dim:
            raise Impossible(
                f"features.shape has {d} columns and the model has {self.dim} features", f"send {self.dim} columns"
            )
        if len(given.f32) != 4 * n * d:
            raise Impossible(
                f"features.f32 holds {len(given.f32)} bytes and the shape needs {4 * n * d}",
                "send 4 bytes per number, in base64, row by row",
            )
        matrix = np.frombuffer(given.f32, "<f4").reshape(n, d).astype(np.float64)
        if not math.isfinite(np.vdot(matrix, matrix)):  # squares of these have room
            raise Impossible("features.f32 holds a number that is not finite", "send finite numbers")
        matrix.flags.writeable = False
        return matrix

    def _listed(self, features: Given, dim: int) -> list[float]:
        """Numbers of one row, in order."""
        if isinstance(features, dict):
            row = [0.0] * dim
            for name, value in features.items():
                row[self._place(name)] = value if type(value) is float else number(name, value)
            return row
        if len(features) != dim:
            raise Impossible(f"there are {len(features)} features and the model has {dim}", f"send {dim} numbers")
        return features

    def _place(self, name: str) -> int:
        if name not in self.index:
            raise Impossible(
                f'unknown feature "{name}"', suggest(name, self.index, "send an array: features go by position here")
            )
        return self.index[name]

    def _hashed_row(self, features: dict[str, Any]) -> Row:
        columns, values = self._hashed(features)
        return Row(read_only(columns), values, self.dim or 1)

    def _hashed(self, features: dict[str, Any]) -> tuple[NDArray[np.uint32], FloatArray]:
        """Columns, in order, and values of one row.

        What falls into one column is summed up; a bit of the hash gives the sign, so collisions cancel on average.
        """
        dim, found = self.dim or 1, dict[int, float]()
        for name, value in features.items():
            amount = value if type(value) is float else number(name, value)
            column, sign = hashed_place(name, dim)
            found[column] = found[column] + sign * amount if column in found else sign * amount
        columns = sorted(found)
        return np.array(columns, np.uint32), check_range(np.array([found[column] for column in columns], np.float64))


def hashed_place(name: str, dim: int) -> tuple[int, int]:
    """The column into which a name is hashed, and the sign with which it counts there."""
    hash32 = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return (hash32 >> 1) % dim, 1 if hash32 & 1 else -1


def record(given: Given | None, path: str) -> dict[str, Any]:
    """Features as a record; none at all are an empty one."""
    if isinstance(given, list):
        raise Impossible(
            f"{path} is an array of {len(given)} numbers, and this model expects records",
            'send an object, e.g. {"age": 31, "country": "se"}, or create the model with "features": […] or with '
            '"dim" in params',
        )
    return given if given is not None else {}


def number(name: str, value: Any) -> float:
    """A feature's value, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Impossible(
            f"features.{name} is {json_text(value)}, and this model's features are numbers",
            'send a number, or create a model without "features": it accepts strings, booleans, text and null',
        )
    return float(value)


def check_range(numbers: FloatArray) -> FloatArray:
    """Refuse numbers whose products could run out of range: one such request would spoil the weights for good."""
    if np.vdot(numbers, numbers) > LARGEST and max(numbers.max(), -numbers.min()) > LARGEST:
        raise Impossible(f"features hold a number beyond ±{LARGEST:g}", "scale the numbers to about ±1")
    return numbers


# Candidates from the wire.

Candidates = Annotated[list[Candidate], Meta(min_length=1, max_length=CANDIDATES)] | CompactCandidates


def read(
    given: list[Candidate] | CompactCandidates, vectors: Vectors, *, priced: bool = False
) -> tuple[list[Any], Any]:
    """The candidates' ids and their features, row by row; ``priced`` if they may have costs."""
    if isinstance(given, CompactCandidates):
        ids, rows = given.ids, vectors.matrix(given.features)
        if len(ids) != len(rows):
            raise Impossible(f"there are {len(ids)} ids and {len(rows)} rows of features", "send one row per id")
    else:
        ids = [candidate.id for candidate in given]
        if (
            not priced
            and (dear := next((i for i, each in enumerate(given) if each.costs is not None), None)) is not None
        ):
            raise Impossible(
                f"candidates[{dear}].costs is given, and only choose models have a budget",
                'remove "costs", or create a model with "loop": "choose" and "budget"',
            )
        features: list[Any] = [candidate.features for candidate in given]
        if None in features and not vectors.records:
            raise Impossible(f"candidates[{features.index(None)}].features is missing", f"send {vectors.dim} numbers")
        rows = vectors.rows(features)
    if len(set(map(str, ids))) < len(ids):
        (twice, _), *_ = Counter(map(str, ids)).most_common(1)
        raise Impossible(f"two candidates have the id {json_text(twice)}", "give each candidate its own id")
    return ids, rows


def without_excluded(ids: list[Any], rows: Any, excluded: Sequence[Any]) -> tuple[list[Any], Any]:
    """The candidates but for some that must not be shown."""
    out = set(positions_of(list(dict.fromkeys(map(str, excluded))), ids, "exclude"))
    kept = [place for place in range(len(ids)) if place not in out]
    if not kept:
        raise Impossible("exclude names all candidates", "leave at least one candidate that can be shown")
    return [ids[place] for place in kept], [rows[place] for place in kept] if isinstance(rows, list) else rows[kept]


def build_context(ids: Sequence[Any], rows: Any, context: Any, vectors: Vectors, top: int | None = None) -> Any:
    """Context of the learner: records with their context, or rows of numbers; with ``top`` to rank."""
    if vectors.records:
        return Offer(dict(zip(ids, rows, strict=True)), context=context, top=top, costs=())
    if context is not None:
        raise Impossible(
            "context is given and this model expects rows of numbers",
            'create a model without "features": it crosses candidates with the context',
        )
    if type(rows) is np.ndarray and not rows.flags.writeable:  # as `vectors` makes them: checked, and nobody else's
        rows = DenseRows(rows)
    return Choice(rows) if top is None else Ranking(rows, top=top)


def with_request_path(error: InvalidFeatures, context: Any, features: Vectorizer, single: str) -> Impossible:
    """Add the position in the request to a record's error.

    ``features`` reads the records of candidates again; ``single`` is the name under which one record is sent.
    """
    if isinstance(context, Offer):
        for index, each in enumerate(context.records):
            try:
                features.encode(each)
            except InvalidFeatures as its:
                return record_error(its, f"candidates[{index}].features")
        if (row := _ROW.match(error.problem)) is not None:  # of one length in itself, and not that of the field
            of_row = InvalidFeatures(error.problem[row.end() :], error.hint)
            return record_error(of_row, f"candidates[{row[1]}].features")
        return record_error(error, "context")
    return record_error(error, single)


def positions_of(named: Sequence[Any], ids: Sequence[Any], field: str) -> list[int]:
    """Positions of the named candidates; 7 and "7" are the same name."""
    if len(named) == 1 and named[0] in ids:
        return [ids.index(named[0])]
    index = {str(id): i for i, id in enumerate(ids)}
    try:
        found = [index[str(name)] for name in named]
    except KeyError:
        unknown = next(name for name in named if str(name) not in index)
        raise Impossible(
            f"{field} names {json_text(unknown)}, which was not a candidate of this decision", suggest(unknown, ids)
        ) from None
    if len(set(found)) < len(found):
        raise Impossible(f"{field} names the same candidate twice", "name each candidate once")
    return found


def preference_text(ids: Sequence[Any], verb: str = "preferred") -> str:
    """Short text of the preferred items."""
    return f"{verb} {', '.join(map(str, ids[:3]))}{'…' if len(ids) > 3 else ''}" if ids else "nothing to improve"


# Knobs on the wire: ``{"threads": {"integer": [1, 64]}, "timeout": {"log": [0.01, 10]}, "ratio": [0, 1],
# "mode": {"categories": ["bulk", "stream"]}}``.

#: The kinds of knob that have a name; a plain pair is a `Linear` one.
KINDS: dict[str, type[Log | Integer]] = {"integer": Integer, "log": Log}
#: A limit may be as large as this, either way: floats cannot represent all whole numbers beyond it.
LARGEST_LIMIT = 1 << 53
_HINT = 'give [low, high], {"integer": [low, high]}, {"log": [low, high]} or {"categories": [name, …]}'


def read_knobs(given: Mapping[str, Any]) -> Knobs:
    """Read the knobs of a body. An error names the knob, the value that was found there, and a hint."""
    if not 1 <= len(given) <= MOST:
        raise Impossible(f"knobs has {len(given):,} entries", f"send 1 to {MOST:,}")
    made = {name: _read(f"knobs.{name}", knob) for name, knob in given.items()}
    try:
        return Knobs(made)
    except InvalidArgument as error:
        raise Impossible(f"knobs: {error.problem}", error.hint) from error


def write_knobs(knobs: Knobs) -> dict[str, Any]:
    """The knobs as a body says them, in their own order."""
    return {name: _written(knob) for name, knob in knobs.knobs.items()}


def in_order_of(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The knobs of a body in the order of these names, if they are the same ones; else as they were given."""
    return {name: given[name] for name in (names if given.keys() == set(names) else given)}


def _read(path: str, given: Any) -> Knob:
    if isinstance(given, Mapping) and given.keys() == {"categories"}:
        return _read_category(path, given["categories"])
    make, limits = _form(path, given)
    for limit in limits:
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            belongs = '; names are {"categories": [name, …]}' * isinstance(limit, str)
            raise Impossible(f"{path} has the limit {json_text(limit)}, which is not a number", _HINT + belongs)
        if not abs(limit) <= LARGEST_LIMIT:
            raise Impossible(
                f"{path} has the limit {json_text(limit)}", f"send numbers up to {LARGEST_LIMIT}, or use other units"
            )
    try:
        return make(*limits)
    except InvalidArgument as error:
        raise Impossible(f"{path} is {_short_text(given)}: {error.problem}", _hint(make, limits)) from error


def _read_category(path: str, given: Any) -> Category:
    if not isinstance(given, list) or not all(isinstance(value, str) and 0 < len(value) <= 200 for value in given):
        raise Impossible(f"{path}.categories is {_short_text(given)}", "give a list of names, each up to 200 letters")
    try:
        return Category(*given)
    except InvalidArgument as error:
        raise Impossible(f"{path}.categories is {_short_text(given)}: {error.problem}", error.hint) from error


def _form(path: str, given: Any) -> tuple[type[Number], list[Any]]:
    """The class of a knob, and its two limits."""
    make: type[Number] = Linear
    limits = given
    if isinstance(given, Mapping) and len(given) == 1 and (kind := next(iter(given))) in KINDS:
        make, limits = KINDS[kind], given[kind]
    if isinstance(limits, list | tuple) and len(limits) == 2:
        return make, list(limits)
    named = isinstance(given, str) or (isinstance(limits, list) and any(isinstance(each, str) for each in limits))
    if named or (isinstance(given, Mapping) and any(str(key).startswith("categor") for key in given)):
        raise Impossible(f"{path} is {_short_text(given)}, which lists names", 'write {"categories": ["a", "b"]}')
    raise Impossible(f"{path} is {_short_text(given)}", _HINT)


def _hint(make: type[Number], limits: list[Any]) -> str:
    low, high = limits
    if not low < high:
        return "give two limits, the lower first, and the higher above it"
    if make is Log:
        return f"a log knob begins above 0: begin at the least value that matters, or give [{low:g}, {high:g}]"
    return "give whole numbers, or a plain pair [low, high]"


def _short_text(given: Any) -> str:
    """A short form of the received value."""
    text = msgspec.json.encode(given).decode() if isinstance(given, Mapping | list | tuple) else shown(given)
    return text if len(text) <= 80 else shown(given)


def _written(knob: Knob) -> Any:
    if isinstance(knob, Category):
        return {"categories": list(knob.values)}
    limits = [knob.low, knob.high]
    return next(({name: limits} for name, kind in KINDS.items() if isinstance(knob, kind)), limits)


# Records as other systems write them, in the form that ours takes: nothing is refused that has a plain meaning.


def lenient_record(given: Mapping[str, Any], depth: int = DEPTH) -> dict[str, Any]:
    """An object as a record: names with an underscore first are for people, and lists are sets of words.

    ``depth`` is how many objects and lists may stand inside one another; what lies deeper is refused.

    Examples
    --------
    >>> from smidgen.service.loops.features import lenient_record
    >>> lenient_record({"day": "mon", "_note": "?", "sizes": [1, 2], "os": {"name": "ios"}})
    {'day': 'mon', 'sizes': ['1', '2'], 'os': {'name': 'ios'}}
    """
    if depth < 0:
        raise Impossible(f"features is nested more than {DEPTH} levels deep", "send fewer levels")
    return {name: _value(value, depth - 1) for name, value in given.items() if name and not name.startswith("_")}


def merge_records(given: Iterable[Mapping[str, Any]], depth: int = DEPTH) -> dict[str, Any]:
    """Several objects as one record; words under one name are a set, objects are gathered, else the last one counts.

    Examples
    --------
    >>> from smidgen.service.loops.features import merge_records
    >>> merge_records([{"tag": "a", "n": 1}, {"tag": "b", "n": 2}])
    {'tag': ['a', 'b'], 'n': 2}
    """
    found: dict[str, Any] = {}
    for each in given:
        for name, value in lenient_record(each, depth).items():
            found[name] = _both(found[name], value) if name in found else value
    return found


def _both(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):  # as deep as they were, which was judged
        return merge_records((first, second))
    if isinstance(first, str | list) and isinstance(second, str | list):
        words = [*_words(first), *_words(second)]
        return list(dict.fromkeys(words)) if len(set(words)) > 1 else words[0]
    return second


def _words(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _value(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return lenient_record(value, depth)
    if not isinstance(value, list):
        return value
    if any(isinstance(each, dict) for each in value):
        return merge_records((each for each in value if isinstance(each, dict)), depth)
    return list(dict.fromkeys(_word(each) for each in value if each is not None and not isinstance(each, list)))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
