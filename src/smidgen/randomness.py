"""Randomness that is a function of (seed, decision number), not of what was drawn before.

The generator is Philox-4x64-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*,
SC 2011), the same that numpy offers, written as a kernel so that compiled code can draw too: the key is
(seed, stream), the counter (block, decision number). So feedback may come in any order or never, a log
can be replayed from the middle, and nothing about the generator needs saving but the seed.
"""

from __future__ import annotations

import numpy as np

from smidgen._core import random as core
from smidgen.decision import FloatArray

U64 = np.ndarray[tuple[int], np.dtype[np.uint64]]

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ELEVEN = np.uint64(11)
_TO_UNIT = 2.0**-53

#: Streams: independent sequences for the several uses that one decision has for randomness.
DIRECTION, COIN, TRAFFIC, SIGNS, TEAMS = 1, 2, 3, 4, 5
#: A decision with several slots draws for slot i, from 0, from the streams that are 16·i further on.
SLOT_STREAMS = 16


def stream_key(seed: int, stream: int) -> U64:
    """The key of one stream of a seed."""
    return np.array([seed, stream], dtype=np.uint64)


def uniforms(seed: int, number: int, count: int, *, stream: int) -> FloatArray:
    """``count`` numbers, uniform in [0, 1), that belong to decision ``number``."""
    out = np.empty(count)
    core.fill_uniforms(stream_key(seed, stream), number, out)
    return out


def normals(seed: int, number: int, count: int, *, stream: int, part: int = 0) -> FloatArray:
    """``count`` normal numbers that belong to decision ``number``: one portion of them, if it needs several."""
    out = np.empty(count)
    core.fill_normals(stream_key(seed, stream), number, part, out)
    return out


def unit_vector(seed: int, number: int, dim: int, *, stream: int) -> FloatArray:
    """A direction, uniform on the unit sphere, that belongs to decision ``number``."""
    out = np.empty(dim)
    core.unit_direction(stream_key(seed, stream), number, out)
    return out
