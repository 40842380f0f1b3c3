"""Drafts and edits: laws, sealing, what the app gives, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Drafts, Edit, serialization
from smidgen.errors import InvalidFeatures, InvalidFeedback, InvalidRecord
from smidgen.testing import check_structure

TEXTS = ["Hello Ann!\n\nIt ships on Friday, I think.\n\nBest regards", "It ships on Friday.", ""]
SAID = [{"model": "small", "cost": 0.2}, {"model": "large", "cost": 3.0, "checked": True}, {}]
SALT = b"0123456789abcdef"


def test_drafts_keep_the_laws() -> None:
    for drafts in (Drafts(TEXTS, SAID), Drafts(TEXTS[:1])):
        check_structure(
            drafts,
            edits=[Edit("It ships on Monday."), Edit(""), Edit(TEXTS[0])],
            impossible=["a text", -1, len(drafts), 0.5, None, True],
        )


def test_the_dimension_is_fixed() -> None:
    assert isinstance(Drafts.dim, int)
    assert Drafts(["a"]).phi(0).shape == Drafts(TEXTS, SAID).phi(Edit("b")).shape == (Drafts.dim,)


def test_sealed_drafts_teach_the_same_and_hold_no_words() -> None:
    plain = Drafts(TEXTS, SAID)
    sealed = plain.sealed(SALT)
    edit = Edit("It ships on Monday, truly.")
    assert sealed.texts is None
    assert edit.sealed(SALT).text is None
    for y in (0, 1, 2, edit):
        np.testing.assert_array_equal(sealed.phi(y), plain.phi(y))
        assert sealed.traits(y) == plain.traits(y)
        assert sealed.weight(y, 0) == plain.weight(y, 0)
    assert sealed.weight(edit.sealed(SALT), 1) == plain.weight(edit, 1)
    for written in (
        serialization.encode(sealed),
        serialization.encode(edit.sealed(SALT)),
        serialization.to_json(sealed),
    ):
        assert not any(word in written.lower() for word in (b"friday", b"monday", b"ships", b"ann"))
    again: Any = serialization.decode(serialization.encode(sealed))
    assert again == sealed
    assert again.weight(serialization.decode(serialization.encode(edit.sealed(SALT))), 1) == plain.weight(edit, 1)
    assert sealed.sealed(SALT) is sealed
    with pytest.raises(InvalidFeatures, match="salt"):
        plain.sealed(b"short")


def test_an_edit_has_the_mean_of_what_the_app_gives() -> None:
    drafts = Drafts(["a", "a"], [{"model": "x", "cost": 1.0}, {"model": "y", "cost": 1.0}])
    delta = drafts.difference(Edit("a"), 0)
    towards, away = (drafts.phi(y) - drafts.phi(1 - y) for y in (1, 0))
    np.testing.assert_allclose(delta, towards / 2)
    np.testing.assert_allclose(delta, -away / 2)
    assert drafts.phi(0) @ drafts.phi(0) > Drafts(["a"]).phi(0) @ Drafts(["a"]).phi(0)


def test_a_matrix_of_features_has_its_columns_for_names() -> None:
    matrix = Drafts(["a", "b"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    named = Drafts(["a", "b"], [{"0": 1.0, "1": 2.0}, {"0": 3.0, "1": 4.0}])
    assert matrix == named


@pytest.mark.parametrize(
    ("texts", "features", "about"),
    [
        ("a text", None, "drafts are a str"),
        ([], None, "0 drafts"),
        (["a"] * 1001, None, "1,001 drafts"),
        ([1], None, "draft 0 is a int"),
        (["a" * 131_073], None, "131,073 characters"),
        (["a"], [{}, {}], "2 feature records"),
        (["a"], {"model": "x"}, "features are a dict"),
        (["a"], [{"cost": float("nan")}], "cost is nan"),
        (["a"], [{"cost": [1, 2]}], "cost is"),
        (["a"], [{"cost": "x" * 1001}], "1,001 characters"),
        (["a"], ["cost"], "features of a draft"),
        (["a"], [{3: 1.0}], "name of a feature"),
    ],
)
def test_what_is_refused(texts: Any, features: Any, about: str) -> None:
    with pytest.raises(InvalidFeatures, match=about):
        Drafts(texts, features)


def test_edits_are_texts() -> None:
    number: Any = 3
    with pytest.raises(InvalidFeedback, match="a int"):
        Edit(number)
    with pytest.raises(InvalidFeedback, match="131,073"):
        Edit("a" * 131_073)


def test_damaged_records_are_refused() -> None:
    sealed: dict[str, Any] = Edit("one two").sealed(SALT).to_record()
    for change in ({"columns": np.array([9999])}, {"values": np.ones(3)}, {"traits": np.ones(2)}):
        with pytest.raises(InvalidRecord):
            Edit.from_record({**sealed, **change})


def test_repr_shows_that_a_prompt_holds_a_user() -> None:
    assert repr(Edit("short")) == "Edit('short')"
    assert "sealed" in repr(Edit("short").sealed(SALT))
    assert repr(Drafts(["a", "b"])) == "Drafts(2 texts)"
    assert smidgen.Drafts is Drafts
