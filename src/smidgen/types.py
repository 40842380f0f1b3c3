"""The older name of `smidgen.decision`."""

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.structures import Structure

__all__ = ["Decision", "FloatArray", "IntArray", "Structure"]
