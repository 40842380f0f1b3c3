"""The compiled core: kernels in C++, one extension module for each instruction-set level (see README.md here).

Importing it chooses the best level that the processor has; ``SMIDGEN_CPU`` forces one, e.g. ``x86-64-v2``. All levels
give the same bits. The entry points stand in modules by family: ``from smidgen._core import random as core``, then
``core.fill_uniforms``. `_add_modules` makes the modules from the table of the loaded level; type checkers read the
stubs, e.g. ``random.pyi``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["LEVEL", "families", "tables", "written_for"]

_HINT = "build it: `pip install .`, or in a checkout `python build_core.py`"


def _module(level: str) -> str:
    return f"{__name__}._{level.replace('-', '_')}"


def _is_built(level: str) -> bool:
    return importlib.util.find_spec(_module(level)) is not None


def _choose(wanted: str) -> str:
    """The level to load: the one that ``SMIDGEN_CPU`` names, else the best that the processor has."""
    try:
        cpu: Any = importlib.import_module(f"{__name__}._cpu")
    except ModuleNotFoundError:
        raise ImportError(f"smidgen's compiled core is not built for this Python; {_HINT}") from None
    levels: tuple[str, ...] = cpu.levels()
    if not levels:
        raise ImportError("smidgen's compiled core needs a processor with SSE 4.2 (x86-64-v2): any from 2009 on")
    if wanted and wanted not in levels:
        raise ImportError(f"SMIDGEN_CPU is {wanted!r} and this processor has {', '.join(levels)}; name one of them")
    for level in (wanted,) if wanted else levels:
        if _is_built(level):
            return level
    raise ImportError(f"smidgen's compiled core is not built for {wanted or levels[-1]}; {_HINT}")


#: The instruction-set level in use.
LEVEL: str = _choose(os.environ.get("SMIDGEN_CPU", ""))
_loaded: dict[str, Any] = vars(importlib.import_module(_module(LEVEL)))
#: The entry points, by family and name.
families: dict[str, dict[str, Any]] = {name: each for name, each in _loaded.items() if isinstance(each, dict)}
#: What they take: the names of the arguments, and the kinds of arguments of each function behind one name.
tables: dict[str, dict[str, tuple[str, list[str]]]] = families.pop("__tables__")


def _add_modules() -> None:
    """Register one module for each family, as if it were a file of this package."""
    for family, functions in families.items():
        name = f"{__name__}.{family}"
        module = importlib.util.module_from_spec(ModuleSpec(name, None, origin=_loaded["__file__"]))
        vars(module).update(functions, __doc__=f"Entry points of the core ({family}.cpp).")
        sys.modules[name] = globals()[family] = module


_add_modules()


def written_for(thing: Any, compiled: str, plain: str) -> bool:
    """Return whether the compiled form of a method was written for the method that an object has.

    A class that derives from one of ours and overrides the method is played by that method, unless it gives a compiled
    form of its own.
    """
    owners = {name: next((c for c in type(thing).__mro__ if name in vars(c)), None) for name in (compiled, plain)}
    return owners[compiled] is owners[plain]
