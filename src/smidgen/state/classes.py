"""One weight vector per class, stored by feature: the weights of all classes for one feature lie side by side.

A sparse example touches few features and all classes, so this layout reads memory in the order in which it lies
(class by class it would be an order of magnitude slower). The number of classes is padded to a multiple of four.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = NDArray[Any]  # float64 or float32
Indices = NDArray[np.uint32]


def padded(n_classes: int) -> int:
    """The number of columns that ``n_classes`` take."""
    return -(-n_classes // 4) * 4
