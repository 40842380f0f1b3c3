"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def add_phrase(table: NDArray[np.int64], text: tuple[NDArray[np.uint32], NDArray[np.uint8]], kind: int, /) -> None: ...
def read_text(
    text: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    folded: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    phrases: NDArray[np.int64],
    row: NDArray[np.float64],
    traits: NDArray[np.float64],
    tokens: NDArray[np.int64],
    /,
) -> int: ...
def token_distance(before: NDArray[np.int64], after: NDArray[np.int64], cells: int, /) -> int: ...
