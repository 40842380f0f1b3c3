"""Predict one of K labels and receive correct or incorrect: the label loop."""

from typing import TYPE_CHECKING

from smidgen.history import History as LabelHistory
from smidgen.learners.base import discover_package
from smidgen.learners.label.base import LabelLearner

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.label.arow import AROW
    from smidgen.learners.label.banditron import Banditron
    from smidgen.learners.label.confidit import Confidit
    from smidgen.learners.label.hinge_confidit import HingeConfidit
    from smidgen.learners.label.label_bank import LabelBank
    from smidgen.learners.label.multiclass_perceptron import MulticlassPerceptron
    from smidgen.learners.label.second_order_perceptron import SecondOrderPerceptron

globals().update(discover_package(__name__))

__all__ = [
    "AROW",
    "Banditron",
    "Confidit",
    "HingeConfidit",
    "LabelBank",
    "LabelHistory",
    "LabelLearner",
    "MulticlassPerceptron",
    "SecondOrderPerceptron",
]
