"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def ask(
    s: tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    kappa: float,
    f: float,
    key: NDArray[np.uint64],
    number: int,
    limits: NDArray[np.float64],
    context: NDArray[np.float64],
    safe: tuple[NDArray[np.float64], float],
    x: NDArray[np.float64],
    greedy: NDArray[np.float64],
    /,
) -> tuple[bool, float]: ...
def begin(
    s: tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    /,
) -> None: ...
def candidates(best: NDArray[np.float64], key: NDArray[np.uint64], number: int, Z: NDArray[np.float64], /) -> None: ...
def expect(
    s: tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    f: float,
    context: NDArray[np.float64],
    limits: NDArray[np.float64],
    x: NDArray[np.float64],
    /,
) -> tuple[float, float]: ...
def from_box(x: NDArray[np.float64], limits: NDArray[np.float64], out: NDArray[np.float64], /) -> bool: ...
def learn(
    s: tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    f: float,
    z: NDArray[np.float64],
    context: NDArray[np.float64],
    loss: float,
    safe: tuple[NDArray[np.float64], float],
    key: NDArray[np.uint64],
    number: int,
    /,
) -> bool: ...
def log_share(low: float, high: float, value: float, /) -> float: ...
def log_value(low: float, high: float, share: float, /) -> float: ...
def to_box(z: NDArray[np.float64], limits: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
