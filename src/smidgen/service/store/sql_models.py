"""Writing what is known of models as a whole, and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smidgen.service.store.rows import Counts, ModelRow, TokenRow
from smidgen.service.store.sql_retaining import SQLRetaining
from smidgen.service.store.sql_tables import row_of

_MODEL = """
    INSERT INTO models (id, name, body, resolved, created_at)
    SELECT coalesce(max(id), 0) + 1, ?, ?, ?, ? FROM models RETURNING id
"""
_SLOT = """
    INSERT INTO slots (id, model, place, seq, version, decisions, late, keys, number, chain, answered)
    SELECT coalesce(max(id), 0) + 1, ?, 0, 0, 0, 0, 0, 0, 0, ?, 0 FROM slots RETURNING id
"""
#: The counts of a slot, as they are when a batch ends.
COUNTS = """
    UPDATE slots SET seq = :seq, version = :version, decisions = :decisions, late = :late, keys = :keys,
        number = :number, chain = :chain, answered = :answered WHERE id = :slot
"""
KEY_STATE = """
    INSERT INTO key_states VALUES (?, ?, ?, ?, ?) ON CONFLICT (slot, key) DO UPDATE
        SET seq = excluded.seq, at = excluded.at, state = excluded.state
"""
_LINEAGE = "INSERT INTO lineage VALUES (?, ?, ?) ON CONFLICT (slot, source) DO UPDATE SET seq = excluded.seq"
_REVOKE = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"


class SQLModels(SQLRetaining):
    """The verbs about models and tokens; each of them moves the catalogue, where there is one."""

    def create(self, name: str, body: bytes, resolved: dict[str, Any], at: float) -> ModelRow:
        """Enter a model with one slot; its first event is appended by the caller."""
        self._catalogued(name)
        told = msgspec.json.encode(resolved, order="deterministic")
        ((model,),) = self._run_for(_MODEL, (name, body, told, at))
        ((slot,),) = self._run_for(_SLOT, (model, Counts().chain))
        self._counting.enter(slot, Counts(), new=True)
        self._made(slot)
        return ModelRow(model, name, slot, body, resolved, at)

    def archive(self, model: int, at: float) -> None:
        """Note that a model decides no more."""
        self._catalogued()
        self._run("UPDATE models SET archived_at = ? WHERE id = ?", (at, model))

    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        """Put other settings in force; the event is appended by the caller."""
        self._catalogued()
        told = msgspec.json.encode(resolved, order="deterministic")
        self._run("UPDATE models SET resolved = ? WHERE id = ?", (told, model))

    def revive(self, model: int) -> None:
        """Note that a model decides again."""
        self._catalogued()
        self._run("UPDATE models SET archived_at = NULL WHERE id = ?", (model,))

    def rename(self, model: int, name: str) -> None:
        """Give a model another name, which no other has."""
        self._catalogued(name)
        self._run("UPDATE models SET name = ? WHERE id = ?", (name, model))

    def derive(self, slot: int, source: int, seq: int) -> None:
        """Note that a model began with what another had learnt up to an event."""
        self._run(_LINEAGE, (slot, source, seq))

    def add_token(self, token: TokenRow) -> None:
        """Enter a token."""
        self._catalogued()
        self._run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", tuple(token))

    def revoke_token(self, id: str, at: float) -> bool:
        """End a token; False if there is no valid one of this id."""
        self._catalogued()
        return bool(self._run_for(_REVOKE, (at, id)))

    def add_row(self, table: str, row: Sequence[Any]) -> None:
        """Write a row as it was elsewhere."""
        self._run(row_of(table), tuple(row))

    def take_all(self) -> None:
        """Let nobody else make models while the batch is open."""
        self._catalogued()

    def _catalogued(self, name: str | None = None) -> None:
        """What is known of all models and tokens is about to change; a new name must be free."""

    def _made(self, slot: int) -> None:
        """A slot is new, and nobody else knows it yet."""
