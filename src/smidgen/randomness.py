"""Randomness that is a function of (seed, decision number), not of what was drawn before.

The generator is Philox-4x64-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*,
SC 2011), the same that numpy offers, written as a kernel so that compiled code can draw too: the key is
(seed, stream), the counter (block, decision number). So feedback may come in any order or never, a log
can be replayed from the middle, and nothing about the generator needs saving but the seed.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import kernel
from smidgen.types import FloatArray

U64 = np.ndarray[tuple[int], np.dtype[np.uint64]]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ELEVEN = np.uint64(11)
_TO_UNIT = 2.0**-53

#: Streams: independent sequences for the several uses that one decision has for randomness.
DIRECTION, COIN = 1, 2


@kernel
def _add(a: np.uint64, b: np.uint64) -> np.uint64:
    """A + b modulo 2^64, in halves, so that plain Python does not warn of the overflow that is meant."""
    low = (a & _LOW) + (b & _LOW)
    return (((a >> _HALF) + (b >> _HALF) + (low >> _HALF)) << _HALF) | (low & _LOW)


@kernel
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The high and the low 64 bits of a · b."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    p00, p01, p10 = a0 * b0, a0 * b1, a1 * b0
    middle = (p00 >> _HALF) + (p01 & _LOW) + (p10 & _LOW)
    high = a1 * b1 + (p01 >> _HALF) + (p10 >> _HALF) + (middle >> _HALF)
    return high, (middle << _HALF) | (p00 & _LOW)


@kernel
def philox(key: U64, c0: np.uint64, c1: np.uint64, out: U64) -> None:
    """Write the four 64-bit words of the block with counter (c0, c1, 0, 0) to ``out``."""
    k0, k1 = key[0], key[1]
    x0, x1, x2, x3 = c0, c1, c0 ^ c0, c0 ^ c0
    for _ in range(10):
        high0, low0 = _multiply(_M0, x0)
        high1, low1 = _multiply(_M1, x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0, k1 = _add(k0, _W0), _add(k1, _W1)
    out[0], out[1], out[2], out[3] = x0, x1, x2, x3


@kernel
def _uniforms(key: U64, number: np.uint64, out: FloatArray) -> None:
    words = np.empty(4, np.uint64)
    for i in range(out.shape[0]):
        if i % 4 == 0:
            philox(key, np.uint64(i // 4), number, words)
        out[i] = np.float64(words[i % 4] >> _ELEVEN) * _TO_UNIT


@kernel
def first_uniform(key: U64, number: int) -> float:
    """The first of the uniforms that belong to decision ``number``, for compiled streams."""
    words = np.empty(4, np.uint64)
    philox(key, np.uint64(0), np.uint64(number), words)
    return float(words[0] >> _ELEVEN) * _TO_UNIT


@kernel
def _unit_vector(key: U64, number: np.uint64, out: FloatArray) -> None:
    """A uniform direction: normals by Box and Muller, divided by their norm."""
    n = out.shape[0]
    u = np.empty(n + n % 2)
    _uniforms(key, number, u)
    squares = 0.0
    for i in range(n):
        radius = math.sqrt(-2.0 * math.log(1.0 - u[i - i % 2]))
        angle = 2.0 * math.pi * u[i - i % 2 + 1]
        out[i] = radius * (math.cos(angle) if i % 2 == 0 else math.sin(angle))
        squares += out[i] * out[i]
    for i in range(n):
        out[i] /= math.sqrt(squares)


def stream_key(seed: int, stream: int) -> U64:
    """The key of one stream of a seed."""
    return np.array([seed, stream], dtype=np.uint64)


def uniforms(seed: int, number: int, count: int, *, stream: int) -> FloatArray:
    """``count`` numbers, uniform in [0, 1), that belong to decision ``number``."""
    out = np.empty(count)
    _uniforms(stream_key(seed, stream), np.uint64(number), out)
    return out


def unit_vector(seed: int, number: int, dim: int, *, stream: int) -> FloatArray:
    """A direction, uniform on the unit sphere, that belongs to decision ``number``."""
    out = np.empty(dim)
    _unit_vector(stream_key(seed, stream), np.uint64(number), out)
    return out
