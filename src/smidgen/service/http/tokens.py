"""Who may do what. A token is shown once; only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from typing import Literal, NamedTuple

from smidgen.service.refusals import Impossible, NotAllowed, OutOfScope, Unknown

Scope = Literal["decide", "feedback", "admin"]
SCOPES: tuple[Scope, ...] = ("decide", "feedback", "admin")


class Rights(NamedTuple):
    """What the bearer of a token may do.

    Attributes
    ----------
    scopes
        Some of decide, feedback, admin.
    model
        The only model it is for, or None.
    """

    scopes: frozenset[str]
    model: str | None


EVERYTHING = Rights(frozenset(SCOPES), None)


class Tokens:
    """The tokens of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def any(self) -> bool:
        """Whether a token was ever made: from then on, every call needs one."""
        return self._connection.execute("SELECT 1 FROM tokens LIMIT 1").fetchone() is not None

    def create(self, scopes: list[str], model: str | None, now: float) -> tuple[str, str]:
        """Make a token; gives its id (to revoke it by) and the token itself, for the only time."""
        if not scopes or not set(scopes) <= set(SCOPES):
            raise Impossible(f"the scopes are {', '.join(scopes) or 'none'}", f"choose among {', '.join(SCOPES)}")
        id, token = secrets.token_hex(4), "smidgen_" + secrets.token_urlsafe(32)
        self._connection.execute(
            "INSERT INTO tokens (id, hash, scopes, model, created_at) VALUES (?, ?, ?, ?, ?)",
            (id, _hash(token), ",".join(sorted(set(scopes))), model, now),
        )
        return id, token

    def revoke(self, id: str, now: float) -> None:
        """End a token."""
        cursor = self._connection.execute(
            "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, id)
        )
        if cursor.rowcount == 0:
            raise Unknown(f"there is no valid token {id!r}", "smidgen token list shows them")

    def list(self) -> list[tuple[str, str, str | None, float, float | None]]:
        """Id, scopes, model, made when, revoked when."""
        return self._connection.execute(
            "SELECT id, scopes, model, created_at, revoked_at FROM tokens ORDER BY created_at"
        ).fetchall()

    def rights(self, header: str | None) -> Rights:
        """What the ``Authorization`` header allows; without any token in the database, everything."""
        if not self.any():
            return EVERYTHING
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise NotAllowed("there is no token", "send Authorization: Bearer TOKEN")
        wanted = _hash(token.strip())
        for digest, scopes, model in self._connection.execute(
            "SELECT hash, scopes, model FROM tokens WHERE revoked_at IS NULL"
        ):
            if hmac.compare_digest(bytes(digest), wanted):
                return Rights(frozenset(scopes.split(",")), model)
        raise NotAllowed("the token is not valid", "make one with smidgen token create")


def require(rights: Rights, scope: Scope, model: str | None = None) -> None:
    """Refuse what the rights do not cover; a model that is not theirs looks unknown."""
    if scope not in rights.scopes and "admin" not in rights.scopes:
        raise OutOfScope(f"the token may not {scope}", "use one whose scope covers it")
    if rights.model is not None and model != rights.model:
        raise OutOfScope("the token is for another model", "use one of this model")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
