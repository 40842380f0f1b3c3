"""The results as pictures: one per group of workloads, bars of ratios on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.interleave import Measured
from smidgen.history.plots import figure_type
from smidgen_papers.themes import save_for_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, LIMIT, PEER = "#00798c", "#b8b8b8", "#edae49"
WIDTH, BAR, HEAD = 8.4, 0.27, 0.55  # inches


def charts(measured: list[Measured], folder: Path) -> dict[str, Path]:
    """Write ``speed-GROUP.svg`` for every group of workloads; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[Measured]] = {}
    for each in measured:
        groups.setdefault(each.key, []).append(each)
    paths = {}
    for key, members in groups.items():
        paths[key] = folder / f"speed-{key.lower().replace(' ', '-')}.svg"
        draw(members, paths[key])
    return paths


def draw(members: list[Measured], path: Path) -> None:
    """One panel per workload, as high as it has contenders."""
    heights = [HEAD + BAR * len(each.times) for each in members]
    figure = figure_type()(figsize=(WIDTH, sum(heights) + 0.4), layout="constrained")
    panels = figure.subplots(len(members), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, each in zip(panels, members, strict=True):
        panel(axes, each)
    panels[-1].set_xlabel("time, as a multiple of the first row's (median and middle half of the rounds)", fontsize=9)
    save_for_page(figure, path)


def panel(axes: Axes, each: Measured) -> None:
    """Bars from 1 to the ratio, with the number and the time at their ends."""
    names = list(each.times)
    for place, name in enumerate(names):
        low, middle, high = each.spread(name)
        axes.barh(place, middle - 1.0, left=1.0, height=0.66, color=colour(name, place == 0))
        axes.plot([low, high], [place, place], color="#444444", linewidth=1.0)
        label = f"{_short(middle)} ×, {_short(each.microseconds(name))} µs"
        axes.annotate(
            label, (max(middle, high, 1.0), place), (5, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.axvline(1.0, color=OURS, linewidth=1.2)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_yticks(range(len(names)), names, fontsize=8.5)
    axes.invert_yaxis()
    ratios = [each.spread(name)[1] for name in names]
    axes.set_xlim(min(0.5, min(ratios) / 1.3), max(ratios) * 1.3 * (max(ratios) / min(0.5, *ratios)) ** 0.3)
    axes.set_title(each.name, fontsize=10, loc="left", fontweight="bold")
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", which="major", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def colour(name: str, first: bool) -> str:
    """Ours, the practical limit, or a peer."""
    if first or name.startswith("smidgen"):
        return OURS
    return LIMIT if name.startswith(("C++", "reading")) else PEER


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
