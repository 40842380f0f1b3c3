"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def cost(kind: int, score: float, target: float, /) -> tuple[float, float]: ...
def write_costs(
    kind: int,
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    losses: NDArray[np.float64],
    slopes: NDArray[np.float64],
    /,
) -> None: ...
