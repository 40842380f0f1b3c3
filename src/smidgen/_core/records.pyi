"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def add_category(table: NDArray[np.int64], known: NDArray[np.uint8], first: int, last: int, found: int, /) -> None: ...
def count_numbers(lines: NDArray[np.float64], slots: NDArray[np.int64], raw: NDArray[np.float64], /) -> None: ...
def find_categories(
    table: NDArray[np.int64],
    known: NDArray[np.uint8],
    strings: tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], int],
    ids: NDArray[np.int64],
    /,
) -> int: ...
def lay_record(
    categories: list[int],
    slots: list[int],
    raw: list[float],
    scale: bool,
    text: str,
    known: tuple[NDArray[np.int64], NDArray[np.int64]],
    terms: NDArray[np.int64],
    texts: float,
    memory: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64], NDArray[np.uint32]],
    columns: NDArray[np.uint32],
    values: NDArray[np.float64],
    /,
) -> tuple[int, int, int]: ...
def lay_rows(
    rows: NDArray[np.int64],
    columns: NDArray[np.uint32],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    laid: NDArray[np.uint32],
    worth: NDArray[np.float64],
    /,
) -> int: ...
def lay_sheet(
    ones: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    numbers: tuple[NDArray[np.float64], NDArray[np.uint32]],
    words: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    columns: NDArray[np.uint32],
    starts: NDArray[np.int64],
    laid: NDArray[np.int32],
    worth: NDArray[np.float64],
    /,
) -> int: ...
def lay_vector(given: NDArray[np.float32], along: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def standardize(
    lines: NDArray[np.float64], slots: NDArray[np.int64], raw: NDArray[np.float64], out: NDArray[np.float64], /
) -> int: ...
def standardize_column(line: NDArray[np.float64], values: NDArray[np.float64], /) -> None: ...
def take_vector(values: list[float], most: float, out: NDArray[np.float32], /) -> int: ...
def vector_cosine(a: NDArray[np.float32], b: NDArray[np.float32], /) -> float: ...
