"""Frames of speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.data import Frames
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen_papers.data import digits, peterson_barney, vowels


def small() -> Frames:
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [20.0]])
    recording = np.array([0, 0, 0, 1, 1, 2])
    return Frames(
        "s", X, np.array([0, 0, 0, 2, 2, 1]), ("a", "b", "c"), np.array([0, 0, 0, 1, 1, 1]), ("u", "v"), recording
    )


def test_windows_stay_within_their_recording() -> None:
    expected = [[0, 0, 1], [0, 1, 2], [1, 2, 2], [10, 10, 11], [10, 11, 11], [20, 20, 20]]
    assert small().window(3).X.tolist() == expected
    assert small().window(1).X.tolist() == small().X.tolist()
    assert small().window(5).X[0].tolist() == [0, 0, 0, 1, 2]
    with pytest.raises(InvalidArgument, match="odd"):
        small().window(2)


def test_squares_and_a_constant() -> None:
    frames = small().with_squares()
    assert frames.X[3].tolist() == [10.0, 100.0, 1.0]
    standard = small().standardized().X
    assert (standard.mean(), standard.std()) == (pytest.approx(0.0), pytest.approx(1.0))


def test_choosing_frames() -> None:
    assert small().of_speakers("v").X.ravel().tolist() == [10.0, 11.0, 20.0]
    chosen = small().of_classes("c", "a")
    assert chosen.classes == ("c", "a")
    assert chosen.y.tolist() == [1, 1, 1, 0, 0]
    with pytest.raises(InvalidArgument):
        small().of_classes("d")
    with pytest.raises(InvalidArgument):
        small().of_speakers("w")


def test_broken_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "speech").mkdir()
    (tmp_path / "speech" / "uci_vowel_deterding.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidRecord, match="speaker"):
        vowels(tmp_path)
    (tmp_path / "speech" / "fsdd_mfcc26.npz").write_bytes(b"nonsense")
    with pytest.raises(InvalidRecord, match="archive"):
        digits(tmp_path)


@needs("vowels")
def test_deterding() -> None:
    frames = vowels()
    assert frames.X.shape == (990, 10)
    assert np.bincount(frames.y).tolist() == [90] * 11
    assert np.bincount(frames.speaker).tolist() == [66] * 15


@needs("peterson_barney")
def test_peterson_barney() -> None:
    frames = peterson_barney()
    assert frames.X.shape == (1520, 4)
    assert np.bincount(frames.y).tolist() == [152] * 10
    assert np.bincount(frames.speaker).tolist() == [20] * 76
    np.testing.assert_allclose(np.exp(frames.X), peterson_barney(log=False).X)


@needs("digits")
def test_spoken_digits() -> None:
    plain = digits(squares=False)
    assert plain.X.shape == (128_200, 26)
    assert len(set(plain.recording.tolist())) == 3000
    assert (len(plain.classes), len(plain.speakers)) == (10, 6)
    assert np.isfinite(plain.X).all()
    one = digits()
    assert one.X.shape[1] == 53
    np.testing.assert_allclose(one.X[:, :26].std(axis=0), 1.0)
    # The frame in the middle of a window of seven is the frame itself.
    few = plain.select(plain.recording < 20)
    seven = few.window(7)
    assert seven.with_squares().X.shape[1] == 365
    np.testing.assert_array_equal(seven.X[:, 3 * 26 : 4 * 26], few.X)
