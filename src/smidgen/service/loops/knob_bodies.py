"""Knobs on the wire: ``{"threads": {"integer": [1, 64]}, "timeout": {"log": [0.01, 10]}, "ratio": [0, 1]}``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from smidgen.errors import InvalidArgument
from smidgen.features.record import shown
from smidgen.knobs import MOST, Integer, Knob, Knobs, Linear, Log
from smidgen.service.refusals import Impossible

#: The kinds of knob that have a name; a plain pair is a `Linear` one.
KINDS: dict[str, type[Log | Integer]] = {"integer": Integer, "log": Log}
#: A limit may be as large as this, either way: whole numbers beyond it are not told apart as floats.
LARGEST = 1 << 53
_HINT = 'give [low, high], {"integer": [low, high]} or {"log": [low, high]}'


def read(given: Mapping[str, Any]) -> Knobs:
    """The knobs of a body; what is wrong is said with the knob's name, what was found there, and the way out."""
    if not 1 <= len(given) <= MOST:
        raise Impossible(f"knobs has {len(given):,} knobs", f"give at least one, and up to {MOST:,}")
    made = {name: _read(f"knobs.{name}", knob) for name, knob in given.items()}
    try:
        return Knobs(made)
    except InvalidArgument as error:
        raise Impossible(f"knobs: {error.problem}", error.hint) from error


def write(knobs: Knobs) -> dict[str, Any]:
    """The knobs as a body says them, in their own order."""
    return {name: _written(knob) for name, knob in knobs.knobs.items()}


def ordered(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The knobs of a body in the order of these names, if they are the same ones; else as they were given."""
    return {name: given[name] for name in (names if given.keys() == set(names) else given)}


def _read(path: str, given: Any) -> Knob:
    make, limits = _form(path, given)
    for limit in limits:
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            belongs = "; names of things have no order: they belong to the loop choose" * isinstance(limit, str)
            raise Impossible(f"{path} has the limit {shown(limit)}, which is no number", _HINT + belongs)
        if not abs(limit) <= LARGEST:
            raise Impossible(f"{path} has the limit {shown(limit)}", f"give numbers up to {LARGEST}, or other units")
    try:
        return make(*limits)
    except InvalidArgument as error:
        raise Impossible(f"{path} is {_said(given)}: {error.problem}", _hint(make, limits)) from error


def _form(path: str, given: Any) -> tuple[type[Knob], list[Any]]:
    """The class of a knob, and its two limits."""
    make: type[Knob] = Linear
    limits = given
    if isinstance(given, Mapping) and len(given) == 1 and (kind := next(iter(given))) in KINDS:
        make, limits = KINDS[kind], given[kind]
    if isinstance(limits, list | tuple) and len(limits) == 2:
        return make, list(limits)
    named = isinstance(given, str) or (isinstance(limits, list) and any(isinstance(each, str) for each in limits))
    if named or (isinstance(given, Mapping) and any(str(key).startswith("categor") for key in given)):
        raise Impossible(
            f"{path} is {_said(given)}, which names things",
            "they have no order and are no knobs: they belong to the loop choose, one candidate for each",
        )
    raise Impossible(f"{path} is {_said(given)}", _HINT)


def _hint(make: type[Knob], limits: list[Any]) -> str:
    low, high = limits
    if not low < high:
        return "give two limits, the lower first, and the higher above it"
    if make is Log:
        return f"a log knob begins above 0: begin at the least value that matters, or give [{low:g}, {high:g}]"
    return "give whole numbers, or a plain pair [low, high]"


def _said(given: Any) -> str:
    """What was sent, if it is short."""
    told = msgspec.json.encode(given).decode() if isinstance(given, Mapping | list | tuple) else shown(given)
    return told if len(told) <= 80 else shown(given)


def _written(knob: Knob) -> Any:
    limits = [knob.low, knob.high]
    return next(({name: limits} for name, kind in KINDS.items() if isinstance(knob, kind)), limits)
