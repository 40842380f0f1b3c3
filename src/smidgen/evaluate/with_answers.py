"""Streams that know their own answers: examples with labels, items with their relevance, candidates with rewards."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.evaluate.compiled import as_compiled
from smidgen.evaluate.with_user import contexts_of
from smidgen.features.frames import is_frame
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.filter.base import as_relevance
from smidgen.learners.pipeline import unwrap, vectorizer_of
from smidgen.structures import Choice


def played(learner: Learner, stream: Any) -> History:
    """Play what the protocol of the learner's loop reveals of the answers."""
    card = getattr(unwrap(learner), "card", None)
    loops, kinds = (card.loops, card.kinds) if card else ((), ())
    if "choose" in loops and "reward" in kinds:
        items, rewards, available = _offers(stream)
        if as_compiled(learner) and hasattr(learner, "run") and vectorizer_of(learner) is None:
            ran: History = learner.run(items, rewards, available=available)
            return ran
        return _rewarded(learner, items, np.asarray(rewards, dtype=np.float64), available)
    if not {"label", "filter"} & set(loops):
        raise InvalidArgument(
            f"a {type(learner).__name__} needs somebody who answers, and no user was given",
            "give play(learner, contexts, user), e.g. a user of smidgen.users; or for the tune loop smidgen.losses",
        )
    X, y = _examples(stream, vectorizer_of(learner) is not None)
    if hasattr(learner, "run") and (as_compiled(learner) or vectorizer_of(learner) is not None):
        history: History = learner.run(X, y)
        return history
    return _labels(learner, X, y) if "label" in loops else _filtered(learner, X, y)


def _examples(stream: Any, records: bool) -> tuple[Any, Any]:
    """X and y of a labelled stream: a pair, something that has both, or a frame with the name of a column."""
    X, y = (stream.X, stream.y) if hasattr(stream, "X") and hasattr(stream, "y") else _parts(stream, (2,), "(X, y)")[:2]
    if is_frame(X):
        if isinstance(y, str):
            if y not in list(X.columns):
                raise InvalidArgument(f"the frame has no column {y!r}", "name one of its columns, or give the labels")
            X, y = X[[name for name in X.columns if name != y]], X[y]
        if not records:
            X = X.to_numpy()
    return X, y.to_list() if hasattr(y, "to_list") else y


def _offers(stream: Any) -> tuple[Any, Any, Any]:
    items, rewards, *rest = _parts(stream, (2, 3), "(items, rewards) or (items, rewards, available)")
    return items, rewards, rest[0] if rest else None


def _parts(stream: Any, sizes: tuple[int, ...], form: str) -> tuple[Any, ...]:
    if not isinstance(stream, (tuple, list)) or len(stream) not in sizes:
        raise InvalidArgument(f"the stream is a {type(stream).__name__} and no user was given", f"give {form}")
    return tuple(stream)


def _labels(learner: Learner, X: Any, y: Any) -> History:
    """Labels by the two verbs."""
    hears_bits = "bit" in learner.card.kinds
    truth = [label.item() if isinstance(label, np.generic) else label for label in y]
    shown, greedy = [], []
    for context, true in _together(X, truth):
        decision = learner.decide(context)
        shown.append(decision.action)
        greedy.append(decision.greedy)
        learner.learn(decision, bool(decision.action == true) if hears_bits else true)
    names = list(getattr(learner, "labels", dict.fromkeys([*shown, *greedy, *truth])))
    number = {name: i for i, name in enumerate(names)}
    a, g, y = (np.array([number[label] for label in column], np.int64) for column in (shown, greedy, truth))
    return History(a, g, y, names, learner=type(learner).__name__, loop="label")


def _filtered(learner: Learner, X: Any, y: Any) -> History:
    """Relevance by the two verbs."""
    truth, hears_all = as_relevance(y), getattr(learner, "sees_everything", False)
    shown, greedy = np.empty(len(truth), np.bool_), np.empty(len(truth), np.bool_)
    for t, (context, true) in enumerate(_together(X, truth.tolist())):
        decision = learner.decide(context)
        shown[t], greedy[t] = decision.action, decision.greedy
        if decision.action or hears_all:
            learner.learn(decision, true)
    return History(shown, greedy, truth, learner=type(learner).__name__, loop="filter")


def _rewarded(learner: Learner, items: Any, rewards: Any, available: Any) -> History:
    """Rewards by the two verbs; items are candidates of records, or rows: the same in every round, or anew in each."""
    if rewards.ndim != 2:
        raise InvalidArgument(f"rewards has shape {rewards.shape}", "give a row per round, a number per candidate")
    T, K = rewards.shape
    masks = np.ones((T, K), np.bool_) if available is None else np.broadcast_to(np.asarray(available, np.bool_), (T, K))
    offered = isinstance(items, (list, tuple)) and not np.isscalar(items[0]) and hasattr(items[0], "records")
    decisions = []
    for t, mask in enumerate(masks):
        context = items[t] if offered else Choice(_rows(items, t, T, K), mask)
        decisions.append(learner.decide(context))
        learner.learn(decisions[-1], float(rewards[t, decisions[-1].action]))
    actions = np.array([decision.action for decision in decisions], np.int64)
    return History(
        actions,
        np.array([decision.greedy for decision in decisions], np.int64),
        learner=type(unwrap(learner)).__name__,
        loop="choose",
        rewards=rewards[np.arange(T), actions],
        best=np.where(masks, rewards, -np.inf).max(axis=1),
        propensities=np.array([decision.propensity for decision in decisions], np.float64),
    )


def _rows(items: Any, t: int, T: int, K: int) -> Any:
    """The candidates of one round."""
    if not hasattr(items, "tocsr"):
        given = np.asarray(items)
        return given[t] if given.ndim == 3 else given
    rows = items.tocsr()
    return rows if rows.shape[0] == K else rows[t * K : (t + 1) * K]


def _together(X: Any, y: list[Any]) -> list[tuple[Any, Any]]:
    contexts = list(contexts_of(X))
    if len(contexts) != len(y):
        raise InvalidArgument(f"X has {len(contexts)} rows and y {len(y)} labels", "give one label per row")
    return list(zip(contexts, y, strict=True))
