"""Feedback as comparisons: what was better, less what was shown, and whether one taste agrees with all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smidgen.decision import FloatArray
from smidgen.service.insight.tracing import Step
from smidgen.structures import Choice, Clicks, Ranking

#: How often the differences are gone through in search of a taste that agrees with all.
EPOCHS = 100
#: So many numbers may the differences be.
NUMBERS = 2_000_000


def compared(step: Step) -> FloatArray | None:
    """φ(better) − φ(shown) of a feedback; None where nothing is compared."""
    context, shown, told = step.decision.context, step.decision.action, step.told
    if not isinstance(context, Ranking | Choice) or isinstance(told, float):
        return None
    if isinstance(shown, tuple):  # two were shown, and the index of the better one came back
        better, shown = shown[told], shown[1 - told]
    else:
        better = told.better(shown) if isinstance(told, Clicks) else told
    difference: FloatArray = context.difference(better, shown)
    return difference


def agreeing(differences: Sequence[FloatArray]) -> bool | None:
    """Whether some weights w have w·Δ > 0 for all of them; None if none was found and that says nothing.

    The perceptron finds such weights if there are any, after at most (R/margin)² mistakes (Novikoff 1962). After so
    many epochs without an end the answer is no: if there are any, their margin is too small to be called agreement.
    Large differences are brought to unit length, which changes no sign.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.service.insight.comparisons import agreeing
    >>> agreeing([np.array([1.0, 0.0]), np.array([1.0, 1.0])]), agreeing([np.array([1.0, 0.0]), np.array([-1.0, 0.0])])
    (True, False)
    """
    given = [each for each in differences if each.any()]
    if not given:
        return True
    if len(given) * len(given[0]) > NUMBERS:
        return None
    D = np.stack(given)
    D /= np.sqrt(np.square(D).sum(axis=1, keepdims=True))
    gram = D @ D.T  # w is a sum of differences: all that is needed of it
    gains = np.zeros(len(D))
    for _ in range(EPOCHS):
        mistakes = 0
        for i in range(len(D)):
            if gains[i] <= 1e-12:
                gains += gram[i]
                mistakes += 1
        if not mistakes:
            return True
    return False
