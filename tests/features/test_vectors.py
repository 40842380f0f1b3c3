"""Vectors in records: what is accepted, what is refused, lengths, projection, names, cosines."""

from __future__ import annotations

import time
import tracemalloc
from array import array
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import smidgen
from smidgen.errors import InvalidFeatures
from smidgen.features import Encoded
from smidgen.features.vectors import from_extension, from_json, to_extension, to_json, unit_vector

HOSTILE = {
    "one number": ([1.0], "emb is a list of 1 number, and a vector has 2 to 4,096"),
    "too long": ([0.5] * 4097, "emb is a list of 4,097 numbers"),
    "far too long": ([0.5] * 10**6, "emb is a list of 1,000,000 numbers"),
    "a huge array": (np.zeros(10**6), "emb is a list of 1,000,000 numbers"),
    "NaN": ([0.5, float("nan")], r"emb\[1\] is nan"),
    "infinity": ([float("inf"), 0.5], r"emb\[0\] is inf"),
    "NaN in an array": (np.array([0.5, np.nan]), r"emb\[1\] is nan"),
    "beyond float32": ([0.5, 1e300], r"emb\[1\] is 1e\+300"),
    "beyond float32 in an array": (np.array([1e300, 0.5]), r"emb\[0\] is 1e\+300"),
    "a huge number": ([10**400, 1.0], r"emb\[0\] is a whole number of"),
    "a bool": ([0.5, True], r"emb\[1\] is True, and emb\[0\] is a number"),
    "a bool first": ([True, 0.5], r"emb\[0\] is True"),
    "a string": ([0.5, "x"], r"emb\[1\] is 'x', and emb\[0\] is a number"),
    "a string first": (["x", 0.5], r"emb\[1\] is 0.5"),
    "null": ([0.5, None], r"emb\[1\] is None"),
    "nested": ([[0.5, 1.0], [1.0, 2.0]], r"emb\[0\] is a list of 2"),
    "nested later": ([0.5, [1.0]], r"emb\[1\] is \[1.0\]"),
    "a matrix": (np.zeros((2, 2)), r"emb has the shape \(2, 2\)"),
    "not base64": ({"f32": "!!"}, "emb.f32 is not base64"),
    "half a number": ({"f32": "AAAA"}, "emb.f32 holds 3 bytes"),
    "another length": ([0.5] * 4, "emb has 4 numbers, and the vectors of this field have 3"),
    "empty": ([], "emb has 0 numbers, and the vectors of this field have 3"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_vector_is_refused_at_once_with_its_place(name: str) -> None:
    value, message = HOSTILE[name]
    vectorizer = smidgen.Vectorizer(dim=64)
    vectorizer.fix_lengths({"emb": 3})
    before = {key: each.tobytes() for key, each in vectorizer.state().items()}
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(InvalidFeatures, match=message):
        vectorizer.row({"emb": value})
    assert time.perf_counter() - start < 0.1
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert {key: each.tobytes() for key, each in vectorizer.state().items()} == before


@given(arrays.arrays(np.float32, st.integers(2, 40), elements=st.floats(-(2.0**99), 2.0**99, width=32)))
def test_every_form_of_a_vector_gives_the_same_row(numbers: Any) -> None:
    vectorizer = smidgen.Vectorizer(dim=64, vectors=16)
    rows = [
        vectorizer.row({"emb": form})
        for form in (
            numbers,
            numbers.tolist(),
            list(numbers),
            tuple(numbers.tolist()),
            numbers.astype(np.float64),
            array("f", numbers.tolist()),
            to_json(numbers),
        )
    ]
    assert all(np.array_equal(each.dense(), rows[0].dense()) for each in rows)
    length = float(np.linalg.norm(rows[0].dense()[1:]))
    assert (length == 0.0) == (not numbers.any()) or len(numbers) > 16
    if len(numbers) <= 16 and numbers.any():
        assert length == pytest.approx(1.0)
    packed = msgspec.msgpack.encode(numbers, enc_hook=to_extension)
    assert len(packed) <= 4 * len(numbers) + 6
    assert np.array_equal(msgspec.msgpack.decode(packed, ext_hook=from_extension), numbers)
    assert np.array_equal(from_json("emb", to_json(numbers)), numbers)


def test_the_projection_is_a_function_of_the_seed_and_keeps_lengths() -> None:
    x = np.random.default_rng(0).normal(size=(200, 384)).astype(np.float32)
    one, again, other = (np.array([unit_vector(each, 32, seed) for each in x]) for seed in (7, 7, 8))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.mean(np.sum(one**2, axis=1)) == pytest.approx(1.0, abs=0.05)


def test_names_say_whether_a_vector_is_projected() -> None:
    vectorizer = smidgen.Vectorizer(dim=64, vectors=4)
    vectorizer.learn({"short": [1, 2, 3], "long": list(range(9)), "tags": ["a"]})
    assert vectorizer.names[1:] == [
        "tags=a", *(f"short[{k}]" for k in range(3)), *(f"long~{k}" for k in range(4)),
    ]  # fmt: skip
    assert vectorizer.lengths == {"short": 3, "long": 9}


def test_zeros_are_a_vector_and_vectors_can_be_refused() -> None:
    assert not smidgen.Vectorizer(dim=64, constant=False).row({"emb": [0, 0]}).dense().any()
    with pytest.raises(InvalidFeatures, match="this model refuses vectors"):
        smidgen.Vectorizer(dim=64, vectors=0).row({"emb": [1, 2]})


def test_a_vector_and_a_number_of_one_name_are_two_features() -> None:
    vectorizer = smidgen.Vectorizer(dim=64)
    for value in (1.0, [1.0, 2.0], 3.0, "x"):
        vectorizer.learn({"it": value})
    assert {"it", "it[0]", "it[1]", "it=x"} <= set(vectorizer.names)


def test_the_cosine_of_context_and_candidate_is_a_feature() -> None:
    vectorizer = smidgen.Vectorizer(dim=256, vectors=2)
    e = np.eye(8)
    offer = smidgen.Candidates({"a": {"emb": e[0]}, "b": {"emb": e[1]}, "c": {}}, context={"emb": e[0] + e[1] * 0.0})
    encoded = vectorizer.encode_candidates(offer)
    vectorizer.absorb(encoded, vectorizer.planned(encoded)[0])
    rows, column = vectorizer.sparse_rows(offer).dense(), vectorizer.names.index("emb·emb")
    assert rows[:, column].tolist() == [1.0, 0.0, 0.0]
    crosses = [name for name in vectorizer.names if " × id=" in name]
    assert len(crosses) == 6  # three ids, two columns


def test_crosses_by_name_stop_at_their_limit_ids_first() -> None:
    vectorizer = smidgen.Vectorizer(dim=4096, vectors=256)
    offer = smidgen.Candidates({f"c{k}": {} for k in range(9)}, context={"emb": np.arange(300.0)})
    for _ in range(2):
        encoded = vectorizer.encode_candidates(offer)
        vectorizer.absorb(encoded, vectorizer.planned(encoded)[0])
    assert sum(" × id=" in name and "emb~" in name for name in vectorizer.names) == 1024


def test_lengths_are_fixed_by_the_first_decision_and_saved() -> None:
    learner = smidgen.Pipeline(features=smidgen.Vectorizer(dim=64), learner=smidgen.ChoiceBank(dim=64))
    learner.predict(smidgen.Candidates({"a": {}}, context={"emb": [1, 2]}))  # changes nothing
    made = learner.decide(smidgen.Candidates({"a": {}}, context={"emb": [1, 2, 3]}))
    other = smidgen.Candidates({"a": {}}, context={"emb": [1, 2]})
    with pytest.raises(InvalidFeatures, match="has 2 numbers, and the vectors of this field have 3"):
        learner.decide(other)
    learner.learn(made, 1.0)
    restored = type(learner).from_bytes(learner.to_bytes())
    assert learner.to_bytes() == restored.to_bytes()
    with pytest.raises(InvalidFeatures, match="has 2 numbers, and the vectors of this field have 3"):
        restored.decide(other)
    with pytest.raises(InvalidFeatures, match="that of another candidate has 2"):
        smidgen.Vectorizer(dim=64).encode_candidates(smidgen.Candidates({"a": {"e": [1, 2]}, "b": {"e": [1, 2, 3]}}))


@pytest.mark.parametrize("learner", ["HingeConfidit", "LabelBank"])
def test_labels_read_vectors_without_crosses(learner: str) -> None:
    rng = np.random.default_rng(0)
    made = smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=64), learner=getattr(smidgen, learner)(dim=64, labels=["u", "v"])
    )
    for _ in range(60):
        e = rng.normal(size=4)
        decision = made.decide({"emb": e})
        made.learn(decision, bool((decision.action == "u") == (e[0] > 0)))
    assert [name for name, _ in made.weights_by_name()][:1] == ["emb"]
    assert not any("×" in name for name in made.features.names)


def test_an_encoded_record_without_a_person_s_columns_keeps_the_rest_of_its_direction() -> None:
    vectorizer = smidgen.Vectorizer(dim=64)
    offer = smidgen.Candidates({"a": {}, "b": {}}, context={"emb": [3, 4], "more": [1, 0]})
    encoded = vectorizer.encode_candidates(offer, directions=True)
    gone = np.array([name.startswith("context.more") for name in encoded.names])
    left = encoded.without(np.empty(0, np.int64), gone)
    assert left.direction.tolist() == pytest.approx([0.6, 0.8])
    assert len(left.names) == len(encoded.names) - 2
    assert Encoded.from_record(left.to_record()) == left
