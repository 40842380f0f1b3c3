"""Convex sets in compiled code: `Ball`, `Box` and `Simplex` by one name each, for loops that meet all of them."""

from __future__ import annotations

from smidgen._core import written_for
from smidgen.geometry.space import Region, Space

TOLERANCE = 1e-10  # that of `Space.project_in_norm`


def region_of(space: Space) -> Region | None:
    """The region of a space, if it has one that was written for its projection."""
    return space.region() if written_for(space, "region", "project") else None
