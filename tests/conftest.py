"""Profiles of property tests (the same examples in every run by day, new ones by night, no deadline); a database; the
order of the files, and how processes share them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from cluster import Cluster, missing

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
#: `make test-long`: more examples, others each night; a failure prints what reproduces it.
settings.register_profile("nightly", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server, for the tests of one process; without the programs they skip."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    server = Cluster()
    yield server
    server.close()


@pytest.fixture
def postgres(cluster: Cluster) -> str:
    """URL of a schema of its own on a running server."""
    return cluster.fresh()


#: What runs first: long files, or one process would still be busy with one when the others have finished.
FIRST = (
    "tests/service/faults/",
    "tests/core/",
    "tests/service/storage/",
    "tests/service/http/test_workers.py",
    "tests/simulation/",
    "tests/service/",
)
#: What runs last: thousands of short tests, of which each process takes a part when it has nothing else.
LAST = "tests/laws/"
#: Files that several processes share, test by test.
SHARED = (
    "tests/golden/test_golden.py",
    "tests/laws/test_laws.py",
    "tests/laws/test_hostile.py",
    "tests/laws/test_growth.py",
    "tests/simulation/test_simulation.py",
)
PARTS = 16


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Freeze collected objects, so that the garbage collector skips them; let it look at larger heaps less often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""

    def place(item: pytest.Item) -> int:
        if item.nodeid.startswith(LAST):
            return len(FIRST) + 1
        return next((i for i, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file, so that fixtures of a file and blocks of a page stay together; the largest files in parts."""
    from xdist.scheduler import LoadFileScheduling

    class InParts(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return f"{file}::{crc32(nodeid.encode()) % PARTS}" if file in SHARED else file

    return InParts(config, log) if config.getvalue("dist") == "loadfile" else None
