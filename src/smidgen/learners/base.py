"""The two verbs, and what surrounds them: numbering, admission, saving."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from smidgen import checks, records
from smidgen.errors import AlreadyLearnt, DecisionMismatch, InvalidArgument, NotSaveable, NotTeachable
from smidgen.learners import storage
from smidgen.learners.card import Card, learners
from smidgen.state import LearntNumbers
from smidgen.types import Decision, FloatArray


class Learner(ABC):
    """A decision goes out, a little feedback comes back, the model takes one step.

    An algorithm says how it chooses (`_decide`, `_predict`), how it steps (`_learn`), and what it remembers (`_state`,
    `_restore`). All else is here, the same for every learner.
    """

    #: What people and programs want to know of it; set by `register`.
    card: ClassVar[Card]

    def __init__(self, *, params: Mapping[str, Any], seed: int) -> None:
        self._seed = checks.seed(seed)
        self._params = {**params, "seed": self._seed}
        self._decided = 0
        self._taught = 0
        self._learnt = LearntNumbers()
        self._kind = type(self).__name__
        self._settings = _fingerprint(self._kind, self._params)

    def decide(self, context: Any = None) -> Decision:
        """Choose an action for ``context`` (some learners need none). Changes nothing but the count of decisions."""
        number = self._decided + 1
        decision = self._decide(context, number)
        self._decided = number
        return decision

    def learn(self, decision: Decision, feedback: Any) -> None:
        """Take one step from the feedback on a decision: after any delay, in any order, once per decision."""
        self._admit(decision)
        self._learn(decision, feedback)
        number = decision.number
        self._learnt.add(number)
        if number > self._decided:  # a twin's log leaves its numbers taken here too
            self._decided = number

    def teach(self, context: Any, answer: Any) -> None:
        """Learn from an example whose answer is known (history, a few seeds), without a decision.

        The answer is the true label, the relevance, the best object, as the learner's loop has it. Examples take no
        decision number; `rounds` counts them. A learner that learns only from what it has shown refuses.
        """
        number = self._taught + 1
        self._teach(context, answer, number)
        self._taught = number

    def predict(self, context: Any = None) -> Any:
        """The greedy action for ``context``. Changes nothing and draws no randomness."""
        return self._predict(context)

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """A copy of the weights."""

    @property
    def rounds(self) -> int:
        """How many decisions have been learnt from, and how many examples."""
        return len(self._learnt) + self._taught

    @property
    def decisions(self) -> int:
        """How many decisions have been made: the number of the latest one."""
        return self._decided

    @property
    def params(self) -> dict[str, Any]:
        """The arguments that make a twin of this learner: ``type(learner)(**learner.params)``."""
        return dict(self._params)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file (arrays and JSON, never pickle), or leave the file as it was.

        `smidgen.load` gives back a learner that continues bit for bit.
        """
        storage.write(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes; `Learner.from_bytes` gives back a learner that continues bit for bit."""
        try:
            params = records.pack(self._params)
        except NotSaveable as error:
            raise NotSaveable(f"{type(self).__name__} cannot be saved: {error.problem}", error.hint) from error
        header = {"kind": type(self).__name__, "params": params, "decided": self._decided, "taught": self._taught}
        header |= {"notes": records.pack(self._notes())}
        return storage.encode(header, {"learnt": self._learnt.ranges(), **self._state()})

    @staticmethod
    def from_bytes(content: bytes, source: str = "the record") -> Learner:
        """Read what `to_bytes` gave; ``source`` is its name in refusals."""
        header, arrays = storage.decode(content, source)
        kind = header["kind"]
        if kind not in learners:
            raise NotSaveable(f"{source} holds a {kind}, which is not registered", "import the module that defines it")
        learner = learners[kind](**records.unpack(header["params"]))
        learner._learnt = LearntNumbers.from_ranges(arrays.pop("learnt"))
        learner._decided = int(header["decided"])
        learner._taught = int(header.get("taught", 0))
        learner._take_notes(records.unpack(header["notes"]))
        learner._restore({name: np.array(array) for name, array in arrays.items()})
        return learner

    def reserve(self, number: int) -> None:
        """Take the numbers up to this one as given out: by a log of decisions that are still unanswered, say."""
        self._decided = max(self._decided, checks.whole("number", number, "give the number of a decision", at_least=0))

    def to_record(self) -> dict[str, Any]:
        """The arguments that make a fresh twin, for learners that are settings of other learners."""
        return self.params

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Self:
        """A fresh learner from `to_record`."""
        return cls(**fields)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._params.items())
        return f"{type(self).__name__}({arguments})"

    @abstractmethod
    def _decide(self, context: Any, number: int) -> Decision:
        """Make the decision of that number; change nothing."""

    @abstractmethod
    def _learn(self, decision: Decision, feedback: Any) -> None:
        """Check the feedback, then step; a refusal leaves everything as it was."""

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        """Learn the example of that number; a refusal leaves everything as it was."""
        raise NotTeachable(
            f"a {self._kind} cannot be taught: it compares what it has shown with what came back",
            "let it decide and learn, or teach a learner of another kind",
        )

    @abstractmethod
    def _predict(self, context: Any) -> Any: ...

    @abstractmethod
    def _state(self) -> dict[str, NDArray[Any]]: ...

    @abstractmethod
    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...

    def _notes(self) -> dict[str, Any]:
        """What is remembered beside the arrays: values that `smidgen.records` can write."""
        return {}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        """Take over what `_notes` gave, before `_restore`."""
        return

    def _admit(self, decision: Decision) -> None:
        if not isinstance(decision, Decision):
            raise InvalidArgument(
                f"learn was given a {type(decision).__name__}, not a Decision",
                "keep what decide returned, or read it back with Decision.from_json",
            )
        if decision.kind != self._kind or decision.settings != self._settings:
            raise DecisionMismatch(
                f"decision {decision.id} was made by a {decision.kind} with other settings than this {self!r}",
                "give it to the learner that made it, or to one with the same arguments (learner.params)",
            )
        if decision.number < self._learnt.end and decision.number in self._learnt:
            raise AlreadyLearnt(
                f"decision {decision.id} has been learnt already",
                "each decision is learnt once; drop the duplicate",
            )


def _fingerprint(kind: str, params: Mapping[str, Any]) -> str:
    try:
        return records.fingerprint([kind, dict(params)])
    except NotSaveable:  # a setting without a registered name: it can be told apart, but not saved
        return records.fingerprint([kind, {name: repr(value) for name, value in params.items()}])


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
    return Learner.from_bytes(Path(path).read_bytes(), str(path))
