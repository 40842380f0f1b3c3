"""Learners are found by being there: a file in the folder of its loop is all it takes."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from smidgen.learners.card import learners

if TYPE_CHECKING:
    from smidgen.learners.base import Learner


def discover(package: str) -> dict[str, type[Learner]]:
    """Import every file of a package, and give the learners that they register, by name."""
    home = importlib.import_module(package)
    for each in pkgutil.iter_modules(home.__path__):
        importlib.import_module(f"{package}.{each.name}")
    return {name: cls for name, cls in learners.items() if cls.__module__.startswith(f"{package}.")}
