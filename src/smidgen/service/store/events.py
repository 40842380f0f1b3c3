"""The envelope: what every event has around its body, and the chain that makes a lost or altered event visible.

Each event has a digest of its content, salted, and the chain runs over these digests:

    content_n = H(salt ‖ [type, version, at, decision, key, body])
    chain_n   = H(chain_{n-1} ‖ seq ‖ content_n)

An erased event keeps ``content_n`` in place of its salt and its body. Without the salt nobody can try out what it was,
and the chain still holds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from smidgen.errors import InvalidRecord

#: The type of an event whose content is gone.
ERASED = "erased"
#: The types of events that take back what earlier ones did; their bodies have the field ``version``:
#: of ``rolled_back`` the version to go back to, of ``retracted`` the one that is undone.
REWINDS = ("retracted", "rolled_back")
#: What they say of names: those that are taken back keep their columns. At first none did, and nothing was said.
KEPT = "kept"
#: What the chain of a slot begins with.
START = bytes(16)
DIGEST = 16

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Event(NamedTuple):
    """One thing that happened.

    Attributes
    ----------
    seq
        1, 2, … within its slot, without gaps.
    type
        ``created``, ``decision``, ``feedback``, …; readers pass over those that they do not know.
    version
        The format of the body.
    at
        Seconds since 1970.
    decision, key
        Which decision and whose learner it is about, where it is about any.
    made
        The model's version that it made, of an event that changed weights.
    salt
        Random bytes, without which the digest of a short body could be guessed.
    chain
        The digest of this event and all before it.
    body
        What it says, in a compact binary form; of an erased event the digest of its content.
    """

    seq: int
    type: str
    version: int
    at: float
    decision: str | None
    key: str | None
    made: int | None
    salt: bytes | None
    chain: bytes
    body: bytes | None


class Salts:
    """Random salts, drawn from the system many at a time."""

    def __init__(self) -> None:
        self._drawn = b""
        self._place = 0

    def next(self) -> bytes:
        """Sixteen bytes that nobody guesses."""
        if self._place == len(self._drawn):
            self._drawn, self._place = os.urandom(DIGEST * 256), 0
        self._place += DIGEST
        return self._drawn[self._place - DIGEST : self._place]


def content(
    salt: bytes, type: str, version: int, at: float, decision: str | None, key: str | None, body: bytes | None
) -> bytes:
    """The salted digest of what an event says."""
    told = _encode((type, version, at, bytes.fromhex(decision) if decision is not None else None, key, body))
    return blake2b(salt + told, digest_size=DIGEST).digest()


def link(before: bytes, seq: int, digest: bytes) -> bytes:
    """The chain after an event, from the chain before it and the digest of its content."""
    return blake2b(before + seq.to_bytes(8, "little") + digest, digest_size=DIGEST).digest()


def erased(event: Event) -> Event:
    """The same event with its content gone; the chain stays as it is."""
    return event._replace(type=ERASED, version=0, at=0.0, decision=None, key=None, salt=None, body=digest_of(event))


def digest_of(event: Event) -> bytes:
    """The digest of an event's content: kept, if it was erased, else made anew."""
    if event.type == ERASED and event.salt is None:
        if event.body is None or len(event.body) != DIGEST:
            raise InvalidRecord(f"event {event.seq} is erased and its digest is gone", "restore the log from a backup")
        return event.body
    if event.salt is None:
        raise InvalidRecord(f"event {event.seq} has no salt", "restore the log from a backup")
    return content(event.salt, event.type, event.version, event.at, event.decision, event.key, event.body)


class Chain:
    """Follows the events of a slot and says where the chain breaks.

    Parameters
    ----------
    seq, chain
        Where to begin: the event before the first one, and the chain there.

    Examples
    --------
    >>> from smidgen.service.store.events import Chain, Event, START, content, erased, link
    >>> salt = bytes(16)
    >>> chain = link(START, 1, content(salt, "created", 1, 0.0, None, None, b"x"))
    >>> event = Event(1, "created", 1, 0.0, None, None, None, salt, chain, b"x")
    >>> Chain().follow([event]), Chain().follow([erased(event)]), Chain().follow([event._replace(body=b"y")])
    (None, None, 'event 1 does not fit the chain')
    """

    def __init__(self, seq: int = 0, chain: bytes = START) -> None:
        self.seq = seq
        self.chain = chain

    def take(self, event: Event) -> str | None:
        """Take the next event; what is wrong with it, or None."""
        if event.seq != self.seq + 1:
            problem = f"event {self.seq + 1} has the number {event.seq}"
            self.seq, self.chain = event.seq, event.chain
            return problem
        try:
            expected = link(self.chain, event.seq, digest_of(event))
        except (InvalidRecord, ValueError) as error:
            self.seq, self.chain = event.seq, event.chain
            return error.problem if isinstance(error, InvalidRecord) else f"event {event.seq} has no decision's id"
        self.seq, self.chain = event.seq, event.chain
        return None if expected == event.chain else f"event {event.seq} does not fit the chain"

    def follow(self, events: Iterable[Event]) -> str | None:
        """Take events in order; the first problem, or None."""
        for event in events:
            if (problem := self.take(event)) is not None:
                return problem
        return None
