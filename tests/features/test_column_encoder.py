"""Columns that are read at once: the rows of single records, to the bit; and what is no sheet is still read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen import Vectorizer
from smidgen.errors import InvalidFeatures
from smidgen.features.names import CategoryIndex, one_after_the_other

CATEGORIES = ["", "se", "no", "ünï", "🙂", "2026", "2026-x", "a" * 300, "\0", "se "]
FORMS = ["list", "pandas", "polars", "halves of pandas", "halves of polars", "categories of pandas"]


def framed(form: str, records: list[dict[str, Any]]) -> Any:
    """The records in one of the forms that people have them in."""
    if form == "list":
        return records
    name = form.split()[-1]
    module = pytest.importorskip(name)
    if form.startswith("halves"):  # in two pieces, cut out of something longer
        frame = module.concat([module.DataFrame(records), module.DataFrame(records)])
        return frame[len(records) // 2 : len(records) // 2 + len(records)]
    frame = module.DataFrame(records)
    return frame.astype({"country": "category"}) if form.startswith("categories") else frame


def some_records(seed: int, n: int) -> list[dict[str, Any]]:
    """Numbers and categories of which some are absent, bools, words."""
    rng = np.random.default_rng(seed)
    return [
        {
            "age": float(rng.normal(40, 12)) if rng.random() < 0.8 else None,
            "clicks": int(rng.integers(-5, 100)),
            "country": CATEGORIES[rng.integers(5)] if rng.random() < 0.8 else None,
            "kind": CATEGORIES[5 + rng.integers(5)],
            "vip": bool(rng.random() < 0.5),
            "title": " ".join(f"w{k}" for k in rng.integers(9, size=rng.integers(5))),
        }
        for _ in range(n)
    ]


def learnt(records: list[dict[str, Any]], **chosen: Any) -> Vectorizer:
    features = Vectorizer(text=("title",), **chosen)
    for record in records:
        features.learn(record)
    return features


def assert_rows(features: Vectorizer, given_records: Any, records: list[dict[str, Any]]) -> None:
    matrix = features.rows(given_records)
    assert matrix.shape == (len(records), features.dim)
    for k, record in enumerate(records):
        row, part = features.row(record), slice(matrix.indptr[k], matrix.indptr[k + 1])
        np.testing.assert_array_equal(matrix.indices[part], row.indices)
        np.testing.assert_array_equal(matrix.data[part], row.values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "chosen", [{"dim": 4096}, {"dim": 12}, {"dim": 64, "scale": False, "constant": False}], ids=str
)
def test_columns_are_read_as_records_are(form: str, chosen: dict[str, Any]) -> None:
    """With 12 columns nearly all are shared, by names that have no place too."""
    records = some_records(1, 80)
    records = records[40:] + records[:40] if not form.startswith("halves") else records
    features = learnt(records, **chosen)
    shown = framed(form, records)
    if form.startswith("halves"):
        records = records[40:] + records[:40]
    assert "country=" in features.names
    assert_rows(features, shown, records)
    assert features._encoder.matrix(shown) is not None


@pytest.mark.parametrize("form", FORMS[:3])
def test_it_is_a_sheet_where_all_is_known(form: str) -> None:
    records = [{**record, "kind": "x"} for record in some_records(2, 30)]
    features = learnt(records, dim=512)
    assert features._encoder.matrix(framed(form, records)) is not None
    assert_rows(features, framed(form, records), records)


@pytest.mark.parametrize("form", FORMS[:3])
@pytest.mark.parametrize(
    "strange",
    [{"country": "new"}, {"tags": ["a"]}, {"clicks": 10**30}, {"day": "2026-01-02"}, {"title": "è w1"}],
    ids=str,
)
def test_what_does_not_fit_is_read_all_the_same(form: str, strange: dict[str, Any]) -> None:
    records = [{**record, "kind": "x", **strange} for record in some_records(3, 6)]
    if form == "polars" and "clicks" in strange:
        pytest.skip("polars has no such number")
    features = learnt(records, dim=512)
    assert_rows(features, framed(form, records), records)
    fresh = learnt(some_records(3, 6), dim=512)
    assert fresh.rows(framed(form, records)).shape == (6, 512)


@pytest.mark.parametrize("form", FORMS[1:3])
def test_a_frame_without_rows_has_none(form: str) -> None:
    features = learnt(some_records(4, 5), dim=64)
    assert features.rows(framed(form, some_records(4, 5))[:0]).shape == (0, 64)


def test_numbers_that_cannot_be_are_refused_by_name_and_row() -> None:
    records = some_records(5, 8)
    features = learnt(records, dim=64)
    records[3]["clicks"] = float("nan")
    with pytest.raises(InvalidFeatures, match="record 3: clicks is nan"):
        features.rows(records)
    records[3]["clicks"] = 1e101
    with pytest.raises(InvalidFeatures, match="record 3: clicks is 1e\\+101"):
        features.rows(pytest.importorskip("pandas").DataFrame(records))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=6), max_size=150, unique=True), st.lists(st.text(max_size=6), min_size=1, max_size=40))
def test_an_index_finds_what_was_entered_and_nothing_else(known: list[str], asked: list[str]) -> None:
    index = CategoryIndex()
    for k, value in enumerate(known):
        index.add(value, k)
    ids = np.empty(len(asked), np.int64)
    assert index.find(one_after_the_other(asked), ids) == set(asked).issubset(known)
    assert ids.tolist() == [known.index(value) if value in known else -2 for value in asked]


def test_the_kinds_of_polars_and_numpy_that_have_no_like() -> None:
    polars = pytest.importorskip("polars")
    features = Vectorizer(dim=32)
    frame = polars.DataFrame({"a": [1.0, float("nan")] * 3, "b": polars.Series([2**100] * 6, dtype=polars.Int128)})
    for row in range(6):
        features.learn(frame[row])
    assert "a (missing)" in features.names
    assert features.rows(frame).shape == (6, 32)
    for nothing in (np.datetime64("NaT"), np.timedelta64("NaT"), pytest.importorskip("pandas").NaT):
        assert features.row({"a": nothing}).indices.tolist() == features.row({"a": None}).indices.tolist()
    np.testing.assert_array_equal(features.row({"a": np.array(3.0)}).values, features.row({"a": 3}).values)
