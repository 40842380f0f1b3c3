"""`simulate`: the name of the first version for `smidgen.play` with a user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.evaluate.play import User, play
from smidgen.history import History
from smidgen.learners import Learner
from smidgen.theory.losses import Loss

__all__ = ["User", "simulate"]


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
    """`play` contexts in order, with a user who answers: another name for it, with the same arguments.

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
    if user is None:
        raise InvalidArgument("simulate was given no user", "give a callable user(context, action) -> feedback")
    return play(learner, contexts, user, utility=utility, alpha=alpha, loss=loss, progress=progress)
