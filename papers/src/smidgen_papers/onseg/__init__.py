"""Online Newton step algorithm with estimated gradient (Liu, Li, Song, Liang, Jian and Liu, 2018)."""

from smidgen_papers.onseg import (
    bound,
    classification,
    constants,
    cost,
    paper,
    portfolio,
    regression,
    tuned,
)

__all__ = ["bound", "classification", "constants", "cost", "paper", "portfolio", "regression", "tuned"]
