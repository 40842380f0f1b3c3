"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def choose_priced(
    mask: NDArray[np.bool_],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    pricing: tuple[NDArray[np.float64], NDArray[np.float64]],
    /,
) -> tuple[int, int, float]: ...
def decide_columns(
    D: NDArray[np.float64],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    mask: NDArray[np.bool_],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    /,
) -> tuple[int, int, float]: ...
def decide_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    mask: NDArray[np.bool_],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    /,
) -> tuple[int, int, float]: ...
def fade_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    used: NDArray[np.int64],
    F: NDArray[np.float64],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    row: int,
    y: float,
    ridge: float,
    keep: float,
    /,
) -> int: ...
def faded_columns(
    D: NDArray[np.float64], fading: tuple[float, float, float], w: NDArray[np.float64], a: NDArray[np.float64], /
) -> None: ...
def follow_columns(
    D: NDArray[np.float64],
    marks: NDArray[np.int32],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
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
def follow_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    used: NDArray[np.int64],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
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
def hear_columns(
    D: NDArray[np.float64],
    offer: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    row: int,
    y: float,
    fading: tuple[float, float, float],
    /,
) -> int: ...
def hear_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    used: NDArray[np.int64],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    starts: NDArray[np.int64],
    row: int,
    y: float,
    numbers: NDArray[np.float64],
    /,
) -> int: ...
def play_columns(
    D: NDArray[np.float64],
    marks: NDArray[np.int32],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    played: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]], int, NDArray[np.bool_], NDArray[np.float64]
    ],
    place: tuple[int, int],
    shown: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    /,
) -> tuple[int, int]: ...
def play_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    used: NDArray[np.int64],
    F: NDArray[np.float64],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    played: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]], int, NDArray[np.bool_], NDArray[np.float64]
    ],
    place: tuple[int, int],
    shown: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    /,
) -> tuple[int, int]: ...
def sample_columns(
    D: NDArray[np.float64],
    marks: NDArray[np.int32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    mask: NDArray[np.bool_],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    pricing: tuple[NDArray[np.float64], NDArray[np.float64]],
    /,
) -> tuple[int, int, float]: ...
def sample_root(
    R: NDArray[np.float64],
    slots: NDArray[np.int32],
    used: NDArray[np.int64],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    starts: NDArray[np.int64],
    first: int,
    mask: NDArray[np.bool_],
    numbers: NDArray[np.float64],
    keys: NDArray[np.uint64],
    number: int,
    means: NDArray[np.float64],
    widths: NDArray[np.float64],
    p: NDArray[np.float64],
    pricing: tuple[NDArray[np.float64], NDArray[np.float64]],
    /,
) -> tuple[int, int, float]: ...
