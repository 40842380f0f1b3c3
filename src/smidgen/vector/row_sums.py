"""A sparse row times a block of columns: the one product in which the learners of sparse texts spend their time.

W has a row per feature, and in it a number per class. A sparse example picks some rows of W, and wants their sum,
weighted by its values. Compilers do not see that the sums fit into registers: they load and store them for every
feature. So the loop is written here in the compiler's own terms: up to 32 columns at a time (64 where two powers are
summed) stay in registers, vectors of up to 64 bytes, and memory is asked for some rows ahead. Any number of columns
will do; a multiple of four is best.

The twin of each instruction, its body, says the same in plain Python, and is what runs where numba is switched off; a
test holds them equal, to the bit: each sum runs in the order of the features, whatever the width of the registers.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen._kernel import instruction
from smidgen.vector.lanes import ask_for, filled

Block = NDArray[Any]  # float64 or float32
Indices = NDArray[np.uint32]

#: How many columns of a block are summed in one pass, and how many rows ahead memory is asked for.
COLUMNS, AHEAD = 32, 16


def _make_sum_rows() -> Any:
    from numba.extending import intrinsic

    return intrinsic(lambda context, W, idx, val, out: _typed(W, idx, val, out))


def _make_sum_rows_twice() -> Any:
    from numba.extending import intrinsic

    return intrinsic(lambda context, S, idx, val, out: _typed(S, idx, val, out, code=_sum_rows_twice))


def _make_sum_all_rows() -> Any:
    from numba.extending import intrinsic

    return intrinsic(lambda context, W, val, out: _typed(W, val, out, code=_sum_all_rows))


def _typed(*arrays: Any, code: Any = None) -> Any:
    """The types and the code; None, which numba refuses to compile, if an array is not contiguous."""
    from numba import types

    return (types.void(*arrays), code or _sum_rows) if all(array.layout == "C" for array in arrays) else None


@instruction(_make_sum_rows)
def sum_rows(W: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_c = Σ_k x_k·W[i_k, c] for each column c of ``out``; W may have more.

    Columns may be numbered by several axes, in W and in ``out``: what counts is how the numbers lie in memory.
    """
    rows, flat = W.reshape(len(W), -1)[:, : out.size], out.reshape(-1)
    flat[:] = 0
    for i, x in zip(idx, val, strict=True):
        flat += x * rows[i]


@instruction(_make_sum_rows_twice)
def sum_rows_twice(S: Block, idx: Indices, val: Block, out: Block) -> None:
    """out_0c = Σ_k x_k·S[i_k, c] and out_1c = Σ_k x_k²·S[i_k, C + c] for each of the C columns of ``out``."""
    sum_rows(S, idx, val, out[0])
    sum_rows(S[:, out.shape[1] :], idx, val * val, out[1])


@instruction(_make_sum_all_rows)
def sum_all_rows(W: Block, val: Block, out: Block) -> None:
    """out_c = Σ_k x_k·W[k, c]: `sum_rows` of an example that has every feature, without the way over its indices."""
    sum_rows(W, np.arange(len(val), dtype=np.uint32), val, out)


def _sum_all_rows(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `sum_all_rows`: rows lie one after the other, and need not be asked for."""
    return _sum_rows(context, builder, signature, args)


def _sum_rows_twice(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `sum_rows_twice`: that of `sum_rows` for all 2·C columns, with two powers of x."""
    return _sum_rows(context, builder, signature, args, twice=True)


def _sum_rows(context: Any, builder: Any, signature: Any, args: Any, twice: bool = False) -> Any:
    """Write the code of `sum_rows`."""
    from llvmlite import ir
    from numba.core import cgutils as numba_cgutils

    cgutils: Any = numba_cgutils
    number, bytes_each = ir.IntType(64), signature.args[0].dtype.bitwidth // 8
    arrays = zip(signature.args, args, strict=True)
    W, *idx, val, out = (context.make_array(kind)(context, builder, array) for kind, array in arrays)
    values, weights, target = val.data, W.data, out.data
    length, stride = builder.extract_value(val.shape, 0), _product(builder, W.shape, 1)
    columns, together = _product(builder, out.shape, 0), 2 * COLUMNS if twice else COLUMNS

    def row_of(k: Any) -> Any:
        feature = builder.zext(builder.load(builder.gep(idx[0].data, [k])), number) if idx else k
        return builder.gep(weights, [builder.mul(feature, stride)])

    def ahead_of(k: Any) -> Any:
        k, last = builder.add(k, number(AHEAD)), builder.sub(length, number(1))
        return builder.select(builder.icmp_signed("<", k, last), k, last)

    def in_first_half(column: Any, count: int) -> Any:
        """Which of ``count`` neighbours belong to the first C columns."""
        kind = ir.VectorType(number, count)
        half = filled(builder, builder.sub(builder.lshr(columns, number(1)), column), kind)
        return builder.icmp_signed("<", ir.Constant(kind, list(range(count))), half)

    def sum_columns(first: Any, width: int) -> None:
        """One pass over the row for ``width`` columns, which the compiler keeps in registers."""
        pieces = [
            (builder.add(first, number(at)), ir.VectorType(weights.type.pointee, count))
            for at, count in _registers(width, bytes_each)
        ]
        halves = [in_first_half(column, kind.count) for column, kind in pieces] if twice else [None] * len(pieces)
        totals = [cgutils.alloca_once(builder, kind) for _, kind in pieces]
        for total, (_, kind) in zip(totals, pieces, strict=True):
            builder.store(ir.Constant(kind, [0.0] * kind.count), total)
        with cgutils.for_range(builder, length) as loop:
            x = builder.load(builder.gep(values, [loop.index]))
            row, later = row_of(loop.index), row_of(ahead_of(loop.index)) if idx else None
            for total, (column, kind), half in zip(totals, pieces, halves, strict=True):
                if later is not None:
                    ask_for(builder, builder.gep(later, [column]))
                block = builder.load(builder.bitcast(builder.gep(row, [column]), kind.as_pointer()))
                block.align = bytes_each
                factor = filled(builder, x, kind)
                if half is not None:
                    factor = builder.select(half, factor, filled(builder, builder.fmul(x, x), kind))
                builder.store(builder.fadd(builder.load(total), builder.fmul(factor, block)), total)
        for total, (column, kind) in zip(totals, pieces, strict=True):
            place = builder.bitcast(builder.gep(target, [column]), kind.as_pointer())
            builder.store(builder.load(total), place).align = bytes_each

    def sum_rest(first: Any, size: int, step: int) -> Any:
        """The columns from ``first`` on, fewer than ``size``; returns where the last begin, fewer than ``step``."""
        end, left = builder.append_basic_block("summed"), builder.sub(columns, first)
        ways = builder.switch(builder.and_(left, number(-step)), end)
        for width in range(step, size, step):
            block = builder.append_basic_block(f"columns_{width}")
            ways.add_case(number(width), block)
            builder.position_at_end(block)
            sum_columns(first, width)
            builder.branch(end)
        builder.position_at_end(end)
        return builder.and_(columns, number(-step))

    whole = builder.and_(columns, number(-together))
    with cgutils.for_range_slice(builder, number(0), whole, number(together)) as (first, _):
        sum_columns(first, together)
    sum_rest(sum_rest(whole, together, 4), 4, 1)
    return context.get_dummy_value()


def _product(builder: Any, shape: Any, first: int) -> Any:
    """The product of the lengths of an array's axes from the first one on."""
    lengths = [builder.extract_value(shape, axis) for axis in range(first, len(shape.type))]
    return reduce(builder.mul, lengths)


def _registers(width: int, bytes_each: int) -> list[tuple[int, int]]:
    """Cut ``width`` neighbours into vectors of at most 64 bytes: where each begins, and how many it holds."""
    pieces, at, count = [], 0, 64 // bytes_each
    while at < width:
        if at + count <= width:
            pieces.append((at, count))
            at += count
        else:
            count //= 2
    return pieces
