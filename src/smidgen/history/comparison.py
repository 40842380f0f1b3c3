"""Several learners on the same stream, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen import markup
from smidgen.errors import InvalidArgument
from smidgen.history.history import History, as_frame
from smidgen.history.plots import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    >>> told = smidgen.compare(
    ...     {
    ...         "by confidence": smidgen.Confidit(dim=6, n_classes=3),
    ...         "by chance": smidgen.Banditron(dim=6, n_classes=3),
    ...     },
    ...     stream,
    ... )
    >>> list(told)
    ['by confidence', 'by chance']
    >>> told["by confidence"].error_rate < told["by chance"].error_rate
    True
    >>> list(told.to_frame().columns)
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
        """One entry per learner: its name, its class, and the numbers of `History.summary`; None where it has none."""
        told = [history.summary for history in self.values()]
        names = list(dict.fromkeys(name for summary in told for name in summary))
        classes = [history.learner for history in self.values()]
        return {"learner": list(self), "class": classes, **{n: [each.get(n) for each in told] for n in names}}

    def to_frame(self, library: str | None = None, *, rounds: bool = False) -> Any:
        """One row per learner, in a few numbers; or, with ``rounds``, one row per learner and round.

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
