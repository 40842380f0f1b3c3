"""The one compile decorator.

``@kernel`` marks a function that numba compiles on its first call, not on import: ``import smidgen`` costs
no compiler. Compiled code is cached on disk next to the source (or in the user's cache folder if that is
read-only). Fast-math stays off, so that a replayed log gives the same bits.

Set ``NUMBA_DISABLE_JIT=1`` to run every kernel as plain Python: slow, but a debugger can step through it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, partial, update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

#: Kernels are put in place by one thread at a time.
_one_by_one = threading.RLock()

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


class _Lazy(Generic[P, R]):
    """A kernel that has not been compiled yet."""

    def __init__(self, function: Callable[P, R], **settings: Any) -> None:
        self.function = function
        self.settings = settings
        self.compiled: Callable[P, R] | None = None
        update_wrapper(self, function)

    def compile(self) -> Callable[P, R]:
        """Compile this kernel and those that it calls, and put the results where the lazy ones stood."""
        with _one_by_one:
            made: dict[str, list[_Lazy[Any, Any]]] = {}
            compiled = self._compile(made)
            for user in list(sys.modules.values()) if made else ():  # whoever imported the lazy ones by name
                held = getattr(user, "__dict__", {})
                for name in made.keys() & held.keys():
                    for lazy in made[name]:
                        if held[name] is lazy:
                            setattr(user, name, lazy.compiled)
            return compiled

    def _compile(self, made: dict[str, list[_Lazy[Any, Any]]]) -> Callable[P, R]:
        """The same for the modules of the callers; what was made is noted by name, for all others."""
        if self.compiled is None:
            module = self.function.__globals__
            sources = {self.function.__code__.co_filename}
            for name in self.function.__code__.co_names:
                if isinstance(callee := module.get(name), _Lazy):
                    module[name] = callee._compile(made)
                sources |= _sources.get(id(module.get(name)), set())
            self.compiled = _njit(self.function, sources, self.settings)
            _sources[id(self.compiled)] = sources
            made.setdefault(self.function.__name__, []).append(self)
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.compile()(*args, **kwargs)


#: The files that each compiled kernel is made of: its own, and those of the kernels that it calls.
_sources: dict[int, set[str]] = {}


def _njit(function: Callable[P, R], sources: set[str], more: dict[str, Any]) -> Callable[P, R]:
    import numba

    # numba's own word for counting references; said outright, or a kernel would take it over from its caller
    settings: dict[str, Any] = {"error_model": "numpy", "_nrt": True, **more}
    try:
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # numba found no folder that it may write its cache to
        return cast("Callable[P, R]", numba.njit(**settings)(function))
    # numba compiles again when a kernel's own file has changed. But a kernel also holds the code of those that it
    # calls, and they may stand in other files: so the stamp of a cached kernel is that of all its sources.
    index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = [_content(source) for source in sorted(sources)]
    if hasattr(index, "_load_index"):
        index._load_index = partial(_load_index, index._load_index)
    return cast("Callable[P, R]", compiled)


@cache
def _content(source: str) -> tuple[str, str]:
    """A file by its name and what it says: a copy of the sources, with its cache, need not be compiled again."""
    return Path(source).name, hashlib.blake2b(Path(source).read_bytes(), digest_size=16).hexdigest()


def _load_index(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """What numba has cached for a kernel; nothing if the index names a class that is not there any more.

    numba reads the whole index before it looks at its stamp. There, a NamedTuple among a kernel's arguments is written
    by module and name.
    """
    try:
        return load()
    except (AttributeError, ImportError):
        return {}


class _Instruction(_Lazy[P, R]):
    """A function that kernels know as an intrinsic of numba's, and everybody else as plain Python."""

    def __init__(self, function: Callable[P, R], make: Callable[[], Any]) -> None:
        super().__init__(function)
        self.make = make

    def _compile(self, made: dict[str, list[_Lazy[Any, Any]]]) -> Callable[P, R]:
        """Make the intrinsic."""
        if self.compiled is None:
            self.compiled = cast("Callable[P, R]", self.make())
            _sources[id(self.compiled)] = _neighbours(Path(self.function.__code__.co_filename).parent)
        return self.compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@cache
def _neighbours(room: Path) -> set[str]:
    """All sources of a room: instructions are written with the help of one another."""
    return {str(source) for source in room.glob("*.py")}


def instruction(make: Callable[[], Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function that kernels know as what ``make`` gives: an intrinsic, that is code for the compiler.

    The body of the function is the plain twin: it says what is meant, and runs where numba is switched off, and
    where the function is called from Python.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        return _Instruction(function, make) if JIT else function

    return mark


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with numba on its first call.

    Kernels work on numpy arrays and scalars, are module-level functions (closures would not be cached), and
    check nothing: their public caller does.
    """
    return _Lazy(function) if JIT else function


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a small part of other kernels: its code becomes part of theirs, which saves the call.

    A call with arrays costs some 10 ns. That counts where a whole round takes 100.
    """
    return _Lazy(function, forceinline=True) if JIT else function


def borrowing(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a part, or a whole kernel, that only works on arrays that its caller holds: they are not counted.

    numba counts the references to every array that a function takes out of a tuple or hands on; with tuples of many
    arrays that took about a quarter of a round of `play_choices`. Called from Python, such a function takes its arrays
    over in half the time. It must not make arrays (numba refuses), nor call one that returns new ones (they would never
    be freed), nor return any, not even in a tuple (who counts would let go of what was never counted). A kernel that it
    calls may make arrays for itself.
    """
    return _Lazy(function, forceinline=True, _nrt=False) if JIT else function
