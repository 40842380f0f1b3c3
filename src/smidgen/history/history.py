"""What happened in a run, round by round, whatever the loop and whichever road it was played by."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smidgen import markup
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.history.columns import columns_of, summary_of
from smidgen.history.frame import as_frame
from smidgen.history.outcomes import Outcomes
from smidgen.theory.losses import Loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fields with one entry per round.
_BY_ROUND = (
    *("actions", "greedy", "truth", "explored", "feedback", "propensities", "rewards", "losses"),
    *("base_losses", "best_losses", "utility", "better_utility", "best_utility"),
)


@dataclass(frozen=True, eq=False, repr=False)
class History(Outcomes):
    """The rounds of a run, in order: the same record for every loop, with what that loop knows.

    What was not heard or measured is None, or empty where it says so, and what would follow from it is refused with
    the reason.

    Attributes
    ----------
    actions
        What went out, one per round: rankings, items, labels, whether an item was forwarded, points. On a labelled
        stream labels are numbers here, and ``labels`` has their names.
    greedy
        What would have gone out without exploration.
    truth
        On a labelled stream: the true labels, or whether each item was relevant. The learner need not have heard them.
    labels
        The names of the labels.
    learner, loop
        The class of the learner, and its loop.
    feedback
        What came back, where a user answered.
    explored
        Whether exploration changed the action; empty if that was not kept.
    propensities
        The probability of the action, where it was drawn among candidates with known rewards.
    rewards
        The reward of what was shown.
    losses, base_losses
        Of the tune loop: what the points cost, and what the points without exploration would have cost.
    best
        In hindsight: the highest reward on offer in each round; of the tune loop, the best fixed point.
    best_losses
        What the best fixed point would have cost in each round.
    utility, better_utility, best_utility
        U(x, y), U(x, ȳ) and U(x, y*); empty if no utility was given.
    alpha
        The level of informativeness that slacks are measured against.
    loss
        The convex loss of `loss_regret`.
    bound
        The theorem's upper bound after each round, on `average_regret` (or on `average_loss_regret`, see
        ``bound_on``); None if no theorem applies, for the reason in ``bound_note``.
    uninformative
        How many rounds taught nothing.
    weights
        The learner's weights after the last round; empty if it has none, and after its own ``run``.

    Examples
    --------
    >>> import smidgen
    >>> stream = smidgen.data.ranking_stream(queries=200, docs=20, dim=10)
    >>> learner = smidgen.PreferencePerceptron(dim=10)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> history = smidgen.play(learner, stream, user)
    >>> bool((history.average_regret <= history.bound).all())
    True
    """

    actions: Any
    greedy: Any = None
    truth: Any = None
    labels: list[Any] | None = None
    _: KW_ONLY
    learner: str = ""
    loop: str = ""
    feedback: list[Any] | None = None
    explored: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    propensities: FloatArray | None = None
    rewards: FloatArray | None = None
    losses: FloatArray | None = None
    base_losses: FloatArray | None = None
    best: FloatArray | None = None
    best_losses: FloatArray | None = None
    utility: FloatArray = field(default_factory=lambda: np.empty(0))
    better_utility: FloatArray = field(default_factory=lambda: np.empty(0))
    best_utility: FloatArray = field(default_factory=lambda: np.empty(0))
    alpha: float = 1.0
    loss: Loss | None = None
    bound: FloatArray | None = None
    bound_on: str = "average_regret"
    bound_note: str = ""
    uninformative: int = 0
    weights: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if len(self.explored) != len(self.actions) and self.greedy is not None:
            object.__setattr__(self, "explored", _explored(self.actions, self.greedy))

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        told = [self.learner] if self.learner else []
        told.append(f"{len(self)} rounds")
        told += [f"{name.replace('_', ' ')} {value:.4g}" for name, value in self.summary.items() if name != "rounds"]
        return f"History({', '.join(told)})"

    def _repr_html_(self) -> str:
        curve = self.curve
        drawn = "" if curve is None else markup.sparkline(curve.values, curve.name)
        named = {name.replace("_", " "): value for name, value in self.summary.items()}
        title = f"History of {self.learner or 'a learner'}" + (f", {self.loop} loop" if self.loop else "")
        return f"<div>{markup.pairs(title, named)}{drawn}</div>"

    @property
    def points(self) -> FloatArray:
        """Of the tune loop: the point of each round, one per row."""
        return np.array(self._need("actions" if self.loop == "tune" else "losses", self.actions, "points"))

    @property
    def base_points(self) -> FloatArray:
        """Of the tune loop: the points without exploration."""
        return np.array(self._need("greedy" if self.loop == "tune" else "losses", self.greedy, "points"))

    @property
    def shown(self) -> Any:
        """The actions, under the name that played tables of rankings had in the first version."""
        return self.actions

    @property
    def columns(self) -> dict[str, Any]:
        """The rounds by columns: a name, and one entry per round. What is not known has no column."""
        return columns_of(self)

    @property
    def summary(self) -> dict[str, float]:
        """The run in a few numbers: what `compare` puts side by side."""
        return summary_of(self)

    def to_frame(self, library: str | None = None) -> Any:
        """One row per round, with the `columns`: a frame of pandas, if it is there, else of polars.

        Parameters
        ----------
        library
            "pandas" or "polars".

        Examples
        --------
        >>> import numpy as np, smidgen
        >>> history = smidgen.play(smidgen.Banditron(dim=2, labels=["a", "b"]), (np.eye(2), ["a", "b"]))
        >>> list(history.to_frame().columns)
        ['round', 'action', 'greedy', 'explored', 'truth', 'mistake']
        """
        return as_frame(self.columns, library)

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the run against the rounds: regret and its bound, error rate, loss, reward, or clicks.

        Parameters
        ----------
        path
            Where to save the picture; the ending says the format (.png, .svg, .pdf).
        ax
            Axes to draw into; a figure of its own if left out.

        Returns
        -------
        matplotlib.axes.Axes
            The figure is ``axes.figure``.
        """
        from smidgen.history.plots import draw

        return draw({self.learner or "run": self}, path, ax=ax)

    def at(self, checkpoints: Sequence[int] | IntArray) -> dict[str, FloatArray]:
        """Mistakes, greedy mistakes and explorations (as shares of the rounds so far) at given rounds."""
        where = np.asarray(checkpoints, dtype=np.int64)
        return {
            name: np.cumsum(flags)[where - 1] / where
            for name, flags in (
                ("mistakes", self.mistakes),
                ("greedy_mistakes", self.greedy_mistakes),
                ("explored", self.explored),
            )
        }

    @classmethod
    def joined(cls, parts: Iterable[History]) -> History:
        """Several stretches of one learner as one; bounds, which begin with a fresh learner, are left out."""
        pieces = list(parts)
        if not pieces:
            raise InvalidArgument("there are no histories to join", "give at least one")
        last, whole = pieces[-1], {}
        for name in _BY_ROUND:
            columns = [getattr(piece, name) for piece in pieces]
            if all(column is not None for column in columns):
                whole[name] = _concatenated(columns)
        if all(piece.best is not None and piece.rewards is not None for piece in pieces):
            whole["best"] = np.concatenate([piece.best for piece in pieces])
        kept = {f.name: getattr(last, f.name) for f in fields(cls) if f.name in _OF_THE_LAST}
        return cls(**whole, **kept, uninformative=sum(piece.uninformative for piece in pieces))


_OF_THE_LAST = ("labels", "learner", "loop", "alpha", "loss", "weights")


def _explored(actions: Any, greedy: Any) -> NDArray[np.bool_]:
    """Whether another action went out than the greedy one; of a filter, an item in spite of its margin."""
    shown, best = np.asarray(actions), np.asarray(greedy)
    if shown.dtype == np.bool_:
        return np.asarray(shown & ~best)
    return np.asarray(shown != best) if shown.ndim == 1 else np.asarray((shown != best).any(axis=1))


def _concatenated(columns: list[Any]) -> Any:
    if any(isinstance(column, list) for column in columns):
        return [entry for column in columns for entry in column]
    return np.concatenate(columns)
