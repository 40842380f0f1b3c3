"""Several learners on the same stream, with the same user."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.evaluate.play import User, play
from smidgen.history import Comparison
from smidgen.learners import Learner
from smidgen.theory.losses import Loss
from smidgen.users.labels import Labels


def compare(
    learners: Mapping[str, Learner] | Iterable[Learner],
    stream: Any,
    user: User | None = None,
    *,
    utility: Any = None,
    alpha: float | None = None,
    loss: Loss | None = None,
    rounds: int | None = None,
    progress: bool | Callable[[int], None] = False,
) -> Comparison:
    """Play the same stream with each of several learners, and put what came of it side by side.

    Every learner meets the same contexts, and a user who draws the same: it is copied as it is before each run, and
    stays as it was. (A user that keeps its state elsewhere, in a closure say, goes on from run to run.) Learners keep
    what they learn.

    Parameters
    ----------
    learners
        Learners by name; or several of different classes, which then bear the names of their classes.
    stream, user, utility, alpha, loss, rounds, progress
        As for `play`. A generator is read once, and its contexts are kept.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import smidgen
    >>> stream = smidgen.data.ranking_stream(queries=300, docs=20, dim=10)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> told = smidgen.compare(
    ...     {
    ...         "at once": smidgen.PreferencePerceptron(dim=10),
    ...         "in batches": smidgen.BatchPreferencePerceptron(dim=10, batch=20),
    ...     },
    ...     stream,
    ...     user,
    ... )
    >>> sorted(told, key=lambda name: told[name].average_regret[-1])
    ['at once', 'in batches']
    """
    named = _named(learners)
    kept = list(stream) if isinstance(stream, Iterator) else stream
    return Comparison(
        {
            name: play(
                learner,
                kept,
                None if user is None else _as_it_is(user),
                utility=utility,
                alpha=alpha,
                loss=loss,
                rounds=rounds,
                progress=progress,
            )
            for name, learner in named.items()
        }
    )


def _named(learners: Any) -> dict[str, Learner]:
    hint = 'give learners by name, e.g. {"one bit": Confidit(…), "the label": AROW(…)}'
    if isinstance(learners, Mapping):
        named = dict(learners)
    elif isinstance(learners, Iterable) and not isinstance(learners, (str, bytes)):
        given = list(learners)
        named = {type(learner).__name__: learner for learner in given}
        if len(named) < len(given):
            raise InvalidArgument("two of the learners are of the same class", hint)
    else:
        raise InvalidArgument(f"the learners are a {type(learners).__name__}", hint)
    if not named:
        raise InvalidArgument("there are no learners to compare", hint)
    for name, learner in named.items():
        if not isinstance(name, str) or not isinstance(learner, Learner):
            raise InvalidArgument(f"the learner called {name!r} is a {type(learner).__name__}", hint)
    if len({id(learner) for learner in named.values()}) < len(named):
        raise InvalidArgument("the same learner stands under two names", "give each name a learner of its own")
    return named


def _as_it_is(user: Any) -> Any:
    """A copy of a user that draws, and uses labels up, as the user would from now on."""
    made = copy.copy(user)
    for name, value in vars(user).items() if hasattr(user, "__dict__") else ():
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            setattr(made, name, copy.deepcopy(value))
        elif isinstance(value, np.ndarray):
            setattr(made, name, value.copy())
        elif isinstance(value, Labels):
            setattr(made, name, value.as_it_is())
    return made
