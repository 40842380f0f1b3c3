"""A model's past: undone, folded, forgotten."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from smidgen.service.messages.message import Message


class RollbackBody(Message, kw_only=True):
    """The version to go back to."""

    version: Annotated[int, Meta(ge=0)]


class UndoneReply(Struct, kw_only=True):
    """The version that the undoing made."""

    model_version: int


class UndoingReply(Struct, kw_only=True):
    """Work on the model's past that is done aside: how much of how much is done; ``of`` is 0 while nobody knows."""

    what: Literal["rollback", "retract", "forget", "retain"]
    done: int
    of: int


class RetainBody(Message, kw_only=True):
    """How old an event must be, in seconds, to be folded into the base state and erased."""

    older_than_s: Annotated[float, Meta(ge=0, le=1e10)]


class RetainedReply(Struct, kw_only=True):
    """Where the log begins.

    ``base`` is the last event that is folded, 0 if there is none, and ``base_version`` the version then; ``folded`` is
    how many events were folded by this call, ``kept`` how many decisions under the base are kept, since they are open
    or later events are about them.
    """

    base: int
    base_version: int
    folded: int
    kept: int
    model_version: int


class BaseReply(Struct, kw_only=True):
    """Where the log begins: the last event that retention has folded, the version then, and when that was done.

    ``oldest_version`` is the oldest one that can be gone back to.
    """

    seq: int
    version: int
    oldest_version: int
    at: str


class ForgottenReply(Struct, kw_only=True):
    """How many events were erased, the version that this made, and how many in which copies of the model."""

    forgotten: int
    model_version: int
    copies: dict[str, int]
