"""One way to play a stream, for every loop: decide, hear what the stream or the user says, learn; and measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, NoWeights
from smidgen.evaluate import with_answers, with_losses, with_user
from smidgen.evaluate.meter import Presenting
from smidgen.evaluate.point_losses import PointLosses
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.theory.losses import Loss

Progress = bool | Callable[[int], None]


class User(Protocol):
    """Anything that answers a decision."""

    def __call__(self, context: Any, action: Any, /) -> Any:
        """The feedback."""
        ...


def play(
    learner: Learner,
    stream: Any,
    user: User | None = None,
    *,
    utility: Any = None,
    alpha: float | None = None,
    loss: Loss | None = None,
    rounds: int | None = None,
    progress: Progress = False,
) -> History:
    """Play a stream, whatever the loop, and measure.

    Round for round it is what the two verbs would do, to the last bit; streams that compiled code can read are played
    by it. The learner keeps what it learns; call it again to go on.

    Parameters
    ----------
    learner
        Any learner, with or without a `Pipeline` around it.
    stream
        With a user: the contexts, one per round; a list, a generator, a stream of `smidgen.data`, a frame or a matrix
        with one row per round, or a `QueryTable`. Without one, a stream that knows its own answers: ``(X, y)`` for the
        label and the filter loop (``X`` an array, a CSR matrix, or for a pipeline records or a frame);
        ``(items, rewards)`` or ``(items, rewards, available)`` for learners that choose by reward (see
        `RewardLearner.run`); for the tune loop one of `smidgen.losses`.
    user
        A callable ``user(context, action) -> feedback``, e.g. one of `smidgen.users`. None as feedback means that none
        came (of an item that a filter dropped, say).
    utility
        With a user who corrects or clicks: the true weights w* for measuring regret; the learner never sees them. By
        default the user's own ``w_star``, else that of the stream, if they have one. A function without arguments is
        called after the last round (for an adversary that makes w* up as it goes).
    alpha
        The level that slacks are measured at; by default the user's own ``alpha``, else 1. Any level gives a valid
        bound, since slacks make up for what feedback lacks.
    loss
        A convex loss of the utility gap, for `History.loss_regret` and the theorems on it.
    rounds
        How many rounds, of contexts and of losses; all of them if left out.
    progress
        True shows a progress bar (needs the extra ``cli``); a function is called with the number of each finished
        round. A compiled stream has no bar, and calls the function once, when it is over.

    Returns
    -------
    History

    Examples
    --------
    A user who corrects rankings:

    >>> import numpy as np, smidgen
    >>> stream = smidgen.data.ranking_stream(queries=100, docs=20, dim=5, seed=1)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=1.0)
    >>> smidgen.play(smidgen.PreferencePerceptron(dim=5), stream, user)
    History(PreferencePerceptron, 100 rounds, average regret 0.0442, bound 0.653, explored 0)

    Examples whose labels are known:

    >>> labels = smidgen.data.label_stream(rounds=1000)
    >>> smidgen.play(smidgen.Confidit(dim=6, n_classes=3), (labels.X, labels.y)).error_rate < 0.6
    True

    A function to be made small:

    >>> bowl = smidgen.losses.Repeated(lambda x: float((x[0] - 0.25) ** 2), rounds=300)
    >>> tuner = smidgen.QuadraticTuner(space=smidgen.Box(low=[0.0], high=[1.0]))
    >>> bool(smidgen.play(tuner, bowl).losses[-10:].max() < 0.01)
    True
    """
    if not isinstance(learner, Learner):
        raise InvalidArgument(f"play was given a {type(learner).__name__}", "give a learner first")
    if isinstance(stream, PointLosses):
        _refuse(user, "a user was given with losses", "leave it out: the losses answer")
        _refuse_measures(learner, utility, alpha, loss)
        history = with_losses.played(learner, stream, rounds, progress)
    elif user is not None:
        if not callable(user):
            raise InvalidArgument(f"the user is {user!r}", "give a callable user(context, action) -> feedback")
        measure = with_user.Measure(utility, alpha, loss)
        if not isinstance(learner, Presenting):
            _refuse_measures(learner, utility, alpha, loss)
        history = with_user.played(learner, stream, user, measure, rounds, progress)
    else:
        _refuse_measures(learner, utility, alpha, loss)
        _refuse(rounds, "rounds was given with a labelled stream", "cut the stream itself: (X[:n], y[:n])")
        history = with_answers.played(learner, stream)
        if callable(progress):
            progress(len(history))
    return replace(history, weights=_weights(learner))


def _refuse(value: Any, problem: str, hint: str) -> None:
    if value is not None:
        raise InvalidArgument(problem, hint)


def _refuse_measures(learner: Learner, *measures: Any) -> None:
    if any(each is not None for each in measures):
        raise InvalidArgument(
            f"utility, alpha or loss was given with a {type(learner).__name__}", "they belong to coactive learners"
        )


def _weights(learner: Learner) -> FloatArray:
    try:
        return learner.weights
    except NoWeights:
        return np.empty(0)
