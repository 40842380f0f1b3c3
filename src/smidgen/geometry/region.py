"""Convex sets in compiled code: `Ball`, `Box` and `Simplex` by one name each, for loops that meet all of them."""

from __future__ import annotations

import math

from smidgen._kernel import kernel, written_for
from smidgen.decision import FloatArray
from smidgen.geometry.ball import project_on_ball, shorten
from smidgen.geometry.box import clip_to_box, embed_in_box
from smidgen.geometry.polytope import BALL, BOX, SIMPLEX, move_to_nearest
from smidgen.geometry.simplex import along_simplex, embed_in_simplex, lift, to_shares
from smidgen.geometry.space import Region, Space

TOLERANCE = 1e-10  # that of `Space.project_in_norm`


def region_of(space: Space) -> Region | None:
    """The region of a space, if it has one that was written for its projection."""
    return space.region() if written_for(space, "region", "project") else None


@kernel
def embed(region: Region, z: FloatArray, x: FloatArray) -> None:
    """Write the point x with the free coordinates z, as `Space.embed` does."""
    if region.kind == BOX:
        embed_in_box(z, region.low, region.centre, region.high, x)
    elif region.kind == SIMPLEX:
        embed_in_simplex(z, region.low[0], x)
    else:
        x[:] = z


@kernel
def along(region: Region, g: FloatArray, out: FloatArray) -> None:
    """Write the gradient g with respect to x as one with respect to z, as `Space.direction` does."""
    if region.kind == SIMPLEX:
        along_simplex(g, out)
    else:
        out[:] = g


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
        lift(z, x)
        for i in range(region.dim):
            within = within and x[i] >= -region.bounds[0]
    return within


@kernel
def to_nearest(region: Region, z: FloatArray, norm: float, x: FloatArray) -> None:
    """Move z, which has this norm and may lie outside, to the nearest point of the set: the Euclidean projection."""
    if inside(region, z, norm, x):
        return
    if region.kind == BALL:
        shorten(z, norm, region.bounds[0])
    elif region.kind == BOX:
        clip_to_box(z, region.bounds)
    else:
        lift(z, x)
        to_shares(x, region.dim * region.bounds[0])
        along_simplex(x, z)


@kernel
def to_nearest_in_norm(region: Region, z: FloatArray, inverse: FloatArray, x: FloatArray) -> None:
    """Move z, which lies outside, to the nearest point of the set in the norm of A, given A⁻¹ (and zeros beyond)."""
    if region.kind == BALL:
        z[:] = project_on_ball(inverse, z, region.bounds[0], TOLERANCE)
        return
    move_to_nearest(z, inverse, region.kind, region.bounds, TOLERANCE)
    squares = 0.0
    for i in range(z.shape[0]):
        squares += z[i] * z[i]
    to_nearest(region, z, math.sqrt(squares), x)
