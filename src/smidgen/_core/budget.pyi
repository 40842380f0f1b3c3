"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def learn_cost(
    paid: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    names: NDArray[np.uint32],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    row: int,
    cost: float,
    /,
) -> None: ...
def pay(numbers: NDArray[np.float64], cost: float, limit: float, /) -> None: ...
def pay_rest(numbers: NDArray[np.float64], rest: float, limit: float, /) -> None: ...
def quote(
    paid: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    names: NDArray[np.uint32],
    mask: NDArray[np.bool_],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    known: NDArray[np.float64],
    limit: float,
    costs: NDArray[np.float64],
    prices: NDArray[np.float64],
    loads: NDArray[np.float64],
    /,
) -> None: ...
def share_floor(loads: NDArray[np.float64], mask: NDArray[np.bool_], /) -> None: ...
