"""How large a learner will be, told before it is made: one that does not fit into memory would end the service."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.refusals import Impossible

#: The most bytes that one learner may take: a gigabyte.
LARGEST = 1 << 30
#: How a constructor says no: to the form, to the value, to the range, to the size.
REFUSALS = (TypeError, ValueError, ArithmeticError, MemoryError)
_STEP = 64
_CLASSES = (4, 8)


def refuse_huge(make: Callable[[dict[str, Any]], Learner], params: dict[str, Any]) -> None:
    """Refuse settings whose learner would be too large.

    Weights grow with features times classes. Learners with a matrix grow with the square of the features: how much, is
    seen in small ones of the same settings.

    Parameters
    ----------
    make
        Makes a learner from its settings.
    params
        The settings as they came, ``dim`` and ``n_classes`` among them or in a setting that is an object itself.
    """
    dim, classes = _largest(params, "dim"), max(1, _largest(params, "n_classes"))
    if 8 * dim * classes <= LARGEST:
        square = 8 * classes * dim * dim
        if square <= LARGEST or (square := _square(make, params, classes) * dim * dim) <= LARGEST:
            return
        told, size = f"dim {dim} and a matrix of dim × dim", square
    else:
        told, size = f"dim {dim}", 8 * dim * classes
    told += f" and n_classes {classes}" if classes > 1 else ""
    raise Impossible(
        f"a learner with {told} is too large: about {size / 1e9:.1f} GB",
        f'up to {LARGEST / 1e9:.1f} GB are held per learner; fewer features will do, or "covariance": "diagonal" where'
        " the learner has it",
    )


def _square(make: Callable[[dict[str, Any]], Learner], params: dict[str, Any], classes: int) -> int:
    """How many bytes go with the square of the features, by the second difference of the sizes of small learners.

    Nothing, if small ones cannot be made of these settings: then the constructor has its own word.
    """
    per = []
    for few in _CLASSES:
        try:
            sizes = [len(make(_resized(params, factor * _STEP, few)).to_bytes()) for factor in (1, 2, 3)]
        except (SmidgenError, *REFUSALS):
            return 0
        per.append((sizes[2] - 2 * sizes[1] + sizes[0]) / (2 * _STEP**2))
    slope = (per[1] - per[0]) / (_CLASSES[1] - _CLASSES[0])
    return math.floor(per[0] + slope * max(0, classes - _CLASSES[0]) + 0.5)


def _largest(params: dict[str, Any], name: str) -> int:
    """The largest size of that name among the settings and the settings of their objects."""
    own = params.get(name)
    inner = (_largest(value, name) for value in params.values() if isinstance(value, dict))
    return max(own if isinstance(own, int) else 0, *inner, 0)


def _resized(params: dict[str, Any], dim: int, classes: int) -> dict[str, Any]:
    small = {"dim": dim, "n_classes": classes}
    return {
        name: _resized(value, dim, classes) if isinstance(value, dict) else small.get(name, value)
        for name, value in params.items()
    }
