"""Settings that can grow: what was asked for, told apart from what a class says unasked.

A learner, a rule or a space is named by its class and its arguments. If the name held all arguments, one more of them,
or another default, would give every old learner another name. So the name holds only what differs from the defaults,
and a number that says which defaults are meant.
"""

from __future__ import annotations

import inspect
import os
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np

from smidgen import checks, serialization
from smidgen.errors import InvalidArgument, NotSaveable, SmidgenError

#: In `Versioned.older_settings`: the argument had no default then, so it was always asked for.
REQUIRED: Final = inspect.Parameter.empty
#: In a record: the number of the settings that it was made at.
VERSION = "$version"
#: The most bytes that a learner, a rule or a vectorizer may hold when it is made, unless something says otherwise.
LARGEST: Final = 1 << 32
#: The environment variable that says otherwise, in bytes.
MAX_LEARNER: Final = "SMIDGEN_MAX_LEARNER"
#: What holds no more than this is made without looking further.
SMALL: Final = 1 << 20
_limit: ContextVar[int | None] = ContextVar("smidgen_size_limit", default=None)
#: The arguments that sizes are estimated from.
_SIZES = ("dim", "n_classes", "labels", "space", "features")
_AS_THEY_ARE = {int, str, bool, type(None)}
_PLAIN = {float, *_AS_THEY_ARE}
_EXACT = 2**53  # whole numbers below this are the same as ints and as floats


class Making(ABCMeta):
    """Makes things from settings, and says in our words where numbers, memory or text run out on the way."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the constructor, which `__call__` would hide."""
        whole = inspect.signature(inspect.getattr_static(cls, "__init__"))
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(cls, *args: Any, **arguments: Any) -> Any:
        """An object of the class, or a refusal; its size is judged before anything is made."""
        if issubclass(cls, Versioned):
            refuse_large(cls, arguments)
        try:
            return super().__call__(*args, **arguments)
        except SmidgenError:
            raise
        except (ArithmeticError, MemoryError, RecursionError, ValueError) as error:  # of numpy, of text, of huge ints
            raise InvalidArgument(
                f"the settings of {cls.__name__} lead to what this machine cannot hold ({error})",
                "choose numbers nearer to 1, and less of everything",
            ) from error


class Versioned(metaclass=Making):
    """Something that is a setting, or has them: a class with arguments, whose defaults may change.

    `to_record` (of a learner: `params`) gives all arguments. A record holds those that differ from their defaults, and
    the number of the defaults.

    Examples
    --------
    A class that took ``radius=1.0`` once, takes 2.0 now, and has learnt to be ``closed``:

    >>> from smidgen import serialization
    >>> from smidgen.settings import Versioned
    >>> @serialization.structure("example disc")
    ... class Disc(Versioned):
    ...     settings_version = 2
    ...     older_settings = {1: {"radius": 1.0, "closed": False}}
    ...     def __init__(self, *, radius=2.0, closed=True):
    ...         self.radius, self.closed = radius, closed
    ...     def to_record(self):
    ...         return {"radius": self.radius, "closed": self.closed}
    >>> serialization.pack(Disc(radius=3.0))
    {'$': 'example disc', 'radius': 3.0, '$version': 2}
    >>> old = serialization.unpack({"$": "example disc", "$version": 1})
    >>> old.radius, old.closed, old.built_at
    (1.0, False, 1)
    """

    #: Rises when a default, or what it means, changes. A new argument with a default that means the old behaviour needs
    #: no new number.
    settings_version: ClassVar[int] = 1
    #: For each older number, the defaults of that time where they differ from those of today. An argument that did not
    #: exist then stands here with the value that means the old behaviour, if today's default means another; one that
    #: had no default stands here as `REQUIRED`.
    older_settings: ClassVar[Mapping[int, Mapping[str, Any]]] = MappingProxyType({})
    _built_at: int | None = None

    @property
    def built_at(self) -> int:
        """The number of the settings that hold here: `settings_version`, or an older one."""
        return self._built_at or self.settings_version

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate, from its arguments, how many bytes an object holds when it is made: exact, or safely above.

        Parameters
        ----------
        arguments
            Those that were given, and the defaults of all others. Settings among them (a space, a learner) are objects.
        """
        return 0

    @classmethod
    def at(cls, version: int, **arguments: Any) -> Self:
        """One with the defaults of an older `settings_version` wherever an argument is not given."""
        return cls.from_settings({**arguments, VERSION: version})

    def to_record(self) -> dict[str, Any]:
        """All arguments that make such an object anew."""
        raise NotImplementedError

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Self:
        """An object from all its arguments."""
        return cls(**fields)

    def to_settings(self) -> dict[str, Any]:
        """What a record says of it: the arguments that were asked for, and the number of the defaults."""
        version = self.built_at
        asked = asked_for(type(self), self.to_record(), version)
        asked[VERSION] = version
        return asked

    @classmethod
    def from_settings(cls, fields: Mapping[str, Any]) -> Self:
        """An object from what `to_settings` gave; without a number the present one is meant."""
        version = fields.get(VERSION, cls.settings_version)
        given = {name: value for name, value in fields.items() if name != VERSION}
        made = cls.from_record({**defaults_at(cls, version), **given})
        if version != cls.settings_version:
            made._built_at = version
        return made


@contextmanager
def size_limit(limit: int) -> Iterator[None]:
    """Within the block, refuse to make anything that would hold more than this many bytes.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.settings import size_limit
    >>> with size_limit(1_000_000):
    ...     smidgen.PreferencePerceptron(dim=200_000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    smidgen.errors.InvalidArgument: PreferencePerceptron with dim=200000 would hold 1.6 MB: the limit is 1.0 MB; ...
    """
    before = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(before)


def limit_from_environment(otherwise: int = LARGEST) -> int:
    """Read the limit of sizes from the environment, in bytes."""
    said = os.environ.get(MAX_LEARNER, "")
    if not said:
        return otherwise
    if not said.isascii() or not said.isdigit() or len(said) > 18:
        raise InvalidArgument(f"{MAX_LEARNER} is {said!r}", "set it to a number of bytes, e.g. 1000000000")
    return int(said)


def refuse_large(cls: type[Versioned], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments whose object would hold more than the limit; nothing is made.

    Arguments of the wrong form are left to the constructor, which says so in its own words.
    """
    try:
        size = int(cls.estimate_size({**defaults_at(cls, cls.settings_version), **arguments}))
    except Exception:  # whatever numpy's stranger scalars, or the methods of others, do
        return
    if size <= SMALL:
        return
    chosen = _limit.get()
    limit = limit_from_environment() if chosen is None else chosen
    if size > limit:
        given = ", ".join(f"{name}={_sized(arguments[name])}" for name in _SIZES if name in arguments)
        raise InvalidArgument(
            f"{cls.__name__} with {given or 'these settings'} would hold {_bytes(size)}: the limit is {_bytes(limit)}",
            'use fewer features or classes, or covariance="diagonal" where the learner has it; to raise the limit, set '
            f"{MAX_LEARNER} in bytes (smidgen serve --max-learner)",
        )


def _sized(value: Any) -> str:
    """A setting that says how large something is, in few letters."""
    if isinstance(value, list | tuple):
        return f"{len(value)} entries"
    dim = getattr(value, "dim", None)
    return checks.shown(value) if dim is None else f"{type(value).__name__} of dim {checks.shown(dim)}"


def _bytes(size: int) -> str:
    """A number of bytes for people."""
    return (
        f"{size / 1e9:,.1f} GB" if 10**9 <= size < 10**15 else f"{size / 1e6:,.1f} MB" if size < 10**9 else "over 1 PB"
    )


def defaults_at(cls: type[Versioned], version: int) -> Mapping[str, Any]:
    """The defaults of a class's arguments, now or at an older number."""
    now = _defaults(cls.__init__)
    if version == cls.settings_version:
        return now
    if isinstance(version, bool) or not isinstance(version, int) or version not in cls.older_settings:
        known = ", ".join(map(str, sorted({*cls.older_settings, cls.settings_version})))
        newer = isinstance(version, int) and version > cls.settings_version
        raise InvalidArgument(
            f"the settings version of {cls.__name__} is {version!r} and must be one of {known}",
            "upgrade smidgen: a newer one wrote it" if newer else "give the number that the record holds",
        )
    then = {**now, **cls.older_settings[version]}
    return {name: value for name, value in then.items() if value is not REQUIRED}


@lru_cache(maxsize=1024)
def _defaults(init: Callable[..., None]) -> Mapping[str, Any]:
    """The arguments of a constructor that have defaults."""
    parameters = inspect.signature(init).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def asked_for(cls: type[Versioned], arguments: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The arguments that differ from the defaults of that number."""
    defaults = defaults_at(cls, version)
    return {k: value for k, value in arguments.items() if k not in defaults or not equal(value, defaults[k])}


def equal(one: Any, other: Any) -> bool:
    """Whether two values are one setting: numbers by value, all else as `serialization.same` has it."""
    if type(one) in _PLAIN and type(other) in _PLAIN:
        return bool(one == other) and (type(one) is bool) is (type(other) is bool)
    return one is other or serialization.same(_by_value(one), _by_value(other))


def fingerprint(kind: str, version: int, asked: Mapping[str, Any]) -> str:
    """A short name for what was asked for: the same on every machine, however the class grows."""
    try:
        packed = {name: value if type(value) in _AS_THEY_ARE else _packed(value) for name, value in asked.items()}
    except NotSaveable:  # a setting without a registered name: it can be told apart, but not saved
        packed = {name: _shown(value) for name, value in asked.items()}
    return serialization.digest([kind, version, packed])


def _packed(value: Any) -> Any:
    return _by_value(serialization.pack(value))


def _by_value(value: Any) -> Any:
    """The same with every whole number as an int, so that 1 and 1.0 are one."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if isinstance(value, dict):
        return {name: _by_value(item) for name, item in value.items()}
    return type(value)(map(_by_value, value)) if type(value) in (list, tuple) else value


def _shown(value: Any) -> str:
    return f"{type(value).__name__}{value.to_settings()!r}" if isinstance(value, Versioned) else repr(value)
