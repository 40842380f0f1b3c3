"""Which store the tests of the service run on: SQLite, or PostgreSQL if the environment says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service import elsewhere


@pytest.fixture(autouse=elsewhere.ON)
def _elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        elsewhere.move(request, patch)
        yield
