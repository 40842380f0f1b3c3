"""Learners that take records: a vectorizer in front of any other."""

from typing import TYPE_CHECKING

from smidgen.learners.discovery import discover
from smidgen.learners.records.explanation import Explanation

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.records.pipeline import Pipeline

globals().update(discover(__name__))

__all__ = ["Explanation", "Pipeline"]
