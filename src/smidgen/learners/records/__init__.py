"""Learners that take records: a vectorizer in front of any other."""

from smidgen.learners.records.explanation import Explanation
from smidgen.learners.records.pipeline import Pipeline

__all__ = ["Explanation", "Pipeline"]
