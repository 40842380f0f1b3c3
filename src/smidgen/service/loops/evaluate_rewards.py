"""Evaluate other learners on logs of rewards and of labels: IPS, DR, known labels."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.features import Row
from smidgen.features.rows import DenseRows, SparseRows
from smidgen.learners import Card, Feedback, Learner, Loop, recommended
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.log_batch import DECIDE, FEWEST, BatchLearner, LogBatch, LogStep
from smidgen.service.loops.estimates import (
    Estimate,
    OffPolicyTerms,
    OverlapDiagnostics,
    Point,
    bounded_mean,
    checkpoints,
    share,
)
from smidgen.service.loops.evaluator import (
    Blueprint,
    Evaluator,
    OpenDecisionBuffer,
    ReplayedDecision,
    ReplayResult,
    RowPlan,
    SharedLogStats,
    Steps,
    chances,
)
from smidgen.service.schemas import ModelBody
from smidgen.structures import Choice

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine

# A model of the rewards of a log, fitted on the way along it: what candidates may be worth that were not shown.

#: A model of the rewards of labels looks at no more numbers than this in one decision.
MODELLED = 20_000
#: Number of the latest decisions that are kept whole; of earlier ones only the numbers.
WHOLE = 4096


class RewardModel(SharedLogStats):
    """A ridge regression of the rewards, fitted online: it predicts at the decision and learns at the reward.

    It never sees the future of the decision it predicts. There is a constant next to the features; each label
    has weights of its own. Once labels were added it begins again; rows of more than `MODELLED` numbers it leaves out.
    """

    listens = True

    def __init__(self) -> None:
        self._ridge: RewardLearner | None = None
        self._offers: OpenDecisionBuffer[tuple[Decision, Choice | None]] = OpenDecisionBuffer(WHOLE)

    def on_decision(self, event: EventLine) -> None:
        """Predict the rewards of all candidates."""
        self._follow([(event, None)])

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Learn what the shown one was worth."""
        self._follow([(event, made)])

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers, at one go."""
        self._follow(steps)

    def _follow(self, steps: Sequence[tuple[EventLine, Decision | None]]) -> None:
        asked = [event.record_bytes() for event, made in steps if made is None]
        offers = zip(asked, _all_offered(asked), strict=True)
        fitted: list[LogStep] = []
        events: list[EventLine] = []
        for event, made in steps:
            id = event.decision or ""
            if made is None:
                kept = next(offers)
                self._offers.put(id, kept)
                offer, shown, reward = kept[1], DECIDE, None
            else:
                before = self._offers.take(id)
                offer = before[1] if before is not None and before[0] is made else _offered(made)
                shown, reward = int(made.action), reward_of(event, made)
            if offer is None or (made is not None and self._ridge is None):
                continue
            if self._ridge is None or offer.dim > self._ridge.dim:
                made_for = recommended(loop=Loop.CHOOSE, feedback=Feedback.REWARD, dim=offer.dim)
                if not isinstance(made_for, RewardLearner):
                    continue
                self._fit(events, fitted)
                self._ridge, events, fitted = made_for, [], []
            if offer.dim == self._ridge.dim:
                fitted.append(LogStep(offer, shown, reward))
                events.append(event)
        self._fit(events, fitted)

    def _fit(self, events: Sequence[EventLine], steps: Sequence[LogStep]) -> None:
        if self._ridge is None or not steps:
            return
        for event, step, scores in zip(events, steps, self._ridge.teach_along(LogBatch(steps)), strict=True):
            if step.action == DECIDE:
                event.__dict__["its rewards"] = scores

    def predicted(self, event: EventLine, count: int) -> FloatArray | None:
        """Rewards predicted for the candidates of a decision."""
        found: FloatArray | None = event.__dict__.get("its rewards")
        return found if found is not None and len(found) == count else None


def reward_of(event: EventLine, made: Decision) -> float:
    """The reward of what was shown, in [0, 1]; right and wrong are 1 and 0."""
    signal = event.learner_input()
    if "label" in event.feedback and not isinstance(signal, bool):
        return float(signal == made.action)
    return float(signal)


def _all_offered(many: Sequence[Decision]) -> list[Choice | None]:
    """Apply `_offered` to each. Dense candidates and rows of one form are laid out in one pass."""
    contexts = [made.context for made in many]
    if contexts and all(type(each) is Choice and type(each.rows) is DenseRows for each in contexts):
        arrays = [each.rows.array for each in contexts]
        if len({each.shape[1] for each in arrays}) == 1:
            rows, cuts = _with_one(np.concatenate(arrays)), np.cumsum([0, *map(len, arrays)]).tolist()
            return [Choice(DenseRows(rows[a:b])) for a, b in pairwise(cuts)]
    forms = {(count := _labels(made)) and (count, len(made.context.indices), made.context.dim) for made in many}
    form = forms.pop() if len(forms) == 1 else 0
    if form and form[0] * (form[1] + 1) <= MODELLED:
        indices, values = np.stack([row.indices for row in contexts]), np.stack([row.values for row in contexts])
        return list(_by_label(indices, values, form[0], form[2]))
    return list(map(_offered, many))


def _offered(made: Decision) -> Choice | None:
    """The candidates as rows of one matrix, with a constant; of labels, one for each; None if there are none."""
    context, count = made.context, _labels(made)
    if isinstance(context, Choice):
        rows = context.rows
        return Choice(DenseRows(_with_one(rows.array))) if isinstance(rows, DenseRows) else context  # records have one
    if not count or count * (len(context.indices) + 1) > MODELLED:
        return None
    return next(_by_label(context.indices[None, :], context.values[None, :], count, context.dim))


def _labels(made: Decision) -> int:
    """Number of possible labels of a row; 0 if no row was labelled."""
    return len(made.scores) if isinstance(made.context, Row) and made.scores is not None else 0


def _with_one(rows: FloatArray) -> FloatArray:
    """Rows with a constant behind."""
    out = np.ones((len(rows), rows.shape[1] + 1))
    out[:, :-1] = rows
    out.setflags(write=False)
    return out


def _by_label(indices: Any, values: Any, count: int, dim: int) -> Iterator[Choice]:
    """Candidates of each row, one per label: the row with a constant, in columns of its own."""
    many, each = indices.shape[0], indices.shape[1] + 1
    where, what = np.empty((many, count, each), np.int64), np.ones((many, count, each))
    where[:, :, :-1], what[:, :, :-1], where[:, :, -1] = indices[:, None, :], values[:, None, :], dim
    where += (dim + 1) * np.arange(count)[:, None]
    starts = np.arange(0, count * each + 1, each)
    for part in (where, what, starts):
        part.setflags(write=False)
    for i in range(many):
        yield Choice(SparseRows(what[i].ravel(), where[i].ravel(), starts, (dim + 1) * count))


# Other learners on a log of rewards for what was shown: what each would have earned, by its propensities.

#: Maximum number of ids that are counted.
IDS = 10_000
NOT_DRAWN = (
    "nothing in this log was drawn at random (no decision has a propensity below 1): what was never shown cannot be "
    "judged, so no estimate is given; serve with explore or min_share for a while, then replay again"
)
TAUGHT = (
    "it learns along from what the log showed, as a shadow does, not from what it would have shown itself; the figures "
    "are those of such a learner, round by round, each before it learns the round"
)


class PolicyTerms(NamedTuple):
    """A learner's answer to a logged decision.

    Attributes
    ----------
    target
        Its probability of what was shown.
    expected, predicted
        What the model of the rewards expects of it, and of what was shown.
    shown
        The name of what was shown, if it has one.
    most
        The largest weight that could have been drawn; infinity if the probabilities of all candidates are not known.
    mass, possible
        Its probability of what the log could show, and the part of ``expected`` that this accounts for.
    """

    target: float
    expected: float
    predicted: float
    shown: Any = None
    most: float = math.inf
    mass: float = 1.0
    possible: float = math.nan


class RewardEvaluator(Evaluator):
    """Estimated reward of another learner: by propensities, by a reward model, and doubly robust."""

    measure = "mean reward"
    patient = True

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        if (why := self.why_not(blueprint.card, blueprint.kind)) is not None:
            raise InvalidArgument(why, "compare other learners")
        low, high = blueprint.terms.reward_range
        self.weighing = OffPolicyTerms(self.measure, low, high)
        self._asked: OpenDecisionBuffer[PolicyTerms] = self.remember()
        self._mine: OpenDecisionBuffer[Any] = self.remember(
            WHOLE
        )  # a decision, or `ReplayedDecision`; within a batch its place
        self._would: Counter[Any] = Counter()
        self._shown: Counter[Any] = Counter()
        self._shown_counts: Counter[Any] = Counter()
        self._without = self._missed = self._drawn = 0

    @classmethod
    def make_shared_stats(cls, blueprint: Blueprint) -> SharedLogStats:
        """A model of the rewards."""
        return RewardModel()

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """Reason against: learners that show pairs, or do not accept rewards, cannot learn here."""
        if Feedback.REWARD in card.kinds:
            return None
        return f"a {learner} learns from {card.feedback_in_words}, which the log does not hold"

    def on_decision(self, event: EventLine) -> None:
        """Ask the learner, knowing what it knows by now."""
        made, id = event.record_bytes(), event.decision or ""
        if type(made.action) is not int and np.ndim(made.action):  # two were shown as a pair
            self.on_other_key(id, answered=False)
            return
        mine = self.learner(event.key).decide(made.context)
        self._mine.put(id, mine)
        self.ask(event, made, lambda count: chances(mine, count))

    def ask(self, event: EventLine, made: Decision, mine: Callable[[int], FloatArray]) -> None:
        """Store the probabilities with which the learner would show each candidate."""
        ids = self.names(event)
        count = len(made.propensities) if made.propensities is not None else max(len(ids), 1)
        mine_p, shown = mine(count), int(made.action)
        model = self.shared_stats.predicted(event, count) if isinstance(self.shared_stats, RewardModel) else None
        expected, predicted = (math.nan, math.nan)
        if model is not None:
            expected, predicted = min(1.0, max(0.0, float(mine_p @ model))), float(model[shown])
        name, target = None, float(mine_p[shown])
        if len(ids) == count:
            name = ids[shown]
            self.observe("names", ids[int(mine_p.argmax())], name)
        most, mass, possible = math.inf, 1.0, expected
        if made.propensities is not None:
            if "never shown" not in event.__dict__:  # once for all learners
                never = made.propensities <= 0.0
                event.__dict__["never shown"] = never if never.any() else None
            never = event.__dict__["never shown"]
            if never is None:
                most = float((mine_p / made.propensities).max())
            else:
                mass = float(mine_p[~never].sum())
                most = float((mine_p[~never] / made.propensities[~never]).max())
                possible = math.nan if model is None else float(mine_p[~never] @ model[~never])
            self.observe("asked", 1.0 - mass if never is not None else 0.0)
        elif made.propensity is not None:
            mass = 1.0 if made.propensity < 1.0 else target
            possible = expected if mass == 1.0 else mass * predicted
            self.observe("asked", 1.0 - mass)
        self._asked.put(event.decision or "", PolicyTerms(target, expected, predicted, name, most, mass, possible))

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers: together, if the learner can; what comes of it is the same."""
        learners = {key: self.learner(key) for key in steps.whose()}
        plans = {
            key: RowPlan(key, learner)
            for key, learner in learners.items()
            if isinstance(learner, BatchLearner) and self.learns_from_log(learner)
        }
        if len(steps) < FEWEST or len(plans) < len(learners) or not steps.plain:
            super().follow(steps)
            return
        places: list[int] = []
        waiting: dict[str, tuple[str | None, int]] = {}  # what is not answered yet
        for event, made in steps:
            key, id = event.key, event.decision or ""
            if made is None:
                place = plans[key].decide()
                self._mine.put(id, place)  # until it is known
                waiting[id] = key, place
            else:
                place = plans[key].answer(self._mine.take(id))
                waiting.pop(id, None)
            places.append(place)
        found = {key: plan.follow(steps, self.step_of) for key, plan in plans.items()}
        for (event, made), place in zip(steps, places, strict=True):
            mine = found[event.key]
            if made is None:
                self.ask(event, event.record_bytes(), partial(mine.chances, place))
            else:
                self.compare(event, made, mine, place)
        for id, (key, place) in waiting.items():
            self._mine.settle(id, found[key].mine(place))

    def learns_from_log(self, learner: Learner) -> bool:
        """True if a learner accepts the feedback of `step_of`."""
        return Feedback.REWARD in learner.card.kinds

    def step_of(self, event: EventLine, made: Decision) -> LogStep:
        """The step that a learner replays for an answer."""
        p = made.propensity if made.propensity is not None else 1.0
        return LogStep(made.context, made.action, self.learned_value(event, made), p)

    def compare(self, event: EventLine, made: Decision, mine: ReplayResult, place: int) -> None:
        """Take note of an answer to the decision of that place."""
        self.weigh(event, made, reward_of(event, made))

    def _saw_names(self, would: Any, shown: Any) -> None:
        """Count the learner's answer and the shown one, while there are few distinct ones."""
        if len(self._would) < IDS:
            self._would[would] += 1
            self._shown[shown] += 1

    def _saw_asked(self, impossible: float) -> None:
        self.weighing.ask(impossible)

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Weigh the reward, then learn it."""
        self.weigh(event, made, reward_of(event, made))
        self.learn_from(event, made, self.mine(event, made))

    def mine(self, event: EventLine, made: Decision) -> Decision | None:
        """The learner's decision, if still buffered."""
        mine, learner = self._mine.take(event.decision or ""), self.learner(event.key)
        return (
            mine.decision(learner, made.context)
            if isinstance(mine, ReplayedDecision) and isinstance(learner, BatchLearner)
            else mine
        )

    def weigh(self, event: EventLine, made: Decision, reward: float) -> None:
        """Take note of what came of what was shown."""
        asked = self._asked.take(event.decision or "")
        if asked is None:
            self.observe("missed")
        else:
            self.observe("weighed", reward, made.propensity, *asked)

    def _saw_missed(self) -> None:
        self._missed += 1

    def _saw_weighed(self, reward: float, p: float | None, *asked: Any) -> None:
        """Count a reward with its propensity and the fields of `PolicyTerms` of the decision."""
        target, expected, predicted, shown, most, mass, possible = asked
        if len(self._shown_counts) < IDS or shown in self._shown_counts:
            self._shown_counts[shown] += 1
        if p is None:
            self._without += 1
            return
        self.weighing.add(reward, p, target, expected, predicted, most, mass, possible)
        self._drawn += p < 1.0
        before = self.curve[-1] if self.curve else 0.0
        self.curve.append(before + (reward * target / p - before) / (len(self.curve) + 1))

    def learn_from(self, event: EventLine, made: Decision, mine: Decision | None) -> None:
        """Learn from the logged feedback if it belongs to the learner's own answer."""
        mine = self.redecide(event.key, mine, made)
        p = made.propensity if made.propensity is not None else 1.0
        own = msgspec.structs.replace(mine, action=made.action, propensity=p)
        self.learner(event.key).learn(own, self.learned_value(event, made))

    def learned_value(self, event: EventLine, made: Decision) -> Any:
        """Feedback for the learner."""
        return reward_of(event, made)

    def names(self, event: EventLine) -> Sequence[Any]:
        """The names of what can be shown."""
        return event.ids

    def figures(self) -> list[Estimate]:
        """The estimates that this log allows."""
        if not self._drawn:
            self.notes.append(NOT_DRAWN)
            return []
        self.notes.append(TAUGHT)
        if self._without:
            self.notes.append(f"{self._without} answered decisions have no propensity and are left out")
        if self._missed:
            self.notes.append(f"{self._missed} answers came too late to be compared, and were only learnt from")
        if not self.weighing.modelled:
            self.notes.append(
                "there is no model of the rewards here: the doubly robust and direct figures are left out"
            )
        elif lacking := len(self.weighing) - self.weighing.modelled:
            self.notes.append(
                f"{lacking} answered decisions have no prediction: the doubly robust figure weights their rewards "
                "alone, and the direct figure is left out"
            )
        return self.weighing.estimates()

    @property
    def main(self) -> str:
        """Name of the figure that is shown over time."""
        return f"{self.measure} (self-normalised)"

    def band(self) -> list[Point]:
        """The self-normalised figure over time."""
        return self.weighing.curve() if self._drawn else []

    def overlap(self) -> OverlapDiagnostics | None:
        """The weights, and what they hang on."""
        return self.weighing.overlap(self._rare()) if self._drawn else None

    def _rare(self) -> list[str]:
        """A remark if the estimate depends on an answer that the learner gives far more often than the log."""
        would, shown = sum(self._would.values()), sum(self._shown.values())
        if not would:
            return []
        name = max(self._would, key=lambda each: self._would[each] / would - self._shown[each] / shown)
        wanted, had = self._would[name] / would, self._shown[name] / shown
        if wanted < 2.0 * had or wanted < 0.05:
            return []
        return [
            f"It prefers {name} in {_percent(wanted)} of the decisions, and the log shows {name} in {_percent(had)}: "
            f"for these the estimate hangs on {self._shown_counts[name]} answered decisions."
        ]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0.0 else f"{share:.1%}"


# Other learners on a log of labels: a run of their own where the right label is known, else by propensities.


def label_names(model: ModelBody, added: Sequence[str] = ()) -> list[str]:
    """The labels of a label model, those that were added last; their numbers, if they have no names."""
    return [*model.labels, *added] if model.labels else _numbers(int(model.params["n_classes"]))


@lru_cache(maxsize=16)
def _numbers(count: int) -> list[str]:
    return [str(i) for i in range(count)]


class RewardedLabels(RewardEvaluator):
    """Estimates on labels: every label is a candidate."""

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._labels = label_names(blueprint.body, blueprint.terms.labels)

    def names(self, event: EventLine) -> list[Any]:
        """The labels."""
        return self._labels

    def on_new_labels(self, labels: Sequence[int], names: Sequence[str]) -> None:
        """Labels were added."""
        super().on_new_labels(labels, names)
        self._labels = [*self._labels, *names]


class LabelEvaluator(RewardedLabels):
    """Estimated accuracy of another learner.

    If the right label is known, it plays a run of its own and receives the feedback that it would have received. Where
    only the shown label was judged, its accuracy is known for sure where it says what was shown, and (as wrong) where
    what was shown was right and it says otherwise; the rest gives bounds. Where the shown label was drawn, propensities
    give an estimate.
    """

    measure = "accuracy"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._played = array("d")
        self._sure = self._unknown = 0.0
        self._where = self._right_there = self._judged = self._untaught = 0

    @classmethod
    def why_not(cls, card: Card, learner: str) -> str | None:
        """All that name labels can be asked."""
        return None

    @classmethod
    def about(cls, blueprint: Blueprint) -> list[str]:
        """A remark on whether the log's rows are scaled. Logs of records hold the values themselves."""
        unit = blueprint.card.unit_rows
        if unit is None or not unit(blueprint.settings) or blueprint.features is not None:
            return []
        name = blueprint.kind
        return [f"this log's {name} scales features to unit length, and so the log holds them: others see that"]

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Compare, then learn."""
        mine = self.redecide(event.key, self.mine(event, made), made)
        if (true := self._plays(event, made)) is not None:
            self._asked.take(event.decision or "")
            self._play(event, made, mine, true)
            return
        self._judge(event, made, chances(mine, len(self._labels)))
        self.learn_from(event, made, mine)

    def compare(self, event: EventLine, made: Decision, mine: ReplayResult, place: int) -> None:
        """Compare, once all is learnt."""
        if (true := self._plays(event, made)) is not None:
            self._asked.take(event.decision or "")
            self.observe("played", mine.action(place) == true)
        else:
            self._judge(event, made, mine.chances(place, len(self._labels)))

    def _judge(self, event: EventLine, made: Decision, mine_p: FloatArray) -> None:
        right, _ = self._truth(event.feedback, made.action)
        self.observe("judged", float(mine_p[made.action]), right)
        self.weigh(event, made, float(right))

    def _plays(self, event: EventLine, made: Decision) -> int | None:
        """The right label, where it plays a round of its own."""
        _, true = self._truth(event.feedback, made.action)
        return true if "label" in event.feedback or len(self._labels) == 2 else None

    def learns_from_log(self, learner: Learner) -> bool:
        """Right or wrong, and nothing but that."""
        return Feedback.BIT in learner.card.kinds and Feedback.LABEL not in learner.card.kinds

    def step_of(self, event: EventLine, made: Decision) -> LogStep:
        """Right or wrong, of what was shown, or of its own label where the right one is known."""
        if (true := self._plays(event, made)) is not None:
            return LogStep(made.context, -2 - true)
        return super().step_of(event, made)

    def _play(self, event: EventLine, made: Decision, mine: Decision, true: int) -> None:
        """Play a round of the learner's own: predict, and receive the feedback that the protocol gives."""
        learner, right = self.learner(event.key), bool(mine.action == true)
        self.observe("played", right)
        signal = true if Feedback.LABEL in learner.card.kinds else right
        learner.learn(mine, signal)

    def _saw_judged(self, p: float, right: bool) -> None:
        """Add the probability of the shown label, and whether it was correct."""
        self._judged += 1
        self._where += p >= 0.5
        self._right_there += p >= 0.5 and right
        self._sure += p * right
        self._unknown += 0.0 if right else 1.0 - p

    def _saw_played(self, right: bool) -> None:
        self._played.append(float(right))
        before = self.curve[-1] if self.curve else 0.0
        self.curve.append(before + (right - before) / (len(self.curve) + 1))

    def _saw_untaught(self) -> None:
        self._untaught += 1

    def learn_from(self, event: EventLine, made: Decision, mine: Decision | None) -> None:
        """Right or wrong of what was shown; those that need the right label learn only where it is known."""
        learner = self.learner(event.key)
        if mine is None or Feedback.BIT in learner.card.kinds:
            super().learn_from(event, made, mine)
        elif (true := self._truth(event.feedback, made.action)[1]) is not None:
            learner.learn(mine, true)
        else:
            self.observe("untaught")

    def learned_value(self, event: EventLine, made: Decision) -> Any:
        """Right or wrong."""
        return self._truth(event.feedback, made.action)[0]

    def figures(self) -> list[Estimate]:
        """The accuracy of a run of its own; else the estimates that this log allows, and what is sure."""
        found: list[Estimate] = []
        if self._played:
            found += progressive(self._played)
            self.notes.append(
                "where the right label is known it plays a run of its own: its own labels, its own feedback, no guess"
            )
        if not self._judged:
            return found
        if self._drawn > self._without:  # a draw among ties now and then is not a log that was drawn
            found += super().figures()
        else:
            self.notes.append("the labels of this log were not drawn at random: only bounds on the accuracy are known")
        n = self._judged
        low, high = self._sure / n, (self._sure + self._unknown) / n
        found.append(Estimate(measure="accuracy, sure bounds", value=None, low=low, high=high, of=n))
        found.append(share("accuracy where it says what was shown", self._right_there, self._where))
        if self._untaught:
            self.notes.append(
                f"{self.blueprint.kind} needs the right label, and {self._untaught} of {n} answers only said "
                "that the shown one was wrong: it did not learn from them"
            )
        return found

    @property
    def main(self) -> str:
        """Name of the figure that is shown over time."""
        return super().main if self._judged else self.measure

    def band(self) -> list[Point]:
        """The accuracy over time."""
        if not self._played or self._judged:
            return super().band()
        return checkpoints(len(self._played), lambda n: progressive(self._played[:n])[0])

    def _truth(self, feedback: dict[str, Any], shown: int) -> tuple[bool, int | None]:
        """True if the shown label was correct; and the true label, if it is known."""
        if "label" in feedback:
            true = self._labels.index(feedback["label"])
            return true == shown, true
        right = bool(feedback.get("correct", feedback.get("reward", 0.0) >= 0.5))
        return right, shown if right else 1 - shown if len(self._labels) == 2 else None


def progressive(right: Any) -> list[Estimate]:
    """Return the accuracy of a run, and its error, with an interval that holds however often you look."""
    found = bounded_mean("accuracy", np.array(right, np.float64))
    ends = {"low": found.high, "high": found.low, "single_low": found.single_high, "single_high": found.single_low}
    wrong = {name: None if end is None else 1.0 - end for name, end in ends.items()}
    value = None if found.value is None else 1.0 - found.value
    return [found, msgspec.structs.replace(found, measure="progressive error", value=value, **wrong)]
