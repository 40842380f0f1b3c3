"""The bindings of the compiled core refuse whatever is not what they take, and say what was wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.fuzz import BUILD
from smidgen import _core
from smidgen._core import matrix
from smidgen._core.label import add_to_class, banditron_choose, perceptron_stream
from smidgen._core.random import fill_uniforms, perturb
from smidgen.randomness import stream_key

KEY = stream_key(1, 2)
IDX, VAL = np.array([0, 2], np.uint32), np.array([1.0, 2.0])


class Sneaky(int):
    """A whole number of another class."""

    def __index__(self) -> int:
        raise AssertionError("the bindings must not run the code of others")


def swapped(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder())


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ([0.0], TypeError, "out must be a numpy array, not list"),
        (None, TypeError, "out must be a numpy array, not NoneType"),
        (np.zeros(3, np.float32), TypeError, "out must have dtype float64, not float32"),
        (np.zeros(3, np.int64), TypeError, "out must have dtype float64, not int64"),
        (swapped(np.zeros(3)), TypeError, "out must have dtype float64, not >f8"),
        (np.zeros((3, 1)), ValueError, "out must have 1 dimensions, not 2"),
        (np.zeros(()), ValueError, "out must have 1 dimensions, not 0"),
        (np.zeros(6)[::2], ValueError, "out must be contiguous"),
        (np.frombuffer(b"x" + bytes(24), np.uint8)[1:].view(np.float64), ValueError, "out must be aligned"),
        (read_only(np.zeros(3)), ValueError, "out must be writable"),
    ],
)
def test_arrays_are_checked(out: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(f"fill_uniforms(): {words}")):
        fill_uniforms(KEY, 1, out)


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (1.0, TypeError, "number must be a whole number, not float"),
        ("1", TypeError, "number must be a whole number, not str"),
        (None, TypeError, "number must be a whole number, not NoneType"),
        (-1, ValueError, "number must be at least 0 and fit into 64 bits"),
        (2**64, ValueError, "number must be at least 0 and fit into 64 bits"),
        (10**400, ValueError, "number must be at least 0 and fit into 64 bits"),
        (np.float64(2), TypeError, "number must be a whole number, not numpy.float64"),
    ],
)
def test_whole_numbers_are_checked(number: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        fill_uniforms(KEY, number, np.zeros(3))


def test_whole_numbers_of_numpy_are_taken() -> None:
    expected, out = np.empty(5), np.empty(5)
    fill_uniforms(KEY, 7, expected)
    for number in (np.int64(7), np.uint64(7), np.int8(7), Sneaky(7)):
        fill_uniforms(KEY, number, out)
        assert (out == expected).all()


@pytest.mark.parametrize(
    ("reach", "error"), [("1", TypeError), (None, TypeError), (1j, TypeError), (10**400, ValueError), ([], TypeError)]
)
def test_numbers_are_checked(reach: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="reach"):
        perturb(KEY, 1, np.zeros(3), reach, np.zeros(3), np.zeros(3))


def test_numbers_of_numpy_are_taken() -> None:
    z = np.empty((3, 4))
    for row, reach in zip(z, (2, np.float32(2), np.int16(2)), strict=True):
        perturb(KEY, 1, np.zeros(4), reach, np.zeros(4), row)
    assert (z == z[0]).all()
    assert z.any()


def test_the_number_of_arguments_is_checked() -> None:
    call: Any = fill_uniforms
    with pytest.raises(TypeError, match=re.escape("fill_uniforms() takes 3 arguments (key, number, out), not 2")):
        call(KEY, 1)
    with pytest.raises(TypeError):
        call(key=KEY, number=1, out=np.zeros(3))


def test_lengths_are_checked() -> None:
    with pytest.raises(ValueError, match="a key has two words"):
        fill_uniforms(KEY[:1], 1, np.zeros(3))
    with pytest.raises(ValueError, match="one length"):
        perturb(KEY, 1, np.zeros(3), 1.0, np.zeros(3), np.zeros(4))
    W = np.zeros((3, 4))
    with pytest.raises(ValueError, match="idx and val must have one length"):
        add_to_class(W, 0, IDX, VAL[:1], 1.0)
    assert not W.any()


def test_indices_are_checked() -> None:
    W = np.zeros((2, 4))
    with pytest.raises(ValueError, match="an index is not below the number of features"):
        add_to_class(W, 0, IDX, VAL, 1.0)
    for c in (-1, 4, 2**62):
        with pytest.raises(ValueError, match="a class is not below K"):
            add_to_class(np.zeros((3, 4)), c, IDX, VAL, 1.0)
    assert not W.any()


def test_products_take_no_memory_for_columns_without_values() -> None:
    rows = (np.array([2.0, 3.0]), np.array([0, 7]), np.array([0, 1, 2]))
    others, out = (np.array([5.0]), np.array([0]), np.array([0, 1])), np.zeros((2, 1))
    matrix.write_products(rows, others, 2**39, out)
    assert out.tolist() == [[10.0], [0.0]]


def test_dtypes_choose_the_function() -> None:
    W = np.zeros((3, 4), np.float32)
    add_to_class(W, 1, IDX, VAL.astype(np.float32), 0.5)
    assert W[:, 1].tolist() == [0.5, 0.0, 1.0]
    with pytest.raises(TypeError, match="val must have dtype float32, not float64"):
        add_to_class(W, 1, IDX, VAL, 0.5)


def test_settings_that_lead_astray_are_refused() -> None:
    for gamma in (0.0, float("nan"), -1.0, 2.0, float("inf")):
        with pytest.raises(ValueError, match=r"gamma must be in \(0, 1\]"):
            banditron_choose(np.zeros((3, 4)), IDX, VAL, gamma, KEY, 1, np.zeros(2))


def stream(**changes: Any) -> Any:
    parts = {
        "indices": np.array([0, 2, 1], np.uint32),
        "values": np.ones(3),
        "starts": np.array([0, 2, 3]),
        "truth": np.array([0, 1]),
        "order": np.array([1, 0]),
    }
    return tuple((parts | changes).values())


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"starts": np.array([0, 3, 2])}, ValueError, "the row starts"),
        ({"starts": np.array([-1, 2, 3])}, ValueError, "the row starts"),
        ({"starts": np.array([0, 2, 4])}, ValueError, "the row starts"),
        ({"starts": np.array([0, 2**62, 3])}, ValueError, "the row starts"),
        ({"starts": np.empty(0, np.int64)}, ValueError, "the row starts"),
        ({"indices": np.array([0, 3, 1], np.uint32)}, ValueError, "an index is not below"),
        ({"truth": np.array([0, 2])}, ValueError, "a label is not below K"),
        ({"truth": np.array([0])}, ValueError, "one label per row"),
        ({"order": np.array([1, 2])}, ValueError, "names a row that is not there"),
        ({"order": np.array([1, -1])}, ValueError, "names a row that is not there"),
        ({"order": np.array([1])}, ValueError, "one place per round"),
        ({"values": np.ones(3, np.float32)}, TypeError, "stream"),
        ({"truth": [0, 1]}, TypeError, "stream"),
    ],
)
def test_streams_are_checked(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    W, shown = np.zeros((3, 4)), (np.zeros(2, np.int64), np.zeros(2, np.int64))
    perceptron_stream(W, 2, stream(), shown)
    learnt = W.copy()
    with pytest.raises(error, match=words):
        perceptron_stream(W, 2, stream(**changes), shown)
    assert (learnt == W).all()


def test_tuples_are_checked() -> None:
    W, shown, call = np.zeros((3, 4)), (np.zeros(2, np.int64), np.zeros(2, np.int64)), perceptron_stream
    given: Any
    for given, error, words in (
        (list(stream()), TypeError, "stream must be a tuple, not list"),
        (stream()[:4], ValueError, "stream must have 5 parts, not 4"),
        (None, TypeError, "stream must be a tuple, not NoneType"),
    ):
        with pytest.raises(error, match=words):
            call(W.astype(np.float32), 2, given, shown)


def test_parts_of_tuples_are_named() -> None:
    W, shown = np.zeros((3, 4), np.float32), (np.zeros(2, np.int64), np.zeros(2, np.int64))
    with pytest.raises(TypeError, match=r"stream\.values must have dtype float32, not float64"):
        perceptron_stream(W, 2, stream(), shown)


def test_entry_points_say_what_they_do() -> None:
    assert _core.families.keys() == _core.tables.keys()
    for family, entries in _core.families.items():
        assert entries.keys() == _core.tables[family].keys()
        for name, entry in entries.items():
            assert entry.__doc__, name
            assert entry.__module__ == f"smidgen._core.{family}"


def test_the_stubs_are_current() -> None:
    stubs = {path.stem: path.read_text() for path in Path(_core.__file__).parent.glob("[a-z]*.pyi")}
    assert BUILD.make_stubs() == stubs, "run `make core`"


def _fuzz(calls: int) -> str:
    command = [sys.executable, "-m", "core.fuzz", str(calls)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_fuzzed_calls_return_or_raise() -> None:
    said = _fuzz(20_000)
    counts = re.findall(r"(\S+): (\d+) calls, (\d+) went through", said)
    assert {name for name, _, _ in counts} >= {"label.banditron_stream", "random.perturb"}
    assert sum(int(passed) > 0 for _, _, passed in counts) >= len(counts) / 2  # the fuzzer comes past the checks
    assert sum(int(calls) > int(passed) for _, calls, passed in counts) >= len(counts) / 2


@pytest.mark.long
def test_a_million_fuzzed_calls_return_or_raise() -> None:
    _fuzz(1_000_000)
