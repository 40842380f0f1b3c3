"""Finished work on disk, by content: the same settings, code and data are never computed twice."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import msgspec
import numpy as np

from smidgen import serialization
from smidgen.errors import SmidgenError
from smidgen_papers.data.catalogue import sets
from smidgen_papers.data.folder import fingerprint
from smidgen_papers.part import Part, Place, Values
from smidgen_papers.version import code_version

P = ParamSpec("P")
Arrays = dict[str, np.ndarray[Any, Any]]


class Store:
    """The finished parts of a place.

    A part's file bears the hash of its function's name, its settings, the version of the code and the contents of
    its data. A file that is damaged counts as absent, and the part is done again.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def path(self, part: Part) -> Path:
        """Where the part's answer is, or would be."""
        return self.place.kept / "parts" / f"{_key(part.work, part.settings, data_of(part), self.place)}.json"

    def get(self, part: Part) -> Values | None:
        """The kept answer, or None."""
        try:
            record = msgspec.json.decode(self.path(part).read_bytes())
            values = serialization.unpack(record["values"])
        except (FileNotFoundError, msgspec.DecodeError, SmidgenError, KeyError, TypeError):
            return None
        return values if isinstance(values, dict) else None

    def put(self, part: Part, values: Values, seconds: float) -> None:
        """Keep an answer. The file appears whole or not at all."""
        record = {
            "work": part.work,
            "settings": part.settings,
            "code": code_version(part.work),
            "seconds": round(seconds, 3),
            "values": serialization.pack(values),
        }
        _write(self.path(part), lambda path: path.write_bytes(msgspec.json.encode(record)))

    def take_over(self, part: Part, record: Values) -> None:
        """Keep the record of an earlier run as the answer of today's code; it still says which code computed it."""
        changed = {**record, "work": part.work}
        _write(self.path(part), lambda path: path.write_bytes(msgspec.json.encode(changed)))

    def seconds(self, part: Part) -> float | None:
        """How long the kept part took, or None."""
        try:
            return float(msgspec.json.decode(self.path(part).read_bytes())["seconds"])
        except (FileNotFoundError, msgspec.DecodeError, KeyError, TypeError):
            return None


class _Head(msgspec.Struct):
    """What a record is about; its values are skipped."""

    work: str
    settings: Values


class Kept:
    """The finished parts of an earlier run, by function and settings, whatever code computed them.

    Parameters
    ----------
    folder
        ``OUT/kept`` of that run.
    """

    #: Where functions were once.
    FORMERLY = ("smidgen.papers.", "smidgen_papers.")

    def __init__(self, folder: Path) -> None:
        self._paths: dict[bytes, Path] = {}
        for path in sorted((folder / "parts").glob("*.json")):
            try:
                head = msgspec.json.decode(path.read_bytes(), type=_Head)
            except msgspec.DecodeError:
                continue
            self._paths[_name(head.work.replace(*self.FORMERLY), head.settings)] = path

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, part: Part) -> bool:
        return self.name(part) in self._paths

    def name(self, part: Part) -> bytes:
        """The part's function and settings as one value."""
        return _name(part.work, part.settings)

    def record(self, part: Part) -> Values | None:
        """All that was kept of a part, or None."""
        path = self._paths.get(self.name(part))
        record: Values | None = None if path is None else msgspec.json.decode(path.read_bytes())
        return record

    def get(self, part: Part) -> Values | None:
        """The kept answer, or None; a damaged one counts as absent."""
        try:
            values = serialization.unpack((self.record(part) or {})["values"])
        except (SmidgenError, KeyError, TypeError):
            return None
        return values if isinstance(values, dict) else None


def _name(work: str, settings: Values) -> bytes:
    return msgspec.json.encode([work, settings], order="deterministic")


def prepared(*data: str) -> Callable[[Callable[P, Arrays]], Callable[P, Arrays]]:
    """Keep what a slow preparation returns, on disk and in this process.

    The function is called as ``f(place, **settings)`` and returns arrays by name; ``data`` names the data sets that it
    may read next to those that its settings name. The last few answers stay in memory, so that
    the parts of one worker share them: do not change them.
    """

    def keep(function: Callable[P, Arrays]) -> Callable[P, Arrays]:
        memory: dict[str, Arrays] = {}

        @wraps(function)
        def kept(*args: P.args, **settings: P.kwargs) -> Arrays:
            place = args[0]
            if not isinstance(place, Place):
                raise TypeError(f"{function.__qualname__} takes a Place first, and settings by name")
            name = f"{function.__module__}:{function.__qualname__}"
            key = _key(name, dict(settings), _data(dict(settings), tuple(data)), place)
            if key not in memory:
                while len(memory) >= 4:
                    del memory[next(iter(memory))]
                path = place.kept / "prepared" / f"{key}.npz"
                found = _arrays(path)
                if found is None:
                    found = function(*args, **settings)
                    _write(path, lambda temporary: _save(temporary, found))
                memory[key] = found
            return memory[key]

        return kept

    return keep


def data_of(part: Part) -> tuple[str, ...]:
    """The data sets that a part reads: those that it says, and those that its settings name."""
    return _data(part.settings, part.data)


def _data(settings: Values, data: tuple[str, ...]) -> tuple[str, ...]:
    named = {value for value in settings.values() if isinstance(value, str) and value in sets}
    return tuple(sorted({*data, *named}))


def _key(work: str, settings: Values, data: tuple[str, ...], place: Place) -> str:
    prints = {name: _fingerprint(name, place) for name in data}
    what = {"work": work, "settings": settings, "code": code_version(work), "data": prints}
    return hashlib.sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:32]


def _fingerprint(name: str, place: Place) -> str | None:
    return fingerprint(name, place.data) if place.data is not None and place.has(name) else None


def _arrays(path: Path) -> Arrays | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, EOFError, KeyError):
        return None


def _save(path: Path, arrays: Arrays | None) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **(arrays or {}))


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write next to the target, then rename: a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
