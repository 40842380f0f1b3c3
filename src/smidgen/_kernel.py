"""The one compile decorator.

``@kernel`` marks a function that numba compiles on its first call, not on import: ``import smidgen`` costs
no compiler. Compiled code is cached on disk beside the source (or in the user's cache folder if that is
read-only). Fast-math stays off, so that a replayed log gives the same bits.

Set ``NUMBA_DISABLE_JIT=1`` to run every kernel as plain Python: slow, but a debugger can step through it.
"""

from __future__ import annotations

import os
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
            for name in self.function.__code__.co_names:
                if isinstance(callee := module.get(name), _Lazy):
                    module[name] = callee.compile()
            self.compiled = _njit(self.function)
            if module.get(self.function.__name__) is self:
                module[self.function.__name__] = self.compiled
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.compile()(*args, **kwargs)


def _njit(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    settings: dict[str, Any] = {"error_model": "numpy"}
    try:
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # numba found no folder that it may write its cache to
        compiled = numba.njit(**settings)(function)
    return cast("Callable[P, R]", compiled)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with numba on its first call.

    Kernels work on numpy arrays and scalars, are module-level functions (closures would not be cached), and
    check nothing: their public caller does.
    """
    return _Lazy(function) if JIT else function
