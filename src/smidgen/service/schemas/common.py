"""Types that many bodies share, limits of what comes in, and errors.

Unknown fields, wrong types and NaN are refused on reading.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from smidgen.service.errors import Impossible

# The types that many bodies share, and how large what comes in may be.


Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z", max_length=100)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
#: What a candidate is called: a string or a whole number, answered as it was given.
AnyId = Id | Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
Numbers = list[float]
#: Features by name: numbers, or, of models that take records, all that JSON can say.
Record = dict[str, float | str | bool | list[Any] | dict[str, Any] | None]
#: Maximum number of decisions in a call, of candidates of a decision, of labels of a model.
ROWS = CANDIDATES = 10_000
LABELS = 100_000
#: Maximum number of shards of a model.
SHARDS = 64
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
#: After how many seconds events are folded and erased: a minute at least.
Age = Annotated[float, Meta(ge=60, le=1e10)]
AT_ONCE = Meta(min_length=1, max_length=ROWS)
#: The most parts of a reward, and the most currencies of a cost.
PARTS = CURRENCIES = 32
#: The largest value of a reward, or of a part of it.
LARGEST_REWARD = 1e6
#: Costs by currency: finite and not negative.
Costs = Annotated[dict[Id, Annotated[float, Meta(ge=0, le=1e15)]], Meta(min_length=1, max_length=CURRENCIES)]
#: A limit of a budget.
Amount = Annotated[float, Meta(gt=0, le=1e15)]
#: A reward, or the values of the parts of a reward by name.
Reward = float | Annotated[dict[Id, float], Meta(min_length=1, max_length=PARTS)]
#: How several reports become one reward: a word, or the weights of parts by name.
Rewards = Literal["first", "last", "sum", "max"] | Annotated[dict[Id, float], Meta(min_length=1, max_length=PARTS)]


# The root of all bodies, and the hash by which one is known again.


class Message(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The root of all bodies."""


def digest(body: Message | dict[str, Any]) -> bytes:
    """The hash of a body, or of its fields, by which the same one is known again.

    MessagePack writes numbers far quicker than JSON.
    """
    try:
        return hashlib.sha256(msgspec.msgpack.encode(body, order="deterministic")).digest()[:16]
    except OverflowError as error:
        raise Impossible("the body holds a whole number of more than 64 bits", "send it as a string") from error


# Every refusal.


class ErrorDetail(Struct, kw_only=True):
    """The problem, and a hint for fixing it.

    Attributes
    ----------
    code
        A word of the contract, stable across versions.
    message
        What was wrong, and where.
    hint
        What to do.
    """

    code: str
    message: str
    hint: str


class ErrorReply(Struct, kw_only=True):
    """Every refusal.

    Attributes
    ----------
    error
        The error.
    """

    error: ErrorDetail


def internal_error() -> ErrorDetail:
    """Reply to a fault of the service itself, without internal details."""
    return ErrorDetail(code="internal_error", message="the service has a fault", hint="see what the server has logged")
