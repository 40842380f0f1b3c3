"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def arow_learn_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    label: int,
    r: float,
    /,
) -> bool: ...
def arow_learn_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    label: int,
    r: float,
    /,
) -> bool: ...
def arow_stream_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    r: float,
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def arow_stream_full(
    W: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    r: float,
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def begin_diagonal(S: NDArray[np.float64] | NDArray[np.float32], inverse: float, /) -> None: ...
def class_scores(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def inverse_diagonal(M: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def perceptron_learn_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    action: int,
    label: int,
    /,
) -> bool: ...
def perceptron_learn_full(
    V: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    action: int,
    label: int,
    /,
) -> bool: ...
def perceptron_score_rows_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    rows: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def perceptron_score_rows_full(
    V: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    rows: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def perceptron_scores_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def perceptron_scores_full(
    V: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def perceptron_stream_diagonal(
    S: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def perceptron_stream_full(
    V: NDArray[np.float64] | NDArray[np.float32],
    B: NDArray[np.float64] | NDArray[np.float32],
    K: int,
    stream: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    shown: tuple[NDArray[np.int64], NDArray[np.int64]],
    /,
) -> None: ...
def pick(every: NDArray[np.float64] | NDArray[np.float32], scores: NDArray[np.float64], /) -> int: ...
def scores_by_class(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
