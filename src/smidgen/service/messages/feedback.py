"""What people did, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Struct, UnsetType

from smidgen.service.messages.fields import AT_ONCE
from smidgen.service.messages.message import Message
from smidgen.service.messages.refused import ErrorDetail


class FeedbackBody(Message):
    """What the user did: one of the fields that the loop has."""

    def given(self) -> dict[str, Any]:
        """The fields that were sent, but for the decision that they are about."""
        return {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not UNSET and name != "decision"
        }


class SeveralBody(Message, kw_only=True):
    """Feedback on many decisions."""

    feedback: Annotated[list[FeedbackBody], AT_ONCE]


class FeedbackReply(Struct, kw_only=True):
    """What became of the feedback; of a model with several slots, ``slot`` says whose version it is."""

    status: Literal["learnt", "duplicate", "late"]
    model_version: int
    slot: int | UnsetType = UNSET


class SeveralReply(Struct, kw_only=True):
    """What became of each feedback, in order: as if it had come alone, or why it was refused."""

    results: list[Any]


class UbiResult(Struct, kw_only=True, omit_defaults=True):
    """What became of the clicks on a decision.

    ``answered`` says that it has an answer already: the clicks that came first count. ``error`` says why they were
    refused.
    """

    decision: str
    clicked: list[str | int]
    status: Literal["learnt", "duplicate", "late", "answered"] | None = None
    model_version: int | None = None
    error: ErrorDetail | None = None


class UbiReply(Struct, kw_only=True):
    """What became of UBI events: of the clicks on lists of ours, and how many others there were.

    ``passed_over`` are events that are no clicks on a result, ``unknown`` clicks in searches that are no decisions
    here, ``elsewhere`` clicks on what was not among the candidates.
    """

    results: list[UbiResult]
    passed_over: int
    unknown: int
    elsewhere: int
