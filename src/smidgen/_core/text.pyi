"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def add_term(keys: NDArray[np.int64], ids: NDArray[np.int64], term: NDArray[np.uint8], found: int, /) -> None: ...
def count_terms(text: str, /) -> int: ...
def most_terms(letters: NDArray[np.uint8], first: int, ends: NDArray[np.int64], /) -> int: ...
def rehash(
    old_keys: NDArray[np.int64], old_ids: NDArray[np.int64], keys: NDArray[np.int64], ids: NDArray[np.int64], /
) -> None: ...
def scan_text(
    letters: NDArray[np.uint8], known: tuple[NDArray[np.int64], NDArray[np.int64]], out: NDArray[np.int64], /
) -> tuple[int, bool]: ...
def scan_texts(
    letters: NDArray[np.uint8],
    first: int,
    ends: NDArray[np.int64],
    known: tuple[NDArray[np.int64], NDArray[np.int64]],
    out: NDArray[np.int64],
    starts: NDArray[np.int64],
    /,
) -> bool: ...
def term_weight(count: int, /) -> float: ...
def term_weights(counts: NDArray[np.int64], out: NDArray[np.float64], /) -> None: ...
def weigh_texts(
    df: NDArray[np.float64],
    starts: NDArray[np.int64],
    ids: NDArray[np.int64],
    rows: NDArray[np.float64],
    values: NDArray[np.float64],
    /,
) -> None: ...
