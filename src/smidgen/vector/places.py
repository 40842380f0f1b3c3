"""Places in a ranking, by counting: eight scores at a time, and no branch that could be foretold wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen._kernel import instruction
from smidgen.decision import FloatArray
from smidgen.vector.lanes import LANES, filled


def _make_before() -> Any:
    from numba import types
    from numba.extending import intrinsic

    return intrinsic(
        lambda context, scores, first, i: (
            (types.intp(scores, types.intp, types.intp), _before) if scores.layout == "C" else None
        )
    )


@instruction(_make_before)
def before(scores: FloatArray, first: int, i: int) -> int:
    """How many of eight scores (fewer at the end) rank before the i-th: the higher ones, and equals in front of it."""
    eight, places = scores[first : first + LANES], np.arange(first, min(first + LANES, len(scores)))
    return int(np.sum((eight > scores[i]) | ((eight == scores[i]) & (places < i))))


def _before(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `before`."""
    from llvmlite import ir
    from numba.core import cgutils as numba_cgutils

    cgutils: Any = numba_cgutils
    array, first, i = context.make_array(signature.args[0])(context, builder, args[0]), args[1], args[2]
    vector, whole = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(64), LANES)
    flags, align = ir.VectorType(ir.IntType(1), LANES), ir.IntType(32)(8)

    def below(number: Any) -> Any:
        """Which of the eight stand before a place, counted from the first one."""
        count = filled(builder, builder.sub(number, first), whole)
        return builder.icmp_signed("<", ir.Constant(whole, list(range(LANES))), count)

    start = builder.bitcast(builder.gep(array.data, [first]), vector.as_pointer())
    kind = ir.FunctionType(vector, [start.type, ir.IntType(32), flags, vector])
    load = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.v{LANES}f64.p0")
    there = below(builder.extract_value(array.shape, 0))  # nothing is read beyond the end
    nobody = ir.Constant(vector, [float("nan")] * LANES)  # neither higher nor equal
    eight = builder.call(load, [start, align, there, nobody])
    own = filled(builder, builder.load(builder.gep(array.data, [i])), vector)
    equals = builder.and_(builder.fcmp_ordered("==", eight, own), below(i))
    found = builder.or_(builder.fcmp_ordered(">", eight, own), equals)
    return builder.zext(builder.ctpop(builder.bitcast(found, ir.IntType(LANES))), ir.IntType(64))
