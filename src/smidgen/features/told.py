"""One record's features by name: what crosses are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smidgen._core.records import standardize
from smidgen._core.text import weigh_texts
from smidgen.decision import FloatArray, IntArray
from smidgen.features.gathered import Gathered
from smidgen.features.memory import Memory


class NamedValue(NamedTuple):
    """A feature by its name: its value, and whether it is a number."""

    name: str
    value: float
    number: bool


class Known(NamedTuple):
    """Features with an id: row, id, value, those from ``categories`` on are numbers; and the numbers as they came."""

    rows: IntArray
    ids: IntArray
    values: FloatArray
    categories: int
    slots: IntArray
    raw: FloatArray
    clipped: int


def known(g: Gathered, memory: Memory, scale: bool) -> Known:
    """Categories and numbers of all rows, as far as they have an id."""
    rows, ids = g.categories()
    more, slots, raw = g.numbers()
    values = np.ones(len(ids) + len(raw))
    clipped = scaled(memory, slots, raw, values[len(ids) :], scale)
    every = memory.scaling.ids[slots]
    return Known(np.concatenate([rows, more]), np.concatenate([ids, every]), values, len(ids), slots, raw, clipped)


def scaled(memory: Memory, slots: IntArray, raw: FloatArray, out: FloatArray, scale: bool) -> int:
    """Numbers as features; how many were clipped."""
    if scale:
        return standardize(memory.scaling.table, slots, raw, out)
    out[:] = raw
    return 0


def weighed(g: Gathered, memory: Memory) -> FloatArray:
    """The weight of every term gathered."""
    starts = np.array([*(first for _, _, first in g.texts), len(g.terms)])
    seen = np.array([memory.frequencies.rows.get(path, 0) for path, _, _ in g.texts], np.float64)
    worth = np.ones(len(g.terms))
    worth[list(g.weights)] = list(g.weights.values())
    weigh_texts(memory.frequencies.df, starts, np.array(g.terms, np.int64), seen, worth)
    return worth


def new_names(g: Gathered) -> list[str]:
    """The names of the new features that are 1."""
    names = list(g.names)
    return [names[place] for _, place in g.new]


def told(g: Gathered, memory: Memory, scale: bool, constant: bool) -> list[NamedValue]:
    """The features of one record: categories, numbers that are not 0, and the single words of its texts."""
    names, capacity = memory.book.names, memory.book.capacity
    ids = g.cats[:-1] if constant else g.cats
    out = [NamedValue(names[i] if i < capacity else f"#{i - capacity}", 1.0, False) for i in ids]
    out += [NamedValue(name, 1.0, False) for name in new_names(g)]
    if g.slots:
        z = np.empty(len(g.slots))
        scaled(memory, np.array(g.slots, np.int64), np.array(g.raw, np.float64), z, scale)
        paths = memory.scaling.paths
        out += [NamedValue(paths[slot], value, True) for slot, value in zip(g.slots, z.tolist(), strict=True) if value]
    if g.terms:
        fresh = list(g.names)
        for at, (i, value) in enumerate(zip(g.terms, weighed(g, memory).tolist(), strict=True)):
            if i < capacity:
                name = names[i] if i >= 0 else fresh[g.places[at]]
                if " " not in name.rpartition(":")[2]:
                    out.append(NamedValue(name, value, False))
    return out
