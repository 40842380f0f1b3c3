"""Bytes of learners and of their decisions: saved learners, decisions in logs, starts of new learners.

A saved learner is one file of a head, a JSON header and raw arrays under a checksum, written whole or not at all. The
head is 64 bytes: the line ``smidgen learner 2``, the number of the arithmetic, the length of the header, the length of
the file, and the SHA-256 of all else. The header says what the learner is and lists the arrays with dtype and shape;
their bytes follow in that order, little-endian, each at a multiple of 8. Nothing is compressed, so that a file never
becomes more than it is.

A decision (`write_brief`) is in as few bytes as the learner that made it can recall it from. The learner knows its
class and its settings; the greedy action is mostly the action; what is not there is left out at the end. All else is as
`smidgen.serialization.encode` has it.

A start (`write_start`) is what a learner begins with where others have learnt: in few bytes, for a log that says it
once for every key.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import CorruptFile, DataMissing, InvalidRecord, NotSaveable
from smidgen.serialization import DTYPES, UNREADABLE

LEARNER_FORMAT = 2
#: The number of the arithmetic by which learners step. Raise it with every change that lets the same decisions and
#: feedback lead to other weights: states that were folded before it are not what a log leads to, and are folded again.
ARITHMETIC = 2
_MAGIC = b"smidgen learner "
_FIRST = _MAGIC + b"%d\n" % LEARNER_FORMAT
_HEAD = struct.Struct("<18sHIQ32s")
_TO_THE_SUM = 32  # bytes of the head that come before its checksum
_STEP = 8
_MOST_AXES = 32
_LARGE = 1 << 16  # bytes of an array that is not copied on its way into the file
_LEARNER_HINT = "give what Learner.save wrote; if it was that, restore it from a copy"
_DTYPES = {dtype.str: dtype for dtype in DTYPES}
_NATIVE = {dtype.newbyteorder("="): name for name, dtype in _DTYPES.items()}

Count = Annotated[int, msgspec.Meta(ge=0)]
Number = Annotated[int, msgspec.Meta(ge=1)]


class Header(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Header of a saved learner, before its arrays.

    Attributes
    ----------
    kind
        The class.
    settings_version, params
        The arguments that were asked for, and the number of the defaults for all others.
    state_version, notes, arrays
        What it remembers, and the number of the form in which it does. An array is listed by name, dtype and shape.
    decided
        The number of its latest decision.
    taught
        How many examples it was taught.
    """

    kind: str
    settings_version: Number
    state_version: Number
    params: dict[str, Any]
    decided: Count
    notes: dict[str, Any]
    taught: Count = 0
    arrays: list[tuple[str, str, list[Count]]] = msgspec.field(default_factory=list)


_headers = msgspec.json.Decoder(Header)


def encode_learner(header: Header, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Header and arrays as bytes under a checksum."""
    header.arrays, size = [], 0
    parts: list[bytes | memoryview] = []
    for name, array in arrays.items():
        known = _NATIVE.get(array.dtype)
        if known is None:
            raise NotSaveable(f"the array {name} has dtype {array.dtype}", "keep floats, ints or bools")
        header.arrays.append((name, known, list(array.shape)))
        little = array.astype(_DTYPES[known], copy=False)
        parts.append(little.tobytes() if array.nbytes < _LARGE else np.ascontiguousarray(little).data.cast("B"))
        size += array.nbytes
        if size % _STEP:
            parts.append(bytes(-size % _STEP))
            size += -size % _STEP
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % _STEP)
    head = _HEAD.pack(_FIRST, ARITHMETIC, len(text), _HEAD.size + len(text) + size, b"")[:_TO_THE_SUM]
    return b"".join([head, _sum(head, text, *parts), text, *parts])


def _sum(*parts: bytes | memoryview) -> bytes:
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return checksum.digest()


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write to a temporary file, sync, rename: a reader sees the old file or the new one, never a partial one."""
    target = Path(path)
    if not target.parent.is_dir():
        raise DataMissing(f"there is no folder {target.parent}", "create it, or give another path")
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def decode_learner(content: bytes, source: str) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Header and arrays of what `encode_learner` gave, if all is right; ``source`` is its name in refusals.

    The arrays are views of the content, and finite.
    """
    if not content.startswith(_MAGIC):
        raise CorruptFile(f"{source} is not a saved learner", _LEARNER_HINT)
    if not content.startswith(_FIRST):
        raise _other_format(content, source)
    if len(content) < _HEAD.size:
        raise CorruptFile(f"{source} is a damaged saved learner: it ends within its header", _LEARNER_HINT)
    head, body = content[: _HEAD.size], memoryview(content)[_HEAD.size :]
    _, _, length, size, checksum = _HEAD.unpack(head)
    if size != len(content) or length > len(body):
        raise CorruptFile(f"{source} is a damaged saved learner: it has {len(content)} of {size} bytes", _LEARNER_HINT)
    if checksum != _sum(head[:_TO_THE_SUM], body):
        raise CorruptFile(f"{source} is a damaged saved learner: its checksum is wrong", _LEARNER_HINT)
    try:
        header = _headers.decode(body[:length])
    except UNREADABLE as error:
        raise CorruptFile(
            f"{source} is a damaged saved learner: its header is invalid: {error}", _LEARNER_HINT
        ) from error
    return header, _arrays(header, body[length:], source)


def arithmetic_of(content: bytes) -> int | None:
    """The `ARITHMETIC` of the smidgen that wrote a saved learner; None if it is none. Checks no more than that."""
    if not content.startswith(_FIRST) or len(content) < _HEAD.size:
        return None
    return int(_HEAD.unpack(content[: _HEAD.size])[1])


def _other_format(content: bytes, source: str) -> CorruptFile:
    version = content[len(_MAGIC) :][:8].split(b"\n")[0].decode("ascii", "replace")
    if version == "1":
        return CorruptFile(
            f"{source} is a saved learner of format 1, which was never released", "save it again with this version"
        )
    return CorruptFile(f"{source} is a saved learner of format {version!r}", "upgrade smidgen to read it")


def _arrays(header: Header, content: memoryview, source: str) -> dict[str, NDArray[Any]]:
    """The arrays that the header lists, as views; they must fill the content exactly."""
    found: dict[str, NDArray[Any]] = {}
    start = 0
    for name, kind, shape in header.arrays:
        dtype = _DTYPES.get(kind)
        if dtype is None or name in found or len(shape) > _MOST_AXES:
            raise CorruptFile(
                f"{source} is a damaged saved learner: its array {name} is a {kind} of {shape}", _LEARNER_HINT
            )
        count = math.prod(shape)
        stop = start + count * dtype.itemsize
        if stop > len(content) or max(shape, default=0) >> 48:
            raise CorruptFile(
                f"{source} is a damaged saved learner: its array {name} is longer than the file", _LEARNER_HINT
            )
        try:
            found[name] = array = np.ndarray(shape, dtype, content, start)
        except ValueError as error:  # no elements, and yet extents beyond all counting
            raise CorruptFile(
                f"{source} is a damaged saved learner: {name} has shape {shape}", _LEARNER_HINT
            ) from error
        if dtype.kind == "f" and not np.isfinite(array).all():
            raise CorruptFile(
                f"{source} is a damaged saved learner: {name} holds values that are not finite", _LEARNER_HINT
            )
        if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise CorruptFile(f"{source} is a damaged saved learner: {name} holds more than 0 and 1", _LEARNER_HINT)
        start = stop + -stop % _STEP
    if start != len(content):
        raise CorruptFile(
            f"{source} is a damaged saved learner: {len(content) - start} bytes are left over", _LEARNER_HINT
        )
    return found


#: The form of a brief; a new one gets a new number.
BRIEF_FORM = 1
#: What stands where; new fields go to the end.
_PLACES = (
    "number",
    "action",
    "context",
    "scores",
    "greedy",
    "explored",
    "propensity",
    "perturbation",
    "reach",
    "widths",
    "margin",
    "threshold",
    "teams",
    "more",
    "propensities",
    "log_propensity",
    "price",
    "costs",
)
#: The type of each value of a brief, unless it is None; None: any.
_TYPES: tuple[type | None, ...] = (
    int,
    int,
    None,
    None,
    np.ndarray,
    list,
    bool,
    float,
    np.ndarray,
    float,
    np.ndarray,
    float,
    float,
    np.ndarray,
    NoneType,
    np.ndarray,
    float,
    dict,
    dict,
)
_NOTHING = [None] * len(_TYPES)
_BRIEF_HINT = "give the bytes that learner.brief wrote"


def write_compact(decision: Decision) -> bytes:
    """The decision without class and settings."""
    same = serialization.same(decision.greedy, decision.action)
    values: list[Any] = [
        BRIEF_FORM,
        decision.number,
        decision.action,
        decision.context,
        decision.scores,
        None if same else [decision.greedy],
        decision.explored or None,
        decision.propensity,
        decision.perturbation,
        decision.reach,
        decision.widths,
        decision.margin,
        decision.threshold,
        decision.teams,
        decision.unknown,
        decision.propensities,
        decision.log_propensity,
        decision.price,
        decision.costs,
    ]
    while values[-1] is None:
        values.pop()
    return serialization.encode(values)


def read_compact(content: bytes | memoryview, kind: str, settings: str) -> Decision:
    """The decision of a learner of that class and those settings."""
    return _decision(serialization.decode(content), kind, settings)


def read_compact_many(contents: Sequence[bytes], kind: str, settings: str) -> list[Decision]:
    """Like `read_brief` for several at once, faster."""
    return [
        _usual(values, kind, settings) or _decision(values, kind, settings)
        for values in serialization.decode_many(contents)
    ]


def _usual(values: Any, kind: str, settings: str) -> Decision | None:
    """The decision of a brief whose fields are all of the usual types, without looking at each; None of others."""
    if type(values) is not list or not _fits(tuple(map(type, values))) or values[0] != BRIEF_FORM or values[1] < 1:
        return None
    (
        _,
        number,
        action,
        context,
        scores,
        greedy,
        explored,
        p,
        direction,
        reach,
        widths,
        margin,
        threshold,
        teams,
        _,
        every,
        log_p,
        price,
        costs,
    ) = values + _NOTHING[len(values) :]
    if greedy is not None and len(greedy) != 1:
        return None
    return Decision(
        kind=kind,
        settings=settings,
        number=number,
        action=action,
        greedy=action if greedy is None else greedy[0],
        context=context,
        explored=explored or False,
        propensity=p,
        propensities=every,
        perturbation=direction,
        reach=reach,
        scores=scores,
        widths=widths,
        margin=margin,
        threshold=threshold,
        teams=teams,
        log_propensity=log_p,
        price=price,
        costs=costs,
    )


@lru_cache(maxsize=256)
def _fits(types: tuple[type, ...]) -> bool:
    """True if a brief with values of these types is a usual one: all of its fields, and no others."""
    if not 2 <= len(types) <= len(_TYPES) or types[:2] != (int, int):
        return False
    return all(kind is None or each in (kind, NoneType) for each, kind in zip(types[2:], _TYPES[2:], strict=False))


def _decision(values: Any, kind: str, settings: str) -> Decision:
    if not isinstance(values, list) or not values or values[0] != BRIEF_FORM:
        raise InvalidRecord("the bytes are not a short record of a decision", _BRIEF_HINT)
    if len(values) > len(_PLACES) + 1:
        raise InvalidRecord(
            f"the short record has {len(values) - 1} fields, and this version of smidgen knows {len(_PLACES)}",
            "upgrade smidgen",
        )
    fields = {name: value for name, value in zip(_PLACES, values[1:], strict=False) if value is not None}
    greedy, more = fields.pop("greedy", None), fields.pop("more", {})
    if greedy is not None and (not isinstance(greedy, list) or len(greedy) != 1):
        raise InvalidRecord("the greedy action in the short record is not valid", _BRIEF_HINT)
    if not isinstance(more, dict):
        raise InvalidRecord("the additional fields of the short record have no names", _BRIEF_HINT)
    fields.setdefault("context", None)
    action = fields.setdefault("action", None)
    fields["greedy"] = action if greedy is None else greedy[0]
    if more:
        fields = {**more, **fields}
    fields["kind"], fields["settings"] = kind, settings
    return Decision.of(fields)


#: The form of the bytes.
START_FORM = 1
#: At most this many numbers of one array are kept, the largest ones: half a megabyte.
MOST = 1 << 16
_START_HINT = "restore the database from a backup"


def write_start(start: Mapping[str, NDArray[Any]], fresh: Mapping[str, NDArray[Any]]) -> bytes:
    """A start (`Learner.start`) as bytes: where it differs from that of a fresh learner, in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.learners import saving
    >>> fresh = {"w": np.zeros(100_000)}
    >>> content = saving.write_start({"w": fresh["w"] + (np.arange(100_000) == 7)}, fresh)
    >>> len(content) < 64
    True
    >>> float(saving.read_start(content, fresh)["w"][7])
    1.0
    """
    changed: dict[str, Any] = {}
    for name, array in start.items():
        with np.errstate(over="ignore"):
            change = (array - _widened(fresh[name], array.shape)).astype(np.float32).ravel()
        change = np.nan_to_num(change)
        places = np.flatnonzero(change)
        if len(places) > MOST:
            places = np.sort(places[np.argpartition(-np.abs(change[places]), MOST)[:MOST]])
        changed[name] = [list(array.shape), places.astype(np.uint32), change[places]]
    return serialization.encode([START_FORM, changed])


def is_empty_start(start: Mapping[str, NDArray[Any]], fresh: Mapping[str, NDArray[Any]]) -> bool:
    """True if a start is that of a fresh learner, so that it need not be recorded."""
    return all(np.array_equal(array, _widened(fresh[name], array.shape)) for name, array in start.items())


def read_start(content: bytes, fresh: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Read the output of `write_start`, for a learner with this fresh start; it may have more classes by now."""
    try:
        version, changed = serialization.decode(content)
        if version != START_FORM or changed.keys() != fresh.keys():
            raise InvalidRecord(f"it has version {version} and the arrays {sorted(changed)}", _START_HINT)
        found = {}
        for name, (shape, places, values) in changed.items():
            like = fresh[name]
            part = np.zeros(tuple(shape))
            part.ravel()[places] = values
            whole = np.zeros(like.shape)
            whole[tuple(slice(extent) for extent in part.shape)] = part
            found[name] = like + whole
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise InvalidRecord(f"the start of a learner cannot be read: {error}", _START_HINT) from error
    return found


def _widened(fresh: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The part of a fresh array that an older one had."""
    return fresh[tuple(slice(extent) for extent in shape)]
