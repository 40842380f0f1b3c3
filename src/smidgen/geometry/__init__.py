"""Spaces, projections and rank-one inverse updates: functions of their arguments, no state."""

from smidgen.geometry.ball import Ball
from smidgen.geometry.box import Box
from smidgen.geometry.class_constraints import project_classes
from smidgen.geometry.l1_ball import L1Ball
from smidgen.geometry.rank_one import grow_inverse
from smidgen.geometry.simplex import Simplex
from smidgen.geometry.space import Space

__all__ = ["Ball", "Box", "L1Ball", "Simplex", "Space", "grow_inverse", "project_classes"]
