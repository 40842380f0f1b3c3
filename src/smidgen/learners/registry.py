"""The list of algorithms: every learner registers itself with a card, and inherits every law unasked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from smidgen import records
from smidgen.errors import InvalidArgument

if TYPE_CHECKING:
    from smidgen.learners.learner import Learner

L = TypeVar("L", bound="type[Learner]")


@dataclass(frozen=True)
class Card:
    """What a person wants to know of an algorithm before choosing it."""

    loop: str
    """The loop it belongs to: coactive, label, filter or tune."""
    feedback: str
    """What it learns from."""
    paper: str
    """Where it is described."""
    bound: str
    """How its average regret is bounded, in words; the functions are in `smidgen.bounds`."""
    cost: str
    """Operations per round, N features, n candidates."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Arguments (beyond ``seed``) that make a small one, for demonstrations and for the laws."""
    order_free: bool = False
    """Whether the weights depend only on the set of decisions learnt, not on their order."""


learners: dict[str, type[Learner]] = {}
cards: dict[str, Card] = {}


def register(card: Card) -> Callable[[L], L]:
    """Enter a learner under its class name."""

    def enter(cls: L) -> L:
        name = cls.__name__
        if name in learners and learners[name].__qualname__ != cls.__qualname__:
            raise InvalidArgument(f"a learner called {name} is registered already", "give the class another name")
        records.structure(cls)
        learners[name], cards[name] = cls, card
        return cls

    return enter
