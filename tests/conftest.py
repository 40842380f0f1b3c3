"""One profile for all property tests (the same examples in every run, no deadline on a busy machine); a database."""

from __future__ import annotations

from collections.abc import Iterator

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
