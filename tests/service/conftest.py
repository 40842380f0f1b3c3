"""Which store the tests of the service run on: SQLite, or PostgreSQL if the environment says so; and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from service import elsewhere


@pytest.fixture(scope="session", autouse=elsewhere.ON)
def _elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        elsewhere.move(request.getfixturevalue("cluster"), patch)
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file."""
    from service.browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(autouse=elsewhere.ON)
def _about_files(request: pytest.FixtureRequest) -> None:
    if (reason := elsewhere.about_files(request)) is not None:
        pytest.skip(reason)
