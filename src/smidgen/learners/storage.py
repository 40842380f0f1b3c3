"""A saved learner: one file of arrays and a JSON header, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.errors import CorruptFile

FORMAT = "smidgen learner"
VERSION = 1


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write aside, sync, rename: a reader sees the old file or the new one, never half of one."""
    target = Path(path)
    head = msgspec.json.encode({"format": FORMAT, "version": VERSION, **header})
    descriptor, aside = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez(file, allow_pickle=False, header=np.frombuffer(head, np.uint8), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays; the zip's checksums are verified on the way."""
    way_out = "give a file that Learner.save wrote; if it was one, restore it from a copy"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = msgspec.json.decode(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise CorruptFile(f"{path} says that it is a {header['format']!r}", way_out)
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise CorruptFile(f"{path} is not a saved learner: {error}", way_out) from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise CorruptFile(f"{path} is not a saved learner: {error}", way_out) from error
    if header["version"] > VERSION:
        raise CorruptFile(f"{path} has format version {header['version']}", "upgrade smidgen to read it")
    return header, arrays
