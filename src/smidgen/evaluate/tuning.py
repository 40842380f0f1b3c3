"""`tune`: the name of the first version for `smidgen.play` with a stream of losses."""

from __future__ import annotations

from collections.abc import Callable

from smidgen.errors import InvalidArgument
from smidgen.evaluate.play import play
from smidgen.evaluate.point_losses import PointLosses
from smidgen.history import History
from smidgen.learners.tune import Tuner

#: The name of the first version for the history of the tune loop.
TuneHistory = History


def tune(
    learner: Tuner,
    loss: PointLosses,
    rounds: int | None = None,
    *,
    progress: bool | Callable[[int], None] = False,
) -> History:
    """`play` a stream of losses: a point goes out, its loss (or the gradient there) comes back; and measure.

    Parameters
    ----------
    learner
        A learner of the tune loop. It hears what its kind hears: `OGDEG` and `ONSEG` the loss at the point, `OGD` and
        `ONS` the gradient there. It keeps what it learns.
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
