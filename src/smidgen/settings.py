"""Settings that can grow: what was asked for, distinguished from what a class says unasked.

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

#: In `VersionedSettings.older_settings`: the argument had no default then, so it was always asked for.
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


class CallMeta(ABCMeta):
    """Raise typed errors for calls that do not fit the constructor: misspelled, positional or missing arguments."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the constructor, which `__call__` would hide."""
        whole = inspect.signature(inspect.getattr_static(cls, "__init__"))
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(cls, *args: Any, **arguments: Any) -> Any:
        """Make an object of the class."""
        try:
            return super().__call__(*args, **arguments)
        except TypeError as error:
            refuse_call(cls, args, arguments, error)
            raise


class SettingsMeta(CallMeta):
    """Make objects from settings; raise typed errors for wrong calls, overflow and lack of memory."""

    def __call__(cls, *args: Any, **arguments: Any) -> Any:
        """Make an object of the class; its size is checked first."""
        if issubclass(cls, VersionedSettings):
            refuse_large(cls, arguments)
        try:
            return super().__call__(*args, **arguments)
        except SmidgenError:
            raise
        except (ArithmeticError, MemoryError, RecursionError, ValueError) as error:  # of numpy, of text, of huge ints
            raise InvalidArgument(
                f"the settings of {cls.__name__} overflow the numbers or the memory of this machine ({error})",
                "choose numbers closer to 1, and fewer features or classes",
            ) from error


def refuse_call(cls: type, args: tuple[Any, ...], arguments: Mapping[str, Any], error: TypeError) -> None:
    """Raise `InvalidArgument` if a call does not fit the constructor: positional, misspelled or missing arguments.

    Returns if the call fits: then ``error`` has another cause.
    """
    parameters = inspect.signature(cls).parameters
    accepted = [name for name, each in parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    any_name = len(accepted) < len(parameters)
    if unknown := [] if any_name else sorted(arguments.keys() - set(accepted)):
        raise InvalidArgument(
            f'{cls.__name__} has no argument "{unknown[0]}"', checks.suggest(unknown[0], accepted, "omit it")
        ) from error
    by_place = [name for name, each in parameters.items() if each.kind in (0, 1)]  # positional only, or either
    if len(args) > len(by_place) and accepted and not any_name:
        value, name = checks.shown(args[len(by_place)]), (accepted[len(by_place) :] or accepted[-1:])[0]
        raise InvalidArgument(
            f"{cls.__name__} takes its arguments by name and was given {value} by position",
            f"write {cls.__name__}({name}={value})",
        ) from error
    given = {*arguments, *by_place[: len(args)]}
    for name in accepted:
        if name not in given and parameters[name].default is inspect.Parameter.empty:
            raise InvalidArgument(f'{cls.__name__} needs the argument "{name}"', f"give {name}=…") from error


class VersionedSettings(metaclass=SettingsMeta):
    """Something that is a setting, or has them: a class with arguments, whose defaults may change.

    `to_record` (of a learner: `params`) gives all arguments. A record holds those that differ from their defaults, and
    the number of the defaults.

    Examples
    --------
    A class that took ``radius=1.0`` once, takes 2.0 now, and has learnt to be ``closed``:

    >>> from smidgen import serialization
    >>> from smidgen.settings import VersionedSettings
    >>> @serialization.structure("example disc")
    ... class Disc(VersionedSettings):
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
        """Settings with the defaults of an older `settings_version` for every argument not given."""
        return cls.from_settings({**arguments, VERSION: version})

    def to_record(self) -> dict[str, Any]:
        """All arguments that make such an object again."""
        raise NotImplementedError

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Self:
        """An object from all its arguments."""
        return cls(**fields)

    def to_settings(self) -> dict[str, Any]:
        """Record of a setting: the requested arguments, and the version of the defaults."""
        version = self.built_at
        asked = non_default_args(type(self), self.to_record(), version)
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


def refuse_large(cls: type[VersionedSettings], arguments: Mapping[str, Any]) -> None:
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


def defaults_at(cls: type[VersionedSettings], version: int) -> Mapping[str, Any]:
    """The defaults of a class's arguments, now or at an older number."""
    now = _defaults(cls.__init__)
    if version == cls.settings_version:
        return now
    if isinstance(version, bool) or not isinstance(version, int) or version not in cls.older_settings:
        known = ", ".join(map(str, sorted({*cls.older_settings, cls.settings_version})))
        newer = isinstance(version, int) and version > cls.settings_version
        raise InvalidArgument(
            f"the settings version of {cls.__name__} is {version!r} and must be one of {known}",
            "upgrade smidgen: a newer version wrote it" if newer else "give the number that the record holds",
        )
    then = {**now, **cls.older_settings[version]}
    return {name: value for name, value in then.items() if value is not REQUIRED}


@lru_cache(maxsize=1024)
def _defaults(init: Callable[..., None]) -> Mapping[str, Any]:
    """The arguments of a constructor that have defaults."""
    parameters = inspect.signature(init).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def non_default_args(cls: type[VersionedSettings], arguments: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The arguments that differ from the defaults of that number."""
    defaults = defaults_at(cls, version)
    return {k: value for k, value in arguments.items() if k not in defaults or not equal(value, defaults[k])}


def equal(one: Any, other: Any) -> bool:
    """True if two values are the same setting: numbers by value, everything else by `serialization.same`."""
    if type(one) in _PLAIN and type(other) in _PLAIN:
        return bool(one == other) and (type(one) is bool) is (type(other) is bool)
    return one is other or serialization.same(_by_value(one), _by_value(other))


def fingerprint(kind: str, version: int, asked: Mapping[str, Any]) -> str:
    """A short name for what was asked for: the same on every machine, however the class grows."""
    try:
        packed = {name: value if type(value) in _AS_THEY_ARE else _packed(value) for name, value in asked.items()}
    except NotSaveable:  # a setting without a registered name: it can be distinguished, but not saved
        packed = {name: _shown(value) for name, value in asked.items()}
    return serialization.digest([kind, version, packed])


def _packed(value: Any) -> Any:
    return _by_value(serialization.pack(value))


def _by_value(value: Any) -> Any:
    """Copy with every whole number as an int, so that 1 and 1.0 are equal."""
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
    return f"{type(value).__name__}{value.to_settings()!r}" if isinstance(value, VersionedSettings) else repr(value)
