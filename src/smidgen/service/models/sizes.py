"""Learners that do not fit into memory are refused before they are made: one such would end the service."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from smidgen.learners import Learner
from smidgen.service.refusals import Impossible

#: The most bytes that one learner may take: an eighth of a gigabyte, which is read in a twentieth of a second.
LARGEST = 1 << 27
#: The most classes.
CLASSES = 100_000
#: How a constructor says no: to the form, to the value, to the range, to the size.
REFUSALS = (TypeError, ValueError, ArithmeticError, MemoryError)


def refuse_huge(cls: type[Learner], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments whose learner would be too large, by what its card says.

    Parameters
    ----------
    cls
        The learner.
    arguments
        Its arguments; spaces among them are made, and so are learners, which have been through here themselves.
    """
    classes = arguments.get("n_classes")
    if isinstance(classes, int) and classes > CLASSES:
        raise Impossible(f"there are {classes} classes", f"up to {CLASSES} are served")
    defaults = {name: each.default for name, each in inspect.signature(cls).parameters.items()}
    try:
        size = cls.card.size({**defaults, **arguments})
    except (AttributeError, LookupError, *REFUSALS):
        return  # of the wrong form: the constructor says so in its own words
    if size > LARGEST:
        raise Impossible(
            f"this {cls.__name__} is too large: about {size / 1e9:.1f} GB",
            f'up to {LARGEST / 1e9:.2f} GB are held per learner; fewer features will do, or "covariance": "diagonal"'
            " where the learner has it",
        )
