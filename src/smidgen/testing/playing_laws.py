"""Laws of playing: a stream is what the two verbs do in turn, to the last bit, and its history says what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.evaluate import losses, play
from smidgen.geometry import Space
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap
from smidgen.records import same
from smidgen.structures import Choice
from smidgen.testing.case import Case, snapshot
from smidgen.testing.forms import Rewarded
from smidgen.testing.laws import hold
from smidgen.testing.record_forms import Single
from smidgen.testing.row_forms import Filtering, Labelling, Tuning, labels_of

#: How many rounds are played.
ROUNDS = 16


def a_played_user_is_the_two_verbs(case: Case) -> None:
    """Contexts and a user who answers."""
    contexts = case.form.contexts(31, ROUNDS)
    verbs, played = case.make(), case.make()

    def heard(decision: Decision, t: int) -> Any:
        return case.form.feedback(verbs, decision, 0) if case.form.may_learn(verbs, decision) else None

    decisions, said = _by_verbs(verbs, contexts, heard)
    script = iter(said)
    history = play(played, iter(contexts), lambda context, action: next(script))
    _alike(verbs, played, decisions, history)
    hold(same(history.feedback, said), "the history has other feedback than the user gave")


def a_played_stream_of_answers_is_the_two_verbs(case: Case) -> None:
    """Examples with their labels, items with their relevance, candidates with their rewards."""
    verbs, played = case.make(), case.make()
    for stream, contexts, heard in _answered(case, verbs):
        decisions, _ = _by_verbs(verbs, contexts, heard)
        history = play(played, stream)
        _alike(verbs, played, decisions, history)
        again, _ = _by_verbs(verbs, contexts, heard)
        _alike(verbs, played, again, play(played, stream))


def a_played_stream_of_losses_is_the_two_verbs(case: Case) -> None:
    """Points and what they cost, or the gradient there."""
    verbs, played = case.make(), case.make()
    space = getattr(verbs, "space", None)
    if not isinstance(case.form, Tuning) or not isinstance(space, Space) or getattr(verbs, "knobs", None) is not None:
        return
    middle = space.centre
    bowl = losses.Repeated(lambda x: float(((x - middle) ** 2).sum()), lambda x: 2.0 * (x - middle), rounds=ROUNDS)
    by_gradient = "gradient" in case.cls.card.kinds

    def heard(decision: Decision, t: int) -> Any:
        return bowl.gradient(t, decision.action) if by_gradient else bowl(t, decision.action)

    decisions, _ = _by_verbs(verbs, [None] * ROUNDS, heard)
    history = play(played, bowl)
    _alike(verbs, played, decisions, history)
    cost = [bowl(t, decision.action) for t, decision in enumerate(decisions)]
    hold(same(history.losses, np.array(cost)), "the history has other losses than the points cost")


Heard = Callable[[Decision, int], Any]


def _by_verbs(learner: Learner, contexts: list[Any], heard: Heard) -> tuple[list[Decision], list[Any]]:
    """Decide, hear, learn, in turn."""
    decisions, said = [], []
    for t, context in enumerate(contexts):
        decisions.append(learner.decide(context))
        said.append(heard(decisions[-1], t))
        if said[-1] is not None:
            learner.learn(decisions[-1], said[-1])
    return decisions, said


def _alike(verbs: Learner, played: Learner, decisions: list[Decision], history: History) -> None:
    hold(snapshot(verbs) == snapshot(played), "the played learner has learnt something else than the two verbs")
    hold(verbs.rounds == played.rounds, "the played learner has learnt other rounds than the two verbs")
    hold(len(history) == len(decisions), "the history has another number of rounds")
    expected = History(
        [decision.action for decision in decisions],
        [decision.greedy for decision in decisions],
        explored=np.array([decision.explored for decision in decisions], np.bool_),
        propensities=np.array([decision.propensity for decision in decisions]),
    ).columns
    for column in ("action", "greedy", "explored", "propensity"):
        if column in history.columns and column in expected:
            told = [list(history.columns[column]), list(expected[column])]
            hold(told[0] == told[1], f"the history's column {column!r} is not what the decisions say")


def _answered(case: Case, learner: Any) -> Iterator[tuple[Any, list[Any], Heard]]:
    """Streams that know their answers, if the learner's loop has any: the stream, the contexts, what is heard."""
    rng, form, card = np.random.default_rng(32), case.form, unwrap(learner).card
    if isinstance(form, Rewarded) and "reward" in card.kinds:
        items, rewards = rng.normal(size=(ROUNDS, 3, form.dim)), rng.random((ROUNDS, 3))
        masks = rng.random((ROUNDS, 3)) < 0.7
        masks[:, 1] = True
        contexts = [Choice(rows, mask) for rows, mask in zip(items, masks, strict=True)]
        yield (items, rewards, masks), contexts, lambda decision, t: float(rewards[t, decision.action])
    elif isinstance(form, Filtering) or (isinstance(form, Single) and "relevance" in card.kinds):
        contexts, truth = form.contexts(33, ROUNDS), (rng.random(ROUNDS) < 0.4).tolist()
        given = np.array(contexts) if isinstance(form, Filtering) else contexts
        yield (given, truth), contexts, lambda d, t: truth[t] if form.may_learn(learner, d) else None
    elif isinstance(form, (Labelling, Single)):
        labels = labels_of(unwrap(learner))
        contexts, truth = form.contexts(33, ROUNDS), [labels[i] for i in rng.integers(len(labels), size=ROUNDS)]
        bits = card.kinds[0] == "bit"
        given = np.array(contexts) if isinstance(form, Labelling) else contexts
        yield (given, truth), contexts, lambda d, t: bool(d.action == truth[t]) if bits else truth[t]
