"""Convex sets for compiled streams: `Ball`, `Box` and `Simplex` as arrays, and the ways back into them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray
from smidgen.geometry import Ball, Box, Simplex
from smidgen.geometry.ball import project_on_ball
from smidgen.geometry.polytope import BOX, SIMPLEX, _nearest
from smidgen.geometry.space import Space

BALL = 3
_TOLERANCE = 1e-10  # that of `Space.project_in_norm`


class Region(NamedTuple):
    """A space for compiled code.

    Attributes
    ----------
    kind
        BALL, BOX or SIMPLEX.
    dim
        The number of coordinates of a point (one more than the free ones, on a simplex).
    low, centre, high
        Of a box. Of a simplex, low[0] is the floor.
    bounds
        The radius; half of each edge; how far below the centre a share can fall.
    """

    kind: int
    dim: int
    low: FloatArray
    centre: FloatArray
    high: FloatArray
    bounds: FloatArray


def as_region(space: Space) -> Region | None:
    """The arrays of a space, or None for one that has no compiled form."""
    none = np.zeros(0)
    if type(space) is Ball:
        return Region(BALL, space.dim, none, none, none, np.array([space.radius]))
    if type(space) is Box:
        low, high = np.array(space.low), np.array(space.high)
        return Region(BOX, space.dim, low, np.array(space.centre), high, (high - low) / 2.0)
    if type(space) is Simplex:
        return Region(
            SIMPLEX, space.dim, np.array([space.floor]), none, none, np.array([1.0 / space.dim - space.floor])
        )
    return None


@kernel
def embed(region: Region, z: FloatArray, x: FloatArray) -> None:
    """Write the point x with the free coordinates z, as `Space.embed` does."""
    if region.kind == BALL:
        for i in range(z.shape[0]):
            x[i] = z[i]
    elif region.kind == BOX:
        for i in range(z.shape[0]):
            x[i] = region.centre[i] + z[i]
            if abs(z[i]) <= region.bounds[i] + 1e-14 * (abs(region.centre[i]) + region.bounds[i]):
                x[i] = min(max(x[i], region.low[i]), region.high[i])
    else:
        _lift(z, x)
        floor = region.low[0]
        for i in range(region.dim):
            x[i] += 1.0 / region.dim
            if floor - 1e-14 < x[i] < floor:
                x[i] = floor


@kernel
def along(region: Region, g: FloatArray, out: FloatArray) -> None:
    """Write the gradient g with respect to x as one with respect to z."""
    n = out.shape[0]
    total, shift = 0.0, 0.0
    if region.kind == SIMPLEX:
        root = math.sqrt(region.dim)
        for i in range(n):
            total += g[i]
        shift = total / (region.dim + root) + float(g[n]) / root
    for i in range(n):
        out[i] = g[i] - shift


@kernel
def _lift(z: FloatArray, x: FloatArray) -> None:
    """X = Q·z on a simplex."""
    n, total = z.shape[0], 0.0
    for i in range(n):
        total += z[i]
    root = math.sqrt(n + 1.0)
    for i in range(n):
        x[i] = z[i] - total / (n + 1.0 + root)
    x[n] = -total / root


@kernel
def inside(region: Region, z: FloatArray, norm: float, x: FloatArray) -> bool:
    """Whether z, which has this norm, lies in the set; x is scratch."""
    within = True
    if region.kind == BALL:
        within = norm <= float(region.bounds[0])
    elif region.kind == BOX:
        for i in range(z.shape[0]):
            within = within and abs(z[i]) <= region.bounds[i]
    else:
        _lift(z, x)
        for i in range(region.dim):
            within = within and x[i] >= -region.bounds[0]
    return within


@kernel
def to_nearest(region: Region, z: FloatArray, norm: float, x: FloatArray) -> None:
    """Move z to the nearest point of the set: the Euclidean projection."""
    n = z.shape[0]
    if inside(region, z, norm, x):
        return
    if region.kind == BALL:
        shrink = region.bounds[0] / norm
        for i in range(n):
            z[i] *= shrink
    elif region.kind == BOX:
        for i in range(n):
            z[i] = min(max(z[i], -region.bounds[i]), region.bounds[i])
    else:
        _lift(z, x)
        _to_shares(x, region.dim * region.bounds[0])
        along(region, x.copy(), z)


@kernel
def _to_shares(values: FloatArray, total: float) -> None:
    """`nearest_shares`, in place: max(values − τ, 0) with the τ for which they add up to the total."""
    highest = values.max()
    for i in range(values.shape[0]):
        values[i] -= highest
    falling = np.sort(values)
    added, tau = 0.0, 0.0
    for k in range(1, values.shape[0] + 1):
        value = falling[values.shape[0] - k]
        added += value
        if value * k > added - total:
            tau = (added - total) / k
    for i in range(values.shape[0]):
        values[i] = max(values[i] - tau, 0.0)


@kernel
def to_nearest_in_norm(region: Region, z: FloatArray, inverse: FloatArray, x: FloatArray) -> None:
    """Move z, which lies outside, to the nearest point of the set in the norm of A, given A⁻¹ (and zeros beyond)."""
    if region.kind == BALL:
        z[:] = project_on_ball(inverse, z, region.bounds[0], _TOLERANCE)
        return
    squares = 0.0
    for i in range(z.shape[0]):
        squares += z[i] * z[i]
    length, trace = math.sqrt(squares), np.trace(inverse)
    scaled = inverse[: z.shape[0], : z.shape[0]] / (trace if trace > 0.0 else 1.0)
    u, _ = _nearest(scaled, z / length, region.kind, region.bounds / length, _TOLERANCE)
    squares = 0.0
    for i in range(z.shape[0]):
        z[i] = u[i] * length
        squares += z[i] * z[i]
    to_nearest(region, z, math.sqrt(squares), x)
