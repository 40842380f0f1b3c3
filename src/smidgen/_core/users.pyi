"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def enough(before: float, best: float, alpha: float, /) -> float: ...
def random_mass(target: float, strict: float, random: float, /) -> float: ...
def write_clicks(
    user: tuple[int, float, float, int, int, NDArray[np.float64], NDArray[np.float64], bool],
    shown: NDArray[np.int64],
    labels: NDArray[np.float64],
    rng: np.random.Generator,
    clicked: NDArray[np.int64],
    /,
) -> int: ...
def write_expected(
    scores: NDArray[np.float64],
    shown: NDArray[np.int64],
    discounts: NDArray[np.float64],
    user: tuple[int, float, float, int, int, NDArray[np.float64], NDArray[np.float64], bool],
    rng: np.random.Generator,
    better: NDArray[np.int64],
    /,
) -> None: ...
def write_noisy(
    labels: NDArray[np.float64], shown: NDArray[np.int64], depth: int, top: int, better: NDArray[np.int64], /
) -> None: ...
def write_strict(
    scores: NDArray[np.float64],
    shown: NDArray[np.int64],
    discounts: NDArray[np.float64],
    alpha: float,
    better: NDArray[np.int64],
    /,
) -> None: ...
