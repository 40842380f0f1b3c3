"""The tables that every database of ours has, with the same columns: so all of one can be written into another."""

from __future__ import annotations

from typing import NamedTuple


class TableForm(NamedTuple):
    """A table.

    Attributes
    ----------
    columns
        Their names.
    order
        By which its rows come in one order.
    """

    columns: tuple[str, ...]
    order: str


def _table(columns: str, order: str) -> TableForm:
    return TableForm(tuple(columns.split()), order)


#: In an order in which what is referred to comes first. States of slots are no rows everywhere.
TABLES = {
    "models": _table("id name body resolved created_at archived_at", "id"),
    "slots": _table("id model place seq version decisions late keys number chain answered", "id"),
    "events": _table("slot seq type version at decision key made salt chain body", "slot, seq"),
    "decisions": _table(
        "id slot seq number expires_at request request_hash explored forwarded feedback_seq feedback_hash version"
        " measure position waits shown late_hash beside agreed target chance",
        "id",
    ),
    "calls": _table("slot id hash seq", "slot, id"),
    "key_states": _table("slot key seq at state", "slot, key"),
    "tokens": _table("id hash scopes model created_at revoked_at", "id"),
    "lineage": _table("slot source seq", "slot, source"),
    "bases": _table("slot seq version chain at decisions late floor body erased", "slot"),
    "base_states": _table("slot key seq number digest state", "slot, key, seq, digest"),
    "carried": _table("slot seq digest", "slot, seq"),
    "gone": _table("id slot", "id"),
}
_ALL = "SELECT {columns} FROM {table} ORDER BY {order}"
_ROW = "INSERT INTO {table} ({columns}) VALUES ({values})"
_COUNT = "SELECT count(*) FROM {table}"


def all_of(name: str) -> str:
    """The statement that reads a table."""
    table = TABLES[name]
    return _ALL.format(columns=", ".join(table.columns), table=name, order=table.order)


def row_of(name: str) -> str:
    """The statement that writes a row of it."""
    columns = TABLES[name].columns
    return _ROW.format(table=name, columns=", ".join(columns), values=", ".join("?" * len(columns)))


def count_of(name: str) -> str:
    """The statement that counts its rows."""
    return _COUNT.format(table=name)
