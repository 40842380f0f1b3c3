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
    """out_i = w_i · x for every class i."""
    out[:] = 0.0
    for k in range(idx.shape[0]):
        v, row = val[k], W[idx[k]]
        for c in range(out.shape[0]):
            out[c] += v * row[c]


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
def unit_row(val: Block) -> Block:
    """X / ‖x‖; a zero vector stays zero."""
    out = np.empty_like(val)
    length = row_length(val)
    for k in range(val.shape[0]):
        out[k] = val[k] / length if length > 0.0 else val[k]
    return out
