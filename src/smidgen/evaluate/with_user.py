"""Contexts and a user who answers: by the two verbs, or in compiled code where a table of queries is played."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from smidgen import checks
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.compiled import compiled_rankings
from smidgen.evaluate.meter import Meter, Presenting
from smidgen.evaluate.players.query_table import QueryTable
from smidgen.evaluate.progress import tracked
from smidgen.features.frames import frame_records, is_frame
from smidgen.features.rows import is_sparse
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap
from smidgen.theory.losses import Loss
from smidgen.users.strict_alpha import as_alpha

Progress = bool | Callable[[int], None]


class Measure(NamedTuple):
    """What the rounds are measured by."""

    utility: Any = None
    alpha: Any = None
    loss: Loss | None = None

    def known(self, user: Any, stream: Any) -> Measure:
        """What was asked for, or else what the user and the stream know."""
        utility, alpha = self.utility, self.alpha
        if utility is None:
            utility = getattr(user, "w_star", None)
        if utility is None:
            utility = getattr(stream, "w_star", None)
        return Measure(utility, as_alpha(getattr(user, "alpha", 1.0) if alpha is None else alpha), self.loss)


def contexts_of(stream: Any) -> Iterable[Any]:
    """The contexts of a stream, one per round."""
    given = getattr(stream, "contexts", stream)
    if is_frame(given):
        return frame_records(given)
    if is_sparse(given):
        rows = given.tocsr()
        return (rows[[i]] for i in range(rows.shape[0]))
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"the stream is a {type(stream).__name__}", "give the contexts, one per round: a list, a frame, a matrix"
        )
    return given


def played(
    learner: Learner, stream: Any, user: Any, measure: Measure, rounds: int | None, progress: Progress
) -> History:
    """Decide, ask the user, learn; and measure, if there is a utility."""
    if rounds is not None:
        checks.whole("rounds", rounds, "leave it out for all")
    if not isinstance(learner, Presenting):
        return _history(learner, _asked(learner, islice(contexts_of(stream), rounds), user, progress))
    known = measure.known(user, stream)
    if not isinstance(stream, QueryTable):
        return _presented(learner, islice(contexts_of(stream), rounds), user, known, progress)
    history = None if progress else compiled_rankings(learner, stream, user, known, rounds)
    if history is None:
        history = _presented(learner, islice(stream.contexts, rounds), user, known, progress)
    return of_table(history)


def of_table(history: History) -> History:
    """What is kept of a table of queries, by whichever road it was played: what was shown, and what it was worth."""
    return replace(
        history,
        greedy=None,
        explored=np.empty(0, np.bool_),
        propensities=None,
        feedback=None,
        bound=None,
        bound_on="average_regret",
        bound_note="of a table only actions and utilities are kept: play its contexts for a bound",
    )


def _asked(
    learner: Learner,
    contexts: Iterable[Any],
    user: Any,
    progress: Progress,
    seen: Callable[[Decision, Any], None] | None = None,
    keep: bool = False,
) -> list[tuple[Decision, Any]]:
    """The decisions of all rounds, and what the user said; without their features unless they are to be kept."""
    asked: list[tuple[Decision, Any]] = []
    for context in tracked(contexts, progress):
        decision = learner.decide(context)
        feedback = user(context, decision.action)
        if feedback is not None:
            learner.learn(decision, feedback)
        if seen is not None:
            seen(decision, feedback)
        asked.append((decision if keep else msgspec.structs.replace(decision, context=None), feedback))
        if callable(progress):
            progress(len(asked))
    return asked


def _presented(
    learner: Presenting, contexts: Iterable[Any], user: Any, measure: Measure, progress: Progress
) -> History:
    """Rounds whose utility can be measured: at once, or after the last one if the utility is known only then."""
    late, learnt, silent = callable(measure.utility), learner.rounds, getattr(learner, "uninformative", 0)
    meter = None if measure.utility is None or late else Meter(measure.utility, learner)
    asked = _asked(learner, contexts, user, progress, meter.read if meter else None, keep=late)
    if late:
        meter = Meter(measure.utility(), learner)
        for decision, feedback in asked:
            meter.read(decision, feedback)
    history = replace(
        _history(learner, asked),
        alpha=measure.alpha,
        loss=measure.loss,
        uninformative=getattr(learner, "uninformative", 0) - silent,
        bound_note="no utility was given",
    )
    return history if meter is None else meter.measured(history, measure.loss, learnt)


def _history(learner: Learner, asked: list[tuple[Decision, Any]]) -> History:
    within = unwrap(learner)
    card = getattr(within, "card", None)
    actions, feedback = [decision.action for decision, _ in asked], [given for _, given in asked]
    loop = _loop(card.loops if card else ("",), actions)
    heard = _heard(loop, card.kinds, feedback) if card else {}
    propensities = [decision.propensity for decision, _ in asked]
    return History(
        actions,
        [decision.greedy for decision, _ in asked],
        learner=type(within).__name__,
        loop=loop,
        feedback=feedback,
        explored=np.array([decision.explored for decision, _ in asked], np.bool_),
        propensities=_numbers(propensities) if asked and None not in propensities else None,
        **heard,
        bound_note="regret is measured where objects are ranked or chosen and a utility is known",
    )


def _heard(loop: str, kinds: tuple[str, ...], feedback: list[Any]) -> dict[str, Any]:
    """Feedback that is a number, under its name: rewards, or losses. Right counts as 1 beside rewards, wrong as 0."""
    if loop == "tune" and "loss" in kinds:
        return {"losses": _numbers(feedback)}
    if "reward" not in kinds or loop not in ("choose", "label"):
        return {}
    bits = [isinstance(given, (bool, np.bool_)) for given in feedback]
    if all(bit or given is None for bit, given in zip(bits, feedback, strict=True)):
        return {}
    return {"rewards": _numbers([float(given) if bit else given for bit, given in zip(bits, feedback, strict=True)])}


def _loop(loops: tuple[str, ...], actions: list[Any]) -> str:
    """The loop that was played: of learners that rank and choose, what they did."""
    if actions and {"rank", "choose"} <= set(loops):
        return "rank" if isinstance(actions[0], (np.ndarray, list)) else "choose"
    return loops[0]


def _numbers(values: list[Any]) -> FloatArray | None:
    """Values as numbers, if they are; what is missing is not a number."""
    kinds = (int, float, np.integer, np.floating)
    if not values or not all(v is None or (isinstance(v, kinds) and not isinstance(v, bool)) for v in values):
        return None
    return np.array([np.nan if v is None else float(v) for v in values])
