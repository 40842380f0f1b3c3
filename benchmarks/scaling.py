"""Time and memory against size: log-log slopes next to what each learner's docstring promises."""

from __future__ import annotations

import argparse
import json
import re
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.machine import described, machine
from benchmarks.report import insert
from benchmarks.scaling_cases import CASES, Case, Run
from smidgen.history.plots import COLOURS, figure_type
from smidgen.learners import learners
from smidgen_papers.themes import save_for_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ASKED = 3  # a slope is that of the largest sizes, so many of them
WIDTH, HEIGHT, ACROSS = 15.0, 2.7, 5  # inches, and panels in a row


@dataclass(frozen=True)
class Sweep:
    """One learner while one size grows: seconds of a run, bytes of the learner after it, bytes at the peak."""

    learner: str
    parameter: str
    sizes: list[int]
    seconds: list[float]
    state: list[int]
    peak: list[int]
    time_theory: float | None
    memory_theory: float | None


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of growth over the largest sizes."""
    x, y = np.log(sizes[-ASKED:]), np.log(values[-ASKED:])
    return float(np.polyfit(x, y, 1)[0])


def sweeps(only: str = "", quick: bool = False) -> Iterator[Sweep]:
    """Every learner against every size that its loop has."""
    chosen = [(run, case) for run, cases in CASES.values() for case in cases if only in str(case)]
    for run, case in track(chosen, "scaling"):
        for parameter in case.time:
            sizes, often = case.scale.growing[parameter][: ASKED if quick else None], 1 if quick else 5
            with threadpool_limits(1):
                points = [observed(run(case, {**case.scale.base, parameter: size}), often) for size in sizes]
            seconds, state, peak = zip(*points, strict=True)
            promised = case.time.get(parameter), case.memory.get(parameter)
            yield Sweep(str(case), parameter, list(sizes), list(seconds), list(state), list(peak), *promised)


def observed(run: Run, often: int) -> tuple[float, int, int]:
    """The shortest of several runs, the size of the saved learner, and the peak of traced memory while one runs.

    The data are made before; what a run copies of them counts.
    """
    run()[1]()  # compile, warm the caches
    best = np.inf
    for _ in range(often):
        play = run()[1]
        start = time.perf_counter()
        play()
        best = min(best, time.perf_counter() - start)
    tracemalloc.start()
    learner, play = run()
    play()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(best), len(learner.to_bytes()), peak


def cost(case: Case) -> str:
    """What the docstring says of time and memory."""
    said = re.search(r"\*\*Cost\*\*(.*?)(?=\n\s*\*\*|\n\n)", learners[case.learner].__doc__ or "", re.DOTALL)
    assert said is not None, f"the docstring of {case.learner} says nothing of its cost"
    return " ".join(said[1].split())


def main(given: argparse.Namespace, console: Console) -> None:
    """Measure, print, write."""
    path: Path = given.out / "scaling.json"
    if given.again:
        where = json.loads(path.read_text())
        found = [Sweep(**fields) for fields in where.pop("results")]
    else:
        where = {**machine(), "quick": given.quick}
        found = list(sweeps(given.only, given.quick))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**where, "results": [asdict(each) for each in found]}, indent=1))
    table = Table("learner", "size", "time", "promised", "learner's memory", "promised", "peak")
    for each in found:
        table.add_row(each.learner, each.parameter, *slopes(each))
    console.print(table)
    draw(found, given.out / "speed-scaling.svg")
    (given.out / "scaling.md").write_text(as_markdown(described(where), found, "speed-scaling.svg"), encoding="utf-8")
    if given.page:
        draw(found, given.page.parent / "images" / "speed-scaling.svg")
        insert(given.page, "scaling", as_markdown(described(where), found, "images/speed-scaling.svg"))
    console.print(f"written to {given.out}/scaling.md, scaling.json" + (f" and {given.page}" if given.page else ""))


def slopes(each: Sweep) -> tuple[str, str, str, str, str]:
    """Time, promised, memory of the learner, promised, peak."""
    return (
        f"{slope(each.sizes, each.seconds):.2f}",
        _promised(each.time_theory),
        f"{slope(each.sizes, each.state):.2f}",
        _promised(each.memory_theory),
        f"{slope(each.sizes, each.peak):.2f}",
    )


def as_markdown(where: str, found: list[Sweep], picture: str) -> str:
    """The picture; one table for time, one for memory, one line per learner; the docstrings' own words."""
    parameters = list(dict.fromkeys(each.parameter for each in found))
    header = [f"| learner | {' | '.join(parameters)} |", "|---" * (len(parameters) + 1) + "|"]
    by_learner: dict[str, dict[str, Sweep]] = {}
    for each in found:
        by_learner.setdefault(each.learner, {})[each.parameter] = each
    lines = [where, "", f"![Time against size, on logarithmic axes]({picture}){{ loading=lazy }}", ""]
    for title, first in (("Time of a run", 0), ("Memory of the learner after the run", 2)):
        lines += [f"{title}, measured exponent (promised exponent):", "", *header]
        for name, mine in by_learner.items():
            cells = (slopes(mine[p])[first : first + 2] if p in mine else ("", "") for p in parameters)
            lines.append(f"| {name} | {' | '.join(f'{got} ({said})' if got else '' for got, said in cells)} |")
        lines.append("")
    lines += ["| learner | cost per round, and memory, as its docstring says |", "|---|---|"]
    cases = {str(case): case for _, group in CASES.values() for case in group}
    lines += [f"| {name} | {cost(cases[name])} |" for name in by_learner]
    return "\n".join(lines) + "\n"


def draw(found: list[Sweep], path: Path) -> None:
    """A row of panels per loop, one for each size that grows: time as a multiple of that at the smallest size."""
    loops = {loop: [each for each in found if each.learner in map(str, cases)] for loop, (_, cases) in CASES.items()}
    loops = {loop: members for loop, members in loops.items() if members}
    figure = figure_type()(figsize=(WIDTH, HEIGHT * len(loops)), layout="constrained")
    bands = figure.subfigures(len(loops), 1, squeeze=False)[:, 0]
    for band, (loop, members) in zip(bands, loops.items(), strict=True):
        names = list(dict.fromkeys(each.learner for each in members))
        colours = dict(zip(names, COLOURS, strict=False))
        parameters = list(dict.fromkeys(each.parameter for each in members))
        panels = band.subplots(1, ACROSS)
        for axes, parameter in zip(panels, parameters, strict=False):
            panel(axes, parameter, [each for each in members if each.parameter == parameter], colours)
        for axes in panels[len(parameters) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("time, as a multiple", fontsize=8)
        handles = {line.get_label(): line for axes in panels for line in axes.get_lines() if line.get_label() in names}
        band.legend(handles.values(), handles, loc="outside right center", frameon=False, fontsize=7.5, title=loop)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_for_page(figure, path)


def panel(axes: Axes, parameter: str, members: list[Sweep], colours: dict[str, str]) -> None:
    """The curves of one size, with dotted guides of slope 1 and 2."""
    reach = np.array([1.0, max(each.sizes[-1] / each.sizes[0] for each in members)])
    for power in (1, 2):
        axes.plot(reach, reach**power, color="#999999", linewidth=0.9, linestyle=(0, (1, 2)))
        axes.annotate(f"slope {power}", (reach[1], reach[1] ** power), fontsize=6.5, color="#777777", ha="right")
    for each in members:
        grown = np.array(each.sizes) / each.sizes[0]
        times = np.array(each.seconds) / each.seconds[0]
        axes.plot(grown, times, color=colours[each.learner], linewidth=1.3, label=each.learner)
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel(f"{parameter}, as a multiple", fontsize=8)
    axes.set_title(parameter, loc="left", fontsize=9, fontweight="bold")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.tick_params(labelsize=7)
    axes.grid(visible=True, which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _promised(exponent: float | None) -> str:
    return "–" if exponent is None else f"{exponent:g}"
