"""The compile decorator: lazy, cached, and never stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CALLEE = """
from smidgen._kernel import kernel

@kernel
def part(x):
    return x + {number}
"""
CALLER = """
from smidgen._kernel import kernel
from callee import part

@kernel
def whole(x):
    return part(x) * 2

print(whole(1))
"""


def run(folder: Path, code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_cached_kernel_notices_that_a_kernel_of_another_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    for number in (1, 20, 300):
        (tmp_path / "callee.py").write_text(CALLEE.format(number=number))
        assert run(tmp_path, "import caller") == str((1 + number) * 2)
    cached = {path.name.split(".")[0] for path in (tmp_path / "__pycache__").glob("*.nbi")}
    assert cached == {"callee", "caller"}, "and it is cached, with its own index"


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
