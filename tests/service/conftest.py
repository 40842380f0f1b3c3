"""The store that the tests of the service run on (SQLite, or PostgreSQL by the environment), and shared fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service import postgres_env
from service.asgi import Caller
from service.bodies import Clock
from service.killable_services import Nursery


@pytest.fixture(scope="session", autouse=postgres_env.ON)
def _postgres_env(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        postgres_env.move(request.getfixturevalue("cluster"), patch)
        yield


@pytest.fixture(autouse=postgres_env.ON)
def _left_open() -> Iterator[None]:
    before = len(postgres_env.stores)
    yield
    while len(postgres_env.stores) > before:
        postgres_env.stores.pop().close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file."""
    from service.browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    """A clock that a test moves."""
    return Clock()


@pytest.fixture
def call(tmp_path: Path, clock: Clock) -> Iterator[Caller]:
    """A caller of a service of its own, by that clock."""
    with Caller(tmp_path, clock=clock) as caller:
        yield caller


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Services that the tests of a file kill."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of a test is made: those of a whole file may be about files themselves."""
    if postgres_env.ON and isinstance(item, pytest.Function) and (reason := postgres_env.about_files(item)) is not None:
        pytest.skip(reason)
