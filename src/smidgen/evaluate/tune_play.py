"""Whole streams of the tune loop, compiled: rows of a table as losses, in any order, with means at checkpoints.

It is the loop of `smidgen.tune` for losses of an inner product, without a record per round: what is kept are mean
losses at checkpoints. A test holds it equal to the two verbs, to 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.evaluate.point_losses import LeastSquares, Logistic, PointLosses, Portfolio
from smidgen.evaluate.tune_region import Region, as_region
from smidgen.evaluate.tune_stream import (
    BASE_LOSS,
    BASE_WRONG,
    CLIPPED,
    LEAST_SQUARES,
    LOGISTIC,
    LOSS,
    PORTFOLIO,
    PROJECTED,
    SUMS,
    WRONG,
    Pace,
    Rows,
    play,
    room_for,
)
from smidgen.learners.tune import OGD, OGDEG, ONS, ONSEG, Tuner
from smidgen.learners.tune.base import GradientTuner
from smidgen.learners.tune.ogdeg import Phased
from smidgen.optim import Gradient, Newton
from smidgen.randomness import DIRECTION, stream_key

__all__ = ["TunePlay", "play_tuning"]

_KINDS: dict[type[PointLosses], int] = {LeastSquares: LEAST_SQUARES, Logistic: LOGISTIC, Portfolio: PORTFOLIO}


@dataclass(frozen=True, eq=False, repr=False)
class TunePlay:
    """What came of a stream, at the checkpoints.

    Attributes
    ----------
    learner
        The class of the learner.
    checkpoints
        The numbers of rounds that the means are taken over, counted from the start of this stream.
    losses, base_losses
        The mean loss of the points tried, F(X^t) of the ONSEG paper, and that of the base points.
    mistakes, base_mistakes
        The share of rounds in which x·z had not the sign of the target: the error rate of a classifier. NaN for other
        losses than `Logistic`.
    projected
        The share of rounds in which a step left the set; compiled rounds only.
    """

    learner: str
    checkpoints: IntArray
    losses: FloatArray
    base_losses: FloatArray
    mistakes: FloatArray
    base_mistakes: FloatArray
    projected: FloatArray

    def __len__(self) -> int:
        return int(self.checkpoints[-1])

    def __repr__(self) -> str:
        return f"TunePlay({self.learner}, {len(self)} rounds, mean loss {self.losses[-1]:.4g})"


def play_tuning(
    learner: Tuner,
    loss: PointLosses,
    *,
    order: Any = None,
    rounds: int | None = None,
    checkpoints: Sequence[int] | None = None,
) -> TunePlay:
    """Play rows of a table of losses in compiled code: round for round what the two verbs would do.

    Parameters
    ----------
    learner
        A learner of the tune loop; it keeps what it learns. `OGD`, `ONS`, `OGDEG` and `ONSEG` on a `Ball`, `Box` or
        `Simplex` run compiled, others by their two verbs.
    loss
        `LeastSquares`, `Logistic` or `Portfolio`; other losses are played by the two verbs.
    order
        Which row comes in which round, counted from 0; all rows in their order if left out.
    rounds
        How many rounds; the order is gone through again and again until they are full. Once if left out.
    checkpoints
        After how many rounds to note the means, in rising order; only after the last one if left out.

    Returns
    -------
    TunePlay

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.evaluate.tune_play import play_tuning
    >>> Z = np.random.default_rng(0).normal(size=(500, 3))
    >>> loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.5, -0.5, 0.0])
    >>> learner = smidgen.OGD(space=smidgen.Ball(dim=3), gradient_bound=20.0)
    >>> run = play_tuning(learner, loss, rounds=50_000, checkpoints=[500, 50_000])
    >>> bool(run.losses[1] < 0.1 * run.losses[0]), learner.rounds
    (True, 50000)
    """
    if not isinstance(learner, Tuner):
        raise InvalidArgument(
            f"play_tuning was given a {type(learner).__name__}", "give a learner of the tune loop, e.g. OGDEG"
        )
    if not isinstance(loss, PointLosses):
        raise InvalidArgument(f"the loss is {loss!r}", "give one of smidgen.losses, e.g. losses.LeastSquares")
    loss.check(learner.space)
    rows = _order(order, len(loss))
    T = len(rows) if rounds is None else checks.whole("rounds", rounds, "leave it out to play the order once")
    at = _checkpoints(checkpoints, T)
    sums, noted, done = np.zeros(SUMS), [], 0
    for stop in at:
        while done < stop:
            done += _play(learner, loss, rows[np.arange(done, stop) % len(rows)], sums)
        noted.append(sums / stop)
    means = np.array(noted).T
    if not isinstance(loss, Logistic):
        means[[WRONG, BASE_WRONG]] = np.nan
    return TunePlay(
        learner=type(learner).__name__,
        checkpoints=at,
        losses=means[LOSS],
        base_losses=means[BASE_LOSS],
        mistakes=means[WRONG],
        base_mistakes=means[BASE_WRONG],
        projected=means[PROJECTED],
    )


def _play(learner: Tuner, loss: PointLosses, order: IntArray, sums: FloatArray) -> int:
    """Play from the start of the order as far as it goes in one piece; add to the sums, and say how far."""
    whole, kind = as_region(learner.space), _KINDS.get(type(loss))
    told_otherwise = isinstance(learner, Phased) and not learner.plain
    if type(learner) not in (OGD, ONS, OGDEG, ONSEG) or whole is None or kind is None or told_otherwise:
        _play_by_verbs(learner, loss, order, sums)
        return len(order)
    if isinstance(learner, Phased) and learner._phase:
        left = learner._phase.start + learner._phase.length - learner.rounds
        if left == 1:  # the verbs know how to begin the next phase
            _play_by_verbs(learner, loss, order[:1], sums)
            return 1
        order = order[: left - 1]
    _play_compiled(learner, _rows(loss, kind), whole, order, sums)
    return len(order)


def _play_compiled(learner: Tuner, rows: Rows, whole: Region, order: IntArray, sums: FloatArray) -> None:
    rule = learner._rule
    if not isinstance(rule, (Gradient, Newton)):
        raise TypeError(f"no compiled stream for the rule {rule!r}")
    kept = as_region(rule.space) or whole
    state, first = rule.state(), learner.decisions
    reach = learner.delta if isinstance(learner, Phased) else 0.0
    gain = -1.0 if not isinstance(learner, ONSEG) else -learner.space.free_dim / reach
    longest = learner.gradient_bound if isinstance(learner, GradientTuner) else math.inf
    pace = Pace(isinstance(rule, Newton), rule.scale, reach, gain, stream_key(learner._seed, DIRECTION), longest)
    counts = np.array([int(state["t"]) if "t" in state else 0, first])
    room = room_for(state["w"], state.get("inverse", np.zeros((0, 0))), counts, rows.Z.shape[1])
    added = np.zeros(SUMS)
    with np.errstate(over="ignore", invalid="ignore"):  # for kernels that run as plain Python
        finite = play(rows, (whole, kept), pace, room, order, added)
    if not finite:
        raise NotFinite(
            "a step leads to values that are not finite",
            "scale the rows down; the learner is as at the last checkpoint",
        )
    sums += added
    if isinstance(learner, GradientTuner):
        learner._clipped += int(added[CLIPPED])
    n = room.dim
    rule.restore({"w": room.w[:n].copy(), "inverse": room.B[:n, :n], "t": counts[0]})
    learner._learnt.add_range(first + 1, first + 1 + len(order))
    learner._decided = first + len(order)


def _play_by_verbs(learner: Tuner, loss: PointLosses, order: IntArray, sums: FloatArray) -> None:
    for t in order.tolist():
        decision = learner.decide()
        x, y = decision.action, decision.greedy
        value = loss(t, x)
        learner.learn(decision, loss.gradient(t, x) if isinstance(learner, GradientTuner) else value)
        sums[LOSS] += value
        sums[BASE_LOSS] += loss(t, y)
        if isinstance(loss, Logistic):
            sums[WRONG] += loss.y[t] * (loss.Z[t] @ x) <= 0.0
            sums[BASE_WRONG] += loss.y[t] * (loss.Z[t] @ y) <= 0.0


def _rows(loss: PointLosses, kind: int) -> Rows:
    if isinstance(loss, Portfolio):
        return Rows(kind, loss.Z, np.zeros(len(loss)))
    if isinstance(loss, (LeastSquares, Logistic)):
        return Rows(kind, loss.Z, loss.y)
    raise TypeError(f"no compiled stream for the losses {loss!r}")


def _order(order: Any, rows: int) -> IntArray:
    if order is None:
        return np.arange(rows)
    given = np.asarray(order)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given) or given.min() < 0 or given.max() >= rows:
        raise InvalidArgument(
            f"the order has shape {given.shape} and dtype {given.dtype}",
            f"give row numbers from 0 to {rows - 1}, one per round",
        )
    return given.astype(np.int64)


def _checkpoints(checkpoints: Sequence[int] | None, rounds: int) -> IntArray:
    at = np.array([rounds] if checkpoints is None else checkpoints)
    if at.dtype.kind not in "iu" or not len(at) or at[0] < 1 or at[-1] != rounds or (np.diff(at) <= 0).any():
        raise InvalidArgument(
            f"checkpoints are {checkpoints!r}", f"give rising numbers of rounds from 1 on, the last one {rounds}"
        )
    return at.astype(np.int64)
