"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def cosine(turns: float, /) -> float: ...
def count_reward(book: NDArray[np.float64], reward: float, /) -> bool: ...
def decide_bank(
    bank: tuple[
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.uint32], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    names: NDArray[np.uint32],
    blocks: tuple[
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.int32],
        float,
    ],
    mask: NDArray[np.bool_],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    /,
) -> tuple[int, int, float]: ...
def follow_errors(book: NDArray[np.float64], plain: float, first: float, second: float, /) -> None: ...
def learn_bank(
    bank: tuple[
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.uint32], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    names: NDArray[np.uint32],
    blocks: tuple[
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.int32],
        float,
    ],
    row: int,
    y: float,
    counts: bool,
    /,
) -> int: ...
def learn_class(
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    c: int,
    reward: float,
    wrong: float,
    /,
) -> float: ...
def play_bank(
    bank: tuple[
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]],
        tuple[NDArray[np.uint32], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    stride: int,
    masks: NDArray[np.bool_],
    rewards: NDArray[np.float64],
    keys: NDArray[np.uint64],
    first: int,
    begin: int,
    actions: NDArray[np.int64],
    greedy: NDArray[np.int64],
    shares: NDArray[np.float64],
    /,
) -> tuple[int, int]: ...
def seen_row(
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    dim: int,
    curved: bool,
    directions: tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint64]],
    where: NDArray[np.uint32],
    what: NDArray[np.float64],
    /,
) -> int: ...
