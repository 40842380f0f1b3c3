"""A whole matrix of examples for compiled streams: checked in one pass, copied only where it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smidgen._core.rows import sound_rows
from smidgen.arrays import read_only
from smidgen.errors import InvalidFeatures
from smidgen.features.compressed import Compressed
from smidgen.features.rows import LONGEST, SparseRows, as_rows, from_scipy, is_sparse


def as_stream(X: Any, dim: int, dtype: DTypeLike) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    """Check examples and return them as CSR arrays: indices (unsigned), values, row starts.

    A CSR matrix of the right dtype with sorted indices is not copied: a stream is over before its caller can change it.
    None of the three arrays may be written to.
    """
    given: Any = X if is_sparse(X) or isinstance(X, SparseRows) else as_rows(X, "X").dense()
    if len(given.shape) != 2 or given.shape[1] != dim or not given.shape[0]:
        raise InvalidFeatures(
            f"X has shape {given.shape} and the learner has dim={dim}", f"give an n × {dim} array or CSR matrix, n >= 1"
        )
    if isinstance(given, np.ndarray):
        with np.errstate(over="ignore"):
            values = given.astype(dtype, copy=False).ravel()
        indices = read_only(np.tile(np.arange(dim, dtype=np.uint32), len(given)))
        values, starts = read_only(values), read_only(np.arange(0, values.size + 1, dim, dtype=np.int64))
    else:
        indices, values, starts = _arrays(_parts(given), dtype)
    sound = sound_rows(indices, values, starts, dim, LONGEST)
    if sound and is_sparse(X) and not given.has_canonical_format:  # asked only now: the question trusts the indices
        indices, values, starts = _arrays(from_scipy(given, "X").parts(), dtype)
        sound = sound_rows(indices, values, starts, dim, LONGEST)
    if not sound:
        raise InvalidFeatures(
            f"X holds values that are not finite, rows longer than {LONGEST:g}, or indices out of range",
            "clean it, and scale it down; unit length is a good choice",
        )
    return indices, values, starts


def _parts(X: Any) -> Compressed:
    """The three arrays of sparse rows; those of a CSR matrix as they are, whatever they hold."""
    if isinstance(X, SparseRows):
        return X.parts()
    return Compressed(X.data, X.indices, X.indptr) if X.format == "csr" else from_scipy(X, "X").parts()


def _arrays(csr: Compressed, dtype: Any) -> tuple[NDArray[np.uint32], NDArray[Any], NDArray[np.int64]]:
    if csr.data.dtype.kind not in "fiub":
        raise InvalidFeatures(f"X has dtype {csr.data.dtype} and must hold real numbers", "give a CSR matrix of floats")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(csr.data, dtype)
    indices = csr.indices.view(np.uint32) if csr.indices.dtype == np.int32 else csr.indices.astype(np.uint32)
    return read_only(indices), read_only(values), read_only(np.ascontiguousarray(csr.starts, np.int64))
