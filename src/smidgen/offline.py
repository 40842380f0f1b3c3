"""What would another policy have earned? Estimates from a log of decisions with propensities, before it goes live.

All rewards are in [0, 1]. Every estimate has an interval that stays valid while people keep looking.
"""

from smidgen.evaluate.offline.estimate import Estimate
from smidgen.evaluate.offline.overlap import Overlap, overlap
from smidgen.evaluate.offline.policies import direct, doubly_robust, effective_sample_size, ips, snips
from smidgen.evaluate.offline.sequence import confidence_sequence

__all__ = [
    "Estimate",
    "Overlap",
    "confidence_sequence",
    "direct",
    "doubly_robust",
    "effective_sample_size",
    "ips",
    "overlap",
    "snips",
]
