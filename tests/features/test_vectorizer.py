"""Records become rows: every kind of value, its name, its column, and what is refused."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smidgen import Candidates, SmidgenError, Vectorizer
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.features import Encoded, limits
from smidgen.features.words import terms

EVERYTHING = {
    "age": 31,
    "country": "se",
    "vip": True,
    "note": None,
    "tags": ["a", "b"],
    "title": "Cheap flights, cheap hotels",
    "device": {"os": "ios", "screen": {"dark": False}},
    "at": "2026-11-16T13:45:00+01:00",
    "born": "1995-02-28",
}


def named(vectorizer: Vectorizer, record: Any) -> dict[str, float]:
    """A row by name."""
    row = vectorizer.row(record)
    names = dict(vectorizer.named_columns())
    return {names.get(int(c), f"#{c}"): float(v) for c, v in zip(row.indices, row.values, strict=True)}


def learnt(*records: Any, **asked: Any) -> Vectorizer:
    vectorizer = Vectorizer(**{"dim": 64, **asked})
    for record in records:
        vectorizer.learn(record)
    return vectorizer


def test_the_example_of_the_first_page_just_works() -> None:
    assert set(learnt(EVERYTHING, text=("title",)).names) == {
        "(constant)",
        "age",
        "country=se",
        "vip=true",
        "tags=a",
        "tags=b",
        "title:cheap",
        "title:flights",
        "title:hotels",
        "title:cheap flights",
        "title:flights cheap",
        "title:cheap hotels",
        "device.os=ios",
        "device.screen.dark=false",
        "at.weekday=monday",
        "at.month=11",
        "at.hour=13",
        "at.days",
        "born.weekday=tuesday",
        "born.month=2",
        "born.days",
    }
    assert named(learnt({"country": "se"}), {"country": "se", "note": None}) == {"(constant)": 1.0, "country=se": 1.0}


@dataclass
class Account:
    age: int
    country: str


class Pair(NamedTuple):
    age: int
    country: str


class Colour(Enum):
    RED = "red"


def test_every_python_form_of_a_record_is_the_same_record() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    plain = {"age": 31, "country": "se"}
    vectorizer = learnt({"age": 30, "country": "se"}, {"age": 35, "country": "no"}, {"age": 40, "country": "se"})
    forms = [
        MappingProxyType(plain),
        Account(31, "se"),
        Pair(31, "se"),
        pandas.Series(plain),
        pandas.DataFrame([plain]).iloc[0],
        pandas.DataFrame([plain]),
        polars.DataFrame([plain]).row(0, named=True),
        polars.DataFrame([plain]),
        {"age": np.int64(31), "country": np.str_("se")},
        {"age": Decimal(31), "country": "se", "other": None},
    ]
    for form in forms:
        assert named(vectorizer, form) == named(vectorizer, plain), form


def test_values_of_python_are_said_as_json_says_them() -> None:
    vectorizer = learnt(
        {
            "colour": Colour.RED,
            "day": date(2026, 11, 16),
            "at": datetime(2026, 11, 16, 8),
            "tags": {"x", "y"},
            "more": ("z",),
            "flag": np.True_,
            "inner": Account(3, "dk"),
        }
    )
    assert set(vectorizer.names) == {
        "(constant)",
        "colour=red",
        "day.weekday=monday",
        "day.month=11",
        "day.days",
        "at.weekday=monday",
        "at.month=11",
        "at.hour=8",
        "at.days",
        "tags=x",
        "tags=y",
        "more=z",
        "flag=true",
        "inner.age",
        "inner.country=dk",
    }


def test_a_string_that_only_looks_like_a_date_is_a_category() -> None:
    assert set(learnt({"code": "2026-99-99", "year": "2026", "part": "1234-5678-90"}).names) == {
        "(constant)",
        "code=2026-99-99",
        "year=2026",
        "part=1234-5678-90",
    }


HOSTILE: dict[str, tuple[Any, str]] = {
    "nan": ({"a": {"price": float("nan")}}, "a.price is nan"),
    "infinity": ({"price": float("inf")}, "price is inf"),
    "too large": ({"price": 1e308}, "price is 1e\\+308"),
    "a huge int": ({"price": 10**5000}, "price is a number of 16,610 bits"),
    "bytes": ({"raw": b"abc"}, "raw is a bytes of 3"),
    "numbers in a list": ({"genres": ["x", 3]}, r"genres\[1\] is 3"),
    "lists in a list": ({"genres": [["x"]]}, r"genres\[0\] is a list of 1"),
    "a long category": ({"about": "x" * 10**7}, "about is 'xxx.*10,000,000 characters"),
    "a long list": ({"tags": ["x"] * 10**6}, "tags is a list of 1,000,000"),
    "many fields": ({str(k): 1.0 for k in range(10**5)}, "100,000 fields"),
    "a name that is no string": ({3: "x"}, "a field called 3"),
    "an empty name": ({"": "x"}, "a field whose name is ''"),
    "a long name": ({"x" * 10**6: 1}, "1,000,000 characters"),
    "an object": ({"it": object()}, "it is an object"),
    "a function": ({"it": math.sqrt}, "it is a builtin"),
    "a class": ({"it": int}, "it is a type"),
    "complex": ({"it": 1j}, "it is a complex"),
    "a matrix": ({"it": np.ones((2, 2))}, r"it has the shape \(2, 2\), and a vector has one dimension"),
    "not a record": ([1, 2], "the record is a list of 2"),
    "a string": ("record", "the record is 'record'"),
    "none": (None, "the record is None"),
}


def cyclic() -> dict[str, Any]:
    record: dict[str, Any] = {"a": 1}
    record["self"] = record
    return record


def wide_and_deep(depth: int) -> dict[str, Any]:
    """Nine records in each, which are the same one: millions for who walks through them, and no time to make."""
    if not depth:
        return {"x": 1}
    inner = wide_and_deep(depth - 1)
    return {str(k): inner for k in range(9)}


@pytest.mark.parametrize("record", [*HOSTILE], ids=str)
def test_hostile_records_are_refused_at_once_and_by_name(record: str) -> None:
    value, message = HOSTILE[record]
    vectorizer = Vectorizer(dim=64)
    start = time.perf_counter()
    for _ in range(3):
        with pytest.raises(InvalidFeatures, match=message) as refusal:
            vectorizer.row(value)
    assert time.perf_counter() - start < 2.0
    assert refusal.value.hint
    assert len(str(refusal.value)) < 400


def test_cycles_depth_and_breadth_are_bounded() -> None:
    for record in (cyclic(), wide_and_deep(7)):
        with pytest.raises(InvalidFeatures, match=r"self|fields"):
            Vectorizer(dim=64).row(record)
    texty = Vectorizer(dim=64, text=("t",))
    with pytest.raises(InvalidFeatures, match="131,072"):
        texty.row({"t": "x " * limits.TEXT})
    with pytest.raises(InvalidFeatures, match="declared as text"):
        texty.row({"t": ["x"]})
    texty.learn({"t": "word " * 20_000})
    assert len(texty.names) == 3


class Endless(Mapping[str, int]):
    """Says that it is very long, and is never walked through."""

    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Any:
        raise AssertionError

    def __len__(self) -> int:
        return 10**9


def test_a_mapping_is_asked_for_its_length_first() -> None:
    with pytest.raises(InvalidFeatures, match="1,000,000,000 fields"):
        Vectorizer().row(Endless())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"dim": 0}, "dim is 0"),
        ({"dim": 1}, "dim is 1"),
        ({"text": 3}, "text is 3"),
        ({"crosses": "all"}, "crosses is 'all'"),
        ({"crosses": ["ab"]}, "crosses holds 'ab'"),
        ({"crosses": 3}, "crosses is 3"),
        ({"constant": 1}, "constant is 1"),
        ({"scale": None}, "scale is None"),
    ],
)
def test_settings_are_checked(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Vectorizer(**asked)


def test_encoding_changes_nothing() -> None:
    vectorizer = learnt({"a": 1, "b": "x"}, {"a": 2, "b": "y"})
    before = {name: array.tobytes() for name, array in vectorizer.state().items()}
    vectorizer.row({"a": 3, "b": "z", "new": 4})
    vectorizer.rows([{"a": 3, "b": "z", "new": 4}] * 5)
    assert {name: array.tobytes() for name, array in vectorizer.state().items()} == before


def test_a_new_name_stands_where_it_would_stand_if_it_were_learnt() -> None:
    vectorizer = learnt({"b": "x"})
    row = vectorizer.row({"b": "z"})
    assert row.indices.tolist() == [0, 2]
    rows = vectorizer.rows([{"b": "z"}, {"b": "u"}, {"b": "z"}])
    assert rows.indices.tolist() == [0, 2, 0, 3, 0, 2]
    vectorizer.learn({"b": "z"})
    assert named(vectorizer, {"b": "z"}) == {"(constant)": 1.0, "b=z": 1.0}


def test_every_name_has_a_column_of_its_own_until_there_are_too_many() -> None:
    vectorizer = learnt(*({"c": f"v{k}"} for k in range(15)), dim=16)
    assert sorted(column for column, _ in vectorizer.named_columns()) == list(range(16))
    assert vectorizer.columns_in_use == 16
    for k in range(15, 60):
        vectorizer.learn({"c": f"v{k}"})
    shared = dict(vectorizer.named_columns())
    assert len(shared) == 16
    assert len(vectorizer.names) == 32, "names are bounded"
    assert shared[0] == "(constant)", "nobody shares the constant's column"
    assert any(" | " in name for name in shared.values())
    assert any("…" in name for name in shared.values()), "columns say that forgotten names share them"
    row = vectorizer.row({"c": "v59"})
    assert row.indices.max() < 16
    assert len(row.indices) == 2


@pytest.mark.parametrize("dim", [16, 2**10], ids=["some are forgotten", "all have places"])
@pytest.mark.parametrize("texts", [("title",), ("title", "note")])
def test_new_names_are_numbered_as_the_record_has_them(texts: tuple[str, ...], dim: int) -> None:
    """Texts whose words are all known are read last; that must not show, whatever the next record brings."""
    features = Vectorizer(dim=dim, text=texts)
    seen: dict[str, Any] = {"title": "a b a b", "note": "c", "colour": "red", "size": 1.0}
    news: list[dict[str, Any]] = [
        {"title": "a new word", "note": "c", "colour": "green", "size": 2.0},
        {"title": "a b", "note": "c d", "colour": "blue"},
        {"title": "b a", "colour": "grün", "note": "é", "size": 0.5},
        {"title": "é a", "note": "", "colour": "red", "more": {"title": "x"}, "size": 1.5},
    ]
    for each in news:
        for _ in range(4):
            features.learn(seen)
        one, among = features.encode(each), features.encode_many([each])
        assert one.names == among.names
        np.testing.assert_array_equal(features.row(each).dense(), features.sparse_rows([each]).dense()[0])
        features.learn(each)


def test_names_are_bounded_and_distinguished() -> None:
    vectorizer = learnt({"c": "x" * 900}, {"c": "x" * 901})
    assert [len(name) for name in vectorizer.names[1:]] == [limits.NAME] * 2
    assert len(set(vectorizer.names)) == 3


def test_a_number_that_is_sometimes_absent_has_an_indicator() -> None:
    vectorizer = learnt({"age": 30, "c": "x"}, {"age": 40, "c": "x"}, {"c": "x"}, {"age": None, "c": "x"})
    assert "age (missing)" in vectorizer.names
    assert named(vectorizer, {"c": "x"}) == {"(constant)": 1.0, "c=x": 1.0, "age (missing)": 1.0}
    assert "age (missing)" not in named(vectorizer, {"age": 35, "c": "x"})
    rows = vectorizer.rows(
        [{"age": 30, "c": "x"}, {"age": None, "c": "x"}, {"age": 40, "c": "x"}, {"age": 1, "c": "x"}]
    )
    column = vectorizer.names.index("age (missing)")
    assert rows.toarray()[:, column].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_words_are_weighted_by_how_rare_they_are() -> None:
    vectorizer = learnt({"t": "the cat"}, {"t": "the dog"}, {"t": "the the cow"}, text=("t",))
    found = named(vectorizer, {"t": "the cat cat"})
    del found["(constant)"]
    df = {"the": 3, "cat": 1, "the cat": 1, "cat cat": 0}
    tf = {"the": 1.0, "cat": 1.0 + math.log(2), "the cat": 1.0, "cat cat": 1.0}
    raw = {term: tf[term] * math.log(1 + 4 / (df[term] + 1)) for term in df}
    length = math.sqrt(sum(value * value for value in raw.values()))
    expected = {f"t:{term}": value / length for term, value in raw.items() if term != "cat cat"}
    assert found.pop(next(name for name in found if name.startswith("#"))) == pytest.approx(raw["cat cat"] / length)
    assert found == pytest.approx(expected)


@given(st.text(max_size=60))
def test_terms_are_all_words_and_neighbours(text: str) -> None:
    found, often = terms(text)
    assert len(set(found)) == len(found)
    assert all(weight > 1.0 for weight in often.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(-1e100, 1e100) | st.integers(-(10**12), 10**12) | st.text(max_size=12),
    lambda inner: st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=4) | st.lists(st.text(max_size=4)),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(min_size=1, max_size=5), JSON, max_size=5), min_size=1, max_size=8)


@settings(max_examples=40)
@given(RECORDS, st.booleans())
def test_many_records_are_the_same_as_one_by_one(records: list[dict[str, Any]], wide: bool) -> None:
    vectorizer = Vectorizer(dim=256 if wide else 4, text=("a",))
    for record in records[: len(records) // 2]:
        vectorizer.learn(record)
    for record in records:
        alone = vectorizer.encode(record)
        assert Encoded.from_record(alone.to_record()) == alone
    known = [record for record in records if not vectorizer.encode(record).names]
    if known:
        expected = np.array([vectorizer.row(record).dense() for record in known])
        np.testing.assert_allclose(vectorizer.rows(known).toarray(), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=30)
@given(RECORDS)
def test_state_comes_back(records: list[dict[str, Any]]) -> None:
    vectorizer, twin = Vectorizer(dim=8, text=("a",)), Vectorizer(dim=8, text=("a",))
    for record in records:
        vectorizer.learn(record)
    twin.restore(vectorizer.state())
    for record in records:
        assert twin.encode(record) == vectorizer.encode(record)
        twin.learn(record)
        vectorizer.learn(record)
    for name, array in twin.state().items():
        assert array.tobytes() == vectorizer.state()[name].tobytes(), name


def test_pairs_cross_two_fields_of_one_record() -> None:
    vectorizer = learnt({"a": "x", "b": "y", "n": 1}, {"a": "x", "b": "z", "n": 3}, crosses=[("a", "b"), ("a", "n")])
    assert "a=x × b=y" in vectorizer.names
    found = named(vectorizer, {"a": "x", "b": "z", "n": 3})
    assert found["a=x × b=z"] == 1.0
    assert found.pop(next(name for name in found if name.startswith("#"))) == found["n"] == 1.0  # a=x × n, new here


def test_ids_are_categories_only_where_there_are_ids() -> None:
    vectorizer, without = Vectorizer(dim=64), Vectorizer(dim=64, id_feature=False)
    by_id, listed = Candidates({"a": {}, 7: {}}), Candidates([{"topic": "art"}, {}])
    assert {"id=a", "id=7"} <= set(vectorizer.encode_many(by_id).names)
    assert not any("id=" in name for name in vectorizer.encode_many(listed).names)
    assert not any("id=" in name for name in without.encode_many(by_id).names)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({}, "0 candidates"),
        ([], "0 candidates"),
        ({7: {}, "7": {}}, "'7' and 7"),
        ({1.5: {}}, "id is 1.5"),
        ({"x" * 300: {}}, "id is 'xxx"),
        ("ab", "records are 'ab'"),
        (3, "records are 3"),
        ([{}] * 10_001, "10,001 candidates"),
    ],
)
def test_candidates_are_checked(records: Any, message: str) -> None:
    with pytest.raises(SmidgenError, match=message):
        Candidates(records)


def test_the_limit_of_crosses_holds() -> None:
    context = {"interests": [f"i{k}" for k in range(100)], "device": "ios"}
    offer = Candidates({k: {"tags": [f"t{k}" for k in range(50)], "topic": "art"} for k in range(3)}, context=context)
    crosses = [name for name in Vectorizer(dim=4096).encode_many(offer).names if "×" in name]
    assert 0 < len(crosses) <= 3 * limits.CROSSES


def test_damaged_encodings_are_refused() -> None:
    whole = learnt({"a": 1.0, "b": "x"}).encode({"a": 2.0, "b": "y"}).to_record()
    for name, bad in (
        ("indices", np.array([99], np.uint32)),
        ("starts", np.array([0, 5])),
        ("new_names", np.array([7])),
        ("values", np.array([np.nan])),
        ("slots", np.array([0.5])),
        ("names", (3,)),
        ("top", 0),
    ):
        with pytest.raises(SmidgenError):
            Encoded.from_record({**whole, name: bad})
    with pytest.raises(SmidgenError):
        Encoded.from_record({name: value for name, value in whole.items() if name != "raw"})


def test_frames_are_the_same_as_their_records() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    records = [
        {
            "n": float(rng.normal()),
            "k": int(rng.integers(9)),
            "c": str(rng.choice(["a", "b"])),
            "flag": bool(rng.random() < 0.5),
            "t": "some words" if rng.random() < 0.5 else "other words",
            "sometimes": float(rng.normal()) if rng.random() < 0.7 else None,
            "maybe": "x" if rng.random() < 0.5 else None,
            "day": "2026-11-16",
        }
        for _ in range(40)
    ]
    vectorizer = learnt(*records[:20], text=("t",))
    expected = np.array([vectorizer.row(record).dense() for record in records])
    for frame in (pandas.DataFrame(records), polars.DataFrame(records)):
        np.testing.assert_allclose(vectorizer.rows(frame).toarray(), expected, atol=1e-12)
        offered = vectorizer.rows(Candidates(frame)).toarray()
        np.testing.assert_allclose(offered[:, 1:], expected[:, 1:], atol=1e-12)
        assert (offered[:, 0] == 1.0).all()  # candidates share the constant: it drowns nothing there
        assert (expected[:, 0] == 0.2).all()
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidFeatures, match="two columns called 'a'"):
        vectorizer.rows(twice)
    with pytest.raises(InvalidFeatures, match="record 1: n is inf"):
        vectorizer.rows(pandas.DataFrame({"n": [1.0, np.inf, 2.0, 3.0]}))


@pytest.mark.parametrize("dim", [32, 2**14], ids=["many entries per column", "few"])
@pytest.mark.parametrize("module", ["list", "pandas", "polars"])
def test_rows_of_large_frames_are_those_of_their_records_to_the_bit(module: str, dim: int) -> None:
    """Several blocks of rows, sorted by counting or by insertion; absent values; words that come twice; shared columns.

    A name that is not known yet gets the next column in one record, and one after the other in many: so all are known.
    """
    rng = np.random.default_rng(dim)
    records: list[dict[str, Any]] = [
        {
            "age": float(rng.normal(40, 12)) if rng.random() < 0.9 else None,
            "clicks": int(rng.integers(100)),
            "country": f"c{rng.integers(9)}" if rng.random() < 0.9 else None,
            "vip": bool(rng.random() < 0.5),
            "title": " ".join(f"w{k}" for k in rng.integers(12, size=6)),
        }
        for _ in range(700)
    ]
    features = Vectorizer(dim=dim, text=("title",))
    for record in records:
        features.learn(record)
    given = records if module == "list" else pytest.importorskip(module).DataFrame(records)
    matrix = features.rows(given)
    for k, record in enumerate(records):
        row, part = features.row(record), slice(matrix.indptr[k], matrix.indptr[k + 1])
        np.testing.assert_array_equal(matrix.indices[part], row.indices)
        np.testing.assert_array_equal(matrix.data[part], row.values)
