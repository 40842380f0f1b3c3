"""The forms of learners that take records: every kind of value, in several Python forms, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.structures import Candidates
from smidgen.testing.forms import Form

#: Records that no vectorizer takes.
HOSTILE: list[Any] = [
    {"price": float("nan")},
    {"price": float("inf")},
    {"price": 1e308},
    {"price": 10**400},
    {"raw": b"bytes"},
    {"mixed": ["a", 3]},
    {"long": "x" * 100_000},
    {3: "a field without a name"},
    {"deep": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}},
    {"object": object()},
]


def made(rng: np.random.Generator) -> dict[str, Any]:
    """A record with some of its fields."""
    record: dict[str, Any] = {
        "price": float(rng.normal(100, 30)),
        "country": str(rng.choice(["se", "no", "dk"])),
        "vip": bool(rng.random() < 0.5),
        "tags": [str(tag) for tag in rng.choice(["a", "b", "c"], size=rng.integers(3))],
        "title": " ".join(rng.choice(["cheap", "flights", "to", "rome"], size=rng.integers(4))),
        "device": {"os": str(rng.choice(["ios", "web"])), "age": int(rng.integers(5))},
        "at": f"2026-11-{rng.integers(10, 28)}T{rng.integers(10, 20)}:30:00",
    }
    return {name: value for name, value in record.items() if rng.random() < 0.8} | {"note": None}


@dataclass(frozen=True)
class Item:
    """The same as a dataclass."""

    price: float | None = None
    country: str | None = None
    vip: bool | None = None
    tags: list[str] = field(default_factory=list)
    title: str | None = None
    device: Any = None
    at: str | None = None
    note: None = None


def other_form(record: dict[str, Any]) -> Any:
    """The same record as Python has it elsewhere; fields that were absent are None there."""
    order = [name for name in record if name in Item.__dataclass_fields__]
    return Item(**record) if order == [n for n in Item.__dataclass_fields__ if n in order] else MappingProxyType(record)


@dataclass(frozen=True)
class Single(Form):
    """One record: a label or a filter."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Records; in place of sparse rows, the same in other Python forms."""
        rng = np.random.default_rng(seed)
        records = [made(rng) for _ in range(n)]
        return [other_form(record) for record in records] if as_csr else records

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """The relevance, a bit, or the true label."""
        rng = np.random.default_rng([seed, decision.number])
        if self.name == "filter records":
            return bool(rng.random() < 0.4)
        truth = learner.learner.labels[rng.integers(learner.learner.n_classes)]
        return bool(decision.action == truth) if learner.learner.card.kinds[0] == "bit" else truth

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The relevance, or the true label."""
        return bool(seed % 2) if self.name == "filter records" else learner.learner.labels[seed % 3]

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Neither a bit nor a label."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -1, 3, 1.5)

    def unusable(self) -> Iterator[Any]:
        """What is no record, and hostile ones."""
        yield from (None, 3, np.zeros(4), "record", [{"a": 1}], *HOSTILE, Candidates([{"a": 1.0}]))

    def huge(self) -> list[Any]:
        """Large numbers among small ones."""
        return [{"price": 1e100, "country": "se"}, {"price": -1e100}, {"other": 1e300}]

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """What was dropped has no label."""
        return self.name == "label records" or bool(decision.action)


@dataclass(frozen=True)
class Offering(Form):
    """Candidates with a context: a ranking, or a choice."""

    @property
    def top(self) -> int | None:
        """How many places count."""
        return 2 if self.name == "ranking records" else None

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Candidates, mostly by id, mostly with a context."""
        rng = np.random.default_rng(seed)
        out = []
        for _ in range(n):
            records = {f"i{k}": made(rng) for k in range(int(rng.integers(2, 7)))}
            context = made(rng) if rng.random() < 0.8 else None
            shaped = {name: other_form(record) for name, record in records.items()} if as_csr else records
            out.append(Candidates(shaped if rng.random() < 0.8 else list(shaped.values()), context, self.top))
        return out

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """An order, or an item."""
        rng, n = np.random.default_rng([seed, decision.number]), len(decision.context)
        return rng.permutation(n) if self.top else int(rng.integers(n))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An order, or an item."""
        return np.random.default_rng(seed).permutation(len(context)) if self.top else seed % len(context)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is not among the candidates."""
        n = len(decision.context)
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, n + 1 if not self.top else np.zeros(n, int))

    def unusable(self) -> Iterator[Any]:
        """What are no candidates, and hostile ones."""
        yield from (None, 3, {"price": 1.0}, np.zeros((3, 64)))
        for record in HOSTILE:
            yield Candidates([{"price": 1.0}, record], top=self.top)
            yield Candidates([{"price": 1.0}], context=record, top=self.top)
        yield Candidates([1, 2], top=self.top)

    def huge(self) -> list[Any]:
        """Large numbers among small ones."""
        return [Candidates([{"price": 1e100}, {"price": 1.0}, {"price": 1e300}], top=self.top)]


@dataclass(frozen=True)
class RewardedOffer(Offering):
    """The same, and a reward for the item shown."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A reward."""
        return float(np.random.default_rng([seed, decision.number]).random())

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An item with its reward."""
        first = seed % len(context)
        return (first if context.ids is None else context.ids[first], 0.5)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is no number from 0 to 1."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -0.5, 1.5)
