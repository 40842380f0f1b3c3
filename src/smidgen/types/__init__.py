"""The older name of `smidgen.decision`."""

from smidgen.decision import Decision, FloatArray, IntArray, Structure

__all__ = ["Decision", "FloatArray", "IntArray", "Structure"]
