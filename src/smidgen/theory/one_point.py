"""Perturbation and distance to the boundary that the theorems about one value per round prescribe."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.geometry.space import Space


def fkm_constants(space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
    """δ and γ of Flaxman, Kalai and McMahan's theorems, without and with a Lipschitz constant."""
    d, r, R = space.free_dim, space.inner_radius, space.outer_radius
    if lipschitz is None:
        return (r * R**2 * d**2 / (12.0 * T)) ** (1 / 3), (3.0 * R * d / (2.0 * r * math.sqrt(T))) ** (1 / 3)
    delta = T**-0.25 * math.sqrt(R * d * F * r / (3.0 * (lipschitz * r + F)))
    return delta, delta / r


def onseg_constants(space: Space, F: float, lipschitz: float | None, T: int) -> tuple[float, float]:
    """δ and γ of Theorems 1 and 2 of the ONSEG paper."""
    d, r, D = space.free_dim, space.inner_radius, space.diameter
    log = math.log(max(T, 2))
    delta = float(onseg_reach(T, log, d=d, F=F, D=D, r=r, lipschitz=lipschitz))
    return delta, (15.0 * d**2 * D * log / (r * T)) ** (1 / 3) if lipschitz is None else delta / r


def onseg_reach(t: Any, log: Any, *, d: int, F: float, D: float, r: float, lipschitz: float | None) -> Any:
    """δ of the same theorems, at one number of rounds or at many; ``log`` is that of the rounds, of 2 at least."""
    if lipschitz is None:
        return (25.0 * d**4 * D**2 * log**2 * r / (3.0 * t**2)) ** (1 / 3)
    return np.sqrt(10.0 * d**2 * F * D * r * log / (3.0 * (lipschitz * r + F)) / t)


def first_phase(space: Space, F: float, lipschitz: float | None, constants: Callable[..., tuple[float, float]]) -> int:
    """The shortest power of two for which theory keeps at least half of the space."""
    T = 2
    while constants(space, F, lipschitz, T)[1] > 0.5:
        T *= 2
    return T


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds played with one setting: its number, where it begins, and how long it is."""

    number: int
    start: int
    length: int


def phase_of(rounds: int, first: int) -> Phase:
    """The phase of doubling length that a round count falls in: first, 2·first, 4·first, … rounds."""
    number = int(math.log2(rounds // first + 1))
    return Phase(number, first * (2**number - 1), first * 2**number)
