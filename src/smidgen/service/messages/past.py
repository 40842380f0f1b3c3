"""A model's past: undone, folded, forgotten."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.service.messages.message import Message


class RollbackBody(Message, kw_only=True):
    """The version to go back to, or the moment: ISO 8601 with a zone, or seconds since 1970.

    A model with several slots, each of which counts versions of its own, takes a moment only.
    """

    version: Annotated[int, Meta(ge=0)] | None = None
    time: Annotated[datetime, Meta(tz=True)] | Annotated[float, Meta(ge=0, le=1e11)] | None = None

    @property
    def then(self) -> float | None:
        """The moment in seconds since 1970."""
        return self.time.timestamp() if isinstance(self.time, datetime) else self.time


class SlotUndone(Struct, kw_only=True):
    """Of a slot: the version that it went back to, and the version that this made."""

    to: int
    model_version: int


class UndoneReply(Struct, kw_only=True):
    """The version that the undoing made.

    Of a rollback to a moment, ``to`` is the version that was in force then. Of a model with several slots,
    ``model_version`` is the sum over its slots, and ``slots`` tells of each; of a retraction, it is that of the
    decision's ``slot``.
    """

    model_version: int
    to: int | UnsetType = UNSET
    slot: int | UnsetType = UNSET
    slots: list[SlotUndone] | UnsetType = UNSET


class UndoingReply(Struct, kw_only=True):
    """Work on the model's past that is done aside: how much of how much is done; ``of`` is 0 while nobody knows."""

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int
    of: int


class RetainBody(Message, kw_only=True):
    """How old an event must be, in seconds, to be folded into the base state and erased."""

    older_than_s: Annotated[float, Meta(ge=0, le=1e10)]


class SlotRetained(Struct, kw_only=True):
    """Where the log of one slot begins."""

    base: int
    base_version: int
    folded: int
    kept: int
    model_version: int


class RetainedReply(SlotRetained, kw_only=True):
    """Where the log begins.

    ``base`` is the last event that is folded, 0 if there is none, and ``base_version`` the version then; ``folded`` is
    how many events were folded by this call, ``kept`` how many decisions under the base are kept, since they are open
    or later events are about them. Of a model with several slots these are sums, and ``slots`` tells of each.
    """

    slots: list[SlotRetained] | UnsetType = UNSET


class BaseReply(Struct, kw_only=True):
    """Where the log begins: the last event that retention has folded, the version then, and when that was done.

    ``oldest_version`` is the oldest one that can be gone back to. Of a model with several slots these are sums.
    """

    seq: int
    version: int
    oldest_version: int
    at: str


class ForgottenReply(Struct, kw_only=True):
    """How many events were erased, the version that this made, and how many in which copies of the model.

    Of a model with several slots, it is the version of the key's ``slot``.
    """

    forgotten: int
    model_version: int
    copies: dict[str, int]
    slot: int | UnsetType = UNSET
