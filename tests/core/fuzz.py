"""Calls of the compiled core's entry points with arguments that are almost right, or wrong in one way.

    PYTHONPATH=tests python -m core.fuzz 1000000 [seed]

Whatever is given, a call returns or raises TypeError or ValueError. The table of entry points
says what each takes, so that a new one is called without being named here.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from smidgen import _core

SIZES = (0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33)
WHOLE = (0, 1, 2, 3, 5, -1, -2, 2**31, 2**53, 2**63 - 1, -(2**63))
REAL = (0.0, 1.0, 0.5, -1.0, 1e-300, 1e300, float("nan"), float("inf"), -0.0)


def _load_build() -> Any:
    """The module that compiles the core; it is no part of an installed package."""
    spec = importlib.util.spec_from_file_location("build", Path(__file__).parents[2] / "build_core.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = _load_build()


class Maker:
    """Makes arguments by their kinds; those of one call share a few lengths, so that many calls get far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.sizes = rng.choice(SIZES[1:], 2)
        self.tame = rng.random() < 0.7  # then every number is an ordinary one

    def make(self, kind: str) -> Any:
        """An argument of a kind."""
        if kind.startswith("("):
            return tuple(self.make(part) for part in BUILD.parts_of(kind))
        if "[" in kind:
            dtype, _, rest = kind.partition("[")
            return self.array(dtype, int(rest[0]))
        if kind.endswith("*"):
            return [self.make(kind[:-1]) for _ in range(self.rng.choice(self.sizes))]
        if kind == "str":
            letters = "ab A_9.é" if not self.tame and self.rng.random() < 0.2 else "ab A_9."
            return "".join(self.rng.choice(list(letters), self.rng.choice(self.sizes)))
        if kind == "float":
            return float(self.rng.random()) if self.tame or self.rng.random() < 0.5 else self.pick(REAL)
        if kind == "Generator":
            return np.random.default_rng(int(self.rng.integers(5)))
        if kind == "bool":
            return bool(self.rng.random() < 0.5)
        number = int(self.rng.integers(0, 6)) if self.tame or self.rng.random() < 0.7 else self.pick(WHOLE)
        return abs(number) if kind == "uint" else number

    def pick(self, among: tuple[Any, ...]) -> Any:
        """Pick one of several."""
        return among[self.rng.integers(len(among))]

    def array(self, dtype: str, dimensions: int) -> Any:
        """An array: of small numbers mostly; whole ones may rise, as row starts do."""
        odd = not self.tame and self.rng.random() < 0.2
        shape = [int(self.pick(SIZES) if odd else self.rng.choice(self.sizes)) for _ in range(dimensions)]
        if dtype == "bool_":
            return self.rng.integers(0, 3, shape, np.uint8).view(np.bool_)
        if dtype.startswith("float"):
            made = self.rng.standard_normal(shape).astype(dtype)
            if odd and made.size:
                made.reshape(-1)[self.rng.integers(made.size)] = self.pick(REAL)
            return made
        form = self.rng.random()
        if form < 0.3 and dimensions == 1:
            made = np.arange(shape[0])
        elif form < 0.5 and dimensions == 1:
            made = np.sort(self.rng.integers(0, max(self.sizes), shape))
            made[:1] = 0
        elif form < 0.7:
            made = np.zeros(shape, np.int64)
        else:
            made = self.rng.integers(0 if dtype.startswith("u") or self.tame else -3, 6, shape)
        made = made.astype(dtype)
        if odd and made.size and dtype == "int64":
            made.reshape(-1)[self.rng.integers(made.size)] = self.pick(WHOLE)
        return made

    def spoil(self, given: Any) -> Any:
        """Something else in the place of an argument."""
        if isinstance(given, tuple) and given and self.rng.random() < 0.8:
            k = self.rng.integers(len(given))
            return (*given[:k], self.spoil(given[k]), *given[k + 1 :])
        if isinstance(given, np.ndarray) and self.rng.random() < 0.7:
            ways: tuple[Callable[[Any], Any], ...] = (
                lambda a: a[..., None],
                lambda a: a.astype(np.int16),
                lambda a: a.astype(a.dtype.newbyteorder()),
                lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
                lambda a: np.asfortranarray(a)[::-1],
                lambda a: a.reshape(-1)[:0],
                lambda a: np.concatenate([a, a]),
                _read_only,
                lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype),
            )
            return self.pick(ways)(given)
        return self.pick(
            (None, "x", b"x", [1.0], (), 1j, 2**64, -(2**64), 1e400, np.float32(2), np.uint64(3), object())
        )


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def play(calls: int, seed: int, note: Callable[[str], object]) -> tuple[Counter[str], Counter[str]]:
    """Make a number of calls; return how often each entry point was called, and how often it went through."""
    entries = [
        (f"{family}.{name}", _core.families[family][name], kinds)
        for family, table in sorted(_core.tables.items())
        for name, (_, functions) in sorted(table.items())
        for kinds in functions
    ]
    called, passed = Counter[str](), Counter[str]()
    for number in range(calls):
        rng = np.random.default_rng([seed, number])
        name, function, kinds = entries[rng.integers(len(entries))]
        maker = Maker(rng)
        given = [maker.make(kind) for kind in kinds.partition(">")[0].split(";")]
        if rng.random() < 0.25:
            k = rng.integers(len(given))
            given[k] = maker.spoil(given[k])
        elif rng.random() < 0.02:
            given = given[:-1]
        note(f"call {number} of seed {seed}: {name}")
        called[name] += 1
        try:
            function(*given)
        except (TypeError, ValueError):
            continue
        passed[name] += 1
    return called, passed


def main() -> None:
    """Play; the last call stands in a file, for the case that the process dies."""
    faulthandler.enable()
    calls, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.NamedTemporaryFile("wb", prefix="smidgen-fuzz-", delete=False) as notes:
        print(f"the last call stands in {notes.name}", flush=True)
        called, passed = play(calls, seed, lambda text: os.pwrite(notes.fileno(), text.ljust(100).encode(), 0))
    Path(notes.name).unlink()
    for name in sorted(called):
        print(f"{name}: {called[name]} calls, {passed[name]} went through")


if __name__ == "__main__":
    main()
