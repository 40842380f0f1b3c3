"""One weight vector per class, stored by feature: the weights of all classes for one feature lie side by side.

A sparse example touches few features and all classes, so this layout reads memory in the order in which it lies
(class by class it would be an order of magnitude slower). The number of classes is padded to a multiple of four.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import borrowing, kernel
from smidgen.vector.lanes import prefetch
from smidgen.vector.row_sums import AHEAD, sum_rows

Block = NDArray[Any]  # float64 or float32
Indices = NDArray[np.uint32]


def padded(n_classes: int) -> int:
    """The number of columns that ``n_classes`` take."""
    return -(-n_classes // 4) * 4


@borrowing
def class_scores(W: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_i = w_i · x for every class i; each sum runs in the order of the features."""
    sum_rows(W, idx, val, out)


@borrowing
def add_to_class(W: Block, c: int, idx: Indices, val: Block, rate: float) -> None:
    """w_c ← w_c + rate · x."""
    r = W.dtype.type(rate)
    for k in range(idx.shape[0]):
        W[idx[k], c] += r * val[k]


@borrowing
def prefetch_rows(W: Block, idx: Indices) -> None:
    """Ask for the first rows that an example needs, before its turn comes."""
    width, line = W.shape[1], 64 // W.itemsize
    for k in range(min(idx.shape[0], AHEAD)):
        row = np.int64(idx[k]) * width
        for c in range(0, width, line):
            prefetch(W, row + c)
        prefetch(W, row + width - 1)


@borrowing
def best_class(scores: Block, K: int) -> int:
    """The first class of highest score among the first K."""
    best, highest = 0, scores[0]
    for c in range(1, K):
        if scores[c] > highest:
            best, highest = c, scores[c]
    return best


@kernel
def best_other_class(scores: Block, K: int, but: int) -> int:
    """The first class of highest score among the first K, one of them left out."""
    best = 0 if but != 0 else 1
    for c in range(best + 1, K):
        if c != but and scores[c] > scores[best]:
            best = c
    return best
