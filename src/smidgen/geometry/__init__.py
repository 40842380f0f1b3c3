"""Spaces, projections and rank-one inverse updates: functions of their arguments, no state."""

from smidgen.geometry.ball import Ball
from smidgen.geometry.class_constraints import project_classes
from smidgen.geometry.rank_one import grow_inverse

__all__ = ["Ball", "grow_inverse", "project_classes"]
