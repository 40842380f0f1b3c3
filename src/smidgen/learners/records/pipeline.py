"""Records in front of any learner: a vectorizer and a learner as one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.features import Encoded, Vectorizer
from smidgen.history import History
from smidgen.learners.base import Learner, State
from smidgen.learners.card import Card, register
from smidgen.learners.coactive import PreferencePerceptron
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.records.explanation import Explanation
from smidgen.learners.records.front import Front, as_context, by_position, encoded_in, explained, on_columns
from smidgen.learners.records.streams import played

PREFIXES = ("features_", "inner_")


def _size(settings: Mapping[str, Any]) -> int:
    """Bytes of the inner learner and of the tables of names."""
    features, inner = settings["features"], settings["learner"]
    return int(inner.card.size(inner.params)) + int(features.estimate_size({"dim": features.dim}))


@register(
    Card(
        loop=("rank", "choose", "label", "filter"),
        feedback=("better", "clicks", "bit", "label", "relevance", "reward"),
        not_served="the service makes one by itself: leave `features` out, and name the inner learner",
        paper="ours",
        bound="that of the inner learner, on the rows it reads",
        cost="the fields of the record, and the inner learner's",
        size=_size,
        example={"features": Vectorizer(dim=64), "learner": PreferencePerceptron(dim=64)},
    )
)
class Pipeline(Learner):
    """A learner that takes records: what an app has, in the place of rows of numbers.

    Parameters
    ----------
    features
        A `Vectorizer`. Its settings count; a fresh one is started.
    learner
        The learner that reads the rows: of the rank, choose, label or filter loop, with the same ``dim``. Its settings
        count; a fresh one is started.
    seed
        Part of the settings that twins share; what is drawn, the inner learner draws from its own seed.

    Notes
    -----
    **Update** decide: encode the record (or the `Candidates`) by the names and statistics known, and let the inner
    learner decide. Learn: new names get columns, in the order in which they are learnt; the inner learner steps on the
    recorded row; statistics of numbers and words take in what was recorded.
    **Symbols** ``decision.context`` holds the encoded rows, the raw numbers and the new names: late feedback needs
    nothing else.
    **Assumes** that feedback is replayed in the order of the log; then a twin has the same names in the same columns.
    **Bound** that of the inner learner for the rows that it reads. They change as statistics become known, so a bound
    against one fixed weight vector holds from then on.
    **Cost** the fields of the record, and that of the inner learner.
    **Differs** from a fixed feature map: a filter's statistics are those of what it forwarded, as it hears of nothing
    else. A constant column is there for labels, filters and rewards; among candidates that are compared with each other
    what all of them share is left out.

    Examples
    --------
    >>> import smidgen
    >>> triage = smidgen.Pipeline(
    ...     features=smidgen.Vectorizer(dim=64, text=("title",)),
    ...     learner=smidgen.Confidit(dim=64, labels=["bug", "billing"]),
    ... )
    >>> for _ in range(10):
    ...     for title, plan, truth in (("it crashes", "free", "bug"), ("wrong invoice", "team", "billing")):
    ...         d = triage.decide({"title": title, "plan": plan, "age_days": 3})
    ...         triage.learn(d, d.action == truth)
    >>> triage.predict({"title": "the invoice", "plan": "team"})
    'billing'
    >>> name, weights = triage.weights_by_name(limit=1)[0]
    >>> len(weights)
    2

    References
    ----------
    .. [1] The guide "Records in, names out".
    """

    def __init__(self, *, features: Vectorizer | None = None, learner: Learner, seed: int = 0) -> None:
        vectorizer = Vectorizer() if features is None else features
        if not isinstance(vectorizer, Vectorizer):
            raise InvalidArgument(f"features is {features!r}", "give a Vectorizer, e.g. Vectorizer(dim=1024)")
        if not isinstance(learner, Learner) or isinstance(learner, Pipeline):
            raise InvalidArgument(f"learner is {learner!r}", "give a learner, e.g. Confidit(dim=4096, labels=[…])")
        self._front = Front(learner, vectorizer.dim)
        super().__init__(params={"features": vectorizer.fresh(), "learner": learner.fresh()}, seed=seed)
        self._features, self._inner = vectorizer.fresh(), _within(learner, vectorizer.constant)
        self.dim = vectorizer.dim

    @property
    def learner(self) -> Learner:
        """The inner learner with its present state."""
        return self._inner

    @property
    def features(self) -> Vectorizer:
        """The vectorizer with its present state."""
        return self._features

    @property
    def weights(self) -> FloatArray:
        """The weights of the inner learner, by column; `weights_by_name` has them by name."""
        return self._inner.weights

    @property
    def clipped(self) -> int:
        """How many numbers of learnt records lay so far out that they were clipped."""
        return self._features.clipped

    def weights_by_name(self, limit: int | None = None) -> list[tuple[str, Any]]:
        """Names and weights, strongest first; in the label loop a weight is an array, one number per label.

        A column that several names share has all of them: "country=se | city=ulm (share a column)".
        """
        weights, named = self._inner.weights, self._features.named_columns()
        strength = np.abs(weights) if weights.ndim == 1 else np.abs(weights).max(axis=0)
        named.sort(key=lambda entry: (-strength[entry[0]], entry[1]))
        chosen = named[:limit]
        if weights.ndim == 1:
            return [(name, float(weights[column])) for column, name in chosen]
        return [(name, weights[:, column].copy()) for column, name in chosen]

    def explain(self, decision: Decision) -> Explanation:
        """What each feature adds to the answer's score and to its nearest rival's, under the present weights."""
        return explained(self._features, self._inner, decision)

    def within(self, decision: Decision) -> Decision:
        """The decision as the learner inside has it: on rows, with new names in the columns that they would get now."""
        encoded = encoded_in(decision, self.dim)
        return on_columns(self._inner, decision, self._features.planned(encoded)[1])

    def context_within(self, context: Any) -> Any:
        """A record, or candidates, as the learner inside has it: on rows, with new names in columns as they stand."""
        encoded = self._front.encode(self._features, context)
        return as_context(encoded, self._features.planned(encoded)[1])

    def note(self, context: Any) -> None:
        """Learn the names of a record, or of candidates, and nothing else: they keep the columns that they get."""
        self._features.note(self._front.encode(self._features, context))

    def run(self, records: Any, y: Any) -> History:
        """Play labelled records (a list, or a frame) in their order, and hear what the protocol reveals.

        For the label and the filter loop; gives the history that the inner learner's own ``run`` would give.
        """
        return played(self, records, y)

    def scores(self, records: Any) -> FloatArray:
        """Of a label learner: the score of every class for many records at once, a list or a frame. Changes nothing."""
        if not isinstance(self._inner, LabelLearner):
            raise InvalidArgument(f"a {self._inner._kind} scores no classes", "ask a label learner")
        return self._inner.scores(self._features.sparse_rows(records))

    @property
    def labels(self) -> list[Any]:
        """Of a label learner: the labels, in the order of `scores`."""
        if not isinstance(self._inner, LabelLearner):
            raise InvalidArgument(f"a {self._inner._kind} has no labels", "ask a label learner")
        return self._inner.labels

    def _decide(self, context: Any, number: int) -> Decision:
        encoded = self._front.encode(self._features, context)
        made = self._inner._decide(as_context(encoded, self._features.planned(encoded)[1]), number)
        return structs.replace(made, kind=self._kind, settings=self._settings, context=encoded)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        encoded = encoded_in(decision, self.dim)
        ids, columns = self._features.planned(encoded)
        inner, made = self._inner, on_columns(self._inner, decision, columns)
        self._step(encoded, ids, lambda: inner._learn(made, by_position(feedback, encoded)))

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        encoded = self._front.encode(self._features, context)
        ids, columns = self._features.planned(encoded)
        inner, given = self._inner, as_context(encoded, columns)
        self._step(encoded, ids, lambda: inner._teach(given, by_position(answer, encoded), number))

    def _step(self, encoded: Encoded, ids: IntArray, step: Any) -> None:
        """Let the inner learner step, then learn names and statistics; if it refuses, nothing has changed."""
        inner, told = self._inner, getattr(self._inner, "_columns_in_use", None)
        inner._learnt, inner._taught = self._learnt, self._taught
        if told is not None:
            told(self._features.columns_with(ids))
        try:
            step()
        except BaseException:
            if told is not None:
                told(self._features.columns_in_use)
            raise
        self._features.absorb(encoded, ids)

    def _predict(self, context: Any) -> Any:
        encoded = self._front.encode(self._features, context)
        return self._inner._predict(as_context(encoded, self._features.planned(encoded)[1]))

    def _state(self) -> dict[str, NDArray[Any]]:
        return _together(self._features.state(), self._inner._state())

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._inner._learnt, self._inner._taught = self._learnt, self._taught
        features, inner = _apart(state)
        self._features.restore(features)
        self._inner._restore(inner)

    def _check_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        features, inner = _apart(state)
        if len(features) + len(inner) < len(state):  # arrays of neither: all must be as a fresh pipeline has it
            super()._check_state(state)
            return
        self._features.check_state(features)
        self._inner._check_state(inner)

    def _upgrade(self, version: int, state: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        state, notes = super()._upgrade(version, state, notes)
        own = {name: array for name, array in state.items() if not name.startswith(PREFIXES[1])}
        inner, remarks = self._inner._upgrade(notes["state_version"], _apart(state)[1], notes["inner"])
        return own | _together({}, inner), {**notes, "inner": remarks}

    def _notes(self) -> dict[str, Any]:
        return {"state_version": self._inner.state_version, "inner": self._inner._notes()}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        self._inner._take_notes(notes["inner"])


def _within(learner: Learner, constant: bool) -> Learner:
    """A fresh inner learner; one that would add a constant of its own, unasked, has the vectorizer's in its place."""
    own = "constant" in inspect.signature(type(learner)).parameters and "constant" not in learner.asked
    return learner.fresh(constant=False) if own and constant else learner.fresh()


def _together(features: State, inner: State) -> State:
    parts = zip(PREFIXES, (features, inner), strict=True)
    return {prefix + name: array for prefix, part in parts for name, array in part.items()}


def _apart(state: Mapping[str, NDArray[Any]]) -> tuple[State, State]:
    features, inner = (
        {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
        for prefix in PREFIXES
    )
    return features, inner
