"""From a model's settings to its learners."""

from __future__ import annotations

import hashlib
import inspect
import math
from typing import Any

import msgspec

from smidgen import geometry
from smidgen.errors import SmidgenError
from smidgen.learners import Learner, cards, learners
from smidgen.service.loops import ROOMS, TRANSLATORS, Translator
from smidgen.service.messages import Hashed, ModelBody
from smidgen.service.refusals import Impossible
from smidgen.service.vectors import Vectors

#: The most numbers that the weights of one learner may hold: a gigabyte of them.
LARGEST = 1 << 27
_SPACES = ("Ball", "Box", "Simplex", "L1Ball")
#: How a constructor says no: to the form, to the value, to the range, to the size.
_REFUSALS = (TypeError, ValueError, ArithmeticError, MemoryError)


class Blueprint:
    """A model's settings, checked: makes its learners and translates its messages.

    Parameters
    ----------
    body
        What the app sent. Refused if the loop and the learner do not fit, or the learner refuses its arguments.
    """

    def __init__(self, body: ModelBody) -> None:
        room = ROOMS[body.loop]
        fitting = [name for name, card in cards.items() if card.loop == room]
        if body.learner not in fitting:
            raise Impossible(
                f"{body.learner!r} is not a learner of the loop {body.loop}", f"choose among {', '.join(fitting)}"
            )
        self.body = body
        self._type = learners[body.learner]
        accepted = inspect.signature(self._type).parameters
        params = {name: _built(value) for name, value in body.params.items()}
        if "labels" in params:
            raise Impossible("labels stands among the params", 'give "labels" beside "params"')
        if unknown := params.keys() - accepted.keys():
            raise Impossible(
                f"{body.learner} has no argument {sorted(unknown)[0]!r}", f"it takes {', '.join(accepted)}"
            )
        self._infer(params, "dim", accepted, _dim(body), "features")
        self._infer(params, "n_classes", accepted, len(body.labels) if body.labels is not None else None, "labels")
        _refuse_huge(params)
        self._params = params
        self._seed = params.get("seed", 0)
        learner = self.learner(None)
        self.dim: int | None = _features(learner)
        self.translator: Translator = TRANSLATORS[body.loop](body, Vectors(body, self.dim))
        self.names: list[str] | None = body.features if isinstance(body.features, list) else None
        self.settings = learner.params

    def learner(self, key: str | None) -> Learner:
        """A fresh learner; every key has a seed of its own."""
        params = dict(self._params)
        if key is not None:
            digest = hashlib.sha256(f"{self._seed}:{key}".encode()).digest()
            params["seed"] = int.from_bytes(digest[:6], "little")
        try:
            return self._type(**params)
        except SmidgenError:
            raise
        except _REFUSALS as error:
            raise Impossible(f"{self.body.learner} refuses its arguments: {error}", "see smidgen learners") from error

    def _infer(self, params: dict[str, Any], name: str, accepted: Any, value: int | None, source: str) -> None:
        if name not in accepted:
            if value is not None:
                raise Impossible(f"{self.body.learner} takes no {source}", f"leave {source} out")
        elif value is not None and params.setdefault(name, value) != value:
            raise Impossible(
                f"{name} is {params[name]} and there are {value} {source}", f"leave {name} out, or mend it"
            )
        elif value is None and name not in params and accepted[name].default is inspect.Parameter.empty:
            raise Impossible(f"{name} is missing", f'give "{source}", or "{name}" in params')


def _refuse_huge(params: dict[str, Any]) -> None:
    """A learner that would not fit into memory is refused before it is made."""
    sizes = {name: params[name] for name in ("dim", "n_classes") if isinstance(params.get(name), int)}
    if math.prod(sizes.values()) > LARGEST:
        told = " and ".join(f"{name} {value}" for name, value in sizes.items())
        raise Impossible(
            f"a learner with {told} is too large", f"the service holds up to {LARGEST} weights per learner"
        )


def _features(learner: Learner) -> int | None:
    """How many features a learner takes; one that wraps another takes what the other takes."""
    inner = learner.params.get("learner")
    return _features(inner) if isinstance(inner, Learner) else learner.params.get("dim")


def canonical(body: ModelBody) -> bytes:
    """The settings in one spelling, so that equal bodies are equal bytes."""
    return msgspec.json.encode(body, order="deterministic")


def _dim(body: ModelBody) -> int | None:
    if isinstance(body.features, Hashed):
        return body.features.hashed
    if body.features is None:
        return None
    if len(set(body.features)) < len(body.features) or not body.features:
        raise Impossible("features has a name twice, or none at all", "give each feature a name of its own")
    return len(body.features)


def _built(value: Any) -> Any:
    """Settings that are objects: ``{"type": "Ball", …}`` for a space, or the name of a learner."""
    if not isinstance(value, dict) or "type" not in value:
        return value
    kind = value["type"]
    arguments = {name: _built(argument) for name, argument in value.items() if name != "type"}
    _refuse_huge(arguments)
    target = getattr(geometry, kind) if kind in _SPACES else learners.get(kind) if isinstance(kind, str) else None
    if target is None:
        raise Impossible(f"there is no {kind!r} to build", f"choose {', '.join(_SPACES)} or a learner")
    try:
        return target(**arguments)
    except SmidgenError:
        raise
    except _REFUSALS as error:
        raise Impossible(f"{kind} refuses its arguments: {error}", "see the documentation of it") from error
