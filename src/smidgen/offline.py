"""Estimate what another policy would have earned, from a log of decisions with propensities, before it goes live.

All rewards are in [0, 1]. Every estimate has an interval that stays valid while people keep looking, and a narrower one
for a single look; the direct method has none.
"""

from smidgen.evaluate.confidence import Estimate, confidence_sequence
from smidgen.evaluate.off_policy import (
    Overlap,
    direct,
    doubly_robust,
    effective_sample_size,
    ips,
    largest_weights,
    overlap,
    snips,
)

__all__ = [
    "Estimate",
    "Overlap",
    "confidence_sequence",
    "direct",
    "doubly_robust",
    "effective_sample_size",
    "ips",
    "largest_weights",
    "overlap",
    "snips",
]
