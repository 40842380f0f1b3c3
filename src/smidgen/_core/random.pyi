"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def fill_normals(key: NDArray[np.uint64], number: int | np.uint64, part: int, out: NDArray[np.float64], /) -> None: ...
def fill_uniforms(key: NDArray[np.uint64], number: int | np.uint64, out: NDArray[np.float64], /) -> None: ...
def normals_of(words: NDArray[np.uint64], out: NDArray[np.float64], /) -> None: ...
def perturb(
    key: NDArray[np.uint64],
    number: int | np.uint64,
    y: NDArray[np.float64],
    reach: float,
    v: NDArray[np.float64],
    z: NDArray[np.float64],
    /,
) -> None: ...
def unit_direction(key: NDArray[np.uint64], number: int | np.uint64, out: NDArray[np.float64], /) -> None: ...
