"""Randomness that is a function of (seed, decision number), not of what was drawn before.

The generator is Philox-4x64-10 (Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3*,
SC 2011), the same that numpy offers, written as a kernel so that compiled code can draw too: the key is
(seed, stream), the counter (block, decision number). So feedback may come in any order or never, a log
can be replayed from the middle, and nothing about the generator needs saving but the seed.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import inlined, kernel
from smidgen.decision import FloatArray
from smidgen.vector.lanes import add_words, fill, load, multiply_words, only, store, total
from smidgen.vector.memory import zeros
from smidgen.vector.normals import NORMALS, box_muller, take_apart

U64 = np.ndarray[tuple[int], np.dtype[np.uint64]]

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ELEVEN = np.uint64(11)
_TO_UNIT = 2.0**-53

#: Streams: independent sequences for the several uses that one decision has for randomness.
DIRECTION, COIN, TRAFFIC = 1, 2, 3


@inlined
def philox(key: U64, c0: np.uint64, c1: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """The four 64-bit words of the block with counter (c0, c1, 0, 0)."""
    k0, k1 = key[0], key[1]
    x0, x1, x2, x3 = c0, c1, c0 ^ c0, c0 ^ c0
    for _ in range(10):
        high0, low0 = multiply_words(_M0, x0)
        high1, low1 = multiply_words(_M1, x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0, k1 = add_words(k0, _W0), add_words(k1, _W1)
    return x0, x1, x2, x3


@inlined
def _to_unit(word: np.uint64) -> float:
    """A number in [0, 1) out of the upper 53 bits of a word."""
    return float(word >> _ELEVEN) * _TO_UNIT


@kernel
def fill_uniforms(key: U64, number: np.uint64, out: FloatArray) -> None:
    """As many uniforms as fit, that belong to decision ``number``."""
    n = out.shape[0]
    for i in range(0, n - n % 4, 4):
        x0, x1, x2, x3 = philox(key, np.uint64(i // 4), number)
        out[i], out[i + 1], out[i + 2], out[i + 3] = _to_unit(x0), _to_unit(x1), _to_unit(x2), _to_unit(x3)
    if n % 4:
        words = philox(key, np.uint64(n // 4), number)
        for k in range(n % 4):
            out[n - n % 4 + k] = _to_unit(words[k])


@inlined
def first_uniform(key: U64, number: int) -> float:
    """The first of the uniforms that belong to decision ``number``, for compiled streams."""
    return _to_unit(philox(key, np.uint64(0), np.uint64(number))[0])


@inlined
def _inverse_norm(normals: FloatArray, start: int, n: int) -> float:
    """1/‖·‖ of n numbers, from the start-th in memory on."""
    squares = fill(0.0)
    for i in range(0, n, 8):
        x = only(load(normals, start + i), n - i)
        squares = squares + x * x
    return 1.0 / math.sqrt(total(squares))


@inlined
def unit_direction(key: U64, number: np.uint64, out: FloatArray, words: U64, scratch: FloatArray) -> None:
    """A uniform direction: normals, divided by their norm. `direction_scratch` makes words and scratch."""
    for block in range(words.shape[0] // 4):
        x0, x1, x2, x3 = philox(key, np.uint64(block), number)
        words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3] = x0, x1, x2, x3
    n, start = out.shape[0], NORMALS * scratch.shape[1]
    for k in range((n + 1) // 2):
        take_apart(words[2 * k], words[2 * k + 1], k, scratch)
    box_muller(scratch)
    factor, whole = _inverse_norm(scratch, start, n), n - n % 8
    for i in range(0, whole, 8):
        store(out, i, fill(factor) * load(scratch, start + i))
    for i in range(whole, n):
        out[i] = factor * scratch[NORMALS + i // scratch.shape[1], i % scratch.shape[1]]


@kernel
def direction_scratch(dim: int) -> tuple[U64, FloatArray]:
    """Scratch to draw directions in: words in blocks of four, and their normals, eight pairs at a time."""
    return np.empty(dim + -dim % 4, np.uint64), np.zeros((NORMALS + 2, (dim + 15) // 16 * 8))


@inlined
def fill_normals(key: U64, number: np.uint64, part: int, out: FloatArray, words: U64, scratch: FloatArray) -> None:
    """As many normal numbers as fit: the part-th portion of those that belong to decision ``number``.

    `direction_scratch` makes words and scratch.
    """
    blocks = words.shape[0] // 4
    for block in range(blocks):
        x0, x1, x2, x3 = philox(key, np.uint64(part * blocks + block), number)
        words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3] = x0, x1, x2, x3
    n = out.shape[0]
    for k in range((n + 1) // 2):
        take_apart(words[2 * k], words[2 * k + 1], k, scratch)
    box_muller(scratch)
    for i in range(n):
        out[i] = scratch[NORMALS + i // scratch.shape[1], i % scratch.shape[1]]


@inlined
def unit_directions(key: U64, number: np.uint64, dim: int, out: FloatArray, words: U64, scratch: FloatArray) -> None:
    """The directions of as many decisions as ``out`` has rows, from ``number`` on, each as `unit_direction` has it.

    Together they cost less. `directions_scratch` makes out, which has 0 in its columns beyond dim, words and scratch.
    """
    blocks, start, columns = (dim + 3) // 4, NORMALS * scratch.shape[1], out.shape[1]
    for k in range(out.shape[0]):
        for block in range(blocks):
            x0, x1, x2, x3 = philox(key, np.uint64(block), add_words(number, np.uint64(k)))
            at = 2 * (k * blocks + block)
            words[0, at], words[1, at], words[0, at + 1], words[1, at + 1] = x0, x1, x2, x3
    for at in range(scratch.shape[1]):
        take_apart(words[0, at], words[1, at], at, scratch)
    box_muller(scratch)
    for k in range(out.shape[0]):
        first = start + 4 * k * blocks
        factor = fill(_inverse_norm(scratch, first, dim))
        for i in range(0, columns, 8):
            store(out, k * columns + i, factor * only(load(scratch, first + i), dim - i))


def directions_scratch(dim: int, count: int) -> tuple[FloatArray, U64, FloatArray]:
    """Scratch to draw so many directions at once: for them, for their words, and for their normals.

    Rows of directions are as long as whole blocks of eight. Normals have a row to spare, as blocks of eight reach
    beyond them.
    """
    places = (-(-dim // 4) * 2 * count + 7) // 8 * 8
    out, words = zeros((count, dim + -dim % 8), np.float64), zeros((2, places), np.uint64)
    return out, words, zeros((NORMALS + 3, places), np.float64)


@kernel
def perturb(key: U64, number: int, y: FloatArray, reach: float, v: FloatArray, z: FloatArray) -> None:
    """Write the direction v that belongs to decision ``number``, and z = y + reach·v."""
    words, scratch = direction_scratch(v.shape[0])
    unit_direction(key, np.uint64(number), v, words, scratch)
    for i in range(y.shape[0]):
        z[i] = y[i] + reach * v[i]


def stream_key(seed: int, stream: int) -> U64:
    """The key of one stream of a seed."""
    return np.array([seed, stream], dtype=np.uint64)


def uniforms(seed: int, number: int, count: int, *, stream: int) -> FloatArray:
    """``count`` numbers, uniform in [0, 1), that belong to decision ``number``."""
    out = np.empty(count)
    fill_uniforms(stream_key(seed, stream), np.uint64(number), out)
    return out


@kernel
def _write_normals(key: U64, number: np.uint64, part: int, out: FloatArray) -> None:
    words, scratch = direction_scratch(out.shape[0])
    fill_normals(key, number, part, out, words, scratch)


def normals(seed: int, number: int, count: int, *, stream: int, part: int = 0) -> FloatArray:
    """``count`` normal numbers that belong to decision ``number``: one portion of them, if it needs several."""
    out = np.empty(count)
    _write_normals(stream_key(seed, stream), np.uint64(number), part, out)
    return out


def unit_vector(seed: int, number: int, dim: int, *, stream: int) -> FloatArray:
    """A direction, uniform on the unit sphere, that belongs to decision ``number``."""
    out = np.empty(dim)
    unit_direction(stream_key(seed, stream), np.uint64(number), out, *direction_scratch(dim))
    return out
