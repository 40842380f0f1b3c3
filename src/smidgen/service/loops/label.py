"""Features in, a label out; right or wrong, or the right label, back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import UNSET, Struct, UnsetType

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
    FormField,
    Loop,
    Option,
    ParsedFeedback,
    UiTexts,
    policy_choice,
)
from smidgen.service.loops.choose import EXPLORATION, MEAN_REWARD, reward_form
from smidgen.service.loops.evaluate_rewards import LabelEvaluator, RewardedLabels, label_names
from smidgen.service.loops.evaluator import Evaluator, TrainingSignal, chance_of
from smidgen.service.schemas import DecisionBody, FeedbackBody, Id, Numbers, Record, Reward

#: Number of labels that a person may choose among by hand, a button each.
BUTTONS = 40


class Request(DecisionBody, kw_only=True):
    """The features of what is to be labelled.

    Attributes
    ----------
    features
        The record (an object) to decide about, or numbers in the order of the model's `features`.
    """

    features: Numbers | Record


class Reply(Struct, omit_defaults=True):
    """The label; of learners that draw, also with which probability each.

    Attributes
    ----------
    label
        The label.
    propensities
        The probability of each label.
    """

    label: str
    propensities: dict[str, float] = {}


class LabelFeedback(FeedbackBody, kw_only=True):
    """Correctness of the label, or the true label, or its reward.

    Attributes
    ----------
    correct
        Whether the label was right.
    label
        The right label.
    reward
        The reward for what was shown, within `reward_range`; of a model with weights of parts: values of parts.
    """

    correct: bool | UnsetType = UNSET
    label: Id | UnsetType = UNSET
    reward: Reward | UnsetType = UNSET


class Label(Loop):
    """Features in, a label out; right or wrong, or the right label, back."""

    name = "label"
    request = Request
    reply = Reply
    feedback = LabelFeedback
    kinds: ClassVar[Mapping[str, str]] = {
        "correct": Feedback.BIT,
        "label": Feedback.LABEL,
        "reward": Feedback.REWARD,
    }
    measure = "accuracy"
    takes_matrix = True
    takes_records = True
    holds_out = True
    facts = ("dim", "n_classes")
    words = UiTexts(
        does="Label: predict one of several labels; learns from correct or incorrect",
        out="A label",
        about_out="One of a list of labels: a folder, a team, a language.",
        back={
            Feedback.BIT: FeedbackKind(
                title="Correct or incorrect", note="The user keeps the label or changes it.", example={"correct": True}
            ),
            Feedback.LABEL: FeedbackKind(
                title="The correct label", note="The user or an editor gives the label.", example={"label": "$label"}
            ),
            Feedback.REWARD: FeedbackKind(
                title="A reward", note="The value of acting on the label, from 0 to 1.", example={"reward": 1.0}
            ),
        },
        curve="Accuracy",
        about_curve="Share of correct labels, in windows of learned feedback, with Wilson's 95 % intervals.",
        asks="features",
        labels=True,
    )
    figure = EXPLORATION
    example = Example(
        title="Label, features hashed by name",
        name="mail",
        model={"features": {"hashed": 65536}, "labels": ["spam", "work", "family"]},
        request={"features": {"word:invoice": 1, "word:free": 2}},
        feedback=(("correct or incorrect", {"correct": True}),),
    )
    evaluator: type[Evaluator] | None = LabelEvaluator
    caveats: tuple[str, ...] = (
        "only decisions with feedback in time count; kinds of decisions that users answer more often weigh more",
    )

    def adapt_to(self, card: Card) -> None:
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
            known = decision.propensities.tolist()  # labels that were added since had none
            answer["propensities"] = dict(zip(labels, known, strict=False))
        return answer

    def answers_of(self, ids: Sequence[Any]) -> Sequence[Any]:
        """Return the labels; those that were added since the decision come last."""
        return self.labels

    def accepts(self, kind: str, card: Card) -> bool:
        """The right label says whether the shown one was right, and a right one is the right label."""
        either = (Feedback.BIT, Feedback.LABEL)
        return kind in card.kinds or (kind in either and any(each in card.kinds for each in either))

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """Convert correct/incorrect or a reward for a bandit; the label for full-information learners."""
        if self.kinds[field] == Feedback.REWARD:
            return self.parse_reward(value)
        named = self.kinds[field] == Feedback.LABEL
        true = self._class(value) if named else decision.action if value else None
        right = true == decision.action
        if Feedback.BIT in learner.card.kinds:
            return ParsedFeedback(right, float(right))
        if true is None:
            raise Impossible(
                f"{type(learner).__name__} needs the correct label, not only that this one is incorrect",
                'send {"label": …}',
            )
        return ParsedFeedback(true, float(right))

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """A bit or a reward, as if it had shown that label itself; of learners that need it, the right label."""
        kind, kinds, action = self.kinds[field], learner.card.kinds, int(shown.action)
        chance = None if mine.propensity is None else shown.propensity or 1.0
        if kind == Feedback.REWARD:
            signal = self.parse_reward(value).learn
            return TrainingSignal(signal, shown=action, chance=chance) if kind in kinds else None
        true = self._class(value) if kind == Feedback.LABEL else action if value else None
        if Feedback.BIT in kinds:
            return TrainingSignal(true == action, shown=action, chance=chance)
        if true is None and len(self.labels) == 2:
            true = 1 - action
        return TrainingSignal(true) if true is not None else None

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """The right label."""
        true = self._class(value)
        return AppChoice(true, bool(self.agrees(mine, true)), [TrainingSignal(true)])

    def target_propensity(self, mine: Decision, shown: Decision) -> float | None:
        """Propensity of the shown answer, as logged."""
        return chance_of(mine, shown.action)

    def hold_out(self, mine: Decision, ids: Sequence[Any], policy: Any, draw: bytes) -> Decision:
        """Draw one label by the holdout's policy."""
        return policy_choice(mine, self.labels, policy, draw)

    def parse_example(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The features, and the class of the right label."""
        return self.context(body)[0], self._class(answer)

    def _class(self, label: Any) -> int:
        labels = self.labels
        if label not in labels:
            raise Impossible(
                f"the label {json_text(label)} is not one of the model's labels",
                suggest(label, labels),
            )
        return labels.index(label)

    def request_text(self, ids: Sequence[str]) -> str:
        """A label."""
        return "a label"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The label."""
        return str(reply["label"])

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """The label."""
        return f"it predicted {reply['label']}"

    def feedback_text(self, field: str, value: Any) -> str:
        """Right, wrong, what it is, or what it was worth."""
        if self.kinds[field] == Feedback.REWARD:
            return f"reward {value:.4g}"
        if self.kinds[field] == Feedback.LABEL:
            return f"the label is {value}"
        return "correct" if value else "incorrect"

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """Right or wrong, or all labels where the learner needs the right one."""
        shown = reply["label"]
        if self.model.feedback == Feedback.REWARD:
            return reward_form(f"It predicts {shown}. What was the reward?", self.terms.reward_range)
        if Feedback.BIT in learner.card.kinds:
            right = Option(text="Right", feedback={"correct": True}, main=True)
            wrong = Option(text="Wrong", feedback={"correct": False})
            return FeedbackForm(text=f"It predicts {shown}. Is that correct?", options=[right, wrong])
        labels = [shown, *(each for each in self.labels if each != shown)]
        options = [Option(text=each, feedback={"label": each}, main=each == shown) for each in labels[:BUTTONS]]
        entry = FormField(label='Or another one, as {"label": …}') if len(labels) > BUTTONS else None
        return FeedbackForm(text=f"It predicts {shown}. Which label is correct?", options=options, entry=entry)

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """1 if the label was correct, else 0; or its reward."""
        if "reward" in feedback:
            return float(feedback["reward"])
        right = feedback["label"] == reply.get("label") if "label" in feedback else feedback.get("correct")
        return float(bool(right))
