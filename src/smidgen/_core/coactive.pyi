"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def credit(shown: NDArray[np.int64], teams: NDArray[np.int64], better: NDArray[np.int64], top: int, /) -> int: ...
def follow(
    c: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    begin: int,
    end: int,
    p: tuple[
        int,
        int,
        float,
        float,
        int,
        bool,
        tuple[int, int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    ],
    m: tuple[
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
    orders: NDArray[np.int64],
    weights: NDArray[np.float64],
    /,
) -> int: ...
def rounds(
    q: tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    order: NDArray[np.int64],
    p: tuple[
        int,
        int,
        float,
        float,
        int,
        bool,
        tuple[int, int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    ],
    m: tuple[
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
    duel: tuple[bool, float, float, NDArray[np.uint64], NDArray[np.uint64]],
    user: tuple[int, float, float, int, int, NDArray[np.float64], NDArray[np.float64], bool],
    record: tuple[NDArray[np.int64], NDArray[np.float64]],
    rng: np.random.Generator,
    /,
) -> int: ...
def team_clicks(shown: NDArray[np.int64], teams: NDArray[np.int64], clicked: NDArray[np.int64], /) -> int: ...
def team_draft(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    coins: NDArray[np.float64],
    order: NDArray[np.int64],
    teams: NDArray[np.int64],
    /,
) -> None: ...
def write_differences(
    X: NDArray[np.float64],
    starts: NDArray[np.int64],
    where: NDArray[np.int64],
    discounts: NDArray[np.float64],
    cuts: NDArray[np.int64],
    better: NDArray[np.int64],
    shown: NDArray[np.int64],
    deltas: NDArray[np.float64],
    /,
) -> bool: ...
