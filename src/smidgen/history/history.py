"""Record of a run, round by round, for every loop and every way of playing; and comparison of several runs.

Mistakes, regret and averages are defined once for all loops (`Outcomes`). The names of columns are those that frames,
tables and notebooks show. Frames are those of pandas or polars; neither is needed unless it is asked for.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smidgen import markup
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.history.plots import Curve, average, draw
from smidgen.theory import bounds
from smidgen.theory.base import Linear, Loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Outcomes:
    """The measures of a `History`, from its columns."""

    if TYPE_CHECKING:
        actions: Any
        greedy: Any
        truth: Any
        loop: str
        feedback: list[Any] | None
        rewards: FloatArray | None
        losses: FloatArray | None
        best: FloatArray | None
        best_losses: FloatArray | None
        utility: FloatArray
        better_utility: FloatArray
        best_utility: FloatArray
        alpha: float
        loss: Loss | None
        bound_on: str

        def __len__(self) -> int: ...

    @property
    def mistakes(self) -> NDArray[np.bool_]:
        """Of the label and the filter loop: whether what was shown was wrong.

        On a labeled stream mistakes are known for every round. Where a user answered, they are known for the answered
        rounds: a label called wrong, or rewarded by less than one half; an item forwarded and not relevant (or reported
        as relevant and dropped).
        """
        if self.truth is not None:
            return np.asarray(self.actions != self.truth)
        if self.loop not in ("label", "filter") or self.feedback is None:
            raise InvalidArgument(f"a run of the {self.loop or 'rank'} loop has no mistakes", "use regret or feedback")
        if self.rewards is not None:
            return np.asarray(self.rewards < 0.5)
        wrong = _other if self.loop == "filter" else _wrong
        return np.array([wrong(a, f) for a, f in zip(self.actions, self.feedback, strict=True)], np.bool_)

    @property
    def greedy_mistakes(self) -> NDArray[np.bool_]:
        """True where the greedy action would have been wrong."""
        return np.asarray(self.greedy != self._known_truth())

    @property
    def cumulative_mistakes(self) -> IntArray:
        """The number of mistakes up to each round."""
        return np.cumsum(self.mistakes)

    @property
    def error_rate(self) -> float:
        """The share of rounds with a mistake."""
        return _mean(self.mistakes)

    @property
    def true_positives(self) -> int:
        """Relevant items forwarded."""
        return int((self.actions & self._known_truth()).sum())

    @property
    def false_positives(self) -> int:
        """Irrelevant items forwarded."""
        return int((self.actions & ~self._known_truth()).sum())

    @property
    def false_negatives(self) -> int:
        """Relevant items dropped; only the evaluator knows them."""
        return int((~self.actions & self._known_truth()).sum())

    @property
    def true_negatives(self) -> int:
        """Irrelevant items dropped."""
        return int((~self.actions & ~self._known_truth()).sum())

    @property
    def precision(self) -> float:
        """The share of relevant items among those forwarded; 0 if none was forwarded."""
        return self.true_positives / max(1, int(np.sum(self.actions)))

    @property
    def recall(self) -> float:
        """The share of forwarded items among the relevant ones; 0 if none was relevant."""
        return self.true_positives / max(1, int(self._known_truth().sum()))

    @property
    def f_measure(self) -> float:
        """2·precision·recall/(precision + recall), 0 if both are."""
        total = self.precision + self.recall
        return 2.0 * self.precision * self.recall / total if total else 0.0

    @property
    def regret(self) -> FloatArray:
        """Difference of each round to the best possible value.

        U(x, y*) − U(x, y) where a utility is known; the highest reward on offer less the reward; of the tune loop
        f_t(x_t) − f_t(x*), x* the best fixed point (a single round's can be negative).
        """
        if self.losses is not None and self.best_losses is not None:
            return self.losses - self.best_losses
        if self.rewards is not None and self.best is not None:
            return self.best - self.rewards
        self._need_utility()
        return self.best_utility - self.utility

    @property
    def cumulative_regret(self) -> FloatArray:
        """The sum of regrets up to each round: T·REG_T."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> FloatArray:
        """The mean of regrets up to each round: REG_T (eq. 4)."""
        return average(self.regret)

    @property
    def loss_regret(self) -> FloatArray:
        """c(U(x, y) − U(x, y*)) − c(0) per round, c the loss that was given (the linear one if none was)."""
        loss = self.loss or Linear()
        return np.asarray(loss(-self.regret) - loss(0.0))

    @property
    def cumulative_loss_regret(self) -> FloatArray:
        """The sum of loss regrets up to each round: T·CREG_T."""
        return np.cumsum(self.loss_regret)

    @property
    def average_loss_regret(self) -> FloatArray:
        """The mean of loss regrets up to each round: CREG_T (eq. 15)."""
        return average(self.loss_regret)

    @property
    def slacks(self) -> FloatArray:
        """ξ_t of eq. 6, at the level `alpha`."""
        self._need_utility()
        return np.asarray(
            bounds.slack(alpha=self.alpha, shown=self.utility, better=self.better_utility, best=self.best_utility)
        )

    @property
    def average_slack(self) -> FloatArray:
        """The mean of slacks up to each round."""
        return average(self.slacks)

    @property
    def average_reward(self) -> float:
        """The mean reward of what was shown."""
        return _mean(self._need("rewards", self.rewards, "rewards"))

    @property
    def average_loss(self) -> FloatArray:
        """Of the tune loop: the mean of losses up to each round."""
        return average(self._need("losses", self.losses, "losses"))

    @property
    def clicks(self) -> IntArray:
        """Number of clicked documents in each round, where users click."""
        given = self.feedback
        if not given or not all(hasattr(each, "documents") for each in given):
            raise InvalidArgument("the run has feedback other than clicks", "use history.feedback")
        return np.array([len(each) for each in given], np.int64)

    @property
    def has_utility(self) -> bool:
        """True if the utility of every round was measured."""
        return len(self.utility) == len(self)

    @property
    def curve(self) -> Curve | None:
        """The curve that plots show, up to each round; None if nothing was measured."""
        if self.losses is not None:
            return Curve("average loss", self.average_loss)
        if self.rewards is not None:
            return Curve("average reward", average(self.rewards))
        if self.has_utility:
            return Curve(self.bound_on.replace("_", " "), getattr(self, self.bound_on), falls_by_factors=True)
        if self.truth is not None or (self.loop in ("label", "filter") and self.feedback is not None):
            return Curve("error rate", average(self.mistakes))
        try:
            return Curve("clicks per round", average(self.clicks))
        except InvalidArgument:
            return None

    def _need_utility(self) -> None:
        if not self.has_utility:
            raise InvalidArgument(
                "the run was played without a utility, so it has no regret",
                "give utility=w_star, or a user that has a w_star",
            )

    def _known_truth(self) -> Any:
        return self._need("truth", self.truth, "known answers")

    def _need(self, field: str, value: Any, what: str) -> Any:
        if getattr(self, field) is None or value is None:
            raise InvalidArgument(
                f"this run of the {self.loop or 'rank'} loop has no {what}",
                "history.columns lists the columns of the run",
            )
        return value


def _mean(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else 0.0


def _wrong(label: Any, feedback: Any) -> bool:
    """True if feedback calls a label wrong: `False`, or another label."""
    return not feedback if isinstance(feedback, (bool, np.bool_)) else _other(label, feedback)


def _other(action: Any, feedback: Any) -> bool:
    """True if feedback differs from the answer given; no feedback does not."""
    return feedback is not None and bool(feedback != action)


#: Columns that are fields of a history, by their names in the singular.
_FIELDS = {
    "utility": "utility",
    "better_utility": "better_utility",
    "best_utility": "best_utility",
    "reward": "rewards",
    "propensity": "propensities",
    "loss": "losses",
    "base_loss": "base_losses",
    "best_loss": "best_losses",
}


def columns_of(history: History) -> dict[str, Any]:
    """Columns of a history, one entry per round: arrays of numbers, or lists of plain values."""
    made: dict[str, Any] = {"round": np.arange(1, len(history) + 1)}
    made |= _spread("action", history.actions, history.labels)
    if history.greedy is not None:
        made |= _spread("greedy", history.greedy, history.labels)
    if len(history.explored) == len(history):
        made["explored"] = history.explored
    if history.feedback is not None:
        made |= _spread("feedback", history.feedback, None)
    if history.truth is not None:
        made |= _spread("truth", history.truth, history.labels)
    if has_mistakes(history):
        made["mistake"] = history.mistakes
    for name, attribute in _FIELDS.items():
        values = getattr(history, attribute)
        if values is not None and len(values) == len(history):
            made[name] = values
    if history.rewards is not None and history.best is not None:
        made["best_reward"] = history.best
    if has_regret(history):
        made["regret"], made["average_regret"] = history.regret, history.average_regret
    if history.has_utility and history.loss is not None:
        made["average_loss_regret"] = history.average_loss_regret
    if history.has_utility:
        made["slack"] = history.slacks
    if history.bound is not None:
        made["bound"] = history.bound
    if has_clicks(history):
        made["clicks"] = history.clicks
    return made


def summary_of(history: History) -> dict[str, float]:
    """The run in a few numbers."""
    made: dict[str, float] = {"rounds": len(history)}
    if not len(history):
        return made
    if history.losses is not None:
        made["average_loss"] = float(history.average_loss[-1])
    if history.rewards is not None:
        made["average_reward"] = history.average_reward
    if has_mistakes(history):
        made["error_rate"] = history.error_rate
    if history.loop == "filter" or np.asarray(history.actions[:1]).dtype == np.bool_:
        made["forwarded"] = float(np.mean(history.actions))
        if history.truth is not None:
            made |= {name: getattr(history, name) for name in ("precision", "recall", "f_measure")}
    if has_regret(history):
        made["average_regret"] = float(history.average_regret[-1])
    if history.has_utility and history.loss is not None:
        made["average_loss_regret"] = float(history.average_loss_regret[-1])
    if history.bound is not None:
        made["bound"] = float(history.bound[-1])
    if has_clicks(history):
        made["clicks"] = float(history.clicks.mean())
    if len(history.explored) == len(history):
        made["explored"] = float(history.explored.mean())
    return made


def has_mistakes(history: History) -> bool:
    """True if it is known which rounds went wrong."""
    return history.truth is not None or (history.loop in ("label", "filter") and history.feedback is not None)


def has_regret(history: History) -> bool:
    """True if the best value of each round is known."""
    by_loss = history.losses is not None and history.best_losses is not None
    return by_loss or history.has_utility or (history.rewards is not None and history.best is not None)


def has_clicks(history: History) -> bool:
    """True if every feedback was clicks."""
    return bool(history.feedback) and all(hasattr(each, "documents") for each in history.feedback or ())


def _spread(name: str, values: Any, labels: list[Any] | None) -> dict[str, Any]:
    """A column; of values by name (knobs) one column each."""
    if labels is not None:
        return {name: [labels[i] for i in np.asarray(values).tolist()]}
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return {name: values}
    first = next(iter(values), None)
    if isinstance(first, Mapping):
        return {f"{name}.{key}": [plain(each.get(key)) for each in values] for key in first}
    return {name: [plain(each) for each in values]}


def plain(value: Any) -> Any:
    """A value that frames of every kind can hold: a number, a text, or a list of them."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping, Iterator)):
        return [plain(each) for each in value]
    return repr(value)


LIBRARIES = ("pandas", "polars")


def as_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """A frame with these columns: of the library asked for, or of pandas if it is there, else of polars."""
    if library is not None and library not in LIBRARIES:
        raise InvalidArgument(f"library is {library!r}", 'give "pandas" or "polars", or omit it')
    for name in LIBRARIES if library is None else (library,):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.DataFrame(dict(columns)) if name == "pandas" else module.DataFrame(dict(columns), strict=False)
    wanted = "pandas or polars" if library is None else library
    raise MissingExtra(
        f"a frame needs {wanted}", f"pip install {library or 'pandas'}, or use history.columns, which are arrays"
    )


#: Fields with one entry per round.
_BY_ROUND = (
    *("actions", "greedy", "truth", "explored", "feedback", "propensities", "rewards", "losses"),
    *("base_losses", "best_losses", "utility", "better_utility", "best_utility"),
)


@dataclass(frozen=True, eq=False, repr=False)
class History(Outcomes):
    """The rounds of a run, in order: the same record for every loop, with what that loop knows.

    Fields that were not received or measured are None, or empty where documented; properties derived from them raise an
    error with the reason.

    Attributes
    ----------
    actions
        What went out, one per round: rankings, items, labels, whether an item was forwarded, points. On a labelled
        stream labels are numbers here, and ``labels`` has their names.
    greedy
        What would have gone out without exploration.
    truth
        On a labeled stream: the true labels, or the relevance of each item. The learner need not have received them.
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
        parts = [self.learner] if self.learner else []
        parts.append(f"{len(self)} rounds")
        parts += [f"{name.replace('_', ' ')} {value:.4g}" for name, value in self.summary.items() if name != "rounds"]
        return f"History({', '.join(parts)})"

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
        """A frame of the `columns`, one row per round: pandas if it is installed, else polars.

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
    """True where the decision differs from the greedy action; in a filter, items forwarded despite the margin."""
    shown, best = np.asarray(actions), np.asarray(greedy)
    if shown.dtype == np.bool_:
        return np.asarray(shown & ~best)
    return np.asarray(shown != best) if shown.ndim == 1 else np.asarray((shown != best).any(axis=1))


def _concatenated(columns: list[Any]) -> Any:
    if any(isinstance(column, list) for column in columns):
        return [entry for column in columns for entry in column]
    return np.concatenate(columns)


class Comparison(Mapping[str, History]):
    """The histories of several learners on the same stream, by name: a table, a frame and a picture of them.

    Parameters
    ----------
    histories
        The runs by name, in the order in which they are shown.

    Examples
    --------
    >>> import smidgen
    >>> stream = smidgen.data.label_stream(rounds=500)
    >>> result = smidgen.compare(
    ...     {
    ...         "by confidence": smidgen.Confidit(dim=6, n_classes=3),
    ...         "by chance": smidgen.Banditron(dim=6, n_classes=3),
    ...     },
    ...     stream,
    ... )
    >>> list(result)
    ['by confidence', 'by chance']
    >>> result["by confidence"].error_rate < result["by chance"].error_rate
    True
    >>> list(result.to_frame().columns)
    ['learner', 'class', 'rounds', 'error_rate', 'explored']
    """

    def __init__(self, histories: Mapping[str, History]) -> None:
        self._histories = dict(histories)
        if not self._histories:
            raise InvalidArgument("there is nothing to compare", "give at least one run")

    def __getitem__(self, name: str) -> History:
        return self._histories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._histories)

    def __len__(self) -> int:
        return len(self._histories)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Columns with one entry per learner: name, class, and the numbers of `History.summary` (None if missing)."""
        summaries = [history.summary for history in self.values()]
        names = list(dict.fromkeys(name for summary in summaries for name in summary))
        classes = [history.learner for history in self.values()]
        return {"learner": list(self), "class": classes, **{n: [each.get(n) for each in summaries] for n in names}}

    def to_frame(self, library: str | None = None, *, rounds: bool = False) -> Any:
        """A frame with one summary row per learner; with ``rounds``, one row per learner and round.

        Parameters
        ----------
        library
            "pandas" or "polars"; by default pandas, if it is there, else polars.
        rounds
            Whether to give every round: the columns of `History.to_frame` behind the name of the learner.
        """
        return as_frame(self._rounds() if rounds else self.columns, library)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Draw one curve per learner, and its bound where it has one; save to ``path`` if given.

        Returns
        -------
        matplotlib.axes.Axes
            The figure is ``axes.figure``.
        """
        return draw(self._histories, path, ax=ax, title=title)

    def __repr__(self) -> str:
        columns = self.columns
        heads = [name.replace("_", " ") for name in columns]
        rows = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in (heads, *rows))
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        columns = self.columns
        heads = [name.replace("_", " ") for name in columns]
        rows = (list(map(_cell, row)) for row in zip(*columns.values(), strict=True))
        return markup.table(f"{len(self)} learners on the same stream", heads, rows)

    def _rounds(self) -> dict[str, list[Any]]:
        """The rounds of all runs, one below the other."""
        parts = {name: history.columns for name, history in self.items()}
        names = list(dict.fromkeys(column for part in parts.values() for column in part))
        whole: dict[str, list[Any]] = {"learner": [name for name, part in parts.items() for _ in part["round"]]}
        for column in names:
            whole[column] = []
            for part in parts.values():
                values = part.get(column, [None] * len(part["round"]))
                whole[column] += values.tolist() if isinstance(values, np.ndarray) else list(values)
        return whole


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
