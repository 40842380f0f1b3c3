"""From a model's settings to its learners."""

from __future__ import annotations

import hashlib
import inspect
from typing import Any

import msgspec

from smidgen import records
from smidgen.errors import InvalidRecord
from smidgen.features import Vectorizer
from smidgen.knobs import Knobs
from smidgen.learners import Card, Learner, cards, learners
from smidgen.learners.records.around import around, inside, seeded, vectorizer_of
from smidgen.service.loops import knob_bodies
from smidgen.service.loops.loop import Loop
from smidgen.service.loops.registry import loops
from smidgen.service.loops.vectors import Vectors
from smidgen.service.messages import ByName, ModelBody
from smidgen.service.models import objects, resolving, sharing
from smidgen.service.models.cost import Cost
from smidgen.service.models.sharing import Shared
from smidgen.service.models.terms import SILENCE_S, WINDOW_S, Terms, exploring
from smidgen.service.refusals import Impossible


class Blueprint:
    """A model's settings, checked: makes its learners and translates its messages.

    Parameters
    ----------
    body
        What the app sent. Refused if the loop and the learner do not fit, or the learner refuses its arguments.
    """

    def __init__(self, body: ModelBody) -> None:
        loop = loops.find(body.loop)
        space = _space(body, loop)
        self.kind, params = resolving.chosen(body, loop, space)
        if space is not None:
            params["space"] = space
        terms = Terms.of(body)
        if self.kind not in (names := fitting(body.loop)):
            why = cards[self.kind].not_served if self.kind in cards else ""
            raise Impossible(
                f"{self.kind!r} is not a learner of the loop {body.loop} here{': ' if why else ''}{why}",
                f"choose among {', '.join(names)}",
            )
        self.body = body
        self._type = learners[self.kind]
        accepted = inspect.signature(self._type).parameters
        if "labels" in params:
            raise Impossible("labels stands among the params", 'give "labels" beside "params"')
        if unknown := params.keys() - accepted.keys():
            raise Impossible(f"{self.kind} has no argument {sorted(unknown)[0]!r}", f"it takes {', '.join(accepted)}")
        exploring(terms, params, accepted, self.kind)
        objects.refuse_deep(params)
        if "learner" in accepted:
            objects.refuse_missing(self.kind, params, accepted)
        sized, takes = params, accepted
        if (inner := _inner(params)) is not None:  # the features are those of the learner inside
            sized = params["learner"] = dict(params["learner"])
            takes = inspect.signature(inner).parameters
        features: Vectorizer | None = None
        if resolving.takes_records(body, loop, sized, takes):
            features = resolving.vectorizer(body, sized)
            sized["dim"] = features.dim
            resolving.within_keys(self._type, params, body)
        else:
            self._infer(sized, "dim", takes, _dim(body, loop), "features")
        if body.labels is not None:
            once("labels", body.labels)
        self._infer(params, "n_classes", accepted, len(body.labels) if body.labels is not None else None, "labels")
        made = objects.made(self._type, params)
        if features is not None:
            made = around(features, made)
        # a vectorizer bounds the numbers itself
        self._take(body, made, terms, guarded=features is None, shared=Shared())
        terms.check(self.card, self.feedback)
        self._share(sharing.settled(body, inside(made), self.feedback, records=features is not None))
        self.loop.admit()

    @classmethod
    def recorded(
        cls, body: ModelBody, settings: Any, terms: Terms, *, guarded: bool, shared: Shared | None = None
    ) -> Blueprint:
        """A model that was made before, with the very settings that its making recorded (`Blueprint.record`).

        What a learner would refuse today is not asked anew, and defaults are those of that time. It is guarded if it
        was then, and its keys share what they shared then.
        """
        made = records.unpack(settings)
        if not isinstance(made, Learner):
            raise InvalidRecord("the record of the model's settings is no learner", "restore it from a backup")
        blueprint = cls.__new__(cls)
        blueprint._take(body, made, terms, guarded=guarded, shared=shared or Shared())
        return blueprint

    def _take(self, body: ModelBody, learner: Learner, terms: Terms, *, guarded: bool, shared: Shared) -> None:
        """Go by this learner's settings."""
        self.body = body = _in_order(body, inside(learner))  #: as the app sent it
        self.terms = terms  #: what is in force of what may change
        self.guarded = guarded  #: whether the influence of one feedback is bounded
        self._made = learner
        self.features: Vectorizer | None = vectorizer_of(learner)
        inner = inside(learner)
        self.kind = type(inner).__name__  #: the class of the learner that reads the rows
        self.dim: int | None = _features(inner)
        self.loop: Loop = loops.find(body.loop)(body, Vectors(body, self.dim, records=self.features is not None))
        self.loop.terms = terms
        self.settings = self.loop.settings = inner.params
        self.card: Card = inner.card
        self.loop.suit(self.card)
        self.names: list[str] | None = body.features if isinstance(body.features, list) else None
        self.asked = inner.asked
        crossed = self.features is not None and self.features.crosses == "auto"
        self.cost = Cost(self.card, self.settings, self.dim, crossed=crossed)
        self._share(shared)

    def _share(self, shared: Shared) -> None:
        """Let the keys share this."""
        self.shared = shared
        self._each = inside(self._made) if shared.names else self._made  #: of which every key has one
        self.size = len(self._each.to_bytes()) if self.body.keyed else 0
        self.grouped = shared.names or self.shared_start is not None  #: whether the keys have anything in common

    @property
    def each(self) -> Learner:
        """A fresh learner of the kind that every key has, or the model if it has no keys."""
        return self._each.fresh()

    @property
    def shared_start(self) -> str | None:
        """How a newcomer among the keys begins, if it does not begin with nothing: see `Learner.shared_start`."""
        return inside(self._made).shared_start if self.shared.start else None

    @property
    def params(self) -> dict[str, Any]:
        """The learner's settings as they were asked for; of a recommended one, those that are in force."""
        if self.body.learner is not None:
            return self.body.params
        told: dict[str, Any] = records.pack(self.asked)
        elsewhere = ("dim", "n_classes", *(["space"] if self.knobs is not None else []))
        return {name: value for name, value in told.items() if name not in elsewhere}

    @property
    def knobs(self) -> Knobs | None:
        """Of tune, where the space has names: its knobs, in the order in which they were given."""
        space = self.settings.get("space")
        return space if isinstance(space, Knobs) else None

    @property
    def labels(self) -> list[str] | None:
        """The labels that are in force, if they have names."""
        return [*self.body.labels, *self.terms.labels] if self.body.labels is not None else None

    def amend(self, terms: Terms) -> Blueprint:
        """The same model under other terms; its learners begin as they did, and change where the log says so."""
        terms.check(self.card, self.feedback)
        return Blueprint.recorded(self.body, self.record(), terms, guarded=self.guarded, shared=self.shared)

    def alone(self) -> Blueprint:
        """The same settings, of a model that stands beside nobody."""
        body = msgspec.structs.replace(self.body, shadow_of=None, challenger_of=None)
        terms = msgspec.structs.replace(self.terms, share=None)
        return Blueprint.recorded(body, self.record(), terms, guarded=self.guarded, shared=self.shared)

    @property
    def feedback(self) -> str | None:
        """The kind of feedback that it was made for."""
        return resolving.usual_feedback(self.body, type(self.loop), self.card.kinds)

    @property
    def shown_features(self) -> list[str] | dict[str, Any] | None:
        """How features are taken, as the model's reply says it."""
        if self.features is not None:
            return resolving.shown(self.features, self.terms.text)
        form = self.body.features
        return form if isinstance(form, list | None) else {"hashed": form.hashed}

    def record(self) -> Any:
        """The settings of its learners, in what JSON can say, for `recorded`."""
        return records.pack(self._made)

    def learner(self, key: str | None) -> Learner:
        """A fresh learner; every key has a seed of its own. One whose keys share names reads rows."""
        return begun(self._each, key, guarded=self.guarded)

    def whole(self) -> Learner:
        """A fresh learner that takes what apps send, names of its own included."""
        return self._made.fresh() if self.shared.names else self.learner(None)

    def bare(self) -> Blueprint:
        """The same without its vectorizer: of a model that takes records, one that takes the rows made of them."""
        if self.features is None:
            return self
        params = {**self.body.params, "dim": self.dim}
        changes = {"params": params, "features": None, "candidates": None}  # what a flag keeps are records
        body = msgspec.structs.replace(self.body, learner=self.kind, **changes)
        return Blueprint.recorded(body, records.pack(self.reader(self._made).fresh()), self.terms, guarded=False)

    def reader(self, learner: Learner) -> Learner:
        """Of a learner that takes records: the one inside, whose card says what it hears."""
        return inside(learner)

    def _infer(self, params: dict[str, Any], name: str, accepted: Any, value: int | None, source: str) -> None:
        if name not in accepted:
            if value is not None:
                raise Impossible(f"{self.kind} takes no {source}", f"leave {source} out")
        elif value is not None and params.setdefault(name, value) != value:
            raise Impossible(
                f"{name} is {params[name]} and there are {value} {source}", f"leave {name} out, or mend it"
            )
        elif value is None and name not in params and accepted[name].default is inspect.Parameter.empty:
            raise Impossible(f"{name} is missing", f'give "{source}", or "{name}" in params')


def begun(made: Learner, key: str | None, *, guarded: bool) -> Learner:
    """A fresh learner with these settings; every key has a seed of its own."""
    if key is None:
        fresh = made.fresh()
    else:
        digest = hashlib.sha256(f"{made.params['seed']}:{key}".encode()).digest()
        fresh = seeded(made, int.from_bytes(digest[:6], "little"))
    return fresh.guard() if guarded and _features(inside(made)) is not None else fresh


def fitting(loop: str) -> list[str]:
    """The learners of a loop that the service can build."""
    return [name for name, card in cards.items() if loops[loop].fits(card)]


def _inner(params: dict[str, Any]) -> type[Learner] | None:
    """The class of the learner that another one wraps."""
    setting = params.get("learner")
    kind = setting.get("type") if isinstance(setting, dict) else None
    return learners.get(kind) if isinstance(kind, str) else None


def _features(learner: Learner) -> int | None:
    """How many features a learner takes; one that wraps another takes what the other takes."""
    inner = learner.params.get("learner")
    return _features(inner) if isinstance(inner, Learner) else learner.params.get("dim")


def canonical(body: ModelBody) -> bytes:
    """The settings in one spelling, so that equal bodies are equal bytes; the usual window is the same as none."""
    usual = WINDOW_S if body.default_reward is None else SILENCE_S
    if body.window_s == usual:
        body = msgspec.structs.replace(body, window_s=None)
    return msgspec.json.encode(body, order="deterministic")


def once(what: str, names: list[str]) -> None:
    """Refuse a name that comes twice; ``what`` says what they are names of."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise Impossible(f"{what} has {name!r} twice", "give each a name of its own, once")
        seen.add(name)


def _space(body: ModelBody, loop: type[Loop]) -> Any:
    """Where the points of a tuner lie: its knobs, or, if a learner is to be found for it, the space in its params."""
    given = body.params.get("space")
    if body.knobs is None:
        return objects.built(given) if body.learner is None else None
    if "space" not in loop.facts:
        raise Impossible(f"knobs does not belong to the loop {loop.name}", "leave knobs out, or make a model of tune")
    if given is not None:
        raise Impossible("knobs stands beside a space in params", "give one of them")
    return knob_bodies.read(body.knobs)


def _in_order(body: ModelBody, learner: Learner) -> ModelBody:
    """The settings with their knobs in the order of the learner's: one spelling of them sorts the names."""
    space = learner.params.get("space")
    if not isinstance(space, Knobs) or body.knobs is None:
        return body
    return msgspec.structs.replace(body, knobs=knob_bodies.ordered(body.knobs, space.names))


def _dim(body: ModelBody, loop: type[Loop]) -> int | None:
    if body.keep_texts is not None and not loop.takes_texts:
        raise Impossible(f"keep_texts does not belong to the loop {loop.name}", "leave it out")
    if loop.dim is not None:
        if body.features is not None:
            raise Impossible(f"the features of the loop {loop.name} are its own", "leave features out")
        return loop.dim
    if isinstance(body.features, ByName):
        return body.features.hashed
    if body.features is None:
        return None
    if not body.features:
        raise Impossible("features has no name in it", "name at least one, or leave features out")
    once("features", body.features)
    return len(body.features)
