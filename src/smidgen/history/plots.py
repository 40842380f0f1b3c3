"""Curves of runs, and their pictures."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


class Curve(NamedTuple):
    """Measure of a run: its name, its values, and whether to plot them on a log scale."""

    name: str
    values: FloatArray
    falls_by_factors: bool = False


class _Run(Protocol):
    """Plots of a `History`."""

    @property
    def curve(self) -> Curve | None: ...
    @property
    def bound(self) -> FloatArray | None: ...
    @property
    def bound_note(self) -> str: ...
    @property
    def points(self) -> Any: ...
    @property
    def base_points(self) -> Any: ...
    @property
    def base_losses(self) -> FloatArray | None: ...
    @property
    def best_losses(self) -> FloatArray | None: ...
    def __len__(self) -> int: ...


def draw(
    histories: Mapping[str, _Run],
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Plot one curve per run against the rounds, with its bound (dashed) if it has one.

    Saves the figure if a path is given.

    Names are text, never markup: a dollar sign begins no formula, an underscore hides nothing.
    """
    axes = fresh_axes() if ax is None else ax
    drawn, factors = [], []
    for i, (name, history) in enumerate(histories.items()):
        curve, colour, rounds = history.curve, COLOURS[i % len(COLOURS)], np.arange(1, len(history) + 1)
        if curve is None:
            raise InvalidArgument(
                f"the run {name!r} has no utility and no other measurements",
                "give utility=w_star, or a user that has a w_star",
            )
        drawn.append(curve.name)
        factors.append(curve.falls_by_factors)
        values = np.where(curve.values > 0, curve.values, np.nan) if curve.falls_by_factors else curve.values
        _line(axes, rounds, values, name, color=colour, linewidth=2)
        if history.bound is not None:
            label = f"{history.bound_note}: bound for {name}"
            _line(axes, rounds, history.bound, label, color=colour, linestyle="--", linewidth=1.2)
    _hindsight(axes, histories)
    by_factors = all(factors) and any(np.nanmax(line.get_ydata(), initial=0.0) > 0 for line in axes.lines)
    axes.set(
        xscale="log",
        yscale="log" if by_factors else "linear",
        xlabel="rounds",
        ylabel=" / ".join(sorted(set(drawn))),
    )
    if title:
        axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    for text in axes.legend(frameon=False, fontsize=9).get_texts():
        text.set_parse_math(False)
    if path is not None:
        figure_of(axes).savefig(path, dpi=140)
    return axes


def average(values: Any) -> FloatArray:
    """Running mean of the values; NaN means no feedback and is not counted."""
    unheard = np.isnan(values)
    if not unheard.any():
        return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))
    return np.asarray(np.cumsum(np.where(unheard, 0.0, values)) / np.maximum(1, np.cumsum(~unheard)))


def _hindsight(axes: Axes, histories: Mapping[str, _Run]) -> None:
    """Of the tune loop: base points, if there is one run, and the best fixed point."""
    runs = [history for history in histories.values() if history.best_losses is not None]
    if not runs:
        return
    run, rounds = runs[0], np.arange(1, len(runs[0]) + 1)
    if len(histories) == 1 and run.base_losses is not None and not np.array_equal(run.points, run.base_points):
        _line(axes, rounds, average(run.base_losses), "base points", color=COLOURS[2], linewidth=1.5)
    _line(axes, rounds, average(run.best_losses), "best fixed point", color=COLOURS[9], linestyle="--", linewidth=1.2)


def _line(axes: Axes, x: Any, y: Any, label: str, **style: Any) -> None:
    """A line; a label that begins with an underscore would hide it from the legend."""
    axes.plot(x, y, label=f" {label}" if label.startswith("_") else label, **style)


def fresh_axes() -> Axes:
    """Axes of a figure of their own, which notebooks show."""
    figure = figure_type()(figsize=(7.5, 4.6), layout="constrained")
    axes: Axes = figure.add_subplot(axes_class=_shown_axes())
    return axes


def figure_of(axes: Axes) -> Figure:
    """The figure that axes are part of, as a whole."""
    figure: Any = axes.figure
    while not isinstance(figure, figure_type()):
        figure = figure.figure
    return figure


def figure_type() -> type[Figure]:
    """Matplotlib's figure, or the advice to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plots need matplotlib", 'pip install "smidgen[plots]"') from error
    return Figure


@cache
def _shown_axes() -> type[Axes]:
    """Axes that notebooks show as their figure, without pyplot and its list of open figures."""
    from matplotlib.axes import Axes

    class ShownAxes(Axes):
        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            figure_of(self).savefig(written, format="png", dpi=100)
            return written.getvalue()

    return ShownAxes
