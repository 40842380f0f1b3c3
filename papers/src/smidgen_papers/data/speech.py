"""Frames of speech: vowels and spoken digits."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np

from smidgen import checks
from smidgen.data.datasets import Frames
from smidgen.errors import InvalidRecord
from smidgen_papers.data.folder import contents, require


def vowels(folder: str | Path | None = None) -> Frames:
    """Load Deterding's vowels (UCI): 990 frames of 10 log area parameters, 11 vowels, 15 speakers.

    Each speaker says every vowel six times; each frame counts as a recording of its own. The makers train on the first
    eight speakers ("0" to "7") and test on the others.
    """
    rows = _rows("vowels", folder, ("speaker", "f0", "f9", "vowel"))
    names = ("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed")
    X = np.array([[row[f"f{j}"] for j in range(10)] for row in rows], float)
    y = np.array([row["vowel"] for row in rows], np.int64)
    speaker = np.array([row["speaker"] for row in rows], np.int64)
    return Frames("vowels", X, y, names, speaker, tuple(map(str, range(15))), np.arange(len(rows)))


def peterson_barney(folder: str | Path | None = None, *, log: bool = True) -> Frames:
    """Load the vowels of Peterson and Barney (1952): 1,520 tokens, 10 vowels, 76 speakers.

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    log
        Take the logarithm of the four frequencies (the pitch f0 and three formants, in Hz), as hearing does.
    """
    checks.flag("log", log, "True for logarithms")
    rows = _rows("peterson_barney", folder, ("speaker", "vowel", "f0", "f1", "f2", "f3"))
    X = np.array([[row[f"f{j}"] for j in range(4)] for row in rows], float)
    classes, y = np.unique([row["vowel"] for row in rows], return_inverse=True)
    speaker = np.array([row["speaker"] for row in rows], np.int64)
    ids, number = np.unique(speaker, return_inverse=True)
    return Frames(
        "peterson_barney",
        np.log(X) if log else X,
        y,
        tuple(classes.tolist()),
        number,
        tuple(map(str, ids.tolist())),
        np.arange(len(rows)),
    )


def digits(folder: str | Path | None = None, *, window: int = 1, squares: bool = True) -> Frames:
    """Load the Free Spoken Digit Dataset: 128,200 frames of 3,000 recordings, 10 digits, 6 speakers.

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    window
        How many neighbouring frames make one example: 1 or 7 in the paper (see `Frames.window`).
    squares
        Standardise the features, then add their squares and a constant, see below. If False, the 26·window features as
        they are.

    Notes
    -----
    A frame has 13 mel cepstra and their 13 differences. The paper has 26 distinct features per frame, yet counts 53 for
    one frame and 365 for seven: these are 2·26 + 1 and 2·7·26 + 1. Our reading is that each feature comes with its
    square and that there is a constant (what a Gaussian with a diagonal covariance would need); the paper does not say.
    """
    checks.flag("squares", squares, "True for 2·26·window + 1 features")
    [path] = require("digits", folder)
    try:
        with np.load(path, allow_pickle=False) as archive:
            frames, recording = archive["frames"].astype(np.float64), archive["recording"].astype(np.int64)
            label, speaker = archive["label"].astype(np.int64), archive["speaker"]
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise InvalidRecord(f"{path} is not the archive of frames: {error}", "get the file again") from None
    speakers, number = np.unique(speaker, return_inverse=True)
    loaded = Frames(
        "digits", frames, label[recording], tuple("0123456789"), number[recording], tuple(speakers.tolist()), recording
    )
    return loaded.standardized().window(window).with_squares() if squares else loaded.window(window)


def _rows(name: str, folder: str | Path | None, needed: tuple[str, ...]) -> list[dict[str, str]]:
    [path] = require(name, folder)
    rows = list(csv.DictReader(io.StringIO(contents(path).decode("utf-8"))))
    missing = [column for column in needed if not rows or column not in rows[0]]
    if missing:
        raise InvalidRecord(f"{path} has no column {', '.join(missing)}", "get the file again")
    return rows
