"""Learners that take records: a vectorizer and a learner as one, weights by name, and explanations of decisions.

The functions at the end (`around`, `unwrap`, …) take any learner, with a vectorizer or without; `amended` returns a
learner with other settings and the same state.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.arrays import read_only, writable
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument, NoWeights
from smidgen.features import Encoded, Row, Rows, Vectorizer
from smidgen.features.batch import listed
from smidgen.features.crossing import SIGN
from smidgen.features.encode import key_of
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.rows import Direction, arm_names
from smidgen.features.state import Carried
from smidgen.features.vectors import field_of
from smidgen.history import History
from smidgen.knobs import Best
from smidgen.learners import saving
from smidgen.learners.bank import Restart, curvature_name
from smidgen.learners.base import Learner, PricedLearner, State, load_state, register
from smidgen.learners.card import Card
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.choose.choice_bank import ChoiceBank
from smidgen.learners.choose.directions import CATEGORY, ID, BlockWeights
from smidgen.learners.coactive import PreferencePerceptron
from smidgen.learners.filter.base import Filter, as_relevance
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.label.label_bank import LabelBank
from smidgen.learners.pacing import Budget
from smidgen.learners.record_adapter import (
    RecordAdapter,
    as_context,
    by_position,
    encoded_in,
    from_source,
    known_rows,
    on_columns,
    prepared,
    with_costs,
)
from smidgen.learners.tune import QuadraticTuner
from smidgen.structures.slots import by_slot

Contributions = list[tuple[str, float]]


@dataclass(frozen=True)
class Explanation:
    """Contribution of each named feature to the score of an answer, and to that of its nearest rival.

    Attributes
    ----------
    answer
        The label, the position of the item (or of the first document), or whether it was forwarded.
    contributions
        Its features as (name, weight times value), strongest first, under the present weights.
    rival
        The answer of the next best score; None where there is none (a filter's rival is a score of zero).
    rival_contributions
        The same for the rival.
    """

    answer: Any
    contributions: Contributions
    rival: Any = None
    rival_contributions: Contributions | None = None


class Named(NamedTuple):
    """Rows as CSR arrays, and the names of their columns; those from ``dim`` on are the cosines of a bank.

    ``blocks`` gives what a bank's blocks add to a row, by name. Vectors have one line per field, but for the fields in
    ``expand``.
    """

    starts: IntArray
    indices: NDArray[np.uint32]
    values: NDArray[Any]
    names: Mapping[int, str]
    dim: int
    expand: frozenset[str] = frozenset()
    blocks: Callable[[int], Contributions] | None = None

    def added(self, row: int, w: FloatArray) -> Contributions:
        """Contribution of each feature of a row to its score, largest first."""
        part = slice(self.starts[row], self.starts[row + 1])
        columns, values = self.indices[part], self.values[part]
        own = columns < self.dim
        pairs = zip(columns[own].tolist(), values[own].tolist(), strict=True)
        named = [(self.names.get(c, f"#{c}"), float(w[c] * v)) for c, v in pairs]
        if not own.all():
            curved = float(w[columns[~own]] @ values[~own])
            named.append((curvature_name(self.names, columns[own]), curved))
        if self.blocks is not None:
            named += self.blocks(row)
        return sorted(by_field(named, self.expand), key=lambda entry: (-abs(entry[1]), entry[0]))


def by_field(given: Contributions, expand: Collection[str] = ()) -> Contributions:
    """Sum the features of each vector into one line.

    Examples
    --------
    >>> from smidgen.learners.pipeline import by_field
    >>> by_field([("emb~0", 0.25), ("age", 1.0), ("emb~1", 0.5), ("context.emb~1 × id=a", -0.5)])
    [('emb', 0.75), ('age', 1.0), ('context.emb × id=a', -0.5)]
    """
    out: dict[str, float] = {}
    for name, value in given:
        shown = line_of(name, expand)
        out[shown] = out[shown] + value if shown in out else value
    return list(out.items())


def line_of(name: str, expand: Collection[str] = ()) -> str:
    """The line in which a feature is shown: its vector's field, crossed with the same; every other feature its own."""
    first, sign, other = name.partition(SIGN)
    path = field_of(first)
    if path is None or path in expand or path.removeprefix("context.") in expand:
        return name
    return path + sign + other


def block_lines(features: Vectorizer, names: Mapping[int, str], found: Sequence[BlockWeights]) -> Contributions:
    """Names of the blocks' weights: the feature of the vector, crossed with the candidate's id or category."""
    known = {(CATEGORY, key_of(name)): name for name in features.names}
    known |= {(ID, arm_names((name[3:],)).item()): name for name in features.names if name.startswith("id=")}
    out: Contributions = []
    for block in found:
        whose = known.get((block.kind, block.key), f"#{block.key}")
        sign = SIGN + whose if block.kind else ""
        out += [(names.get(column, f"#{column}") + sign, value) for column, value in block.weights.items()]
    return out


def named_weights(features: Vectorizer, inner: Learner, expand: Collection[str] = ()) -> dict[str, Any]:
    """The weights of a learner behind a vectorizer by name, a vector in one line; in the label loop arrays."""
    weights, named = getattr(inner, "seen_weights", None), features.named_columns()
    weights = inner.weights if weights is None else weights
    if weights.shape[-1] > features.dim:  # of cosines: all of them in one
        curved = np.abs(weights[..., features.dim :]).sum(axis=-1, keepdims=True)
        weights = np.concatenate([weights[..., : features.dim], curved], axis=-1)
        names = dict(named)
        named.append((features.dim, curvature_name(names, np.array([c for c in names if "×" not in names[c]]))))
    lines: dict[str, Any] = {}
    for column, name in named:
        line, weight = line_of(name, expand), weights[..., column]
        lines[line] = weight.copy() if line == name else lines.get(line, 0.0) + np.abs(weight)
    if isinstance(inner, ChoiceBank) and inner.blocks.there:
        found = block_lines(features, dict(named), inner.blocks.weights())
        crossed = {line_of(name, expand) for name, _ in found}
        lines |= dict.fromkeys(crossed, 0.0)  # the vector itself stands in a block
        for name, weight in found:
            line = line_of(name, expand)
            lines[line] += weight if line == name else abs(weight)
    return lines if weights.ndim > 1 else {name: float(weight) for name, weight in lines.items()}


def of_candidates(decision: Decision, rows: Named, weights: FloatArray) -> Explanation:
    """The first of the answer, and the next best."""
    first, second = _two_best(decision, len(rows.starts) - 1)
    rival = None if second is None else rows.added(second, weights)
    return Explanation(first, rows.added(first, weights), second, rival)


def of_record(decision: Decision, row: Named, weights: FloatArray, labels: list[Any]) -> Explanation:
    """The label shown and the best other one; of a filter only what speaks for forwarding."""
    if weights.ndim == 1:
        return Explanation(decision.action, row.added(0, weights))
    shown, scores = labels.index(decision.action), weights[:, row.indices] @ row.values
    other = next(int(i) for i in np.argsort(-scores, kind="stable") if i != shown)
    return Explanation(decision.action, row.added(0, weights[shown]), labels[other], row.added(0, weights[other]))


def _two_best(decision: Decision, n: int) -> tuple[int, int | None]:
    """In a ranking the first two; in a choice the item and the other one of highest score."""
    action, scores = decision.action, decision.scores
    if isinstance(action, np.ndarray):
        return int(action[0]), int(action[1]) if len(action) > 1 else None
    shown = int(action[0]) if isinstance(action, tuple) else int(action)
    others = [i for i in range(n) if i != shown]
    if scores is None or not others:
        return shown, None
    return shown, max(others, key=lambda i: (float(scores[i]), -i))


def explained(features: Vectorizer, inner: Learner, decision: Decision, expand: Collection[str] = ()) -> Explanation:
    """Contribution of each feature to the answer's score and to its nearest rival's, under the present weights."""
    wide = frozenset(expand)
    encoded = encoded_in(decision, features.dim)
    columns = features.planned(encoded)[1]
    names = dict(zip(columns.tolist(), encoded.names, strict=True)) | dict(features.named_columns())
    starts, indices, values = encoded.with_columns(columns)
    weights = getattr(inner, "seen_weights", None)  # of a bank, with those of its cosines
    weights = inner.weights if weights is None else weights
    if encoded.entries:
        return _explained_slots(
            decision, [explained(features, inner, each.decision, expand) for each in by_slot(decision)]
        )
    if encoded.candidates:
        seen, blocks = getattr(inner, "seen_rows", None), None
        if seen is not None:  # as the inner learner scales them
            rows = seen(context := as_context(encoded, columns))
            starts, indices, values = rows.indptr, rows.indices, rows.data
            blocks = _block_contributions(features, inner, names, context.rows.direction)
        return of_candidates(decision, Named(starts, indices, values, names, features.dim, wide, blocks), weights)
    row = prepared(inner, Row(read_only(indices), writable(values), features.dim))  # as the inner learner scales it
    row = inner.seen_row(row) if isinstance(inner, LabelBank) else row
    labels, starts = list(getattr(inner, "labels", ())), np.array([0, len(row.indices)])
    return of_record(decision, Named(starts, row.indices, row.values, names, features.dim, wide), weights, labels)


def _explained_slots(decision: Decision, each: Sequence[Explanation]) -> Explanation:
    """Return what each feature adds to the scores of all slots together."""
    total: dict[str, float] = {}
    for name, value in (entry for one in each for entry in one.contributions):
        total[name] = total.get(name, 0.0) + value
    added = sorted(total.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    return Explanation(decision.actions, added)


def _block_contributions(
    features: Vectorizer, inner: Learner, names: Mapping[int, str], direction: Direction | None
) -> Callable[[int], Contributions] | None:
    """Contributions of a bank's blocks to a candidate's estimate, by name; None where there are none."""
    if not isinstance(inner, ChoiceBank) or direction is None:
        return None
    return lambda row: block_lines(features, names, inner.blocks.contributions(direction, row))


def played(pipeline: Pipeline, records: Any, y: Any) -> History:
    """Play labelled records in their order."""
    given: list[Any] = frame_records(records) if is_frame(records) else listed(records)
    inner = pipeline.learner
    if isinstance(inner, LabelLearner):
        return _labels(pipeline, inner, given, y)
    if isinstance(inner, Filter):
        return _filter(pipeline, inner, given, y)
    raise InvalidArgument(
        f"a {type(inner).__name__} has no run method for labelled data", "call decide with Candidates, then learn"
    )


def _labels(pipeline: Pipeline, inner: LabelLearner, records: list[Any], y: Any) -> History:
    truth = inner._classes.indices(y)
    _check(len(records), len(truth))
    actions, greedy = np.empty(len(truth), np.int64), np.empty(len(truth), np.int64)
    for t, record in enumerate(records):
        decision = pipeline.decide(record)
        actions[t], greedy[t] = inner._classes.index(decision.action), inner._classes.index(decision.greedy)
        true = inner.labels[truth[t]]
        pipeline.learn(decision, bool(actions[t] == truth[t]) if inner.feedback == "one-bit" else true)
    return History(actions, greedy, truth, inner.labels, learner=inner._kind, loop="label")


def _filter(pipeline: Pipeline, inner: Filter, records: list[Any], y: Any) -> History:
    truth = as_relevance(y)
    _check(len(records), len(truth))
    actions, greedy = np.empty(len(truth), np.bool_), np.empty(len(truth), np.bool_)
    for t, record in enumerate(records):
        decision = pipeline.decide(record)
        actions[t], greedy[t] = decision.action, decision.greedy
        if decision.action or inner.sees_everything:
            pipeline.learn(decision, bool(truth[t]))
    return History(actions, greedy, truth, learner=inner._kind, loop="filter")


def _check(records: int, labels: int) -> None:
    if records != labels:
        raise InvalidArgument(f"there are {records} records and {labels} labels", "give one label per record")


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
class Pipeline(PricedLearner):
    """A learner that takes records, as apps have them, instead of rows of numbers.

    Parameters
    ----------
    features
        A `Vectorizer`. Its settings count; a fresh one is started.
    learner
        The learner that reads the rows: of the rank, choose, label or filter loop, with the same ``dim``. Its settings
        count; a fresh one is started.
    seed
        Part of the settings that twins share; what is drawn, the inner learner draws from its own seed.
    budget
        What decisions may cost on average (`Budget`), for a learner that chooses by reward; the same as the argument
        ``budget`` of that learner.

    Notes
    -----
    **Update** decide: encode the record (or the `Candidates`) by the names and statistics known, and let the inner
    learner decide. Learn: encode it again, by those known now; new names get columns, in the order in which they are
    learnt; the inner learner steps on these rows; statistics of numbers and words take in what the record says. `PDGD`,
    `FairPairs` and `PerturbedPreferencePerceptron` go by the scores of the decision, and step on the rows that decided.
    **Symbols** ``decision.context`` holds the encoded rows, the raw numbers, the new names and the record: late
    feedback needs nothing else.
    **Assumes** that feedback is replayed in the order of the log; then a twin has the same names in the same columns.
    **Bound** that of the inner learner for the rows that it reads. They change as statistics become known, so a bound
    against one fixed weight vector holds from then on.
    **Cost** the fields of the record, and that of the inner learner.
    **Differs** from a fixed feature map: a filter's statistics are those of what it forwarded, since it receives no
    other feedback. A constant column is there for labels, filters and rewards; among candidates that are compared with
    each other what all of them share is left out.

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

    def __init__(
        self, *, features: Vectorizer | None = None, learner: Learner, seed: int = 0, budget: Budget | None = None
    ) -> None:
        vectorizer = Vectorizer() if features is None else features
        if not isinstance(vectorizer, Vectorizer):
            raise InvalidArgument(f"features is {features!r}", "give a Vectorizer, e.g. Vectorizer(dim=1024)")
        if not isinstance(learner, Learner) or isinstance(learner, Pipeline):
            raise InvalidArgument(f"learner is {learner!r}", "give a learner, e.g. Confidit(dim=4096, labels=[…])")
        if budget is not None:
            if not isinstance(learner, RewardLearner):
                raise InvalidArgument(
                    f"a {type(learner).__name__} takes no budget", "budgets are for choices by reward"
                )
            learner = learner.fresh(budget=budget)
        self._front = RecordAdapter(learner, vectorizer.dim)
        super().__init__(params={"features": vectorizer.fresh(), "learner": learner.fresh()}, seed=seed)
        self._features, self._inner = vectorizer.fresh(), _within(learner, vectorizer.constant)
        self._pacer = self._inner._pacer
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
        """Number of values in learnt records that were clipped as outliers."""
        return self._features.clipped

    def ask(self, context: Any = None) -> Decision:
        """`decide`, under the name that tuners have; without a context the record is empty."""
        return self.decide(context)

    def tell(self, decision: Decision, value: Any) -> None:
        """`learn`, under the name that tuners have."""
        self.learn(decision, value)

    def best(self, context: Any = None) -> Best:
        """Of a tuner: the point that it thinks best for a record, and the loss that it expects there."""
        if not isinstance(self._inner, QuadraticTuner):
            raise InvalidArgument(f"a {self._inner._kind} has no best point", "ask a QuadraticTuner")
        encoded = self._front.encode(self._features, self._given(context))
        return self._inner.best(as_context(encoded, self._features.planned(encoded)[1]))

    def _given(self, context: Any) -> Any:
        """A context; a tuner may have none, which is an empty record."""
        return {} if context is None and isinstance(self._inner, QuadraticTuner) else context

    def weights_by_name(self, limit: int | None = None, expand: Collection[str] = ()) -> list[tuple[str, Any]]:
        """Names and weights, strongest first; in the label loop a weight is an array, one number per label.

        A column that several names share has all of them: "country=se | city=ulm (share a column)". A vector has one
        line, with the sum of the sizes of its weights; those of the fields in ``expand`` are shown one by one.
        """
        if isinstance(self._inner, QuadraticTuner):
            raise NoWeights("a tuner has no weight for each name: its surface has products", "look at best(record)")
        lines = named_weights(self._features, self._inner, expand)
        strength = {name: float(np.abs(weight).max()) for name, weight in lines.items()}
        chosen = sorted(lines, key=lambda name: (-strength[name], name))[:limit]
        return [(name, lines[name]) for name in chosen]

    def explain(self, decision: Decision, expand: Collection[str] = ()) -> Explanation:
        """Contribution of each feature to the answer's score and to its nearest rival's, under the present weights.

        A vector has one line, the sum over its features; those of the fields in ``expand`` are shown one by one.
        """
        if isinstance(self._inner, QuadraticTuner):
            raise NoWeights("a tuner has no weight for each name: its surface has products", "look at best(record)")
        return explained(self._features, self._inner, decision, expand)

    def within(self, decision: Decision) -> Decision:
        """The decision as the learner inside has it: on rows, with new names in the columns that they would get now."""
        encoded = encoded_in(decision, self.dim)
        return on_columns(self._inner, decision, self._features.planned(encoded)[1])

    def context_within(self, context: Any) -> Any:
        """A record, or candidates, as the learner inside has it: on rows, with new names in columns as they stand."""
        encoded = self._front.encode(self._features, context)
        return as_context(encoded, self._features.planned(encoded)[1])

    def again(self, decision: Decision) -> Decision:
        """The decision with its record encoded again, by the names and statistics known now, as it is to be learnt."""
        encoded = self._front.again(self._features, encoded_in(decision, self.dim))
        return structs.replace(decision, context=encoded)

    def encode_again(self, source: bytes) -> Encoded:
        """The record or the candidates of an earlier decision, encoded as if it were decided on now."""
        return self._front.encode(self._features, from_source(source))

    def renamed(self, encoded: Encoded, names: Mapping[int, str]) -> Encoded:
        """An encoded record of another table of names, with the columns that its names have here."""
        known = {name: place for place, name, _ in self._features.known()}
        return encoded.renamed(names, known)

    def note(self, context: Any) -> None:
        """Learn the names of a record, or of candidates, and nothing else: they keep the columns that they get."""
        self._features.note(self._front.encode(self._features, context))

    def run(self, records: Any, y: Any) -> History:
        """Play labelled records (a list, or a frame) in order, with the feedback that the protocol reveals.

        For the label and the filter loop; gives the history that the inner learner's own ``run`` would give.
        """
        return played(self, records, y)

    def scores(self, records: Any) -> FloatArray:
        """Of a label learner: the score of every class for many records at once, a list or a frame. Changes nothing."""
        if not isinstance(self._inner, LabelLearner):
            raise InvalidArgument(f"a {self._inner._kind} has no scores per class", "use a label learner")
        return self._inner.scores(self._features.sparse_rows(records))

    @property
    def labels(self) -> list[Any]:
        """Of a label learner: the labels, in the order of `scores`."""
        if not isinstance(self._inner, LabelLearner):
            raise InvalidArgument(f"a {self._inner._kind} has no labels", "use a label learner")
        return self._inner.labels

    def _decide(self, context: Any, number: int) -> Decision:
        encoded = self._front.encode(self._features, self._given(context), deciding=True)
        if encoded.vectors:
            self._features.fix_lengths(encoded.lengths)
        offer = with_costs(as_context(encoded, self._features.planned(encoded)[1]), context)
        made = self._inner._decide(offer, number)
        return structs.replace(made, kind=self._kind, settings=self._settings, context=encoded)

    def _learn(self, decision: Decision, feedback: Any) -> None:
        now = self.again(decision)
        encoded = encoded_in(now, self.dim)
        ids, columns = self._features.planned(encoded)
        inner, made = self._inner, on_columns(self._inner, now, columns)
        answer = feedback if isinstance(inner, RewardLearner) else by_position(feedback, encoded)
        self._step(encoded, ids, lambda: inner._learn(made, answer))

    def _priced_rows(self, decision: Decision) -> Rows:
        return known_rows(encoded_in(decision, self.dim))

    def _teach(self, context: Any, answer: Any, number: int) -> None:
        encoded = self._front.again(self._features, self._front.encode(self._features, context, deciding=True))
        ids, columns = self._features.planned(encoded)
        inner, given = self._inner, as_context(encoded, columns)
        self._step(encoded, ids, lambda: inner._teach(given, by_position(answer, encoded), number))

    def _step(self, encoded: Encoded, ids: IntArray, step: Any) -> None:
        """Let the inner learner step, then learn names and statistics; if it refuses, nothing has changed."""
        inner, columns_in_use = self._inner, getattr(self._inner, "_columns_in_use", None)
        inner._learnt, inner._taught = self._learnt, self._taught
        if columns_in_use is not None:
            columns_in_use(self._features.columns_with(ids))
        try:
            step()
        except BaseException:
            if columns_in_use is not None:
                columns_in_use(self._features.columns_in_use)
            raise
        self._features.absorb(encoded, ids)

    def _predict(self, context: Any) -> Any:
        encoded = self._front.encode(self._features, self._given(context))
        return self._inner._predict(with_costs(as_context(encoded, self._features.planned(encoded)[1]), context))

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


def around(features: Vectorizer, learner: Learner) -> Learner:
    """The learner with a vectorizer in front of it."""
    return Pipeline(features=features, learner=learner, seed=learner.params["seed"])


def vectorizer_of(learner: Learner) -> Vectorizer | None:
    """The vectorizer in front of a learner, if there is one."""
    return learner.features if isinstance(learner, Pipeline) else None


def takes_records(learner: Learner) -> bool:
    """True if a vectorizer stands in front of the learner."""
    return isinstance(learner, Pipeline)


def unwrap(learner: Learner) -> Learner:
    """The learner that reads the rows: behind a vectorizer, or the learner itself."""
    return learner.learner if isinstance(learner, Pipeline) else learner


def restarts_of(learner: Learner) -> list[Restart]:
    """The latest fresh starts of a learner, also behind a vectorizer; none if it has no change detection."""
    return list(getattr(unwrap(learner), "restarts", ()))


def as_row_decision(learner: Learner, decision: Decision) -> Decision:
    """A decision as the learner that reads the rows has it."""
    return learner.within(decision) if isinstance(learner, Pipeline) else decision


def rows_of(learner: Learner, context: Any) -> Any:
    """A context as the learner that reads the rows has it."""
    return learner.context_within(context) if isinstance(learner, Pipeline) else context


def learn_names(learner: Learner, context: Any = None, names: Carried = ()) -> None:
    """Let the vectorizer in front of a learner know the names of a context, or names where they are; nothing else."""
    if isinstance(learner, Pipeline):
        learner.features.adopt(names)
        if context is not None:
            learner.note(context)


def contributions(learner: Learner, decision: Decision) -> Contributions | None:
    """Contribution of each named feature to the answer's score. None if the learner knows no names."""
    return learner.explain(decision).contributions if isinstance(learner, Pipeline) else None


def seeded(learner: Learner, seed: int) -> Learner:
    """A fresh learner that draws by this seed; behind a vectorizer, it is the learner inside that draws."""
    if isinstance(learner, Pipeline):
        return learner.fresh(learner=learner.params["learner"].fresh(seed=seed), seed=seed)
    return learner.fresh(seed=seed)


def amended(learner: Learner, **changes: Any) -> Learner:
    """A learner that has learnt the same, with some settings changed: those that no array depends on.

    Parameters
    ----------
    learner
        Stays as it is.
    **changes
        Settings of the learner; of one that takes records, of the learner inside. ``text`` are the paths of texts of
        its vectorizer.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.learners.pipeline import amended
    >>> learner = smidgen.LinUCB(dim=2)
    >>> learner.learn(learner.decide(smidgen.Choice(np.eye(2))), 1.0)
    >>> bold = amended(learner, floor=0.5)
    >>> bold.params["floor"], bool((bold.weights == learner.weights).all())
    (0.5, True)
    """
    made = learner.fresh(**_settings(learner, changes))
    header, arrays = saving.decode_learner(learner.to_bytes(), "the learner")
    changed = msgspec.structs.replace(header, params=serialization.pack(made.asked), settings_version=made.built_at)
    return load_state(changed, arrays, 1 << 62, "the learner")


def _settings(learner: Learner, changes: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(learner, Pipeline):
        return changes
    inner = {name: value for name, value in changes.items() if name != "text"}
    settings: dict[str, Any] = {}
    if inner:
        settings["learner"] = learner.params["learner"].fresh(**inner)
    if "text" in changes:
        features = learner.params["features"]
        settings["features"] = Vectorizer.at(features.built_at, **{**features.to_record(), "text": changes["text"]})
    return settings


def add_classes(learner: Learner, *labels: Any) -> None:
    """Announce labels that were not known before; of a learner that takes records, to the learner inside."""
    inner = learner.learner if isinstance(learner, Pipeline) else learner
    if not isinstance(inner, LabelLearner):
        raise InvalidArgument(f"a {type(inner).__name__} has no labels", "labels are for learners of the label loop")
    inner.add_classes(*labels)
