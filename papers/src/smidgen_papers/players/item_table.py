"""Items to choose from, for streams of many users: checked once, and what all users share computed once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.features import as_rows
from smidgen_papers.compiled.arrays import aligned, zeros
from smidgen_papers.compiled.kernel import borrowing
from smidgen_papers.compiled.lanes import LANES, fill, load, store
from smidgen_papers.players.candidates import BLOCK, FLOOR, GONE, LENGTH, ROUNDING, CandidateTable
from smidgen_papers.players.short_scores import WIDTH, Bytes, Shorts

_FEW = 4 * LANES  # items whose utilities are computed side by side


@dataclass(frozen=True, eq=False)
class ItemTable:
    """Items to choose from, checked once, for streams of many users.

    Parameters
    ----------
    rows
        One row of features per item.
    """

    rows: FloatArray

    @classmethod
    def of(cls, items: Any) -> ItemTable:
        """From a 2-D array or a CSR matrix, or the table itself."""
        if isinstance(items, ItemTable):
            return items
        return cls(np.array(as_rows(items, "items").dense(), order="C"))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def gram(self) -> tuple[Bytes, float]:
        """The products of all pairs as 8-bit numbers, and their unit.

        The mean of all items is taken off before: along a difference of items that changes the scores of all by the
        same. The products of items with themselves are left out: an item that takes part in a step is gone by then.
        """
        n, products = len(self), self._centred @ self._centred.T
        np.fill_diagonal(products, 0.0)
        unit = float(np.abs(products).max(initial=0.0)) / 127.0 or 1.0
        gram = zeros((n, self._padded), np.int8)
        gram[:, :n] = np.rint(products / unit)
        return gram, unit

    @cached_property
    def _numbers(self) -> IntArray:
        return np.arange(len(self))

    @cached_property
    def _level(self) -> Shorts:
        """Near scores to start from."""
        return np.where(np.arange(self._padded) < len(self), np.int16(FLOOR), np.int16(GONE))

    @cached_property
    def _mean(self) -> FloatArray:
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def _centred(self) -> FloatArray:
        return self.rows - self._mean

    @cached_property
    def _lengths(self) -> tuple[float, float]:
        """The largest norm of an item, without and with the mean."""
        return _longest(self._centred), _longest(self.rows)

    @cached_property
    def _drift(self) -> FloatArray:
        return self.rows @ self._mean

    @cached_property
    def _reach(self) -> IntArray:
        return np.asarray(np.abs(self.gram[0].astype(np.int64)).max(axis=1))

    def candidates(self, near: bool) -> CandidateTable:
        """All items, for one more user; ``near``: for weights that move along differences of items."""
        n, padded = len(self), self._padded
        gram, entry = self.gram if near else (np.empty((0, 0), np.int8), 1.0)
        # two numbers, each rounded to half a unit; and what double precision rounds, of them and of scores
        blur = entry + 32.0 * (self.rows.shape[1] + 8) * ROUNDING * self._lengths[1] ** 2
        return CandidateTable(
            rows=self.rows,
            mean=self._mean,
            features=self._pairs if near else aligned(self._pairs),
            items=self._numbers.copy(),
            column=self._numbers.copy(),
            gram=gram,
            reach=self._reach if near else np.empty(0, np.int64),
            drift=self._drift if near else np.empty(0),
            weights=np.zeros(2 * self._pairs.shape[1], np.int16),
            products=zeros((padded,), np.int32),
            near=aligned(self._level),
            peaks=zeros((padded // BLOCK * WIDTH,), np.int16),
            places=np.empty(padded, np.int32),
            found=np.empty(padded, np.int32),
            scores=np.empty(padded),
            counts=np.array([n, 0, 0, 1, 0]),
            sizes=np.array([*self._lengths, entry, blur, 0.0, 1.0, 0.0, 0.0, 0.0]),
        )

    def utilities(self, weights: FloatArray) -> FloatArray:
        """The score of each item, for each of several weights: one row of scores per row of weights."""
        out = np.empty((len(weights), self._padded))
        _write_utilities(self._features, weights, out)
        return out[:, : len(self)]

    @property
    def _padded(self) -> int:
        """The number of items, rounded up to whole blocks."""
        return -(-len(self) // BLOCK) * BLOCK

    @cached_property
    def _pairs(self) -> Shorts:
        """The features as 16-bit numbers, in blocks of items and pairs of features: see `write_products`."""
        n, dim = self.rows.shape
        pairs = np.zeros((self._padded, dim + dim % 2), np.int16)
        pairs[:n, :dim] = np.rint(self._centred * (LENGTH / (self._lengths[0] or 1.0)))
        blocks = pairs.reshape(-1, BLOCK, pairs.shape[1] // 2, 2).transpose(0, 2, 1, 3)
        return aligned(np.ascontiguousarray(blocks).reshape(len(blocks), -1, 2 * BLOCK))

    @cached_property
    def _features(self) -> FloatArray:
        """The features in blocks of items, of a few each: blocks × features × items."""
        rows = np.zeros((self._padded, self.rows.shape[1]))
        rows[: len(self)] = self.rows
        return aligned(rows.reshape(-1, _FEW, rows.shape[1]).transpose(0, 2, 1))


def _longest(rows: FloatArray) -> float:
    return math.sqrt(float((rows * rows).sum(axis=1).max(initial=0.0)))


@borrowing
def _write_utilities(features: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """The products of weights and items, these in blocks; sums run in the order of the features, as everywhere else."""
    blocks, dim = features.shape[:2]
    for b in range(blocks):
        for i in range(weights.shape[0]):
            p, q, r, s = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
            for f in range(dim):
                w, at = fill(weights[i, f]), (b * dim + f) * _FEW
                p, q = p + w * load(features, at), q + w * load(features, at + LANES)
                r, s = r + w * load(features, at + 2 * LANES), s + w * load(features, at + 3 * LANES)
            to = (i * blocks + b) * _FEW
            store(out, to, p)
            store(out, to + LANES, q)
            store(out, to + 2 * LANES, r)
            store(out, to + 3 * LANES, s)
