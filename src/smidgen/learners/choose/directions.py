"""A direction for each candidate: what the context's vector says of its reward, beyond what the bank's leader says.

Each candidate's id has a block of its own, a full ridge regression on the columns of the vector; so has each category
where space is left, and one block belongs to all candidates. One step serves all blocks of the candidate that was
shown: A is block-diagonal. The blocks have at most 1,024 columns. When they are full, a candidate that was shown more
often in the last 1,000 learned decisions than a holder takes over its block, from zero. All of it changes in `learn`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.features.limits import VECTOR_CROSSES
from smidgen.features.rows import Direction
from smidgen.learners.base import check_shapes
from smidgen.state.sqrt_ridge import Slots

#: What A of a block starts as: a·I.
RIDGE = 0.1
#: In place of a block: none, or one that would begin if this were learnt (_core/blocks.hpp).
NO_BLOCK, FREE_BLOCK = -1, -2
#: The learned decisions in which candidates are counted.
RECENT = 1_000
#: What a block belongs to: a candidate's id, or a category.
ID, CATEGORY = 1, 2
_NO_PLACES = np.empty((0, 0), np.int32)
_NO_COLUMNS, _NO_VALUES = np.empty(0, np.uint32), np.empty(0)
Key: TypeAlias = tuple[int, int]
#: What compiled code reads: blocks, the row of each column, rows in use, the gate, the vector, places, the ridge.
BlockArrays: TypeAlias = tuple[
    FloatArray, Slots, IntArray, FloatArray, NDArray[np.uint32], FloatArray, NDArray[np.int32], float
]
#: Of a learner that has met no vector.
NO_BLOCKS: BlockArrays = (
    np.empty((0, 0, 0)),
    np.empty(0, np.int32),
    np.zeros(1, np.int64),
    np.zeros(4),
    _NO_COLUMNS,
    _NO_VALUES,
    _NO_PLACES,
    RIDGE,
)
_KEYS = ("block_R", "block_slots", "block_used", "block_gate", "block_keys", "block_kinds", "block_recent")


class BlockWeights(NamedTuple):
    """The weights of one block: its kind (0: of all candidates), its key, and a weight per column of the vector."""

    kind: int
    key: int
    weights: dict[int, float]


def _wide(rows: int) -> int:
    return -(-(rows + 2) // 8) * 8


class VectorBlocks:
    """The blocks of a learner, and who holds them.

    Parameters
    ----------
    dim
        The number of columns of the features.
    """

    __slots__ = ("R", "_dim", "_next", "_places", "_recent", "gate", "holders", "slots", "used")

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self.R: FloatArray = np.empty((0, 0, 0))
        self.slots: Slots = np.empty(0, np.int32)
        self.used: IntArray = np.zeros(1, np.int64)
        self.gate: FloatArray = np.zeros(4)
        self.holders: list[Key] = []  # of the blocks from the second on
        self._places: dict[Key, int] = {}
        self._recent: list[int] = []  # who was shown in the latest learned decisions, a ring
        self._next = 0

    def copy(self) -> VectorBlocks:
        """Another one of the same content."""
        return deepcopy(self)

    @property
    def there(self) -> bool:
        """True once a vector was learned."""
        return len(self.R) > 0

    @property
    def in_use(self) -> bool:
        """True while the blocks count in decisions: they are left out where they were clearly behind."""
        return bool(self.there and (self.gate[0] >= 0.0 or self.gate[0] ** 2 <= 9.0 * self.gate[1]))

    def arrays(self, direction: Direction | None, count: int, learning: bool = False) -> BlockArrays:
        """The blocks as compiled code reads them, with the places of a number of candidates."""
        if direction is None or not len(direction.values):
            return NO_BLOCKS
        if not self.there and not learning:
            return self._begun(direction).arrays(direction, count, True)
        places = self._find(direction, count)
        return self.R, self.slots, self.used, self.gate, direction.columns, direction.values, places, RIDGE

    def _begun(self, direction: Direction) -> VectorBlocks:
        """Empty blocks, for a decision before the first vector is learned."""
        made = VectorBlocks(self._dim)
        made._make_rows(direction)
        return made

    def _capacity(self) -> int:
        """Largest number of blocks, next to that of all candidates."""
        return VECTOR_CROSSES // max(int(self.R.shape[1]), 1)

    def _find(self, direction: Direction, count: int) -> NDArray[np.int32]:
        free = FREE_BLOCK if len(self.holders) < self._capacity() else NO_BLOCK
        evicts = free if free == FREE_BLOCK or not any(kind == CATEGORY for kind, _ in self.holders) else FREE_BLOCK
        get, groups = self._places.get, direction.groups
        names = direction.names.tolist() or [0] * count
        ids = [get((ID, name), evicts) if name else NO_BLOCK for name in names]
        out = np.empty((count, 1 + groups.shape[1]), np.int32)
        out[:, 0] = ids
        for j in range(groups.shape[1]):
            out[:, 1 + j] = [get((CATEGORY, key), free) if key else NO_BLOCK for key in groups[:, j].tolist()]
        return out

    def claim(self, direction: Direction, row: int) -> None:
        """Make space for a vector, and let the candidate that was shown have its blocks."""
        self._make_rows(direction)
        name = int(direction.names[row]) if len(direction.names) else 0
        if name:
            self._note(name)
            if (ID, name) not in self._places:
                self._give_id(name)
        for key in direction.groups[row].tolist():
            if key and (CATEGORY, key) not in self._places and len(self.holders) < self._capacity():
                self._add((CATEGORY, key))

    def _note(self, name: int) -> None:
        if len(self._recent) < RECENT:
            self._recent.append(name)
        else:
            self._recent[self._next] = name
        self._next = (self._next + 1) % RECENT

    def _give_id(self, name: int) -> None:
        if len(self.holders) < self._capacity():
            self._add((ID, name))
            return
        taken = [at for at, (kind, _) in enumerate(self.holders) if kind == CATEGORY]
        if taken:
            self._take_over(taken[-1], name)
            return
        counts = Counter(self._recent)
        least = min(range(len(self.holders)), key=lambda at: (counts[self.holders[at][1]], at), default=-1)
        if least >= 0 and counts[name] > counts[self.holders[least][1]]:
            self._take_over(least, name)

    def _add(self, key: Key) -> None:
        self.holders.append(key)
        self._places[key] = len(self.holders)
        self.R = np.concatenate([self.R, self._fresh(1, self.R.shape[1])])

    def _take_over(self, at: int, name: int) -> None:
        del self._places[self.holders[at]]
        self.holders[at] = (ID, name)
        self._places[ID, name] = at + 1
        self.R[at + 1] = self._fresh(1, self.R.shape[1])[0]

    def without_blocks(self) -> int:
        """Number of candidates of the latest learned decisions that have no block."""
        return sum((ID, name) not in self._places for name in set(self._recent))

    def _fresh(self, count: int, rows: int) -> FloatArray:
        out, every = np.zeros((count, rows, _wide(rows))), np.arange(rows)
        out[:, every, every], out[:, every, rows + 1] = 1.0 / math.sqrt(RIDGE), RIDGE
        return out

    def _make_rows(self, direction: Direction) -> None:
        """Rows for the columns of a vector; where blocks grow wider, those that no longer fit go, the last first."""
        if not self.there:
            self.slots = np.full(self._dim, -1, np.int32)
            self.R = self._fresh(1, len(np.unique(direction.columns)))
            return
        known = self.slots[direction.columns] >= 0
        if known.all():
            return
        old, wanted = self.R.shape[1], int(self.used[0]) + len(np.unique(direction.columns[~known]))
        if wanted <= old:
            return
        R = self._fresh(len(self.R), wanted)
        R[:, :old, :old], R[:, :old, wanted : wanted + 2] = self.R[:, :, :old], self.R[:, :, old : old + 2]
        self.R = R
        while len(self.holders) > self._capacity():
            del self._places[self.holders.pop()]
        self.R = np.ascontiguousarray(self.R[: 1 + len(self.holders)])

    def contributions(self, direction: Direction, row: int) -> list[BlockWeights]:
        """Contribution of each column of the vector to the estimate of a candidate, by block."""
        if not self.in_use or not len(direction.values):
            return []
        places = [0, *self._find(direction, len(direction.groups))[row].tolist()]
        values = dict(zip(direction.columns.tolist(), direction.values.tolist(), strict=True))
        out = []
        for at in places:
            if at >= 0:
                found = self._weights(at)
                added = {c: w * values[c] for c, w in found.weights.items() if c in values}
                out.append(found._replace(weights=added))
        return out

    def weights(self) -> list[BlockWeights]:
        """The weights of all blocks."""
        return [self._weights(at) for at in range(len(self.R))]

    def _weights(self, at: int) -> BlockWeights:
        rows = self.R.shape[1]
        columns = np.flatnonzero(self.slots >= 0)
        worth = self.R[at, self.slots[columns], rows]
        kind, key = (0, 0) if at == 0 else self.holders[at - 1]
        return BlockWeights(kind, key, dict(zip(columns.tolist(), worth.tolist(), strict=True)))

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that `restore` takes; none where no vector was learnt."""
        if not self.there:
            return {}
        recent = self._recent if len(self._recent) < RECENT else self._recent[self._next :] + self._recent[: self._next]
        return {
            "block_R": self.R,
            "block_slots": self.slots,
            "block_used": self.used,
            "block_gate": self.gate,
            "block_keys": np.array([key for _, key in self.holders], np.uint32),
            "block_kinds": np.array([kind for kind, _ in self.holders], np.uint8),
            "block_recent": np.array(recent, np.uint32),
        }

    @staticmethod
    def of_state(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays among all of a learner's that belong to blocks."""
        return {name: array for name, array in state.items() if name in _KEYS}

    def check(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays that no blocks have: compiled code goes where they point."""
        if not state:
            return
        R, keys, recent = (state.get(name, _NO_VALUES) for name in ("block_R", "block_keys", "block_recent"))
        count, rows = (R.shape[0], R.shape[1]) if R.ndim == 3 else (0, 0)
        wanted: dict[str, NDArray[Any]] = {
            "block_R": np.empty((count, rows, _wide(rows))),
            "block_slots": np.empty(self._dim, np.int32),
            "block_used": np.empty(1, np.int64),
            "block_gate": np.empty(4),
            "block_keys": np.empty(count - 1 if count else 0, np.uint32),
            "block_kinds": np.empty(count - 1 if count else 0, np.uint8),
            "block_recent": np.empty(min(len(recent), RECENT), np.uint32),
        }
        check_shapes(wanted, state)
        slots, used, kinds = state["block_slots"], int(state["block_used"][0]), state["block_kinds"].tolist()
        taken = np.sort(slots[slots >= 0])
        holders = list(zip(kinds, keys.tolist(), strict=True))
        sound = (
            count >= 1
            and rows >= 1
            and 0 <= used <= rows
            and np.array_equal(taken, np.arange(used))
            and slots.min() >= -1
            and set(kinds) <= {ID, CATEGORY}
            and len(set(holders)) == len(holders) <= VECTOR_CROSSES // rows
            and bool(
                np.isfinite(R).all() and np.isfinite(state["block_gate"]).all() and state["block_gate"][1:].min() >= 0
            )
        )
        if not sound:
            raise InvalidRecord("the blocks of the vectors do not fit together", "give what Learner.save wrote")

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave."""
        if not state:
            return
        self.R, self.slots, self.used = state["block_R"], state["block_slots"], state["block_used"]
        self.gate = state["block_gate"]
        self.holders = list(zip(state["block_kinds"].tolist(), state["block_keys"].tolist(), strict=True))
        self._places = {key: at for at, key in enumerate(self.holders, 1)}
        self._recent = state["block_recent"].tolist()
        self._next = 0 if len(self._recent) == RECENT else len(self._recent)


#: Bytes of the blocks of vectors of 32 columns, at most.
SIZE = 8 * 33 * 32 * _wide(32) + 4 * RECENT
