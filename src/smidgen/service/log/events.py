"""The event envelope and the hash chain over events; timestamps.

The envelope: what every event has around its body, and the chain that makes a lost or altered event visible.

Each event has a digest of its content, salted, and the chain runs over these digests:

    content_n = H(salt ‖ [type, version, at, decision, key, body])
    chain_n   = H(chain_{n-1} ‖ seq ‖ content_n)

An erased event keeps ``content_n`` in place of its salt and its body. Without the salt the content cannot be guessed by
trial, and the chain still holds.

Who is forgotten may be mentioned in events of others. Such an event is rewritten: its salt is a new one followed by the
``content_n`` that the chain has. The event that ends the forgetting tells the digest of what it says now
(`present_digest`), so that the chain covers that too.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from smidgen.errors import InvalidRecord

# Times as people and programs read them.


def stamp(seconds: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC, to the millisecond.

    Examples
    --------
    >>> from smidgen.service.log.events import stamp
    >>> stamp(0.25)
    '1970-01-01T00:00:00.250Z'
    """
    part, whole = math.modf(seconds)
    millions, micros = divmod(round(part * 1e6), 1_000_000)  # as `datetime` rounds
    return f"{_second(int(whole) + millions)}.{micros // 1000:03}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """A whole second; the times of a moment, and the ends of windows that they open, share a few of them."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00")
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidRecord(f"the time {seconds} is out of range", "give seconds since 1970") from error


#: The type of an event whose content is gone.
ERASED = "erased"
#: The types of events that are decisions: of the model, and of the policy of its holdout, which no learner learns from.
HELD_OUT = "held_out"
DECIDED = ("decision", HELD_OUT)
#: The types of events that close a decision and may teach its learner: feedback, the end of a window without any, and
#: the reward of several reports. Their bodies are alike, and so is that of ``recorded``, which teaches nobody.
ANSWERED = ("feedback", "expired", "settled")
ANSWERS = (*ANSWERED, "recorded")
#: The types of events that take back what earlier ones did; their bodies have the field ``version``:
#: of ``rolled_back`` the version to go back to, of ``retracted`` the one that is undone.
REWINDS = ("retracted", "rolled_back")
#: What they say of names: those that are taken back keep their columns. At first none did, and nothing was said.
KEPT = "kept"
#: The field of a body that names the token by whose call the event was written.
AUTHOR = "token_id"
#: The types of events that operators cause: their bodies are maps, and take that field.
SIGNED = frozenset(
    (
        "created",
        "amended",
        "taught",
        "imported",
        "promoted",
        "archived",
        "revived",
        "renamed",
        "retained",
        ERASED,
        *REWINDS,
    )
)
#: What the chain of a shard begins with.
START = bytes(16)
DIGEST = 16

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Event(NamedTuple):
    """An event of the log.

    Attributes
    ----------
    seq
        1, 2, … within its shard, without gaps.
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
        Random bytes, without which the digest of a short body could be guessed; of a rewritten event followed by the
        digest that the chain has.
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
        """Sixteen random bytes."""
        if self._place == len(self._drawn):
            self._drawn, self._place = os.urandom(DIGEST * 256), 0
        self._place += DIGEST
        return self._drawn[self._place - DIGEST : self._place]


def content_digest(
    salt: bytes, type: str, version: int, at: float, decision: str | None, key: str | None, body: bytes | None
) -> bytes:
    """The salted digest of what an event says."""
    content = _encode((type, version, at, bytes.fromhex(decision) if decision is not None else None, key, body))
    return blake2b(salt + content, digest_size=DIGEST).digest()


def chain_digest(before: bytes, seq: int, digest: bytes) -> bytes:
    """The chain after an event, from the chain before it and the digest of its content."""
    return blake2b(before + seq.to_bytes(8, "little") + digest, digest_size=DIGEST).digest()


def erase_event(event: Event) -> Event:
    """Return the event without its content; the hash chain stays valid."""
    return event._replace(
        type=ERASED, version=0, at=0.0, decision=None, key=None, salt=None, body=original_digest(event)
    )


def rewrite_event(event: Event, body: bytes, salt: bytes) -> Event:
    """Return the event with another body; the hash chain stays valid."""
    return event._replace(salt=salt + original_digest(event), body=body)


def is_rewritten(event: Event) -> bool:
    """Check whether an event says something else than it did at first."""
    return event.salt is not None and len(event.salt) > DIGEST


def present_digest(event: Event) -> bytes:
    """The digest of what an event says now."""
    if event.salt is None:
        return original_digest(event)
    return content_digest(
        event.salt[:DIGEST], event.type, event.version, event.at, event.decision, event.key, event.body
    )


def original_digest(event: Event) -> bytes:
    """The content digest in the chain: stored if the event was erased or rewritten, otherwise computed."""
    if event.type == ERASED and event.salt is None:
        if event.body is None or len(event.body) != DIGEST:
            raise InvalidRecord(f"event {event.seq} is erased and has no digest", "restore the log from a backup")
        return event.body
    if event.salt is None:
        raise InvalidRecord(f"event {event.seq} has no salt", "restore the log from a backup")
    if is_rewritten(event):
        return event.salt[DIGEST:]
    return present_digest(event)


class Chain:
    """Follows the events of a shard and says where the chain breaks.

    Parameters
    ----------
    seq, chain
        Where to begin: the event before the first one, and the chain there.

    Examples
    --------
    >>> from smidgen.service.log.events import Chain, Event, START, content_digest, erase_event, chain_digest
    >>> salt = bytes(16)
    >>> chain = chain_digest(START, 1, content_digest(salt, "created", 1, 0.0, None, None, b"x"))
    >>> event = Event(1, "created", 1, 0.0, None, None, None, salt, chain, b"x")
    >>> check = lambda event: Chain().check_all([event])
    >>> check(event), check(erase_event(event)), check(event._replace(body=b"y"))
    (None, None, 'event 1 does not fit the chain')
    """

    def __init__(self, seq: int = 0, chain: bytes = START) -> None:
        self.seq = seq
        self.chain = chain

    def check(self, event: Event) -> str | None:
        """Take the next event; what is wrong with it, or None."""
        if event.seq != self.seq + 1:
            problem = f"event {self.seq + 1} has the number {event.seq}"
            self.seq, self.chain = event.seq, event.chain
            return problem
        try:
            expected = chain_digest(self.chain, event.seq, original_digest(event))
        except (InvalidRecord, ValueError) as error:
            self.seq, self.chain = event.seq, event.chain
            return error.problem if isinstance(error, InvalidRecord) else f"event {event.seq} has no decision's id"
        self.seq, self.chain = event.seq, event.chain
        return None if expected == event.chain else f"event {event.seq} does not fit the chain"

    def check_all(self, events: Iterable[Event]) -> str | None:
        """Take events in order; the first problem, or None."""
        for event in events:
            if (problem := self.check(event)) is not None:
                return problem
        return None
