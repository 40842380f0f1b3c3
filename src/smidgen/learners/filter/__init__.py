"""Forward or drop, and receive the relevance of forwarded items only: the filter loop."""

from typing import TYPE_CHECKING

from smidgen.history import History as FilterHistory
from smidgen.learners.base import discover_package
from smidgen.learners.filter.base import Filter, FullInformationFilter

if TYPE_CHECKING:  # written by `make listings`
    from smidgen.learners.filter.apple_tasting import AppleTasting
    from smidgen.learners.filter.p_ridge_fil import PRidgeFil
    from smidgen.learners.filter.perceptron_filter import PerceptronFilter
    from smidgen.learners.filter.ridge_fil import RidgeFil, RidgeFull
    from smidgen.learners.filter.simple_fil import SimpleFil

globals().update(discover_package(__name__))

__all__ = [
    "AppleTasting",
    "Filter",
    "FilterHistory",
    "FullInformationFilter",
    "PRidgeFil",
    "PerceptronFilter",
    "RidgeFil",
    "RidgeFull",
    "SimpleFil",
]
