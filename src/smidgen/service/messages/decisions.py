"""A decision: asked for, shown, told from beginning to end."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from smidgen.service.messages.candidates import Compact
from smidgen.service.messages.fields import AT_ONCE, CANDIDATES, AnyId, Id
from smidgen.service.messages.message import Message


class DecisionBody(Message):
    """A request for a decision: what it has in every loop.

    ``chosen`` is what the app has chosen itself: that is answered, and the model is taught it.
    """

    id: Id | None = None
    key: Id | None = None
    activate: bool = True
    chosen: AnyId | bool | Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)] | None = None


class BatchBody(Message):
    """Several requests at once, or, where a request is one row of features, a matrix: a decision for each row.

    Beside a matrix, ``id`` makes the call safe to repeat: row i has the id ``"{id}.{i}"``, counted from 0.
    """

    id: Annotated[str, Meta(min_length=1, max_length=190)] | None = None
    decisions: Annotated[list[DecisionBody], AT_ONCE] | None = None
    features: Compact | None = None
    key: Id | None = None


class ShownReply(Struct, kw_only=True):
    """Whether the decision counts now, has counted before, or is too old."""

    status: Literal["shown", "duplicate", "late"]


class Contributions(Struct, kw_only=True):
    """What each feature adds to the answer's score, strongest first, under the weights of a version."""

    version: int
    items: list[tuple[str, float]]


class Story(Struct, kw_only=True):
    """A decision from beginning to end."""

    decision: str
    model: str
    key: str | None
    made_at: str
    expires_at: str
    shown: dict[str, Any]
    feedback: dict[str, Any] | None
    feedback_at: str | None
    learnt_version: int | None
    why_not: str | None
    contributions: Contributions | None = None
