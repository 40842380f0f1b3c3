"""The same loops in C++, compiled on the spot: the practical limit.

A twin is a file ``NAME.cpp`` in this folder with ``extern "C"`` functions that take pointers to arrays and sizes; what
is fixed at compile time (the number of classes, say) comes as a macro. A workload asks for a function by file and
name; where the file, the function or the compiler is missing, it leaves the row out with a remark.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
OPTIONS = ("-O3", "-march=native", "-shared", "-fPIC")
HOW = f"g++ {' '.join(OPTIONS[:2])}"


class NoTwin(Exception):
    """Why there is no such function, in words for a remark."""


def twin(source: str, function: str, **macros: int) -> Callable[..., None]:
    """A function of a C++ file; call it with arrays, whole numbers and floats.

    Raises
    ------
    NoTwin
        There is no compiler, no such file, or no such function.
    """
    library = _library(source, tuple(macros.items()))
    try:
        compiled = library[function]
    except AttributeError as error:
        raise NoTwin(f"left out: {source} has no function {function}") from error
    compiled.restype = None
    return lambda *arguments: compiled(*map(_passed, arguments))


@cache
def _library(source: str, macros: tuple[tuple[str, int], ...]) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        raise NoTwin("left out: there is no g++ here")
    if not (FOLDER / source).exists():
        raise NoTwin(f"left out: there is no {source}")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "twin.so"
        defines = [f"-D{name}={value}" for name, value in macros]
        command = [compiler, *OPTIONS, *defines, str(FOLDER / source), "-o", str(target)]
        if subprocess.run(command, check=False).returncode != 0:
            raise NoTwin(f"left out: g++ could not compile {source}")
        return ctypes.CDLL(str(target))


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous or argument.flags.f_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_int64(argument)
