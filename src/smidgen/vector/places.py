"""Places in a ranking, by counting: eight scores at a time, and no branch that could be foretold wrongly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from smidgen._kernel import instruction
from smidgen.decision import FloatArray, IntArray
from smidgen.vector.lanes import LANES, filled


def _make_rank_eight() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(
        lambda context, scores, first, start, end, order: (
            (types.void(scores, whole, whole, whole, order), _rank_eight)
            if scores.layout == order.layout == "C"
            else None
        )
    )


@instruction(_make_rank_eight)
def rank_eight(scores: FloatArray, first: int, start: int, end: int, order: IntArray) -> None:
    """Write eight documents from the first on (fewer at the end) to their places among those from start to end.

    Before a document come those of higher scores, and equals in front of it. Scores are numbers.
    """
    for i in range(first, min(first + LANES, end)):
        order[start + np.sum(scores[start:end] > scores[i]) + np.sum(scores[start:i] == scores[i])] = i


def _rank_eight(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `rank_eight`: each score of the run is held against all eight, which count."""
    from llvmlite import ir
    from numba.core import cgutils as numba_cgutils

    cgutils: Any = numba_cgutils
    first, start, end = args[1:4]
    scores, order = (context.make_array(signature.args[k])(context, builder, args[k]).data for k in (0, 4))
    one, flags = first.type(1), ir.VectorType(ir.IntType(1), LANES)
    vector, whole = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(first.type, LANES)
    lanes, left = ir.Constant(whole, list(range(LANES))), builder.sub(end, first)
    place = builder.bitcast(builder.gep(scores, [first]), vector.as_pointer())
    kind = ir.FunctionType(vector, [place.type, ir.IntType(32), flags, vector])
    load = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.v{LANES}f64.p0")
    there = builder.icmp_signed("<", lanes, filled(builder, left, whole))  # nothing is read beyond the end
    eight = builder.call(load, [place, ir.IntType(32)(8), there, ir.Constant(vector, [0.0] * LANES)])
    after = builder.select(
        builder.icmp_signed("<", left, first.type(LANES)), end, builder.add(first, first.type(LANES))
    )
    counts = cgutils.alloca_once_value(builder, filled(builder, start, whole))

    def count(low: Any, high: Any, before: Callable[[Any, Any], Any]) -> None:
        """Add one to the count of each of the eight that a score of this range comes before."""
        with cgutils.for_range_slice(builder, low, high, one) as (i, _):
            found = before(filled(builder, builder.load(builder.gep(scores, [i])), vector), i)
            builder.store(builder.add(builder.load(counts), builder.zext(found, whole)), counts)

    def among(score: Any, i: Any) -> Any:
        later = builder.icmp_signed(">", lanes, filled(builder, builder.sub(i, first), whole))
        equal = builder.and_(later, builder.fcmp_ordered("==", score, eight))
        return builder.or_(equal, builder.fcmp_ordered(">", score, eight))

    count(start, first, lambda score, i: builder.fcmp_ordered(">=", score, eight))
    count(first, after, among)
    count(after, end, lambda score, i: builder.fcmp_ordered(">", score, eight))
    found = builder.bitcast(cgutils.alloca_once_value(builder, builder.load(counts)), first.type.as_pointer())
    with cgutils.for_range_slice(builder, first, after, one) as (i, _):
        builder.store(i, builder.gep(order, [builder.load(builder.gep(found, [builder.sub(i, first)]))]))
    return context.get_dummy_value()
