"""Movies as a task: its users, how long they are recommended to, what its tables show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from smidgen_papers.coactive import series
from smidgen_papers.coactive.movies_data import FITS, search_of, source_of, title
from smidgen_papers.coactive.movies_play import play
from smidgen_papers.coactive.series import Line, Rows, Settings, Task
from smidgen_papers.outcome import Table
from smidgen_papers.part import Answers, Part, Run

NOISY: Settings = {"rating": "better"}
#: Recommendations to each user: 1,500 in the paper.
ROUNDS = {False: 1_500, True: 500}
#: Users: all of the second half (1,499 of MovieLens' first 2,999; 3,020 in the paper), or some.
USERS = {False: 1_499, True: 60}
#: Users that one part plays.
BLOCK = 250
#: Of a choice of the perceptron, about.
SECONDS = 5e-6

#: A mean and its standard error over users.
plus_minus = partial(series.plus_minus, digits=3)


class MovieTask(Task):
    """Recommendations to users, each with a fresh learner; a row is a user."""

    def drawn(self, run: Run) -> list[str]:
        """MovieLens, or generated ratings."""
        return [source_of(run)]

    def parts(
        self,
        run: Run,
        source: str,
        line: Line,
        *,
        users: int | None = None,
        rounds: int | None = None,
        block: int = BLOCK,
    ) -> list[Part]:
        """The parts of a line: all users, in blocks."""
        total = USERS[run.quick] if users is None else users
        return self.blocks(
            line,
            total=total if source == "movielens" else min(total, 600),
            block=block,
            rounds=ROUNDS[run.quick] if rounds is None else rounds,
            seconds=SECONDS,
            seed=run.seed,
            source=source,
            search=search_of(run),
        )

    def title(self, run: Run, source: str) -> str:
        """The name of the data."""
        return title(run)

    def table(self, run: Run, found: Sequence[tuple[str, Line, Rows]]) -> Table:
        """Where the curves are after some rounds."""
        last = int(found[0][2].t[-1])
        times = [t for t in (10, 100, 500) if t < last]
        cells = [
            [
                line.name,
                *(plus_minus(rows.at(t)) for t in times),
                plus_minus(rows.last),
                f"{rows.last.mean() / rows.random.mean():.1%}",
            ]
            for _, line, rows in found
        ]
        columns = ["", *(f"t = {t:,}" for t in times), f"t = {last:,}", "share of a random movie's"]
        return Table("Average regret, movies", columns, cells)

    def notes(self, run: Run, found: Rows) -> list[str]:
        """How many users and rounds, and where they come from."""
        users, rounds = len(found.regret), int(found.t[-1])
        said = [f"{users:,} users, {rounds:,} rounds each; means and standard errors over users."]
        if source_of(run) == "movielens":
            return [*said, "Users 1 to 2999 of MovieLens 1M, half of them for features (the paper: all 6,040)."]
        return [*said, "Generated ratings of the same shape: MovieLens was not found."]


MOVIES = MovieTask(play, fit="fit", axis="t")


def parts(run: Run, line: Line, **size: Any) -> list[Part]:
    """The parts of a line."""
    return MOVIES.parts(run, source_of(run), line, **size)


def rows(answers: Answers, line: Line, **more: Any) -> Rows:
    """What was found for a line."""
    return MOVIES.rows(answers, line, **more)


def fitted(line: Line, fit: str) -> Line:
    """The same with another reading of w*."""
    return replace(line, name=f"{line.name}, {FITS[fit]}", fit=fit)
