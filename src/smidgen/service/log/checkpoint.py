"""Retention checkpoints: the state into which the first events of a log were folded, and the source of a copy.

A base is data, not a cache: what it holds can be had from nowhere else. So every state has a digest, and the digest of
the whole base stands in an event of the log (``retained``), which the chain covers.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from smidgen.service.log.events import DIGEST

#: The event that says that a base was made; its body has the base's number and digest.
RETAINED = "retained"
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Checkpoint(NamedTuple):
    """The beginning of a log whose first events were folded into a state and erased.

    Attributes
    ----------
    seq, version, chain
        The last event that was folded, the model's version then, and the chain there.
    at
        When it was made, in seconds since 1970.
    decisions, late
        How many decisions and late answers lie under it.
    floor
        The oldest version that can be gone back to.
    body
        The model's settings, and the amendments that a fresh learner must apply.
    erased
        Up to where everything under it is erased; there is more to do until that is ``seq``.
    """

    seq: int
    version: int
    chain: bytes
    at: float
    decisions: int
    late: int
    floor: int
    body: bytes
    erased: int = 0


class CheckpointState(NamedTuple):
    """The state of a learner at a retention checkpoint.

    Attributes
    ----------
    key
        Whose learner it is; None if the model has no keys.
    seq
        The base for which it was folded; it holds for later ones as long as no newer one is there.
    number
        The number of the learner's latest decision.
    digest
        By which damage is found.
    state
        The learner's bytes.
    """

    key: str | None
    seq: int
    number: int
    digest: bytes
    state: bytes

    @property
    def is_intact(self) -> bool:
        """True if it is what was written."""
        return self.digest == state_digest(self.key, self.seq, self.number, self.state)


class CarriedDecision(NamedTuple):
    """A decision under a base that is kept, since later events are about it or it is still open; and its digest."""

    seq: int
    digest: bytes


class Lineage(NamedTuple):
    """A copy's origin: its shard, the shard it was copied from, and the last event of that shard at the time."""

    shard: int
    source: int
    seq: int


def state_digest(key: str | None, seq: int, number: int, state: bytes) -> bytes:
    """The digest of a learner's state at a base."""
    return blake2b(_encode((key, seq, number, state)), digest_size=DIGEST).digest()


def checkpoint_digest(base: Checkpoint, states: Iterable[bytes], carried: Iterable[CarriedDecision]) -> bytes:
    """The digest of a base: of where it is, of its states in the order of their keys, and of what is kept under it."""
    whole = blake2b(_encode(base[:8]), digest_size=DIGEST)
    for digest in states:
        whole.update(digest)
    for seq, digest in carried:
        whole.update(seq.to_bytes(8, "little") + digest)
    return whole.digest()


def checkpoint_body(
    base: Checkpoint, events: int, states: Iterable[bytes], carried: Iterable[CarriedDecision]
) -> bytes:
    """Make the body of the event that records a checkpoint over this many more events."""
    digest = checkpoint_digest(base, states, carried)
    return msgspec.msgpack.encode({"base": base.seq, "version": base.version, "events": events, "digest": digest})
