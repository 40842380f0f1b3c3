"""The one compile decorator.

``@kernel`` marks a function that numba compiles on its first call, not on import: ``import smidgen`` costs
no compiler. Compiled code is cached on disk beside the source (or in the user's cache folder if that is
read-only). Fast-math stays off, so that a replayed log gives the same bits.

Set ``NUMBA_DISABLE_JIT=1`` to run every kernel as plain Python: slow, but a debugger can step through it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


class _Lazy(Generic[P, R]):
    """A kernel that has not been compiled yet."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.compiled: Callable[P, R] | None = None
        update_wrapper(self, function)

    def compile(self) -> Callable[P, R]:
        """Compile this kernel and those that it calls, and put the results where the lazy ones stood."""
        if self.compiled is None:
            module = self.function.__globals__
            sources = {self.function.__code__.co_filename}
            for name in self.function.__code__.co_names:
                if isinstance(callee := module.get(name), _Lazy):
                    module[name] = callee.compile()
                sources |= _sources.get(id(module.get(name)), set())
            self.compiled = _njit(self.function, sources)
            _sources[id(self.compiled)] = sources
            for user in list(sys.modules.values()):  # whoever imported the lazy kernel by name
                if getattr(user, "__dict__", {}).get(self.function.__name__) is self:
                    setattr(user, self.function.__name__, self.compiled)
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.compile()(*args, **kwargs)


#: The files that each compiled kernel is made of: its own, and those of the kernels that it calls.
_sources: dict[int, set[str]] = {}


def _njit(function: Callable[P, R], sources: set[str]) -> Callable[P, R]:
    import numba

    settings: dict[str, Any] = {"error_model": "numpy"}
    try:
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # numba found no folder that it may write its cache to
        return cast("Callable[P, R]", numba.njit(**settings)(function))
    # numba compiles anew when a kernel's own file has changed. But a kernel also holds the code of those that it
    # calls, and they may stand in other files: so the stamp of a cached kernel is that of all its sources.
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        stats = [(source, os.stat(source)) for source in sorted(sources)]
        index._source_stamp = [(source, stat.st_size, stat.st_mtime_ns) for source, stat in stats]
    return cast("Callable[P, R]", compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with numba on its first call.

    Kernels work on numpy arrays and scalars, are module-level functions (closures would not be cached), and
    check nothing: their public caller does.
    """
    return _Lazy(function) if JIT else function
