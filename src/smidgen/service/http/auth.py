"""Tokens: created, looked up, expired, revoked. A secret is shown once; the store keeps its hash."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from smidgen.checks import suggest
from smidgen.service.errors import Impossible, NotAllowed, Unknown, json_text
from smidgen.service.storage.protocol import Store, StoreReader
from smidgen.service.storage.records import SCOPES, TOKEN_NAME, TokenRow

Scope = Literal["decide", "feedback", "read", "admin"]
#: Seconds between two records of the use of one token.
USED_S = 60.0
#: Times beyond it are mistakes, and cannot be written as dates.
_FOREVER = 1e11
_UNITS = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"([0-9]{1,6})([hdw])")


class Rights(NamedTuple):
    """Rights of a token.

    Attributes
    ----------
    scopes
        Some of decide, feedback, read, admin.
    model
        The only model it is for, or None.
    id
        The token's id; None where no token is needed.
    """

    scopes: frozenset[str]
    model: str | None
    id: str | None = None


EVERYTHING = Rights(frozenset(SCOPES), None)


class Tokens:
    """The tokens of a store.

    Parameters
    ----------
    reading
        Where they are looked up.
    held
        Returns the tokens in memory, where one query per request would take too long. Its owner keeps them current.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        reading: StoreReader,
        held: Callable[[], Sequence[TokenRow]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reading = reading
        self._held = held
        self._clock = clock
        self._known: tuple[Sequence[TokenRow], dict[bytes, TokenRow]] = ((), {})
        self._some = False
        self._used: dict[str, float] = {}
        self._recorded: dict[str, float] = {}

    def any(self) -> bool:
        """True if a token was ever created; then every call needs one. Revoked and expired ones count."""
        if not self._some:
            self._some = bool(self._held() if self._held is not None else self._reading.tokens())
        return self._some

    def _lookup(self, hash: bytes) -> TokenRow | None:
        if self._held is None:
            return self._reading.token(hash)
        held = self._held()
        if held is not self._known[0]:
            self._known = (held, {row.hash: row for row in held})
        return self._known[1].get(hash)

    def list(self) -> list[TokenRow]:
        """All tokens, in the order of their creation."""
        return self._reading.tokens()

    def rights(self, header: str | None) -> Rights:
        """Rights of an ``Authorization`` header; everything, if the store has no token.

        The token is looked up by its digest, which no caller can steer, and then compared in constant time.
        """
        if not self.any():
            return EVERYTHING
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise NotAllowed("the request has no token", "send the header Authorization: Bearer TOKEN")
        wanted = _hash(token.strip())
        found = self._lookup(wanted)
        same = hmac.compare_digest(found.hash if found is not None else bytes(len(wanted)), wanted)
        if found is None or not same or found.revoked_at is not None:
            raise NotAllowed("the token is not valid", "create a token: smidgen token create")
        now = self._clock()
        if found.expires_at is not None and now >= found.expires_at:
            raise NotAllowed("the token has expired", "create another token: smidgen token create")
        self._used[found.id] = now
        return Rights(frozenset(found.scopes.split(",")), found.model, found.id)

    def uses(self, within_s: float = USED_S) -> dict[str, float]:
        """The last uses to record now, by token id: at most one per token within a number of seconds.

        What is returned counts as recorded; `unrecorded` takes it back.
        """
        due = {
            id: at
            for id, at in list(self._used.items())
            if at > (last := self._recorded.get(id, float("-inf"))) and at - last >= within_s
        }
        self._recorded |= due
        return due

    def put_back(self, uses: dict[str, float]) -> None:
        """Uses that `uses` returned could not be written: they stay due."""
        for id in uses:
            self._recorded.pop(id, None)


def create(
    store: Store,
    scopes: Sequence[str],
    model: str | None,
    now: float,
    *,
    name: str | None = None,
    expires_at: float | None = None,
) -> tuple[str, str]:
    """Create a token within the open batch; its id (to revoke it by) and the token itself, for the only time."""
    if not scopes or not set(scopes) <= set(SCOPES):
        raise Impossible(
            f"the scopes are {', '.join(scopes) or 'empty'}",
            suggest(next((each for each in scopes if each not in SCOPES), ""), SCOPES),
        )
    if name is not None and not (0 < len(name) <= TOKEN_NAME and name.isprintable()):
        raise Impossible(
            f"the token's name is {json_text(name[: TOKEN_NAME + 1])}", f"use 1 to {TOKEN_NAME} printable characters"
        )
    if expires_at is not None and not now < expires_at < _FOREVER:
        past = "has passed" if expires_at <= now else "is more than a thousand years away"
        raise Impossible(f"the token's expiry {past}", "give a later time, or none")
    id, token = secrets.token_hex(4), "smidgen_" + secrets.token_urlsafe(32)
    store.add_token(
        TokenRow(id, _hash(token), ",".join(sorted(set(scopes))), model, now, name=name, expires_at=expires_at)
    )
    return id, token


def revoke(store: Store, id: str, now: float) -> None:
    """End a token within the open batch."""
    if not store.revoke_token(id, now):
        raise Unknown(f'there is no valid token with the id "{id}"', "run smidgen token list for all ids")


def expiry(text: str, now: float) -> float:
    """Seconds since 1970 at which a token expires: a span from now (``12h``, ``30d``, ``8w``), or a time in UTC.

    Examples
    --------
    >>> from smidgen.service.http.auth import expiry
    >>> expiry("30d", 0.0), expiry("1970-01-02", 0.0), expiry("1970-01-01T01:00:00Z", 0.0)
    (2592000.0, 86400.0, 3600.0)
    """
    if (span := _SPAN.fullmatch(text)) is not None:
        return now + int(span[1]) * _UNITS[span[2]]
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise Impossible(
            f"the token's expiry is {json_text(text[:40])}",
            "give a duration such as 12h, 30d or 8w, or a date such as 2026-12-31",
        ) from error
    return (then if then.tzinfo is not None else then.replace(tzinfo=datetime.UTC)).timestamp()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
