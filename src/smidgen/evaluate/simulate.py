"""A whole stream of contexts through the two verbs, with a simulated user in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

import msgspec
import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.history import History
from smidgen.evaluate.progress import tracked
from smidgen.learners import Learner, cards
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.rank import RankLearner
from smidgen.optim.rule import as_direction
from smidgen.theory import Measured, Verdict, bound_for
from smidgen.theory.losses import Loss
from smidgen.users.strict_alpha import as_alpha, as_utility

Round = tuple[Decision, Any]


class User(Protocol):
    """Anything that answers a decision."""

    def __call__(self, context: Any, action: Any, /) -> Any:
        """The feedback."""
        ...


def simulate(
    learner: Learner,
    contexts: Iterable[Any],
    user: User,
    *,
    utility: Any = None,
    alpha: float | None = None,
    loss: Loss | None = None,
    progress: bool | Callable[[int], None] = False,
) -> History:
    """Play contexts in order: decide, ask the user, learn; and measure.

    Parameters
    ----------
    learner
        Any learner. It keeps what it learns. Regret and bounds are measured for coactive ones and those of rankings.
    contexts
        The problem instances, one per round.
    user
        A callable ``user(context, action) -> feedback``, e.g. one of `smidgen.users`. None means that no feedback comes
        (of an item that a filter dropped, say).
    utility
        The true weights w* for measuring regret; the learner never sees them. By default the user's own ``w_star``,
        if it has one. A function without arguments is called after the last round (for an adversary that makes w* up
        as it goes).
    alpha
        The level that slacks are measured at; by default the user's own ``alpha``, else 1. Any level gives a valid
        bound, since slacks make up for what feedback lacks.
    loss
        A convex loss of the utility gap, for `History.loss_regret` and the theorems on it.
    progress
        True shows a progress bar (needs the extra ``cli``); a function is called with the number of each finished
        round.

    Returns
    -------
    History

    Examples
    --------
    >>> import smidgen
    >>> stream = smidgen.data.ranking_stream(queries=100, docs=20, dim=5, seed=1)
    >>> learner = smidgen.PreferencePerceptron(dim=5)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=1.0)
    >>> history = smidgen.simulate(learner, stream.contexts, user)
    >>> len(history), bool(history.regret[-20:].mean() < 0.25 * history.regret[:20].mean())
    (100, True)
    """
    if not isinstance(learner, Learner):
        raise InvalidArgument(f"simulate was given a {type(learner).__name__}", "give a learner first")
    if not isinstance(learner, (Coactive, DuelingBandit, RankLearner)):
        if utility is not None or alpha is not None or loss is not None:
            raise InvalidArgument(
                f"utility, alpha or loss was given with a {type(learner).__name__}", "they belong to coactive learners"
            )
        return _play(learner, contexts, user, progress)
    w_star = getattr(user, "w_star", None) if utility is None else utility
    level = as_alpha(getattr(user, "alpha", 1.0) if alpha is None else alpha)
    meter = None if w_star is None or callable(w_star) else _Meter(as_utility(w_star), learner)
    before = (learner.rounds, getattr(learner, "uninformative", 0))
    rounds: list[Round] = []
    for context in tracked(contexts, progress):
        decision = learner.decide(context)
        feedback = user(context, decision.action)
        learner.learn(decision, feedback)
        if meter is not None:
            meter.read(decision, feedback)
            decision = msgspec.structs.replace(decision, context=None)  # measured: let go of the features
        rounds.append((decision, feedback))
        if callable(progress):
            progress(len(rounds))
    if callable(w_star):
        meter = _Meter(as_utility(w_star()), learner)
        for decision, feedback in rounds:
            meter.read(decision, feedback)
    return _history(learner, rounds, meter, level, loss, before)


def _play(learner: Learner, contexts: Iterable[Any], user: User, progress: bool | Callable[[int], None]) -> History:
    """The rounds of another loop: nothing to measure but what went out and what came back, if anything did."""
    rounds: list[Round] = []
    for context in tracked(contexts, progress):
        decision = learner.decide(context)
        feedback = user(context, decision.action)
        if feedback is not None:
            learner.learn(decision, feedback)
        rounds.append((msgspec.structs.replace(decision, context=None), feedback))
        if callable(progress):
            progress(len(rounds))
    nothing = np.empty(0)
    return History(
        learner=type(learner).__name__,
        loop=cards[type(learner).__name__].loops[0] if type(learner).__name__ in cards else "",
        actions=[decision.action for decision, _ in rounds],
        feedback=[feedback for _, feedback in rounds],
        explored=np.array([decision.explored for decision, _ in rounds], np.bool_),
        utility=nothing,
        better_utility=nothing,
        best_utility=nothing,
        bound_note="regret is measured in the coactive loop; other loops have streams and histories of their own",
    )


class _Meter:
    """Utilities and feature norms, round by round."""

    def __init__(self, w_star: FloatArray, learner: Coactive | DuelingBandit | RankLearner) -> None:
        if len(w_star) != learner.dim:
            raise InvalidArgument(
                f"the utility has {len(w_star)} weights and the learner has dim={learner.dim}", "give one per feature"
            )
        self.w_star, self._learner = w_star, learner
        self.rows: list[tuple[float, float, float, float, float]] = []

    def read(self, decision: Decision, feedback: Any) -> None:
        context, dim = decision.context, len(self.w_star)
        presented = [as_direction(context.phi(y), dim) for y in self._learner.presented(decision)]
        better = as_direction(context.phi(self._learner.preferred(decision, feedback)), dim)
        best = as_direction(context.phi(context.argmax(self.w_star)), dim)
        utilities = [float(np.mean([self.w_star @ phi for phi in presented]))]
        utilities += [float(self.w_star @ better), float(self.w_star @ best)]
        phis = np.array([*presented, better])
        norms = (float(np.sqrt((phis**2).sum(axis=1).max())), float(np.abs(phis).max()))
        self.rows.append((utilities[0], utilities[1], utilities[2], *norms))


def _history(
    learner: Coactive | DuelingBandit | RankLearner,
    rounds: list[Round],
    meter: _Meter | None,
    alpha: float,
    loss: Loss | None,
    before: tuple[int, int],
) -> History:
    table = np.array(meter.rows if meter else []).reshape(-1, 5)
    shown, better, best, norms, largest = table.T
    history = History(
        learner=type(learner).__name__,
        actions=[decision.action for decision, _ in rounds],
        feedback=[feedback for _, feedback in rounds],
        explored=np.array([decision.explored for decision, _ in rounds], np.bool_),
        utility=shown,
        better_utility=better,
        best_utility=best,
        alpha=alpha,
        loss=loss,
        uninformative=getattr(learner, "uninformative", 0) - before[1],
    )
    if meter is None:
        verdict = Verdict(None, "no utility was given")
    elif not rounds:
        verdict = Verdict(None, "no rounds were played")
    elif not isinstance(learner, Coactive):
        verdict = Verdict(None, f"no theorem for a {type(learner).__name__}")
    elif before[0]:
        verdict = Verdict(None, f"the theorems begin with a fresh learner, and this one had learnt {before[0]} rounds")
    else:
        measured = Measured(
            T=np.arange(1.0, len(rounds) + 1.0),
            R=np.maximum.accumulate(norms),
            S=np.maximum.accumulate(largest),
            w_star=meter.w_star,
            alpha=alpha,
            slacks=history.slacks,
            gains=better - shown,
            loss=loss,
        )
        verdict = bound_for(learner.rule, measured)
    return replace(history, bound=verdict.bound, bound_on=verdict.on, bound_note=verdict.note)
