"""A part: the smallest piece of an experiment that is worth keeping."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smidgen.errors import InvalidArgument
from smidgen_papers.data.folder import available

Values = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where an experiment finds its data and keeps its results.

    Attributes
    ----------
    data
        The folder of the data sets, or None if there is none.
    kept
        The folder of finished parts and prepared data.
    """

    data: Path | None
    kept: Path

    def has(self, name: str) -> bool:
        """Check whether the data set of this name (see `smidgen_papers.data.sets`) is there."""
        return self.data is not None and available(name, self.data)


@dataclass(frozen=True)
class Run:
    """What a person asked for: quick or full, the seed, the place.

    Attributes
    ----------
    place
        Data and results.
    quick
        A small version of every experiment: fewer repetitions, the same code.
    seed
        Every part derives its randomness from it.
    """

    place: Place
    quick: bool = False
    seed: int = 0

    def has(self, name: str) -> bool:
        """Check whether the data set of this name is there."""
        return self.place.has(name)


@dataclass(frozen=True)
class Part:
    """One call of a module-level function with settings that JSON can hold.

    A part crosses to another process, or another machine, as its name and its settings; its answer comes back as
    arrays and numbers. That is all that is ever sent or kept.

    Attributes
    ----------
    work
        The function, as ``"module:name"``. It is called as ``work(place, **settings)`` and returns a dict of arrays,
        numbers, strings and lists.
    settings
        Its arguments.
    data
        The data sets that it reads, next to those that its settings name: another version of the data is another part.
    seconds
        About how long it takes; for the progress bar and the order of work only.
    """

    work: str
    settings: Values
    data: tuple[str, ...] = ()
    seconds: float = 1.0

    def run(self, place: Place) -> Values:
        """Do the work."""
        answer: Values = function(self.work)(place, **self.settings)
        return answer


@dataclass(frozen=True)
class Answer:
    """What a part found: its settings, and its values by name."""

    settings: Values
    values: Values

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class Answers:
    """The answers of a study, in the order of its plan."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def where(self, **settings: Any) -> Answers:
        """The answers whose settings have these values."""
        absent = object()
        return Answers(
            answer
            for answer in self._answers
            if all(answer.settings.get(name, absent) == value for name, value in settings.items())
        )

    def one(self, **settings: Any) -> Answer:
        """The only answer with these settings."""
        found = self.where(**settings)._answers
        if len(found) != 1:
            raise InvalidArgument(f"{len(found)} parts have the settings {settings}", "exactly one is needed")
        return found[0]


def part(work: Callable[..., Values], *, data: tuple[str, ...] = (), seconds: float = 1.0, **settings: Any) -> Part:
    """A part from a module-level function and its settings."""
    name = f"{work.__module__}:{work.__qualname__}"
    if function(name) is not work:
        raise InvalidArgument(f"{name} is not the name of {work!r}", "a part's function must stand in its module")
    return Part(work=name, settings=settings, data=data, seconds=seconds)


def function(name: str) -> Callable[..., Any]:
    """The function of this name, ``"module:name"``."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] | None = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise InvalidArgument(f"there is no function {name}", "a part's function must stand in its module")
    return found
