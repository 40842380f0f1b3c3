"""scipy, where it is asked for: the only place that imports it.

The library and the service do without: rows of features are three arrays of our own (`smidgen.features`). scipy is for
people who hand its matrices over, and have it then, or want them back; and for data sets made from texts, ratings and
distributions. It comes with the extra ``smidgen[scipy]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from smidgen.errors import MissingExtra


def scipy(part: str, purpose: str) -> Any:
    """A part of scipy, such as ``"sparse"``; or a refusal that names the purpose and how to get it.

    Parameters
    ----------
    part
        The name of the part.
    purpose
        What it is needed for, as the subject of a sentence.
    """
    try:
        return import_module(f"scipy.{part}")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{purpose} needs scipy, which is not installed", 'pip install "smidgen[scipy]"') from error


def is_sparse_type(kind: type) -> bool:
    """Whether a class is one of scipy's sparse matrices or arrays, without importing scipy to find out."""
    return kind.__module__.startswith("scipy.sparse")
