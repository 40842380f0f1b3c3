"""Other learners on a log of clicks: what each ranking would have got, by how likely every place is looked at."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate import confidence as offline
from smidgen.evaluate.off_policy import log_chance
from smidgen.evaluate.position_bias import Examination, Looks, position_ips
from smidgen.learners import Feedback
from smidgen.learners.coactive import Coactive
from smidgen.learners.coactive.base import decision_of
from smidgen.service.loops.estimates import Estimate, OffPolicyTerms, OverlapDiagnostics, Point, checkpoints
from smidgen.service.loops.evaluator import (
    Blueprint,
    CoactiveEvaluator,
    OpenDecisionBuffer,
    RankingPlan,
    SharedLogStats,
    Steps,
)
from smidgen.structures import Clicks

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine

#: Number of places that are reported.
PLACES = 10
#: Lists that were rarer than this are not weighed as a whole.
RAREST = math.log(1e-9)
#: In lists up to this length documents are looked up one by one.
_SHORT = 64
BY_PLACE = "clicks per page (by place)"
UNKNOWN = (
    "the places of this log were not drawn at random: how far people look is not known, so clicks cannot be weighed by "
    "place and no number is given; rank with a learner that draws its lists, as the recommended one does, or say "
    "how likely each place is looked at with --examined"
)
AS_ITS_OWN = (
    "it learns along from the lists that the log showed as if it had shown them itself; a learner that corrects for "
    "its own draws does so approximately then"
)
ONE_CURVE = (
    "clicks per page count on the examination curve (its own error is not in the interval) and on clicks that depend "
    "on the document and its place only"
)


class ClickedPages(SharedLogStats):
    """The clicks of a log with the lists that were shown, and how far people look.

    Parameters
    ----------
    blueprint
        The log's own learner, whose draws tell.

    Attributes
    ----------
    given
        The curve as the caller knows it; estimated from the log if left out.
    found
        The curve as it was estimated elsewhere, from the same log.
    pages
        How many answered lists there were.
    """

    listens = True

    def __init__(self, blueprint: Blueprint) -> None:
        settings = blueprint.settings
        self.depth = int(settings.get("depth", PLACES))
        self._looks = Looks(places=max(2, min(PLACES, self.depth)), swap=float(settings.get("swap", 0.5)))
        self._drawn = self._rounds = 0
        self.found: Examination | None = None
        self.given: FloatArray | None = None
        self.pages = 0

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Take note of what was clicked."""
        if "clicked" not in event.feedback:
            return
        self.pages += 1
        if made.log_propensity is not None and made.scores is not None and math.exp(made.log_propensity) < 1.0:
            self._drawn += 1
            if (clicks := clicks_of(event, made)) is not None:
                self._looks.add(made, clicks)

    def examination(self) -> Examination | None:
        """Probability of looking at each position: as given, or estimated from randomized lists; None if unknown."""
        if self.given is not None:
            return Examination(read=self.given, low=self.given, high=self.given, rounds=0)
        if self.found is not None or not self._drawn:
            return self.found
        found = self._looks.curve()
        reach = _reach(found.read)
        if reach < 2:
            return None
        return Examination(found.read[:reach], found.low[:reach], found.high[:reach], found.rounds)


class Placed(NamedTuple):
    """Positions of the documents in another learner's list, as it would be shown and without randomization."""

    shown: IntArray
    greedy: IntArray
    chance: float


class ClickEvaluator(CoactiveEvaluator):
    """Estimated clicks on another learner's rankings, and how often it ranks the preferred item above the shown one."""

    patient = True

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._mine: OpenDecisionBuffer[Decision | int] = self.remember(
            4096
        )  # or its number, which is all that kernels need
        self._placed: OpenDecisionBuffer[Placed | IntArray | int] = self.remember(50_000)  # or the order
        self._page, self._old = array("q"), array("q")
        self._new: tuple[array[int], array[int]] = (array("q"), array("q"))
        self._lists = OffPolicyTerms("pages with a click")
        self._rare = self._pages = 0

    @classmethod
    def make_shared_stats(cls, blueprint: Blueprint) -> SharedLogStats:
        """The clicks."""
        return ClickedPages(blueprint)

    def on_decision(self, event: EventLine) -> None:
        """Rank the same documents."""
        made, id = event.record_bytes(), event.decision or ""
        mine = self.learner(event.key).decide(made.context)
        self._mine.put(id, mine)
        self._placed.put(id, self._place(made, mine))

    def _place(self, made: Decision, mine: Decision) -> Placed | None:
        """Positions in the learner's own list; None if nothing was ranked."""
        if not isinstance(made.action, np.ndarray) or not isinstance(mine.action, np.ndarray):
            return None
        chance = self._chance(made, mine) if made.log_propensity is not None else -math.inf
        shown = _places(mine.action)
        return Placed(shown, shown if mine.greedy is mine.action else _places(mine.greedy), chance)

    def _chance(self, made: Decision, mine: Decision) -> float:
        """The logarithm of its propensity for the list that was shown."""
        settings = dict(self.blueprint.settings)
        if mine.teams is None and isinstance(self.shared_stats, ClickedPages):
            settings["depth"] = self.shared_stats.depth
        return log_chance(mine, made.action, settings)

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Note where the clicked would have stood, then compare and learn."""
        placed = self._placed.take(event.decision or "")
        self._note(event, made, placed if isinstance(placed, Placed) else None)
        super().on_feedback(event, made)

    def _note(self, event: EventLine, made: Decision, placed: Placed | None) -> None:
        """Note where the clicked stood and would have stood."""
        if placed is None or (known := _clicked(event, made)) is None:
            return
        documents, old = known
        shown = placed.shown[documents].tolist()
        greedy = shown if placed.greedy is placed.shown else placed.greedy[documents].tolist()
        self.observe("clicks", old, shown, greedy, made.log_propensity, placed.chance)

    def follow(self, steps: Steps) -> None:
        """Several decisions and answers: together, if the learner can; what comes of it is the same."""
        learners = {key: self.learner(key) for key in steps.whose()}
        able = {key: each for key, each in learners.items() if isinstance(each, Coactive) and each.compiled}
        if len(able) < len(learners) or self.blueprint.card.kinds[0] == Feedback.CLICKS:
            super().follow(steps)
            return
        plans = {key: RankingPlan(key, learner) for key, learner in able.items()}
        decided: dict[str, tuple[str | None, int]] = {}  # whose plan, and the place in it
        answers: list[tuple[EventLine, Decision, Any, int]] = []
        for event, made in steps:
            id, plan = event.decision or "", plans[event.key]
            if made is None:
                place = plan.decide()
                decided[id] = (event.key, place)
                self._mine.put(id, plan.number(place))
                self._placed.put(id, place)  # until the order is known
            else:
                decided.pop(id, None)
                placed = self._placed.take(id)
                answers.append((event, made, placed, plan.answer(_number(self._mine.take(id)))))
        followed = {key: plan.follow(steps) for key, plan in plans.items()}
        for event, made, placed, at in answers:
            found = followed[event.key]
            order = found.orders[placed] if type(placed) is int else placed
            if type(order) is np.ndarray and (known := _clicked(event, made)) is not None:
                shown, chance = _where(order, known[0]), -math.inf
                if made.log_propensity is not None:
                    chance = self._chance(made, decision_of(able[event.key], made.context, order, 1))
                self.observe("clicks", known[1], shown, shown, made.log_propensity, chance)
            delta = found.deltas[at]
            self.observe("pair", None if delta is None else float(found.weights[at] @ delta))
        for id, (key, place) in decided.items():  # what is not answered yet
            order = followed[key].orders[place]
            self._placed.settle(id, order.copy() if type(order) is np.ndarray else None)

    def _saw_clicks(
        self, old: list[int], shown: list[int], greedy: list[int], drawn: float | None, chance: float
    ) -> None:
        """Add a page: positions of clicked documents, shown and own; log-propensities of the list, logged and own."""
        self._page.extend([self._pages] * len(old))
        self._old.extend(old)
        self._new[0].extend(shown)
        self._new[1].extend(greedy)
        self._pages += 1
        if drawn is None:
            return
        if drawn < RAREST:
            self._rare += 1
        else:
            target = min(1.0, math.exp(chance))
            self._lists.add(float(len(old) > 0), math.exp(drawn), target, math.nan, math.nan)

    def mine(self, event: EventLine, made: Decision) -> Decision:
        """The learner's decision at the time of the logged one."""
        mine = self._mine.take(event.decision or "")
        return self.redecide(event.key, mine if isinstance(mine, Decision) else None, made)

    def learn(self, event: EventLine, decision: Decision, better: Any) -> None:
        """Learn from an answer. Learners of clicks receive the clicks themselves."""
        learner, clicks = self.learner(event.key), clicks_of(event, decision)
        signal = clicks if clicks is not None and learner.card.kinds[0] == Feedback.CLICKS else better
        learner.learn(decision, signal)

    def figures(self) -> list[Estimate]:
        """Clicks per page where places can be weighed; then the share of better ones above the shown."""
        found, curve = [], self._curve()
        if self._pages and curve is None:
            self.notes.append(UNKNOWN)
        if curve is not None and self._pages:
            whole = self._clicks(curve, 0)
            found.append(_estimate(BY_PLACE, whole))
            if self.blueprint.card.draws:
                found.append(_estimate(f"{BY_PLACE}, without its draws", self._clicks(curve, 1)))
            self.notes += [ONE_CURVE, AS_ITS_OWN]
            if (beyond := int((np.array(self._old) >= len(curve)).sum())) > 0:
                self.notes.append(
                    f"{beyond} clicks below place {len(curve)}, of which the curve says nothing, are left out"
                )
        if len(self._lists) and self._lists_tell():
            found += self._lists.estimates()
        elif self._pages and (len(self._lists) or self._rare):
            self.notes.append(
                "whole lists are too rarely the same to be weighed by their propensities; places are weighed instead"
            )
        return [*found, *super().figures()]

    @property
    def main(self) -> str:
        """Name of the figure that is shown over time."""
        return BY_PLACE if self._pages and self._curve() is not None else self.measure

    def band(self) -> list[Point]:
        """Clicks per page over time."""
        curve = self._curve()
        if curve is None or not self._pages:
            return []
        return checkpoints(self._pages, lambda n: _estimate("", self._clicks(curve, 0, n)))

    def overlap(self) -> OverlapDiagnostics | None:
        """The weights of whole lists, where there are any."""
        return self._lists.overlap([]) if len(self._lists) and self._lists_tell() else None

    def _lists_tell(self) -> bool:
        """True if lists repeat often enough to weigh whole lists."""
        return not self._rare and (self._lists.overlap([]) or _NOTHING).matched >= 30

    def _curve(self) -> FloatArray | None:
        found = self.shared_stats.examination() if isinstance(self.shared_stats, ClickedPages) else None
        return None if found is None else found.read

    def _clicks(self, curve: FloatArray, which: int, pages: int | None = None) -> offline.Estimate:
        page, old, new = (np.array(each, np.int64) for each in (self._page, self._old, self._new[which]))
        kept = (old < len(curve)) & (page < (self._pages if pages is None else pages))
        return position_ips(page[kept], old[kept], new[kept], n=pages or self._pages, read=curve)


_NOTHING = OverlapDiagnostics(
    effective=0.0, share=0.0, largest=0.0, mean=0.0, matched=0, of=0, impossible=0.0, weights=[], words=[]
)


def clicks_of(event: EventLine, made: Decision) -> Clicks | None:
    """Clicks of an answer, by document; None if the answer has none."""
    if "clicked" not in event.feedback:
        return None
    signal = event.learner_input()
    if isinstance(signal, Clicks):
        return signal
    known = event.__dict__.get("its clicks")
    if known is None or known[0] is not signal:  # once for all learners
        count = len(event.feedback["clicked"])
        known = event.__dict__["its clicks"] = (signal, Clicks(np.asarray(signal)[:count].tolist()))
    clicks: Clicks = known[1]
    return clicks


def _clicked(event: EventLine, made: Decision) -> tuple[list[int], list[int]] | None:
    """Clicked documents and their positions in the shown list; None if the answer has no clicks."""
    if "clicked" not in event.feedback or not isinstance(made.action, np.ndarray):
        return None
    if (known := event.__dict__.get("its clicked")) is None or known[0] is not made:  # once for all learners
        signal, count = event.learner_input(), len(event.feedback["clicked"])
        front = signal[:count].tolist() if type(signal) is np.ndarray and signal.dtype == np.int64 else []
        if len(front) != count or len(set(front)) < count or min(front, default=0) < 0:
            clicks = clicks_of(event, made)
            front = [] if clicks is None else clicks.documents.tolist()
        known = event.__dict__["its clicked"] = (made, (front, _where(made.action, front)))
    found: tuple[list[int], list[int]] = known[1]
    return found


def _where(order: Any, documents: list[int]) -> list[int]:
    """The places of some documents in a list."""
    if len(order) > _SHORT:
        places: list[int] = _places(order)[documents].tolist()
        return places
    ranked = order.tolist()
    return [ranked.index(document) for document in documents]


def _number(mine: Decision | int | None) -> int | None:
    return mine.number if isinstance(mine, Decision) else mine


def as_curve(text: str) -> FloatArray:
    """Parse the probability of looking at each position: numbers separated by commas."""
    hint = "give numbers from 0 to 1, the first place first, e.g. 1,0.6,0.4"
    try:
        curve = np.array([float(each) for each in text.split(",")])
    except ValueError as error:
        raise InvalidArgument(f"the curve is {text!r}", hint) from error
    if not ((curve > 0.0) & (curve <= 1.0)).all():
        raise InvalidArgument(f"the curve is {text!r}, and every position needs a probability above 0", hint)
    return curve


def _places(order: Any) -> IntArray:
    """The place of each document in a list."""
    ranked = np.asarray(order, np.int64)
    out = np.empty(len(ranked), np.int64)
    out[ranked] = np.arange(len(ranked))
    return out


def _reach(read: FloatArray) -> int:
    """Number of positions with a known probability above zero."""
    known = np.isfinite(read) & (read > 0.0)
    return int(np.logical_and.accumulate(known).sum())


def _estimate(measure: str, found: offline.Estimate) -> Estimate:
    if not found.enough:
        return Estimate(measure=measure, value=None, low=None, high=None, of=found.n, effective=found.effective)
    return Estimate(
        measure=measure, value=found.value, low=found.low, high=found.high, of=found.n, effective=found.effective
    )
