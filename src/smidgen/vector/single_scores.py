"""Scores in single precision, sixteen at a time: moved by differences of whole-number rows, and their maximum.

Compilers do not look for the maximum of floats in vectors, since NaN would have a say; here there is none. So both
loops are written in the compiler's own terms. Each instruction's body is its plain twin, see `smidgen.vector.lanes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import instruction
from smidgen.vector.lanes import filled

Singles = NDArray[np.float32]
Shorts = NDArray[np.int16]

#: How many scores are treated at once.
WIDTH = 16


def _make_highest() -> Any:
    from numba import types
    from numba.extending import intrinsic

    return intrinsic(lambda context, s, first, last: (types.float32(s, types.intp, types.intp), _highest))


def _make_move_scores() -> Any:
    from numba import types
    from numba.extending import intrinsic

    return intrinsic(
        lambda context, s, plus, minus, factor, first, last: (
            types.float32(s, plus, minus, types.float32, types.intp, types.intp),
            _highest,
        )
    )


@instruction(_make_highest)
def highest_score(scores: Singles, first: int, last: int) -> np.float32:
    """The highest of the scores first … last − 1, a multiple of 16 of them."""
    return np.float32(scores[first:last].max())


@instruction(_make_move_scores)
def move_scores(scores: Singles, plus: Shorts, minus: Shorts, factor: np.float32, first: int, last: int) -> np.float32:
    """Add factor·(plus − minus) to the scores first … last − 1, a multiple of 16 of them; gives the highest."""
    steps = plus[first:last].astype(np.int32) - minus[first:last].astype(np.int32)
    scores[first:last] += np.float32(factor) * steps.astype(np.float32)
    return np.float32(scores[first:last].max())


def _highest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `highest_score`, or of `move_scores` if there are rows to move by."""
    from llvmlite import ir
    from numba.core import cgutils as numba_cgutils

    cgutils: Any = numba_cgutils
    *arrays, first, last = args
    floats, lowest = ir.VectorType(ir.FloatType(), WIDTH), ir.Constant(ir.FloatType(), float("-inf"))
    shorts, wholes = ir.VectorType(ir.IntType(16), WIDTH), ir.VectorType(ir.IntType(32), WIDTH)
    rows = [context.make_array(signature.args[i])(context, builder, arrays[i]).data for i in range(len(arrays[:3]))]
    factor = filled(builder, arrays[3], floats) if len(arrays) > 1 else None
    best = cgutils.alloca_once(builder, floats)
    builder.store(filled(builder, lowest, floats), best)

    def place(row: Any, at: Any, kind: Any) -> Any:
        return builder.bitcast(builder.gep(row, [at]), kind.as_pointer())

    def steps(row: Any, at: Any) -> Any:
        loaded = builder.load(place(row, at, shorts))
        loaded.align = 2
        return builder.sext(loaded, wholes)

    with cgutils.for_range_slice(builder, first, last, first.type(WIDTH)) as (at, _):
        scores = builder.load(place(rows[0], at, floats))
        scores.align = 4
        if factor is not None:
            by = builder.sitofp(builder.sub(steps(rows[1], at), steps(rows[2], at)), floats)
            scores = builder.fadd(scores, builder.fmul(factor, by))
            builder.store(scores, place(rows[0], at, floats)).align = 4
        so_far = builder.load(best)
        builder.store(builder.select(builder.fcmp_ordered(">", scores, so_far), scores, so_far), best)
    found, width = builder.load(best), WIDTH
    while width > 1:
        width //= 2
        where = (range(width), range(width, 2 * width))
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), width), list(half)) for half in where]
        low, high = (builder.shuffle_vector(found, found, mask) for mask in masks)
        found = builder.select(builder.fcmp_ordered(">", low, high), low, high)
    return builder.extract_element(found, ir.Constant(ir.IntType(32), 0))
