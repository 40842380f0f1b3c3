"""``smidgen rollback``, ``retract``, ``retain``: the past of a model from the command line, with progress.

With ``--url`` a running service does it; without, the data folder of one that is stopped is changed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smidgen.service.anywhere import TIMES, Name, Where, anywhere

if TYPE_CHECKING:
    from smidgen.client import Client
    from smidgen.service.models.engine import Engine
    from smidgen.service.models.progress import Progress

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
#: How often the bar is drawn anew.
LOOK_S = 0.2


@anywhere
def rollback(
    place: Where,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(min=0, help="The version to go back to.", metavar="VERSION", show_default=False)
    ] = None,
    time: Annotated[
        datetime | None,
        typer.Option(formats=TIMES, help="Or the moment, UTC; of a model with several slots the only way."),
    ] = None,
) -> None:
    """Go back to the weights of a version, or of a moment; what came after stays in the log, and counts no more."""
    if (version is None) == (time is None):
        raise typer.BadParameter("give a version or a time, one of the two", param_hint="VERSION, --time")
    then = time.replace(tzinfo=UTC).timestamp() if time is not None else None

    def here(engine: Engine, progress: Progress) -> int:
        from smidgen.service.models.undoing import folded, version_then

        model = engine.model(name)
        to = version if then is None or model.keyed else version_then(engine.store, model, then)
        known = to is not None and to <= model.version
        ready = folded(engine.store, model, ("rolled_back", to or 0), progress) if known else None
        return engine.roll_back(name, version, ready, then=then).model_version

    made = _done("rollback", name, place, here, lambda client: client.rollback(name, version, time=then))
    typer.echo(f"{name} has the weights of {f'version {version}' if time is None else time}, as version {made}")


@anywhere
def retract(
    place: Where,
    decision: Annotated[str, typer.Argument(help="The decision whose feedback is undone.", metavar="DECISION")],
) -> None:
    """Undo what was learnt of a decision, which is open again until its window ends."""

    def here(engine: Engine, progress: Progress) -> int:
        return engine.retract(decision).model_version

    made = _done("retract", None, place, here, lambda client: client.retract(decision))
    typer.echo(f"what was learnt of {decision} is undone; that makes version {made}")


@anywhere
def retain(
    place: Where,
    name: Name,
    older_than: Annotated[str, typer.Option(help="The age, e.g. 30d, 12h, 90m.", metavar="AGE")],
) -> None:
    """Fold events of this age into the model's base state and erase them, for good.

    What was learnt stays, bit for bit. What lies under the base cannot be taken back, forgotten or told any more. To
    keep the events elsewhere: smidgen log export MODEL --out FILE, before.
    """
    seconds = age(older_than)

    def here(engine: Engine, progress: Progress) -> dict[str, Any]:
        import msgspec

        told: dict[str, Any] = msgspec.to_builtins(engine.retain(name, seconds, progress))
        engine.maintain()
        return told

    done = _done("retain", name, place, here, lambda client: client.retain(name, seconds))
    kept = f"; {done['kept']} decisions under it are kept" if done["kept"] else ""
    typer.echo(
        f"{done['folded']} events of {name} are folded and erased; its log begins after event {done['base']}{kept}"
    )


def age(text: str) -> float:
    """Seconds from an age such as ``30d``.

    Examples
    --------
    >>> from smidgen.service.past_commands import age
    >>> age("30d"), age("1.5h"), age("45s")
    (2592000.0, 5400.0, 45.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no age; say e.g. 30d, 12h or 90m", param_hint="--older-than")
    return float(found[1]) * _UNITS[found[2]]


def _done(
    what: Any,
    name: str | None,
    place: Where,
    here: Callable[[Engine, Progress], Any],
    there: Callable[[Client], Any],
) -> Any:
    """Do it, and show how far it is."""
    from smidgen.service.models.progress import Progress

    if place.url is None:
        with place.engine() as engine:
            progress = Progress(what)
            with _bar(what, lambda: (progress.done, progress.of)):
                return here(engine, progress)
    with place.client() as client, place.client() as looking:

        def look() -> tuple[int, int]:
            work = looking.describe(name)["undoing"] if name is not None else None
            return (work["done"], work["of"]) if work is not None else (0, 0)

        with _bar(what, look):
            return there(client)


@contextmanager
def _bar(what: str, look: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """How far it is, on standard error, if somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task, ended = bar.add_task(what, total=None), threading.Event()

        def draw() -> None:
            from smidgen.errors import SmidgenError

            while not ended.wait(LOOK_S):
                try:
                    done, of = look()
                except SmidgenError:  # the work itself says what is wrong
                    continue
                bar.update(task, completed=done, total=of or None)

        drawing = threading.Thread(target=draw, name="smidgen progress")
        drawing.start()
        try:
            yield
        finally:
            ended.set()
            drawing.join()
