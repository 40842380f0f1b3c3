"""The compile decorator: lazy, cached, and never stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from smidgen_papers.compiled.kernel import JIT

CALLEE = """
from smidgen_papers.compiled.kernel import kernel

@kernel
def part(x):
    return x + {number}
"""
CALLER = """
from smidgen_papers.compiled.kernel import kernel
from callee import part

@kernel
def whole(x):
    return part(x) * 2

print(whole(1))
"""
PAIR = """
from typing import NamedTuple

class {name}(NamedTuple):
    left: float
    right: float
"""
SUM = """
from smidgen_papers.compiled.kernel import kernel
from {module} import {name}

@kernel
def whole(pair):
    return pair.left + pair.right

print(whole({name}(1.0, 2.0)))
"""

BORROWED = """
import sys
from typing import NamedTuple
import numpy as np
from smidgen_papers.compiled.kernel import borrowing, kernel

class Room(NamedTuple):
    rows: np.ndarray
    out: np.ndarray

@kernel
def doubled(x, out):
    out[:] = np.concatenate((x, x))[: len(out)] * 2.0

@borrowing
def part(room, k):
    row = room.rows[k]
    doubled(row, room.out)
    return room.out[0] + row[1]

@borrowing
def whole(room):
    total = 0.0
    for k in range(room.rows.shape[0]):
        total += part(room, k)
    return total

room = Room(np.arange(6.0).reshape(3, 2), np.zeros(2))
before = [sys.getrefcount(array) for array in room]
totals = {whole(room) for _ in range(100)}
print(*totals, before == [sys.getrefcount(array) for array in room])
"""


#: `make test` runs the papers' kernels as plain Python, since most take long to compile; here they are compiled.
COMPILED = {"NUMBA_DISABLE_JIT": "0"}
#: What compiles within seconds.
QUICK = (
    "test_lanes.py",
    "test_short_scores.py",
    "test_directions.py",
    "test_beyond_better.py",
    "test_filtering_exact.py",
)


def run(folder: Path, code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), **COMPILED, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_cached_kernel_notices_that_a_kernel_of_another_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    for number in (1, 20):
        (tmp_path / "callee.py").write_text(CALLEE.format(number=number))
        assert run(tmp_path, "import caller") == str((1 + number) * 2)
    cached = {path.name.split(".")[0] for path in (tmp_path / "__pycache__").glob("*.nbi")}
    assert cached == {"callee", "caller"}, "and it is cached, with its own index"


@pytest.mark.long
def test_a_cache_that_names_a_lost_class_is_as_good_as_none(tmp_path: Path) -> None:
    """numba names the classes of arguments in its index, and reads that before it asks whether it is up to date."""
    for module, name in (("pairs", "Pair"), ("couples", "Couple")):
        (tmp_path / "pairs.py").unlink(missing_ok=True)
        (tmp_path / f"{module}.py").write_text(PAIR.format(name=name))
        (tmp_path / "caller.py").write_text(SUM.format(module=module, name=name))
        assert run(tmp_path, "import caller") == "3.0"
        index = next((tmp_path / "__pycache__").glob("caller.whole-*.nbi"))
        assert module.encode() in index.read_bytes(), "the new one is written in its place"


def test_nothing_is_compiled_on_import() -> None:
    code = "import sys, smidgen.learners, smidgen.users; assert 'numba' not in sys.modules; print('lazy')"
    assert run(Path.cwd(), code) == "lazy"


def test_without_the_compiler_kernels_are_plain_functions(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "callee.py").write_text(CALLEE.format(number=1))
    code = (
        "import sys, caller, types; assert isinstance(caller.whole, types.FunctionType) and 'numba' not in sys.modules"
    )
    assert run(tmp_path, code, NUMBA_DISABLE_JIT="1") == "4"


def test_a_kernel_that_borrows_its_arrays_leaves_their_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "borrowed.py").write_text(BORROWED)
    assert run(tmp_path, "import borrowed") == "21.0 True"
    assert run(tmp_path, "import borrowed", NUMBA_DISABLE_JIT="1") == "21.0 True"


@pytest.mark.long
@pytest.mark.skipif(JIT, reason="numba is switched on: the files themselves compile")
def test_what_compiles_quickly_passes_its_tests_compiled() -> None:
    """`make test-long` compiles the rest too."""
    files = [str(Path(__file__).with_name(name)) for name in QUICK]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, env={**os.environ, **COMPILED}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "numba is switched off" not in done.stdout
