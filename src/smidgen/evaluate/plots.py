"""Pictures of runs, by their address of the first version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from smidgen.history import History
from smidgen.history.plots import COLOURS, draw, figure_of, figure_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "figure_type", "regret_plot"]


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
    >>> from smidgen.evaluate.plots import regret_plot
    >>> stream = smidgen.data.ranking_stream(queries=50, docs=10, dim=5)
    >>> user = smidgen.users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
    >>> runs = {
    ...     type(learner).__name__: smidgen.play(learner, stream, user)
    ...     for learner in (smidgen.PreferencePerceptron(dim=5), smidgen.SecondOrderPreferencePerceptron(dim=5))
    ... }
    >>> figure = regret_plot(runs)
    """
    return figure_of(draw(histories, path, title=title))
