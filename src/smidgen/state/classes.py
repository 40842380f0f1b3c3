"""One weight vector per class, stored by feature: the weights of all classes for one feature lie side by side.

A sparse example touches few features and all classes, so this layout reads memory in the order in which it lies
(class by class it would be an order of magnitude slower). The number of classes is padded to a multiple of four.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import kernel

Block = NDArray[Any]  # float64 or float32
Indices = NDArray[np.uint32]


def padded(n_classes: int) -> int:
    """The number of columns that ``n_classes`` take."""
    return -(-n_classes // 4) * 4


@kernel
def class_scores(W: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_i = w_i · x for every class i. Four features at once; each sum runs in the order of the features."""
    C, n = out.shape[0], idx.shape[0]
    out[:] = 0.0
    for k in range(n % 4):
        i, v = idx[k], val[k]
        for c in range(C):
            out[c] += v * W[i, c]
    for k in range(n % 4, n, 4):
        i0, i1, i2, i3 = idx[k], idx[k + 1], idx[k + 2], idx[k + 3]
        v0, v1, v2, v3 = val[k], val[k + 1], val[k + 2], val[k + 3]
        for c in range(C):
            out[c] = (((out[c] + v0 * W[i0, c]) + v1 * W[i1, c]) + v2 * W[i2, c]) + v3 * W[i3, c]


@kernel
def add_to_class(W: Block, c: int, idx: Indices, val: Block, rate: float) -> None:
    """w_c ← w_c + rate · x."""
    r = W.dtype.type(rate)
    for k in range(idx.shape[0]):
        W[idx[k], c] += r * val[k]


@kernel
def best_class(scores: Block, K: int) -> int:
    """The first class of highest score among the first K."""
    best = 0
    for c in range(1, K):
        if scores[c] > scores[best]:
            best = c
    return best


@kernel
def best_other_class(scores: Block, K: int, but: int) -> int:
    """The first class of highest score among the first K, one of them left out."""
    best = 0 if but != 0 else 1
    for c in range(best + 1, K):
        if c != but and scores[c] > scores[best]:
            best = c
    return best


@kernel
def row_length(val: Block) -> float:
    """‖x‖, summed in double precision in the order of the features."""
    total = 0.0
    for k in range(val.shape[0]):
        total += float(val[k]) * float(val[k])
    return math.sqrt(total)


@kernel
def write_unit_row(val: Block, out: Block) -> None:
    """Out = x / ‖x‖; a zero vector stays zero."""
    length = row_length(val)
    for k in range(val.shape[0]):
        out[k] = val[k] / length if length > 0.0 else val[k]


@kernel
def unit_row(val: Block) -> Block:
    """X / ‖x‖ as a new array."""
    out = np.empty_like(val)
    write_unit_row(val, out)
    return out
