"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def add_to_class(
    W: NDArray[np.float64] | NDArray[np.float32],
    c: int,
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    rate: float,
    /,
) -> None: ...
def banditron_choose(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    gamma: float,
    key: NDArray[np.uint64],
    number: int,
    scores: NDArray[np.float64],
    /,
) -> tuple[int, int, float]: ...
def banditron_follow(
    W: NDArray[np.float64],
    K: int,
    gamma: float,
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
def banditron_stream(
    W: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    gamma: float,
    key: NDArray[np.uint64],
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    first: int,
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def banditron_update(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    action: int,
    greedy: int,
    right: bool,
    propensity: float,
    /,
) -> None: ...
def perceptron_stream(
    W: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def score_classes(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    scores: NDArray[np.float64],
    /,
) -> int: ...
def scores_by_class(
    W: NDArray[np.float64] | NDArray[np.float32],
    rows: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def scores_by_feature(
    W: NDArray[np.float64] | NDArray[np.float32],
    rows: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def tie_shares(bounds: NDArray[np.float64], floor: float, out: NDArray[np.float64], /) -> None: ...
