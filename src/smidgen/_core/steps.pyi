"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def exponentiated_move(
    theta: NDArray[np.float64],
    d: NDArray[np.float64],
    bound: float,
    t: int,
    signed: bool,
    end: NDArray[np.float64],
    w: NDArray[np.float64],
    /,
) -> float: ...
def learn(
    program: tuple[
        int,
        int,
        float,
        float,
        int,
        bool,
        tuple[int, int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    ],
    memory: tuple[
        int,
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int64],
    ],
    directions: NDArray[np.float64],
    /,
) -> int: ...
def move(
    start: NDArray[np.float64], direction: NDArray[np.float64], rate: float, end: NDArray[np.float64], /
) -> float: ...
def newton_move(
    B: NDArray[np.float64],
    waiting: NDArray[np.float64],
    d: NDArray[np.float64],
    w: NDArray[np.float64],
    gamma: float,
    factor: float,
    end: NDArray[np.float64],
    back: bool,
    /,
) -> float: ...
def normalize(theta: NDArray[np.float64], signed: bool, w: NDArray[np.float64], /) -> None: ...
def scale(x: NDArray[np.float64], factor: float, out: NDArray[np.float64], /) -> None: ...
def soft_move(w: NDArray[np.float64], d: NDArray[np.float64], weight: float, end: NDArray[np.float64], /) -> float: ...
