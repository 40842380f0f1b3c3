"""Candidates in, one out; a better one back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.checks import suggest
from smidgen.decision import Decision
from smidgen.learners import Card, Feedback, Learner
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import (
    Answer,
    AppChoice,
    Example,
    FeedbackForm,
    FeedbackKind,
    Figure,
    FormField,
    Loop,
    Option,
    ParsedFeedback,
    UiTexts,
    policy_choice,
)
from smidgen.service.loops.evaluate_rewards import RewardEvaluator
from smidgen.service.loops.evaluator import CAVEATS, CoactiveEvaluator, Evaluator, TrainingSignal, chance_of
from smidgen.service.loops.features import (
    Candidates,
    build_context,
    positions_of,
    preference_text,
    read,
    without_excluded,
)
from smidgen.service.loops.slots import (
    app_choices,
    check_slots,
    fill_slots,
    hold_out_slots,
    refuse_excluded,
    slot_lessons,
    slots_answer,
)
from smidgen.service.schemas import AnyId, DecisionBody, FeedbackBody, Id, Record, Reward, SlotBody, SlotChoice
from smidgen.structures.choice import known_costs
from smidgen.structures.slots import MOST_SLOTS

#: The measure of a model that learns from rewards.
MEAN_REWARD = "mean reward"
#: What a reader of what-if must know of a log of rewards.
ANSWERED = (
    "only decisions with feedback in time count (and expired ones of models with a default_reward); kinds of "
    "decisions that "
    "users answer more often weigh more",
)
#: The second curve of loops whose learners may explore.
EXPLORATION = Figure(
    title="Exploration",
    note="Share of decisions that were not the model's best guess.",
    of="made",
    lines=("explored",),
    idle="No exploration: every decision was the model's best guess.",
)


def reward_form(text: str, reward_range: tuple[float, float]) -> FeedbackForm:
    """Options for rating an answer by hand, in the app's own range of rewards."""
    low, high = reward_range
    options = [
        Option(text=f"Success (reward {high:g})", feedback={"reward": high}, main=True),
        Option(text=f"Half of it ({(low + high) / 2:g})", feedback={"reward": (low + high) / 2}),
        Option(text=f"Nothing (reward {low:g})", feedback={"reward": low}),
    ]
    entry = FormField(label=f"Or any reward from {low:g} to {high:g}", field="reward")
    return FeedbackForm(text=text, options=options, entry=entry)


class Request(DecisionBody, kw_only=True):
    """Candidates, with their context.

    Attributes
    ----------
    candidates
        The candidates, 1 to 10,000; may be left out if the model keeps candidates.
    context
        A record of what is the same for all candidates.
    exclude
        Ids that must not be shown.
    slots
        Models that learn from rewards: 1 to 50 places to fill, in this order, no candidate twice.
    """

    candidates: Candidates
    context: Record | None = None
    exclude: list[AnyId] | None = None
    slots: Annotated[list[SlotBody], Meta(min_length=1, max_length=MOST_SLOTS)] | None = None


class Reply(Struct, omit_defaults=True):
    """The chosen candidate; of learners that show two, both; of learners that draw, with which probability each.

    Attributes
    ----------
    choice
        The chosen candidate's id; with slots, that of the first slot.
    choices
        With slots: the choice of each, in the order of the slots.
    pair
        Dueling bandits: both candidates that are shown.
    propensities
        The probability of each candidate, by id as a string.
    price
        Under a budget: the price of each currency, with which the candidate was chosen.
    """

    choice: str | int
    choices: list[SlotChoice] = []
    pair: list[str | int] = []
    propensities: dict[str, float] = {}
    price: dict[str, float] = {}


class ChooseFeedback(FeedbackBody, kw_only=True):
    """The better candidate, or a reward for the one that was shown.

    Attributes
    ----------
    better
        The candidate that would have been better.
    reward
        The reward for what was shown, within `reward_range`; of a model with weights of parts: values of parts. Of a
        decision with slots: for each of them.
    rewards
        Of a decision with slots: a reward for each slot, by the slot's id. Slots that are left out may follow in other
        reports until the window ends.
    """

    better: AnyId | UnsetType = UNSET
    reward: Reward | UnsetType = UNSET
    rewards: Annotated[dict[Id, Reward], Meta(min_length=1, max_length=MOST_SLOTS)] | UnsetType = UNSET


class Choose(Loop):
    """Candidates in, one out; a better one, or a reward for the one shown, back."""

    name = "choose"
    request = Request
    reply = Reply
    feedback = ChooseFeedback
    kinds: ClassVar[Mapping[str, str]] = {
        "better": Feedback.BETTER,
        "reward": Feedback.REWARD,
        "rewards": Feedback.REWARD,
    }
    measure = "left unchanged"
    takes_records = True
    holds_out = True
    words = UiTexts(
        does="Choose: pick one of several candidates; learns from rewards or from the preferred candidate",
        out="One item",
        about_out="Pick one of several candidates: a banner, a headline, an offer, the next song.",
        back={
            Feedback.REWARD: FeedbackKind(
                title="A reward",
                note="The value of showing the item: 1 for a click, 0 for none, or any number in between.",
                example={"reward": 1.0},
            ),
            Feedback.BETTER: FeedbackKind(
                title="A preferred item",
                note="The user picked another candidate.",
                example={"better": "$2"},
            ),
        },
        curve="Accepted unchanged",
        about_curve=(
            "Share of choices that the user left unchanged, in windows of learned feedback, with 95 % intervals."
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
        feedback=(("the preferred candidate", {"better": "y"}),),
    )
    #: Whether its learner can fill several slots.
    _fills_slots = False
    evaluator: type[Evaluator] | None = CoactiveEvaluator
    caveats: tuple[str, ...] = CAVEATS

    def adapt_to(self, card: Card) -> None:
        """Compare learners by the mean reward if feedback is rewards, else by propensities."""
        self._fills_slots = Feedback.BETTER not in card.kinds
        if self._fills_slots:
            self.measure, self.share, self.evaluator = MEAN_REWARD, False, RewardEvaluator
            self.caveats = ANSWERED

    def check_settings(self) -> None:
        """Candidates may be kept with the model: they are checked once, and requests may omit them."""
        if self.model.candidates is not None:
            read(list(self.model.candidates), self.vectors, priced=True)

    def check(self, body: DecisionBody, but: tuple[str, ...] = ()) -> None:
        """A request without candidates is for those that the model keeps."""
        if self.model.candidates is not None and getattr(body, "candidates", None) is None:
            body = msgspec.structs.replace(body, candidates=self.model.candidates)
        super().check(body, but)

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The items to choose from."""
        kept = self.model.candidates if body.candidates is None else None
        given = body.candidates if kept is None else list(kept)
        ids, rows = read(given, self.vectors, priced=True)
        priced = isinstance(given, list) and any(each.costs is not None for each in given)
        costs = {str(each.id): each.costs for each in given} if priced and isinstance(given, list) else {}
        if body.exclude:
            ids, rows = without_excluded(ids, rows, body.exclude)
        context = build_context(ids, rows, body.context, self.vectors)
        if costs:
            context.costs = known_costs([costs[str(id)] for id in ids], len(ids))
        if body.slots is not None:
            if not self._fills_slots:
                raise Impossible(
                    "slots are given, and the model learns from preferred candidates",
                    'remove "slots", or create a model with "feedback": "reward"',
                )
            fill_slots(context, body.slots, body.exclude or ())
        return context, ids

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The chosen id; of a learner that shows two, also its rival; with slots, those of each."""
        if decision.slots is not None:
            return slots_answer(decision, ids)
        if np.ndim(decision.action):
            pair = [ids[i] for i in decision.action]
            return {"choice": pair[0], "pair": pair}
        answer: Answer = {"choice": ids[decision.action]}
        if decision.price is not None:
            answer["price"] = decision.price
        if decision.propensities is not None:
            answer["propensities"] = dict(zip(map(str, ids), decision.propensities.tolist(), strict=True))
        return answer

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """The better item; of a pair, which of the two; or the reward."""
        if field == "rewards":
            check_slots(decision.slots, value)
            return self.parse_rewards(value)
        if self.kinds[field] == Feedback.REWARD:
            return self.parse_reward(value)
        if decision.slots is not None:
            raise Impossible(f"{field} is given and the decision has slots", 'send {"rewards": {…}}')
        (chosen,) = positions_of([value], ids, field)
        if not np.ndim(decision.action):
            return ParsedFeedback(chosen, float(chosen == decision.action))
        pair = [int(i) for i in decision.action]
        if chosen not in pair:
            raise Impossible(
                f"{json_text(value)} is not one of the two candidates that were shown",
                suggest(value, [ids[i] for i in pair]),
            )
        return ParsedFeedback(pair.index(chosen), float(chosen == pair[0]))

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """The better item, or the one that was shown with its reward."""
        if self.kinds[field] not in learner.card.kinds:
            return None
        if shown.slots is not None:
            return TrainingSignal(slot_lessons(self.terms, shown.actions or (), shown.slots, value))
        if self.kinds[field] == Feedback.REWARD:
            return TrainingSignal((int(shown.action), self.parse_reward(value).learn))
        return TrainingSignal(positions_of([value], ids, field)[0])

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """The item; of learners by reward it is worth the best, and what they would have shown in its place nothing."""
        if mine.slots is not None:
            return app_choices(mine, ids, value)
        if isinstance(value, list | bool):
            raise Impossible(f"chosen is {json_text(value)}", "send the id of one candidate")
        (place,) = positions_of([value], ids, "chosen")
        agreed = bool(self.agrees(mine, place))
        if Feedback.BETTER in learner.card.kinds:
            return AppChoice(place, agreed, [TrainingSignal(place)])
        lessons = [TrainingSignal((place, 1.0))] + ([] if agreed else [TrainingSignal((int(mine.greedy), 0.0))])
        return AppChoice(place, agreed, lessons)

    def target_propensity(self, mine: Decision, shown: Decision) -> float | None:
        """As its propensities say; nobody knows that of several slots, since each depends on those before it."""
        return None if np.ndim(shown.action) or np.ndim(mine.action) else chance_of(mine, shown.action)

    def hold_out(self, mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
        """One candidate, or one for each slot."""
        if mine.slots is not None:
            return hold_out_slots(mine, ids, policy, draw)
        return policy_choice(mine, ids, policy, draw)

    def parse_example(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The items, and the best one; of learners by reward, one of them and what it was worth."""
        context, ids = self.context(body)
        if Feedback.BETTER in learner.card.kinds:
            return context, positions_of([answer], ids, "answer")[0]
        if body.slots is None:
            return context, self._known_reward(answer, ids, "answer")
        if not isinstance(answer, dict) or not answer:
            raise Impossible(f"answer is {json_text(answer)}", 'send {"hero": {"choice": "red", "reward": 1}}')
        check_slots([slot.id for slot in body.slots], answer)
        lessons = {slot: self._known_reward(each, ids, f"answer.{slot}") for slot, each in answer.items()}
        for slot, (_, excluded) in zip(body.slots, context.entries, strict=True):
            if slot.id in lessons:
                refuse_excluded(ids, lessons[slot.id][0], slot.id, excluded, f"answer.{slot.id}.choice")
        return context, lessons

    def _known_reward(self, answer: Any, ids: Sequence[str], field: str) -> tuple[int, float]:
        """A candidate that was shown, and its reward."""
        if not isinstance(answer, dict) or answer.keys() != {"choice", "reward"}:
            raise Impossible(f"{field} is {json_text(answer)}", 'send {"choice": "red", "reward": 1}')
        if isinstance(answer["reward"], bool) or not isinstance(answer["reward"], int | float):
            raise Impossible(f"{field}.reward is {json_text(answer['reward'])}", "send a number from 0 to 1")
        (chosen,) = positions_of([answer["choice"]], ids, f"{field}.choice")
        return chosen, self.parse_reward(answer["reward"]).learn

    def request_text(self, ids: Sequence[str]) -> str:
        """Number of candidates."""
        return f"a choice among {len(ids)} candidates"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The one, the two, or those of the slots."""
        if "choices" in reply:
            return ", ".join(f"{each['slot']}: {each['choice']}" for each in reply["choices"])
        return " or ".join(map(str, reply["pair"])) if "pair" in reply else str(reply["choice"])

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """The one, the two, or those of the slots."""
        if "choices" in reply:
            return "it chose " + ", ".join(f"{each['choice']} for {each['slot']}" for each in reply["choices"])
        if "pair" in reply:
            return f"it showed {reply['pair'][0]} next to {reply['pair'][1]}"
        return f"it chose {reply['choice']}"

    def feedback_text(self, field: str, value: Any) -> str:
        """Describe the preferred candidate, or the reward."""
        if field == "rewards":
            return ", ".join(f"{slot}: {_reward_text(each)}" for slot, each in value.items())
        return f"reward {value:.4g}" if self.kinds[field] == Feedback.REWARD else preference_text([value])

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """Any of them, or one of the two."""
        if Feedback.BETTER not in learner.card.kinds:
            return reward_form(f"It chose {self.short_text(reply)}. What was the reward?", self.terms.reward_range)
        pair = reply.get("pair")
        text = f"It chose {reply['choice']}. Which candidate does the user prefer?"
        if pair is not None:
            text = f"It shows {' and '.join(map(str, pair))}. Which does the user prefer?"
        options = [Option(text=str(id), feedback={"better": id}, main=id == reply["choice"]) for id in pair or ids]
        return FeedbackForm(text=text, options=options)

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """1 if the choice was accepted unchanged, else 0; or its reward."""
        if "rewards" in feedback:
            return float(np.mean(list(feedback["rewards"].values())))
        if "reward" in feedback:
            return float(feedback["reward"])
        return float(feedback.get("better") == reply.get("choice"))


def _reward_text(value: Any) -> str:
    """A reward, or its parts, in a few words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{part} {number:.4g}" for part, number in value.items())
    return f"{value:.4g}"
