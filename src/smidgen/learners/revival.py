"""From a saved header and arrays to a learner: with the defaults of its time, its arrays in the form of today.

A checksum finds damage, not malice. So nothing is made before its size is known to fit the file, every array must have
the dtype and the shape of a fresh learner's, and whatever a constructor says is said in terms of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smidgen import records
from smidgen.errors import FOREIGN, CorruptFile, InvalidRecord, MissingExtra, NotSaveable, SmidgenError
from smidgen.learners.card import learners
from smidgen.learners.guard import Guard
from smidgen.learners.guests import discover
from smidgen.learners.storage import Header
from smidgen.settings import VERSION, defaults_at
from smidgen.state import LearntNumbers

if TYPE_CHECKING:
    from smidgen.learners.base import Learner

#: A learner of no more bytes than this is made at once, whatever the size of its file.
SMALL = 1 << 24
_HINT = "give what Learner.save wrote; if it was that, restore it from a copy"
_FEW = ((4, 4), (8, 4), (4, 8))  # features and classes of learners to measure by
#: The settings that say how large a learner is; of arrays among the settings it is their extents.
_SIZES = {"dim": "features", "n_classes": "classes", "labels": "classes"}


def revive(header: Header, arrays: dict[str, NDArray[Any]], size: int, source: str) -> Learner:
    """The learner that a file of ``size`` bytes holds; ``source`` is its name in refusals."""
    if header.kind not in learners:
        discover()
    if header.kind not in learners:
        raise NotSaveable(
            f"{source} holds a {header.kind}, which is not registered", "import the module that defines it"
        )
    cls = learners[header.kind]
    if header.settings_version > cls.settings_version or header.state_version > cls.state_version:
        raise NotSaveable(f"{source} holds a {header.kind} of a newer smidgen", "upgrade smidgen to read it")
    try:
        _refuse_swollen(cls, header, size, source)
        learner = _made(cls, header, header.params)
        _fill(learner, header, {name: np.array(array) for name, array in arrays.items()})
    except (NotSaveable, CorruptFile, MissingExtra):
        raise
    except SmidgenError as error:
        raise CorruptFile(f"{source} is a damaged saved learner: {error.problem}", _HINT) from error
    except FOREIGN as error:
        raise CorruptFile(f"{source} is a damaged saved learner: {error!r}", _HINT) from error
    return learner


def _made(cls: type[Learner], header: Header, params: Mapping[str, Any]) -> Learner:
    try:
        settings = records.unpack(dict(params))
    except InvalidRecord as error:  # a structure of somebody's own
        raise NotSaveable(f"the settings of the {cls.__name__} cannot be read: {error.problem}", error.hint) from error
    return cls.at(header.settings_version, **settings)


def _fill(learner: Learner, header: Header, arrays: dict[str, NDArray[Any]]) -> None:
    learnt = LearntNumbers.from_ranges(arrays.pop("learnt"))
    guard = arrays.pop("guard", None)
    if header.decided < learnt.end - 1:
        raise InvalidRecord(f"decision {learnt.end - 1} was learnt and {header.decided} were made", _HINT)
    state, notes = learner._upgrade(header.state_version, arrays, records.unpack(header.notes))
    learner._take_notes(notes)
    learner._check_state(state)
    learner._learnt, learner._decided, learner._taught = learnt, header.decided, header.taught
    learner._restore(state)
    if guard is not None:
        learner._guard = Guard.of(learner, guard)


def check_shapes(fresh: Mapping[str, NDArray[Any]], state: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays that do not fit a learner: other names, dtypes or extents. An extent that begins at 0 may grow."""
    if fresh.keys() != state.keys():
        raise InvalidRecord(f"it has the arrays {sorted(state)} and must have {sorted(fresh)}", _HINT)
    for name, like in fresh.items():
        array = state[name]
        if array.shape == like.shape and array.dtype == like.dtype:
            continue
        grown = array.ndim == like.ndim and all(b in (a, 0) for a, b in zip(array.shape, like.shape, strict=True))
        if not grown or array.dtype != like.dtype:
            raise InvalidRecord(f"{name} is a {array.dtype} of {array.shape} and must fit {like.shape}", _HINT)


def _refuse_swollen(cls: type[Learner], header: Header, size: int, source: str) -> None:
    """Refuse settings whose learner would be far larger than its file: by the shapes of small ones.

    Extents grow as the features and the classes do, so three small learners tell those of the large one.
    """
    sizes = {"features": 0, "classes": 1}
    _measure(header.params, sizes)
    features, classes = sizes["features"], sizes["classes"]
    if 8 * classes * features * features <= SMALL:
        return
    try:
        small = [_shapes(_made(cls, header, _resized(header.params, *few))) for few in _FEW]
        bytes_ = sum(
            width * math.prod(_extent(few, features, classes) for few in zip(one, more, wider, strict=True))
            for (width, one), (_, more), (_, wider) in zip(*small, strict=True)
        )
    except (SmidgenError, *FOREIGN):
        bytes_ = 8 * classes * features * features
    bytes_ = min(bytes_, _told_size(cls, header.params, features))
    if bytes_ + 8 * classes > SMALL + 4 * size:
        raise CorruptFile(
            f"{source} is a damaged saved learner: {size:,} bytes for {features:,} features and {classes:,} classes",
            _HINT,
        )


def _told_size(cls: type[Learner], packed: Mapping[str, Any], features: int) -> float:
    """What the card says of the size, of a learner inside another too, without making any; infinity if it cannot."""
    inside = packed.get("learner")
    kind = inside.get(records.TAG) if isinstance(inside, dict) else None
    if isinstance(inside, dict) and isinstance(kind, str) and kind in learners:
        return _told_size(learners[kind], inside, features) + 1_000 * features
    given = {name: value for name, value in packed.items() if name not in (records.TAG, VERSION)}
    if not isinstance(given.get("dim"), int):
        return math.inf
    try:
        return cls.card.size({**defaults_at(cls, packed.get(VERSION, cls.settings_version)), **given})
    except (SmidgenError, *FOREIGN):
        return math.inf


def _extent(small: tuple[int, ...], features: int, classes: int) -> int:
    """An extent that is known for a few features and classes, for many."""
    base, more, wider = small
    return base + (more - base) * -(-(features - 4) // 4) + (wider - base) * -(-(classes - 4) // 4)


def _shapes(learner: Learner) -> list[tuple[int, tuple[int, ...]]]:
    return [(array.itemsize, array.shape) for array in learner._state().values() if array.ndim]


def _measure(packed: dict[str, Any], sizes: dict[str, int]) -> None:
    """The largest number of features and of classes among packed settings."""
    for name, value in packed.items():
        if isinstance(value, dict):
            _measure(value, sizes)
        elif isinstance(value, list):
            if name == "shape":
                sizes["features"] = max(sizes["features"], *(n for n in value if isinstance(n, int)), 0)
            elif name in _SIZES:
                sizes[_SIZES[name]] = max(sizes[_SIZES[name]], len(value))
            for item in value:
                if isinstance(item, dict):
                    _measure(item, sizes)
        elif name in _SIZES and isinstance(value, int):
            sizes[_SIZES[name]] = max(sizes[_SIZES[name]], value)


def _resized(value: Any, features: int, classes: int, name: str = "") -> Any:
    """Packed settings with small sizes in place of the large ones."""
    if isinstance(value, dict) and value.get(records.TAG) == "array":
        array = records.unpack(value)
        return records.pack(array[tuple(slice(features) for _ in array.shape)])
    if isinstance(value, dict):
        return {key: _resized(item, features, classes, key) for key, item in value.items()}
    if isinstance(value, list):
        kept = value[:classes] if name in _SIZES else value
        return [_resized(item, features, classes) for item in kept]
    if isinstance(value, int) and name in _SIZES:
        return features if _SIZES[name] == "features" else classes
    return value
