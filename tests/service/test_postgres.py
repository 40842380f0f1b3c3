"""The store in PostgreSQL: the shipped contract, and what is its own."""

from __future__ import annotations

from smidgen.service.store.postgres import PostgresStore
from smidgen.testing import check_store


def test_postgresql_keeps_the_contract(postgres: str) -> None:
    check_store(lambda: PostgresStore(postgres))
