"""A point of a convex set, and hear what it cost: the tune loop."""

from smidgen.learners.tune.base import Tuner
from smidgen.learners.tune.ogd import OGD
from smidgen.learners.tune.ogdeg import OGDEG
from smidgen.learners.tune.ons import ONS
from smidgen.learners.tune.onseg import ONSEG
from smidgen.learners.tune.quadratic_tuner import QuadraticTuner

__all__ = ["OGD", "OGDEG", "ONS", "ONSEG", "QuadraticTuner", "Tuner"]
