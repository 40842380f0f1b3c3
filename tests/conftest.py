"""One profile for all property tests (the same examples in every run, no deadline on a busy machine); a database; the
order of the files, and who runs which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from cluster import Cluster, missing

settings.register_profile("ci", deadline=None, derandomize=True)
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
    """Where a store on PostgreSQL can be: a schema of its own on a server that runs."""
    return cluster.fresh()


#: Where the files are that run first and last; all others run between them. Who begins at the end comes to the service,
#: which needs kernels, when the laws have compiled most of them.
FIRST = ("tests/laws/", "tests/learners/", "tests/evaluate/")
LAST = ("tests/service/", "tests/service/faults/", "tests/service/test_kill_mix.py", "tests/data/", "tests/test_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What compiles most at one end, what waits most at the other, and what is short between them."""

    def place(item: pytest.Item) -> int:
        first = [-i for i, name in enumerate(reversed(FIRST), 1) if item.nodeid.startswith(name)]
        last = [i for i, name in enumerate(LAST, 1) if item.nodeid.startswith(name)]
        return (first or last[-1:] or [0])[0]

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file; every other process begins at the end, or all would compile the same kernels at the same time."""
    from xdist.scheduler import LoadFileScheduling

    class FromBothEnds(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            if self.nodes.index(node) % 2:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return FromBothEnds(config, log) if config.getvalue("dist") == "loadfile" else None
