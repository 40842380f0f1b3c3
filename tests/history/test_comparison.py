"""Several runs side by side: a mapping, a table, a frame, HTML."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from history.test_history import by_loop
from smidgen import Comparison
from smidgen.errors import InvalidArgument
from test_markup import EVIL, assert_harmless


@cache
def two() -> Comparison:
    return Comparison({"a": by_loop()["label"], "b": by_loop()["filter"]})


def test_is_a_mapping_of_histories() -> None:
    assert list(two()) == ["a", "b"]
    assert len(two()) == 2
    assert two()["a"] is by_loop()["label"]
    assert "c" not in two()
    assert dict(two().items()) == {"a": two()["a"], "b": two()["b"]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_one_row_per_learner(library: str) -> None:
    pytest.importorskip(library)
    frame = two().to_frame(library)
    assert list(frame["learner"]) == ["a", "b"]
    assert list(frame["class"]) == ["Confidit", "RidgeFil"]
    assert list(frame["error_rate"]) == [history.error_rate for history in two().values()]
    assert "precision" in frame.columns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_one_row_per_learner_and_round(library: str) -> None:
    pytest.importorskip(library)
    frame = two().to_frame(library, rounds=True)
    assert len(frame) == 120
    assert list(frame["learner"]) == ["a"] * 60 + ["b"] * 60
    assert list(frame["mistake"]) == [*two()["a"].mistakes, *two()["b"].mistakes]


def test_as_text_and_html() -> None:
    lines = repr(two()).splitlines()
    assert lines[0].split()[:3] == ["learner", "class", "rounds"]
    assert [line.split()[0] for line in lines[1:]] == ["a", "b"]
    reply = Comparison({EVIL: by_loop()["label"]})._repr_html_()
    assert_harmless(reply)
    assert "&lt;script&gt;" in reply


def test_numbers_in_the_table_are_those_of_the_runs() -> None:
    assert f"{two()['a'].error_rate:.4g}" in repr(two())
    assert f"{two()['b'].recall:.4g}" in two()._repr_html_()
    assert np.isclose(two().columns["explored"][0], two()["a"].explored.mean())


def test_nothing_to_compare() -> None:
    with pytest.raises(InvalidArgument, match="nothing to compare"):
        Comparison({})
