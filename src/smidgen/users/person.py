"""A simulated user as compiled loops of rankings know it: who it is, and what it is set to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray

STRICT, NOISY, EXPECTED, CLICKING = range(4)  # kinds of users


class Person(NamedTuple):
    """The settings of a user. A kind reads its own fields."""

    kind: int
    alpha: float = 1.0
    strict: float = 1.0
    depth: int = 1
    randoms: int = 1
    attract: FloatArray = np.zeros((1, 1))  # the tables of a `ClickUser`
    stop: FloatArray = np.zeros((1, 1))
    tells: bool = False  # its clicks, not the better ranking that they stand for
