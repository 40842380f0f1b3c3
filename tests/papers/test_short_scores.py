"""Scores as short integers: compiled code agrees with its plain twin to the bit, and runs in vectors."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smidgen_papers.compiled.kernel import JIT, kernel
from smidgen_papers.players import short_scores
from smidgen_papers.players.item_table import _write_utilities
from smidgen_papers.players.short_scores import (
    highest_score,
    move_scores,
    move_scores_by,
    places_from,
    write_peaks,
    write_products,
    write_scores,
)

NEAR, GRAM, PAIRS = np.zeros(128, np.int16), np.zeros(128, np.int8), np.zeros((1, 2, 256), np.int16)


@kernel
def _scores(near: Any, plus: Any, minus: Any, peaks: Any, places: Any) -> tuple[int, int, int]:
    before = highest_score(near, 32, 128)
    move_scores(near, plus, minus, 0, 96, peaks, 0)
    move_scores_by(near, plus, minus, 12345, 32, 128, peaks, 32)
    write_peaks(near, 0, 128, peaks, 64)
    return before, highest_score(peaks, 0, 96), places_from(near, 32, 128, 100, places)


@kernel
def _products(features: Any, w: Any, near: Any, products: Any) -> int:
    top = write_products(features, w, near, -8100, products)
    write_scores(products, np.float32(top), np.float32(1e-3), 3900, 20_500, -20_000, near)
    return top


@kernel
def gram_update(near: Any, plus: Any, minus: Any) -> None:
    move_scores(near, plus, minus, 0, 128, near, 0)


@kernel
def short_products(features: Any, w: Any, near: Any, products: Any) -> Any:
    return write_products(features, w, near, 0, products)


def plain(function: Any) -> Any:
    """The kernel as plain Python, on the plain twins of the instructions."""
    source = getattr(function, "py_func", getattr(function, "function", function))
    twins = {name: getattr(short_scores, name) for name in source.__code__.co_names if hasattr(short_scores, name)}
    return type(source)(source.__code__, source.__globals__ | twins)


def test_short_scores() -> None:
    rng = np.random.default_rng(1)
    near = rng.integers(-20_000, 20_000, 128).astype(np.int16)
    plus, minus = rng.integers(-127, 128, (2, 128)).astype(np.int8)
    quick, slow = ([near.copy(), plus, minus, np.zeros(96, np.int16), np.zeros(128, np.int32)] for _ in range(2))
    assert _scores(*quick) == plain(_scores)(*slow)
    for got, expected in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(got, expected)
    moved = near.astype(int)
    moved[:96] += (plus.astype(int) - minus)[:96]
    moved[32:] += np.floor(12345 / 2**15 * (plus.astype(int) - minus)[32:] + 0.5).astype(int)
    np.testing.assert_array_equal(quick[0], moved)


@pytest.mark.parametrize("pairs", [1, 3, 10])
def test_products_of_short_numbers(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    features = rng.integers(-9000, 9000, (3, pairs, 256)).astype(np.int16)
    w = rng.integers(-9000, 9000, 2 * pairs).astype(np.int16)
    near = rng.choice([5000, -9000], 384).astype(np.int16)
    quick, slow = ([features, w, near.copy(), np.zeros(384, np.int32)] for _ in range(2))
    assert _products(*quick) == plain(_products)(*slow)
    for got, expected in zip(quick, slow, strict=True):
        np.testing.assert_array_equal(got, expected)
    by_item = features.reshape(3, pairs, 128, 2).transpose(0, 2, 1, 3).reshape(384, -1)
    sums = by_item.astype(int) @ w.astype(int)
    np.testing.assert_array_equal(quick[3][near > 0], sums[near > 0])
    assert quick[2].max() == 20_500
    assert (quick[2][near < 0] == -20_000).all()


def machine_code(hot: Any, arguments: tuple[Any, ...]) -> str:
    """The machine code of a kernel for such arguments; compiled here, as cached code cannot be read."""
    import numba

    ready = hot if hasattr(hot, "py_func") else hot.compile()
    fresh = numba.njit(error_model="numpy")(ready.py_func)
    fresh(*arguments)
    (code,) = fresh.inspect_asm().values()
    return str(code)


@pytest.mark.parametrize(
    ("hot", "arguments", "wanted", "least"),
    [
        (gram_update, (NEAR, GRAM, GRAM), r"v?p(?:add|sub|maxs)w", 3),
        (short_products, (PAIRS, NEAR[:4], NEAR, np.zeros(128, np.int32)), r"v?p(?:maddwd|dpwssd)", 3),
        (
            _write_utilities,
            (np.zeros((1, 4, 32)), np.zeros((1, 4)), np.zeros((1, 32))),
            r"v?(?:mul|fmadd\d*|fnmadd\d*)p[sd]",
            4,
        ),
    ],
    ids=["scores moved along rows of G", "scores from nothing", "utilities"],
)
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the machine code of x86-64")
@pytest.mark.skipif(not JIT, reason="numba is switched off")
def test_hot_loops_run_in_vectors(hot: Callable[..., Any], arguments: tuple[Any, ...], wanted: str, least: int) -> None:
    packed = re.findall(rf"^\s+{wanted}\s", machine_code(hot, arguments), flags=re.MULTILINE)
    assert len(packed) >= least, f"{len(packed)} of {wanted}; the loop has lost its vector code"
