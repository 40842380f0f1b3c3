"""Equal bits on every machine: all instruction-set levels, another BLAS, another C library, another processor.

`bits.json` holds the digests of `core.play`. `make bits` writes it after a change that is meant to change bits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.fuzz import BUILD
from smidgen import _core
from smidgen._core import _cpu

LEVELS = _cpu.levels()
OLDEST = "x86-64-v2"
#: The best and the oldest by day; those in between, each a minute of compilation, by night.
SOME = [pytest.param(level, marks=() if level in (LEVELS[0], OLDEST) else pytest.mark.long) for level in LEVELS]
#: The same of all levels that are built here, also those that this processor cannot run.
BUILT = [
    pytest.param(level, marks=() if level in (LEVELS[0], OLDEST) else pytest.mark.long) for level in BUILD.levels()
]
RECORDED: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "bits.json").read_bytes())


def run(level: str, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    if level in LEVELS:
        BUILD.build([level])
    environment = {**os.environ, "SMIDGEN_CPU": level, **more}
    tests = Path(__file__).parents[1]
    return subprocess.run(
        [sys.executable, *command], cwd=tests, env=environment, capture_output=True, text=True, check=False
    )


def played(rounds: str, level: str, **more: str) -> dict[str, str]:
    done = run(level, "-m", "core.play", rounds, **more)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first == f"level {level}"
    return dict(line.rsplit(": ", 1) for line in lines)


def other_libraries() -> dict[str, str]:
    """Variables that make numpy, its BLAS and the C library of x86-64 choose their oldest code; elsewhere none."""
    if OLDEST not in LEVELS:
        return {}
    from numpy._core import _multiarray_umath as built  # where numpy lists the instruction sets that it may use

    present = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(present),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    }


def test_the_best_level_is_in_use() -> None:
    assert LEVELS
    assert os.environ.get("SMIDGEN_CPU", LEVELS[0]) == _core.LEVEL


@pytest.mark.parametrize("level", SOME)
def test_every_level_gives_the_recorded_bits(level: str) -> None:
    """The oldest level with other libraries too: a difference would come from either."""
    assert played("400", level, **(other_libraries() if level == OLDEST else {})) == RECORDED["400"]


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_gives_the_recorded_bits_for_long(level: str) -> None:
    assert played("4000", level) == RECORDED["4000"]


@pytest.mark.long
def test_other_libraries_give_the_recorded_bits_for_long() -> None:
    assert played("4000", LEVELS[0], **other_libraries()) == RECORDED["4000"]


@pytest.mark.skipif(OLDEST not in LEVELS, reason="the variables are those of x86-64")
def test_other_libraries_have_other_last_bits() -> None:
    """BLAS, numpy and the C library differ from machine to machine: else nothing above would be shown."""
    if not other_libraries()["NPY_DISABLE_CPU_FEATURES"]:
        pytest.skip("numpy has no other code for this processor")
    assert _sums(OLDEST, **other_libraries()) != _sums(OLDEST)


def _sums(level: str, **more: str) -> str:
    """Sums and logarithms of numpy's, which depend on the code that it chooses."""
    script = (
        "import numpy as np; x = np.random.default_rng(1).random((200, 200)); print((np.log(x) @ x).tobytes().hex())"
    )
    return run(level, "-c", script, **more).stdout


@pytest.mark.parametrize("level", ["x86-64-v9", "x86_64_v2", "V2"])
def test_a_level_that_is_not_there_is_refused(level: str) -> None:
    done = run(level, "-c", "import smidgen._core")
    assert done.returncode == 1
    assert f"SMIDGEN_CPU is {level!r} and this processor has {', '.join(LEVELS)}" in done.stderr


@pytest.mark.skipif(OLDEST not in LEVELS, reason="reads the code of x86-64")
@pytest.mark.skipif(not shutil.which("objdump"), reason="binutils is not installed")
@pytest.mark.parametrize("level", BUILT)
def test_no_level_fuses_a_product_and_a_sum(level: str) -> None:
    """In spite of -ffp-contract=off GCC fuses loops with sums and differences of products (vfmsubadd)."""
    BUILD.build([level])
    module = BUILD._place(BUILD.module_name(level))
    code = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(module)], capture_output=True, text=True, check=True
    )
    assert len(code.stdout) > 1_000_000
    assert re.findall(r"\bvfn?m(?:add|sub)\S*", code.stdout) == []
