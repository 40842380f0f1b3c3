"""What offline estimates are given, checked at the entrance."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument


def as_alpha(alpha: Any) -> float:
    """Check an error probability."""
    hint = "give the probability with which an interval may fail, e.g. alpha=0.05"
    value = checks.number("alpha", alpha, hint, above=0.0)
    if not value < 1.0:
        raise InvalidArgument(f"alpha is {alpha!r} and must be < 1", hint)
    return value


def as_numbers(name: str, given: Any, least: float, most: float, *, ndim: int = 1) -> FloatArray:
    """Check a list, or a table, of numbers within limits."""
    what = "one number per round" if ndim == 1 else "one row per round, with a number per candidate"
    hint = f"give {what}, from {least:g} to {most:g}"
    try:
        array = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"{name} is not an array of numbers: {error}", hint) from error
    if array.ndim != ndim or not array.size or array.dtype.kind not in "fiub":
        raise InvalidArgument(f"{name} has shape {array.shape} and dtype {array.dtype}", hint)
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    within = (numbers >= least) & (numbers <= most)
    if not within.all():  # NaN too
        raise InvalidArgument(f"{name} holds {numbers[~within][0]:g} and must be in [{least:g}, {most:g}]", hint)
    return numbers


def as_propensities(given: Any) -> FloatArray:
    """Check the probabilities of what was shown: none of them is 0."""
    p = as_numbers("propensities", given, 0.0, 1.0)
    if not (p > 0.0).all():
        raise InvalidArgument(
            "propensities holds 0 and must be > 0", "what was shown had a chance: give decision.propensity"
        )
    return p


def as_policy(name: str, given: Any) -> FloatArray:
    """Check the probabilities of all candidates: each row adds up to 1."""
    p = as_numbers(name, given, 0.0, 1.0, ndim=2)
    wrong = np.abs(p.sum(axis=1) - 1.0) > 1e-6
    if wrong.any():
        total = float(p[wrong][0].sum())
        raise InvalidArgument(f"a row of {name} adds up to {total:g} and must to 1", "give probabilities")
    return p


def as_actions(given: Any, K: int) -> IntArray:
    """Check which candidate was shown in each round."""
    hint = f"give one of 0 … {K - 1} per round"
    try:
        actions = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"actions is not an array: {error}", hint) from error
    if actions.ndim != 1 or actions.dtype.kind not in "iu":
        raise InvalidArgument(f"actions has shape {actions.shape} and dtype {actions.dtype}", hint)
    if len(actions) and not (actions.min() >= 0 and actions.max() < K):
        raise InvalidArgument(f"actions holds an index outside 0 … {K - 1}", hint)
    return actions.astype(np.int64)


def same_length(**given: Any) -> int:
    """Check that all have one entry per round; returns how many rounds there are."""
    lengths = {name: len(array) for name, array in given.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InvalidArgument(f"the numbers of rounds differ: {told}", "give one entry per round in each")
    return next(iter(lengths.values()))
