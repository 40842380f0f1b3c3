"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def constraint_shifts(
    means: NDArray[np.float64], widths: NDArray[np.float64], alpha: float, out: NDArray[np.float64], /
) -> None: ...
def count_round(numbers: NDArray[np.float64], columns: int, width: float, growth: float, /) -> None: ...
def decide_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    scores: NDArray[np.float64],
    eps: NDArray[np.float64],
    /,
) -> tuple[int, int, int]: ...
def decide_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    P: NDArray[np.float64] | NDArray[np.float32],
    scores: NDArray[np.float64],
    eps: NDArray[np.float64],
    /,
) -> tuple[int, int, int]: ...
def follow_diagonal(
    S: NDArray[np.float64],
    K: int,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    way: tuple[
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    trip: tuple[NDArray[np.int64], NDArray[np.int64]],
    begin: int,
    end: int,
    noted: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    /,
) -> int: ...
def follow_full(
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    K: int,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    way: tuple[
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    trip: tuple[NDArray[np.int64], NDArray[np.int64]],
    begin: int,
    end: int,
    noted: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    /,
) -> int: ...
def learn_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    c: int,
    reward: float,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> bool: ...
def learn_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    c: int,
    reward: float,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    P: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> bool: ...
def prepare(
    moments: NDArray[np.float64],
    K: int,
    s: tuple[float, float, bool, float, float, bool, bool],
    numbers: NDArray[np.float64],
    /,
) -> bool: ...
def row_scales(
    values: NDArray[np.float64] | NDArray[np.float32], starts: NDArray[np.int64], out: NDArray[np.float64], /
) -> None: ...
def show(
    moments: NDArray[np.float64],
    s: tuple[float, float, bool, float, float, bool, bool],
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    scores: NDArray[np.float64],
    eps: NDArray[np.float64],
    /,
) -> tuple[int, int, int]: ...
def sign_of(reward: float, alpha: float, key: NDArray[np.uint64], number: int, /) -> float: ...
def stream_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    played: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        NDArray[np.float64],
        int,
        tuple[NDArray[np.int64], NDArray[np.int64]],
    ]
    | tuple[
        tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        NDArray[np.float64],
        int,
        tuple[NDArray[np.int64], NDArray[np.int64]],
    ],
    /,
) -> None: ...
def stream_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    played: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        NDArray[np.float64],
        int,
        tuple[NDArray[np.int64], NDArray[np.int64]],
    ]
    | tuple[
        tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        NDArray[np.float64],
        int,
        tuple[NDArray[np.int64], NDArray[np.int64]],
    ],
    /,
) -> None: ...
