"""Inputs for the laws of a loop: contexts to decide on, valid feedback, and invalid feedback.

A `Form` is one way in which a loop is used. There are forms of rankings and choices, of rows (label, filter, tune), of
drafts, and of records: every kind of value, in several Python forms, and hostile ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import numpy as np

from smidgen.arrays import scipy
from smidgen.decision import Decision, FloatArray
from smidgen.features import Row
from smidgen.features.rows import compressed, sparse_rows
from smidgen.serialization import structure
from smidgen.structures import Candidates, Choice, Clicks, Drafts, Edit, Ranking


def as_sparse(rows: FloatArray) -> Any:
    """A matrix."""
    if find_spec("scipy") is not None:
        return scipy("sparse", "a CSR matrix").csr_array(rows)
    return sparse_rows(*compressed(rows), rows.shape[1])


def as_sparse_row(x: FloatArray) -> Any:
    """Convert a vector to a sparse row."""
    if find_spec("scipy") is not None:
        return as_sparse(x[None, :])
    places = np.flatnonzero(x).astype(np.uint32)
    return Row.from_record({"indices": places, "values": x[places], "dim": len(x)})


@dataclass(frozen=True)
class Form(ABC):
    """A form of a loop. Derive from it to check learners of your own loop against the laws.

    Attributes
    ----------
    name
        What it is called.
    dim
        How many features there are.
    """

    name: str
    dim: int = 4

    @abstractmethod
    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Contexts, equal for equal seeds; with ``as_csr``, the features are sparse rows."""

    @abstractmethod
    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Feedback that may come for a decision: by a careless user, the same for the same seed and number."""

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The answer that an example may have, for `Learner.teach`."""
        return self.feedback(learner, learner.decide(context), seed)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Feedback that cannot exist."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1})

    def unusable(self) -> Iterator[Any]:
        """Contexts that no learner of this dimension can decide on."""
        yield from ()

    def huge(self) -> list[Any]:
        """Contexts at the end of floating point."""
        return []

    def resized(self, context: Any, sizes: Any) -> Any:
        """A context whose columns are scaled by what ``sizes`` gives for their number; one without stays as it is."""
        return context

    def resized_feedback(self, feedback: Any, sizes: Any) -> Any:
        """Feedback of another size, where it has one."""
        return feedback

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """True if a decision can have feedback: all can, except items that a filter drops."""
        return True


def times(values: Any, sizes: Any) -> Any:
    """Products of any size, cut where floating point ends."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.asarray(values) * sizes, posinf=1e308, neginf=-1e308)


@structure("smidgen.testing.NBest")
@dataclass(frozen=True, eq=False)
class NBest:
    """A structure that is neither a ranking nor a choice, and gives no more than it must."""

    rows: Any

    def phi(self, y: int) -> Any:
        """The features of one of them."""
        return self.rows[y]

    def argmax(self, w: Any) -> int:
        """The best of them."""
        with np.errstate(all="ignore"):
            return int(np.argmax(self.rows @ w))

    def candidates(self) -> list[int]:
        """All of them."""
        return list(range(len(self.rows)))


@dataclass(frozen=True)
class CoactiveForm(Form):
    """Rank or choose, and receive a preferred object."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Rankings, choices or lists, some columns empty."""
        rng = np.random.default_rng(seed)
        made: list[Any] = []
        for _ in range(n):
            rows = rng.normal(size=(int(rng.integers(2, 9)), self.dim)) * (rng.random(self.dim) < 0.7)
            features = as_sparse(rows) if as_csr else rows
            if self.name == "ranking":
                made.append(Ranking(features, top=int(rng.integers(1, 4))))
            elif self.name == "choice":
                made.append(Choice(features, rng.permutation(len(rows))[: rng.integers(1, len(rows) + 1)]))
            else:
                made.append(NBest(rows))
        return made

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Any object of the right form: the laws hold for careless users too."""
        rng = np.random.default_rng([seed, decision.number])
        context = decision.context
        if isinstance(context, Ranking):
            return rng.permutation(len(context))
        if learner.card.shows_pairs:
            return int(rng.integers(2))
        if isinstance(context, Choice):
            return int(rng.choice(np.flatnonzero(context.available)))
        return int(rng.integers(len(context.rows)))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An order, or the first that is on offer."""
        if isinstance(context, Ranking):
            return np.random.default_rng(seed).permutation(len(context))
        return int(np.flatnonzero(context.available)[0]) if isinstance(context, Choice) else 0

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Strange documents, too few, too many, twice; items that are not on offer."""
        yield from super().impossible(learner, decision)
        if isinstance(decision.context, Ranking):
            n = len(decision.context)
            yield from (np.zeros(n, int), np.arange(n - 1), np.arange(1, n + 1), np.arange(n) * 1.0, 0)
            yield np.append(np.arange(n), n)
        elif isinstance(decision.context, Choice):
            yield from (-1, len(decision.context), 0.5, [0])
            gone = np.flatnonzero(~decision.context.available)
            if len(gone) and not learner.card.shows_pairs:
                yield int(gone[0])

    def unusable(self) -> Iterator[Any]:
        """Values that are not structures, and rows of another length."""
        yield from (None, 3, np.zeros(self.dim))
        maker = Ranking if self.name == "ranking" else Choice
        yield maker(np.zeros((3, self.dim + 1)))
        yield maker(as_sparse(np.zeros((3, max(1, self.dim - 1)))) if self.dim > 1 else np.zeros((3, 3)))

    def huge(self) -> list[Any]:
        """Rows of 1e300."""
        return [self.resized(c, lambda d: np.full(d, 1e300)) for c in self.contexts(10, 5)]

    def resized(self, context: Any, sizes: Any) -> Any:
        """Other rows in the same form."""
        if isinstance(context, NBest):
            return NBest(times(context.rows, sizes(context.rows.shape[1])))
        rows = context.rows.dense()
        return type(context)(times(rows, sizes(rows.shape[1])))


@dataclass(frozen=True)
class Rewarded(CoactiveForm):
    """Choose, and receive a number in [0, 1] for the chosen item."""

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An item with its reward."""
        rng = np.random.default_rng([seed, 99])
        return int(rng.choice(np.flatnonzero(context.available))), float(rng.random())

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A reward, in several Python forms."""
        rng = np.random.default_rng([seed, decision.number])
        forms: list[Any] = [0.0, 1.0, 0, 1, float(rng.random()), np.float32(rng.random())]
        return forms[rng.integers(6)]

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are not numbers from 0 to 1."""
        yield from (None, "better", float("nan"), float("inf"), [[0]], {"rank": 1}, True, -0.1, 1.5, 2, [0.5], 0.5j)


@dataclass(frozen=True)
class Clicking(CoactiveForm):
    """Rank, and receive clicks, no clicks, or a preferred ranking."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Mostly clicks."""
        rng = np.random.default_rng([seed, decision.number])
        n = len(decision.context)
        if "better" in learner.card.kinds and rng.random() < 0.3:
            return rng.permutation(n)
        return Clicks(rng.permutation(n)[: rng.integers(0, 3)])

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Clicks on what was not there."""
        yield from super().impossible(learner, decision)
        yield from (Clicks([len(decision.context)]), Clicks([0, 10**6]))

    def unusable(self) -> Iterator[Any]:
        """Values that cannot be ranked."""
        yield from super().unusable()
        yield from (Choice(np.zeros((3, self.dim))), NBest(np.zeros((3, self.dim))))


def labels_of(learner: Any) -> list[Any]:
    """The labels of a learner."""
    named = getattr(learner, "labels", None)
    return list(named) if named is not None else list(range(learner.params["n_classes"]))


@dataclass(frozen=True)
class Labelling(Form):
    """Labels: one of K, with correct/incorrect or the true label as feedback."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Rows with some zeros."""
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n, self.dim)) * (rng.random((n, self.dim)) < 0.7)
        return [as_sparse_row(row) for row in rows] if as_csr else list(rows)

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A bit, now and then a reward, or the true label."""
        rng, labels = np.random.default_rng([seed, decision.number]), labels_of(learner)
        truth = labels[rng.integers(len(labels))]
        if "reward" in learner.card.kinds and rng.random() < 0.4:
            return float(rng.random())
        return bool(decision.action == truth) if learner.card.kinds[0] == "bit" else truth

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The true label."""
        labels = labels_of(learner)
        return labels[seed % len(labels)]

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are neither correct/incorrect nor a label."""
        yield from super().impossible(learner, decision)
        yield from (-1, len(labels_of(learner)), float("inf"))
        yield 1.5 if "reward" in learner.card.kinds else 0.5

    def unusable(self) -> Iterator[Any]:
        """Values that are not a row of ``dim`` finite numbers."""
        dim = self.dim
        yield from (None, 3, np.zeros(dim + 1), np.full(dim, np.nan), np.zeros((2, dim)), ["a"] * dim)
        yield as_sparse_row(np.zeros(dim + 2))
        yield np.full(dim, 1j)

    def huge(self) -> list[Any]:
        """Rows of 1e300."""
        return [context * 1e300 for context in self.contexts(10, 5)]

    def resized(self, context: Any, sizes: Any) -> Any:
        """A row of these sizes."""
        return times(context, sizes(len(context)))


@dataclass(frozen=True)
class Filtering(Labelling):
    """Forward or drop, and the relevance of what was forwarded."""

    reads: bool = True
    """True if it reads the rows."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Mostly not relevant."""
        return bool(np.random.default_rng([seed, decision.number]).random() < 0.4)

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The relevance."""
        return bool(seed % 2)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are neither true nor false."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -1, 1, 0, 0.5)

    def unusable(self) -> Iterator[Any]:
        """Unusable contexts, as for labels. None for a filter that reads no context."""
        if self.reads:
            yield from super().unusable()

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """Dropped items have no label, except in variants that see all labels."""
        return bool(decision.action) or bool(getattr(learner, "sees_everything", False))


@dataclass(frozen=True)
class Tuning(Form):
    """A point, and its gradient or its loss."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """None at all."""
        return [None] * n

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A small loss, or a gradient."""
        rng = np.random.default_rng([seed, decision.number])
        if "gradient" in learner.card.kinds:
            return rng.normal(size=_space(learner).dim)
        return float(rng.uniform(-1, 1))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The loss, or the gradient, at a point."""
        rng = np.random.default_rng(seed)
        return float(rng.normal()) if "loss" in learner.card.kinds else rng.normal(size=_space(learner).dim)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are not finite numbers, or too few or too many of them."""
        yield from super().impossible(learner, decision)
        yield from (float("inf"), True, np.full(_space(learner).dim + 3, 1.0))

    def huge(self) -> list[Any]:
        """Empty: there is no context that could be too large."""
        return [None] * 3

    def resized_feedback(self, feedback: Any, sizes: Any) -> Any:
        """A loss or a gradient of these sizes."""
        value = times(feedback, sizes(np.size(feedback)))
        return value.reshape(np.shape(feedback)) if np.ndim(feedback) else float(np.ravel(value)[0])


def _space(learner: Any) -> Any:
    found = getattr(learner, "space", None)
    return found if found is not None else learner.params["space"]


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
    """The record as a dataclass."""

    price: float | None = None
    country: str | None = None
    vip: bool | None = None
    tags: list[str] = field(default_factory=list)
    title: str | None = None
    device: Any = None
    at: str | None = None
    note: None = None


def other_form(record: dict[str, Any]) -> Any:
    """The record in other Python types; absent fields are None there."""
    order = [name for name in record if name in Item.__dataclass_fields__]
    return Item(**record) if order == [n for n in Item.__dataclass_fields__ if n in order] else MappingProxyType(record)


@dataclass(frozen=True)
class Single(Form):
    """A single record: for a label or a filter."""

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
        """Values that are not records, and hostile records."""
        yield from (None, 3, np.zeros(4), "record", [{"a": 1}], *HOSTILE, Candidates([{"a": 1.0}]))

    def huge(self) -> list[Any]:
        """Large numbers among small ones."""
        return [{"price": 1e100, "country": "se"}, {"price": -1e100}, {"other": 1e300}]

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """Dropped items have no label."""
        return self.name == "label records" or bool(decision.action)


@dataclass(frozen=True)
class Offering(Form):
    """Candidates with a context: a ranking, or a choice."""

    @property
    def top(self) -> int | None:
        """Number of positions that count."""
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
        """Values that are not among the candidates."""
        n = len(decision.context)
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, n + 1 if not self.top else np.zeros(n, int))

    def unusable(self) -> Iterator[Any]:
        """Values that are not candidates, and hostile ones."""
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
    """Choose from records, and receive a reward for the item shown."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A reward."""
        return float(np.random.default_rng([seed, decision.number]).random())

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An item with its reward."""
        first = seed % len(context)
        return (first if context.ids is None else context.ids[first], 0.5)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are not numbers from 0 to 1."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1}, -0.5, 1.5)


_SAID = (
    "Hello Ann thanks for the note it ships on Friday I think perhaps we can move that to Monday please let me know "
    "if this works 12 boxes of Käse! really? ... — (soon) regards, Tom\n\n- one\n- two 🙂 don't"
)
_WORDS = _SAID.split(" ")


def _text(rng: np.random.Generator, most: int = 30) -> str:
    return " ".join(rng.choice(_WORDS, size=int(rng.integers(0, most))))


@dataclass(frozen=True)
class Drafting(Form):
    """Show one of several drafts, and receive the text that the user made of it."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Drafts of random words, some with features of the app's."""
        rng = np.random.default_rng(seed)
        made = []
        for _ in range(n):
            texts = [_text(rng) for _ in range(int(rng.integers(1, 5)))]
            said = [{"model": f"m{rng.integers(3)}", "cost": float(rng.normal())} for _ in texts]
            made.append(Drafts(texts, said if rng.random() < 0.5 else None))
        return made

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Another text, the same one, or another of the drafts."""
        rng = np.random.default_rng([seed, decision.number])
        kind = rng.integers(4)
        if kind == 0:
            return int(rng.integers(len(decision.context)))
        if kind == 1:
            return Edit(decision.context.texts[decision.action])
        return Edit(_text(rng))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """A text that would have been right."""
        return Edit(_text(np.random.default_rng([seed, 98])))

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Values that are neither a draft nor a text made from one."""
        yield from super().impossible(learner, decision)
        yield from (-1, len(decision.context), 0.5, [0], b"text")

    def unusable(self) -> Iterator[Any]:
        """Values that are not structures, and rows of another length."""
        yield from (None, 3, "a text", ["a", "b"], Choice(np.zeros((2, self.dim + 1))))
