"""Random directions from the counter-based generator, bit for bit those of `smidgen.randomness`."""

from __future__ import annotations

import math

import numpy as np

from smidgen.decision import FloatArray
from smidgen_papers.compiled.arrays import zeros
from smidgen_papers.compiled.kernel import inlined, kernel
from smidgen_papers.compiled.lanes import (
    Lanes,
    add_words,
    fill,
    from_bits,
    load,
    multiply_words,
    only,
    root,
    shuffled,
    store,
    to_bits,
    total,
)

NORMALS = 5  # the row of the scratch from which on the normals stand

_LN2, _TAU = math.log(2.0), 2.0 * math.pi

_ONE, _TWO, _FIFTY_ONE, _FIFTY_TWO, _ELEVEN = np.int64(1), np.int64(2), np.int64(51), np.int64(52), np.uint64(11)

_WHOLE, _EIGHTH = np.int64(2**53), np.int64(2**50)

_LEAST = np.int64(0x3FE6A09E667F3BCD)  # the bits of √½

_EXPONENT = np.int64(-(2**52))  # where the exponent (and the sign) of a number is among its bits


@inlined
def _powers(y: Lanes, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float) -> Lanes:
    """1 + y·(a + b·y + c·y² + … + h·y⁷), in pairs, so that little waits for anything else."""
    squares = y * y
    low = (fill(a) + fill(b) * y) + (fill(c) + fill(d) * y) * squares
    high = (fill(e) + fill(f) * y) + (fill(g) + fill(h) * y) * squares
    powers: Lanes = fill(1.0) + y * (low + high * (squares * squares))
    return powers


@inlined
def take_apart(first: np.uint64, second: np.uint64, k: int, scratch: FloatArray) -> None:
    """Make two words ready for `box_muller`, at the k-th place of the first five rows of its scratch."""
    number = float(_WHOLE - np.int64(first >> _ELEVEN)) * 2.0**-53  # 1 − u, without rounding
    above = (to_bits(number) - _LEAST) & _EXPONENT
    scratch[0, k] = from_bits(to_bits(number) - above)  # at least √½, and below √2
    scratch[1, k] = float(above >> _FIFTY_TWO)
    turn = np.int64(second >> _ELEVEN)  # t·2^53
    quarter = (turn + _EIGHTH) >> _FIFTY_ONE
    scratch[2, k] = float(turn - (quarter << _FIFTY_ONE)) * 2.0**-53  # what is left: at most an eighth of a turn
    sign, odd = float(_ONE - (quarter & _TWO)), float(quarter & _ONE)
    scratch[3, k], scratch[4, k] = sign * (1.0 - odd), sign * odd  # cosine and sine of the quarter turns


@inlined
def box_muller(scratch: FloatArray) -> None:
    """A pair of normals for each place of ``scratch``; they go to its rows from NORMALS on, one after the other.

    Scratch has seven rows or more, and a multiple of 8 places in each. Where `take_apart` has left zeros, so are they.
    """
    size = scratch.shape[1]
    for k in range(0, size, 8):
        m = load(scratch, k)
        f = (m - fill(1.0)) / (m + fill(1.0))
        s = f * f
        logs = _powers(s, 1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 13, 1 / 15, 1 / 17) * (f + f)
        lengths = root((logs + load(scratch, size + k) * fill(_LN2)) * fill(-2.0))
        x = load(scratch, 2 * size + k) * fill(_TAU)
        y = x * x
        cos = _powers(
            y,
            -1 / 2,
            1 / 24,
            -1 / 720,
            1 / 40320,
            -1 / 3628800,
            1 / 479001600,
            -1 / 87178291200,
            1 / 20922789888000,
        )
        sin = x * _powers(
            y,
            -1 / 6,
            1 / 120,
            -1 / 5040,
            1 / 362880,
            -1 / 39916800,
            1 / 6227020800,
            -1 / 1307674368000,
            1 / 355687428096000,
        )
        quarter_cos, quarter_sin = load(scratch, 3 * size + k), load(scratch, 4 * size + k)
        first, second = shuffled(
            lengths * (quarter_cos * cos - quarter_sin * sin), lengths * (quarter_sin * cos + quarter_cos * sin)
        )
        store(scratch, NORMALS * size + 2 * k, first)
        store(scratch, NORMALS * size + 2 * k + 8, second)


U64 = np.ndarray[tuple[int], np.dtype[np.uint64]]

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)

_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


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


@kernel
def _write_normals(key: U64, number: np.uint64, part: int, out: FloatArray) -> None:
    words, scratch = direction_scratch(out.shape[0])
    fill_normals(key, number, part, out, words, scratch)


def normals(seed: int, number: int, count: int, *, stream: int, part: int = 0) -> FloatArray:
    """``count`` normal numbers that belong to decision ``number``: one portion of them, if it needs several."""
    out = np.empty(count)
    _write_normals(stream_key(seed, stream), np.uint64(number), part, out)
    return out
