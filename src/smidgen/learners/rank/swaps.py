"""Rankings with neighbours swapped at random: pairs of places, of which each is exchanged or not."""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import kernel, ordinary
from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import DecisionMismatch
from smidgen.randomness import U64, fill_uniforms


@kernel
def _pairs(places: int, start: int) -> int:
    """How many pairs of neighbours there are from a place on."""
    return max(places - start, 0) // 2


@kernel
def _log_power(base: float, exponent: int) -> float:
    """log(baseᵉ), with 0⁰ = 1."""
    return 0.0 if exponent == 0 else exponent * math.log(base) if base > 0.0 else -np.inf


@kernel
def swap_pairs(
    key: U64,
    number: int,
    depth: int,
    swap: float,
    alternate: bool,
    order: IntArray,
    teams: IntArray,
    coins: FloatArray,
) -> int:
    """Swap neighbours of ``order`` within its first ``depth`` places, as belongs to decision ``number``; how many were.

    The pairs are (1, 2), (3, 4), …; if they ``alternate``, a coin chooses between those and (2, 3), (4, 5), …. Writes
    the number of the pair at each place to ``teams``, −1 where there is none. ``coins`` is scratch, of a number more
    than pairs.
    """
    places = min(depth, order.shape[0])
    fill_uniforms(key, np.uint64(number), coins[: 1 + places // 2])
    start = 1 if alternate and coins[0] >= 0.5 else 0
    swapped = 0
    teams[:] = -1
    for k in range(_pairs(places, start)):
        i = start + 2 * k
        teams[i], teams[i + 1] = k, k
        turned, a, b = coins[1 + k] < swap, order[i], order[i + 1]
        order[i], order[i + 1] = b if turned else a, a if turned else b  # nobody could foretell a branch
        swapped += turned
    return swapped


@kernel
def swap_with_chance(
    key: U64, number: int, depth: int, swap: float, alternate: bool, order: IntArray, teams: IntArray
) -> float:
    """The same; returns the log of the probability of the list. One without a swap can come of either pairing."""
    places = min(depth, order.shape[0])
    swapped = swap_pairs(key, number, depth, swap, alternate, order, teams, np.empty(1 + places // 2))
    pairs = [_pairs(places, 0), _pairs(places, 1)]
    start = 1 if places > 0 and teams[0] < 0 and pairs[1] > 0 else 0
    chance = _log_power(swap, swapped) + _log_power(1.0 - swap, pairs[start] - swapped)
    if alternate and swapped == 0:
        other = math.exp(_log_power(1.0 - swap, pairs[1 - start]))
        return math.log(0.5 * (math.exp(chance) + other))
    return chance + math.log(0.5) if alternate else chance


def kept_pairs(decision: Decision, n: int) -> IntArray:
    """The pairs that a decision says its places belong to, checked."""
    teams = decision.teams
    if teams is None or teams.shape != (n,) or teams.dtype.kind not in "iu":
        raise DecisionMismatch(f"decision {decision.id} does not say which places are a pair", "give it whole")
    return ordinary(np.asarray(teams, dtype=np.int64))
