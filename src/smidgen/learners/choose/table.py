"""A stream of choices with the rewards of all candidates, checked, for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.features import as_stream, check_dim
from smidgen.features.rows import DenseRows, check_finite, is_sparse
from smidgen.learners.choose.round import Played
from smidgen.state.offers import Offer, offer


def as_played(items: Any, rewards: Any, available: Any, dim: int) -> Played:
    """What `RewardLearner.run` plays: rows, the stride from round to round, masks, rewards."""
    table = _rewards(rewards)
    T, K = table.shape
    rows, n = _sparse(items, dim) if is_sparse(items) else _dense(items, T, K, dim)
    if n not in (K, T * K):
        raise InvalidFeatures(f"items has {n} rows and rewards is {T} × {K}", f"give {K} rows, or {K} for each round")
    shared = n == K and (T > 1 or np.ndim(items) == 2)
    return rows, 0 if shared else K, _masks(available, T, K), table


def _sparse(items: Any, dim: int) -> tuple[Offer, int]:
    """The rows of a sparse matrix, and how many there are; not copied, since a stream is over before it can change."""
    rows = as_stream(items, dim, np.float64)
    return rows, len(rows[2]) - 1


def _dense(items: Any, T: int, K: int, dim: int) -> tuple[Offer, int]:
    """The same of an array."""
    matrix = np.ascontiguousarray(_matrix(items, T, K))
    if matrix.dtype.kind not in "fiub" or matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidFeatures(
            f"items has shape {matrix.shape} and dtype {matrix.dtype}", "give T × K × dim numbers, or K × dim"
        )
    rows = DenseRows(matrix.astype(np.float64, copy=False))
    check_dim(rows, dim, "items")
    check_finite(rows.array, "items", "give finite numbers")
    return offer(rows), rows.shape[0]


def _matrix(items: Any, T: int, K: int) -> Any:
    """The rows of all rounds one under the other."""
    try:
        given = np.asarray(items)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"items is not an array: {error}", "give T × K × dim numbers, or K × dim") from error
    if given.ndim == 3:
        if given.shape[:2] != (T, K):
            raise InvalidFeatures(
                f"items has shape {given.shape} and rewards is {T} × {K}", f"give {T} × {K} × dim numbers, or {K} × dim"
            )
        return given.reshape(T * K, given.shape[2])
    return given


def _rewards(rewards: Any) -> FloatArray:
    hint = "give one row per round, and in it a number in [0, 1] per candidate"
    try:
        table = np.ascontiguousarray(rewards)
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"rewards is not a table: {error}", hint) from error
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fiub":
        raise InvalidArgument(f"rewards has shape {table.shape} and dtype {table.dtype}", hint)
    table = table.astype(np.float64, copy=False)
    if not ((table >= 0.0) & (table <= 1.0)).all():  # NaN too
        wrong = table[~((table >= 0.0) & (table <= 1.0))][0]
        raise InvalidArgument(f"rewards holds {wrong} and must be in [0, 1]", hint)
    return table


def _masks(available: Any, T: int, K: int) -> NDArray[np.bool_]:
    """Which candidates are on offer: K bools for each round, one after the other, or K for all, or none."""
    if available is None:
        return np.empty(0, np.bool_)
    hint = f"give {K} bools, or {T} × {K}, at least one of them true in every round"
    try:
        masks = np.atleast_2d(np.ascontiguousarray(available))
    except (ValueError, TypeError) as error:
        raise InvalidArgument(f"available is {available!r}", hint) from error
    if masks.dtype.kind != "b" or masks.shape not in ((1, K), (T, K)):
        raise InvalidArgument(f"available has shape {masks.shape} and dtype {masks.dtype}", hint)
    if not masks.any(axis=1).all():
        raise InvalidArgument("available leaves no candidate to choose in some round", hint)
    return masks.astype(np.bool_, copy=False).reshape(-1)
