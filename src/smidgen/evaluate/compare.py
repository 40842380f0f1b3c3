"""Several learners on the same stream, with the same user; `simulate` and `tune`, other names for `smidgen.play`."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.errors import InvalidArgument
from smidgen.evaluate.losses import PointLosses
from smidgen.evaluate.play import User, play
from smidgen.history import Comparison, History
from smidgen.history.plots import draw, figure_of
from smidgen.learners import Learner
from smidgen.learners.tune import Tuner
from smidgen.theory.base import Loss
from smidgen.users.base import Labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    >>> result = smidgen.compare(
    ...     {
    ...         "at once": smidgen.PreferencePerceptron(dim=10),
    ...         "in batches": smidgen.BatchPreferencePerceptron(dim=10, batch=20),
    ...     },
    ...     stream,
    ...     user,
    ... )
    >>> sorted(result, key=lambda name: result[name].average_regret[-1])
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
            raise InvalidArgument("two of the learners have the same class", hint)
    else:
        raise InvalidArgument(f"the learners are a {type(learners).__name__}", hint)
    if not named:
        raise InvalidArgument("there are no learners to compare", hint)
    for name, learner in named.items():
        if not isinstance(name, str) or not isinstance(learner, Learner):
            raise InvalidArgument(f"learners[{name!r}] is a {type(learner).__name__}", hint)
    if len({id(learner) for learner in named.values()}) < len(named):
        raise InvalidArgument("two names refer to the same learner", "give each name its own learner")
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


#: The name of the first version for the history of the tune loop.
TuneHistory = History


def tune(
    learner: Tuner,
    loss: PointLosses,
    rounds: int | None = None,
    *,
    progress: bool | Callable[[int], None] = False,
) -> History:
    """`play` a stream of losses: a point is returned, its loss (or the gradient there) comes back; and measure.

    Parameters
    ----------
    learner
        A learner of the tune loop. `OGDEG` and `ONSEG` receive the loss at the point, `OGD` and `ONS` the gradient
        there. The learner is updated in place.
    loss
        One of `smidgen.losses`: `LeastSquares`, `Logistic`, `Portfolio`, `Repeated`, or your own `PointLosses`.
    rounds
        How many rounds; all of them if left out.
    progress
        True shows a progress bar (needs the extra ``cli``); a function is called with the number of each finished
        round.

    Returns
    -------
    History

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(500, 3))
    >>> loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.5, -0.5, 0.0])
    >>> space = smidgen.Ball(dim=3)
    >>> learner = smidgen.OGD(space=space, gradient_bound=loss.lipschitz(space))
    >>> history = smidgen.tune(learner, loss)
    >>> bool(history.cumulative_regret[-1] < smidgen.bounds.ogd(T=500, D=space.diameter, G=loss.lipschitz(space)))
    True
    """
    if not isinstance(loss, PointLosses):
        raise InvalidArgument(
            f"the loss is {loss!r}", "give one of smidgen.losses, e.g. losses.Repeated(f) for a function f"
        )
    return play(learner, loss, rounds=rounds, progress=progress)


def regret_plot(
    histories: Mapping[str, History], path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Figure:
    """Average regret against the round for one or several runs, each with its bound (dashed) where it has one.

    `Comparison.plot` draws the same of a comparison.

    Parameters
    ----------
    histories
        Runs by the names they should bear in the legend.
    path
        Where to save the picture; the ending says the format (.png, .svg, .pdf).
    title
        A line above the picture.

    Examples
    --------
    >>> import smidgen
    >>> from smidgen.evaluate import regret_plot
    >>> stream = smidgen.data.ranking_stream(queries=50, docs=10, dim=5)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> runs = {
    ...     type(learner).__name__: smidgen.play(learner, stream, user)
    ...     for learner in (smidgen.PreferencePerceptron(dim=5), smidgen.SecondOrderPreferencePerceptron(dim=5))
    ... }
    >>> figure = regret_plot(runs)
    """
    return figure_of(draw(histories, path, title=title))
