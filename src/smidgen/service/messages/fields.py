"""The types that many bodies share, and how large what comes in may be."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z", max_length=100)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
#: What a candidate is called: a string or a whole number, answered as it was given.
AnyId = Id | Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
Numbers = list[float]
#: Features by name: numbers, or, of models that take records, all that JSON can say.
Record = dict[str, float | str | bool | list[Any] | dict[str, Any] | None]
#: How many decisions one call may ask for, how many candidates a decision may have, how many labels a model.
ROWS = CANDIDATES = 10_000
LABELS = 100_000
#: How many slots a model may have.
SLOTS = 64
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
#: After how many seconds events are folded and erased: a minute at least.
Age = Annotated[float, Meta(ge=60, le=1e10)]
AT_ONCE = Meta(min_length=1, max_length=ROWS)
