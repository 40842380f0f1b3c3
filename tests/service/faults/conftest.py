"""Fixtures of the fault tests: the shim, and services whose disk access goes through it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.faults import shim
from service.faults.tally import Tally
from service.killable_services import Nursery


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim, compiled."""
    if (why := shim.reason()) is not None:
        pytest.skip(why)
    return shim.build(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def nursery(library: Path) -> Iterator[Nursery]:
    nursery = Nursery(library)
    yield nursery
    nursery.close()


@pytest.fixture
def tally() -> Iterator[Tally]:
    """Counts, kept when the test is over, however it ends."""
    tally = Tally()
    yield tally
    tally.keep()
