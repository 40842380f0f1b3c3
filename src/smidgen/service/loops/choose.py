"""Candidates in, one out; a better one back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.learners import Card, Feedback, Learner
from smidgen.service.errors import Impossible
from smidgen.service.loops.base import (
    Answer,
    Back,
    Chosen,
    Entry,
    Example,
    Figure,
    Loop,
    Offered,
    Option,
    Reaction,
    Words,
)
from smidgen.service.loops.evaluate_rewards import RewardEvaluator
from smidgen.service.loops.evaluator import CAVEATS, CoactiveEvaluator, Evaluator, Lesson, chance_of
from smidgen.service.loops.features import Candidates, offer, places, preferred, read, without
from smidgen.service.schemas import AnyId, DecisionBody, FeedbackBody, Record

#: By what people judge a model that hears rewards.
MEAN_REWARD = "mean reward"
#: What a reader of what-if must know of a log of rewards.
ANSWERED = (
    "only decisions that were answered in time count (silence too, where it has a default_reward); if people answer "
    "some kinds more often, so do these",
)
#: The second curve of loops whose learners may explore.
EXPLORATION = Figure(
    title="Exploration",
    note="Share of decisions that were not the greedy ones.",
    of="made",
    lines=("explored",),
    idle="It has not explored: every decision was the greedy one.",
)


def rewarding(text: str, reward_range: tuple[float, float]) -> Offered:
    """What a person may say by hand of an answer that a reward is for, in the app's own range."""
    low, high = reward_range
    options = [
        Option(text=f"Success (reward {high:g})", feedback={"reward": high}, main=True),
        Option(text=f"Half of it ({(low + high) / 2:g})", feedback={"reward": (low + high) / 2}),
        Option(text=f"Nothing (reward {low:g})", feedback={"reward": low}),
    ]
    entry = Entry(label=f"Or any reward from {low:g} to {high:g}", field="reward")
    return Offered(text=text, options=options, entry=entry)


class Request(DecisionBody, kw_only=True):
    """What to choose from."""

    candidates: Candidates
    context: Record | None = None
    exclude: list[AnyId] | None = None


class Reply(Struct, omit_defaults=True):
    """The chosen candidate; of learners that show two, both; of learners that draw, with which probability each."""

    choice: str | int
    pair: list[str | int] = []
    propensities: dict[str, float] = {}


class Told(FeedbackBody, kw_only=True):
    """The better candidate, or a reward for the one that was shown."""

    better: AnyId | UnsetType = UNSET
    reward: float | UnsetType = UNSET


class Choose(Loop):
    """Candidates in, one out; a better one, or a reward for the one shown, back."""

    name = "choose"
    request = Request
    reply = Reply
    feedback = Told
    kinds: ClassVar[Mapping[str, str]] = {"better": Feedback.BETTER, "reward": Feedback.REWARD}
    measure = "left unchanged"
    takes_records = True
    words = Words(
        does="Choose: pick one of several; learns from a better pick, or from a reward",
        out="One item",
        about_out="The one to show out of several: a banner, a headline, an offer, the next song.",
        back={
            Feedback.REWARD: Back(
                title="A reward",
                note="What showing it was worth: a click is 1, silence 0, or any number between.",
                example={"reward": 1.0},
            ),
            Feedback.BETTER: Back(
                title="A better pick",
                note="The user took another one of those on offer.",
                example={"better": "$2"},
            ),
        },
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
    evaluator: type[Evaluator] | None = CoactiveEvaluator
    caveats: tuple[str, ...] = CAVEATS

    def suit(self, card: Card) -> None:
        """Where rewards come back, their mean says how well it goes; others by propensities."""
        if Feedback.BETTER not in card.kinds:
            self.measure, self.share, self.evaluator = MEAN_REWARD, False, RewardEvaluator
            self.caveats = ANSWERED

    def admit(self) -> None:
        """Candidates may be kept with the model: they are checked once, and requests may leave them out."""
        if self.model.candidates is not None:
            read(list(self.model.candidates), self.vectors)

    def check(self, body: DecisionBody, but: tuple[str, ...] = ()) -> None:
        """A request without candidates is for those that the model keeps."""
        if self.model.candidates is not None and getattr(body, "candidates", None) is None:
            body = msgspec.structs.replace(body, candidates=self.model.candidates)
        super().check(body, but)

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The items to choose from."""
        kept = self.model.candidates if body.candidates is None else None
        ids, rows = read(body.candidates if kept is None else list(kept), self.vectors)
        if body.exclude:
            ids, rows = without(ids, rows, body.exclude)
        return offer(ids, rows, body.context, self.vectors), ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The chosen id; of a learner that shows two, also its rival."""
        if np.ndim(decision.action):
            pair = [ids[i] for i in decision.action]
            return {"choice": pair[0], "pair": pair}
        answer: Answer = {"choice": ids[decision.action]}
        if decision.propensities is not None:
            answer["propensities"] = dict(zip(map(str, ids), decision.propensities.tolist(), strict=True))
        return answer

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any) -> Reaction:
        """The better item; of a pair, which of the two; or the reward."""
        if self.kinds[field] == Feedback.REWARD:
            return self.rewarded(value)
        (chosen,) = places([value], ids, field)
        if not np.ndim(decision.action):
            return Reaction(chosen, float(chosen == decision.action))
        pair = [int(i) for i in decision.action]
        if chosen not in pair:
            raise Impossible(f"{value!r} was not one of the two that were shown", "name one of the pair")
        return Reaction(pair.index(chosen), float(chosen == pair[0]))

    def heard(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> Lesson | None:
        """The better item, or the one that was shown with its reward."""
        if self.kinds[field] not in learner.card.kinds:
            return None
        if self.kinds[field] == Feedback.REWARD:
            return Lesson((int(shown.action), self.rewarded(value).learn))
        return Lesson(places([value], ids, field)[0])

    def chosen(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> Chosen:
        """The item; of learners by reward it is worth the best, and what they would have shown in its place nothing."""
        if isinstance(value, list | bool):
            raise Impossible(f"chosen is {value!r}", "give the id of one candidate")
        (place,) = places([value], ids, "chosen")
        agreed = bool(self.agrees(mine, place))
        if Feedback.BETTER in learner.card.kinds:
            return Chosen(place, agreed, [Lesson(place)])
        lessons = [Lesson((place, 1.0))] + ([] if agreed else [Lesson((int(mine.greedy), 0.0))])
        return Chosen(place, agreed, lessons)

    def target(self, mine: Decision, shown: Decision) -> float | None:
        """As its propensities say."""
        return None if np.ndim(shown.action) or np.ndim(mine.action) else chance_of(mine, shown.action)

    def lesson(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The items, and the best one; of learners by reward, one of them and what it was worth."""
        context, ids = self.context(body)
        if Feedback.BETTER in learner.card.kinds:
            return context, places([answer], ids, "answer")[0]
        if not isinstance(answer, dict) or answer.keys() != {"choice", "reward"}:
            raise Impossible(f"the answer is {answer!r}", 'give {"choice": id, "reward": number}')
        if isinstance(answer["reward"], bool) or not isinstance(answer["reward"], int | float):
            raise Impossible(f"the reward is {answer['reward']!r}", "give a number from 0 to 1")
        (chosen,) = places([answer["choice"]], ids, "answer.choice")
        return context, (chosen, self.rewarded(answer["reward"]).learn)

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
        """Which was better, or what it was worth."""
        return f"reward {value:.4g}" if self.kinds[field] == Feedback.REWARD else preferred([value])

    def offered(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> Offered:
        """Any of them, or one of the two."""
        if Feedback.BETTER not in learner.card.kinds:
            return rewarding(f"It chose {reply['choice']}. What came of it?", self.terms.reward_range)
        pair = reply.get("pair")
        text = f"It chose {reply['choice']}. What would the user have liked best?"
        if pair is not None:
            text = f"It shows {' beside '.join(map(str, pair))}. Which is better?"
        options = [Option(text=str(id), feedback={"better": id}, main=id == reply["choice"]) for id in pair or ids]
        return Offered(text=text, options=options)

    def logged(self, made: Decision, told: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]) -> float | None:
        """Whether the choice was left as it was, or its reward."""
        if "reward" in feedback:
            return float(feedback["reward"])
        return float(feedback.get("better") == reply.get("choice"))
