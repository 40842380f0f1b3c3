"""A point of a convex set, and receive its cost: the tune loop."""

from typing import TYPE_CHECKING

from smidgen.learners.base import discover_package
from smidgen.learners.tune.base import Tuner

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.tune.ogd import OGD
    from smidgen.learners.tune.ogdeg import OGDEG
    from smidgen.learners.tune.ons import ONS
    from smidgen.learners.tune.onseg import ONSEG
    from smidgen.learners.tune.quadratic_tuner import QuadraticTuner

globals().update(discover_package(__name__))

__all__ = ["OGD", "OGDEG", "ONS", "ONSEG", "QuadraticTuner", "Tuner"]
