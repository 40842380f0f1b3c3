"""The five algorithms of Section 5.2, by name, with the parameter that each one tunes."""

from __future__ import annotations

from typing import Any

from smidgen.errors import InvalidArgument
from smidgen.learners.label.arow import AROW
from smidgen.learners.label.banditron import Banditron
from smidgen.learners.label.base import LabelLearner
from smidgen.learners.label.confidit import Confidit
from smidgen.learners.label.multiclass_perceptron import MulticlassPerceptron
from smidgen.learners.label.second_order_perceptron import SecondOrderPerceptron

#: In the order of the columns of Table 3.
NAMES = ("Perceptron", "2nd-order", "AROW", "Banditron", "Confidit")
#: Those that hear one bit only.
BANDITS = ("Banditron", "Confidit")
#: All but AROW, which learns from margins and is left out of the paper's comparison of the others.
FOUR = ("Perceptron", "2nd-order", "Banditron", "Confidit")
#: The letter of the tuned parameter.
LETTERS = {"Perceptron": "–", "2nd-order": "a", "AROW": "r", "Banditron": "γ", "Confidit": "η"}


def grid(name: str, *, coarse: bool = False) -> list[float]:
    """The values among which the parameter is tuned; the paper does not print its own.

    η, r and a: powers of ten from 10⁻³ (where Fig. 2 starts) to 10⁵; γ: seven shares from 0.01 to 0.5. A coarse grid
    has every second of them.
    """
    if name == "Perceptron":
        return [0.0]
    values = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5] if name == "Banditron" else [10.0**k for k in range(-3, 6)]
    return values[1::2] if coarse else values


def build(
    name: str, value: float, *, dim: int, classes: int, update: str = "residual", alpha: float = 1.0, seed: int = 0
) -> LabelLearner:
    """A new learner. Features are used as they come: scaling is a matter of the data here."""
    shared: dict[str, Any] = {"dim": dim, "n_classes": classes, "dtype": "float32", "seed": seed}
    if name == "Perceptron":
        return MulticlassPerceptron(**shared)
    if name == "2nd-order":
        return SecondOrderPerceptron(a=value, **shared)
    if name == "AROW":
        return AROW(r=value, **shared)
    if name == "Banditron":
        return Banditron(gamma=value, **shared)
    if name == "Confidit":
        return Confidit(eta=value, alpha=alpha, update=update, normalize=False, **shared)
    raise InvalidArgument(f"there is no algorithm {name!r}", f"choose one of {', '.join(NAMES)}")
