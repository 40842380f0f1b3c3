"""From estimates to probabilities: how each rule shares its choice among the candidates, and how one is drawn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import inlined
from smidgen.decision import FloatArray

Mask = NDArray[np.bool_]
#: Rules: the highest upper confidence bound, inverse gaps, the argmaxes of posterior samples.
UCB, GAPS, SAMPLES = 0, 1, 2


@inlined
def on_offer(mask: Mask, k: int) -> bool:
    """Whether candidate k may be chosen; an empty mask means that all may."""
    return mask.shape[0] == 0 or bool(mask[k])


@inlined
def how_many(mask: Mask, n: int) -> int:
    """K, the number of candidates that may be chosen."""
    if mask.shape[0] == 0:
        return n
    count = 0
    for k in range(n):
        count += mask[k]
    return count


@inlined
def highest(means: FloatArray, mask: Mask) -> int:
    """The first candidate of highest estimate."""
    best = -1
    for k in range(means.shape[0]):
        if on_offer(mask, k) and (best < 0 or means[k] > means[best]):
            best = k
    return best


@inlined
def share_by_bound(means: FloatArray, widths: FloatArray, mask: Mask, p: FloatArray) -> None:
    """All to the highest f_a + κ√(x_aᵀA⁻¹x_a), the first of equals (Chu et al. 2011)."""
    best, bound = -1, 0.0
    for k in range(means.shape[0]):
        p[k] = 0.0
        if on_offer(mask, k) and (best < 0 or means[k] + widths[k] > bound):
            best, bound = k, means[k] + widths[k]
    p[best] = 1.0


@inlined
def share_by_gap(means: FloatArray, mask: Mask, best: int, gamma: float, p: FloatArray) -> None:
    """p_a = 1/(K + γ(f_best − f_a)), and the rest to the best (Foster & Rakhlin 2020)."""
    K, rest = how_many(mask, means.shape[0]), 1.0
    for k in range(means.shape[0]):
        p[k] = 0.0
        if k != best and on_offer(mask, k):
            p[k] = 1.0 / (K + gamma * (means[best] - means[k]))
            rest -= p[k]
    p[best] = rest


@inlined
def only_the_largest(p: FloatArray) -> None:
    """All to the candidate of the largest share, the first of equals."""
    best = 0
    for k in range(1, p.shape[0]):
        if p[k] > p[best]:
            best = k
    for k in range(p.shape[0]):
        p[k] = 1.0 if k == best else 0.0


@inlined
def mix(p: FloatArray, mask: Mask, floor: float, min_share: float) -> bool:
    """Give every candidate its part of the floor, or its least share; says no where the least shares exceed 1."""
    K = how_many(mask, p.shape[0])
    each = max(floor / K, min_share)
    if each > 0.0:
        left = 1.0 - K * each
        if left < 0.0:
            if left < -1e-9:
                return False
            left = 0.0
        for k in range(p.shape[0]):
            if on_offer(mask, k):
                p[k] = left * p[k] + each
    return True


@inlined
def sole(p: FloatArray) -> int:
    """The candidate that has all, −1 if none has: then there is something to draw."""
    for k in range(p.shape[0]):
        if p[k] > 0.0:
            return k if p[k] == 1.0 else -1
    return -1


@inlined
def draw(p: FloatArray, u: float) -> int:
    """The candidate that a uniform number falls to."""
    last, total = 0, 0.0
    for k in range(p.shape[0]):
        if p[k] > 0.0:
            last = k
            total += p[k]
            if u < total:
                return k
    return last


@inlined
def sane(means: FloatArray, spreads: FloatArray) -> bool:
    """Whether every estimate and every spread is finite."""
    strange = 0
    for k in range(means.shape[0]):
        strange += not (math.isfinite(means[k]) and math.isfinite(spreads[k]))
    return strange == 0
