"""Several runs side by side: a mapping, a table, a frame, HTML."""

from __future__ import annotations

import numpy as np
import pytest

from history.test_history import HISTORIES
from smidgen import Comparison
from smidgen.errors import InvalidArgument
from test_markup import EVIL, assert_harmless

TWO = Comparison({"a": HISTORIES["label"], "b": HISTORIES["filter"]})


def test_is_a_mapping_of_histories() -> None:
    assert list(TWO) == ["a", "b"]
    assert len(TWO) == 2
    assert TWO["a"] is HISTORIES["label"]
    assert "c" not in TWO
    assert dict(TWO.items()) == {"a": TWO["a"], "b": TWO["b"]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_one_row_per_learner(library: str) -> None:
    pytest.importorskip(library)
    frame = TWO.to_frame(library)
    assert list(frame["learner"]) == ["a", "b"]
    assert list(frame["class"]) == ["Confidit", "RidgeFil"]
    assert list(frame["error_rate"]) == [history.error_rate for history in TWO.values()]
    assert "precision" in frame.columns


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_one_row_per_learner_and_round(library: str) -> None:
    pytest.importorskip(library)
    frame = TWO.to_frame(library, rounds=True)
    assert len(frame) == 120
    assert list(frame["learner"]) == ["a"] * 60 + ["b"] * 60
    assert list(frame["mistake"]) == [*TWO["a"].mistakes, *TWO["b"].mistakes]


def test_as_text_and_html() -> None:
    lines = repr(TWO).splitlines()
    assert lines[0].split()[:3] == ["learner", "class", "rounds"]
    assert [line.split()[0] for line in lines[1:]] == ["a", "b"]
    told = Comparison({EVIL: HISTORIES["label"]})._repr_html_()
    assert_harmless(told)
    assert "&lt;script&gt;" in told


def test_numbers_in_the_table_are_those_of_the_runs() -> None:
    assert f"{TWO['a'].error_rate:.4g}" in repr(TWO)
    assert f"{TWO['b'].recall:.4g}" in TWO._repr_html_()
    assert np.isclose(TWO.columns["explored"][0], TWO["a"].explored.mean())


def test_nothing_to_compare() -> None:
    with pytest.raises(InvalidArgument, match="nothing to compare"):
        Comparison({})
