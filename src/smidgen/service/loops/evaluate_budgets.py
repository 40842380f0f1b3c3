"""The log's own learner under another budget: what a limit on the mean cost of decisions would have bought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from smidgen.decision import Decision
from smidgen.errors import InvalidArgument
from smidgen.learners import Learner
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.pacing import Budget, Pacer, QuotingPacer
from smidgen.learners.pipeline import unwrap
from smidgen.service.loops.estimates import Estimate, mean
from smidgen.service.loops.evaluate_rewards import RewardEvaluator
from smidgen.service.loops.evaluator import Blueprint, Evaluator, Steps
from smidgen.structures import Choice

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine

#: What a learner under a budget is called: this, and its limits.
BUDGET = "budget "
PACED = (
    "it keeps to its budget by what candidates cost, as given or as estimated from the costs that were reported; what "
    "it chose itself is taken to cost that"
)


def parse_budget(spec: str) -> Budget | None:
    """Read limits from ``"budget usd=0.002,eur=0.001"``; None of the name of a learner.

    Examples
    --------
    >>> from smidgen.service.loops.evaluate_budgets import parse_budget
    >>> parse_budget("budget usd=0.002")
    Budget({'usd': 0.002})
    """
    if not spec.startswith(BUDGET):
        return None
    limits: dict[str, float] = {}
    for part in spec.removeprefix(BUDGET).split(","):
        currency, _, amount = (each.strip() for each in part.partition("="))
        try:
            limits[currency] = float(amount)
        except ValueError as error:
            raise InvalidArgument(
                f"the budget is {spec.removeprefix(BUDGET)!r}", 'write the mean cost per decision as "usd=0.002"'
            ) from error
    return Budget(limits)


class BudgetEvaluator(RewardEvaluator):
    """Estimated reward of the log's own learner under a budget, and what it would have spent.

    Parameters
    ----------
    blueprint, budget
        The learner's settings, and the limits.
    """

    def __init__(self, blueprint: Blueprint, budget: Budget) -> None:
        learner = unwrap(blueprint.learner(None))
        if not isinstance(learner, RewardLearner):
            raise InvalidArgument(
                f"a {blueprint.kind} keeps to no budget", "give a budget for a choose model that learns from rewards"
            )
        super().__init__(blueprint)
        self._pacer = Pacer(budget.limits, learner.dim)
        self._reported = False  # costs of decisions: until then those that the log went by are all that is known
        self._spent = {name: [0, 0.0, 0.0] for name in budget.limits}

    def learner(self, key: str | None) -> Learner:
        """The learner of a key; all keys share the budget."""
        found = super().learner(key)
        if found._pacer is None:
            found._pacer = QuotingPacer(self._pacer)  # it decides again where rows change, and pays once
        return found

    def follow(self, steps: Steps) -> None:
        """One after the other: each price depends on the decision before."""
        Evaluator.follow(self, steps)

    def on_decision(self, event: EventLine) -> None:
        """Ask the learner, which pays for what it would have chosen."""
        made = event.record_bytes()
        if made.costs is not None and not self._reported and isinstance(made.context, Choice):
            event.__dict__["its decision"] = structs.replace(made, context=made.context.with_costs(made.costs))
        super().on_decision(event)
        event.__dict__["its decision"] = made
        mine = self._mine.get(event.decision or "")
        if isinstance(mine, Decision):
            costs = mine.costs_of_action()
            self._pacer.pay(costs)
            for name, cost in costs.items():
                self.observe("spent", name, cost)

    def _saw_spent(self, name: str, cost: float) -> None:
        found = self._spent[name]
        found[0] += 1
        found[1] += cost
        found[2] += cost * cost

    def on_costs(self, event: EventLine, made: Decision, costs: Mapping[str, float]) -> None:
        """Learn what a candidate costs from what was shown."""
        learner, self._reported = self.learner(event.key), True
        if isinstance(learner, RewardLearner) and type(made.action) is int:
            self._pacer.learn(learner._priced_rows(made), made.action, costs)

    def figures(self) -> list[Estimate]:
        """The estimates of the reward, and the mean cost by currency."""
        found = super().figures()
        self.notes.append(PACED)
        for name, (n, total, squares) in self._spent.items():
            value, low, high = mean(int(n), total, squares, None)
            found.append(Estimate(measure=f"mean cost ({name})", value=value, low=low, high=high, of=int(n)))
        return found
