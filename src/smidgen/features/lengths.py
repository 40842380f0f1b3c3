"""How long rows of features are, at every magnitude that floating point has."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from smidgen.features.rows import DenseRows, Rows

#: No length is told as more than this.
END = math.ldexp(1.0, 1000)


def longest_row(rows: Rows) -> float:
    """The length of the longest row; 0 if all are zero."""
    if isinstance(rows, DenseRows):
        return longest(rows.array)
    largest = float(np.abs(rows.data).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    squares = np.add.reduceat(np.append((rows.data / largest) ** 2, 0.0), rows.indptr[:-1])
    squares[np.diff(rows.indptr) == 0] = 0.0
    return min(largest * math.sqrt(float(squares.max())), END)


def longest(rows: NDArray[np.float64]) -> float:
    """The same for the rows of a dense matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen.features.lengths import longest
    >>> longest(np.array([[3e200, 4e200], [1.0, 0.0]]))
    5e+200
    """
    squares = max(np.einsum("ij,ij->i", rows, rows).tolist(), default=0.0)
    if 1e-200 < squares < math.inf:
        return math.sqrt(squares)
    with np.errstate(over="ignore", under="ignore"):
        largest = float(np.abs(rows).max(initial=0.0))
        if largest == 0.0:
            return 0.0
        shares = rows / largest
        return min(largest * math.sqrt(float(np.einsum("ij,ij->i", shares, shares).max())), END)


def longest_of_each(rows: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """What `longest` gives of each of several matrices that stand below one another; ``starts`` has their ends too."""
    with np.errstate(over="ignore", under="ignore"):
        squares = np.maximum.reduceat(np.einsum("ij,ij->i", rows, rows), starts[:-1])
    out: NDArray[np.float64] = np.sqrt(squares)
    for i in np.flatnonzero(~((squares > 1e-200) & (squares < math.inf))).tolist():
        out[i] = longest(rows[starts[i] : starts[i + 1]])
    return out
