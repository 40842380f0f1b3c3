"""Examples to teach."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from smidgen.service.messages.decisions import DecisionBody
from smidgen.service.messages.fields import AT_ONCE, Id
from smidgen.service.messages.message import Message


class ExampleBody(DecisionBody, kw_only=True):
    """What a request holds, with the answer that is known to be right."""

    answer: Any


class ExamplesBody(Message, kw_only=True):
    """Examples to teach a model, or one of its keys; with an ``id`` the call is safe to repeat."""

    id: Id | None = None
    key: Id | None = None
    examples: Annotated[list[ExampleBody], AT_ONCE]


class TaughtReply(Struct, kw_only=True):
    """How many examples were taught, and the model's version; if it has several slots, that of this one."""

    taught: int
    model_version: int
    slot: int | UnsetType = UNSET
