"""Normal numbers out of random words, by the method of Box and Muller (1958), eight pairs at a time.

Two uniforms u and t give the pair √(−2·log(1 − u))·(cos 2πt, sin 2πt). The functions are sums of powers, so that they
run in vector registers and give the same bits on every machine, which those of a system's library need not.
"""

from __future__ import annotations

import math

import numpy as np

from smidgen._kernel import inlined
from smidgen.decision import FloatArray
from smidgen.vector.lanes import Lanes, fill, from_bits, load, root, shuffled, store, to_bits

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
