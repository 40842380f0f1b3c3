"""Made-up frames of speech: each sound has its place, each speaker shifts it."""

from __future__ import annotations

import numpy as np

from smidgen import checks
from smidgen.data.speech import Frames


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
