"""Kernel functions by name: Gram matrices k(X, Z). Those named here give the same bits on every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from smidgen import checks
from smidgen._core.dual import linear_kernel, poly_kernel, rbf_kernel
from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument, InvalidFeatures

KernelFunction = Callable[[FloatArray, FloatArray], FloatArray]

_registered: dict[str, KernelFunction] = {}


def linear(X: FloatArray, Z: FloatArray) -> FloatArray:
    """X·Zᵀ."""
    out = np.empty((len(X), len(Z)))
    linear_kernel(X, Z, out)
    return out


def rbf(X: FloatArray, Z: FloatArray, *, gamma: float = 1.0) -> FloatArray:
    """exp(−gamma·‖x − z‖²)."""
    out = np.empty((len(X), len(Z)))
    rbf_kernel(X, Z, gamma, out)
    return out


def poly(X: FloatArray, Z: FloatArray, *, degree: int = 2, offset: float = 1.0) -> FloatArray:
    """(x·z + offset)^degree."""
    out = np.empty((len(X), len(Z)))
    poly_kernel(X, Z, degree, offset, out)
    return out


NAMED: dict[str, Callable[..., FloatArray]] = {"linear": linear, "rbf": rbf, "poly": poly}


def register_kernel(name: str) -> Callable[[KernelFunction], KernelFunction]:
    """Register a kernel of yours by name, so that learners which use it can be saved.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> @smidgen.register_kernel("overlap")
    ... def overlap(X, Z):
    ...     return np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)
    >>> learner = smidgen.Confidit(dim=2, n_classes=2, covariance="kernel", kernel="overlap")
    """

    def enter(kernel: KernelFunction) -> KernelFunction:
        if name in NAMED:
            raise InvalidArgument(f"the kernel name {name!r} is taken", "choose another name")
        _registered[name] = kernel
        return kernel

    return enter


def find_kernel(kernel: str | KernelFunction, params: Mapping[str, Any] | None) -> KernelFunction:
    """The kernel of that name (or the callable itself), with its parameters filled in."""
    settings = dict(params or {})
    if isinstance(kernel, str):
        everything: dict[str, Any] = {**NAMED, **_registered}
        chosen = everything[checks.one_of("kernel", kernel, everything)]
    elif callable(kernel):
        chosen = kernel
    else:
        raise InvalidArgument(f"kernel is {kernel!r}", "give a name or a function k(X, Z) -> Gram matrix")

    return partial(_gram, chosen, settings)


def _gram(kernel: Callable[..., FloatArray], settings: dict[str, Any], X: FloatArray, Z: FloatArray) -> FloatArray:
    """The Gram matrix, checked: the kernel may be a user's."""
    result = np.asarray(kernel(X, Z, **settings), dtype=np.float64)
    if result.shape != (len(X), len(Z)) or not np.isfinite(result).all():
        raise InvalidFeatures(
            f"the kernel returned an array of shape {result.shape}",
            f"return {len(X)} × {len(Z)} finite numbers for {len(X)} and {len(Z)} rows",
        )
    return result
