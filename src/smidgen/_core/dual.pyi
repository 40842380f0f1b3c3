"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def class_absorb(
    G: NDArray[np.float64], solved: NDArray[np.float64], start: float, width: float, /
) -> tuple[float, float]: ...
def class_moments(
    coefficients: NDArray[np.float64],
    c: int,
    k: NDArray[np.float64],
    members: NDArray[np.int64],
    G: NDArray[np.float64],
    own: float,
    start: float,
    lengths: NDArray[np.float64],
    solved: NDArray[np.float64],
    /,
) -> tuple[float, float]: ...
def example_moments(
    kept: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
    ],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    /,
) -> tuple[float, float]: ...
def forget_first(
    kept: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
    ],
    y: NDArray[np.float64],
    /,
) -> None: ...
def learn_example(
    kept: tuple[
        tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.int64]],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        float,
    ],
    idx: NDArray[np.uint32],
    val: NDArray[np.float64],
    y: float,
    /,
) -> tuple[float, float]: ...
def linear_kernel(X: NDArray[np.float64], Z: NDArray[np.float64], out: NDArray[np.float64], /) -> None: ...
def poly_kernel(
    X: NDArray[np.float64], Z: NDArray[np.float64], degree: float, offset: float, out: NDArray[np.float64], /
) -> None: ...
def rbf_kernel(X: NDArray[np.float64], Z: NDArray[np.float64], gamma: float, out: NDArray[np.float64], /) -> None: ...
def write_class_scores(
    coefficients: NDArray[np.float64], k: NDArray[np.float64], out: NDArray[np.float64], /
) -> None: ...
