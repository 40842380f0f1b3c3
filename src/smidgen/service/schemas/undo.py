"""Bodies of rollback, retention and deletion, and their replies."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.service.schemas.common import Message


class RollbackBody(Message, kw_only=True):
    """The version to go back to, or the moment: ISO 8601 with a zone, or seconds since 1970.

    A model with several shards, each of which counts versions of its own, takes a moment only.

    Attributes
    ----------
    version
        The version to go back to.
    time
        The moment to go back to: ISO 8601 with a zone, or seconds since 1970.
    """

    version: Annotated[int, Meta(ge=0)] | None = None
    time: Annotated[datetime, Meta(tz=True)] | Annotated[float, Meta(ge=0, le=1e11)] | None = None

    @property
    def then(self) -> float | None:
        """The moment in seconds since 1970."""
        return self.time.timestamp() if isinstance(self.time, datetime) else self.time


class ShardUndone(Struct, kw_only=True):
    """Of a shard: the version that it went back to, and the version that this made.

    Attributes
    ----------
    to
        The version that the shard went back to.
    model_version
        The version that this made.
    """

    to: int
    model_version: int


class UndoneReply(Struct, kw_only=True):
    """The version that the undoing made.

    Of a rollback to a moment, ``to`` is the version that was in force then. Of a model with several shards,
    ``model_version`` is the sum over its shards, and ``shards`` tells of each; of a retraction, it is that of the
    decision's ``shard``.

    Attributes
    ----------
    model_version
        The version that this made.
    to
        Rollback to a moment: the version in force then.
    shard
        The shard that the version belongs to, of a model with several shards.
    shards
        Rollback of several shards: one entry each.
    """

    model_version: int
    to: int | UnsetType = UNSET
    shard: int | UnsetType = UNSET
    shards: list[ShardUndone] | UnsetType = UNSET


class UndoingReply(Struct, kw_only=True):
    """Progress of background work on the model's past; ``of`` is 0 while the total is not known.

    Attributes
    ----------
    what
        The work in progress.
    done
        Events processed.
    of
        Events to process; 0 while the number is not known.
    """

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int
    of: int


class RetainBody(Message, kw_only=True):
    """Age in seconds from which events are folded into the retention checkpoint and erased.

    Attributes
    ----------
    older_than_s
        Events older than this number of seconds are folded and erased.
    """

    older_than_s: Annotated[float, Meta(ge=0, le=1e10)]


class ShardRetained(Struct, kw_only=True):
    """Start of the log of one shard.

    Attributes
    ----------
    base
        The last folded event; 0 if there is none.
    base_version
        The model version at that event.
    folded
        Events folded by this call.
    kept
        Events that stay.
    model_version
        The shard's version.
    """

    base: int
    base_version: int
    folded: int
    kept: int
    model_version: int


class RetainedReply(ShardRetained, kw_only=True):
    """Start of the log.

    ``base`` is the last event that is folded, 0 if there is none, and ``base_version`` the version then; ``folded`` is
    how many events were folded by this call, ``kept`` how many decisions under the base are kept, since they are open
    or later events are about them. Of a model with several shards these are sums, and ``shards`` tells of each.

    Attributes
    ----------
    shards
        Several shards: one entry each.
    """

    shards: list[ShardRetained] | UnsetType = UNSET


class BaseReply(Struct, kw_only=True):
    """Start of the log: the last event that retention has folded, the version then, and the time of that run.

    ``oldest_version`` is the oldest one that can be gone back to. Of a model with several shards these are sums.

    Attributes
    ----------
    seq
        The last event that retention has folded.
    version
        The model version at that event.
    oldest_version
        The oldest version that a rollback can reach.
    at
        When retention ran.
    """

    seq: int
    version: int
    oldest_version: int
    at: str


class ForgottenReply(Struct, kw_only=True):
    """Number of erased events, the version that this made, and the erased events in copies of the model.

    Of a model with several shards, it is the version of the key's ``shard``. ``fragments`` is true where unused parts
    of a large database file may still hold parts of erased rows; the file is rewritten once the service is idle.

    Attributes
    ----------
    forgotten
        Events erased.
    model_version
        The version that this made.
    copies
        Events erased in copies, by model.
    shard
        The shard that the version belongs to, of a model with several shards.
    fragments
        Whether parts of erased data may remain in free pages of the database until it is vacuumed.
    """

    forgotten: int
    model_version: int
    copies: dict[str, int]
    shard: int | UnsetType = UNSET
    fragments: bool | UnsetType = UNSET
