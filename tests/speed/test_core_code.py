"""A guard against slow kernels that is not a stopwatch: the hot ones must be made of vector instructions.

A small change of a loop can make the compiler give up, and the kernel several times slower, while every result stays
the same. So the code of hot functions is searched for packed arithmetic.
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

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the code of x86-64"),
    pytest.mark.skipif(not shutil.which("objdump"), reason="binutils is not installed"),
]

#: The oldest level by day, which is compiled anyway; by night the one whose registers are twice as wide.
LEVELS = ["x86-64-v2", pytest.param("x86-64-v3", marks=pytest.mark.long)]
#: A file, a function in it (as its mangled name has it), and how many packed multiplications there must be at least
#: with the wider registers; with narrow ones there are twice as many.
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
def code_of(name: str, level: str) -> str:
    """The machine code of a file of the core as it is compiled for a level."""
    BUILD.build([level])
    (module,) = (BUILD.ROOT / "build" / "core").glob(f"{BUILD.module_name(level)}.*.objects")
    (made,) = (line for line in module.read_text().splitlines() if Path(line).name == f"{name}.o")
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", made], capture_output=True, text=True, check=True)
    return done.stdout


def packed_in(code: str, function: str) -> int:
    """The packed multiplications of the functions whose name has this part."""
    bodies = re.findall(rf"^[0-9a-f]+ <\S*{function}\S*>:$(.*?)(?:^$|\Z)", code, flags=re.MULTILINE | re.DOTALL)
    assert bodies, f"there is no function {function}"
    return sum(len(re.findall(r"\sv?mulp[sd]\s", body)) for body in bodies)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "function", "least"), HOT)
def test_hot_functions_are_made_of_vector_instructions(name: str, function: str, least: int, level: str) -> None:
    wanted = 2 * least if level == "x86-64-v2" else least
    assert packed_in(code_of(name, level), function) >= wanted
