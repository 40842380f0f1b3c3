"""Learners of others: found by the entry points of installed distributions, or brought by the name of a module.

A distribution names its learners in the group ``smidgen.learners``, each as ``module:Class``; importing the module
registers them. A broken package must not take a service down, so a learner that cannot be loaded is reported and
skipped.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

from smidgen import serialization
from smidgen.errors import InvalidArgument

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Where distributions name their learners.
GROUP = "smidgen.learners"
_log = logging.getLogger("smidgen.plugins")
_turn = threading.RLock()  # a plugin may ask for the recommended learner while it is being loaded
_tried: set[str] = set()
_looked: list[bool] = []


def discover(*, again: bool = False) -> None:
    """Bring in the learners that installed distributions name.

    One that cannot be brought in is left out, with one warning that names its distribution.

    Parameters
    ----------
    again
        Look once more for distributions that have come since; otherwise only the first call looks.
    """
    with _turn:
        if _looked and not again:
            return
        from importlib.metadata import entry_points  # with the parser of e-mails behind it: only who looks pays for it

        _looked.append(True)
        for entry in entry_points(group=GROUP):
            name = _entry_text(entry)
            if name in _tried:
                continue
            _tried.add(name)
            try:
                _imported_names(entry)
            except (Exception, SystemExit) as error:  # whatever a stranger's module raises
                what = error.problem if isinstance(error, InvalidArgument) else f"{type(error).__name__}: {error}"
                _log.warning("the learner %s cannot be used and is left out: %s", name, what)


def import_plugin(module: str) -> None:
    """Import a module that registers learners, structures, loops or routes; refused if it does not."""
    hint = "give the name of a Python module, as in: import my_learners"
    if not all(part.isidentifier() for part in module.split(".")):
        raise InvalidArgument(f"{module!r} is not the name of a module", hint)
    before = serialization.count_registrations()
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise InvalidArgument(
                f"there is no module {error.name!r}", "install it, or set PYTHONPATH to the folder that holds it"
            ) from error
        raise InvalidArgument(f"the module {module} needs {error.name!r}, which is missing", "install it") from error
    except (Exception, SystemExit) as error:
        raise InvalidArgument(
            f"the module {module} cannot be imported: {type(error).__name__}: {error}",
            f"fix the module; python -c 'import {module}' shows the traceback",
        ) from error
    if (
        serialization.count_registrations() == before
        and not serialization.has_registered(module)
        and not _hands_on(found)
    ):
        raise InvalidArgument(
            f"the module {module} registers nothing",
            "add @smidgen.register(Card(…)) to a learner, @smidgen.structure to a structure, or register a loop",
        )


def load_plugins(modules: Iterable[str]) -> None:
    """Import the plugins of installed distributions, then these modules; the working folder is searched too."""
    discover()
    for module in modules:
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        import_plugin(module)


def _hands_on(module: ModuleType) -> bool:
    """True if a module holds registered classes of another one that was imported before."""
    classes = [each for each in vars(module).values() if isinstance(each, type)]
    return any(
        serialization.registered_name(each) is not None and not each.__module__.startswith("smidgen.")
        for each in classes
    )


def _imported_names(entry: EntryPoint) -> None:
    found = entry.load()
    name = getattr(found, "__name__", repr(found))
    if "card" not in getattr(found, "__dict__", {}):  # `register` puts it there
        raise InvalidArgument(f"{name} is not registered", "add the decorator @smidgen.register(Card(…)) to the class")


def _entry_text(entry: EntryPoint) -> str:
    """An entry point as people know it."""
    dist = entry.dist
    package = f"{dist.name} {dist.version}" if dist is not None else "an unknown distribution"
    return f"{entry.name} ({entry.value}) of the distribution {package}"
