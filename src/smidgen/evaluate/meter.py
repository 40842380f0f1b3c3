"""Utilities of what was shown, given back and best, round by round, and the theorem that speaks of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidArgument
from smidgen.history import History
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.rank import RankLearner
from smidgen.optim.rule import as_direction
from smidgen.theory import Measured, Verdict, bound_for
from smidgen.theory.losses import Loss
from smidgen.users.strict_alpha import as_utility

#: Learners whose decisions put objects with a utility before the user.
Presenting = Coactive | DuelingBandit | RankLearner


class Meter:
    """Utilities and feature norms of the rounds of a run, under weights that the learner never sees."""

    def __init__(self, w_star: Any, learner: Presenting) -> None:
        self.w_star: FloatArray = as_utility(w_star)
        if len(self.w_star) != learner.dim:
            raise InvalidArgument(
                f"the utility has {len(self.w_star)} weights and the learner has dim={learner.dim}",
                "give one per feature",
            )
        self._learner = learner
        self._rows: list[tuple[float, float, float, float, float]] = []

    def read(self, decision: Decision, feedback: Any) -> None:
        """Measure one more round."""
        context, dim = decision.context, len(self.w_star)
        presented = [as_direction(context.phi(y), dim) for y in self._learner.presented(decision)]
        better = presented[0]  # who says nothing has nothing better
        if feedback is not None:
            better = as_direction(context.phi(self._learner.preferred(decision, feedback)), dim)
        best = as_direction(context.phi(context.argmax(self.w_star)), dim)
        shown = float(np.mean([self.w_star @ phi for phi in presented]))
        phis = np.array([*presented, better])
        norms = (float(np.sqrt((phis**2).sum(axis=1).max())), float(np.abs(phis).max()))
        self._rows.append((shown, float(self.w_star @ better), float(self.w_star @ best), *norms))

    def measured(self, history: History, loss: Loss | None, learnt_before: int) -> History:
        """The history with its utilities, and with the bound that the learner's rule has, if it has one."""
        shown, better, best, norms, largest = np.array(self._rows).reshape(-1, 5).T
        history = replace(history, utility=shown, better_utility=better, best_utility=best)
        learner = self._learner
        if not len(history):
            verdict = Verdict(None, "no rounds were played")
        elif not isinstance(learner, Coactive):
            verdict = Verdict(None, f"no theorem for a {type(learner).__name__}")
        elif learnt_before:
            why = f"the theorems begin with a fresh learner, and this one had learnt {learnt_before} rounds"
            verdict = Verdict(None, why)
        else:
            told = Measured(
                T=np.arange(1.0, len(history) + 1.0),
                R=np.maximum.accumulate(norms),
                S=np.maximum.accumulate(largest),
                w_star=self.w_star,
                alpha=history.alpha,
                slacks=history.slacks,
                gains=better - shown,
                loss=loss,
            )
            verdict = bound_for(learner.rule, told)
        return replace(history, bound=verdict.bound, bound_on=verdict.on, bound_note=verdict.note)
