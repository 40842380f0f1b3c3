"""Whatever a file holds, reading it ends soon, in little memory, with a typed error or with sound numbers."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from hostile import corpus
from smidgen import serialization
from smidgen.errors import SmidgenError

#: Bytes and CPU seconds that reading one small file may take.
MEMORY, TIME = 64 << 20, 1.0


def _learners() -> Iterator[bytes]:
    for learner in corpus.learners().values():
        yield from corpus.damaged(learner.to_bytes(), 25)
    yield from corpus.false_learners()


def _decisions() -> Iterator[bytes]:
    for decision in corpus.decisions():
        yield from corpus.damaged(decision.to_bytes(), 40)
    yield from corpus.false_values()


READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[], Iterator[bytes]]]] = {
    "saved learners": (smidgen.Learner.from_bytes, _learners),
    "decisions as bytes": (smidgen.Decision.from_bytes, _decisions),
    "decisions as JSON": (smidgen.Decision.from_json, corpus.false_json),
    "records": (serialization.decode, corpus.false_values),
    "JSON as records": (serialization.decode, corpus.false_json),
}


def _sound(read: Any) -> None:
    """Values that could be read in spite of the damage are finite."""
    if isinstance(read, smidgen.Learner):
        for name, array in read._state().items():
            assert array.dtype.kind != "f" or np.isfinite(array).all(), name


@pytest.mark.parametrize("name", READERS)
def test_hostile_bytes_are_refused_in_our_words(name: str) -> None:
    reader, contents = READERS[name]
    refused = 0
    for content in contents():
        began = time.process_time()
        try:
            _sound(reader(content))
        except SmidgenError:
            refused += 1
        assert time.process_time() - began < TIME, content[:60]
    assert refused > 50


def test_a_small_file_takes_little_memory() -> None:
    for content in _learners():
        tracemalloc.start()
        try:
            smidgen.Learner.from_bytes(content)
        except SmidgenError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert peak < MEMORY, content[:60]


def test_files_are_read_under_a_limit_of_memory(tmp_path: Path) -> None:
    """In a process that may not have more than a gigabyte beyond what it has: no MemoryError, no kill."""
    for i, content in enumerate(corpus.false_learners()):
        (tmp_path / f"{i}.smidgen").write_bytes(content)
    program = """
import resource, sys
from pathlib import Path
import smidgen
from smidgen.errors import SmidgenError
now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), now + (1 << 30)))
for path in sorted(Path(sys.argv[1]).glob("*.smidgen")):
    try:
        smidgen.load(path)
    except SmidgenError:
        pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
