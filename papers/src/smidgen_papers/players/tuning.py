"""Whole streams of the tune loop, compiled: rows of a table as losses, in any order, with means at checkpoints.

It is the loop of `smidgen.tune` for losses of an inner product, without a record per round: what is kept are mean
losses at checkpoints. A test holds it equal to the two verbs, to 1e-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, NotFinite
from smidgen.evaluate.losses import Logistic, PointLosses, RowLosses
from smidgen.evaluate.rankings import as_order
from smidgen.geometry.space import region_of
from smidgen.learners.tune import Tuner
from smidgen.learners.tune.base import GradientTuner
from smidgen.optim.rules import memory_of, program_of, state_of
from smidgen_papers.players.checkpoints import as_checkpoints
from smidgen_papers.players.tune_rounds import (
    BASE_LOSS,
    BASE_WRONG,
    CLIPPED,
    LOSS,
    OUTSIDE,
    SUMS,
    WRONG,
    Rows,
    play,
    scratch_for,
)

__all__ = ["TunePlay", "play_tuning"]


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
    >>> from smidgen_papers.players import play_tuning
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
    rows = as_order(order, len(loss), "rows")
    T = len(rows) if rounds is None else checks.whole("rounds", rounds, "leave it out to play the order once")
    at = as_checkpoints(checkpoints, [T], T, to_the_end=True)
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
        projected=means[OUTSIDE],
    )


def _play(learner: Tuner, loss: PointLosses, order: IntArray, sums: FloatArray) -> int:
    """Play from the start of the order as far as it goes in one piece; add to the sums, and say how far.

    By the two verbs where there is no compiled form, and where the next round is the last of a phase: they know how to
    begin another.
    """
    hears = "_learn" if isinstance(learner, GradientTuner) else "_learn_loss"
    pace, whole = learner.pace() if _speaks_for(learner, "pace", hears) else None, region_of(learner.space)
    program = program_of(learner._rule) if pace else None
    if program is None or pace is None or whole is None or not isinstance(loss, RowLosses):
        _play_by_verbs(learner, loss, order, sums)
        return len(order)
    if learner.alike() == 1:
        _play_by_verbs(learner, loss, order[:1], sums)
        return 1
    order = order[: int(min(len(order), learner.alike() - 1))]
    m = memory_of(learner._rule.state(), learner._rule.weights, learner.decisions, multiple=8)
    added = np.zeros(SUMS)
    with np.errstate(over="ignore", invalid="ignore"):  # for kernels that run as plain Python
        rows, scratch = Rows(loss.kind, loss.Z, loss.y), scratch_for(m, loss.Z.shape[1])
        finite = play(rows, whole, program, pace, m, scratch, order, added)
    if not finite:
        raise NotFinite(
            "a step leads to values that are not finite",
            "scale the rows down; the learner is as at the last checkpoint",
        )
    sums += added
    learner.note_clipped(int(added[CLIPPED]))
    learner._rule.restore(state_of(m, learner._rule.state()))
    learner._learnt_next(len(order))
    return len(order)


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


def _speaks_for(learner: Tuner, compiled: str, plain: str) -> bool:
    """Check whether the compiled form of a learner was written for the method that it has: by the same class."""
    owners = {name: next((c for c in type(learner).__mro__ if name in vars(c)), None) for name in (compiled, plain)}
    return owners[compiled] is owners[plain]
