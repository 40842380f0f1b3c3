"""The `History` of a run, by its address of the first version."""

from smidgen.history import History

__all__ = ["History"]
