"""Who may do what. A token is shown once; only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from smidgen.service.refusals import Impossible, NotAllowed, OutOfScope, Unknown
from smidgen.service.store.protocol import Reading, Store
from smidgen.service.store.rows import TokenRow

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
    """The tokens of a store.

    Parameters
    ----------
    reading
        Where they are looked up.
    held
        Gives those that are in memory, where asking for each request would take too long; whoever keeps them sees to
        it that they are fresh.
    """

    def __init__(self, reading: Reading, held: Callable[[], Sequence[TokenRow]] | None = None) -> None:
        self._reading = reading
        self._held = held
        self._known: tuple[Sequence[TokenRow], dict[bytes, TokenRow]] = ((), {})
        self._some = False

    def any(self) -> bool:
        """Whether a token was ever made: from then on, every call needs one."""
        if not self._some:  # none is ever taken away
            self._some = bool(self._held() if self._held is not None else self._reading.tokens())
        return self._some

    def _found(self, hash: bytes) -> TokenRow | None:
        if self._held is None:
            return self._reading.token(hash)
        held = self._held()
        if held is not self._known[0]:
            self._known = (held, {row.hash: row for row in held})
        return self._known[1].get(hash)

    def list(self) -> list[TokenRow]:
        """All tokens, in the order of their making."""
        return self._reading.tokens()

    def rights(self, header: str | None) -> Rights:
        """What the ``Authorization`` header allows; without any token in the store, everything.

        It is looked up by its digest, which nobody can steer, and then compared in constant time.
        """
        if not self.any():
            return EVERYTHING
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise NotAllowed("there is no token", "send Authorization: Bearer TOKEN")
        wanted = _hash(token.strip())
        found = self._found(wanted)
        same = hmac.compare_digest(found.hash if found is not None else bytes(len(wanted)), wanted)
        if found is None or not same or found.revoked_at is not None:
            raise NotAllowed("the token is not valid", "make one with smidgen token create")
        return Rights(frozenset(found.scopes.split(",")), found.model)


def create(store: Store, scopes: list[str], model: str | None, now: float) -> tuple[str, str]:
    """Make a token within the open batch; its id (to revoke it by) and the token itself, for the only time."""
    if not scopes or not set(scopes) <= set(SCOPES):
        raise Impossible(f"the scopes are {', '.join(scopes) or 'none'}", f"choose among {', '.join(SCOPES)}")
    id, token = secrets.token_hex(4), "smidgen_" + secrets.token_urlsafe(32)
    store.add_token(TokenRow(id, _hash(token), ",".join(sorted(set(scopes))), model, now, None))
    return id, token


def revoke(store: Store, id: str, now: float) -> None:
    """End a token within the open batch."""
    if not store.revoke_token(id, now):
        raise Unknown(f"there is no valid token {id!r}", "smidgen token list shows them")


def require(rights: Rights, scope: Scope, model: str | None = None) -> None:
    """Refuse what the rights do not cover; a model that is not theirs looks unknown."""
    if scope not in rights.scopes and "admin" not in rights.scopes:
        raise OutOfScope(f"the token may not {scope}", "use one whose scope covers it")
    if rights.model is not None and model != rights.model:
        raise OutOfScope("the token is for another model", "use one of this model")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
