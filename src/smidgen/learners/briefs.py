"""A decision in as few bytes as it can be recalled from, by the learner that made it.

The learner knows its class and its settings; the greedy action is mostly the action; what is not there is left out at
the end. All else is as `smidgen.records.encode` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import NoneType
from typing import Any

import numpy as np

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import InvalidRecord

#: The form of a brief; a new one gets a new number.
FORM = 1
#: What stands where; new fields go to the end.
_PLACES = (
    "number",
    "action",
    "context",
    "scores",
    "greedy",
    "explored",
    "propensity",
    "perturbation",
    "reach",
    "widths",
    "margin",
    "threshold",
    "teams",
    "more",
    "propensities",
    "log_propensity",
)
#: The type of each value of a brief, unless it is None; None: any.
_TYPES: tuple[type | None, ...] = (
    int,
    int,
    None,
    None,
    np.ndarray,
    list,
    bool,
    float,
    np.ndarray,
    float,
    np.ndarray,
    float,
    float,
    np.ndarray,
    NoneType,
    np.ndarray,
    float,
)
_NOTHING = [None] * len(_TYPES)
_HINT = "give the bytes that learner.brief wrote"


def write(decision: Decision) -> bytes:
    """The decision without class and settings."""
    same = records.same(decision.greedy, decision.action)
    values: list[Any] = [
        FORM,
        decision.number,
        decision.action,
        decision.context,
        decision.scores,
        None if same else [decision.greedy],
        decision.explored or None,
        decision.propensity,
        decision.perturbation,
        decision.reach,
        decision.widths,
        decision.margin,
        decision.threshold,
        decision.teams,
        decision.unknown,
        decision.propensities,
        decision.log_propensity,
    ]
    while values[-1] is None:
        values.pop()
    return records.encode(values)


def read(content: bytes | memoryview, kind: str, settings: str) -> Decision:
    """The decision of a learner of that class and those settings."""
    return _decision(records.decode(content), kind, settings)


def read_many(contents: Sequence[bytes], kind: str, settings: str) -> list[Decision]:
    """What `read` gives of each, sooner."""
    return [
        _usual(values, kind, settings) or _decision(values, kind, settings) for values in records.decode_many(contents)
    ]


def _usual(values: Any, kind: str, settings: str) -> Decision | None:
    """The decision of a brief whose fields are all of the usual types, without looking at each; None of others."""
    if type(values) is not list or not _fits(tuple(map(type, values))) or values[0] != FORM or values[1] < 1:
        return None
    (
        _,
        number,
        action,
        context,
        scores,
        greedy,
        explored,
        p,
        direction,
        reach,
        widths,
        margin,
        threshold,
        teams,
        _,
        every,
        log_p,
    ) = values + _NOTHING[len(values) :]
    if greedy is not None and len(greedy) != 1:
        return None
    return Decision(
        kind=kind,
        settings=settings,
        number=number,
        action=action,
        greedy=action if greedy is None else greedy[0],
        context=context,
        explored=explored or False,
        propensity=p,
        propensities=every,
        perturbation=direction,
        reach=reach,
        scores=scores,
        widths=widths,
        margin=margin,
        threshold=threshold,
        teams=teams,
        log_propensity=log_p,
    )


@lru_cache(maxsize=256)
def _fits(types: tuple[type, ...]) -> bool:
    """Whether a brief with values of these types is one of the usual: of all its fields, no further ones among them."""
    if not 2 <= len(types) <= len(_TYPES) or types[:2] != (int, int):
        return False
    return all(kind is None or each in (kind, NoneType) for each, kind in zip(types[2:], _TYPES[2:], strict=False))


def _decision(values: Any, kind: str, settings: str) -> Decision:
    if not isinstance(values, list) or not values or values[0] != FORM:
        raise InvalidRecord("the bytes are not a brief of a decision", _HINT)
    if len(values) > len(_PLACES) + 1:
        raise InvalidRecord(f"the brief has {len(values) - 1} fields and {len(_PLACES)} are known", "upgrade smidgen")
    fields = {name: value for name, value in zip(_PLACES, values[1:], strict=False) if value is not None}
    greedy, more = fields.pop("greedy", None), fields.pop("more", {})
    if greedy is not None and (not isinstance(greedy, list) or len(greedy) != 1):
        raise InvalidRecord("the brief's greedy action is not one", _HINT)
    if not isinstance(more, dict):
        raise InvalidRecord("the brief's further fields are not named", _HINT)
    fields.setdefault("context", None)
    action = fields.setdefault("action", None)
    fields["greedy"] = action if greedy is None else greedy[0]
    if more:
        fields = {**more, **fields}
    fields["kind"], fields["settings"] = kind, settings
    return Decision.of(fields)
