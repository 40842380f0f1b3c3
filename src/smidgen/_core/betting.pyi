"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def lowest(u: NDArray[np.float64], v: NDArray[np.float64], alpha: float, /) -> float: ...
def write_stakes(u: NDArray[np.float64], v: NDArray[np.float64], alpha: float, out: NDArray[np.float64], /) -> None: ...
