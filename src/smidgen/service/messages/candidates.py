"""What there is to rank or to choose from."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta

from smidgen.service.messages.fields import CANDIDATES, ROWS, AnyId, Numbers, Record
from smidgen.service.messages.message import Message


class Candidate(Message):
    """One of the things to rank or to choose from."""

    id: AnyId
    features: Numbers | Record | None = None


class Variant(Candidate, kw_only=True):
    """A candidate that a model keeps: one of the variants of a flag, with the value that the flag then has."""

    value: Any = UNSET


class Compact(Message):
    """A matrix of float32 numbers, little-endian, row by row, in base64."""

    shape: tuple[Annotated[int, Meta(ge=1, le=ROWS)], Annotated[int, Meta(ge=1)]]
    f32: bytes


class CompactCandidates(Message):
    """Candidates whose features come as one matrix."""

    ids: Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)]
    features: Compact
