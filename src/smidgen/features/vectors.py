"""Vectors in records: lists of numbers, such as embeddings, become features at unit length.

A vector that is longer than the vectorizer's ``vectors`` is projected: each of its columns is the inner product with a
line of random signs, ±1/√columns. The signs are a function of the vectorizer's seed, so a log replays to the same bits.
"""

from __future__ import annotations

import base64
import binascii
from array import array
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import checks, randomness
from smidgen._core import records as core_records
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import CorruptFile, InvalidFeatures
from smidgen.features import limits
from smidgen.serialization import UNREADABLE

Numbers = NDArray[np.float32]
#: The numbers of a vector are within ± this.
LARGEST = float(np.finfo(np.float32).max)
#: The code of a vector among the values of a record in MessagePack.
_EXTENSION = 1
_NO_LINES: FloatArray = np.empty((0, 0))
_NUMBER_KINDS = "fiu"


class FieldVector(NamedTuple):
    """A vector of a record: its field, and its numbers as they came."""

    path: str
    numbers: Numbers


def is_vector(value: Any) -> bool:
    """Report whether a value is a vector: a list that begins with a number, or an array of numbers."""
    if type(value) is list:
        return bool(value) and type(value[0]) is not bool and isinstance(value[0], (int, float, np.number))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in _NUMBER_KINDS and value.ndim > 0 and (value.size > 0 or value.ndim > 1)
    return isinstance(value, array) and value.typecode not in "uw" and len(value) > 0


def as_numbers(path: str, value: Any) -> Numbers:
    """The numbers of a vector in single precision; refuses what is none."""
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise InvalidFeatures(f"{path} has the shape {value.shape}, and a vector has one dimension", "give one row")
    n = len(value)
    if not limits.SHORTEST_VECTOR <= n <= limits.LONGEST_VECTOR:
        raise InvalidFeatures(
            f"{path} is a list of {n:,} number{'s' * (n > 1)}, and a vector has {limits.SHORTEST_VECTOR} to "
            f"{limits.LONGEST_VECTOR:,}",
            "give a single number as a number" if n < limits.SHORTEST_VECTOR else "shorten it, or project it first",
        )
    if type(value) is not list:
        return _of_array(path, np.asarray(value))
    out = np.empty(n, np.float32)
    first = core_records.take_vector(value, LARGEST, out)
    while first >= 0:  # a number of numpy's own, or none
        if not isinstance(value[first], np.number) or value[first].dtype.kind not in _NUMBER_KINDS:
            _refuse(path, first, value[first])
        value = [each.item() if isinstance(each, np.number) else each for each in value]
        again = core_records.take_vector(value, LARGEST, out)
        if again == first:
            _refuse(path, first, value[first])
        first = again
    return out


def _of_array(path: str, given: NDArray[Any]) -> Numbers:
    with np.errstate(over="ignore"):
        out = given.astype(np.float32)
    sound = np.isfinite(out)
    if not sound.all():
        at = int(np.argmin(sound))
        _refuse(path, at, given[at].item())
    out.flags.writeable = False
    return out


def _refuse(path: str, at: int, value: Any) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise InvalidFeatures(
            f"{path}[{at}] is {checks.shown(value)}, and the numbers of a vector are finite and within ±3.4e38",
            "replace it, or omit the field",
        )
    raise InvalidFeatures(
        f"{path}[{at}] is {checks.shown(value)}, and {path}[0] is a number",
        "give numbers only (a vector), or strings only (a set of categories)",
    )


@lru_cache(maxsize=16)
def _signs(seed: int, length: int, columns: int) -> FloatArray:
    """The lines of random signs, one per column."""
    drawn = randomness.uniforms(seed, length, length * columns, stream=randomness.SIGNS).reshape(columns, length)
    lines: FloatArray = np.where(drawn < 0.5, -1.0, 1.0) / np.sqrt(columns)
    lines.flags.writeable = False
    return lines


def unit_vector(numbers: Numbers, most: int, seed: int) -> FloatArray:
    """A vector as features: of unit length, and projected if it has more than ``most`` numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.features.vectors import unit_vector
    >>> unit_vector(np.array([3, 4], np.float32), 32, seed=0)
    array([0.6, 0.8])
    """
    n = len(numbers)
    if n <= most:
        out = np.empty(n)
        core_records.lay_vector(numbers, _NO_LINES, out)
    else:
        out = np.empty(most)
        core_records.lay_vector(numbers, _signs(seed, n, most), out)
    return out


def feature_names(path: str, length: int, most: int) -> list[str]:
    """The names of a vector's features: ``emb[3]``, or ``emb~3`` where it is projected."""
    if length <= most:
        return [f"{path}[{k}]" for k in range(length)]
    return [f"{path}~{k}" for k in range(most)]


def field_of(name: str) -> str | None:
    """The field whose vector a feature belongs to; None for every other feature.

    Examples
    --------
    >>> from smidgen.features.vectors import field_of
    >>> field_of("emb~3"), field_of("context.emb[17]"), field_of("emb=a[3]"), field_of("age")
    ('emb', 'context.emb', None, None)
    """
    if "=" in name or ":" in name or " × " in name:
        return None
    if name.endswith("]"):
        path, _, place = name[:-1].rpartition("[")
    else:
        path, _, place = name.rpartition("~")
    return path if path and place.isdecimal() else None


def cosines(about: list[FieldVector], given: list[tuple[int, FieldVector]]) -> list[tuple[int, str, float]]:
    """Row, name and cosine of each pair of vectors of one name and length, one of a context and one of a candidate."""
    known = {each.path.removeprefix("context."): each.numbers for each in about}
    out = []
    for row, each in given:
        other = known.get(each.path)
        if other is not None and len(other) == len(each.numbers):
            out.append((row, f"{each.path}·{each.path}", core_records.vector_cosine(other, each.numbers)))
    return out


def other_length(path: str, length: int, first: int) -> InvalidFeatures:
    """The refusal of a vector of another length than that of its field."""
    return InvalidFeatures(
        f"{path} has {length:,} numbers, and the vectors of this field have {first:,}",
        f"give {first:,} numbers, or use another field name for vectors of another length",
    )


class Lengths:
    """The length of the vectors of each field: that of the first decision.

    ``known`` are those that were learnt, which are saved; ``decided`` those of decisions without feedback yet.
    """

    __slots__ = ("decided", "known")

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.decided: dict[str, int] = {}

    def of(self, path: str) -> int | None:
        """The length of a field's vectors, if it has any."""
        return self.known.get(path) or self.decided.get(path)

    def check(self, path: str, length: int) -> None:
        """Refuse another length than that of the field's first vector."""
        first = self.of(path) or length
        if first != length:
            raise other_length(path, length, first)

    def learn(self, paths: tuple[str, ...], lengths: IntArray) -> None:
        """Note the lengths of vectors that are learnt; fields that have a length keep it."""
        for path, length in zip(paths, lengths.tolist(), strict=True):
            self.known.setdefault(path, length)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that `restore` takes; none where there was no vector."""
        if not self.known:
            return {}
        names = msgspec.json.encode(list(self.known))
        return {"vectors": np.frombuffer(names, np.uint8), "vector_lengths": np.array(list(self.known.values()))}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        self.known = {}
        if "vectors" not in state:
            return
        try:
            paths = msgspec.json.decode(state["vectors"].tobytes(), type=list[str])
            self.known = dict(zip(paths, state["vector_lengths"].tolist(), strict=True))
        except (*UNREADABLE, ValueError) as error:
            raise CorruptFile(
                f"the saved lengths of vectors cannot be read: {error}", "restore the file from a copy"
            ) from error


def to_extension(value: Any) -> Any:
    """A vector as MessagePack holds it: four bytes a number. (A hook of msgspec's encoder.)."""
    if isinstance(value, np.ndarray):
        return msgspec.msgpack.Ext(_EXTENSION, np.ascontiguousarray(value, "<f4").tobytes())
    raise TypeError(f"a {type(value).__name__} has no form in MessagePack")


def from_extension(code: int, content: memoryview) -> Any:
    """Read what `to_extension` wrote; a hook of msgspec's decoder."""
    if code != _EXTENSION or len(content) % 4:
        raise ValueError("an extension is no vector")
    return np.frombuffer(content, "<f4").astype(np.float32)


def to_json(value: Any) -> dict[str, str]:
    """A vector as JSON and NDJSON logs hold it: ``{"f32": base64}``."""
    return {"f32": base64.b64encode(np.ascontiguousarray(value, "<f4").tobytes()).decode("ascii")}


def is_json_vector(value: Any) -> TypeGuard[dict[str, str]]:
    """Report whether an object has the form of `to_json`."""
    return type(value) is dict and len(value) == 1 and type(value.get("f32")) is str


def from_json(path: str, value: dict[str, str]) -> Numbers:
    """Read what `to_json` wrote; refuses what holds no whole numbers of four bytes."""
    text = value["f32"]
    if len(text) > 6 * limits.LONGEST_VECTOR:
        raise InvalidFeatures(
            f"{path}.f32 has {len(text):,} characters, and a vector has at most {limits.LONGEST_VECTOR:,} numbers",
            "shorten the vector",
        )
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidFeatures(f"{path}.f32 is not base64: {error}", "give little-endian float32 in base64") from error
    if len(content) % 4:
        raise InvalidFeatures(f"{path}.f32 holds {len(content):,} bytes", "give 4 bytes per number, in base64")
    return np.frombuffer(content, "<f4").astype(np.float32)
