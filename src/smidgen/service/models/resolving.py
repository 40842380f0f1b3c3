"""What a model's settings leave open, settled once, when it is made: its learner, and how records become features."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.features import Vectorizer
from smidgen.geometry import Box
from smidgen.knobs import Knobs
from smidgen.learners import Feedback, Learner
from smidgen.learners.recommended import USUAL, find
from smidgen.service.loops.loop import Loop
from smidgen.service.messages import Auto, ByName, ModelBody
from smidgen.service.refusals import Impossible

#: How many columns the features of records have, if nobody says.
COLUMNS = 4096


def chosen(body: ModelBody, loop: type[Loop], space: Any = None) -> tuple[str, dict[str, Any]]:
    """The learner's name and its settings: those that were asked for, or the ones to begin with.

    Parameters
    ----------
    body, loop
        What was asked for, and its loop.
    space
        Of tune: where the points lie.
    """
    if body.feedback is not None and body.feedback not in loop.kinds.values():
        words = dict.fromkeys(map(str, loop.kinds.values()))
        raise Impossible(
            f"the feedback is {body.feedback!r}, which the loop {loop.name} does not take",
            f"choose among {', '.join(words)}",
        )
    if body.learner is not None:
        return body.learner, dict(body.params)
    if space is None and "space" in loop.facts:
        raise Impossible("it is not said what is to be tuned", 'give "knobs", or a "space" among the params')
    heard, why = tuple(loop.kinds.values()), ""
    wanted = (body.feedback,) if body.feedback is not None else (None, *heard)
    for served, kind in itertools.product((loop.name, *loop.served_by), wanted):
        try:
            cls, case = find(served, kind, _size(body, loop, space))
        except InvalidArgument as error:
            why = why or error.problem
            continue
        if set(cls.card.kinds) & set(heard):  # what is usual elsewhere may not be heard here
            return cls.__name__, {**cls.card.first, **case.settings, **body.params}
    raise Impossible(f"no learner is recommended here: {why or 'none hears what comes back'}", 'name a "learner"')


def takes_records(body: ModelBody, loop: type[Loop], params: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Whether a model's features are records: its body says so, or says nothing of features."""
    if isinstance(body.features, ByName):
        if (body.features.hashed is None) == (body.features.auto is None):
            raise Impossible("features has neither hashed nor auto, or both", 'give {"hashed": n} or {"auto": {…}}')
        if body.features.auto is not None and not (loop.takes_records and "dim" in accepted):
            raise Impossible("auto features are for learners that read features", "leave features out")
        return body.features.auto is not None
    if body.features is not None or not loop.takes_records or "dim" in params or "dim" not in accepted:
        return False
    return accepted["dim"].default is inspect.Parameter.empty


def vectorizer(body: ModelBody, params: Mapping[str, Any]) -> Vectorizer:
    """How the records of this model become features."""
    auto = body.features.auto if isinstance(body.features, ByName) and body.features.auto is not None else Auto()
    given = params.get("dim", auto.dim)
    if auto.dim is not None and given != auto.dim:
        raise Impossible(f"dim is {given} in params and {auto.dim} in features", "give it in one place")
    text = (auto.text,) if isinstance(auto.text, str) else tuple(auto.text)
    return Vectorizer(
        dim=COLUMNS if given is None else given,
        text=text,
        crosses=auto.crosses if auto.crosses == "auto" else tuple(auto.crosses),
        id_feature=body.id_feature if auto.id_feature is None else auto.id_feature and body.id_feature,
    )


def shown(features: Vectorizer, added: Sequence[str] = ()) -> dict[str, Any]:
    """How records become features, as a model's page and reply say it."""
    crosses = features.crosses if features.crosses == "auto" else [list(pair) for pair in features.crosses]
    told = {
        "dim": features.dim,
        "text": [*features.text, *added],
        "crosses": crosses,
        "id_feature": features.id_feature,
    }
    return {"auto": told}


def usual_feedback(body: ModelBody, loop: type[Loop], kinds: tuple[str, ...]) -> str | None:
    """The kind of feedback that a model hears first of all, for its reply."""
    if body.feedback is not None:
        return body.feedback
    known = [str(kind) for kind in (*USUAL.get(loop.name, ()), *Feedback) if kind in kinds]
    return known[0] if known else None


def within_keys(cls: type[Learner], params: dict[str, Any], body: ModelBody) -> None:
    """One learner per key is many: where the form of its matrix is left to the learner, its diagonal will do."""
    covariance = inspect.signature(cls).parameters.get("covariance")
    if body.keyed and covariance is not None and covariance.default == "auto":
        params.setdefault("covariance", "diagonal")


def _size(body: ModelBody, loop: type[Loop], space: Any) -> int | None:
    """How many features there will be, as far as that is known."""
    if space is not None:
        return space.dim if isinstance(space, Box | Knobs) else None  # of others a size says nothing
    if isinstance(body.features, list):
        return len(body.features)
    if isinstance(body.features, ByName) and body.features.hashed is not None:
        return body.features.hashed
    given = body.params.get("dim")
    if isinstance(given, int):
        return given
    auto = body.features.auto if isinstance(body.features, ByName) else None
    return ((auto.dim if auto is not None else None) or COLUMNS) if loop.takes_records else None
