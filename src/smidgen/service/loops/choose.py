"""Candidates in, one out; a better one back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from smidgen.learners import Feedback, Learner
from smidgen.service.loops.candidates import CAVEATS, Candidates, CoactiveEvaluator, offer, places, preferred, read
from smidgen.service.loops.loop import Answer, Loop, Reaction
from smidgen.service.loops.words import Example, Figure, Offered, Option, Words
from smidgen.service.messages import AnyId, DecisionBody, FeedbackBody, Record
from smidgen.service.refusals import Impossible
from smidgen.types import Decision

#: The second curve of loops whose learners may explore.
EXPLORATION = Figure(
    title="Exploration",
    note="Share of decisions that were not the greedy ones.",
    of="made",
    lines=("explored",),
    idle="It has not explored: every decision was the greedy one.",
)


class Request(DecisionBody, kw_only=True):
    """What to choose from."""

    candidates: Candidates
    context: Record | None = None


class Reply(Struct, omit_defaults=True):
    """The chosen candidate, and, of learners that show two, both."""

    choice: str | int
    pair: list[str | int] = []


class Told(FeedbackBody, kw_only=True):
    """The better candidate."""

    better: AnyId | UnsetType = UNSET


class Choose(Loop):
    """Candidates in, one out; a better one back."""

    name = "choose"
    request = Request
    reply = Reply
    feedback = Told
    kinds: ClassVar[Mapping[str, str]] = {"better": Feedback.BETTER}
    measure = "left unchanged"
    takes_records = True
    words = Words(
        does="Choose: pick one of several; learns from a better pick",
        curve="Left as it was",
        about_curve=(
            "Share of choices that the user left unchanged, in windows of learnt feedback, with 95 % intervals."
        ),
        asks="candidates",
    )
    figure = EXPLORATION
    example = Example(
        title="Choose, one learner per user",
        name="next-song",
        model={"features": ["tempo", "energy"], "keyed": True},
        request={
            "key": "ann",
            "candidates": [{"id": "x", "features": [0.7, 0.2]}, {"id": "y", "features": [0.1, 0.8]}],
        },
        feedback=(("a better one", {"better": "y"}),),
    )
    evaluator = CoactiveEvaluator
    caveats = CAVEATS

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The items to choose from."""
        ids, rows = read(body.candidates, self.vectors)
        return offer(ids, rows, body.context, self.vectors), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The chosen id; of a learner that shows two, also its rival."""
        if np.ndim(decision.action):
            pair = [ids[i] for i in decision.action]
            return {"choice": pair[0], "pair": pair}
        return {"choice": ids[decision.action]}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any) -> Reaction:
        """The better item; of a pair, which of the two."""
        (chosen,) = places([value], ids, field)
        if not np.ndim(decision.action):
            return Reaction(chosen, float(chosen == decision.action))
        pair = [int(i) for i in decision.action]
        if chosen not in pair:
            raise Impossible(f"{value!r} was not one of the two that were shown", "name one of the pair")
        return Reaction(pair.index(chosen), float(chosen == pair[0]))

    def asked(self, ids: Sequence[str]) -> str:
        """How many candidates."""
        return f"a choice among {len(ids)} candidates"

    def brief(self, reply: Mapping[str, Any]) -> str:
        """The one, or the two."""
        return " or ".join(map(str, reply["pair"])) if "pair" in reply else str(reply["choice"])

    def decided(self, reply: Mapping[str, Any]) -> str:
        """The one, or the two."""
        if "pair" in reply:
            return f"it put {reply['pair'][0]} beside its rival {reply['pair'][1]}"
        return f"it chose {reply['choice']}"

    def reacted(self, field: str, value: Any) -> str:
        """Which was better."""
        return preferred([value])

    def offered(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> Offered:
        """Any of them, or one of the two."""
        pair = reply.get("pair")
        text = f"It chose {reply['choice']}. What would the user have liked best?"
        if pair is not None:
            text = f"It shows {' beside '.join(map(str, pair))}. Which is better?"
        options = [Option(text=str(id), feedback={"better": id}, main=id == reply["choice"]) for id in pair or ids]
        return Offered(text=text, options=options)

    def logged(self, made: Decision, told: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]) -> float | None:
        """Whether the choice was left as it was."""
        return float(feedback.get("better") == reply.get("choice"))
