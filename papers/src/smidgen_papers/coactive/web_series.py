"""Web search as a task: its sets, how long it is played, what its tables show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smidgen_papers.coactive.series import Line, Rows, Settings, Task, plus_minus
from smidgen_papers.coactive.web_data import NAMES, SHAPES, main_sources, other_sources, shape
from smidgen_papers.coactive.web_play import play
from smidgen_papers.outcome import Table
from smidgen_papers.part import Answers, Part, Run

NOISY: Settings = {"depth": 10}
#: Rounds of a stream: 28,000 in the paper.
ROUNDS = {False: 28_000, True: 2_000}
#: Random orders of the queries: 20 in the paper.
ORDERS = {False: 20, True: 4}
#: The same for the sets that stand in tables alone.
OTHER_ORDERS = 5
#: Of a round of the perceptron, about, on the real sets.
SECONDS = {"mq2008": 4e-6, "mq2007agg": 12e-6, "mslr": 50e-6}
#: How many orders one part plays.
BLOCK = {"yahoo-like": 5}

ENDS = ("after 100 rounds", "at the end", "in the last tenth", "share of a random ranking's, last tenth")
END_NOTE = "mean ± standard error over random orders of the queries"


class WebTask(Task):
    """Permuted streams of queries; a row is a random order."""

    def drawn(self, run: Run) -> list[str]:
        """The real set of LETOR and the generated one of Yahoo!'s shape."""
        return main_sources(run)

    def others(self, run: Run) -> list[str]:
        """Further real sets."""
        return other_sources(run)

    def parts(
        self,
        run: Run,
        source: str,
        line: Line,
        *,
        rounds: int | None = None,
        orders: int | None = None,
        block: int | None = None,
    ) -> list[Part]:
        """The parts of a line on a set: all random orders, in blocks."""
        total = ORDERS[run.quick] if orders is None else orders
        if source in other_sources(run):
            total = min(total, OTHER_ORDERS)
        size = shape(run, source)
        return self.blocks(
            line,
            total=total,
            block=min(total, block or BLOCK.get(source, total)),
            rounds=ROUNDS[run.quick] if rounds is None else rounds,
            seconds=SECONDS[source] if size is None else 1e-6 + 3e-9 * size[1] * size[2],
            seed=run.seed,
            source=source,
            size=size,
        )

    def title(self, run: Run, source: str) -> str:
        """The set's name."""
        return NAMES[source]

    def table(self, run: Run, found: Sequence[tuple[str, Line, Rows]]) -> Table:
        """Where every line ends on every set."""
        cells = [[NAMES[source], line.name, *_ends(rows)] for source, line, rows in found]
        return Table("Average regret", ["data", "curve", *ENDS], cells, note=END_NOTE)

    def notes(self, run: Run, found: Rows | None = None) -> list[str]:
        """What every web-search picture has to say of its data."""
        queries, docs, dim = SHAPES["yahoo-like", run.quick]
        real = "MQ2008" if run.has("mq2008") else "A generated set of MQ2008's shape"
        rounds = ROUNDS[run.quick]
        passes = f"{rounds:,} rounds pass {rounds / 784:.0f} and {rounds / queries:.1f} times over them"
        others = f" ({OTHER_ORDERS} of the sets that only tables have)" if other_sources(run) else ""
        return [
            f"The paper's Yahoo! set is not at hand. {real} (784 queries) and {queries:,} generated queries of {docs} "
            f"documents with {dim} features stand in for it; {passes}, each time in a new order.",
            f"{ORDERS[run.quick]} random orders of the queries{others}; w* is the least-squares fit without an "
            "intercept; log to base 2.",
        ]


WEB = WebTask(play, fit="utility", axis="rounds")


def rows(answers: Answers, source: str, line: Line, **more: Any) -> Rows:
    """What was found for a line on a set."""
    return WEB.rows(answers, line, source=source, **more)


def _ends(found: Rows) -> list[str]:
    return [
        plus_minus(found.at(100)),
        plus_minus(found.last),
        plus_minus(found.end),
        f"{100 * found.end.mean() / found.random.mean():.2g} %",
    ]
