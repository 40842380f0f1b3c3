"""Everything that can be asked over HTTP, one file for calls that belong together; found by being here."""

from __future__ import annotations

import importlib
import pkgutil

from smidgen.service.http.call import Call


def all_calls() -> list[Call]:
    """The calls of all files, the busiest first: routes are looked up in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [call for name in names for call in importlib.import_module(f"{__name__}.{name}").CALLS]
    return sorted(found, key=lambda call: not call.busy)
