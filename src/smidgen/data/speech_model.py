"""Made-up frames of speech: each sound has its place, each speaker shifts it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class Frames:
    """Short pieces of speech, and what was spoken.

    Attributes
    ----------
    name
        What this is.
    X
        One row of features per frame.
    y
        The class of each frame, counted from 0.
    classes
        The names of the classes.
    speaker
        The speaker of each frame, counted from 0.
    speakers
        The names of the speakers.
    recording
        The recording of each frame, counted from 0. Frames of one recording stand together, in order.
    """

    name: str
    X: FloatArray
    y: IntArray
    classes: tuple[str, ...]
    speaker: IntArray
    speakers: tuple[str, ...]
    recording: IntArray

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return (
            f"Frames({self.name!r}, {len(self)} frames x {self.X.shape[1]} features, {len(self.classes)} classes, "
            f"{len(self.speakers)} speakers)"
        )

    def select(self, order: Any) -> Frames:
        """Only these frames (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        return replace(
            self, X=self.X[picked], y=self.y[picked], speaker=self.speaker[picked], recording=self.recording[picked]
        )

    def of_speakers(self, *names: str) -> Frames:
        """Only the frames of these speakers."""
        for name in names:
            checks.one_of("speaker", name, dict.fromkeys(self.speakers))
        return self.select(np.isin(self.speaker, [self.speakers.index(name) for name in names]))

    def of_classes(self, *names: str) -> Frames:
        """Only the frames of these classes, numbered anew in the given order."""
        for name in names:
            checks.one_of("class", name, dict.fromkeys(self.classes))
        number = np.full(len(self.classes), -1)
        number[[self.classes.index(name) for name in names]] = np.arange(len(names))
        chosen = self.select(number[self.y] >= 0)
        return replace(chosen, y=number[chosen.y], classes=names)

    def window(self, width: int) -> Frames:
        """Put the features of ``width`` neighbouring frames in a row: the frame itself in the middle.

        At the ends of a recording its first and last frame are repeated; a window never reaches into another recording.
        """
        w = checks.whole("width", width, "give an odd number of frames, e.g. 7")
        if w % 2 == 0:
            raise InvalidArgument(f"width is {w} and must be odd", "the frame itself stands in the middle: 1, 3, 5, 7")
        at = np.arange(len(self))
        change = np.flatnonzero(np.diff(self.recording)) + 1
        run = np.searchsorted(change, at, side="right")
        low = np.concatenate(([0], change))[run]
        high = np.concatenate((change, [len(self)]))[run] - 1
        neighbours = [np.clip(at + step, low, high) for step in range(-(w // 2), w // 2 + 1)]
        return replace(self, X=np.hstack([self.X[near] for near in neighbours]))

    def standardized(self) -> Frames:
        """Every feature to mean 0 and standard deviation 1 over all frames; a constant one to 0."""
        spread = self.X.std(axis=0)
        return replace(self, X=(self.X - self.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))

    def with_squares(self) -> Frames:
        """Add the square of every feature, and a constant 1: d features become 2d + 1."""
        return replace(self, X=np.hstack((self.X, self.X**2, np.ones((len(self), 1)))))


def frames(
    *,
    speakers: int = 20,
    classes: int = 8,
    recordings: int = 3,
    length: int = 40,
    dim: int = 26,
    separation: float = 0.6,
    accent: float = 0.4,
    seed: int = 0,
) -> Frames:
    """Frames of the shape of a vowel corpus: Gaussian classes, shifted by the speaker, smooth in time.

    A frame is mean of the class + shift of the speaker + shift of the speaker for this class + noise. The noise of a
    frame has correlation 0.9 with that of the frame before it in the recording, and deviation 1 in every feature.

    Parameters
    ----------
    speakers, classes, dim
        How many.
    recordings, length
        How many recordings of each class a speaker makes, and the frames of each.
    separation
        The standard deviation of the classes' means in every feature.
    accent
        The standard deviation of the speakers' shifts; those per class are half as large.
    seed
        The same seed, the same frames.

    Examples
    --------
    >>> from smidgen.data import frames
    >>> made_up = frames(speakers=3, classes=4, recordings=2, length=10)
    >>> made_up
    Frames('generated', 240 frames x 26 features, 4 classes, 3 speakers)
    >>> made_up.window(7).with_squares().X.shape
    (240, 365)
    """
    n, k, r, t = (
        checks.whole(name, value, "at least 1")
        for name, value in (
            ("speakers", speakers),
            ("classes", classes),
            ("recordings", recordings),
            ("length", length),
        )
    )
    d = checks.dimension(dim)
    hint = "give a number, at least 0"
    apart = checks.number("separation", separation, hint, at_least=0.0)
    shift = checks.number("accent", accent, hint, at_least=0.0)
    rng = np.random.default_rng(checks.seed(seed))
    means = apart * rng.normal(size=(k, d))
    accents = shift * (rng.normal(size=(n, 1, d)) + 0.5 * rng.normal(size=(n, k, d)))
    noise = rng.normal(size=(n, k, r, t, d))
    for step in range(1, t):
        noise[..., step, :] = 0.9 * noise[..., step - 1, :] + np.sqrt(1.0 - 0.81) * noise[..., step, :]
    X = (noise + (means + accents)[:, :, None, None, :]).reshape(-1, d)
    speaker, y = (axis.ravel() for axis in np.indices((n, k, r, t))[:2])
    return Frames(
        "generated",
        X,
        y.astype(np.int64),
        tuple(f"sound {j + 1}" for j in range(k)),
        speaker.astype(np.int64),
        tuple(f"speaker {i + 1}" for i in range(n)),
        np.repeat(np.arange(n * k * r), t),
    )
