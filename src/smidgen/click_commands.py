"""``smidgen ubi``: what an exported log of searches and clicks says, and what it cannot say."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from smidgen.data import UbiLog
    from smidgen.evaluate import Examination


def ubi(
    queries: Annotated[Path, typer.Argument(help="The searches (ubi_queries) as NDJSON; .gz too.")],
    events: Annotated[Path, typer.Argument(help="The events (ubi_events) as NDJSON; .gz too.")],
    actions: Annotated[
        str | None, typer.Option(help="Which actions are clicks, with commas between; left out: click, purchase, ….")
    ] = None,
    places: Annotated[int, typer.Option(min=2, max=100, help="How many places to tell of.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Read a log of user behaviour insights: click rates by place, and how far people look, where the log can tell.

    Click rates mix where a result stood with how good it was. The curve of looks comes from results of the same
    search that stood at neighbouring places at different times; it needs no experiment, and says so where an order
    never changed.
    """
    from smidgen.data import read_ubi
    from smidgen.data.ubi import CLICKS
    from smidgen.evaluate import harvested

    log = read_ubi(queries, events, clicks=actions.split(",") if actions else CLICKS)
    pages = ((page.user_query, page.hits, page.clicked) for page in log.pages if page.user_query)
    curve = harvested(pages, places=places)
    if json:
        import msgspec

        typer.echo(msgspec.json.encode(_figures(log, curve, places)).decode())
    else:
        _print(log, curve, places)


def _figures(log: UbiLog, curve: Examination, places: int) -> dict[str, Any]:
    """What the log says, in what JSON can say: null for what is not known."""
    return {
        "searches": len(log),
        "clicks": sum(len(page.clicked) for page in log.pages),
        "passed_over": log.passed_over,
        "unknown": log.unknown,
        "elsewhere": log.elsewhere,
        "without_hits": log.without_hits,
        "click_rates": _known(log.click_rates(places)),
        "looks": {"value": _known(curve.read), "low": _known(curve.low), "high": _known(curve.high)},
    }


def _print(log: UbiLog, curve: Examination, places: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"{log!r}")
    console.print(
        f"{log.passed_over} other events, {log.unknown} clicks of unknown searches, {log.elsewhere} on no result, "
        f"{log.without_hits} searches without results."
    )
    table = Table("place", "clicked", "looked at (95 %)", box=None)
    looks = zip(*(_known(values) for values in (curve.read, curve.low, curve.high)), strict=True)
    for place, (rate, (read, low, high)) in enumerate(zip(_known(log.click_rates(places)), looks, strict=True), 1):
        told = "–" if read is None or low is None or high is None else f"{read:.2f} ({low:.2f} to {high:.2f})"
        table.add_row(str(place), "–" if rate is None else f"{rate:.1%}", told)
    console.print(table)
    if _known(curve.read)[1] is None:
        console.print(
            "How far people look is not known: no result of a search left its place for the next one and was clicked "
            "at both. Show lists with some randomness in them, as the recommended learner does, and it will be."
        )


def _known(values: Any) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
