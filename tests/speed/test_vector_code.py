"""A guard against slow kernels that is not a stopwatch: the hot ones must be made of vector instructions.

A small change of a loop can make the compiler give up, and the kernel several times slower, while every result stays
the same. So each hot kernel is compiled anew here, and its machine code is searched for packed arithmetic: instructions
that do several numbers at once. To guard another kernel, add a row to `KERNELS`.

The scores of documents (`dense_scores`) are not here: each of their sums runs in the order of the features, so that
sparse and dense rows agree to the bit, and four of them run side by side without vectors.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smidgen._kernel import JIT, kernel
from smidgen.evaluate.players.item_table import _write_utilities
from smidgen.features.row_scores import scores_ahead
from smidgen.geometry.symmetric import _shrink_panels, multiply, shrink, shrink_and_multiply
from smidgen.learners.rank.fair_pairs import adagrad_pairs
from smidgen.optim.newton import newton_move
from smidgen.randomness import directions_scratch, unit_directions
from smidgen.state.classes import class_scores
from smidgen.state.diagonal import diagonal_moments
from smidgen.state.full import full_absorb, full_products
from smidgen.state.root import write_moments, write_step
from smidgen.vector.places import rank_eight
from smidgen.vector.short_scores import move_scores, write_products

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the machine code of x86-64"),
    pytest.mark.skipif(not JIT, reason="numba is switched off"),
]

IDX = np.arange(8, dtype=np.uint32)

ROOT, SCRATCH = (np.zeros((8, 16)), np.zeros(0, np.int32)), (np.zeros(0, np.uint32), np.zeros(0))
STARTS, SPREADS = np.zeros(0, np.int64), (np.zeros((1, 16)), (np.zeros(1), np.zeros(1), np.zeros(1)))
NEAR, GRAM, PAIRS = np.zeros(128, np.int16), np.zeros(128, np.int8), np.zeros((1, 2, 256), np.int16)


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.zeros(shape, dtype)


@kernel
def gram_update(near: Any, plus: Any, minus: Any) -> None:
    move_scores(near, plus, minus, 0, 128, near, 0)


@kernel
def short_products(features: Any, w: Any, near: Any, products: Any) -> Any:
    return write_products(features, w, near, 0, products)


@kernel
def places(scores: Any, order: Any) -> None:
    rank_eight(scores, 8, 0, 20, order)


@kernel
def directions(key: Any, out: Any, words: Any, scratch: Any) -> None:
    unit_directions(key, np.uint64(1), 20, out, words, scratch)


def sparse_product(dtype: str) -> tuple[Any, ...]:
    return numbers(8, 20, dtype=dtype), IDX, numbers(8, dtype=dtype), numbers(20, dtype=dtype)


def both_moments(dtype: str) -> tuple[Any, ...]:
    return numbers(8, 40, dtype=dtype), IDX, numbers(8, dtype=dtype), numbers(2, 20, dtype=dtype)


PASS = (numbers(8, 8), numbers(2, 8), numbers(8), numbers(8), False)

#: A name, a kernel, arguments of the types that it meets, and how many packed multiplications there must be at least.
KERNELS: list[tuple[str, Callable[..., Any], tuple[Any, ...], int]] = [
    ("W1: sparse row times classes, float32", class_scores, sparse_product("float32"), 40),
    ("W1: sparse row times classes, float64", class_scores, sparse_product("float64"), 40),
    ("W1: means and widths, float32", diagonal_moments, both_moments("float32"), 60),
    ("W1: means and widths, float64", diagonal_moments, both_moments("float64"), 60),
    ("full covariance: products", full_products, (numbers(8, 4, 8), IDX, numbers(8), numbers(4, 8)), 40),
    ("full covariance: update", full_absorb, (numbers(8, 4, 8), 0, numbers(8), 1.0), 2),
    ("W2b: rank-one update and product in one pass", shrink_and_multiply, PASS, 4),
    ("W2b: the same in panels", _shrink_panels, PASS, 4),
    ("W2b: symmetric product", multiply, (numbers(8, 8), numbers(8), numbers(8), False), 4),
    ("W2b: rank-one update", shrink, (numbers(8, 8), numbers(8)), 1),
    ("W3: utilities", _write_utilities, (numbers(1, 4, 32), numbers(1, 4), numbers(1, 32)), 4),
    ("W7: AdaGrad on pairs", adagrad_pairs, (numbers(2, 8), 1.0, numbers(8), numbers(8)), 2),
    ("W8: estimates and spreads", write_moments, (*ROOT, (IDX, numbers(8), STARTS), 0, 1.0, SCRATCH, *SPREADS), 40),
    ("W8: step of the root", write_step, (*ROOT, np.ones(1, np.int64), IDX, numbers(8), 1.0, SCRATCH, numbers(16)), 40),
    ("W4: directions", directions, (np.zeros(2, np.uint64), *directions_scratch(20, 8)), 40),
    ("W4: Newton step", newton_move, (*PASS[:3], numbers(8), 1.0, 1.0, numbers(8), False), 4),
]


def machine_code(hot: Any, arguments: tuple[Any, ...]) -> str:
    """The machine code of a kernel for such arguments; compiled here, as cached code cannot be read."""
    import numba

    ready = hot if hasattr(hot, "py_func") else hot.compile()
    fresh = numba.njit(error_model="numpy")(ready.py_func)
    fresh(*arguments)
    (code,) = fresh.inspect_asm().values()
    return str(code)


@pytest.mark.parametrize(("hot", "arguments", "least"), [row[1:] for row in KERNELS], ids=[row[0] for row in KERNELS])
def test_hot_kernels_are_made_of_vector_instructions(
    hot: Callable[..., Any], arguments: tuple[Any, ...], least: int
) -> None:
    code = machine_code(hot, arguments)
    packed = re.findall(r"^\s+v?(?:mul|fmadd\d*|fnmadd\d*)p[sd]\s", code, flags=re.MULTILINE)
    assert len(packed) >= least, f"{len(packed)} packed multiplications; the loop has lost its vector code"


def test_scores_of_documents_ask_memory_ahead() -> None:
    code = machine_code(scores_ahead, (numbers(8, 16), 0, 8, 0, numbers(16)))
    assert len(re.findall(r"^\s+prefetcht1\s", code, flags=re.MULTILINE)) >= 4


@pytest.mark.parametrize(
    ("hot", "arguments", "wanted"),
    [
        (gram_update, (NEAR, GRAM, GRAM), r"v?p(?:add|sub|maxs)w"),
        (short_products, (PAIRS, NEAR[:4], NEAR, np.zeros(128, np.int32)), r"v?p(?:maddwd|dpwssd)"),
        (places, (numbers(20), np.zeros(20, np.int64)), r"v?cmp\w*pd"),
    ],
    ids=["W3: scores moved along rows of G", "W3: scores from nothing", "W7: places by counting"],
)
def test_counts_and_comparisons_run_in_vectors(
    hot: Callable[..., Any], arguments: tuple[Any, ...], wanted: str
) -> None:
    packed = re.findall(rf"^\s+{wanted}\s", machine_code(hot, arguments), flags=re.MULTILINE)
    assert len(packed) >= 3, f"{len(packed)} of {wanted}; the loop has lost its vector code"


def test_the_guard_sees_a_loop_that_is_not_packed() -> None:
    import numba

    @numba.njit(error_model="numpy")
    def in_order(x: Any) -> float:
        total = 1.0
        for value in x:  # each product waits for the one before: nothing to do at once
            total *= value
        return total

    code = machine_code(in_order, (numbers(8),))
    assert re.search(r"^\s+v?mulsd\s", code, flags=re.MULTILINE)
    assert not re.search(r"^\s+v?mulp[sd]\s", code, flags=re.MULTILINE)
