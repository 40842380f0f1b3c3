"""Saved learners: what is in the file, and every way in which a file can be wrong."""

from __future__ import annotations

import hashlib
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smidgen
from smidgen import Learner, serialization
from smidgen.errors import CorruptFile, NotSaveable, SmidgenError
from smidgen.learners import cards, learners, saving

HEAD = struct.Struct("<18sHIQ32s")
MADE = {name: learners[name](**card.example) for name, card in cards.items()}


def sealed(header: bytes, arrays: bytes = b"", first: bytes = b"smidgen learner 2\n") -> bytes:
    """A file with a right checksum: what somebody hostile can make."""
    text = header + b" " * (-len(header) % 8)
    size = HEAD.size + len(text) + len(arrays)
    start = HEAD.pack(first, saving.ARITHMETIC, len(text), size, b"")[:32]
    return start + hashlib.sha256(start + text + arrays).digest() + text + arrays


def parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header, and the bytes of the arrays."""
    _, _, length, _, _ = HEAD.unpack(content[: HEAD.size])
    return msgspec.json.decode(content[HEAD.size : HEAD.size + length]), content[HEAD.size + length :]


def changed(content: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The file with another header, sealed again."""
    header, arrays = parts(content)
    change(header)
    return sealed(msgspec.json.encode(header), arrays)


def test_the_file_is_as_described() -> None:
    learner = smidgen.PreferencePerceptron(dim=3, seed=7)
    learner.learn(learner.decide(smidgen.Choice(np.eye(3))), 2)
    content = learner.to_bytes()
    header, arrays = parts(content)
    assert header == {
        "kind": "PreferencePerceptron",
        "settings_version": 1,
        "state_version": 1,
        "params": {"dim": 3, "seed": 7},
        "decided": 1,
        "taught": 0,
        "notes": {},
        "arrays": [["learnt", "<i8", [1, 2]], ["uninformative", "<i8", []], ["w", "<f8", [3]]],
    }
    assert arrays == np.array([1, 2, 0]).tobytes() + np.array([-1.0, 0.0, 1.0]).tobytes()
    assert len(content) % 8 == 0
    assert content == sealed(msgspec.json.encode(header), arrays)
    assert saving.arithmetic_of(content) == saving.ARITHMETIC
    assert saving.arithmetic_of(content[:63]) is saving.arithmetic_of(b"another file" * 9) is None


@pytest.mark.parametrize("name", sorted(MADE))
def test_to_bytes_and_back_is_the_same_bytes(name: str) -> None:
    content = MADE[name].to_bytes()
    again = Learner.from_bytes(content)
    assert again.to_bytes() == content
    header, arrays = saving.decode_learner(content, "it")
    assert header.kind == name
    assert all(not array.flags.writeable for array in arrays.values())


def test_format_1_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"smidgen learner 1\n" + b"0" * 64 + b"\nPK\x03\x04")
    with pytest.raises(CorruptFile, match="format 1, which was never released; save it again") as caught:
        smidgen.load(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(CorruptFile, match="format '37'; upgrade smidgen"):
        Learner.from_bytes(b"smidgen learner 37\n" + bytes(200))


@pytest.mark.parametrize("name", sorted(MADE))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_flipped_and_cut_files_are_refused(name: str, data: st.DataObject) -> None:
    content = MADE[name].to_bytes()
    cut = data.draw(st.integers(0, len(content) - 1))
    where, bits = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(1, 255))
    flipped = content[:where] + bytes([content[where] ^ bits]) + content[where + 1 :]
    for bad in (content[:cut], flipped, content + b"\0", content + bytes(8)):
        with pytest.raises(CorruptFile, match="saved learner"):
            Learner.from_bytes(bad)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(content: bytes) -> None:
    for bad in (content, b"smidgen learner 2\n" + content, sealed(content)):
        with pytest.raises(CorruptFile, match="saved learner"):
            Learner.from_bytes(bad)


def put(*path: Any) -> Callable[[dict[str, Any]], Any]:
    """Put the last at the place that the others lead to."""

    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for step in path[:-2]:
            place = place[step]
        place[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("decided", -1),
        put("decided", 0),
        put("decided", 1.5),
        put("settings_version", 0),
        put("state_version", 0),
        put("params", []),
        put("params", {}),
        put("params", "dim", -1),
        put("params", "dim", "3"),
        put("params", "dim", 4),
        put("params", "dim", 10**12),
        put("params", "dim", 10**30),
        put("params", "courage", 1),
        put("params", "self", 1),
        put("params", "params", {}),
        put("surprise", 1),
        put("kind", 3),
        put("notes", None),
        put("arrays", []),
        put("arrays", 0, 1, "<f8"),
        put("arrays", 0, 2, [2]),
        put("arrays", 0, 2, [2, 1]),
        put("arrays", 2, 0, "v"),
        put("arrays", 2, 0, "learnt"),
        put("arrays", 2, 1, "|O"),
        put("arrays", 2, 1, "<i8"),
        put("arrays", 2, 2, [-3]),
        put("arrays", 2, 2, [2]),
        put("arrays", 2, 2, [4]),
        put("arrays", 2, 2, [3, 1]),
        put("arrays", 2, 2, [2**62]),
        put("arrays", 2, 2, [2**31, 2**31]),
        put("arrays", 2, 2, [2**40, 2**40, 0]),
        put("arrays", 2, 2, [1] * 40 + [3]),
        put("arrays", 1, 2, [1]),
    ],
)
def test_headers_that_lie_are_refused(change: Callable[[dict[str, Any]], Any]) -> None:
    learner = smidgen.PreferencePerceptron(dim=3)
    learner.learn(learner.decide(smidgen.Choice(np.eye(3))), 2)
    with pytest.raises(CorruptFile, match="damaged saved learner"):
        Learner.from_bytes(changed(learner.to_bytes(), change))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    header, arrays = parts(smidgen.PreferencePerceptron(dim=3).to_bytes())
    bad = arrays[:-8] + np.array([value]).tobytes()
    with pytest.raises(CorruptFile, match="w holds values that are not finite"):
        Learner.from_bytes(sealed(msgspec.json.encode(header), bad))


@pytest.mark.parametrize("ranges", [[[0, 1]], [[2, 2]], [[3, 1]], [[1, 3], [3, 4]], [[1, 3], [2, 5]], [[1, 2**62]]])
def test_learnt_numbers_that_cannot_be_are_refused(ranges: list[list[int]]) -> None:
    header, arrays = saving.decode_learner(smidgen.SimpleFil().to_bytes(), "it")
    bad = saving.encode_learner(header, {**arrays, "learnt": np.array(ranges)})
    with pytest.raises(CorruptFile, match="damaged saved learner"):
        Learner.from_bytes(bad)


def test_unknown_kinds_and_settings_say_what_to_import() -> None:
    with pytest.raises(NotSaveable, match="holds a Guest, which is not registered; import"):
        Learner.from_bytes(changed(MADE["OGD"].to_bytes(), put("kind", "Guest")))
    with pytest.raises(NotSaveable, match="'Torus', which is not registered; import"):
        Learner.from_bytes(changed(MADE["OGD"].to_bytes(), put("params", "space", "$", "Torus")))


@pytest.mark.parametrize(
    ("settings", "array", "value"),
    [
        ({"covariance": "dual"}, "indices", 3),
        ({"covariance": "dual"}, "lengths", 99),
        ({"kernel": "rbf"}, "members_0", 99),
        ({"kernel": "rbf"}, "members_0", -1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_that_would_lead_astray_are_refused(settings: dict[str, Any], array: str, value: int) -> None:
    learner = smidgen.RidgeFil(dim=3, **settings)
    rng = np.random.default_rng(0)
    for _ in range(6):
        learner.learn(learner.decide(rng.normal(size=3)), True)
    refuse_bent(learner, array, value)


def test_a_time_before_the_first_is_refused() -> None:
    refuse_bent(smidgen.OGD(space=smidgen.Ball(dim=2), gradient_bound=1.0), "t", -5)


def refuse_bent(learner: Learner, array: str, value: int) -> None:
    header, arrays = saving.decode_learner(learner.to_bytes(), "it")
    bent = np.array(arrays[array])
    bent[...] = value
    with pytest.raises(CorruptFile, match="damaged saved learner"):
        Learner.from_bytes(saving.encode_learner(header, {**arrays, array: bent}))


@pytest.mark.parametrize("name", sorted(MADE))
def test_arrays_of_another_form_are_refused(name: str) -> None:
    header, arrays = saving.decode_learner(MADE[name].to_bytes(), "it")
    for key, array in arrays.items():
        others = [array[None], array.astype(np.float32)]
        others += [np.concatenate([array, array])] if array.ndim and array.size else []
        for other in others:
            if other.shape != array.shape or other.dtype != array.dtype:
                with pytest.raises(CorruptFile, match="damaged saved learner"):
                    Learner.from_bytes(saving.encode_learner(header, {**arrays, key: other}))
        with pytest.raises(CorruptFile, match="damaged saved learner"):
            Learner.from_bytes(saving.encode_learner(header, {k: v for k, v in arrays.items() if k != key}))
    with pytest.raises(CorruptFile, match="damaged saved learner"):
        Learner.from_bytes(saving.encode_learner(header, {**arrays, "unknown": np.zeros(2)}))


@pytest.mark.parametrize("name", sorted(MADE))
@pytest.mark.parametrize("size", [10**5, 10**7, 2**31, 10**15])
def test_a_small_file_never_becomes_a_large_learner(name: str, size: int) -> None:
    def swell(packed: Any) -> Any:
        if not isinstance(packed, dict):
            return packed
        return {key: size if key in ("dim", "n_classes") else swell(value) for key, value in packed.items()}

    content = changed(MADE[name].to_bytes(), lambda header: header.update(params=swell(header["params"])))
    if content == MADE[name].to_bytes():
        return
    tracemalloc.start()
    try:
        with pytest.raises(SmidgenError):
            Learner.from_bytes(content)
        assert tracemalloc.get_traced_memory()[1] < 64e6
    finally:
        tracemalloc.stop()


def test_a_box_of_many_limits_never_becomes_a_matrix_of_them() -> None:
    packed = serialization.pack(smidgen.Box(low=np.zeros(100_000), high=np.ones(100_000)))
    content = changed(MADE["ONS"].to_bytes(), put("params", "space", packed))
    tracemalloc.start()
    try:
        with pytest.raises(CorruptFile, match="100,000 features"):
            Learner.from_bytes(content)
        assert tracemalloc.get_traced_memory()[1] < 64e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "learner",
    [
        smidgen.Banditron(dim=20_000, n_classes=12),
        smidgen.Confidit(dim=5_000, labels=[f"label {i}" for i in range(9)]),
        smidgen.RidgeFil(dim=2_000, covariance="dual"),
        smidgen.RidgeFil(dim=10**6, kernel="rbf"),
        smidgen.PreferencePerceptron(dim=300_000),
        smidgen.SecondOrderPreferencePerceptron(dim=1_500),
        smidgen.OGD(space=smidgen.Box(low=np.zeros(5_000), high=1.0), gradient_bound=1.0),
        smidgen.AppleTasting(learner=smidgen.PerceptronFilter(dim=100_000)),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_large_learners_are_read(learner: Learner) -> None:
    assert Learner.from_bytes(learner.to_bytes()).to_bytes() == learner.to_bytes()


def test_classes_that_were_added_are_read_back() -> None:
    learner = smidgen.Confidit(dim=3, labels=["a", "b"], covariance="full")
    learner.add_classes("c", ("d", 1), "e", "f")
    learner.learn(learner.decide(np.ones(3)), True)
    again = Learner.from_bytes(learner.to_bytes())
    assert again.labels == ["a", "b", "c", ("d", 1), "e", "f"]
    assert again.to_bytes() == learner.to_bytes()
    assert again.decide(np.ones(3)) == learner.decide(np.ones(3))
    bad = changed(learner.to_bytes(), put("notes", "labels", 0, "z"))
    with pytest.raises(CorruptFile, match="labels are not those of the settings"):
        Learner.from_bytes(bad)


def test_an_array_that_has_no_name_cannot_be_saved() -> None:
    header, _ = saving.decode_learner(smidgen.SimpleFil().to_bytes(), "it")
    with pytest.raises(NotSaveable, match="complex128"):
        saving.encode_learner(header, {"z": np.zeros(2, complex)})


def test_load_reads_what_save_wrote(tmp_path: Path) -> None:
    path = tmp_path / "learner.smidgen"
    MADE["Banditron"].save(path)
    assert path.read_bytes() == MADE["Banditron"].to_bytes()
    assert smidgen.load(os.fspath(path)).to_bytes() == path.read_bytes()


def test_a_pipeline_with_the_usual_number_of_columns_comes_back() -> None:
    for learner in (smidgen.LinUCB(dim=4096), smidgen.HingeConfidit(dim=4096, n_classes=3)):
        made = smidgen.Pipeline(learner=learner)
        assert repr(Learner.from_bytes(made.to_bytes())) == repr(made)
        assert repr(Learner.from_bytes(learner.to_bytes())) == repr(learner)
