"""Panels to pictures and to columns of numbers."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen.history.plots import COLOURS, figure_type
from smidgen_papers.outcome import Curve, Outcome, Panel, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.2, 3.9
_MARKS = "osD^vPX*<>"


def draw(outcome: Outcome, title: str) -> Figure | None:
    """A picture of the panels, up to three in a row, or None if there are none."""
    panels = outcome.panels
    if not panels:
        return None
    across = 2 if len(panels) in (2, 4) else min(3, len(panels))
    down = -(-len(panels) // across)
    wide = max(1.0, max(len(panel.ticks or ()) for panel in panels) / 16)
    figure = figure_type()(figsize=(_WIDTH * across * wide, _HEIGHT * down + 0.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(down, across)).ravel()
    colours = _colours(panels)
    for one, panel in zip(axes, panels, strict=False):
        _panel(one, panel, colours)
    for one in axes[len(panels) :]:
        one.set_visible(False)
    width = int(10 * figure.get_figwidth())  # letters of this size in a line
    figure.suptitle(textwrap.fill(title, width), x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write the picture; the ending says the format. The same picture gives the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def curves_csv(panels: Sequence[Panel]) -> str:
    """Every point that is drawn: panel, curve, x, y, standard error."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(["panel", "curve", "x", "y", "standard_error"])
    for panel in panels:
        for one in panel.curves:
            error = one.error if one.error is not None else [""] * len(one.x)
            for x, y, e in zip(one.x, one.y, error, strict=True):
                shown = panel.ticks[int(x)] if panel.ticks is not None and float(x).is_integer() else _number(x)
                write.writerow([panel.title, one.name, shown, _number(y), _number(e)])
    return out.getvalue()


def table_csv(table: Table) -> str:
    """The table's columns and rows."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(table.columns)
    write.writerows([[_number(cell) for cell in row] for row in table.rows])
    return out.getvalue()


def _number(cell: Any) -> Any:
    return f"{float(cell):.8g}" if isinstance(cell, float | np.floating) else cell


def _colours(panels: Sequence[Panel]) -> dict[str, int]:
    """The same colour for the same name in every panel, as far as there are enough of them."""
    names = list(dict.fromkeys(one.name for panel in panels for one in panel.curves))
    return {name: i for i, name in enumerate(names)} if len(names) <= len(COLOURS) else {}


def _panel(axes: Axes, panel: Panel, colours: dict[str, int]) -> None:
    bars = [one for one in panel.curves if one.style == "bars"]
    for i, one in enumerate(panel.curves):
        _curve(axes, one, colours.get(one.name, i), panel, bars)
    axes.set(xscale=panel.x_scale, yscale=panel.y_scale, xlabel=panel.x, ylabel=panel.y)
    axes.set_title(panel.title, loc="left", fontsize=10)
    if panel.ticks is not None:
        axes.set_xticks(range(len(panel.ticks)), list(panel.ticks), rotation=60, ha="right", fontsize=7.5)
    elif panel.x_scale == "linear":
        axes.locator_params(axis="x", nbins=6)
    elif axes.get_xlim()[1] > 10 * axes.get_xlim()[0]:
        axes.tick_params(axis="x", which="minor", labelbottom=False)
    axes.grid(visible=True, which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if len(panel.curves) > 1:
        _legend(axes, panel)


def _legend(axes: Axes, panel: Panel) -> None:
    """Where it hides least; below the panel if the names take much space, or the panel is full of bars or points."""
    longest = max(len(one.name) for one in panel.curves)
    crowded = panel.ticks is not None and len(panel.curves) > 2
    if len(panel.curves) * max(longest, 10) <= 90 and not crowded:
        axes.legend(framealpha=0.8, edgecolor="none", fontsize=7.5)
        return
    across = max(1, min(len(panel.curves), 80 // (longest + 8)))
    depth = 0.2 + 0.018 * max((len(tick) for tick in panel.ticks or ()), default=0)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -depth), frameon=False, fontsize=7, ncols=across)


def _curve(axes: Axes, one: Curve, i: int, panel: Panel, bars: list[Curve]) -> None:
    colour = COLOURS[i % len(COLOURS)]
    y = np.where(one.y > 0, one.y, np.nan) if panel.y_scale == "log" else one.y
    if one.style == "bars":
        width = 0.8 / len(bars)
        shift = (bars.index(one) - (len(bars) - 1) / 2) * width
        axes.bar(one.x + shift, y, width, yerr=one.error, color=colour, label=one.name, error_kw={"lw": 0.8})
        return
    if one.style == "points":
        axes.errorbar(
            one.x, y, yerr=one.error, fmt=_MARKS[i % len(_MARKS)], color=colour, markersize=4, lw=0.9, label=one.name
        )
        return
    dashes = {"line": "-", "dashed": "--", "dotted": ":"}[one.style]
    axes.plot(one.x, y, dashes, color=colour, linewidth=1.8, label=one.name)
    if one.error is not None:
        low, high = y - one.error, y + one.error
        if panel.y_scale == "log":
            low = np.maximum(low, 0.05 * y)
        axes.fill_between(one.x, low, high, color=colour, alpha=0.2, linewidth=0)
