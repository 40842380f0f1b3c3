"""Spaces, projections, symmetric matrices and their rank-one updates: functions of their arguments, no state."""

from smidgen.geometry.ball import Ball
from smidgen.geometry.box import Box
from smidgen.geometry.l1_ball import L1Ball
from smidgen.geometry.simplex import Simplex, project_classes
from smidgen.geometry.space import Space

__all__ = ["Ball", "Box", "L1Ball", "Simplex", "Space", "project_classes"]
