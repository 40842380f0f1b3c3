"""Settings that are objects, built of what was sent: spaces, and learners, one inside another."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from smidgen import geometry
from smidgen.errors import SmidgenError
from smidgen.knobs import Knobs
from smidgen.learners import Learner, learners
from smidgen.service.models.sizes import REFUSALS, refuse_huge
from smidgen.service.refusals import Impossible

T = TypeVar("T")
#: How many objects and lists may stand inside one another in a setting.
DEEPEST = 8
_SPACES = ("Ball", "Box", "Simplex", "L1Ball")


def built(value: Any) -> Any:
    """What a setting means: ``{"type": "Ball", …}`` is a space, or a learner; all else is itself."""
    if not isinstance(value, dict) or "type" not in value:
        return value
    kind = value["type"]
    target = getattr(geometry, kind) if kind in _SPACES else learners.get(kind) if isinstance(kind, str) else None
    if target is None:
        knobs = '; knobs stand beside "params", as "knobs"' if kind == Knobs.__name__ else ""
        raise Impossible(f"there is no {kind!r} to build", f"choose {', '.join(_SPACES)} or a learner{knobs}")
    return made(target, {name: argument for name, argument in value.items() if name != "type"})


def made(target: type[T], params: Mapping[str, Any]) -> T:
    """A space or a learner with these arguments, or why there is none."""
    refuse_missing(target.__name__, params, inspect.signature(target).parameters)
    arguments = {name: built(argument) for name, argument in params.items()}
    if issubclass(target, Learner):
        refuse_huge(target, arguments)
    try:
        return target(**arguments)
    except SmidgenError:
        raise
    except REFUSALS as error:
        raise Impossible(f"{target.__name__} refuses its arguments: {error}", "see the documentation of it") from error


def refuse_missing(kind: str, given: Mapping[str, Any], accepted: Mapping[str, inspect.Parameter]) -> None:
    """Say which argument is missing before the constructor does, in Python's words."""
    for name, parameter in accepted.items():
        if name not in given and parameter.default is inspect.Parameter.empty:
            raise Impossible(f"{kind} needs {name}", f'give "{name}" among its settings')


def refuse_deep(params: Mapping[str, Any]) -> None:
    """Refuse settings that lie too deep inside one another."""
    if any(_deeper(value, DEEPEST) for value in params.values()):
        raise Impossible(f"the params are nested more than {DEEPEST} deep", "see the learner's documentation")


def _deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inside is not None and (levels == 0 or any(_deeper(each, levels - 1) for each in inside))
