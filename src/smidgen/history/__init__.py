"""What happened in a run: one record for every loop, side by side with others, as a frame and as a picture."""

from smidgen.history.history import Comparison, History

__all__ = ["Comparison", "History"]
