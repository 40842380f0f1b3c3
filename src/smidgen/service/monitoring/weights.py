"""Weights by name, contributions to an answer, taste in texts."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from smidgen.checks import suggest
from smidgen.decision import Decision
from smidgen.errors import NoWeights, SmidgenError
from smidgen.features import Encoded, Vectorizer
from smidgen.learners import Learner
from smidgen.learners.bank import curvature_name
from smidgen.learners.coactive import Coactive
from smidgen.learners.pipeline import explained as explained_record
from smidgen.learners.pipeline import named_weights, unwrap
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.log_reader import DecisionEvent
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.question import answered_row, asked_by_name, contributions_then
from smidgen.service.errors import Impossible, Unknown, json_text
from smidgen.service.schemas import Contributions, TasteReply, TraitReply, Weight, WeightsReply
from smidgen.service.storage.protocol import StoreReader

# What a model goes by: its strongest weights, under their names.


def keys(reading: StoreReader, model: ServedModel, prefix: str = "", limit: int = 50) -> list[str]:
    """Keys of a model that begin so, in order; each found by one step in the index."""
    if not model.keyed:
        return []
    rows = [reading.query("keys", part.shard, prefix=prefix, limit=limit) for part in model.parts]
    return [key for (key,) in itertools.islice(heapq.merge(*rows), limit)]


def namer(engine: Engine, model: ServedModel, learner: Learner) -> Callable[[int], str]:
    """Names of the columns: from the records, from the model's settings, or by number."""
    if (features := engine.learners.table(model, learner)) is not None:
        known = dict(features.named_columns())
        return lambda index: known.get(index, f"#{index}")
    names, hashed, numbered = model.blueprint.names, model.hashed, model.blueprint.loop.weight_name
    if hashed is not None:
        return lambda index: hashed.label(index) or numbered(index)
    return names.__getitem__ if names is not None else numbered


def _weight_namer(engine: Engine, model: ServedModel, learner: Learner) -> Callable[[int], str]:
    """Names of the weights: those of the columns, or of the coordinates of a point."""
    loop = model.blueprint.loop
    return loop.weight_name if loop.knows_best else namer(engine, model, learner)


def _signed(model: ServedModel, weights: Any) -> Any:
    """Weights as they count for the names of their columns: a hash may turn the sign."""
    if model.hashed is None or model.blueprint.loop.knows_best:
        return weights
    return weights * model.hashed.signs()


def known_names(engine: Engine, model: ServedModel, most: int = 400) -> list[str]:
    """Names of columns that records have had so far, in the order in which they came; of a keyed model, of one key."""
    key = next(iter(keys(engine.store, model, limit=1)), None)
    if model.keyed and key is None:
        return []
    model = engine.acquire(model.shard_for(key))
    features = engine.learners.table(model, engine.learners.get(model, key).learner)
    return [] if features is None else [name for _, name in itertools.islice(features.named_columns(), most)]


def learner_of(engine: Engine, model: ServedModel, key: str | None) -> Learner:
    """The learner of a model, or of one of its keys, if it has any and this is one."""
    if model.keyed and key is None:
        raise Impossible("key is missing", "this model has one learner per key: add ?key=…")
    if not model.keyed and key is not None:
        raise Impossible("key is given and the model is not keyed", "remove ?key")
    if key is not None and key not in keys(engine.store, model, key, 1):
        raise Unknown(f"there is no key {json_text(key)}", "send a key that has had at least one decision")
    return engine.learners.get(model, key).learner


def by_name(
    engine: Engine, model: ServedModel, key: str | None, limit: int, expand: Collection[str] = ()
) -> WeightsReply:
    """Names and weights of a model, or of one of its keys, strongest first; those that are zero are left out.

    A vector has one line, its total; those of the fields in ``expand`` are shown column by column.
    """
    learner = learner_of(engine, model, key)
    point = model.blueprint.loop.knows_best  # values in units of their own are no stronger or weaker
    if not point and (features := engine.learners.table(model, learner)) is not None and features.lengths:
        lines, labels = _lines(features, learner, expand), model.blueprint.labels
        flat = [
            Weight(name=name, weight=float(weight), label=None if labels is None or np.ndim(all_) == 0 else labels[row])
            for name, all_ in lines.items()
            for row, weight in enumerate(np.atleast_1d(all_).tolist())
            if weight
        ]
        flat.sort(key=lambda each: (-abs(each.weight), each.name))
        return WeightsReply(model_version=model.version, weights=flat[:limit])
    weights = _signed(model, np.asarray(learner.weights, dtype=np.float64))
    labels, name, width = _labels(model, weights), _weight_namer(engine, model, learner), weights.shape[-1]
    found = []
    for place in range(min(limit, width)) if point else _strongest(weights.ravel(), limit).tolist():
        row, column = divmod(place, width)
        label = labels[row] if labels is not None else None
        found.append(Weight(name=name(column), weight=float(weights.ravel()[place]), label=label))
    return WeightsReply(model_version=model.version, weights=found)


def _lines(features: Vectorizer, learner: Learner, expand: Collection[str] = ()) -> dict[str, Any]:
    """The weights of a learner by name; a vector in one line."""
    return named_weights(features, unwrap(learner), expand)


def largest_weights(
    engine: Engine, model: ServedModel, key: str | None, label: str | None, top: int = 20
) -> dict[str, Any]:
    """The strongest weights of a model, or of one of its keys, or why there are none to show."""
    if model.keyed and key is None:
        seen = keys(engine.store, model, limit=1)
        if not seen:
            return _none("No key has been seen yet.")
        key = seen[0]
    if not model.keyed:
        key = None
    elif key not in keys(engine.store, model, key or "", 1):
        raise Unknown(f"there is no key {json_text(key)}", "send a key that has had at least one decision")
    model = engine.acquire(model.shard_for(key))
    learner = engine.learners.get(model, key).learner
    try:
        weights = _signed(model, np.asarray(learner.weights, dtype=np.float64))
    except NoWeights as error:
        return {**_none(model.blueprint.loop.no_weights_reason(learner, error)), "key": key}
    labels = _labels(model, weights)
    if label is not None and label not in (labels or ()):
        raise Unknown(f"there is no label {json_text(label)}", suggest(label, labels or (), "the model has no labels"))
    row = weights if weights.ndim == 1 else weights[(labels or []).index(label) if label is not None else 0]
    strongest, name = _strongest(row, top), _weight_namer(engine, model, learner)
    point = model.blueprint.loop.knows_best
    if point:
        strongest = range(min(top, len(row)))
    shown = [{"name": name(int(i)), "weight": float(row[i])} for i in strongest]
    if not point and (features := engine.learners.table(model, learner)) is not None and features.lengths:
        at = (labels or []).index(label) if label is not None else 0
        lines = {each: float(np.atleast_1d(found)[at]) for each, found in _lines(features, learner).items()}
        best = sorted(lines, key=lambda each: (-abs(lines[each]), each))[:top]
        shown = [{"name": each, "weight": lines[each]} for each in best if lines[each]]
    return {
        "key": key,
        "label": (label or labels[0]) if labels else None,
        "labels": labels,
        "rounds": learner.rounds,
        "dim": len(row),
        "norm": float(np.linalg.norm(row)),
        "weights": shown,
        "why_not": None,
    }


def _none(why: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"key": None, "label": None, "labels": None, "rounds": 0, "dim": 0, "norm": 0.0}
    return {**empty, "weights": [], "why_not": why}


def _labels(model: ServedModel, weights: Any) -> list[str] | None:
    if weights.ndim == 1:
        return None
    return model.blueprint.labels or [str(i) for i in range(len(weights))]


def _strongest(row: Any, top: int) -> Any:
    size = np.abs(row)
    some = np.argpartition(-size, top - 1)[:top] if len(row) > top else np.arange(len(row))
    order = some[np.lexsort((some, -size[some]))]
    return order[size[order] > 0.0]


# Why an answer: what each feature adds to its score under the present weights, by name.

#: Number of contributions reported for one answer, and of those described in words.
MOST, SPOKEN = 100, 5


def contributions(
    engine: Engine, model: ServedModel, key: str | None, decision: Decision, expand: Collection[str] = ()
) -> Contributions | None:
    """Contributions of the answer's features to its score, largest first; None if the loop has no such weights."""
    if model.blueprint.loop.knows_best:  # a point has no contributions
        return None
    learner = engine.learners.get(model, key).learner
    found: list[tuple[str, float]] | None
    try:
        table = engine.learners.table(model, learner)
        if table is not None and isinstance(decision.context, Encoded):
            found = explained_record(table, unwrap(learner), decision, expand).contributions
        else:
            found = _by_row(model, learner, decision, namer(engine, model, learner))
    except SmidgenError:  # a learner without weights
        return None
    if found is None:
        return None
    items = sorted(((name, value) for name, value in found if value), key=lambda each: (-abs(each[1]), each[0]))
    return Contributions(version=model.version, items=items[:MOST])


def in_words(found: Contributions | None) -> str | None:
    """The strongest of them as a sentence."""
    if found is None or not found.items:
        return None
    listed = ", ".join(f"{name} ({value:+.3g})" for name, value in found.items[:SPOKEN])
    return f"By the weights of version {found.version:,} this speaks for it, or against: {listed}."


def _by_row(
    model: ServedModel, learner: Learner, decision: Decision, name: Callable[[int], str]
) -> list[tuple[str, float]] | None:
    row = answered_row(learner, None, decision)
    if row is None:
        return None
    known = getattr(learner, "seen_weights", None)  # of a bank, with those of its cosines
    weights = np.asarray(learner.weights if known is None else known, dtype=np.float64)
    if weights.ndim == 2:
        weights = weights[int(decision.action)]
    columns, values = row
    if len(columns) and columns.max() >= len(weights):
        return None
    own = columns < len(weights) if known is None else columns < len(np.atleast_2d(learner.weights)[0])
    named = [(name(int(c)), float(weights[c] * v)) for c, v in zip(columns[own], values[own], strict=True)]
    if not own.all():
        names = {int(c): name(int(c)) for c in columns[own]}
        named.append((curvature_name(names, columns[own]), float(weights[columns[~own]] @ values[~own])))
    return named


class Explained(NamedTuple):
    """A decision by the names of its features.

    Attributes
    ----------
    then, now
        What the features of the answer added to its score, under the weights that decided and under the present ones.
    asked
        The request by the names of its features.
    """

    then: Contributions | None = None
    now: Contributions | None = None
    asked: dict[str, Any] | None = None


def explained(engine: Engine, model: ServedModel, event: DecisionEvent, expand: Collection[str] = ()) -> Explained:
    """Explain a decision of a model; the policy of a holdout has no weights. Runs where the engine does."""
    learner, decision = engine.learners.get(model, event.key).learner, event.decision
    name = namer(engine, model, learner)
    named = model.blueprint.names is not None or model.hashed is not None or model.blueprint.features is not None
    try:
        asked = asked_by_name(decision, event.ids, name, named, model.blueprint.loop.asks)
    except SmidgenError:  # names that are not known any more
        asked = None
    if event.holdout:
        return Explained(asked=asked)
    now, version = contributions(engine, model, event.key, decision, expand), event.reply["model_version"]
    items = contributions_then(event.shared, name, expand)
    if items is not None:
        return Explained(Contributions(version=version, items=items), now, asked)
    return Explained(now if now is not None and now.version == version else None, now, asked)


# What the edits of a model's users say of their taste.


def taste_of(engine: Engine, model: ServedModel, key: str | None) -> TasteReply:
    """The taste of a model's users, or of one key, in words and by trait."""
    if not model.blueprint.loop.takes_texts:
        raise Impossible(
            f"models of the loop {model.blueprint.loop.name} have no taste", f"see /v1/models/{model.name}/weights"
        )
    learner = learner_of(engine, model, key)
    if not isinstance(learner, Coactive):
        return TasteReply(taste=[], traits=[])
    traits = [TraitReply(name=w.name, shown=w.shown, wanted=w.wanted, edits=w.edits) for w in learner.taste]
    return TasteReply(taste=learner.in_words(), traits=traits)
