"""What was read out of records, before it is laid out in rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smidgen.decision import FloatArray, IntArray

if TYPE_CHECKING:
    from smidgen.features.reading import RecordField


class Wide:
    """What was read column by column, of many rows at a time."""

    __slots__ = ("arrays", "cats", "full", "number_arrays", "raw", "slots", "some", "texts")

    def __init__(self) -> None:
        #: path, where each row's terms begin, ids, weights, places of new ones
        self.texts: list[tuple[str, IntArray, IntArray, FloatArray, dict[int, int]]] = []
        self.some: list[tuple[int, int]] = []  #: row and id of features that are 1, in any order
        self.arrays: list[tuple[IntArray, IntArray]] = []  #: the same, as rows and ids
        self.full: set[int] = set()  #: slots of numbers that every row has
        self.number_arrays: list[tuple[IntArray, int, FloatArray]] = []  #: rows, slot, numbers
        self.cats: list[int] = []  #: one id per row, column after column
        self.slots: list[int] = []  #: one per column
        self.raw: list[float] = []  #: one per row, column after column


_NARROW = Wide()  # of all single records


class Gathered:
    """Features as they come out of records, row by row; those of whole columns of alike records stand beside.

    ``cats`` are ids of features that are 1; ``slots`` and ``raw`` are numbers; ``terms`` are the words of texts. The
    ``ends`` say after each row how long the first two lists were. What is rare is told apart: ``places`` of terms whose
    name is new, ``weights`` of those that stand there more than once. Of a single record nothing is wide, and the words
    of its one text may be found ``later``.
    """

    __slots__ = (
        "cats",
        "ends",
        "fields",
        "later",
        "names",
        "new",
        "new_numbers",
        "places",
        "raw",
        "row",
        "slots",
        "terms",
        "texts",
        "weights",
        "wide",
    )

    def __init__(self, later: bool = False) -> None:
        self.row = 0
        self.fields = 0  #: of the present record
        self.cats: list[int] = []
        self.slots: list[int] = []
        self.raw: list[float] = []
        self.ends: list[tuple[int, int]] = []
        self.terms: list[int] = []
        self.texts: list[tuple[str, int, int]] = []  #: path, row, where its terms begin
        self.places: dict[int, int] = {}  #: of terms, by where they stand
        self.weights: dict[int, float] = {}
        self.names: dict[str, int] = {}  #: new names, and their places
        self.new: list[tuple[int, int]] = []  #: row and place of features with a new name that are 1
        self.new_numbers: list[tuple[int, int, float]] = []  #: row, place, number
        self.later: list[tuple[RecordField, str]] | None = [] if later else None
        self.wide = _NARROW if later else Wide()

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
        wide = np.array(self.wide.cats, np.int64)
        rows = _tiled(self.row, len(wide))
        if self.wide.arrays:
            rows = np.concatenate([rows, *(part[0] for part in self.wide.arrays)])
            wide = np.concatenate([wide, *(part[1] for part in self.wide.arrays)])
        if not self.cats and not self.wide.some:
            return rows, wide
        own = np.concatenate(
            [_rows([end for end, _ in self.ends]), np.array([row for row, _ in self.wide.some], np.int64)]
        )
        ids = np.array([*self.cats, *(found for _, found in self.wide.some)], np.int64)
        return np.concatenate([own, rows]), np.concatenate([ids, wide])

    def numbers(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, slots and values of all numbers."""
        wide = np.array(self.wide.raw, np.float64)
        rows, slots = _tiled(self.row, len(wide)), np.repeat(np.array(self.wide.slots, np.int64), self.row)
        if self.wide.number_arrays:
            rows = np.concatenate([rows, *(part[0] for part in self.wide.number_arrays)])
            slots = np.concatenate([slots, *(np.full(len(part[0]), part[1]) for part in self.wide.number_arrays)])
            wide = np.concatenate([wide, *(part[2] for part in self.wide.number_arrays)])
        if not self.slots:
            return rows, slots, wide
        own, raw = _rows([end for _, end in self.ends]), np.array(self.raw, np.float64)
        joined = np.concatenate([np.array(self.slots, np.int64), slots])
        return np.concatenate([own, rows]), joined, np.concatenate([raw, wide])


def _rows(ends: list[int]) -> IntArray:
    """The row of every entry, given where each row ends."""
    return np.repeat(np.arange(len(ends)), np.diff(np.array([0, *ends])))


def _tiled(n: int, size: int) -> IntArray:
    """0 … n − 1 again and again."""
    return np.tile(np.arange(n), size // n) if size else np.empty(0, np.int64)
