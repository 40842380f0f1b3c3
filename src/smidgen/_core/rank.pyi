"""Entry points of the compiled core: `make core` writes this file from their table."""

import numpy as np
from numpy.typing import NDArray

def adagrad_pairs(
    deltas: NDArray[np.float64], step: float, w: NDArray[np.float64], squares: NDArray[np.float64], /
) -> bool: ...
def count_clicks(
    order: NDArray[np.int64],
    clicked: NDArray[np.int64],
    weight: NDArray[np.float64],
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    /,
) -> None: ...
def draw_with_chance(
    scores: NDArray[np.float64],
    key: NDArray[np.uint64],
    number: int | np.uint64,
    places: int,
    order: NDArray[np.int64],
    /,
) -> float: ...
def drawn_rounds(
    q: tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    order: NDArray[np.int64],
    s: tuple[int, int, NDArray[np.uint64], float, float, bool],
    m: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
    user: tuple[int, float, float, int, int, NDArray[np.float64], NDArray[np.float64], bool],
    record: tuple[NDArray[np.int64], NDArray[np.float64]],
    rng: np.random.Generator,
    /,
) -> int: ...
def exchange_odds(
    scores: NDArray[np.float64], order: NDArray[np.int64], places: int, i: int, j: int, /
) -> tuple[float, bool]: ...
def exchange_pairs(
    shown: NDArray[np.int64], teams: NDArray[np.int64], standing: NDArray[np.int64], better: NDArray[np.int64], /
) -> bool: ...
def log_probability(scores: NDArray[np.float64], order: NDArray[np.int64], places: int, /) -> float: ...
def pair_coefficients(
    scores: NDArray[np.float64],
    shown: NDArray[np.int64],
    standing: NDArray[np.int64],
    places: int,
    clicks: bool,
    step: float,
    out: NDArray[np.float64],
    /,
) -> bool: ...
def preferred_pairs(
    shown: NDArray[np.int64],
    teams: NDArray[np.int64],
    standing: NDArray[np.int64],
    clicks: bool,
    pairs: NDArray[np.int64],
    /,
) -> int: ...
def stand_clicked(shown: NDArray[np.int64], clicked: NDArray[np.int64], standing: NDArray[np.int64], /) -> int: ...
def stand_placed(better: NDArray[np.int64], standing: NDArray[np.int64], /) -> None: ...
def swap_with_chance(
    key: NDArray[np.uint64],
    number: int | np.uint64,
    depth: int,
    swap: float,
    alternate: bool,
    order: NDArray[np.int64],
    teams: NDArray[np.int64],
    /,
) -> float: ...
def weigh_drawn(
    scores: NDArray[np.float64], order: NDArray[np.int64], overlap: bool, out: NDArray[np.float64], /
) -> None: ...
def weigh_swapped(
    greedy: NDArray[np.int64],
    order: NDArray[np.int64],
    teams: NDArray[np.int64],
    swap: float,
    out: NDArray[np.float64],
    /,
) -> None: ...
