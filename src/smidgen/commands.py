"""Commands of others: what installed distributions bring to ``smidgen`` in the group ``smidgen.commands``.

A distribution names its commands in its ``pyproject.toml``:

.. code-block:: toml

    [project.entry-points."smidgen.commands"]
    weigh = "greengrocer.commands:weigh"

The value is a function, which becomes the command, or a ``typer.Typer`` with commands of its own. It is imported
whenever ``smidgen`` starts: let it import what is heavy inside its functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

GROUP = "smidgen.commands"


def found() -> dict[str, list[EntryPoint]]:
    """The commands of other distributions, by name; a name has more than one entry if several bring it."""
    named: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        known = named.setdefault(each.name, [])
        if each.value not in {one.value for one in known}:
            known.append(each)
    return named


def bring(app: typer.Typer) -> None:
    """Add the commands that are brought to the app.

    The app's own commands keep their names. What cannot be had is not hidden: a command that cannot be imported, or
    that two bring, is listed, and says why when it is called. The others work.
    """
    own = _names(app)
    for name, entries in found().items():
        if name in own:
            continue
        if len(entries) > 1:
            _refuse(app, name, f"two bring it: {' and '.join(one.value for one in entries)}; uninstall one of them")
            continue
        try:
            thing = entries[0].load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module does
            _refuse(app, name, f"{entries[0].value} cannot be imported ({type(error).__name__}: {error})")
            continue
        _add(app, name, thing, entries[0].value)


def _names(app: typer.Typer) -> set[str]:
    called = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    return called | {str(each.name) for each in app.registered_groups}


def _add(app: typer.Typer, name: str, thing: Any, where: str) -> None:
    if isinstance(thing, typer.Typer):
        app.add_typer(thing, name=name)
    elif callable(thing):
        app.command(name)(thing)
    else:
        _refuse(app, name, f"{where} is {thing!r} and must be a function or a typer.Typer")


def _refuse(app: typer.Typer, name: str, why: str) -> None:
    app.command(
        name,
        help=f"Cannot be run: {why}",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_refusal(name, why))


def _refusal(name: str, why: str) -> Callable[[], None]:
    def refuse() -> None:
        sys.exit(f"smidgen: the command {name} cannot be run: {why}")

    return refuse
