"""From the settings of a model to a validated blueprint, and from that to learners.

How large a learner of the service may be. Sizes are judged by settings, before anything is made of them.

`smidgen.settings` estimates and refuses; here is the limit that a service has. Whatever makes learners of settings from
outside (a request, a log, a saved learner, a snapshot) does so within `judged`.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import msgspec
import numpy as np

from smidgen import geometry, serialization
from smidgen.checks import SMALLEST_SHARE
from smidgen.errors import InvalidArgument, InvalidRecord, SmidgenError
from smidgen.features import Row, Vectorizer
from smidgen.features.limits import CROSSES, DEPTH
from smidgen.geometry import Box
from smidgen.knobs import Knobs
from smidgen.learners import Card, Feedback, Learner, cards, learners
from smidgen.learners.pipeline import around, seeded, unwrap, vectorizer_of
from smidgen.learners.recommended import USUAL, find
from smidgen.service.errors import Impossible
from smidgen.service.loops import features
from smidgen.service.loops.base import Loop
from smidgen.service.loops.features import NUMBERS, Vectors
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import Auto, ByName, ModelBody, Of
from smidgen.settings import limit_from_environment, refuse_large, size_limit
from smidgen.structures import Candidates, Choice, Drafts, Ranking, Structure

# What a model's settings leave open, settled once, when it is made: its learner, and how records become features.

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


#: The most bytes that one learner may hold, unless ``--max-learner`` says otherwise: read in a twentieth of a second.
LARGEST = 1 << 27
#: The most classes.
CLASSES = 100_000
#: How a constructor says no: to the form, to the value, to the range, to the size.
REFUSALS = (TypeError, ValueError, ArithmeticError, MemoryError)

_chosen: list[int] = []


def set_limit(limit: int | None) -> None:
    """Set the limit of this process, in bytes; None: what the environment says, or `LARGEST`."""
    _chosen[:] = [] if limit is None else [limit]


def largest() -> int:
    """The most bytes that one learner may hold here, and that the learners of one import may hold together."""
    return _chosen[0] if _chosen else limit_from_environment(LARGEST)


def judged() -> AbstractContextManager[None]:
    """Refuse, within the block, to make what is larger than the service allows."""
    return size_limit(largest())


# Settings that are objects, built of what was sent: spaces, and learners, one inside another.

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
    return build_object(target, {name: argument for name, argument in value.items() if name != "type"})


def build_object(target: type[T], params: Mapping[str, Any]) -> T:
    """A space or a learner with these arguments, or why there is none."""
    refuse_missing(target.__name__, params, inspect.signature(target).parameters)
    arguments = {name: built(argument) for name, argument in params.items()}
    classes = arguments.get("n_classes")
    if issubclass(target, Learner) and isinstance(classes, int) and classes > CLASSES:
        raise Impossible(f"there are {classes} classes", f"the service takes up to {CLASSES}")
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


# What the keys of a model share, settled once, when it is made: the names of their features, and how they begin.

#: What comes back where keys share their start if nobody says.
USUALLY = (Feedback.REWARD, Feedback.BIT, Feedback.BETTER, Feedback.EDIT)


class Shared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What keys share.

    Attributes
    ----------
    names
        One table of names and statistics for the shard; else, of models that take records, each key has its own.
    start
        What a newcomer begins with.
    """

    names: bool = False
    start: bool = False


def settled(body: ModelBody, learner: Learner, feedback: str | None, *, records: bool) -> Shared:
    """What the keys of a new model share.

    Parameters
    ----------
    body
        What was asked for.
    learner
        The learner that reads the rows.
    feedback
        What the model hears first of all.
    records
        Whether it takes records.
    """
    if not body.keyed:
        if body.shared_start:
            raise Impossible("shared_start is for models with keys", 'create it with "keyed": true')
        return Shared()
    start = body.shared_start
    if start is None:
        start = body.learner is None and feedback in USUALLY and learner.shared_start is not None
    elif start and learner.shared_start is None:
        raise Impossible(
            f"a {type(learner).__name__} has no start to share", "leave shared_start out: every key begins with nothing"
        )
    return Shared(names=records, start=start)


# What a request will cost, judged before any of it is done: numbers to hold, multiplications to make.

#: What a field of a record costs beside a number.
FIELD = 40
#: How many names one request may hold: fields, categories and crosses, each once. A new one costs some microseconds.
NAMES = 40_000
#: So many letters of a string count as another name: it may be a text.
LETTERS = 16
#: How many multiplications one request may cost: some seconds.
WORK = 5_000_000_000


class Cost:
    """What one decision of a model costs.

    A decision reads every feature once for every class; a learner with a matrix reads that too, and one that draws a
    direction draws it in all features.

    Parameters
    ----------
    card, settings, dim
        The learner's, and how many features it takes.
    crossed
        Whether every field of a context meets every field of a candidate.
    """

    def __init__(self, card: Card, settings: Mapping[str, Any], dim: int | None, *, crossed: bool = False) -> None:
        features = dim or 0
        self.crossed = crossed
        self.classes = max(1, int(settings.get("n_classes") or 1))
        try:
            numbers = card.size(settings) // 8
        except (AttributeError, LookupError, *REFUSALS):  # a guest's, of another form
            numbers = 0
        matrix = numbers if numbers > 4 * max(1, features) * self.classes else 0
        self.each = matrix + (features if card.draws else 0)

    def of(self, numbers: int) -> int:
        """How many multiplications a decision on so many numbers takes."""
        return numbers * self.classes + self.each


class Budget:
    """What is left for one request of a model."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost
        self._numbers, self._work, self._more = NUMBERS, WORK, NAMES
        self._names: set[tuple[str, str | None]] = set()

    def spend(self, context: Any) -> None:
        """Take a decision on this context off, or refuse."""
        if isinstance(context, Candidates | dict):
            self._name(context)
        size = touched(context, crossed=self._cost.crossed)
        self._numbers -= size
        self._work -= self._cost.of(size)
        if self._more < len(self._names):
            raise Impossible(
                f"the records hold more than {NAMES} names: fields, categories, words and crosses of them",
                'send fewer records in one call, write what varies as a value, or make the model with fewer "crosses"',
            )
        if self._numbers < 0 and isinstance(context, Candidates | dict):
            raise Impossible(
                f"the records and their crosses are more than {NUMBERS // FIELD} features",
                'send fewer candidates or fields in one call, or make the model with fewer "crosses"',
            )
        if self._numbers < 0:
            raise Impossible(f"the features are more than {NUMBERS} numbers", "send fewer rows in one call")
        if self._work < 0:
            raise Impossible(f"this asks for more than {WORK} multiplications", "send fewer rows in one call")

    def _name(self, context: Any) -> None:
        """Note the names of a record, or of candidates; crosses with their context, and words, are guessed."""
        if not isinstance(context, Candidates):
            self._more -= _note(context, "", self._names)
            return
        before, about = len(self._names), _fields(context.context or {})
        self._names.update(("id", str(id)) for id in context.ids or ())
        for each in context.records:
            self._more -= _note(each, "", self._names)
            if self._more < len(self._names):
                return
        if self._cost.crossed and about:
            self._more -= min((len(self._names) - before) * about, CROSSES * len(context.records))
        if context.context is not None:
            self._more -= _note(context.context, "context.", self._names)


def touched(context: Any, *, crossed: bool = False) -> int:
    """How many numbers a context holds; a field of a record, or a cross, counts as several."""
    if type(context) is Ranking or type(context) is Choice:
        return _stored(context.rows)
    if isinstance(context, Candidates):
        about = _fields(context.context or {}) if crossed else 0
        sizes = [1 + _fields(each) for each in context.records]
        return FIELD * sum(size + min(CROSSES, about * size) for size in sizes)
    if isinstance(context, dict):
        return FIELD * (1 + _fields(context))
    if isinstance(context, Drafts):
        return len(context) * context.dim
    if isinstance(context, Structure) and not isinstance(context, Ranking | Choice):
        return _held(context)
    if isinstance(context, Row):
        return len(context.values)
    return _stored(context.rows if isinstance(context, Ranking | Choice) else context)


def _stored(rows: Any) -> int:
    """How many numbers rows of features hold."""
    stored = getattr(rows, "data", None) if hasattr(rows, "indptr") else getattr(rows, "array", rows)
    return int(getattr(stored, "size", 0))


def _held(value: Any) -> int:
    """How many numbers and words a structure of others holds, by the fields of its record."""
    if isinstance(value, np.ndarray):
        return value.size
    if (name := serialization.registered_name(type(value))) is not None:
        value = serialization.fields_of(name, value)
    if isinstance(value, dict | list | tuple):
        return sum(map(_held, value.values() if isinstance(value, dict) else value))
    return 1 + len(value) // FIELD if isinstance(value, str) else 1


def _note(record: Any, path: str, names: set[tuple[str, str | None]], depth: int = DEPTH) -> int:
    """Add the names in a record to those that were met; how many more its long strings may hold."""
    more = 0
    for key, value in record.items() if isinstance(record, dict) else ():
        kind = type(value)
        if kind is str:
            names.add((path + key, value))
            more += len(value) // LETTERS
        elif kind is dict:
            more += _note(value, f"{path}{key}.", names, depth - 1) if depth > 0 else 0
        elif kind is list:
            names.update((path + key, each) for each in value if type(each) is str)
        else:
            names.add((path + key, None))
    return more


def _fields(record: Any, depth: int = DEPTH) -> int:
    """How many values a record holds, in objects and lists inside it too; what lies deeper will be refused."""
    if isinstance(record, dict):
        return sum(_fields(value, depth - 1) for value in record.values()) if depth >= 0 else 1
    return len(record) if isinstance(record, list) else 1


# The terms of a model: what may change while it lives, as it was settled when it was made or amended.

#: How many seconds feedback may take if nobody says: usually, and where silence is learnt.
WINDOW_S, SILENCE_S = 86_400.0, 600.0


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is in force.

    Attributes
    ----------
    window_s
        How many seconds feedback may take.
    reward_range
        The worst and the best reward that the app gives; the learner hears 0 to 1.
    default_reward
        What silence is worth, in the app's own range; None if nothing is learnt from it.
    explore, min_share
        Of learners that draw: the share that is spread evenly, and the least share of each candidate.
    retention_s
        After how many seconds events are folded and erased; None if they stay, or as the service says.
    labels, text
        Labels, and paths of texts, that were added since the model was made.
    share
        Of a challenger: the share of the champion's traffic that it answers.
    """

    window_s: float = WINDOW_S
    reward_range: tuple[float, float] = (0.0, 1.0)
    default_reward: float | None = None
    explore: float | None = None
    min_share: float | None = None
    retention_s: float | None = None
    labels: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    share: float | None = None

    @classmethod
    def of(cls, body: ModelBody) -> Terms:
        """What a model's settings say, with what they leave out settled."""
        usual = WINDOW_S if body.default_reward is None else SILENCE_S
        return cls(
            window_s=body.window_s if body.window_s is not None else usual,
            reward_range=body.reward_range or (0.0, 1.0),
            default_reward=body.default_reward,
            explore=body.explore,
            min_share=body.min_share,
            retention_s=body.retention_s,
            share=body.challenger_of.share if isinstance(body.challenger_of, Of) else None,
        )

    def check(self, card: Card, feedback: str | None) -> None:
        """Refuse terms that do not fit the learner, or one another."""
        self.check_range()
        if self.reward_range != (0.0, 1.0) and Feedback.REWARD not in card.kinds:
            raise Impossible("reward_range is for models that hear rewards", 'make it with "feedback": "reward"')
        if self.default_reward is None:
            return
        if feedback != Feedback.REWARD:
            raise Impossible("default_reward is for models that hear rewards", 'make it with "feedback": "reward"')
        self.reward(self.default_reward, "default_reward")

    def check_range(self) -> None:
        """Refuse a range of rewards that has no width, or one that floats cannot divide by."""
        low, high = self.reward_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise Impossible(f"reward_range is [{low}, {high}]", "give the worst and the best reward, e.g. [0, 1]")
        if not SMALLEST_SHARE <= high - low < math.inf:
            raise Impossible(
                f"reward_range is [{low}, {high}], of width {high - low:g}",
                f"give limits that are from {SMALLEST_SHARE:g} to 1e308 apart, e.g. [0, 1]",
            )

    def reward(self, value: float, name: str = "reward") -> float:
        """A reward of the app's as the learner hears it, from 0 to 1."""
        low, high = self.reward_range
        if not low <= value <= high:
            raise Impossible(f"{name} is {value!r}", f"give a number from {low:g} (worst) to {high:g} (best)")
        return (value - low) / (high - low)


def read(found: Mapping[str, Any] | None, body: ModelBody) -> Terms:
    """The terms that a model's record has; one that has none goes by its body."""
    given = (found or {}).get("terms")
    return Terms.of(body) if given is None else msgspec.convert(given, Terms)


def exploring(terms: Terms, params: dict[str, Any], accepted: Mapping[str, Any], kind: str) -> None:
    """Put the shares of exploration among a learner's settings: no share at all is the best guess, always."""
    if terms.explore is not None:
        if "floor" not in accepted:
            raise Impossible(f"{kind} has no share of exploration to set", "leave explore out")
        _settle(params, "floor", terms.explore, "explore")
        if terms.explore == 0.0 and "draw" in accepted:
            _settle(params, "draw", False, "explore")
    if terms.min_share is not None:
        if "min_share" not in accepted:
            raise Impossible(f"{kind} gives candidates no least share", "leave min_share out")
        _settle(params, "min_share", terms.min_share, "min_share")


def _settle(params: dict[str, Any], name: str, value: Any, said: str) -> None:
    if params.setdefault(name, value) != value:
        raise Impossible(f"{said} says {value!r} and {name} in params {params[name]!r}", "give it in one place")


def told_of(blueprint: Blueprint, old: Terms, terms: Terms) -> dict[str, Any]:
    """What learners are told from some terms to others: settings that change, and which labels are new."""
    settings: dict[str, Any] = {}
    accepted = inspect.signature(learners[blueprint.kind]).parameters
    if (terms.explore, terms.min_share) != (old.explore, old.min_share):
        exploring(terms, settings, accepted, blueprint.kind)
        if terms.explore and "draw" in accepted:
            settings["draw"] = True
    if terms.text != old.text and blueprint.features is not None:
        settings["text"] = [*blueprint.features.text, *terms.text]
    first = len(blueprint.body.labels or ()) + len(old.labels)
    added = len(terms.labels) - len(old.labels)
    return {"settings": settings, "labels": [first, first + added] if added else None}


def amended_terms(blueprint: Blueprint, given: dict[str, Any]) -> Terms:
    """The terms of a model as they will be when this is put in force."""
    old = blueprint.terms
    changes = {name: value for name, value in given.items() if not name.startswith("add_")}
    if (labels := given.get("add_labels")) is not None:
        if (known := blueprint.labels) is None:
            raise Impossible("this model has no labels with names", "add_labels is for models made with labels")
        once("add_labels", labels)
        new = [label for label in labels if label not in known]  # the same amendment again changes nothing
        changes["labels"] = (*old.labels, *new)
    if (text := given.get("add_text")) is not None:
        if blueprint.features is None:
            raise Impossible("this model takes no records", "add_text is for models that take records")
        new = [path for path in dict.fromkeys(text) if path not in (*blueprint.features.text, *old.text)]
        changes["text"] = (*old.text, *new)
    terms = msgspec.structs.replace(old, **changes)
    exploring(terms, {}, inspect.signature(learners[blueprint.kind]).parameters, blueprint.kind)
    return terms


def labels_of(told: Mapping[str, Any]) -> range:
    """The numbers of the labels that an amendment adds (`told_of`): no more than a model may have."""
    first, end = told["labels"]
    if not 0 <= end - first <= CLASSES:
        raise InvalidRecord(f"it adds the labels {first} to {end}", f"a model has at most {CLASSES} classes")
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
        with judged():
            self._settle(body)

    def _settle(self, body: ModelBody) -> None:
        """Check the settings and make a learner of them; its size is judged first."""
        loop = loops.find(body.loop)
        space = _space(body, loop)
        self.kind, params = chosen(body, loop, space)
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
        refuse_deep(params)
        if "learner" in accepted:
            refuse_missing(self.kind, params, accepted)
        sized, takes = params, accepted
        if (inner := _inner(params)) is not None:  # the features are those of the learner inside
            sized = params["learner"] = dict(params["learner"])
            takes = inspect.signature(inner).parameters
        features: Vectorizer | None = None
        if takes_records(body, loop, sized, takes):
            features = vectorizer(body, sized)
            sized["dim"] = features.dim
            within_keys(self._type, params, body)
        else:
            self._infer(sized, "dim", takes, _dim(body, loop), "features")
        if body.labels is not None:
            once("labels", body.labels)
        self._infer(params, "n_classes", accepted, len(body.labels) if body.labels is not None else None, "labels")
        made = build_object(self._type, params)
        if features is not None:
            made = around(features, made)
        # a vectorizer bounds the numbers itself
        self._take(body, made, terms, guarded=features is None, shared=Shared())
        terms.check(self.card, self.feedback)
        self._share(settled(body, unwrap(made), self.feedback, records=features is not None))
        self.loop.admit()

    @classmethod
    def recorded(
        cls, body: ModelBody, settings: Any, terms: Terms, *, guarded: bool, shared: Shared | None = None
    ) -> Blueprint:
        """A model that was made before, with the very settings that its making recorded (`Blueprint.record`).

        What a learner would refuse today is not asked anew, and defaults are those of that time. It is guarded if it
        was then, and its keys share what they shared then.
        """
        blueprint = cls.__new__(cls)
        with judged():
            made = serialization.unpack(settings)
            if not isinstance(made, Learner):
                raise InvalidRecord("the record of the model's settings is no learner", "restore it from a backup")
            blueprint._take(body, made, terms, guarded=guarded, shared=shared or Shared())
            if terms.labels:
                refuse_large(type(unwrap(made)), {**unwrap(made).params, "n_classes": len(blueprint.labels or ())})
        return blueprint

    def _take(self, body: ModelBody, learner: Learner, terms: Terms, *, guarded: bool, shared: Shared) -> None:
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
        self.loop.suit(self.card)
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
    def each(self) -> Learner:
        """A fresh learner of the kind that every key has, or the model if it has no keys."""
        return self._each.fresh()

    @property
    def shared_start(self) -> str | None:
        """How a newcomer among the keys begins, if it does not begin with nothing: see `Learner.shared_start`."""
        return unwrap(self._made).shared_start if self.shared.start else None

    @property
    def params(self) -> dict[str, Any]:
        """The learner's settings as they were asked for; of a recommended one, those that are in force."""
        if self.body.learner is not None:
            return self.body.params
        told: dict[str, Any] = serialization.pack(self.asked)
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
        return usual_feedback(self.body, type(self.loop), self.card.kinds)

    @property
    def shown_features(self) -> list[str] | dict[str, Any] | None:
        """How features are taken, as the model's reply says it."""
        if self.features is not None:
            return shown(self.features, self.terms.text)
        form = self.body.features
        return form if isinstance(form, list | None) else {"hashed": form.hashed}

    def record(self) -> Any:
        """The settings of its learners, in what JSON can say, for `recorded`."""
        return serialization.pack(self._made)

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
        return Blueprint.recorded(body, serialization.pack(self.reader(self._made).fresh()), self.terms, guarded=False)

    def reader(self, learner: Learner) -> Learner:
        """Of a learner that takes records: the one inside, whose card says what it hears."""
        return unwrap(learner)

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
    return fresh.guard() if guarded and _features(unwrap(made)) is not None else fresh


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
        return built(given) if body.learner is None else None
    if "space" not in loop.facts:
        raise Impossible(f"knobs does not belong to the loop {loop.name}", "leave knobs out, or make a model of tune")
    if given is not None:
        raise Impossible("knobs stands beside a space in params", "give one of them")
    return features.read_knobs(body.knobs)


def _in_order(body: ModelBody, learner: Learner) -> ModelBody:
    """The settings with their knobs in the order of the learner's: one spelling of them sorts the names."""
    space = learner.params.get("space")
    if not isinstance(space, Knobs) or body.knobs is None:
        return body
    return msgspec.structs.replace(body, knobs=features.ordered(body.knobs, space.names))


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
