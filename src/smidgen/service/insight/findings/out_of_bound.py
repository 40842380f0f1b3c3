"""Numbers beyond the bound that the model was made with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smidgen.learners import Feedback
from smidgen.service.insight.evidence import Evidence
from smidgen.service.insight.findings.check import Check, percent
from smidgen.service.insight.tables import lines
from smidgen.service.messages import Finding

#: One feedback is enough.
BOUND_AFTER = 1
#: From this share of feedbacks beyond the bound on it is a problem.
BOUND_PROBLEM = 0.1
#: By how much a number may pass the bound, for rounding.
BOUND_TOLERANCE = 1e-9


class OutOfBound(Check):
    """Losses beyond ``loss_bound``, gradients longer than ``gradient_bound``, features beyond ``bound``.

    What the model was promised does not hold; its steps are too long, or cut, and its theorem is silent.
    """

    code = "out_of_bound"

    def look(self, evidence: Evidence) -> Finding | None:
        """Say which bound, how many pass it, and by how much."""
        for name, kind, what in (
            ("loss_bound", Feedback.LOSS, "losses"),
            ("gradient_bound", Feedback.GRADIENT, "gradients"),
        ):
            if (bound := evidence.model.blueprint.settings.get(name)) is not None:
                sizes = [_size(step.value) for step in evidence.steps if step.kind == kind]
                return self._told(name, float(bound), what, sizes)
        bound = evidence.model.blueprint.settings.get("bound")
        if bound is None or not len(evidence.table.size):
            return None
        sizes = [float(np.abs(context_values(step.decision.context)).max(initial=0.0)) for step in evidence.steps]
        return self._told("bound", float(bound), "feedbacks with features", sizes)

    def _told(self, name: str, bound: float, what: str, sizes: list[float]) -> Finding | None:
        beyond = [size for size in sizes if size > bound * (1.0 + BOUND_TOLERANCE)]
        if len(beyond) < BOUND_AFTER:
            return None
        share, largest = len(beyond) / len(sizes), max(beyond)
        return self.found(
            "problem" if share >= BOUND_PROBLEM else "warning",
            f"{len(beyond)} of the last {len(sizes)} {what} lie beyond {name} = {bound:g} ({percent(share)}); the "
            f"largest is {largest:.4g}.",
            f"Make the model with a {name} of at least {largest:.4g}, or divide what you send by a fixed number.",
            {"beyond": len(beyond), "of": len(sizes), "share": share, "bound": bound, "largest": largest},
        )


def context_values(context: Any) -> Any:
    """All numbers of a decision's features."""
    found = lines(context)
    return found.values if found is not None else np.zeros(0)


def _size(value: Any) -> float:
    """A loss as it is, a gradient by its length."""
    numbers = np.asarray(value, dtype=np.float64)
    return math.sqrt(float(np.square(numbers).sum())) if numbers.ndim else abs(float(numbers))
