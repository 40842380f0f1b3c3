"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

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
) -> tuple[int, int, float, int]: ...
def decide_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    more: float,
    numbers: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    P: NDArray[np.float64] | NDArray[np.float32],
    scores: NDArray[np.float64],
    eps: NDArray[np.float64],
    /,
) -> tuple[int, int, float, int]: ...
def finite_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    more: float,
    moments: NDArray[np.float64] | NDArray[np.float32],
    P: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> bool: ...
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
    use: tuple[NDArray[np.int32], float],
    /,
) -> int: ...
def give_slots(
    slots: NDArray[np.int32],
    columns: NDArray[np.uint32],
    used: int,
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> int: ...
def learn_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    c: int,
    reward: float,
    numbers: NDArray[np.float64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> bool: ...
def learn_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    c: int,
    reward: float,
    numbers: NDArray[np.float64],
    number: int,
    moments: NDArray[np.float64] | NDArray[np.float32],
    P: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> bool: ...
def rounds_within(
    slots: NDArray[np.int32],
    used: int,
    limit: int,
    indices: NDArray[np.uint32],
    values: NDArray[np.float64] | NDArray[np.float32],
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    /,
) -> tuple[int, int]: ...
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
    use: tuple[NDArray[np.int32], NDArray[np.uint32], int, float],
    /,
) -> int: ...
def take_slots(
    slots: NDArray[np.int32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    where: NDArray[np.uint32],
    values: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> tuple[int, int, float]: ...
