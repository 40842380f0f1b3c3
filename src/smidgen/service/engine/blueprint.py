"""From the settings of a model to a validated blueprint, and from that to learners.

How large a learner of the service may be. Sizes are judged by settings, before anything is made of them.

`smidgen.settings` estimates and refuses; here is the limit that a service has. Whatever makes learners of settings from
outside (a request, a log, a saved learner, a snapshot) does so within `enforce_limit`.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec
import numpy as np

from smidgen import geometry, serialization
from smidgen.checks import nearest, suggest
from smidgen.errors import InvalidArgument, InvalidRecord, SmidgenError
from smidgen.features import Vectorizer
from smidgen.geometry import Box
from smidgen.knobs import MOST_WITH_CONTEXT, Knobs
from smidgen.learners import Card, Feedback, Learner, cards, learners
from smidgen.learners.pipeline import around, seeded, unwrap, vectorizer_of
from smidgen.learners.recommended import USUAL, find
from smidgen.service.engine.budget import REFUSALS, Cost
from smidgen.service.engine.live_settings import SILENCE_S, WINDOW_S, LiveSettings, with_exploration
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops import features
from smidgen.service.loops.base import Loop
from smidgen.service.loops.features import Vectors
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Auto, ByName, Holdout, HoldoutChange, Limits, ModelBody, Safe
from smidgen.settings import limit_from_environment, refuse_large, size_limit

# What a model's settings leave open, settled once, when it is made: its learner, and how records become features.

#: Default number of columns of features of records.
COLUMNS = 4096


def resolve_learner(body: ModelBody, loop: type[Loop], space: Any = None) -> tuple[str, dict[str, Any]]:
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
            f"feedback is {json_text(body.feedback)}, which the loop {loop.name} does not accept",
            suggest(body.feedback, words),
        )
    if body.learner is not None:
        return body.learner, dict(body.params)
    if space is None and "space" in loop.facts:
        raise Impossible(
            "no knobs given", 'add "knobs", e.g. {"timeout": {"log": [0.01, 10]}}, or a "space" in "params"'
        )
    kinds, why = tuple(loop.kinds.values()), ""
    wanted = (body.feedback,) if body.feedback is not None else (None, *kinds)
    for served, kind in itertools.product((loop.name, *loop.served_by), wanted):
        try:
            cls, case = find(served, kind, _size(body, loop, space))
        except InvalidArgument as error:
            why = why or error.problem
            continue
        if set(cls.card.kinds) & set(kinds):  # the usual kind of another loop may not exist here
            return cls.__name__, {**cls.card.first, **case.settings, **body.params}
    raise Impossible(f"no learner is recommended here: {why or 'none accepts this feedback'}", 'set "learner"')


def takes_records(body: ModelBody, loop: type[Loop], params: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Check whether a model's features are records: its body says so, or says nothing of features."""
    if isinstance(body.features, ByName):
        if (body.features.hashed is None) == (body.features.auto is None):
            raise Impossible('features needs either "hashed" or "auto"', 'send {"hashed": 1024} or {"auto": {}}')
        if body.features.auto is not None and not (loop.takes_records and "dim" in accepted):
            raise Impossible(
                "features.auto needs a learner that reads features", 'remove "features", or choose another learner'
            )
        return body.features.auto is not None
    if body.features is not None or not loop.takes_records or "dim" not in accepted:
        return False
    if loop.most_columns is not None:
        space = params.get("space")
        return params.get("dim") != 0 and isinstance(space, Box | Knobs) and space.dim <= MOST_WITH_CONTEXT
    return "dim" not in params and accepted["dim"].default is inspect.Parameter.empty


#: The most columns of a vector, if a model does not say; in a context of knobs.
VECTORS, VECTORS_FOR_KNOBS = 32, 16


def vectorizer(body: ModelBody, loop: type[Loop], params: Mapping[str, Any]) -> Vectorizer:
    """Make the vectorizer of a model that takes records."""
    auto = body.features.auto if isinstance(body.features, ByName) and body.features.auto is not None else Auto()
    given = params.get("dim", auto.dim)
    if auto.dim is not None and given != auto.dim:
        raise Impossible(f"params.dim is {given} and features.auto.dim is {auto.dim}", "set dim in one place")
    most = loop.most_columns
    if most is not None and auto.dim is not None and auto.dim > most:
        raise Impossible(
            f"features.auto.dim is {auto.dim}",
            f"set it to at most {most}, the number of columns that a context of this loop can have",
        )
    text = (auto.text,) if isinstance(auto.text, str) else tuple(auto.text)
    return Vectorizer(
        dim=(most or COLUMNS) if given is None else given,
        text=text,
        crosses=auto.crosses if auto.crosses == "auto" else tuple(auto.crosses),
        id_feature=body.id_feature if auto.id_feature is None else auto.id_feature and body.id_feature,
        constant=most is None,
        vectors=(VECTORS if most is None else VECTORS_FOR_KNOBS) if auto.vectors is None else auto.vectors,
        seed=seed if isinstance(seed := params.get("seed", 0), int) and 0 <= seed < 1 << 64 else 0,
    )


def describe_features(features: Vectorizer, added: Sequence[str] = ()) -> dict[str, Any]:
    """Describe the vectorizer for a model's reply and page."""
    crosses = features.crosses if features.crosses == "auto" else [list(pair) for pair in features.crosses]
    described = {
        "dim": features.dim,
        "text": [*features.text, *added],
        "crosses": crosses,
        "id_feature": features.id_feature,
        "vectors": features.vectors,
    }
    return {"auto": described}


def usual_feedback(body: ModelBody, loop: type[Loop], kinds: tuple[str, ...]) -> str | None:
    """Main kind of feedback of a model, for its reply."""
    if body.feedback is not None:
        return body.feedback
    known = [str(kind) for kind in (*USUAL.get(loop.name, ()), *Feedback) if kind in kinds]
    return known[0] if known else None


def per_key_defaults(cls: type[Learner], params: dict[str, Any], body: ModelBody) -> None:
    """Defaults for learners per key: a diagonal matrix where the settings leave its form open."""
    covariance = inspect.signature(cls).parameters.get("covariance")
    if body.keyed and covariance is not None and covariance.default == "auto":
        params.setdefault("covariance", "diagonal")


def _size(body: ModelBody, loop: type[Loop], space: Any) -> int | None:
    """Number of features, if it is known."""
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


#: The most bytes that one learner may hold, unless ``--max-learner`` says otherwise: read in a twentieth of a second.
LARGEST = 1 << 27
#: The most classes.
CLASSES = 100_000

_chosen: list[int] = []


def set_limit(limit: int | None) -> None:
    """Set the limit of this process, in bytes; None: what the environment says, or `LARGEST`."""
    _chosen[:] = [] if limit is None else [limit]


def learner_size_limit() -> int:
    """The most bytes that one learner may hold here, and that the learners of one import may hold together."""
    return _chosen[0] if _chosen else limit_from_environment(LARGEST)


def enforce_limit() -> AbstractContextManager[None]:
    """Refuse, within the block, to make what is larger than the service allows."""
    return size_limit(learner_size_limit())


# Settings that are objects, built of what was sent: spaces, and learners, one inside another.

T = TypeVar("T")
#: Number of objects and lists that may stand inside one another in a setting.
DEEPEST = 8
_SPACES = ("Ball", "Box", "Simplex", "L1Ball")


def build_setting(value: Any) -> Any:
    """Build the value of a setting: ``{"type": "Ball", …}`` is a space, or a learner; other values stay."""
    if not isinstance(value, dict) or "type" not in value:
        return value
    kind = value["type"]
    target = getattr(geometry, kind) if kind in _SPACES else learners.get(kind) if isinstance(kind, str) else None
    if target is None:
        knobs = '; knobs go into the field "knobs" of the model, not into "params"' if kind == Knobs.__name__ else ""
        near = nearest(kind, (*_SPACES, *learners))
        first = f'did you mean "{near}"? Spaces are' if near else "spaces are"
        raise Impossible(
            f"type is {json_text(kind)}, which is neither a space nor a learner",
            f"{first} {', '.join(_SPACES)}{knobs}",
        )
    return build_object(target, {name: argument for name, argument in value.items() if name != "type"})


def build_object(target: type[T], params: Mapping[str, Any]) -> T:
    """A space or a learner with these arguments, or why there is none."""
    refuse_missing(target.__name__, params, inspect.signature(target).parameters)
    arguments = {name: build_setting(argument) for name, argument in params.items()}
    classes = arguments.get("n_classes")
    if issubclass(target, Learner) and isinstance(classes, int) and classes > CLASSES:
        raise Impossible(f"n_classes is {classes:,}", f"give at most {CLASSES:,}")
    try:
        return target(**arguments)
    except SmidgenError:
        raise
    except REFUSALS as error:
        raise Impossible(
            f"{target.__name__} does not accept these params: {error}", f"see /docs for the params of {target.__name__}"
        ) from error


def param_error(error: InvalidArgument, params: Mapping[str, Any]) -> InvalidArgument:
    """Return a learner's error with the path of the param and its value in JSON terms."""
    for name, value in params.items():
        start = f"{name} is {value!r}"
        if error.problem.startswith(start):
            hint = error.hint.partition(", e.g. ")[0]  # examples are in Python
            return type(error)(f"params.{name} is {json_text(value)}{error.problem.removeprefix(start)}", hint)
    return error


def refuse_few_labels(labels: list[str] | None, count: int) -> None:
    """Refuse a label model with fewer than two labels."""
    where = "labels is missing" if labels is None else f"labels is an array of {len(labels)}"
    if labels is None and count:
        where = f"params.n_classes is {count}"
    raise InvalidArgument(where, 'give at least 2 labels, e.g. "labels": ["bug", "question", "praise"]')


def refuse_missing(kind: str, given: Mapping[str, Any], accepted: Mapping[str, inspect.Parameter]) -> None:
    """Say which argument is missing before the constructor does, in Python's words."""
    for name, parameter in accepted.items():
        if name not in given and parameter.default is inspect.Parameter.empty:
            raise Impossible(f'{kind} needs "{name}"', f'add "{name}" to its params')


def refuse_deep(params: Mapping[str, Any]) -> None:
    """Refuse settings that lie too deep inside one another."""
    if any(_is_deeper(value, DEEPEST) for value in params.values()):
        raise Impossible(f"params is nested more than {DEEPEST} levels deep", "send fewer levels")


def _is_deeper(value: Any, levels: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inside is not None and (levels == 0 or any(_is_deeper(each, levels - 1) for each in inside))


# What the keys of a model share, settled once, when it is made: the names of their features, and how they begin.

#: Default kind of feedback of models whose keys share their start.
USUALLY = (Feedback.REWARD, Feedback.BIT, Feedback.BETTER, Feedback.EDIT)


class Shared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of what keys share.

    Attributes
    ----------
    names
        One table of names and statistics for the shard; else, of models that take records, each key has its own.
    start
        What a newcomer begins with.
    """

    names: bool = False
    start: bool = False


def resolve_shared(body: ModelBody, learner: Learner, feedback: str | None, *, records: bool) -> Shared:
    """Resolve what the keys of a new model share.

    Parameters
    ----------
    body
        What was asked for.
    learner
        The learner that reads the rows.
    feedback
        The kind of feedback that the model receives first of all.
    records
        Whether it takes records.
    """
    if not body.keyed:
        if body.shared_start:
            raise Impossible("shared_start needs a keyed model", 'add "keyed": true, or remove "shared_start"')
        return Shared()
    start = body.shared_start
    if start is None:
        start = body.learner is None and feedback in USUALLY and learner.shared_start is not None
    elif start and learner.shared_start is None:
        raise Impossible(
            f"shared_start does not work with {type(learner).__name__}",
            'remove "shared_start" (each key then starts from scratch), or choose another learner',
        )
    return Shared(names=records, start=start)


# Changes of settings while a model is in use.


def settings_diff(blueprint: Blueprint, old: LiveSettings, terms: LiveSettings) -> dict[str, Any]:
    """Changes for learners between two live settings: settings that differ, and new labels."""
    settings: dict[str, Any] = {}
    accepted = inspect.signature(learners[blueprint.kind]).parameters
    if (terms.explore, terms.min_share) != (old.explore, old.min_share):
        with_exploration(terms, settings, accepted, blueprint.kind)
        if terms.explore and "draw" in accepted:
            settings["draw"] = True
    if terms.safe != old.safe:
        settings["safe"] = msgspec.to_builtins(terms.safe)
    if terms.text != old.text and blueprint.features is not None:
        settings["text"] = [*blueprint.features.text, *terms.text]
    first = len(blueprint.body.labels or ()) + len(old.labels)
    added = len(terms.labels) - len(old.labels)
    return {"settings": settings, "labels": [first, first + added] if added else None}


def amended_settings(blueprint: Blueprint, given: dict[str, Any]) -> LiveSettings:
    """The terms of a model as they will be when this is put in force."""
    old = blueprint.terms
    changes = {name: value for name, value in given.items() if not name.startswith("add_")}
    if (labels := given.get("add_labels")) is not None:
        if (known := blueprint.labels) is None:
            raise Impossible("add_labels needs a model with named labels", 'create the model with "labels"')
        refuse_repeated("add_labels", labels)
        new = [label for label in labels if label not in known]  # the same amendment again changes nothing
        changes["labels"] = (*old.labels, *new)
    if (text := given.get("add_text")) is not None:
        if blueprint.features is None:
            raise Impossible(
                "add_text needs a model that accepts records", 'create the model without "features" and without "dim"'
            )
        new = [path for path in dict.fromkeys(text) if path not in (*blueprint.features.text, *old.text)]
        changes["text"] = (*old.text, *new)
    if "holdout" in changes:
        changes["holdout"] = amended_holdout(old.holdout, changes["holdout"])
    terms = msgspec.structs.replace(old, **changes)
    accepted = inspect.signature(learners[blueprint.kind]).parameters
    with_exploration(terms, {}, accepted, blueprint.kind)
    if terms.safe not in (None, old.safe):
        check_safe(terms.safe, blueprint.settings.get("space"), accepted, blueprint.kind)
    return terms


def amended_holdout(old: Holdout | None, new: Holdout | HoldoutChange | None) -> Holdout | None:
    """Return the holdout that is in force: its salt stays, also while there is none."""
    if new is None:
        return None if old is None else msgspec.structs.replace(old, share=0.0)
    given = {name: value for name in ("share", "policy") if (value := getattr(new, name)) is not msgspec.UNSET}
    if old is None and "share" not in given:
        raise Impossible("holdout.share is missing", 'add it, e.g. {"share": 0.05}: the model has no holdout')
    if old is None:
        return Holdout(**given, salt=new.salt)
    if new.salt not in ("", old.salt):
        raise Impossible("holdout.salt differs from the model's", 'remove "salt": a PATCH keeps the salt of the model')
    return msgspec.structs.replace(old, **given)


def with_salt(holdout: Holdout | None) -> Holdout | None:
    """Return the holdout with a salt: a new one, if it has none."""
    if holdout is None or holdout.salt:
        return holdout
    return msgspec.structs.replace(holdout, salt=new_salt())


def new_salt() -> str:
    """Return random text."""
    return os.urandom(9).hex()


def new_labels_of(amendment: Mapping[str, Any]) -> range:
    """The numbers of the labels that an amendment adds (`settings_diff`): no more than a model may have."""
    first, end = amendment["labels"]
    if not 0 <= end - first <= CLASSES:
        raise InvalidRecord(f"the event adds the labels {first} to {end}", f"a model has at most {CLASSES} classes")
    return range(first, end)


# From a model's settings to its learners.


class Blueprint:
    """A model's settings, checked: makes its learners and translates its messages.

    Parameters
    ----------
    body
        What the app sent. Refused if the loop and the learner do not fit, or the learner refuses its arguments.
    """

    def __init__(self, body: ModelBody) -> None:
        with enforce_limit():
            self._settle(body)

    def _settle(self, body: ModelBody) -> None:
        """Check the settings and make a learner of them; its size is judged first."""
        loop = loops.find(body.loop)
        space = _space(body, loop)
        self.kind, params = resolve_learner(body, loop, space)
        if space is not None:
            params["space"] = space
        elif "space" in params:
            params["space"] = build_setting(params["space"])
        terms = LiveSettings.of(body)
        if self.kind not in (names := learners_for(body.loop)):
            why = cards[self.kind].not_served if self.kind in cards else ""
            raise Impossible(
                f"learner is {json_text(self.kind)}, which the loop {body.loop} cannot use{': ' if why else ''}{why}",
                suggest(self.kind, names),
            )
        self.body = body
        self._type = learners[self.kind]
        accepted = inspect.signature(self._type).parameters
        if "labels" in params:
            raise Impossible("labels is not a param", 'move "labels" out of "params", to the top level of the body')
        if "safe" in params:
            raise Impossible("safe is not a param", 'move "safe" out of "params", to the top level of the body')
        if unknown := params.keys() - accepted.keys():
            name = sorted(unknown)[0]
            raise Impossible(f'unknown param "params.{name}" of {self.kind}', suggest(name, accepted, "remove it"))
        with_exploration(terms, params, accepted, self.kind)
        refuse_deep(params)
        if terms.safe is not None:
            check_safe(terms.safe, params.get("space"), accepted, self.kind)
            params["safe"] = msgspec.to_builtins(terms.safe)
        if "learner" in accepted:
            refuse_missing(self.kind, params, accepted)
        sized, takes = params, accepted
        if (inner := _inner(params)) is not None:  # the features are those of the learner inside
            sized = params["learner"] = dict(params["learner"])
            takes = inspect.signature(inner).parameters
        features: Vectorizer | None = None
        if takes_records(body, loop, sized, takes):
            features = vectorizer(body, loop, sized)
            sized["dim"] = features.dim
            per_key_defaults(self._type, params, body)
        else:
            self._infer(sized, "dim", takes, _dim(body, loop), "features")
        if body.labels is not None:
            refuse_repeated("labels", body.labels)
        self._infer(params, "n_classes", accepted, len(body.labels) if body.labels is not None else None, "labels")
        if "n_classes" in accepted and (count := params.get("n_classes", 0)) in (0, 1):
            refuse_few_labels(body.labels, count)
        try:
            learner = build_object(self._type, params)
        except InvalidArgument as error:
            raise param_error(error, params) from error
        if features is not None:
            learner = around(features, learner)
        # a vectorizer bounds the numbers itself
        self._take(body, learner, terms, guarded=features is None, shared=Shared())
        terms.check(self.card, self.feedback)
        self._check_holdout(terms)
        self._check_own_budget(terms)
        self._share(resolve_shared(body, unwrap(learner), self.feedback, records=features is not None))
        self.loop.check_settings()

    @classmethod
    def from_record(
        cls, body: ModelBody, settings: Any, terms: LiveSettings, *, guarded: bool, shared: Shared | None = None
    ) -> Blueprint:
        """A model that was made before, with the very settings that its making recorded (`Blueprint.record`).

        Settings that a learner would refuse today are not checked again, and defaults are those of that time. It is
        guarded if it was then, and its keys share what they shared then.
        """
        blueprint = cls.__new__(cls)
        with enforce_limit():
            learner = serialization.unpack(settings)
            if not isinstance(learner, Learner):
                raise InvalidRecord(
                    "the stored settings of the model do not describe a learner", "restore them from a backup"
                )
            blueprint._take(body, learner, terms, guarded=guarded, shared=shared or Shared())
            if terms.labels:
                refuse_large(
                    type(unwrap(learner)), {**unwrap(learner).params, "n_classes": len(blueprint.labels or ())}
                )
        return blueprint

    def _take(self, body: ModelBody, learner: Learner, terms: LiveSettings, *, guarded: bool, shared: Shared) -> None:
        """Go by this learner's settings."""
        self.body = body = _in_order(body, unwrap(learner))  #: as the app sent it
        terms.check_range()
        self.terms = terms  #: what is in force of what may change
        self.guarded = guarded  #: whether the influence of one feedback is bounded
        self._made = learner
        self.features: Vectorizer | None = vectorizer_of(learner)
        inner = unwrap(learner)
        self.kind = type(inner).__name__  #: the class of the learner that reads the rows
        self.dim: int | None = _features(inner)
        self.loop: Loop = loops.find(body.loop)(body, Vectors(body, self.dim, records=self.features is not None))
        self.loop.terms = terms
        self.settings = self.loop.settings = inner.params
        self.card: Card = inner.card
        self.loop.adapt_to(self.card)
        self.names: list[str] | None = body.features if isinstance(body.features, list) else None
        self.asked = inner.asked
        crossed = self.features is not None and self.features.crosses == "auto"
        self.cost = Cost(self.card, self.settings, self.dim, crossed=crossed)
        self._share(shared)

    def _share(self, shared: Shared) -> None:
        """Let the keys share this."""
        self.shared = shared
        self._each = unwrap(self._made) if shared.names else self._made  #: of which every key has one
        self.size = len(self._each.to_bytes()) if self.body.keyed else 0
        self.grouped = shared.names or self.shared_start is not None  #: whether the keys have anything in common

    @property
    def learner_template(self) -> Learner:
        """A fresh learner of the kind that every key has, or the model if it has no keys."""
        return self._each.fresh()

    @property
    def shared_start(self) -> str | None:
        """Start of a new key, if it does not start from nothing (`Learner.shared_start`)."""
        return unwrap(self._made).shared_start if self.shared.start else None

    @property
    def params(self) -> dict[str, Any]:
        """The learner's settings as they were asked for; of a recommended one, those that are in force."""
        if self.body.learner is not None:
            return self.body.params
        asked: dict[str, Any] = serialization.pack(self.asked)
        elsewhere = ("dim", "n_classes", "safe", *(["space"] if self.knobs is not None else []))
        return {name: value for name, value in asked.items() if name not in elsewhere}

    @property
    def knobs(self) -> Knobs | None:
        """Of tune, where the space has names: its knobs, in the order in which they were given."""
        space = self.settings.get("space")
        return space if isinstance(space, Knobs) else None

    @property
    def labels(self) -> list[str] | None:
        """The labels that are in force, if they have names."""
        return [*self.body.labels, *self.terms.labels] if self.body.labels is not None else None

    def amend(self, terms: LiveSettings) -> Blueprint:
        """Return the blueprint with other live settings; learners start as before, and change where the log says so."""
        terms.check(self.card, self.feedback)
        self._check_holdout(terms)
        self._check_own_budget(terms)
        return Blueprint.from_record(self.body, self.record(), terms, guarded=self.guarded, shared=self.shared)

    def _check_holdout(self, terms: LiveSettings) -> None:
        """Refuse a holdout if no fixed policy can answer, or if the champion's holds."""
        if terms.holdout is None:
            return
        if not self.loop.holds_out:
            raise Impossible(
                f"the loop {self.loop.name} has no holdout", 'remove "holdout": it is for choose, rank and label models'
            )
        if self.body.shadow_of is not None or self.body.challenger_of is not None:
            raise Impossible("a shadow or challenger has no holdout", "set the holdout of its champion")

    def _check_own_budget(self, terms: LiveSettings) -> None:
        """Refuse a budget if the champion's holds."""
        if terms.budget is not None and (self.body.shadow_of is not None or self.body.challenger_of is not None):
            raise Impossible("a shadow or challenger has no budget", "set the budget of its champion")

    def without_champion(self, holdout: Holdout | None = None, budget: Limits | None = None) -> Blueprint:
        """Return the settings without champion, and with another holdout and budget."""
        body = msgspec.structs.replace(self.body, shadow_of=None, challenger_of=None)
        terms = msgspec.structs.replace(self.terms, share=None, holdout=holdout, budget=budget)
        return Blueprint.from_record(body, self.record(), terms, guarded=self.guarded, shared=self.shared)

    @property
    def feedback(self) -> str | None:
        """The kind of feedback that it was made for."""
        return usual_feedback(self.body, type(self.loop), self.card.kinds)

    @property
    def describe_features(self) -> list[str] | dict[str, Any] | None:
        """Describe the form of features for the model's reply."""
        if self.features is not None:
            return describe_features(self.features, self.terms.text)
        form = self.body.features
        return form if isinstance(form, list | None) else {"hashed": form.hashed}

    def record(self) -> Any:
        """The settings of its learners, in what JSON can say, for `recorded`."""
        return serialization.pack(self._made)

    def learner(self, key: str | None) -> Learner:
        """A fresh learner; every key has a seed of its own. One whose keys share names reads rows."""
        return fresh_learner(self._each, key, guarded=self.guarded)

    def row_learner(self) -> Blueprint:
        """Make a fresh learner without its vectorizer: it takes the rows that are made of records."""
        if self.features is None:
            return self
        params = {**self.body.params, "dim": self.dim}
        changes = {"params": params, "features": None, "candidates": None}  # what a flag keeps are records
        body = msgspec.structs.replace(self.body, learner=self.kind, **changes)
        return Blueprint.from_record(
            body, serialization.pack(self.reader(self._made).fresh()), self.terms, guarded=False
        )

    def reader(self, learner: Learner) -> Learner:
        """The inner learner of a learner of records; its card has the accepted feedback."""
        return unwrap(learner)

    def _infer(self, params: dict[str, Any], name: str, accepted: Any, value: int | None, source: str) -> None:
        if name not in accepted:
            if value is not None:
                raise Impossible(f"{self.kind} does not use {source}", f'remove "{source}", or choose another learner')
        elif value is not None and params.setdefault(name, value) != value:
            raise Impossible(
                f"params.{name} is {params[name]} and there are {value} {source}",
                f'remove "{name}" from params, or set it to {value}',
            )
        elif value is None and name not in params and accepted[name].default is inspect.Parameter.empty:
            raise Impossible(f"{name} is missing", f'add "{source}", or "{name}" in params')


def fresh_learner(original: Learner, key: str | None, *, guarded: bool) -> Learner:
    """A fresh learner with these settings; every key has a seed of its own."""
    if key is None:
        fresh = original.fresh()
    else:
        digest = hashlib.sha256(f"{original.params['seed']}:{key}".encode()).digest()
        fresh = seeded(original, int.from_bytes(digest[:6], "little"))
    return fresh.guard() if guarded and _features(unwrap(original)) is not None else fresh


def learners_for(loop: str) -> list[str]:
    """The learners of a loop that the service can build."""
    return [name for name, card in cards.items() if loops[loop].supports(card)]


def _inner(params: dict[str, Any]) -> type[Learner] | None:
    """The class of the learner that another one wraps."""
    setting = params.get("learner")
    kind = setting.get("type") if isinstance(setting, dict) else None
    return learners.get(kind) if isinstance(kind, str) else None


def _features(learner: Learner) -> int | None:
    """Number of features of a learner, or of the learner inside it."""
    inner = learner.params.get("learner")
    return _features(inner) if isinstance(inner, Learner) else learner.params.get("dim")


def canonical(body: ModelBody) -> bytes:
    """The settings in one spelling, so that equal bodies are equal bytes; the usual window is the same as none."""
    usual = WINDOW_S if body.default_reward is None else SILENCE_S
    if body.window_s == usual:
        body = msgspec.structs.replace(body, window_s=None)
    return msgspec.json.encode(body, order="deterministic")


def refuse_repeated(what: str, names: list[str]) -> None:
    """Refuse a name that comes twice; ``what`` says what they are names of."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise Impossible(f"{what} holds {json_text(name)} twice", "remove the duplicate")
        seen.add(name)


def _space(body: ModelBody, loop: type[Loop]) -> Any:
    """Search space of a tuner: its knobs, or the space in its params if the learner is chosen automatically."""
    given = body.params.get("space")
    if body.knobs is None:
        return build_setting(given) if body.learner is None else None
    if "space" not in loop.facts:
        raise Impossible(f"the loop {loop.name} has no knobs", 'remove "knobs", or set "loop": "tune"')
    if given is not None:
        raise Impossible("both knobs and params.space are given", "send one of them")
    return features.read_knobs(body.knobs)


def check_safe(safe: Safe, space: Any, accepted: Mapping[str, Any], kind: str) -> None:
    """Refuse a safe setting that the learner does not take, or that is not one of the space."""
    if "safe" not in accepted:
        raise Impossible(
            f"{kind} has no safe setting", 'remove "safe": only the recommended learner of tune models has one'
        )
    if isinstance(space, Knobs) != isinstance(safe.knobs, dict):
        form = "an object of knobs" if isinstance(space, Knobs) else "an array of numbers, a point of the space"
        raise Impossible(f"safe.knobs is {json_text(safe.knobs)}", f"send {form}")
    try:
        if isinstance(space, Knobs):
            space.shares(safe.knobs)
        elif isinstance(space, Box) and not space.contains(space.coordinates(np.asarray(safe.knobs))):
            raise Impossible(f"safe.knobs is {json_text(safe.knobs)}", "send a point inside of the space")
    except InvalidArgument as error:
        raise Impossible(f"safe.knobs: {error.problem}", error.hint) from error


def _in_order(body: ModelBody, learner: Learner) -> ModelBody:
    """The settings with their knobs in the order of the learner's: one spelling of them sorts the names."""
    space = learner.params.get("space")
    if not isinstance(space, Knobs) or body.knobs is None:
        return body
    return msgspec.structs.replace(body, knobs=features.in_order_of(body.knobs, space.names))


def _dim(body: ModelBody, loop: type[Loop]) -> int | None:
    if body.keep_texts is not None and not loop.takes_texts:
        raise Impossible(f"the loop {loop.name} has no keep_texts", 'remove "keep_texts": it is for the loop draft')
    if loop.dim is not None:
        if body.features is not None:
            raise Impossible(f"the loop {loop.name} computes its own features", 'remove "features"')
        return loop.dim
    if isinstance(body.features, ByName):
        return body.features.hashed
    if body.features is None:
        return None
    if not body.features:
        raise Impossible("features is an empty array", 'name at least one feature, or remove "features"')
    refuse_repeated("features", body.features)
    return len(body.features)
