"""Values to JSON and back without loss, and bytes that are refused."""

from __future__ import annotations

import contextlib
import tracemalloc
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import smidgen
from smidgen import Choice, Decision, PreferencePerceptron, Ranking, serialization
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidRecord, NotSaveable

plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text()
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
    again = serialization.from_json(serialization.to_json(value))
    assert serialization.same(again, value)
    assert serialization.to_json(again) == serialization.to_json(value)
    assert serialization.fingerprint(again) == serialization.fingerprint(value)


@given(st.lists(values, max_size=6), st.integers(1, 4))
def test_many_read_together_are_each_read_alone(many: list[Any], times: int) -> None:
    contents = [serialization.encode(value) for value in many for _ in range(times)]
    together = serialization.decode_many(contents)
    assert len(together) == len(contents)
    assert all(map(serialization.same, together, map(serialization.decode, contents)))


@given(st.lists(hnp.arrays(np.float64, (3, 2), elements=st.floats(width=32)), min_size=2, max_size=5), st.data())
def test_arrays_of_one_form_read_together_are_each_read_alone(many: list[Any], data: st.DataObject) -> None:
    contents = [serialization.write_array(each) for each in many]
    for one, other in zip(serialization.read_arrays(contents), map(serialization.read_array, contents), strict=True):
        assert serialization.same(one, other)
        assert not one.flags.writeable
        assert one.flags.c_contiguous
        assert one.flags.aligned
        assert one.base is None or one.base.nbytes == one.nbytes  # it holds nothing of the others
    damaged = bytearray(contents[-1])
    damaged[data.draw(st.integers(0, 3))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(InvalidRecord):
        alone = serialization.read_array(bytes(damaged))
        assert serialization.same(serialization.read_arrays([*contents[:-1], bytes(damaged)])[-1], alone)


@pytest.mark.parametrize(
    "bad", [b"", b"\xc1", serialization.encode({"a": 1})[:-1], b"\x81\xa1$\xa3odd", b"\xc7\x02\x01\x00\x00"]
)
def test_one_at_fault_among_many_is_refused_as_if_alone(bad: bytes) -> None:
    good = serialization.encode([Ranking(np.eye(2)), Choice(np.eye(3))])
    with pytest.raises(InvalidRecord) as alone:
        serialization.decode(bad)
    with pytest.raises(InvalidRecord) as among:
        serialization.decode_many([good, good, bad, good])
    assert str(among.value) == str(alone.value)


def test_rows_read_together_are_checked() -> None:
    records_of = [Ranking(np.full((2, 2), float(i)), top=1 + i % 2).to_record() for i in range(4)]
    assert Ranking.from_records(records_of) == [Ranking.from_record(each) for each in records_of]
    records_of[2]["docs"] = np.array([[np.nan, 0.0]])
    with pytest.raises(smidgen.SmidgenError, match="must be finite"):
        Ranking.from_records(records_of)
    with pytest.raises(smidgen.SmidgenError, match="top"):
        Ranking.from_records([{"docs": np.eye(2), "top": 1}, {"docs": np.eye(2), "top": 0}])
    mine = np.eye(2)
    kept = Choice.from_records([{"items": mine}, {"items": mine}])
    mine[0, 0] = 7.0
    assert kept == [Choice(np.eye(2))] * 2


@given(hnp.arrays(np.float64, (3, 2), elements=st.floats(-1e300, 1e300)))
def test_rankings_and_choices_come_back_bit_for_bit(rows: Any) -> None:
    for made in (Ranking(rows, top=2), Choice(rows), Choice(rows, [1]), Ranking(sparse.csr_array(rows))):
        again = serialization.from_json(serialization.to_json(made))
        assert again == made
        assert type(again.rows) is type(made.rows)


def test_special_floats_survive_in_arrays() -> None:
    value = np.array([np.nan, np.inf, -0.0, 5e-324])
    assert serialization.from_json(serialization.to_json(value)).tobytes() == value.tobytes()


def test_big_endian_arrays_keep_their_values() -> None:
    value = np.arange(3, dtype=">f8")
    np.testing.assert_array_equal(serialization.from_json(serialization.to_json(value)), value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$": 1}, np.array(["a"]), np.array([1j]), {1, 2}, b"x"])
def test_what_has_no_name_is_refused(value: Any) -> None:
    with pytest.raises(NotSaveable):
        serialization.to_json(value)


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
        b'{"$": "float", "text": "1.5"}',
        b'{"$": "os.system"}',
        b'{"$": "Ranking", "docs": [[1.0, 2.0]], "topp": 1}',
        b'{"$": "Ranking", "docs": [["a"]], "top": 1}',
        b'{"$": "Choice", "items": {"data": 1}, "available": null}',
    ],
)
def test_broken_records_are_refused(data: bytes) -> None:
    with pytest.raises(smidgen.SmidgenError):
        serialization.from_json(data)


def decision_fields(**changes: Any) -> bytes:
    decision = PreferencePerceptron(dim=2).decide(Choice(np.eye(2)))
    fields = {name: getattr(decision, name) for name in Decision.__struct_fields__ if name not in ("teams", "unknown")}
    fields = {key: value for key, value in fields.items() if value is not None}
    return serialization.to_json({key: value for key, value in {**fields, **changes}.items() if value is not ...})


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

    with pytest.raises(InvalidArgument, match="already used"):
        smidgen.structure("Ranking")(Ranking)
    with pytest.raises(InvalidArgument, match="dataclass"):
        smidgen.structure(type("Plain", (), {}))


def test_fields_that_are_not_known_are_kept() -> None:
    later = decision_fields(surprise=[1, np.arange(3)], more="of it")
    decision = Decision.from_json(later)
    assert serialization.same(decision.more, {"surprise": [1, np.arange(3)], "more": "of it"})
    assert decision.to_json() == later
    assert Decision.from_bytes(decision.to_bytes()) == decision
    plain_one = Decision.from_json(decision_fields())
    assert plain_one.more == {}
    assert plain_one != decision
    assert decision == Decision.from_json(later)
    assert decision != Decision.from_json(decision_fields(surprise=[1, np.arange(4)], more="of it"))
    learner = PreferencePerceptron(dim=2)
    assert learner.from_compact(learner.to_compact(decision)) == decision
    learner.learn(decision, 1)


class TestBytes:
    """Values as compact bytes."""

    @given(values)
    def test_any_value_comes_back_the_same(self, value: Any) -> None:
        content = serialization.encode(value)
        again = serialization.decode(content)
        assert serialization.same(again, value)
        assert serialization.encode(again) == content
        assert serialization.same(again, serialization.from_json(serialization.to_json(value)))

    @given(
        hnp.arrays(
            st.sampled_from(["<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"]),
            hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
        )
    )
    def test_arrays_come_back_bit_for_bit(self, array: Any) -> None:
        again = serialization.decode(serialization.encode(array))
        assert serialization.same(again, array)
        assert again.flags.aligned
        assert not again.flags.writeable

    @given(hnp.arrays(np.float32, st.integers(1, 80), elements=st.floats(width=32)))
    def test_what_fits_into_float32_is_stored_so(self, single: Any) -> None:
        array = single.astype(np.float64)
        content = serialization.encode(array)
        assert serialization.same(serialization.decode(content), array)
        if not np.isnan(single).any():
            assert len(content) <= 4 * len(array) + 8

    @pytest.mark.parametrize(
        ("low", "high", "width"), [(0, 255, 1), (-1, 127, 1), (-1, 128, 2), (0, 2**16, 4), (0, 2**40, 8)]
    )
    @pytest.mark.parametrize("n", [2, 100])
    def test_whole_numbers_take_the_least_width(self, low: int, high: int, width: int, n: int) -> None:
        array = np.array([low, high] * (n // 2))
        content = serialization.encode(array)
        assert n * width < len(content) <= n * width + 8
        assert serialization.same(serialization.decode(content), array)

    @pytest.mark.parametrize("value", [1e39, 2.0**200, -(2.0**1000), 5e-324, 2.0**-149, -0.0, np.inf, np.nan])
    def test_the_ends_of_floating_point_survive(self, value: float) -> None:
        for array in (np.array([value]), np.array([1.0, value] * 40), np.full((2, 3), value)):
            assert serialization.decode(serialization.encode(array)).tobytes() == array.tobytes()
        assert np.array(serialization.decode(serialization.encode(value))).tobytes() == np.array(value).tobytes()

    @given(st.integers(-(2**200), 2**200))
    def test_whole_numbers_of_any_length_come_back(self, number: int) -> None:
        assert serialization.decode(serialization.encode([number])) == [number]

    def test_big_endian_and_strided_arrays_keep_their_values(self) -> None:
        for value in (np.arange(3, dtype=">f8"), np.arange(12.0).reshape(3, 4).T, np.arange(10)[::-2]):
            np.testing.assert_array_equal(serialization.decode(serialization.encode(value)), value)

    @pytest.mark.parametrize(
        "value",
        [
            object(),
            {1: 2},
            {"$": 1},
            np.array(["a"]),
            np.array([1j]),
            {1, 2},
            b"x",
            "\ud800",
            1 << 9000,
            np.complex128(1),
        ],
    )
    def test_what_has_no_name_is_refused(self, value: Any) -> None:
        for each in (value, [value], {"a": (value,)}):
            with pytest.raises(NotSaveable):
                serialization.encode(each)

    def test_nesting_is_limited_both_ways(self) -> None:
        value: Any = 0
        for _ in range(serialization.DEEPEST):
            value = [value]
        assert serialization.decode(serialization.encode(value)) == value
        with pytest.raises(NotSaveable, match="64 deep"):
            serialization.encode([value])
        for content in (b"\x91" * 65 + b"\x00", b"\x91" * 10**6, b"\x81\xa1a" * 10**5):
            with pytest.raises(InvalidRecord):
                serialization.decode(content)

    @given(values, st.data())
    def test_cut_and_flipped_bytes_are_refused_or_are_another_value(self, value: Any, data: st.DataObject) -> None:
        content = serialization.encode(value)
        with pytest.raises(InvalidRecord):
            serialization.decode(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(InvalidRecord):
            serialization.decode(content + b"\0")
        where, bits = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(1, 255))
        read_or_refused(content[:where] + bytes([content[where] ^ bits]) + content[where + 1 :])

    @given(st.binary(max_size=80))
    def test_random_bytes_are_refused_or_are_a_value(self, content: bytes) -> None:
        read_or_refused(content)
        read_or_refused(b"\xc7" + bytes([len(content)]) + b"\x01" + content)  # an array, says its first byte

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\xdd\xff\xff\xff\xff",
            b"\xdf\xff\xff\xff\xff",
            b"\xdb\xff\xff\xff\xff",
            b"\xc9\xff\xff\xff\xff\x01",
            b"\xdd\x0f\xff\xff\xff" * 1000,
            b"\xc4\x01x",
            b"\xd6\xff\x00\x00\x00\x00",
            b"\x81\x01\x02",
            b"\x81\xa1$\xa2no",
            b"\x81\xa1$\x90",
            b"\x81\xa1$\x01",
            b"\x81\xa1$\xa5tuple",
            b"\xd4\x07\x00",
            b"\xc7\x00\x01",
            b"\xc7\x02\x01\x00\x10",
            b"\xc7\x0a\x01\x00\x13" + b"\xff" * 8,
            b"\xc7\x12\x01\x00\x23" + b"\xff" * 8 + bytes(8),
            b"\xc7\x12\x01\x00\x23" + b"\xff" * 7 + b"\x7f" + bytes(8),
            b"\xc7\x03\x01\xb0\x10\x00",
            b"\xc7\x03\x01\x10\x14\x00",
            b"\xc7\x04\x01\x19\x10\x01\x00",
            b"\xc7\x04\x01\xaa\x10\x01\x02",
        ],
    )
    def test_hostile_bytes_are_refused_without_much_memory(self, content: bytes) -> None:
        tracemalloc.start()
        try:
            with pytest.raises(InvalidRecord):
                serialization.decode(content)
            assert tracemalloc.get_traced_memory()[1] < 1e6
        finally:
            tracemalloc.stop()

    def test_a_structure_that_refuses_its_fields_is_a_record_that_is_refused(self) -> None:
        good = serialization.encode(Ranking(np.eye(2), top=1))
        assert serialization.decode(good) == Ranking(np.eye(2), top=1)
        for fields in (
            {"docs": np.eye(2), "top": 0},
            {"docs": "a", "top": 1},
            {"docs": np.full((1, 1), np.nan), "top": 1},
            {},
        ):
            bad = msgspec.msgpack.encode(
                {"$": "Ranking"} | {k: v if not isinstance(v, np.ndarray) else _extension(v) for k, v in fields.items()}
            )
            with pytest.raises(InvalidRecord):
                serialization.decode(bad)


def _extension(array: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(1, serialization.write_array(array))


def read_or_refused(content: bytes) -> None:
    try:
        value = serialization.decode(content)
    except InvalidRecord:
        return
    assert serialization.same(serialization.decode(serialization.encode(value)), value)


class TestBriefs:
    """Decisions in as few bytes as their learner needs."""

    def test_a_ranking_of_ten_documents_takes_little_more_than_its_numbers(self) -> None:
        rng = np.random.default_rng(0)
        learner = PreferencePerceptron(dim=10)
        learner.learn(learner.decide(Ranking(rng.normal(size=(10, 10)))), rng.permutation(10))
        decision = learner.decide(Ranking(rng.normal(size=(10, 10)).astype(np.float32)))
        content = learner.to_compact(decision)
        assert len(content) <= 400 + 80 + 60
        assert learner.from_compact(content) == decision
        assert len(decision.to_bytes()) < len(decision.to_json()) / 2
        assert PreferencePerceptron(dim=10).from_compact(content) == decision

    def test_decisions_of_others_are_refused(self) -> None:
        decision = PreferencePerceptron(dim=2).decide(Choice(np.eye(2)))
        for other in (PreferencePerceptron(dim=2, seed=1), smidgen.DuelingBandit(dim=2)):
            with pytest.raises(DecisionMismatch):
                other.to_compact(decision)
        with pytest.raises(InvalidArgument, match="not a Decision"):
            PreferencePerceptron(dim=2).to_compact(decision.to_bytes())

    @pytest.mark.parametrize(
        "values",
        [
            None,
            [],
            {},
            [2, 1],
            [1],
            [1, 0],
            [1, True, 0],
            [1, 1, 0, None, 3],
            [1, 1, 0, None, None, 3],
            [1, 1, 0, None, None, [1, 2]],
            [1, 1, 0, *[None] * 11, 3],
            [1, 1, 0, *[None] * 12, 3],
        ],
    )
    def test_broken_briefs_are_refused(self, values: Any) -> None:
        with pytest.raises(InvalidRecord):
            PreferencePerceptron(dim=2).from_compact(serialization.encode(values))

    def test_a_greedy_action_that_is_nothing_comes_back(self) -> None:
        learner = PreferencePerceptron(dim=2)
        decision = Decision(
            kind="PreferencePerceptron", settings=learner._settings, number=1, action=1, greedy=None, context=0
        )
        assert learner.from_compact(learner.to_compact(decision)) == decision
