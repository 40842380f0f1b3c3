"""Tokens for tests, made in a data folder as the command makes them, next to a running service."""

from __future__ import annotations

from pathlib import Path

from smidgen.service.engine.inspection import open_for_change
from smidgen.service.http import auth


class Mint:
    """Makes and ends tokens."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, scopes: list[str], model: str | None, now: float) -> tuple[str, str]:
        with open_for_change(self.folder) as store:
            return auth.create(store, scopes, model, now)

    def revoke(self, id: str, now: float) -> None:
        with open_for_change(self.folder) as store:
            auth.revoke(store, id, now)
