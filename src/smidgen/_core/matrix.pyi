"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def add_product(A: NDArray[np.float64], B: NDArray[np.float64], columns: int, C: NDArray[np.float64], /) -> None: ...
def combine_dense(
    rows: NDArray[np.float64], index: NDArray[np.int64], weight: NDArray[np.float64], out: NDArray[np.float64], /
) -> None: ...
def combine_sparse(
    rows: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
    index: NDArray[np.int64],
    weight: NDArray[np.float64],
    out: NDArray[np.float64],
    /,
) -> None: ...
def write_block_scores(blocks: NDArray[np.float64], w: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def write_blocks(rows: NDArray[np.float64], blocks: NDArray[np.float64], /) -> None: ...
def write_dense_differences(
    rows: NDArray[np.float64], pairs: NDArray[np.int64], out: NDArray[np.float64], /
) -> None: ...
def write_dense_scores(rows: NDArray[np.float64], w: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def write_products(
    a: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]],
    b: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
    | tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.int64]],
    dim: int,
    out: NDArray[np.float64],
    /,
) -> None: ...
def write_scores_ahead(
    X: NDArray[np.float64], first: int, last: int, then: int, w: NDArray[np.float64], out: NDArray[np.float64], /
) -> None: ...
def write_sparse_differences(
    rows: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
    pairs: NDArray[np.int64],
    out: NDArray[np.float64],
    /,
) -> None: ...
def write_sparse_scores(
    rows: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
    w: NDArray[np.float64],
    out: NDArray[np.float64],
    /,
) -> None: ...
def write_squared_lengths(
    data: NDArray[np.float64], starts: NDArray[np.int64], out: NDArray[np.float64], /
) -> None: ...
def write_unit_columns(rows: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def write_unit_queries(X: NDArray[np.float64], starts: NDArray[np.int64], out: NDArray[np.float64], /) -> None: ...
