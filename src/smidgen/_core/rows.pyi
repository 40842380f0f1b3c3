"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def copy_row(
    values: NDArray[np.float64] | NDArray[np.float32], out: NDArray[np.float64] | NDArray[np.float32], /
) -> float: ...
def sound_rows(
    indices: NDArray[np.uint32],
    values: NDArray[np.float64] | NDArray[np.float32],
    starts: NDArray[np.int64],
    dim: int,
    longest: float,
    /,
) -> bool: ...
def squares(values: NDArray[np.float64] | NDArray[np.float32], /) -> float: ...
def sum_all_rows(
    W: NDArray[np.float64] | NDArray[np.float32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def sum_cube_rows(
    B: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def sum_rows(
    W: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def sum_rows_twice(
    S: NDArray[np.float64] | NDArray[np.float32],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64] | NDArray[np.float32],
    out: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> None: ...
def take_csr_row(
    indices: NDArray[np.int32] | NDArray[np.int64],
    data: NDArray[np.float64] | NDArray[np.float32],
    starts: NDArray[np.int32] | NDArray[np.int64],
    dim: int,
    unit: bool,
    where: NDArray[np.uint32],
    values: NDArray[np.float64] | NDArray[np.float32],
    /,
) -> float: ...
def write_unit_row(
    values: NDArray[np.float64] | NDArray[np.float32], out: NDArray[np.float64] | NDArray[np.float32], /
) -> float: ...
