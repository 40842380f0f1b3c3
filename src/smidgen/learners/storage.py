"""A saved learner: one file of arrays and a JSON header under a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.errors import CorruptFile

VERSION = 1
_MAGIC = b"smidgen learner "


def encode(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Header and arrays as bytes under a checksum."""
    payload = io.BytesIO()
    np.savez(payload, allow_pickle=False, header=np.frombuffer(msgspec.json.encode(header), np.uint8), **arrays)
    body = payload.getvalue()
    return _MAGIC + f"{VERSION}\n{hashlib.sha256(body).hexdigest()}\n".encode() + body


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write aside, sync, rename: a reader sees the old file or the new one, never half of one."""
    target = Path(path)
    descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def decode(content: bytes, source: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of what `encode` gave, if the checksum is right; ``source`` is its name in refusals."""
    hint = "give what Learner.save wrote; if it was that, restore it from a copy"
    first, digest, body = [*content.split(b"\n", 2), b"", b""][:3]
    if not first.startswith(_MAGIC):
        raise CorruptFile(f"{source} is not a saved learner", hint)
    if digest.decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise CorruptFile(f"{source} is a damaged saved learner: its checksum is wrong", hint)
    if first != _MAGIC + b"%d" % VERSION:
        version = first.removeprefix(_MAGIC).decode("ascii", "replace")
        raise CorruptFile(f"{source} is a saved learner of format {version}", "upgrade smidgen to read it")
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return msgspec.json.decode(arrays.pop("header").tobytes()), arrays
