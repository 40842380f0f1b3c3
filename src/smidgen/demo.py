"""A guided tour of the rank loop in the terminal."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from smidgen import checks, users
from smidgen.data import RankingStream, ranking_stream
from smidgen.errors import InvalidArgument
from smidgen.evaluate import History, regret_plot, simulate
from smidgen.evaluate.play import User
from smidgen.history.plots import figure_type
from smidgen.learners import Learner, Loop, cards, learners

#: Theorem whose learner the demo uses by default.
THEOREM = "preferences"
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Demo:
    """Settings of the demo."""

    learner: str | None
    user: str
    alpha: float
    queries: int
    docs: int
    features: int
    seed: int
    out: Path


def make_learner(demo: Demo) -> Learner:
    """Make the named learner with arguments that fit the data of the demo."""
    coactive: dict[str, Callable[..., Learner]] = {
        name: cls for name, cls in learners.items() if Loop.RANK in cards[name].loops and "dim" in cards[name].example
    }
    name = demo.learner or next(each for each in coactive if cards[each].theorem == THEOREM)
    checks.one_of("learner", name, coactive)
    largest = 4.0 / np.sqrt(demo.features) * 3.0  # top-5 discounts sum to 2.95; |N(0,1)| hardly exceeds 4
    known = {**cards[name].first, "bound": largest, "radius": 1.0, "horizon": demo.queries}
    accepted = inspect.signature(coactive[name]).parameters
    wanted = [name for name, each in accepted.items() if each.default is inspect.Parameter.empty or name == "horizon"]
    extra = {name: known[name] for name in wanted if name in known}
    return coactive[name](dim=demo.features, seed=demo.seed, **extra)


def make_user(demo: Demo, stream: RankingStream) -> User:
    """Make the simulated user."""
    makers: dict[str, Callable[[], User]] = {
        "strict": lambda: users.StrictAlpha(w_star=stream.w_star, alpha=demo.alpha),
        "noisy": lambda: users.NoisyDepth(labels=stream.labels, depth=10),
        "clicks": lambda: users.ClickModel(labels=stream.labels, model="informational", depth=10, seed=demo.seed),
    }
    return makers[checks.one_of("user", demo.user, makers)]()


def run_demo(demo: Demo, console: Console | None = None) -> History:
    """Run the demo and print the results."""
    console = console or Console()
    if not 0.0 < demo.alpha <= 1.0:
        raise InvalidArgument(f"alpha is {demo.alpha} and must lie in (0, 1]", "omit it for 0.5")
    learner = make_learner(demo)
    figure_type()  # fail now, not after the run, if plots are not available
    console.print(
        Panel(
            f"A search engine ranks [bold]{demo.docs}[/bold] documents per query by [bold]{demo.features}[/bold] "
            f"features for a user whose preferences it does not know. The user moves a few good documents up, and the "
            f"learner updates: [bold]{demo.queries}[/bold] queries, one pass, without correct answers.",
            title="the rank loop",
            title_align="left",
        )
    )
    stream = ranking_stream(queries=demo.queries, docs=demo.docs, dim=demo.features, seed=demo.seed)
    user = make_user(demo, stream)
    try:
        demo.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"--out is {demo.out}, which cannot be used as a folder ({error.strerror})", "give another folder"
        ) from error
    _one_round(demo, stream, console)
    history, seconds = _play(learner, stream, user, console)
    _report(history, seconds, console)
    _write(demo, history, console)
    return history


def _one_round(demo: Demo, stream: RankingStream, console: Console) -> None:
    """Show one early round in detail, played by a second learner after a few queries."""
    twin, user = make_learner(demo), make_user(demo, stream)
    few = min(5, len(stream.contexts))
    for context in stream.contexts[:few]:
        decision = twin.decide(context)
        feedback = user(context, decision.action)
        twin.learn(decision, feedback)
    useful = context.scores(stream.w_star)
    table = Table(title=f"query {few} in detail", title_justify="left")
    for column in ("position", "shown: document", "its utility", "after the user's edit", "its utility"):
        table.add_column(column, justify="right")
    for i in range(min(context.top, len(context))):
        shown, better = int(decision.action[i]), int(feedback[i])
        table.add_row(str(i + 1), str(shown), f"{useful[shown]:+.2f}", str(better), f"{useful[better]:+.2f}")
    console.print(table)
    console.print("The learner sees which documents moved, not their utility.\n", style="dim")


def _play(learner: Learner, stream: RankingStream, user: User, console: Console) -> tuple[History, float]:
    columns = (
        TextColumn("learning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("queries"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(stream.contexts))
        start = time.perf_counter()
        history = simulate(
            learner,
            stream.contexts,
            user,
            utility=stream.w_star,
            progress=lambda done: progress.update(task, completed=done) if done % 20 == 0 else None,
        )
        seconds = time.perf_counter() - start
        progress.update(task, completed=len(stream.contexts))
    return history, seconds


def _report(history: History, seconds: float, console: Console) -> None:
    T = len(history)
    table = Table(title=f"{history.learner}: regret falls", title_justify="left")
    for column in ("after", "regret in the last tenth", "average regret", f"bound ({history.bound_note})"):
        table.add_column(column, justify="right")
    for t in sorted({min(10**k, T) for k in range(len(str(T)))} | {T}):
        recent = history.regret[max(0, t - max(1, t // 10)) : t].mean()
        bound = "–" if history.bound is None else f"{history.bound[t - 1]:.4f}"
        table.add_row(f"{t:,}", f"{recent:.4f}", f"{history.average_regret[t - 1]:.4f}", bound)
    console.print(table)
    console.print(f"regret  {sparkline(history.regret)}  from the first query to the last")
    console.print(f"{T:,} rounds in {seconds:.2f} s ({seconds / T * 1e6:.0f} µs per round, measuring included)\n")


def sparkline(values: np.ndarray[tuple[int], np.dtype[np.float64]], width: int = 50) -> str:
    """Draw the means of equal intervals as a row of blocks."""
    means = np.array([part.mean() for part in np.array_split(values, min(width, len(values)))])
    top = means.max() or 1.0
    return "".join(_BLOCKS[int(level)] for level in np.clip(means / top * 7.999, 0, 7))


def _write(demo: Demo, history: History, console: Console) -> None:
    picture, numbers = demo.out / "regret.png", demo.out / "regret.csv"
    title = f"{demo.queries:,} queries x {demo.docs} documents x {demo.features} features, {demo.user} user"
    regret_plot({history.learner: history}, picture, title=title)
    bound = np.full(len(history), np.nan) if history.bound is None else history.bound
    rows = np.column_stack([np.arange(1, len(history) + 1), history.regret, history.average_regret, bound])
    np.savetxt(numbers, rows, delimiter=",", header="round,regret,average_regret,bound", comments="", fmt="%.10g")
    console.print(f"plot  [bold]{picture}[/bold]\ndata  [bold]{numbers}[/bold]")
    if history.bound is None:
        console.print(f"no bound: {history.bound_note}", style="dim")
