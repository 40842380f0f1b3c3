"""What the service answers."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from smidgen.client.refusals import ServiceError
from smidgen.decoding import UNREADABLE

T = TypeVar("T")


class Answer(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A decision of the service. Give it, or only its ``id``, to ``learn`` when the user has reacted.

    Attributes
    ----------
    decision
        Its id.
    model
        The model that decided: the one that was asked, or its challenger.
    model_version, shard
        How many feedbacks the model had learnt when it decided; of a model with several shards, which of them had.
    explored, propensity
        Whether exploration changed the action, and the probability of the action where it was drawn.
    expires_at
        Until when feedback is learnt.
    ranking, scores
        Of rank: all candidates, best first, and their scores in that order.
    choice, pair
        Of choose: the candidate; of a dueling bandit also its rival.
    propensities
        With which probability each candidate (by its id as a string), or each label, would have been shown.
    label
        Of label.
    forward, margin, threshold
        Of filter: whether to forward, the estimate, and the value that it had to reach.
    point, knobs
        Of tune: the point to try; of a model with knobs, each one's share of its way, and their values by name.
    more
        Fields that this client has no name for: of loops that it does not know. They are attributes too.
    """

    decision: str
    model_version: int
    expires_at: str
    model: str | None = None
    shard: int | None = None
    explored: bool = False
    propensity: float | None = None
    ranking: list[str | int] | None = None
    scores: list[float] | None = None
    choice: str | int | None = None
    pair: list[str | int] | None = None
    propensities: dict[str, float] | None = None
    label: str | None = None
    forward: bool | None = None
    margin: float | None = None
    threshold: float | None = None
    point: list[float] | None = None
    knobs: dict[str, float | int] | None = None
    more: dict[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self.more is not None and name in self.more:
            return self.more[name]
        raise AttributeError(f"this decision has no {name!r}")

    @property
    def id(self) -> str:
        """The decision's id."""
        return self.decision

    @property
    def action(self) -> Any:
        """What goes out: the ranking, the choice, the label, forward or drop, the point, or what a guest's loop has."""
        tuned = self.point if self.knobs is None else self.knobs
        answers = (self.ranking, self.choice, self.label, self.forward, tuned, *(self.more or {}).values())
        return next((answer for answer in answers if answer is not None), None)


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of feedback.

    Attributes
    ----------
    status
        ``"learnt"``, ``"duplicate"`` (it had been learnt before) or ``"late"`` (logged, not learnt).
    model_version, shard
        How many feedbacks the model has learnt; of a model with several shards, which of them has.
    """

    status: Literal["learnt", "duplicate", "late"]
    model_version: int
    shard: int | None = None


class _Answers(msgspec.Struct):
    decisions: list[dict[str, Any]]


_KNOWN = frozenset(Answer.__struct_fields__) - {"more"}


def answer(content: bytes) -> Answer:
    """One decision."""
    return _answer(_read(content, dict[str, Any]))


def answers(content: bytes) -> list[Answer]:
    """The decisions of a batch."""
    return [_answer(each) for each in _read(content, _Answers).decisions]


def learnt(content: bytes) -> Learnt:
    """What became of feedback."""
    return _read(content, Learnt)


def plain(content: bytes) -> dict[str, Any]:
    """An object as it came."""
    return _read(content, dict[str, Any])


def _answer(told: dict[str, Any]) -> Answer:
    fields = {name: value for name, value in told.items() if name in _KNOWN}
    more = {name: value for name, value in told.items() if name not in _KNOWN}
    try:
        return msgspec.convert(fields | {"more": more} if more else fields, Answer)
    except msgspec.ValidationError as error:
        raise _foreign(error) from error


def _foreign(error: Exception) -> ServiceError:
    return ServiceError(502, "not_smidgen", f"the reply is not one of a smidgen service: {error}", "check the address")


def _read(content: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=type)
    except UNREADABLE as error:
        raise _foreign(error) from error
