"""The classes that records may hold, by name: only these are ever built again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

from smidgen.errors import InvalidArgument, InvalidRecord, NotSaveable

C = TypeVar("C", bound=type)


class _Entry(NamedTuple):
    build: Callable[[dict[str, Any]], Any]
    fields: Callable[[Any], dict[str, Any]]
    type: type
    build_many: Callable[[list[dict[str, Any]]], list[Any]] | None = None


_structures: dict[str, _Entry] = {}
_names: dict[type, str] = {}
_ledger: list[str] = []


@overload
def structure(target: C) -> C: ...
@overload
def structure(target: str) -> Callable[[C], C]: ...
def structure(target: C | str) -> C | Callable[[C], C]:
    """Register a class by name, so that decisions which hold it can be written and read back.

    The class is a dataclass, or has ``to_record() -> dict`` and a class method ``from_record(dict)``. Use it
    bare (the class's own name) or with a name. Rules, spaces and learners are settings: of them only the arguments that
    differ from their defaults are written (`smidgen.settings.Versioned`).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, smidgen
    >>> @smidgen.structure("route")
    ... @dataclass(frozen=True)
    ... class Route:
    ...     legs: np.ndarray  # one row of features per possible route
    ...     def phi(self, y): return self.legs[y]
    ...     def argmax(self, w): return int(np.argmax(self.legs @ w))
    >>> d = smidgen.PreferencePerceptron(dim=2).decide(Route(np.eye(2)))
    >>> smidgen.Decision.from_json(d.to_json()) == d
    True
    """
    if isinstance(target, str):
        return lambda cls: _register(cls, target)
    return _register(target, target.__name__)


def _register(cls: C, name: str) -> C:
    if hasattr(cls, "to_settings") and hasattr(cls, "from_settings"):
        entry = _Entry(cls.from_settings, cls.to_settings, cls)
    elif hasattr(cls, "to_record") and hasattr(cls, "from_record"):
        owner = next(each for each in cls.__mro__ if "from_record" in vars(each))
        many: Any = getattr(cls, "from_records", None) if "from_records" in vars(owner) else None
        entry = _Entry(cls.from_record, cls.to_record, cls, many)
    elif dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
        entry = _Entry(lambda fields: cls(**fields), lambda x: {n: getattr(x, n) for n in names}, cls)
    else:
        raise InvalidArgument(
            f"{cls.__name__} is neither a dataclass nor has to_record and from_record",
            "add @dataclass(frozen=True), or the two methods",
        )
    holder = _structures.get(name)
    if holder is not None and not same_class(holder.type, cls):
        raise InvalidArgument(
            f"the name {name!r} is taken by {holder.type.__qualname__} of {holder.type.__module__}",
            "register under another name",
        )
    _structures[name] = entry
    _names[cls] = name
    note(cls.__module__)
    return cls


def same_class(one: type, other: type) -> bool:
    """Whether two classes are one in the eyes of people: a module that is read anew makes its classes anew."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def note(module: str) -> None:
    """Take note that a module has registered something."""
    _ledger.append(module)


def noted() -> int:
    """How many things have been registered so far."""
    return len(_ledger)


def noted_by(module: str) -> bool:
    """Whether a module, or one inside it, has registered anything."""
    return any(each == module or each.startswith(f"{module}.") for each in _ledger)


def name_of(value: Any) -> str:
    """The registered name of a structure's class; refused if it has none."""
    name = _names.get(type(value))
    if name is None and callable(value):
        raise NotSaveable(
            f"the function {getattr(value, '__name__', value)} has no registered name, so it cannot be written",
            'register it, e.g. @smidgen.register_kernel("mine"), and give its name instead',
        )
    if name is None:
        raise NotSaveable(
            f"a {type(value).__name__} has no registered name, so it cannot be written",
            "put @smidgen.structure on its class (a dataclass, or one with to_record and from_record)",
        )
    return name


def known(cls: type) -> str | None:
    """The name of a class, if it has one."""
    return _names.get(cls)


def fields_of(name: str, value: Any) -> dict[str, Any]:
    """What a record says of a structure of that name."""
    return _structures[name].fields(value)


def built(name: Any, fields: dict[str, Any]) -> Any:
    """The structure of that name with these fields, by its own constructor."""
    return _entry(name).build(fields)


def all_built(name: Any, many: list[dict[str, Any]]) -> list[Any]:
    """The structures of that name with these fields, one for each: together, if ``from_records`` is there for that."""
    entry = _entry(name)
    return list(map(entry.build, many)) if entry.build_many is None else entry.build_many(many)


def _entry(name: Any) -> _Entry:
    entry = _structures.get(name) if isinstance(name, str) else None
    if entry is None:
        raise InvalidRecord(
            f"the record holds a {name!r}, which is not registered", "import the module that defines it first"
        )
    return entry
