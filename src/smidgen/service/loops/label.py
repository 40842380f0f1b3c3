"""Features in, a label out; right or wrong, or the right label, back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.learners import Card, Feedback, Learner
from smidgen.service.errors import Impossible
from smidgen.service.loops.base import Answer, Back, Chosen, Entry, Example, Loop, Offered, Option, Reaction, Words
from smidgen.service.loops.choose import EXPLORATION, MEAN_REWARD, rewarding
from smidgen.service.loops.evaluate_rewards import LabelEvaluator, RewardedLabels, label_names
from smidgen.service.loops.evaluator import Evaluator, Lesson, chance_of
from smidgen.service.schemas import DecisionBody, FeedbackBody, Id, Numbers, Record

#: How many labels a person may choose among by hand, a button each.
BUTTONS = 40


class Request(DecisionBody, kw_only=True):
    """The features of what is to be labelled."""

    features: Numbers | Record


class Reply(Struct, omit_defaults=True):
    """The label; of learners that draw, also with which probability each."""

    label: str
    propensities: dict[str, float] = {}


class Told(FeedbackBody, kw_only=True):
    """Whether the label was right, or which one is, or what it was worth."""

    correct: bool | UnsetType = UNSET
    label: Id | UnsetType = UNSET
    reward: float | UnsetType = UNSET


class Label(Loop):
    """Features in, a label out; right or wrong, or the right label, back."""

    name = "label"
    request = Request
    reply = Reply
    feedback = Told
    kinds: ClassVar[Mapping[str, str]] = {
        "correct": Feedback.BIT,
        "label": Feedback.LABEL,
        "reward": Feedback.REWARD,
    }
    measure = "accuracy"
    takes_matrix = True
    takes_records = True
    facts = ("dim", "n_classes")
    words = Words(
        does="Label: name the class; learns from right or wrong",
        out="A label",
        about_out="One name out of a list that you give: a folder, a team, a language.",
        back={
            Feedback.BIT: Back(
                title="Right or wrong", note="The user keeps the label or does not.", example={"correct": True}
            ),
            Feedback.LABEL: Back(
                title="The right label", note="Somebody says which it should have been.", example={"label": "$label"}
            ),
            Feedback.REWARD: Back(
                title="A reward", note="What acting on the label was worth, from 0 to 1.", example={"reward": 1.0}
            ),
        },
        curve="Accuracy",
        about_curve="Share of labels that were right, in windows of learnt feedback, with Wilson's 95 % intervals.",
        asks="features",
        labels=True,
    )
    figure = EXPLORATION
    example = Example(
        title="Label, features hashed by name",
        name="mail",
        model={"features": {"hashed": 65536}, "labels": ["spam", "work", "family"]},
        request={"features": {"word:invoice": 1, "word:free": 2}},
        feedback=(("right or wrong", {"correct": True}),),
    )
    evaluator: type[Evaluator] | None = LabelEvaluator
    caveats: tuple[str, ...] = (
        "only decisions that were answered in time count; if people answer some kinds more often, so do these",
    )

    def suit(self, card: Card) -> None:
        """A model that was made for rewards is judged by them; such a log says of no label that it was right."""
        if self.model.feedback == Feedback.REWARD:
            self.measure, self.share, self.evaluator = MEAN_REWARD, False, RewardedLabels

    @property
    def labels(self) -> list[str]:
        """The labels that are in force."""
        return label_names(self.model, self.terms.labels)

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The example."""
        return self.vectors.row(body.features), ()

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The label by its name."""
        labels = self.labels
        answer: Answer = {"label": labels[decision.action]}
        if decision.propensities is not None:
            answer["propensities"] = dict(zip(labels, decision.propensities.tolist(), strict=True))
        return answer

    def takes(self, kind: str, card: Card) -> bool:
        """The right label says whether the shown one was right, and a right one is the right label."""
        either = (Feedback.BIT, Feedback.LABEL)
        return kind in card.kinds or (kind in either and any(each in card.kinds for each in either))

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any) -> Reaction:
        """One bit, or a reward, for a bandit; the label for its full-information relatives."""
        if self.kinds[field] == Feedback.REWARD:
            return self.rewarded(value)
        named = self.kinds[field] == Feedback.LABEL
        true = self._class(value) if named else decision.action if value else None
        right = true == decision.action
        if Feedback.BIT in learner.card.kinds:
            return Reaction(right, float(right))
        if true is None:
            raise Impossible(
                f"{type(learner).__name__} needs the right label, not only that this one is wrong",
                'send {"label": …}',
            )
        return Reaction(true, float(right))

    def heard(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> Lesson | None:
        """A bit or a reward, as if it had shown that label itself; of learners that need it, the right label."""
        kind, kinds, action = self.kinds[field], learner.card.kinds, int(shown.action)
        chance = None if mine.propensity is None else shown.propensity or 1.0
        if kind == Feedback.REWARD:
            told = self.rewarded(value).learn
            return Lesson(told, shown=action, chance=chance) if kind in kinds else None
        true = self._class(value) if kind == Feedback.LABEL else action if value else None
        if Feedback.BIT in kinds:
            return Lesson(true == action, shown=action, chance=chance)
        if true is None and len(self.labels) == 2:
            true = 1 - action
        return Lesson(true) if true is not None else None

    def chosen(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> Chosen:
        """The right label."""
        true = self._class(value)
        return Chosen(true, bool(self.agrees(mine, true)), [Lesson(true)])

    def target(self, mine: Decision, shown: Decision) -> float | None:
        """As its propensities say."""
        return chance_of(mine, shown.action)

    def lesson(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The features, and the class of the right label."""
        return self.context(body)[0], self._class(answer)

    def _class(self, label: Any) -> int:
        labels = self.labels
        if label not in labels:
            raise Impossible(
                f"{label!r} is not one of the labels",
                f"choose among {', '.join(labels[:20])}{' …' if len(labels) > 20 else ''}",
            )
        return labels.index(label)

    def asked(self, ids: Sequence[str]) -> str:
        """A label."""
        return "a label"

    def brief(self, reply: Mapping[str, Any]) -> str:
        """The label."""
        return str(reply["label"])

    def decided(self, reply: Mapping[str, Any]) -> str:
        """The label."""
        return f"it said {reply['label']}"

    def reacted(self, field: str, value: Any) -> str:
        """Right, wrong, what it is, or what it was worth."""
        if self.kinds[field] == Feedback.REWARD:
            return f"reward {value:.4g}"
        if self.kinds[field] == Feedback.LABEL:
            return f"it is {value}"
        return "right" if value else "wrong"

    def offered(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> Offered:
        """Right or wrong, or all labels where the learner needs the right one."""
        shown = reply["label"]
        if self.model.feedback == Feedback.REWARD:
            return rewarding(f"It says {shown}. What came of it?", self.terms.reward_range)
        if Feedback.BIT in learner.card.kinds:
            right = Option(text="Right", feedback={"correct": True}, main=True)
            wrong = Option(text="Wrong", feedback={"correct": False})
            return Offered(text=f"It says {shown}. Is that right?", options=[right, wrong])
        labels = [shown, *(each for each in self.labels if each != shown)]
        options = [Option(text=each, feedback={"label": each}, main=each == shown) for each in labels[:BUTTONS]]
        entry = Entry(label='Or another one, as {"label": …}') if len(labels) > BUTTONS else None
        return Offered(text=f"It says {shown}. What is it?", options=options, entry=entry)

    def logged(self, made: Decision, told: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]) -> float | None:
        """Whether the label was right, or its reward."""
        if "reward" in feedback:
            return float(feedback["reward"])
        right = feedback["label"] == reply.get("label") if "label" in feedback else feedback.get("correct")
        return float(bool(right))
