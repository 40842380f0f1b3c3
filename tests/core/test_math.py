"""The core's own exp, log, log1p, pow and hypot: within one unit in the last place of the exact result."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest

from smidgen._core import math as core_math

EXACT = Context(prec=60, Emax=999999, Emin=-999999)
RNG = np.random.default_rng(5)

AROUND_ONE = np.concatenate([1.0 + RNG.uniform(-1, 1, 300) * 2.0 ** -RNG.integers(1, 52, 300).astype(float)])
POSITIVE = np.concatenate(
    [AROUND_ONE, RNG.uniform(0.3, 3, 500), np.exp(RNG.uniform(-700, 700, 500)), [5e-324, 2.5e-310, 2.0**-1022, 1.7e308]]
)


def units(got: float, exact: Decimal) -> float:
    """Error of a result in units in the last place."""
    return abs(float((Decimal(got) - exact) / Decimal(float(np.spacing(abs(got))))))


def exact_exp(x: float) -> Decimal:
    return EXACT.exp(Decimal(x))


def exact_log(x: float) -> Decimal:
    return EXACT.ln(Decimal(x))


def exact_log1p(x: float) -> Decimal:
    if abs(x) < 1e-20:  # 1 + x would need too many digits
        return EXACT.subtract(Decimal(x), EXACT.divide(EXACT.multiply(Decimal(x), Decimal(x)), Decimal(2)))
    return EXACT.ln(EXACT.add(Decimal(1), Decimal(x)))


@pytest.mark.parametrize(
    ("function", "exact", "x"),
    [
        (core_math.exp, exact_exp, np.concatenate([RNG.uniform(-745, 709.7, 800), RNG.uniform(-1, 1, 300)])),
        (core_math.log, exact_log, POSITIVE),
        (core_math.log1p, exact_log1p, np.concatenate([POSITIVE, -RNG.uniform(0, 1, 400), AROUND_ONE - 1.0])),
    ],
)
def test_functions_are_within_one_unit(function: Any, exact: Callable[[float], Decimal], x: Any) -> None:
    x = x[x != 0.0]
    out = np.empty(len(x))
    function(x, out)
    worst = max(units(got, exact(each)) for each, got in zip(x.tolist(), out.tolist(), strict=True))
    assert worst <= 1.0


def test_powers_are_within_one_unit() -> None:
    x = np.concatenate(
        [RNG.uniform(0, 2, 300), 1 - 2.0 ** -RNG.integers(3, 30, 300).astype(float), np.full(300, 0.999)]
    )
    y = np.concatenate([RNG.uniform(-50, 50, 300), RNG.integers(0, 1000, 300), RNG.integers(0, 500_000, 300)])
    out = np.empty(len(x))
    core_math.pow(x, y, out)
    kept = (out > 1e-300) & (out < 1e300)
    assert kept.sum() > 800
    for base, power, got in zip(x[kept].tolist(), y[kept].tolist(), out[kept].tolist(), strict=True):
        assert units(got, EXACT.power(Decimal(base), Decimal(power))) <= 1.0


def test_hypotenuses_are_within_one_unit() -> None:
    x, y = RNG.normal(size=(2, 1000)) * np.exp(RNG.uniform(-10, 10, (2, 1000)))
    scales = np.repeat([1.0, 1e-200, 1e200, 2.0**-1000, 2.0**1000], 200)
    out = np.empty(1000)
    core_math.hypot(x * scales, y * scales, out)
    for a, b, got in zip((x * scales).tolist(), (y * scales).tolist(), out.tolist(), strict=True):
        squares = EXACT.add(EXACT.power(Decimal(a), 2), EXACT.power(Decimal(b), 2))
        assert units(got, EXACT.sqrt(squares)) <= 1.0


def test_edges_of_hypotenuses() -> None:
    inf, nan = math.inf, math.nan
    cases = [
        (0.0, 0.0),
        (-3.0, 4.0),
        (inf, nan),
        (nan, -inf),
        (nan, 1.0),
        (1e308, 1.7e308),
        (5e-324, 5e-324),
        (-2.0, 0.0),
    ]
    x, y = np.array(cases).T.copy()
    out = np.empty(len(cases))
    core_math.hypot(x, y, out)
    assert np.array_equal(out, [math.hypot(*case) for case in cases], equal_nan=True)


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (core_math.exp, {0.0: 1.0, math.inf: math.inf, -math.inf: 0.0, 710.0: math.inf, -746.0: 0.0}),
        (core_math.log, {1.0: 0.0, math.inf: math.inf, 0.0: -math.inf, -1.0: math.nan}),
        (core_math.log1p, {0.0: 0.0, math.inf: math.inf, -1.0: -math.inf, -2.0: math.nan, 1e-300: 1e-300}),
    ],
)
def test_edges(function: Any, cases: dict[float, float]) -> None:
    out = np.empty(len(cases) + 1)
    function(np.array([*cases, math.nan]), out)
    assert np.array_equal(out, [*cases.values(), math.nan], equal_nan=True)


def test_edges_of_powers() -> None:
    inf, nan = math.inf, math.nan
    cases = {
        (2.0, 0.0): 1.0,
        (1.0, nan): 1.0,
        (0.0, 2.0): 0.0,
        (0.0, -2.0): inf,
        (0.5, inf): 0.0,
        (0.5, -inf): inf,
        (2.0, 1e300): inf,
        (inf, 1.0): inf,
        (inf, -1.0): 0.0,
        (-1.0, 2.0): nan,
        (nan, 1.0): nan,
        (0.5, 1100.0): 0.0,
    }
    x, y = np.array([*cases]).T.copy()
    out = np.empty(len(cases))
    core_math.pow(x, y, out)
    assert np.array_equal(out, [*cases.values()], equal_nan=True)
