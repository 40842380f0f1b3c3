"""A guard against slow kernels that is not a stopwatch: the hot ones must be made of vector instructions.

A small change of a loop can make the compiler give up, and the kernel several times slower, while every result stays
the same. So hot files of the core are compiled to assembly here, and searched for packed arithmetic.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from core.fuzz import BUILD

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of x86-64")

#: A file, a function in it (as its mangled name has it), and how many packed multiplications there must be at least.
HOT = [
    ("rows", "sum_blockIdNS_9NamedRows", 36),
    ("rows", "sum_blockIfNS_9NamedRows", 18),
    ("rows", "sum_blockIdNS_7AllRows", 36),
    ("rows", "sum_named_rows_twiceId", 72),
    ("rows", "sum_named_rows_twiceIf", 36),
    ("choose", "decide_root", 4),
    ("choose", "play_root", 12),
    ("second_order", "arow_stream_fullId", 6),
    ("confidit", "stream_fullId", 6),
    ("geometry", "19shrink_and_multiplyE", 100),
    ("geometry", "8multiplyENS_3MatIKdEE", 100),
]


@cache
def assembly(name: str) -> str:
    source = Path(BUILD.HERE) / f"{name}.cpp"
    flags = [*BUILD.FLAGS, "-march=x86-64-v3", *BUILD._includes()]
    done = subprocess.run([*BUILD._compiler(), *flags, "-S", "-o", "-", str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def packed_in(code: str, function: str) -> int:
    """The packed multiplications of the functions whose name has this part."""
    bodies = re.findall(rf"^\S*{function}\S*:$(.*?)^\s+\.size", code, flags=re.MULTILINE | re.DOTALL)
    assert bodies, f"there is no function {function}"
    return sum(len(re.findall(r"^\s+v?mulp[sd]\s", body, flags=re.MULTILINE)) for body in bodies)


@pytest.mark.parametrize(("name", "function", "least"), HOT)
def test_hot_functions_are_made_of_vector_instructions(name: str, function: str, least: int) -> None:
    assert packed_in(assembly(name), function) >= least


@pytest.mark.skipif(not shutil.which("objdump"), reason="binutils is not installed")
@pytest.mark.parametrize("level", BUILD.levels())
def test_no_level_fuses_a_product_and_a_sum(level: str) -> None:
    """In spite of -ffp-contract=off GCC fuses loops with sums and differences of products (vfmsubadd)."""
    module = BUILD._place(BUILD.module_name(level))
    code = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(module)], capture_output=True, text=True, check=True
    )
    assert len(code.stdout) > 1_000_000
    assert re.findall(r"\bvfn?m(?:add|sub)\S*", code.stdout) == []
