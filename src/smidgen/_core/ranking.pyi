"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def all_finite(scores: NDArray[np.float64], /) -> bool: ...
def best_available(scores: NDArray[np.float64], available: NDArray[np.bool_], /) -> int: ...
def first_fault(order: NDArray[np.int64], n: int, /) -> int: ...
def rank_finite(scores: NDArray[np.float64], order: NDArray[np.int64], /) -> bool: ...
def vanishes(delta: NDArray[np.float64], /) -> bool: ...
def write_best_utilities(
    starts: NDArray[np.int64], scores: NDArray[np.float64], discounts: NDArray[np.float64], out: NDArray[np.float64], /
) -> None: ...
def write_difference(
    docs: NDArray[np.float64],
    better: NDArray[np.int64],
    shown: NDArray[np.int64],
    discounts: NDArray[np.float64],
    out: NDArray[np.float64],
    /,
) -> bool: ...
def write_merged(
    better: NDArray[np.int64],
    shown: NDArray[np.int64],
    discounts: NDArray[np.float64],
    n: int,
    touched: NDArray[np.int64],
    weights: NDArray[np.float64],
    /,
) -> bool: ...
def write_ranked(scores: NDArray[np.float64], order: NDArray[np.int64], /) -> bool: ...
