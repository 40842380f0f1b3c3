"""Plugins of the service and its commands: learners, structures, loops and pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from smidgen.learners import discover, import_plugin


def load_plugins(modules: Iterable[str]) -> None:
    """Bring in what installed distributions name, then these modules; those of the working folder are found too."""
    discover()
    for module in modules:
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        import_plugin(module)
