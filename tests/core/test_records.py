"""Kernels of records and texts against slow twins; tables that are full or wrong are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen._core import prose, records, text

EMPTY: Any = np.empty(0, np.uint8)
entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12), st.floats(-9, 9, width=16)), max_size=200)


def known(words: dict[str, int], size: int = 64) -> Any:
    keys, ids = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    for word, found in words.items():
        text.add_term(keys, ids, np.frombuffer(word.encode(), np.uint8), found)
    return keys, ids


def memory(columns: int = 10, slots: int = 2, dim: int = 8) -> Any:
    lines = np.zeros((slots, 5))
    lines[:, 0], lines[:, 3], lines[:, 4] = 2.0, -1.0, 1.0  # two values seen, −1 and 1
    return (lines, np.arange(slots)), np.zeros(columns), np.arange(columns, dtype=np.uint32) % np.uint32(dim)


def lay(**changed: Any) -> Any:
    """The row of a record with two categories, a number and a text of two words."""
    given = {
        "categories": [3, 4],
        "slots": [1],
        "raw": [0.5],
        "scale": True,
        "text": "Red  fox",
        "known": known({"red": 5, "fox": 6, "red fox": 7}),
        "terms": np.empty(3, np.int64),
        "texts": 4.0,
        "memory": memory(),
        "columns": np.empty(6, np.uint32),
        "values": np.empty(6),
    } | changed
    counts = records.lay_record(*given.values())
    return counts, given["columns"][: counts[0]].tolist(), given["values"][: counts[0]].tolist()


@settings(max_examples=80, deadline=None)
@given(entries)
def test_rows_are_sorted_and_added_up_in_the_order_of_their_entries(
    given_entries: list[tuple[int, int, float]],
) -> None:
    rows, columns, values = (np.array([entry[k] for entry in given_entries]) for k in range(3))
    starts, laid, worth = np.empty(6, np.int64), np.empty(len(rows), np.uint32), np.empty(len(rows))
    filled = records.lay_rows(
        rows.astype(np.int64), columns.astype(np.uint32), values.astype(np.float64), starts, laid, worth
    )
    for i in range(5):
        sums: dict[int, float] = {}
        for row, column, value in given_entries:
            if row == i:
                sums[column] = sums[column] + value if column in sums else value
        part = slice(starts[i], starts[i + 1])
        assert laid[part].tolist() == sorted(sums)
        assert worth[part].tolist() == [sums[column] for column in sorted(sums)]
    assert starts[5] == filled


def test_one_record_is_one_row() -> None:
    counts, columns, values = lay()
    assert counts == (6, 0, 3)
    assert columns == [1, 3, 4, 5, 6, 7]
    weight = 1.0 / math.sqrt(3.0)  # three terms, none of them in a learned row
    assert values == pytest.approx([0.5, 1.0, 1.0, weight, weight, weight])
    assert lay(raw=[7], scale=False)[2][0] == 7.0
    assert lay(raw=[99.0])[0] == (6, 1, 3), "a number far out is clipped"
    assert lay(known=known({"red": 5}))[0] == (0, 0, -1), "a term that is not known"
    shared = lay(categories=[3, 3])
    assert shared[0][0] == 5
    assert shared[2][1] == 2.0


@pytest.mark.parametrize(
    "changed",
    [
        {"categories": [10, 1]},
        {"categories": [-1, 1]},
        {"categories": [2**64, 1]},
        {"categories": [None, 1]},
        {"categories": [1.5, 1]},
        {"slots": [2]},
        {"slots": [-1]},
        {"slots": []},
        {"raw": ["x"]},
        {"raw": [10**400]},
        {"text": "ünï"},
        {"known": known({"red": 50, "fox": 6, "red fox": 7})},
        {"known": (np.zeros(3, np.int64), np.zeros(3, np.int64))},
        {"terms": np.empty(2, np.int64)},
        {"columns": np.empty(5, np.uint32), "values": np.empty(5)},
        {"columns": np.empty(2, np.uint32), "values": np.empty(2)},
        {"memory": memory(columns=4)},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_what_does_not_fit_a_record_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        lay(**changed)


def test_a_full_table_is_refused_and_not_searched_forever() -> None:
    letters = np.frombuffer(b"abcdefgh", np.uint8)
    keys, ids = np.full(4, -1, np.int64), np.zeros(4, np.int64)
    for k in range(4):
        text.add_term(keys, ids, letters[k : k + 1], k)
    with pytest.raises(ValueError, match="full"):
        text.add_term(keys, ids, letters[5:6], 9)
    out = np.empty((4, 1), np.int64)
    assert text.scan_text(letters[5:6], (keys, ids), out) == (1, False)
    assert out[0, 0] == -1
    table = np.full((2, 4), -1, np.int64)
    for k in range(2):
        records.add_category(table, letters, k, k + 1, k)
    with pytest.raises(ValueError, match="full"):
        records.add_category(table, letters, 3, 4, 9)
    strings = (letters, np.array([4, 5]), EMPTY, 0)
    with pytest.raises(ValueError, match="full"):
        records.find_categories(table, letters, strings, np.empty(1, np.int64))
    phrases, kinds = np.array([[-1, -1], [0, 0]]), np.full(1, 2, np.uint8)
    for code in (97, 98):
        prose.add_phrase(phrases, (np.array([code], np.uint32), kinds), 0)
    with pytest.raises(ValueError, match="full"):
        prose.add_phrase(phrases, (np.array([99], np.uint32), kinds), 0)


@pytest.mark.parametrize(
    ("starts", "present", "offset"),
    [([0, 9], [], 0), ([3, 2], [], 0), ([-1, 2], [], 0), ([0, 1], [255], 8), ([0, 1], [255], -1), ([0, 1, 2], [], 0)],
)
def test_strings_lie_within_their_letters(starts: list[int], present: list[int], offset: int) -> None:
    strings = (np.frombuffer(b"abcd", np.uint8), np.array(starts), np.array(present, np.uint8), offset)
    with pytest.raises(ValueError, match=r"starts|strings"):
        records.find_categories(np.full((4, 4), -1, np.int64), EMPTY, strings, np.empty(1, np.int64))


def test_a_sheet_names_columns_that_are_there() -> None:
    nothing: Any = np.empty(0, np.int64)

    def sheet(some: int = 2, missing: int = 1, term: int = 0, room: int = 5) -> Any:
        ones = (np.array([[some, -1]]), nothing, np.array([missing]))
        numbers = (np.array([[np.nan, 0.5]]), np.array([1], np.uint32))
        words = (np.array([0, 1, 1]), np.array([term]), np.array([0.25]))
        starts, laid, worth = np.empty(3, np.int64), np.empty(room, np.int32), np.empty(room)
        filled = records.lay_sheet(ones, numbers, words, np.arange(3, dtype=np.uint32), starts, laid, worth)
        return starts.tolist(), laid[:filled].tolist(), worth[:filled].tolist()

    assert sheet() == ([0, 3, 4], [0, 1, 2, 1], [0.25, 1.0, 1.0, 0.5])
    assert sheet(some=-1, missing=-1) == ([0, 1, 2], [0, 1], [0.25, 0.5])
    for wrong in ({"some": 3}, {"some": -2}, {"missing": 3}, {"term": -1}, {"term": 3}, {"room": 4}):
        with pytest.raises(ValueError, match=r"column|places"):
            sheet(**wrong)
