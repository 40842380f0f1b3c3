"""Features in, a label out; right or wrong, or the right label, back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.learners import Card, Feedback, Learner
from smidgen.service.insight.estimates import Estimate, importance, self_normalised, share
from smidgen.service.loops.choose import EXPLORATION, MEAN_REWARD, REWARDS
from smidgen.service.loops.evaluator import Evaluator
from smidgen.service.loops.lesson import Lesson, chance_of
from smidgen.service.loops.loop import Answer, Chosen, Loop, Reaction
from smidgen.service.loops.words import Example, Offered, Option, Words
from smidgen.service.messages import DecisionBody, FeedbackBody, Id, ModelBody, Numbers, Record
from smidgen.service.refusals import Impossible

if TYPE_CHECKING:
    from smidgen.service.models.building import Blueprint
    from smidgen.service.store.recording import Line


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


def label_names(model: ModelBody, added: Sequence[str] = ()) -> list[str]:
    """The labels of a label model, those that were added last; their numbers, if they have no names."""
    return [*model.labels, *added] if model.labels else _numbers(int(model.params["n_classes"]))


@lru_cache(maxsize=16)
def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(count)]


class LabelEvaluator(Evaluator):
    """How accurate the other learner's greedy label would have been.

    Known for sure where it says what was shown, where the right label is known, and (as wrong) where what was shown was
    right and it says otherwise; the rest gives bounds. Where the shown label was drawn, importance weights give an
    estimate.
    """

    measure = "accuracy"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._matches: list[bool] = []
        self._rewards: list[bool] = []
        self._propensities: list[float | None] = []
        self._known: Counter[bool | None] = Counter()
        self._untaught = 0
        self._labels = label_names(blueprint.body, blueprint.terms.labels)

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """Whether the log's rows are scaled."""
        unit = blueprint.card.unit_rows
        if unit is None or not unit(blueprint.settings):
            return []
        name = blueprint.kind
        return [f"this log's {name} scales features to unit length, and so the log holds them: others see that"]

    def answered(self, event: Line, made: Decision) -> None:
        """Compare, then learn."""
        learner, shown, p = self.learner(event.key), made.action, made.propensity
        right, true = self._truth(event.feedback, shown)
        said = learner.predict(made.context)
        match = bool(said == shown)
        self._matches.append(match)
        self._rewards.append(right)
        self._propensities.append(p)
        self._known[right if match else said == true if true is not None else False if right else None] += 1
        self.curve.append(self._running(match, right, p))
        mine = learner.decide(made.context)
        if Feedback.BIT in learner.card.kinds:
            chance = p if p is not None else 1.0
            learner.learn(msgspec.structs.replace(mine, action=shown, propensity=chance), right)
        elif true is not None:
            learner.learn(mine, true)
        else:
            self._untaught += 1

    def figures(self) -> list[Estimate]:
        """The estimates that this log allows."""
        n, known = len(self._matches), self._known
        if known[None] == 0:
            return [share("accuracy", known[True], n)]
        found = []
        if (p := self.propensities()) is not None:
            found += [
                importance("accuracy (IPS)", self._matches, self._rewards, p),
                self_normalised("accuracy (self-normalised)", self._matches, self._rewards, p),
            ]
        else:
            self.notes.append("the labels of this log were not drawn at random: only bounds on the accuracy are known")
        right_there = sum(r for r, match in zip(self._rewards, self._matches, strict=True) if match)
        low, high = known[True] / n, (known[True] + known[None]) / n
        found.append(Estimate(measure="accuracy, sure bounds", value=None, low=low, high=high, of=n))
        found.append(share("accuracy where it says what was shown", right_there, sum(self._matches)))
        if self._untaught:
            self.notes.append(
                f"{self.blueprint.kind} needs the right label, and {self._untaught} of {n} answers only said "
                "that the shown one was wrong: it did not learn from them"
            )
        return found

    def propensities(self) -> list[float] | None:
        """The probabilities of what was shown, if all are known and some were below one."""
        p = [each for each in self._propensities if each is not None]
        return p if len(p) == len(self._propensities) and any(each < 1.0 for each in p) else None

    def _truth(self, feedback: dict[str, Any], shown: int) -> tuple[bool, int | None]:
        """Whether the shown label was right, and which one is, if that is known."""
        if "label" in feedback:
            true = self._labels.index(feedback["label"])
            return true == shown, true
        right = bool(feedback.get("correct", feedback.get("reward", 0.0) >= 0.5))
        return right, shown if right else 1 - shown if len(self._labels) == 2 else None

    def _running(self, match: bool, right: bool, p: float | None) -> float:
        """The mean so far of what is known, weighted where the labels were drawn."""
        z = (match and right) / (p if p is not None else 1.0)
        before = self.curve[-1] if self.curve else 0.0
        return before + (z - before) / (len(self.curve) + 1)


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
            self.measure, self.share, self.evaluator, self.caveats = MEAN_REWARD, False, None, ()

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
            return Offered(text=f"It says {shown}. What came of it?", options=REWARDS)
        if Feedback.BIT in learner.card.kinds:
            right = Option(text="Right", feedback={"correct": True}, main=True)
            wrong = Option(text="Wrong", feedback={"correct": False})
            return Offered(text=f"It says {shown}. Is that right?", options=[right, wrong])
        options = [Option(text=each, feedback={"label": each}, main=each == shown) for each in self.labels]
        return Offered(text=f"It says {shown}. What is it?", options=options)

    def logged(self, made: Decision, told: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]) -> float | None:
        """Whether the label was right, or its reward."""
        if "reward" in feedback:
            return float(feedback["reward"])
        right = feedback["label"] == reply.get("label") if "label" in feedback else feedback.get("correct")
        return float(bool(right))
