"""Values to JSON and back without loss, and bytes that are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import smidgen
from smidgen import Choice, Decision, PreferencePerceptron, Ranking, records
from smidgen.errors import InvalidArgument, InvalidRecord, NotSaveable

plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint8, np.bool_]), hnp.array_shapes(min_side=0)
)
values = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text().filter(lambda key: key != "$"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_any_value_comes_back_the_same(value: Any) -> None:
    again = records.from_json(records.to_json(value))
    assert records.same(again, value)
    assert records.to_json(again) == records.to_json(value)
    assert records.fingerprint(again) == records.fingerprint(value)


@given(hnp.arrays(np.float64, (3, 2), elements=st.floats(-1e300, 1e300)))
def test_rankings_and_choices_come_back_bit_for_bit(rows: Any) -> None:
    for made in (Ranking(rows, top=2), Choice(rows), Choice(rows, [1]), Ranking(sparse.csr_array(rows))):
        again = records.from_json(records.to_json(made))
        assert again == made
        assert type(again.rows) is type(made.rows)


def test_special_floats_survive_in_arrays() -> None:
    value = np.array([np.nan, np.inf, -0.0, 5e-324])
    assert records.from_json(records.to_json(value)).tobytes() == value.tobytes()


def test_big_endian_arrays_keep_their_values() -> None:
    value = np.arange(3, dtype=">f8")
    np.testing.assert_array_equal(records.from_json(records.to_json(value)), value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$": 1}, np.array(["a"]), np.array([1j]), {1, 2}, b"x"])
def test_what_has_no_name_is_refused(value: Any) -> None:
    with pytest.raises(NotSaveable):
        records.to_json(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nope",
        b'{"$": "array"}',
        b'{"$": "array", "dtype": "<f8", "shape": [2], "data": "AAAA"}',
        b'{"$": "array", "dtype": "O", "shape": [1], "data": ""}',
        b'{"$": "array", "dtype": "<f8", "shape": [1], "data": "!!!!"}',
        b'{"$": "tuple"}',
        b'{"$": "os.system"}',
        b'{"$": "Ranking", "docs": [[1.0, 2.0]], "topp": 1}',
        b'{"$": "Ranking", "docs": [["a"]], "top": 1}',
        b'{"$": "Choice", "items": {"data": 1}, "available": null}',
    ],
)
def test_broken_records_are_refused(data: bytes) -> None:
    with pytest.raises(smidgen.SmidgenError):
        records.from_json(data)


def decision_fields(**changes: Any) -> bytes:
    decision = PreferencePerceptron(dim=2).decide(Choice(np.eye(2)))
    fields = {name: getattr(decision, name) for name in Decision.__struct_fields__ if name not in ("teams",)}
    fields = {key: value for key, value in fields.items() if value is not None}
    return records.to_json({key: value for key, value in {**fields, **changes}.items() if value is not ...})


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": 1},
        {"number": 0},
        {"number": "1"},
        {"number": True},
        {"explored": 1},
        {"propensity": "high"},
        {"scores": [1.0]},
        {"context": ...},
        {"action": ...},
    ],
)
def test_a_decision_with_wrong_fields_is_refused(changes: dict[str, Any]) -> None:
    assert isinstance(Decision.from_json(decision_fields()), Decision)
    with pytest.raises(InvalidRecord):
        Decision.from_json(decision_fields(**changes))


def test_a_tampered_decision_cannot_reach_outside_its_arrays() -> None:
    learner = PreferencePerceptron(dim=2)
    for action in (7, -1, 2**40, "0", None):
        data = decision_fields(action=action if action is not None else [0])
        with pytest.raises(smidgen.SmidgenError):
            learner.learn(Decision.from_json(data), 1)
    assert learner.rounds == 0


def test_a_decision_of_an_unregistered_structure_says_what_to_do() -> None:
    class Bare:
        def phi(self, y: int) -> Any:
            return np.eye(2)[y]

        def argmax(self, w: Any) -> int:
            return 0

    decision = PreferencePerceptron(dim=2).decide(Bare())
    with pytest.raises(NotSaveable, match=r"@smidgen\.structure"):
        decision.to_json()


def test_a_registered_structure_is_written_by_name() -> None:
    @smidgen.structure("test plan")
    @dataclass(frozen=True)
    class Plan:
        rows: Any

        def phi(self, y: int) -> Any:
            return self.rows[y]

        def argmax(self, w: Any) -> int:
            return int(np.argmax(self.rows @ w))

    learner = PreferencePerceptron(dim=2)
    decision = learner.decide(Plan(np.eye(2)))
    again = Decision.from_json(decision.to_json())
    assert again == decision
    learner.learn(again, 1)
    np.testing.assert_array_equal(learner.weights, [-1.0, 1.0])


def test_names_are_not_taken_twice() -> None:
    @dataclass
    class Ranking:
        x: int

    with pytest.raises(InvalidArgument, match="taken"):
        smidgen.structure("Ranking")(Ranking)
    with pytest.raises(InvalidArgument, match="dataclass"):
        smidgen.structure(type("Plain", (), {}))
