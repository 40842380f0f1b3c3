"""The best fixed point in hindsight: what a learner of the tune loop is measured against."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from smidgen.decision import FloatArray
from smidgen.geometry import Space

#: How near to the least value the search comes, relative to it, and after how many steps it gives up.
_TOLERANCE, _STEPS = 1e-10, 20_000


def minimise(f: Callable[[FloatArray], tuple[float, FloatArray]], space: Space) -> FloatArray:
    """Argmin of a convex f over the space, in free coordinates; f gives value and gradient.

    Accelerated projected gradients with a step that adapts, restarted when they overshoot (O'Donoghue, Candès).
    """
    z = ahead = best = np.zeros(space.free_dim)
    least, speed = math.inf, 1.0
    step = space.outer_radius / max(float(np.linalg.norm(f(z)[1])), 1e-300)
    for _ in range(_STEPS):
        value, gradient = f(ahead)
        while True:
            end = space.project(ahead - step * gradient)
            move = end - ahead
            reached, slope = f(end)
            allowed = value + gradient @ move + move @ move / (2.0 * step)
            if reached <= allowed + 1e-15 * abs(value) or step < 1e-14 * space.outer_radius:
                break
            step *= 0.5
        if reached < least:
            best, least = end, reached
        if slope @ (end - furthest_along(space, -slope)) <= _TOLERANCE * max(abs(reached), 1e-6):
            return end
        if gradient @ (end - z) > 0.0:
            speed = 1.0  # the momentum leads uphill
        faster = (1.0 + math.sqrt(1.0 + 4.0 * speed**2)) / 2.0
        ahead, z, speed = end + (speed - 1.0) / faster * (end - z), end, faster
        step *= 1.1
    return best


def furthest_along(space: Space, direction: FloatArray) -> FloatArray:
    """The point of the space that is furthest along a direction, up to 1e-9 of its size: a far point, projected."""
    length = float(np.linalg.norm(direction))
    return direction if length == 0.0 else space.project(direction * (1e9 * space.outer_radius / length))
