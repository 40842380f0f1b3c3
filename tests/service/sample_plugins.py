"""A plugin that the package does not know: two learners and a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from msgspec import UNSET, Struct, UnsetType

import smidgen
from smidgen import Card, Decision, Learner
from smidgen.errors import InvalidFeedback
from smidgen.learners import Feedback, cards, learners
from smidgen.service.loops.base import Answer, Example, Loop, ParsedFeedback, UiTexts
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import DecisionBody, FeedbackBody, Id, Numbers


class NearestMean(Learner):
    """The label whose examples so far are nearest on average; needs the true label."""

    def __init__(self, *, dim: int, n_classes: int, prior: float = 1.0, seed: int = 0) -> None:
        super().__init__(params={"dim": dim, "n_classes": n_classes, "prior": prior}, seed=seed)
        self._sums = np.zeros((n_classes, dim))
        self._counts = np.full(n_classes, prior)

    def _decide(self, context: Any, number: int) -> Decision:
        x = np.asarray(context, dtype=np.float64)
        action = self._predict(x)
        return Decision(
            kind=self._kind, settings=self._settings, number=number, action=action, greedy=action, context=x
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        if not isinstance(feedback, int) or not 0 <= feedback < len(self._counts):
            raise InvalidFeedback(f"the label is {feedback!r}", "give the number of a class")
        self._sums[feedback] += np.asarray(decision.context)
        self._counts[feedback] += 1.0

    def _predict(self, context: Any) -> int:
        return int(np.argmin(((np.asarray(context) - self.weights) ** 2).sum(axis=1)))

    @property
    def weights(self) -> Any:
        return self._sums / self._counts[:, None]

    def _state(self) -> dict[str, Any]:
        return {"sums": self._sums, "counts": self._counts}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._sums, self._counts = state["sums"], state["counts"]


class SignDescent(Learner):
    """Steps of one size against the signs of the gradient."""

    def __init__(self, *, space: Any, step: float = 0.05, seed: int = 0) -> None:
        super().__init__(params={"space": space, "step": step}, seed=seed)
        self._space, self._step = space, step
        self._x = np.array(space.centre, dtype=np.float64)

    def _decide(self, context: Any, number: int) -> Decision:
        point = self._x.copy()
        return Decision(
            kind=self._kind, settings=self._settings, number=number, action=point, greedy=point, context=None
        )

    def _learn(self, decision: Decision, feedback: Any) -> None:
        gradient = np.asarray(feedback, dtype=np.float64)
        if gradient.shape != self._x.shape:
            raise InvalidFeedback(f"the gradient has shape {gradient.shape}", f"give {len(self._x)} numbers")
        self._x = np.asarray(self._space.project(self._x - self._step * np.sign(gradient)))

    def _predict(self, context: Any) -> Any:
        return self._x.copy()

    @property
    def weights(self) -> Any:
        return self._x.copy()

    def _state(self) -> dict[str, Any]:
        return {"x": self._x}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._x = state["x"]


class BidRequest(DecisionBody, kw_only=True):
    """A request to bid."""

    lots: list[Numbers]


class BidReply(Struct):
    """The lot to bid for."""

    lot: int


class BidTold(FeedbackBody, kw_only=True):
    """The lot that was worth more, by its place or its word."""

    rather: int | UnsetType = UNSET
    better: Id | UnsetType = UNSET


class Bid(Loop):
    """Lots in, the one to bid for out; the one that was worth more back."""

    name = "bid"
    served_by = ("choose",)
    request = BidRequest
    reply = BidReply
    feedback = BidTold
    kinds: ClassVar[Mapping[str, str]] = {"rather": Feedback.BETTER, "better": Feedback.BETTER}
    measure = "well bid"
    words = UiTexts(does="Bid: one of the lots", curve="Well bid", about_curve="Share of bids that nobody regretted.")
    example = Example(
        title="Bid",
        name="auction",
        model={"features": ["age", "size"]},
        request={"lots": [[1.0, 0.0], [0.0, 1.0]]},
        feedback=(("another lot", {"rather": 1}),),
    )

    def context(self, body: BidRequest) -> tuple[Any, Sequence[str]]:
        return smidgen.Choice(self.vectors.rows(body.lots)), [f"lot {i}" for i in range(len(body.lots))]

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        return {"lot": int(decision.action)}

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        chosen = value if field == "rather" else ids.index(value)
        return ParsedFeedback(chosen, float(chosen == decision.action))

    def request_text(self, ids: Sequence[str]) -> str:
        return f"a bid for one of {len(ids)} lots"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        return f"lot {reply['lot']}"

    def feedback_text(self, field: str, value: Any) -> str:
        return f"rather lot {value}"

    def measure_of(
        self, made: Decision, given: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        return float(given == made.action)


@contextmanager
def plugin_learners() -> Iterator[None]:
    """Registered as anybody would, and gone afterwards, so that no other test sees them."""
    smidgen.register(Card(loop="label", feedback="label", example={"dim": 4, "n_classes": 3}))(NearestMean)
    smidgen.register(
        Card(
            loop="tune",
            feedback="gradient",
            bound="1/T",
            theorem=lambda settings, rounds: 1.0 / rounds,
            first={"space": {"type": "Ball", "dim": 3, "radius": 1.0}},
            example={"space": smidgen.Ball(dim=4)},
        )
    )(SignDescent)
    try:
        yield
    finally:
        for plugin in (NearestMean, SignDescent):
            del learners[plugin.__name__], cards[plugin.__name__]


@contextmanager
def plugin_loop() -> Iterator[None]:
    loops.add(Bid)
    try:
        yield
    finally:
        loops.remove(Bid.name)
