"""The two verbs, and what surrounds them: numbering, admission, registration, saving and loading.

A checksum finds damage in a saved learner, not malice. So nothing is made before its size is known to fit the file,
every array must have the dtype and the shape of a fresh learner's, and whatever a constructor says is said in terms of
the file. What comes back to a learner is checked here too: the row of a decision, a reward for what was shown.
"""

from __future__ import annotations

import importlib
import math
import os
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from smidgen import checks, markup, serialization
from smidgen.decision import Decision, FloatArray
from smidgen.errors import (
    FOREIGN,
    AlreadyLearnt,
    CorruptFile,
    DataMissing,
    DecisionMismatch,
    InvalidArgument,
    InvalidFeedback,
    InvalidRecord,
    MissingExtra,
    NotFinite,
    NotSaveable,
    NotTeachable,
    SmidgenError,
)
from smidgen.features import Row, Rows, as_row
from smidgen.features.row import DOUBLE
from smidgen.learners import saving
from smidgen.learners.card import Card
from smidgen.learners.guard import Guard
from smidgen.learners.pacing import Pacer
from smidgen.learners.plugins import discover
from smidgen.learners.saving import Header
from smidgen.learners.sizes import LABEL, n_labels
from smidgen.settings import VERSION, VersionedSettings, defaults_at, equal, fingerprint, non_default_args
from smidgen.state import LearntNumbers

#: A learner of no more bytes than this is made at once, whatever the size of its file.
SMALL = 1 << 24
_HINT = "give what Learner.save wrote; if it was that, restore it from a copy"
_FEW = ((4, 4), (8, 4), (4, 8))  # features and classes of learners to measure by
#: The settings that say how large a learner is; of arrays among the settings it is their extents.
_SIZES = {"dim": "features", "n_classes": "classes", "labels": "classes"}


def load_state(header: Header, arrays: dict[str, NDArray[Any]], size: int, source: str) -> Learner:
    """The learner that a file of ``size`` bytes holds; ``source`` is its name in refusals."""
    if header.kind not in learners:
        discover()
    if header.kind not in learners:
        raise NotSaveable(
            f"{source} holds a {header.kind}, which is not registered", "import the module that defines it first"
        )
    cls = learners[header.kind]
    if header.settings_version > cls.settings_version or header.state_version > cls.state_version:
        raise NotSaveable(f"{source} holds a {header.kind} written by a newer version of smidgen", "upgrade smidgen")
    try:
        _refuse_swollen(cls, header, size, source)
        learner = _construct(cls, header, header.params)
        _fill(learner, header, {name: np.array(array) for name, array in arrays.items()})
    except (NotSaveable, CorruptFile, MissingExtra):
        raise
    except SmidgenError as error:
        raise CorruptFile(f"{source} is a damaged saved learner: {error.problem}", _HINT) from error
    except FOREIGN as error:
        raise CorruptFile(f"{source} is a damaged saved learner: {error!r}", _HINT) from error
    return learner


def _construct(cls: type[Learner], header: Header, params: Mapping[str, Any]) -> Learner:
    try:
        settings = serialization.unpack(dict(params))
    except InvalidRecord as error:  # a user's own structure
        raise NotSaveable(f"the settings of the {cls.__name__} cannot be read: {error.problem}", error.hint) from error
    return cls.at(header.settings_version, **settings)


def _fill(learner: Learner, header: Header, arrays: dict[str, NDArray[Any]]) -> None:
    learnt = LearntNumbers.from_ranges(arrays.pop("learnt"))
    guard, pacer = arrays.pop("guard", None), arrays.pop("pacer", None)
    if header.decided < learnt.end - 1:
        raise InvalidRecord(f"decision {learnt.end - 1} was learned and only {header.decided} were made", _HINT)
    state, notes = learner._upgrade(header.state_version, arrays, serialization.unpack(header.notes))
    learner._take_notes(notes)
    learner._check_state(state)
    learner._learnt, learner._decided, learner._taught = learnt, header.decided, header.taught
    learner._restore(state)
    if guard is not None:
        learner._guard = Guard.of(learner, guard)
    if pacer is not None and learner._pacer is not None:
        learner._pacer.restore(pacer.tobytes())


def check_shapes(fresh: Mapping[str, NDArray[Any]], state: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays that do not fit a learner: other names, dtypes or extents. An extent that begins at 0 may grow."""
    if fresh.keys() != state.keys():
        raise InvalidRecord(f"it has the arrays {sorted(state)} and must have {sorted(fresh)}", _HINT)
    for name, like in fresh.items():
        array = state[name]
        if array.shape == like.shape and array.dtype == like.dtype:
            continue
        grown = array.ndim == like.ndim and all(b in (a, 0) for a, b in zip(array.shape, like.shape, strict=True))
        if not grown or array.dtype != like.dtype:
            raise InvalidRecord(f"{name} is a {array.dtype} of {array.shape} and must fit {like.shape}", _HINT)


def _refuse_swollen(cls: type[Learner], header: Header, size: int, source: str) -> None:
    """Refuse settings whose learner would be far larger than its file: by the shapes of small ones.

    Extents grow as the features and the classes do, so three small learners tell those of the large one.
    """
    sizes = {"features": 0, "classes": 1}
    _measure(header.params, sizes)
    features, classes = sizes["features"], sizes["classes"]
    if 8 * classes * features * features <= SMALL:
        return
    try:
        small = [_shapes(_construct(cls, header, _resized(header.params, *few))) for few in _FEW]
        bytes_ = sum(
            width * math.prod(_extent(few, features, classes) for few in zip(one, more, wider, strict=True))
            for (width, one), (_, more), (_, wider) in zip(*small, strict=True)
        )
    except (SmidgenError, *FOREIGN):
        bytes_ = 8 * classes * features * features
    bytes_ = min(bytes_, _declared_size(cls, header.params, features))
    if bytes_ + 8 * classes > SMALL + 4 * size:
        raise CorruptFile(
            f"{source} is a damaged saved learner: {size:,} bytes for {features:,} features and {classes:,} classes",
            _HINT,
        )


def _declared_size(cls: type[Learner], packed: Mapping[str, Any], features: int) -> float:
    """Size according to the metadata, including a nested learner, without creating one; infinity if unknown."""
    inside = packed.get("learner")
    kind = inside.get(serialization.TAG) if isinstance(inside, dict) else None
    if isinstance(inside, dict) and isinstance(kind, str) and kind in learners:
        return _declared_size(learners[kind], inside, features) + 1_000 * features
    given = {name: value for name, value in packed.items() if name not in (serialization.TAG, VERSION)}
    if not isinstance(given.get("dim"), int):
        return math.inf
    try:
        return cls.card.size({**defaults_at(cls, packed.get(VERSION, cls.settings_version)), **given})
    except (SmidgenError, *FOREIGN):
        return math.inf


def _extent(small: tuple[int, ...], features: int, classes: int) -> int:
    """An extent that is known for a few features and classes, for many."""
    base, more, wider = small
    return base + (more - base) * -(-(features - 4) // 4) + (wider - base) * -(-(classes - 4) // 4)


def _shapes(learner: Learner) -> list[tuple[int, tuple[int, ...]]]:
    return [(array.itemsize, array.shape) for array in learner._state().values() if array.ndim]


def _measure(packed: dict[str, Any], sizes: dict[str, int]) -> None:
    """The largest number of features and of classes among packed settings."""
    for name, value in packed.items():
        if isinstance(value, dict):
            _measure(value, sizes)
        elif isinstance(value, list):
            if name == "shape":
                sizes["features"] = max(sizes["features"], *(n for n in value if isinstance(n, int)), 0)
            elif name in _SIZES:
                sizes[_SIZES[name]] = max(sizes[_SIZES[name]], len(value))
            for item in value:
                if isinstance(item, dict):
                    _measure(item, sizes)
        elif name in _SIZES and isinstance(value, int):
            sizes[_SIZES[name]] = max(sizes[_SIZES[name]], value)


def _resized(value: Any, features: int, classes: int, name: str = "") -> Any:
    """Packed settings with small sizes in place of the large ones."""
    if isinstance(value, dict) and value.get(serialization.TAG) == "array":
        array = serialization.unpack(value)
        return serialization.pack(array[tuple(slice(features) for _ in array.shape)])
    if isinstance(value, dict):
        return {key: _resized(item, features, classes, key) for key, item in value.items()}
    if isinstance(value, list):
        kept = value[:classes] if name in _SIZES else value
        return [_resized(item, features, classes) for item in kept]
    if isinstance(value, int) and name in _SIZES:
        return features if _SIZES[name] == "features" else classes
    return value


#: What a learner remembers, as arrays.
State: TypeAlias = dict[str, NDArray[Any]]
#: Turns arrays and notes of one version into those of the next.
Upgrade: TypeAlias = Callable[[State, Mapping[str, Any]], tuple[State, Mapping[str, Any]]]


class Learner(VersionedSettings, ABC):
    """Base of learners: decide, receive a little feedback, take one step.

    An algorithm says how it chooses (`_decide`, `_predict`), how it steps (`_learn`), and what it remembers (`_state`,
    `_restore`). All else is here, the same for every learner.

    Its arguments are those that it gives as ``params``, or else those of its constructor as they came. An argument with
    a default may be added at any time. When a default changes, raise `settings_version` and put the old default into
    `older_settings`; when the arrays change, raise `state_version` and say in `older_state` how to read the old ones.
    """

    #: What people and programs want to know of it; set by `register`.
    card: ClassVar[Card]
    #: Increases when the arrays of `_state`, or the notes next to them, change.
    state_version: ClassVar[int] = 1
    #: For each older number: from its arrays and notes to those of the next.
    older_state: ClassVar[Mapping[int, Upgrade]] = MappingProxyType({})
    #: True if its step needs the very rows that decided, since it goes by the scores that a decision records.
    keeps_rows: ClassVar[bool] = False
    _arguments: Mapping[str, Any]
    #: What bounds the influence of one feedback, if anything does.
    _guard: Guard | None = None
    #: What keeps to a budget, if there is one.
    _pacer: Pacer | None = None

    def __new__(cls, *_: Any, **arguments: Any) -> Self:
        """Keep the arguments as they came, for `__init__` to record."""
        made = super().__new__(cls)
        made._arguments = arguments
        return made

    def __init__(self, *, params: Mapping[str, Any] | None = None, seed: int) -> None:
        given = self._arguments
        del self._arguments  # not by way of __dict__, which would make every attribute slower to find
        self._seed = checks.seed(seed)
        cls = type(self)
        if params is None:
            params = {**defaults_at(cls, cls.settings_version), **given}
        self._params = {**params, "seed": self._seed}
        self._decided = 0
        self._taught = 0
        self._learnt = LearntNumbers()
        self._kind = cls.__name__
        self._built_at = cls.settings_version
        self._asked = non_default_args(cls, self._params, self._built_at)
        self._settings = fingerprint(self._kind, self._built_at, self._asked)

    @classmethod
    def estimate_size(cls, arguments: Mapping[str, Any]) -> int:
        """Estimate the bytes of a fresh learner by its card, and those of its labels."""
        card = getattr(cls, "card", None)
        return 0 if card is None else card.size(arguments) + LABEL * n_labels(arguments)

    @classmethod
    def at(cls, version: int, **arguments: Any) -> Self:
        """A learner with the defaults of an older `settings_version` wherever an argument is not given.

        Examples
        --------
        >>> import smidgen
        >>> smidgen.PreferencePerceptron.at(1, dim=2)
        PreferencePerceptron(dim=2, seed=0)
        """
        defaults = defaults_at(cls, version)
        if version == cls.settings_version:
            return cls(**arguments)
        made = cls(**{**defaults, **arguments})
        now = defaults_at(cls, cls.settings_version)
        silent = {  # what the constructor does not mention, since it is what it would do unasked
            name: value
            for name, value in arguments.items()
            if name not in made._params and name in now and equal(value, now[name])
        }
        made._built_at = version
        made._asked = non_default_args(cls, {**silent, **made._params}, version)
        made._settings = fingerprint(made._kind, version, made._asked)
        return made

    def fresh(self, **changes: Any) -> Self:
        """A learner with the same settings, but for changes, that has learnt nothing."""
        return type(self).at(self.built_at, **{**self._asked, **changes})

    def decide(self, context: Any = None) -> Decision:
        """Choose an action for ``context`` (some learners need none). Changes nothing but the count of decisions.

        With a budget it also pays the decision, so that prices move.

        A learner may keep what it computed at hand until the decision is learnt; that changes the time, not the step.
        """
        number = self._decided + 1
        decision = self._decide(context, number)
        self._decided = number
        if decision.costs is not None and self._pacer is not None:
            self._pacer.pay(decision.costs_of_action())
        return decision

    def learn(self, decision: Decision, feedback: Any) -> None:
        """Take one step from the feedback on a decision: after any delay, in any order, once per decision."""
        self._admit(decision)
        if self._guard is None:
            self._learn(decision, feedback)
        else:
            self._guard.learn(self, decision, feedback)
        number = decision.number
        self._learnt.add(number)
        if number > self._decided:  # a twin's log leaves its numbers taken here too
            self._decided = number

    def learn_many(self, decisions: Sequence[Decision], feedback: Sequence[Any]) -> None:
        """Learn from each decision in turn, as `learn` does, bit for bit; sooner where the learner knows how.

        A refusal leaves what came before it learnt, and nothing of what comes after.
        """
        for decision, report in zip(decisions, feedback, strict=True):
            self.learn(decision, report)

    def _learnt_next(self, rounds: int) -> None:
        """Count this many more decisions as learned, after a compiled stream."""
        self._learnt.add_range(self._decided + 1, self._decided + 1 + rounds)
        self._decided += rounds

    def teach(self, context: Any, answer: Any) -> None:
        """Learn from an example whose answer is known (history, a few seeds), without a decision.

        The answer is the true label, the relevance, the best object, as the learner's loop has it. Examples take no
        decision number; `rounds` counts them. A learner that learns only from what it has shown refuses.
        """
        number = self._taught + 1
        self._teach(context, answer, number)
        self._taught = number

    def guard(self) -> Self:
        """From now on, let no feedback count for much more than others (`smidgen.learners.guard`); returns itself."""
        if self._guard is None:
            self._guard = Guard()
        return self

    @property
    def guarded(self) -> int | None:
        """Number of decisions whose features were scaled down before learning; None without a guard."""
        return None if self._guard is None else self._guard.scaled

    @property
    def shared_start(self) -> str | None:
        """Initial state for a new learner of the same kind, taken from ones that have learned.

        ``"mean"``: with the mean of what they give (`start`); ``"pooled"``: with what one gives that was taught all of
        theirs; None: with nothing.
        """
        return None

    def start(self) -> State:
        """State that a new learner may adopt from this one: weights, and further fields of its kind.

        Examples
        --------
        >>> import numpy as np, smidgen
        >>> known = smidgen.PreferencePerceptron(dim=2)
        >>> known.learn(known.decide(smidgen.Choice(np.eye(2))), 1)
        >>> smidgen.PreferencePerceptron(dim=2, seed=7).start_from(known.start()).predict(smidgen.Choice(np.eye(2)))
        1
        """
        if self.shared_start is None:
            raise InvalidArgument(
                f"a {self._kind} with these settings has no start to share", "start every learner from scratch"
            )
        return self._start()

    def start_from(self, start: Mapping[str, NDArray[Any]]) -> Self:
        """Begin with what `start` gave, of another with the same settings or of several; returns itself.

        What it has learnt, and how sure it is, begins at nothing all the same, but for what its kind shares.
        """
        like = self.start()
        if self.rounds:
            raise InvalidArgument(
                f"the learner has already learned {self.rounds} rounds", "give a start to a fresh learner"
            )
        if like.keys() != start.keys() or any(start[name].shape != array.shape for name, array in like.items()):
            raise InvalidArgument("the start belongs to another kind of learner", "pass the value that start returned")
        if not all(np.isfinite(array).all() for array in start.values()):
            raise NotFinite("the start has numbers that are not finite", "pass the value that start returned")
        self._start_from(start)
        if self._guard is not None:
            self._guard.begin(start)
        return self

    def predict(self, context: Any = None) -> Any:
        """The greedy action for ``context``. Changes nothing and draws no randomness."""
        return self._predict(context)

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """A copy of the weights."""

    @property
    def rounds(self) -> int:
        """Number of decisions learned from, plus the number of examples."""
        return len(self._learnt) + self._taught

    @property
    def decisions(self) -> int:
        """Number of decisions made, which is the number of the latest one."""
        return self._decided

    @property
    def params(self) -> dict[str, Any]:
        """The arguments that make a twin of this learner: ``type(learner)(**learner.params)``."""
        return dict(self._params)

    @property
    def asked(self) -> dict[str, Any]:
        """The arguments that differ from the defaults at `built_at`: with that number, all that names its settings."""
        return dict(self._asked)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file (arrays and JSON, never pickle), or leave the file as it was.

        `smidgen.load` gives back a learner that continues bit for bit.
        """
        saving.write_file(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes; `Learner.from_bytes` restores a learner that continues bit for bit."""
        try:
            params = serialization.pack(self._asked)
            notes = serialization.pack(self._notes())
        except NotSaveable as error:
            raise NotSaveable(f"{type(self).__name__} cannot be saved: {error.problem}", error.hint) from error
        header = saving.Header(
            kind=self._kind,
            settings_version=self.built_at,
            state_version=self.state_version,
            params=params,
            decided=self._decided,
            taught=self._taught,
            notes=notes,
        )
        more = {} if self._guard is None else {"guard": self._guard.array(self)}
        if self._pacer is not None:
            more["pacer"] = np.frombuffer(self._pacer.to_bytes(), np.uint8)
        return saving.encode_learner(header, {"learnt": self._learnt.ranges(), **more, **self._state()})

    @staticmethod
    def from_bytes(content: bytes, source: str = "the record") -> Learner:
        """Read what `to_bytes` gave; ``source`` is its name in refusals."""
        header, arrays = saving.decode_learner(content, source)
        return load_state(header, arrays, len(content), source)

    def to_compact(self, decision: Decision) -> bytes:
        """A decision of this learner in as few bytes as `recall` needs: for logs that hold millions of them.

        Examples
        --------
        >>> import numpy as np, smidgen
        >>> learner = smidgen.PreferencePerceptron(dim=10)
        >>> decision = learner.decide(smidgen.Ranking(np.ones((10, 10))))
        >>> content = learner.to_compact(decision)
        >>> learner.from_compact(content) == decision
        True
        """
        self._refuse_foreign(decision)
        return saving.write_compact(decision)

    def from_compact(self, content: bytes | memoryview) -> Decision:
        """The decision that `brief` wrote, of this learner or of a twin."""
        return saving.read_compact(content, self._kind, self._settings)

    def from_compact_many(self, contents: Sequence[bytes]) -> list[Decision]:
        """Like `recall` for several at once, faster."""
        return saving.read_compact_many(contents, self._kind, self._settings)

    def adopt(self, decision: Decision) -> Decision:
        """A decision of this learner as it was before some of its settings changed, as one of its own."""
        if decision.settings == self._settings or decision.kind != self._kind:
            return decision
        return msgspec.structs.replace(decision, settings=self._settings)

    def reserve(self, number: int) -> None:
        """Take the numbers up to this one as given out: by a log of decisions that are still unanswered, say."""
        self._decided = max(self._decided, checks.whole("number", number, "give the number of a decision", at_least=0))

    def withdraw(self, number: int) -> None:
        """Take back the numbers after this one: their decisions were made and went nowhere."""
        self._decided = max(self._learnt.end - 1, checks.whole("number", number, "give a number", at_least=0))

    def to_record(self) -> dict[str, Any]:
        """The arguments that make a fresh twin, for learners that are settings of other learners."""
        return self.params

    def to_settings(self) -> dict[str, Any]:
        """Record of a learner that is a setting: the requested arguments, and the version of the defaults."""
        return {**self._asked, VERSION: self.built_at}

    @classmethod
    def from_settings(cls, fields: Mapping[str, Any]) -> Self:
        """A fresh learner from `to_settings`."""
        given = {name: value for name, value in fields.items() if name != VERSION}
        return cls.at(fields.get(VERSION, cls.settings_version), **given)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._params.items())
        if self.built_at != self.settings_version:
            return f"{self._kind}.at({self.built_at}, {arguments})"
        return f"{self._kind}({arguments})"

    def _repr_html_(self) -> str:
        shown = {**self._params, "decisions": self.decisions, "rounds learnt": self.rounds}
        return markup.pairs(self._kind, shown)

    @abstractmethod
    def _decide(self, context: Any, number: int) -> Decision:
        """Make the decision of that number; change nothing, but for what is cached until it is learnt."""

    @abstractmethod
    def _learn(self, decision: Decision, feedback: Any) -> None:
        """Check the feedback, then step; a refusal leaves everything as it was."""

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """Learn the example of that number; a refusal leaves everything as it was."""
        raise NotTeachable(
            f"a {self._kind} cannot be taught: it learns by comparing its own decision with the feedback",
            "call decide and learn, or teach another kind of learner",
        )

    def _start(self) -> State:
        """Like `start`, for a learner that can share one."""
        return {"w": self.weights}

    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None:
        """Take over a start that was checked."""
        raise NotImplementedError

    @abstractmethod
    def _predict(self, context: Any) -> Any: ...

    @abstractmethod
    def _state(self) -> State: ...

    @abstractmethod
    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...

    def _notes(self) -> dict[str, Any]:
        """State other than the arrays: values that `smidgen.serialization` can write."""
        return {}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        """Take over what `_notes` gave, before `_restore`."""
        return

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays that `_restore` cannot take: those of another form than a fresh learner's.

        An extent that is 0 when the learner is fresh may be anything. Override it if arrays grow in other ways.
        """
        check_shapes(self._state(), state)

    def _upgrade(self, version: int, state: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        """Arrays and notes of an older version in the form of today."""
        for number in range(version, self.state_version):
            if number not in self.older_state:
                raise NotSaveable(
                    f"the arrays of this {self._kind} have version {number}, which is no longer supported",
                    "read it with an older version of smidgen",
                )
            state, notes = self.older_state[number](state, notes)
        return state, notes

    def _admit(self, decision: Decision) -> None:
        if decision.__class__ is not Decision:
            self._refuse_foreign(decision)
        if decision.kind != self._kind or decision.settings != self._settings:
            self._refuse_foreign(decision)
        if decision.number < self._learnt.end and decision.number in self._learnt:
            raise AlreadyLearnt(
                f"decision {decision.id} has already been learned",
                "learn each decision once; drop the duplicate",
            )

    def _admissible(self, decision: Decision) -> bool:
        """True if `_admit` accepts it."""
        if decision.__class__ is not Decision or decision.kind != self._kind or decision.settings != self._settings:
            return False
        return decision.number >= self._learnt.end or decision.number not in self._learnt

    def _refuse_foreign(self, decision: Decision) -> None:
        """Refuse an object that is not a decision, or a decision of other settings."""
        if not isinstance(decision, Decision):
            raise InvalidArgument(
                f"the first argument of learn is a {type(decision).__name__}, not a Decision",
                "keep what decide returned, or read it back with Decision.from_json",
            )
        if decision.kind != self._kind or decision.settings != self._settings:
            raise DecisionMismatch(
                f"decision {decision.id} was made by a {decision.kind} with other settings than this {self!r}",
                "give it to the learner that made it, or to one with the same arguments (learner.params)",
            )


class PricedLearner(Learner):
    """A learner that accepts the costs of its decisions, and that may have a budget for them."""

    def learn(self, decision: Decision, feedback: Any, *, costs: Mapping[str, float] | None = None) -> None:
        """Take one step from the feedback on a decision: after any delay, in any order, once per decision.

        Parameters
        ----------
        decision, feedback
            The decision, as `decide` returned it, and its reward.
        costs
            With a budget: the actual cost of the decision, by currency, e.g. ``{"usd": 0.0012}``.
        """
        pacer = None if costs is None else self._required_pacer()
        paid = None if pacer is None else pacer.check(costs)
        super().learn(decision, feedback)
        if pacer is not None and paid is not None:
            pacer.report(self._priced_rows(decision), decision, paid)

    def learn_costs(self, decision: Decision, costs: Mapping[str, float]) -> None:
        """Learn the actual cost of a decision, before or after its reward or without one; once per decision.

        It replaces the cost that `decide` paid, and the estimates of costs learn from it.
        """
        pacer = self._required_pacer()
        paid = pacer.check(costs)
        if not isinstance(decision, Decision) or decision.kind != self._kind or decision.settings != self._settings:
            self._refuse_foreign(decision)
        pacer.report(self._priced_rows(decision), decision, paid)

    def _required_pacer(self) -> Pacer:
        if self._pacer is None:
            raise InvalidFeedback("costs are given and the learner has no budget", "make it with budget=Budget({…})")
        return self._pacer

    @abstractmethod
    def _priced_rows(self, decision: Decision) -> Rows:
        """Rows of the candidates of a decision, from which costs are learned."""


def load(path: str | os.PathLike[str]) -> Learner:
    """Read a learner that `Learner.save` wrote; it continues bit for bit.

    Examples
    --------
    >>> import os, tempfile, smidgen
    >>> path = os.path.join(tempfile.mkdtemp(), "ranker.smidgen")
    >>> smidgen.PreferencePerceptron(dim=2).save(path)
    >>> smidgen.load(path)
    PreferencePerceptron(dim=2, seed=0)
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise DataMissing(f"there is no file {path}", "check the path; Learner.save writes such files") from error
    except (OSError, TypeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidArgument(
            f"{checks.shown(path)} cannot be read: {why}", "give the path of a file that Learner.save wrote"
        ) from error
    return Learner.from_bytes(content, str(path))


L = TypeVar("L", bound=type[Learner])
#: Every learner that is registered, by the name of its class.
learners: dict[str, type[Learner]] = {}
#: Their cards.
cards: dict[str, Card] = {}


def register(card: Card) -> Callable[[L], L]:
    """Enter a learner under its class name; ``cls.card`` is its card.

    Examples
    --------
    >>> import smidgen
    >>> @smidgen.register(smidgen.Card(loop="choose", feedback="better", example={"dim": 2}))
    ... class Contrary(smidgen.PreferencePerceptron):
    ...     '''One of yours.'''
    >>> Contrary.card.loops
    ('choose',)
    >>> del smidgen.learners.learners["Contrary"], smidgen.learners.cards["Contrary"]  # so that no other page sees it
    """
    if not isinstance(card, Card):
        raise InvalidArgument(
            f"register was given {checks.shown(card)}", 'write @smidgen.register(smidgen.Card(loop="choose", …))'
        )

    def enter(cls: L) -> L:
        name = cls.__name__
        if name in learners and not serialization.same_class(learners[name], cls):
            raise InvalidArgument(
                f"a learner called {name} is already registered, by {learners[name].__module__}",
                "give the class another name",
            )
        serialization.structure(cls)
        cls.card = card
        learners[name], cards[name] = cls, card
        return cls

    return enter


def discover_package(package: str) -> dict[str, type[Learner]]:
    """Import every file of a package, and give the learners that they register, by name."""
    home = importlib.import_module(package)
    for each in pkgutil.iter_modules(home.__path__):
        importlib.import_module(f"{package}.{each.name}")
    return {name: cls for name, cls in learners.items() if cls.__module__.startswith(f"{package}.")}


def kept_row(decision: Decision, dim: int, dtype: DTypeLike = DOUBLE) -> Row:
    """The features that a decision was made on, if they are of our kind."""
    row = decision.context
    if not isinstance(row, Row):
        raise DecisionMismatch(
            f"decision {decision.id} holds a {type(row).__name__}, not a row", "pass the decision as decide returned it"
        )
    return row if row.dim == dim and row.values.dtype == dtype else as_row(row, dim, dtype)


def as_reward(feedback: Any) -> float:
    """Check a reward."""
    if type(feedback) is float and 0.0 <= feedback <= 1.0:
        return feedback
    hint = "give a number from 0 (worst) to 1 (best); map other ranges linearly"
    if isinstance(feedback, (bool, np.bool_)) or not isinstance(feedback, (int, float, np.integer, np.floating)):
        raise InvalidFeedback(f"the reward is {feedback!r} and must be a number in [0, 1]", hint)
    if not 0.0 <= feedback <= 1.0:  # NaN too
        raise InvalidFeedback(f"the reward is {feedback!r} and must be in [0, 1]", hint)
    return float(feedback)


def as_bit_or_reward(feedback: Any) -> float:
    """Check what says how right a label was: True, False, or a reward."""
    if feedback is True or feedback is False or isinstance(feedback, np.bool_):
        return 1.0 if feedback else 0.0
    try:
        return as_reward(feedback)
    except InvalidFeedback as error:
        raise InvalidFeedback(
            f"the feedback is {feedback!r} and must be True (the label was correct), False, or a reward in [0, 1]",
            "compare the label with the truth, or use a full-information learner to give the label itself",
        ) from error
