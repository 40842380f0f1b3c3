"""Between the wire and the learners: one translator per loop.

Each turns a request into a context, a decision into an answer, and feedback into what the learner's ``learn`` takes,
with the figure by which people judge the loop (the *measure*).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from smidgen.learners import Learner
from smidgen.service.loops.vectors import Vectors, sane
from smidgen.service.messages import CompactCandidates, DecisionBody, FeedbackBody, ModelBody
from smidgen.service.refusals import Impossible
from smidgen.structures import Choice, Ranking
from smidgen.types import Decision

Answer = dict[str, Any]


@dataclass(frozen=True)
class Reaction:
    """Feedback in the learner's own terms.

    Attributes
    ----------
    learn
        What ``learner.learn`` takes.
    measure
        The loop's figure: left unchanged (1 or 0), right, relevant, or the loss.
    position
        Where in the shown ranking the first clicked or preferred candidate stood, from 1.
    """

    learn: Any
    measure: float | None = None
    position: float | None = None


class Translator:
    """A loop of one model."""

    fields: ClassVar[tuple[str, ...]] = ()
    feedback: ClassVar[tuple[str, ...]] = ()
    measure: ClassVar[str] = ""

    def __init__(self, model: ModelBody, vectors: Vectors) -> None:
        self.model = model
        self.vectors = vectors

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """What the learner decides on, and the candidates' ids."""
        raise NotImplementedError

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """What the app is told."""
        raise NotImplementedError

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """What the learner is told."""
        raise NotImplementedError

    def check(self, body: DecisionBody) -> None:
        """Refuse fields of other loops."""
        for name in ("candidates", "top", "features"):
            if getattr(body, name) is not None and name not in self.fields:
                raise Impossible(f"{name} does not belong to the loop {self.model.loop}", self._wanted())
        for name in self.fields:
            if getattr(body, name) is None and name != "top":
                raise Impossible(f"{name} is missing", self._wanted())

    def only(self, body: FeedbackBody) -> tuple[str, Any]:
        """The one field of the feedback."""
        given = body.given()
        hint = f"the loop {self.model.loop} takes one of: {', '.join(self.feedback)}"
        if len(given) != 1:
            raise Impossible(f"the feedback has {len(given)} fields ({', '.join(given) or 'none'})", hint)
        ((name, value),) = given.items()
        if name not in self.feedback:
            raise Impossible(f"{name} is not feedback for the loop {self.model.loop}", hint)
        return name, value

    def _wanted(self) -> str:
        fields = ", ".join(self.fields) or "no fields"
        return f"a decision of the loop {self.model.loop} takes {fields} (and id, key)"


class Rank(Translator):
    """Candidates in, a ranking out; a better ranking or clicks back."""

    fields = ("candidates", "top")
    feedback = ("better", "clicked")
    measure = "left unchanged"

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """The documents to rank."""
        ids, rows = _candidates(body, self.vectors)
        return Ranking(rows, top=body.top or 5), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """All ids, best first, with their scores."""
        scores = decision.scores
        order = decision.action
        return {
            "ranking": [ids[i] for i in order],
            "scores": None if scores is None else [float(scores[i]) for i in order],
        }

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """The preferred candidates move to the front; the rest keep the shown order."""
        name, value = self.only(body)
        named = [value] if isinstance(value, str) else value
        chosen = _places(named, ids, name)
        shown, front = decision.action.tolist(), set(chosen)
        better = [*chosen, *(doc for doc in shown if doc not in front)]  # as `smidgen.from_clicks`
        position = next((float(place) for place, doc in enumerate(shown, 1) if doc in front), None)
        return Reaction(np.array(better, dtype=np.int64), float(better == shown), position)


class Choose(Translator):
    """Candidates in, one out; a better one back."""

    fields = ("candidates",)
    feedback = ("better",)
    measure = "left unchanged"

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """The items to choose from."""
        ids, rows = _candidates(body, self.vectors)
        return Choice(rows), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The chosen id; of a dueling bandit also its rival."""
        if np.ndim(decision.action):
            pair = [ids[i] for i in decision.action]
            return {"choice": pair[0], "pair": pair}
        return {"choice": ids[decision.action]}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """The better item; of a pair, which of the two."""
        name, value = self.only(body)
        if not isinstance(value, str):
            raise Impossible(f"{name} is a list", "name the one better candidate")
        (chosen,) = _places([value], ids, name)
        if not np.ndim(decision.action):
            return Reaction(chosen, float(chosen == decision.action))
        pair = [int(i) for i in decision.action]
        if chosen not in pair:
            raise Impossible(f"{value!r} was not one of the two that were shown", "name one of the pair")
        return Reaction(pair.index(chosen), float(chosen == pair[0]))


class Label(Translator):
    """Features in, a label out; right or wrong, or the right label, back."""

    fields = ("features",)
    feedback = ("correct", "label")
    measure = "accuracy"

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """The example."""
        return self.vectors.row(body.features), ()

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The label by its name."""
        return {"label": label_names(self.model)[decision.action]}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """One bit for a bandit; the label for its full-information relatives."""
        name, value = self.only(body)
        labels = label_names(self.model)
        if name == "label" and value not in labels:
            raise Impossible(f"{value!r} is not one of the labels", f"choose among {', '.join(labels)}")
        true = labels.index(value) if name == "label" else decision.action if value else None
        right = true == decision.action
        if needs_label(learner):
            if true is None:
                raise Impossible(
                    f"{type(learner).__name__} needs the right label, not only that this one is wrong",
                    'send {"label": …}',
                )
            return Reaction(true, float(right))
        return Reaction(right, float(right))


class Filter(Translator):
    """Features in, forward or drop out; the relevance back, if it was forwarded."""

    fields = ("features",)
    feedback = ("relevant",)
    measure = "precision"

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """The item; SIMPLE-FIL needs none and takes none into account."""
        return self.vectors.row(body.features), ()

    def check(self, body: DecisionBody) -> None:
        """SIMPLE-FIL decides without features."""
        if self.vectors.dim is not None or body.features is not None:
            super().check(body)

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """Forward or drop, with the margin and the threshold that it had to reach."""
        return {"forward": bool(decision.action), "margin": decision.margin, "threshold": decision.threshold}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """The relevance; a dropped item has none, unless the learner sees everything."""
        _, value = self.only(body)
        if not decision.action and not getattr(learner, "sees_everything", False):
            raise Impossible("the item was dropped, and a dropped item has no relevance", "tell of what was forwarded")
        return Reaction(value, float(value) if decision.action else None)


class Tune(Translator):
    """A point out; the loss there (or, for the full-information relatives, the gradient) back."""

    feedback = ("loss", "gradient")
    measure = "mean loss"

    def context(self, body: DecisionBody) -> tuple[Any, Sequence[str]]:
        """No context."""
        return None, ()

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The point to try."""
        return {"point": [float(x) for x in decision.action]}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], body: FeedbackBody) -> Reaction:
        """The loss as a number, or the gradient as a vector."""
        name, value = self.only(body)
        (wanted,) = learner.card.kinds
        if name != wanted:
            raise Impossible(f"{type(learner).__name__} learns from a {wanted}", f'send {{"{wanted}": …}}')
        numbers = sane(np.asarray(value, dtype=np.float64))
        return Reaction(numbers) if name == "gradient" else Reaction(value, value)


TRANSLATORS: dict[str, type[Translator]] = {
    "rank": Rank,
    "choose": Choose,
    "label": Label,
    "filter": Filter,
    "tune": Tune,
}


def label_names(model: ModelBody) -> list[str]:
    """The labels of a label model; their numbers, if they have no names."""
    return model.labels or [str(i) for i in range(int(model.params["n_classes"]))]


def needs_label(learner: Learner) -> bool:
    """Whether it learns from the right label, not from one bit."""
    return "bit" not in learner.card.kinds


def _candidates(body: DecisionBody, vectors: Vectors) -> tuple[list[str], Any]:
    given = body.candidates
    if isinstance(given, CompactCandidates):
        ids, rows = given.ids, vectors.matrix(given.features)
        if len(ids) != len(rows):
            raise Impossible(f"there are {len(ids)} ids and {len(rows)} rows of features", "give one row for each id")
    else:
        ids = [candidate.id for candidate in given or ()]
        rows = vectors.rows([candidate.features for candidate in given or ()])
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise Impossible(f"the candidate id {twice!r} stands there twice", "give each candidate an id of its own")
    return ids, rows


def _places(named: Sequence[str], ids: Sequence[str], field: str) -> list[int]:
    index = {id: i for i, id in enumerate(ids)}
    if unknown := [name for name in named if name not in index]:
        raise Impossible(f"{field} names {unknown[0]!r}, which was not a candidate", "name candidates of this decision")
    if len(set(named)) < len(named):
        raise Impossible(f"{field} names a candidate twice", "name each candidate once")
    return [index[name] for name in named]
