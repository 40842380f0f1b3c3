"""Made-up tables of the shapes of the UCI and Delve collections."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument

_SCALES = {"unit": "rows of length 1", "standard": "mean 0, deviation 1", "range": "from -1 to 1"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers.

    Attributes
    ----------
    name
        What this is.
    X
        One row per case.
    y
        The target: a number (``task`` "regression") or +1 / −1 ("classification").
    columns
        The names of the features.
    task
        "regression" or "classification".
    """

    name: str
    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...]
    task: str

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows x {len(self.columns)} features, {self.task})"

    def scaled(self, scale: str | None = None, target: str | None = None) -> Table:
        """Scale the features, and the target if asked.

        Parameters
        ----------
        scale
            ``"standard"``: every feature to mean 0 and standard deviation 1; ``"range"``: every feature to [−1, 1], as
            the scaled sets on the LIBSVM page; ``"unit"``: every row to length 1 (zeros stay); None: as it is.
        target
            The same for the target: ``"standard"``, ``"range"`` or None. The labels of a classification stay ±1.
        """
        X = self.X if scale is None else _scale(self.X, checks.one_of("scale", scale, _SCALES))
        y = self.y
        if target is not None:
            checks.one_of("target", target, {"standard": 0, "range": 0})
            if self.task == "classification":
                raise InvalidArgument(f"target is {target!r} but the labels are ±1", "leave target out")
            y = _scale(y[:, None], target)[:, 0]
        return replace(self, X=X, y=y)

    def without(self, *columns: str) -> Table:
        """Leave out these features."""
        for column in columns:
            checks.one_of("column", column, dict.fromkeys(self.columns))
        kept = [j for j, column in enumerate(self.columns) if column not in columns]
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), columns=tuple(self.columns[j] for j in kept))

    def sample(self, rows: int, seed: int = 0) -> Table:
        """Draw rows without replacement."""
        n = checks.whole("rows", rows, f"give at most {len(self)}", below=len(self) + 1)
        picked = np.random.default_rng(checks.seed(seed)).permutation(len(self))[:n]
        return replace(self, X=self.X[picked], y=self.y[picked])


#: Rows, features, task, and the share of the +1 of the tables of the ONSEG paper.
_SHAPES = {
    "abalone": (4177, 8, "regression", 0.0),
    "kin8nm": (8192, 8, "regression", 0.0),
    "ionosphere": (351, 33, "classification", 225 / 351),
    "cancer": (683, 9, "classification", 239 / 683),
}


def regression_table(
    *, rows: int = 4177, dim: int = 8, noise: float = 0.5, curvature: float = 0.3, seed: int = 0
) -> Table:
    """Correlated features, and a target that is almost linear in them.

    The target is a linear function of deviation 1, plus ``curvature`` times the standardised square of another one,
    plus ``noise``.

    Parameters
    ----------
    rows, dim
        How many rows and features.
    noise, curvature
        See above.
    seed
        The same seed, the same table.

    Examples
    --------
    >>> from smidgen.data import regression_table
    >>> regression_table()
    Table('generated', 4177 rows x 8 features, regression)
    """
    X, score = _score(rows, dim, noise, curvature, seed)
    return Table("generated", X, score, _columns(dim), "regression")


def classification_table(
    *,
    rows: int = 351,
    dim: int = 33,
    positive: float = 0.64,
    noise: float = 0.5,
    curvature: float = 0.3,
    seed: int = 0,
) -> Table:
    """Correlated features, and labels ±1 by the score of `regression_table`: the largest ``positive`` share is +1.

    Parameters
    ----------
    rows, dim
        How many rows and features.
    positive
        The share of the rows with label +1.
    noise, curvature
        As in `regression_table`.
    seed
        The same seed, the same table.

    Examples
    --------
    >>> from smidgen.data import classification_table
    >>> made_up = classification_table(rows=100, dim=3, positive=0.25)
    >>> int((made_up.y == 1).sum())
    25
    """
    share = checks.number("positive", positive, "give a share in (0, 1)", above=0.0, at_most=1.0)
    X, score = _score(rows, dim, noise, curvature, seed)
    y = np.full(len(score), -1.0)
    y[np.argsort(-score, kind="stable")[: round(share * len(score))]] = 1.0
    return Table("generated", X, y, _columns(dim), "classification")


def table_like(name: str, *, seed: int = 0) -> Table:
    """Return a made-up table with the shape and task of the one that `table` loads under this name.

    Examples
    --------
    >>> from smidgen.data import table_like
    >>> table_like("ionosphere")
    Table('generated', 351 rows x 33 features, classification)
    """
    rows, dim, task, positive = _SHAPES[checks.one_of("name", name, _SHAPES)]
    if task == "regression":
        return regression_table(rows=rows, dim=dim, seed=seed)
    return classification_table(rows=rows, dim=dim, positive=positive, seed=seed)


def _score(rows: int, dim: int, noise: float, curvature: float, seed: int) -> tuple[FloatArray, FloatArray]:
    n, d = checks.whole("rows", rows, "at least 2", at_least=2), checks.dimension(dim)
    hint = "give a number, at least 0"
    sigma = checks.number("noise", noise, hint, at_least=0.0)
    bend = checks.number("curvature", curvature, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1)) * rng.uniform(0.0, 1.5, size=d)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plain, bent = (X @ rng.normal(size=(d, 2))).T
    plain, bent = plain / plain.std(), (bent / bent.std()) ** 2
    bent = (bent - bent.mean()) / max(float(bent.std()), 1e-12)
    return X, plain + bend * bent + sigma * rng.normal(size=n)


def _columns(dim: int) -> tuple[str, ...]:
    return tuple(f"x{j + 1}" for j in range(dim))


def _scale(X: FloatArray, how: str) -> FloatArray:
    if how == "unit":
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
    if how == "standard":
        spread = X.std(axis=0)
        return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0, 0.0)
