"""Logs for other programs: each format is a file here, and is found by being here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from smidgen.service.refusals import Impossible
from smidgen.service.store.lines import Line
from smidgen.service.store.recording import Recording


@dataclass(frozen=True)
class Span:
    """Which events are wanted: those after a number, and from one moment until another, as the log writes them."""

    after: int = 0
    since: str = ""
    until: str = "~"

    def __contains__(self, event: Line) -> bool:
        return event.seq > self.after and self.since <= event.at < self.until


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name, about
        What it is called, and what it is good for.
    write
        Writes the wanted events of a log into a file; returns how many.
    """

    name: str
    about: str
    write: Callable[[Recording, Span, Path], int]


def formats() -> dict[str, Format]:
    """The formats by name."""
    found = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.FORMAT.name: module.FORMAT for module in found if hasattr(module, "FORMAT")}


def find(name: str) -> Format:
    """The format of this name."""
    known = formats()
    if name not in known:
        raise Impossible(f"there is no format {name!r}", f"choose among {', '.join(known)}")
    return known[name]


def wanted(recording: Recording, span: Span) -> Iterator[Line]:
    """The events of a span, in order."""
    return (event for event in recording.lines() if event in span)
