"""Bytes that a fresh learner holds, computed from its settings alone: for the metadata.

Settings are the arguments of the constructor, with its defaults; a space among them is a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]
#: The bytes of a label, in addition to its state: its entries in a list and in a table.
LABEL = 150


def features(settings: Settings) -> int:
    """Number of features or coordinates."""
    if (space := settings.get("space")) is not None:
        return int(space.dim)
    return int(settings.get("dim") or 0)


def classes(settings: Settings) -> int:
    """Number of classes; they are allocated in fours."""
    known = n_labels(settings)
    return -(-known // 4) * 4 if known else 1


def n_labels(settings: Settings) -> int:
    """Number of labels; 0 for a learner without them."""
    return int(settings.get("n_classes") or len(settings.get("labels") or ()))


def number(settings: Settings) -> int:
    """The bytes of one number."""
    return 4 if settings.get("dtype") == "float32" else 8


def vectors(settings: Settings) -> int:
    """A weight for every feature, of every class: what a card without a size stands for."""
    return number(settings) * features(settings) * classes(settings)


def two_vectors(settings: Settings) -> int:
    """Two numbers for every feature, of every class."""
    return 2 * vectors(settings)


def vector_and_matrix(settings: Settings) -> int:
    """A weight for every feature and a matrix between the features, of every class."""
    return vectors(settings) * (1 + features(settings))


def by_covariance(settings: Settings) -> int:
    """A matrix where the covariance is full, two vectors where it is diagonal, one or less where examples are kept."""
    form = settings.get("covariance")
    return {"full": vector_and_matrix, "diagonal": two_vectors}.get(str(form), vectors)(settings)
