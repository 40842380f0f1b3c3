"""Logs for other programs: each format is a file here, and is found by being here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from smidgen.service.refusals import Impossible
from smidgen.service.store.lines import Line
from smidgen.service.store.recording import Recording

#: By how much the clocks of machines that share a store may differ, in seconds, if spans are to follow each other.
APART_S = 60.0
_BASES = ("base", "base_state")


@dataclass(frozen=True)
class Span:
    """Which events are wanted: those after a number, and from one moment until another, as the log writes them."""

    after: int = 0
    since: str = ""
    until: str = "~"


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
    """The events of a span, in order.

    Spans that follow each other have the events of a slot in the order of their numbers: one that was written a moment
    before its predecessor, by the clock of another machine, counts when that did. So does one that was forgotten.
    """
    before: dict[int | None, str] = {}
    for event in recording.lines():
        at, last = event.at, before.get(event.slot, "")
        if at < last and (event.type == "erased" or _seconds(at, last) <= APART_S):
            at = last
        if event.type not in _BASES:  # when a base was made says nothing of when events were
            before[event.slot] = at
        if event.seq > span.after and span.since <= at < span.until:
            yield event


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
