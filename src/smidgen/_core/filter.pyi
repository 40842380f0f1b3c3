"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def count_label(heard: NDArray[np.float64], relevant: bool, keep: float, width: float, /) -> None: ...
def diagonal_moments(
    S: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], /
) -> tuple[float, float]: ...
def full_moments(
    W: NDArray[np.float64], B: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], /
) -> tuple[float, float]: ...
def learn_diagonal(
    S: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], y: float, /
) -> tuple[float, float]: ...
def learn_full(
    W: NDArray[np.float64], B: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], y: float, /
) -> tuple[float, float]: ...
def p_ridge_decide(
    W: NDArray[np.float64],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    p: float,
    key: NDArray[np.uint64],
    number: int,
    /,
) -> tuple[float, bool]: ...
def p_ridge_hear(
    W: NDArray[np.float64], B: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], y: float, /
) -> bool: ...
def p_ridge_stream(
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    p: float,
    key: NDArray[np.uint64],
    items: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
    first: int,
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> None: ...
def perceptron_hear(
    w: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], relevant: bool, /
) -> bool: ...
def perceptron_margin(w: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], /) -> float: ...
def perceptron_stream(
    w: NDArray[np.float64],
    items: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> None: ...
def play_block(
    asked: tuple[
        NDArray[np.int64],
        float,
        NDArray[np.float64],
        NDArray[np.float64],
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
        NDArray[np.float64],
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int64],
    ],
    e: tuple[int, float, NDArray[np.uint64]],
    counts: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    truth: NDArray[np.bool_],
    first: int,
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> int: ...
def root_moments(
    R: NDArray[np.float64], idx: NDArray[np.uint32], val: NDArray[np.float64], /
) -> tuple[float, float]: ...
def simple_decide(memory: NDArray[np.float64], c: float, number: int, /) -> tuple[float, float]: ...
def simple_stream(
    memory: NDArray[np.float64],
    c: float,
    truth: NDArray[np.bool_],
    first: int,
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> None: ...
def stream_diagonal(
    S: NDArray[np.float64],
    e: tuple[int, float, NDArray[np.uint64]],
    counts: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    items: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
    first: int,
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> int: ...
def stream_full(
    W: NDArray[np.float64],
    B: NDArray[np.float64],
    e: tuple[int, float, NDArray[np.uint64]],
    counts: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    items: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
    first: int,
    shown: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    /,
) -> int: ...
def take_root(F: NDArray[np.float64], ridge: float, R: NDArray[np.float64], /) -> bool: ...
def taste(margin: float, surprises: float, key: NDArray[np.uint64], number: int, /) -> tuple[bool, float]: ...
def threshold_of(rule: int, c: float, t: int, heard: NDArray[np.float64], /) -> float: ...
def watch_label(watched: NDArray[np.float64], mean: float, relevant: bool, /) -> bool: ...
def write_rows_with_constant(
    rows: tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
    dim: int,
    indices: NDArray[np.uint32],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    /,
) -> None: ...
