"""Whole texts as numbers: hashed words and letters, style with names, and how much of a text was changed."""

from smidgen.features.prose.changes import changed_share
from smidgen.features.prose.reading import DIM, LONGEST, Prose, column_name, read
from smidgen.features.prose.traits import TRAITS, Trait

__all__ = ["DIM", "LONGEST", "TRAITS", "Prose", "Trait", "changed_share", "column_name", "read"]
