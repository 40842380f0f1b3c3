"""Everything that can be asked over HTTP, one file for calls that belong together; found by being here."""

from __future__ import annotations

import importlib
import pkgutil

from smidgen.service.http.call import Call


def all_calls() -> list[Call]:
    """The calls of all files, the busiest first: routes are looked up in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    members = [each for name in names for each in vars(importlib.import_module(f"{__name__}.{name}")).values()]
    return sorted((each for each in members if isinstance(each, Call)), key=lambda call: not call.busy)
