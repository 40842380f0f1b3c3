"""Geometric means of ratios, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray


def geometric(ratios: Any) -> str:
    """The geometric mean of ratios, and a 95 % interval by its standard error in logarithms."""
    logs: FloatArray = np.log(np.maximum(np.asarray(ratios, dtype=np.float64), 1e-12))
    mean = float(logs.mean())
    if len(logs) < 2:
        return f"{np.exp(mean):.3f}"
    half = 1.96 * float(logs.std(ddof=1)) / np.sqrt(len(logs))
    return f"{np.exp(mean):.3f} ({np.exp(mean - half):.3f} to {np.exp(mean + half):.3f})"
