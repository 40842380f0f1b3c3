"""Pictures of runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from smidgen.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from smidgen.evaluate.history import History

COLOURS = (
    "#1f6f8b",
    "#d1495b",
    "#edae49",
    "#66a182",
    "#6a4c93",
    "#8d6a4f",
    "#2e4057",
    "#d37ab0",
    "#8a9a5b",
    "#4d4d4d",
)


def regret_plot(
    histories: Mapping[str, History], path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Figure:
    """Average regret against the round for one or several runs, each with its bound (dashed) where it has one.

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
    ...     type(learner).__name__: smidgen.simulate(learner, stream.contexts, user)
    ...     for learner in (smidgen.PreferencePerceptron(dim=5), smidgen.SecondOrderPreferencePerceptron(dim=5))
    ... }
    >>> figure = regret_plot(runs)
    """
    figure = figure_type()(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for (name, history), colour in zip(histories.items(), _cycle(len(histories)), strict=True):
        rounds = np.arange(1, len(history) + 1)
        curve = getattr(history, history.bound_on)
        axes.plot(rounds, np.where(curve > 0, curve, np.nan), color=colour, linewidth=2, label=name)
        if history.bound is not None:
            label = f"{history.bound_note}: bound for {name}"
            axes.plot(rounds, history.bound, color=colour, linestyle="--", linewidth=1.2, label=label)
    drawn = sorted({history.bound_on.replace("_", " ") for history in histories.values()})
    scale = (
        "log"
        if axes.dataLim.y1 > 0.0 and any(np.nanmax(line.get_ydata(), initial=0.0) > 0 for line in axes.lines)
        else "linear"
    )
    axes.set(xscale="log", yscale=scale, xlabel="rounds", ylabel=" / ".join(drawn))
    if title:
        axes.set_title(title, loc="left", fontsize=11)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    if path is not None:
        figure.savefig(path, dpi=140)
    return figure


def figure_type() -> type[Figure]:
    """Matplotlib's figure, or the advice to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plots need matplotlib", 'pip install "smidgen[plots]"') from error
    return Figure


def _cycle(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]
