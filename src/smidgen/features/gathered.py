"""What was read out of records, before it is laid out in rows."""

from __future__ import annotations

import numpy as np

from smidgen.types import FloatArray, IntArray


class Gathered:
    """Features as they come out of records, row by row; or, of whole columns, block by block.

    ``cats`` are ids of features that are 1; ``slots`` and ``raw`` are numbers; ``terms``, ``weights`` and ``places``
    are the words of texts (a place in ``names`` where a term is new, else −1). ``ends`` says after each row how long
    the lists were.
    """

    __slots__ = (
        "blocks",
        "cats",
        "ends",
        "fields",
        "names",
        "new",
        "new_numbers",
        "number_blocks",
        "places",
        "raw",
        "row",
        "slots",
        "terms",
        "texts",
        "weights",
    )

    def __init__(self) -> None:
        self.row = 0
        self.fields = 0  #: of the present record
        self.cats: list[int] = []
        self.slots: list[int] = []
        self.raw: list[float] = []
        self.terms: list[int] = []
        self.weights: list[float] = []
        self.places: list[int] = []
        self.texts: list[tuple[str, int, int]] = []  #: path, row, where its terms begin
        self.names: dict[str, int] = {}  #: new names, and their places
        self.new: list[tuple[int, int]] = []  #: row and place of features with a new name that are 1
        self.new_numbers: list[tuple[int, int, float]] = []  #: row, place, number
        self.ends: list[tuple[int, int]] = []
        self.blocks: list[tuple[IntArray, IntArray]] = []  #: rows, ids
        self.number_blocks: list[tuple[IntArray, IntArray, FloatArray]] = []  #: rows, slots, numbers

    def place(self, name: str) -> int:
        """The place of a new name."""
        return self.names.setdefault(name, len(self.names))

    def add_new(self, name: str) -> None:
        """A feature of the present row that is 1 and has no column yet."""
        self.new.append((self.row, self.place(name)))

    def end_row(self) -> None:
        """The next record is another row."""
        self.ends.append((len(self.cats), len(self.slots)))
        self.row += 1
        self.fields = 0

    def categories(self) -> tuple[IntArray, IntArray]:
        """Rows and ids of all features that are 1."""
        parts = [(_rows([end for end, _ in self.ends]), np.array(self.cats, np.int64)), *self.blocks]
        return _joined([rows for rows, _ in parts]), _joined([ids for _, ids in parts])

    def numbers(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, slots and values of all numbers."""
        own = (_rows([end for _, end in self.ends]), np.array(self.slots, np.int64), np.array(self.raw, np.float64))
        parts = [own, *self.number_blocks]
        rows, slots = _joined([part[0] for part in parts]), _joined([part[1] for part in parts])
        return rows, slots, np.concatenate([part[2] for part in parts])


def _rows(ends: list[int]) -> IntArray:
    """The row of every entry, given where each row ends."""
    return np.repeat(np.arange(len(ends)), np.diff(np.array([0, *ends])))


def _joined(parts: list[IntArray]) -> IntArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
