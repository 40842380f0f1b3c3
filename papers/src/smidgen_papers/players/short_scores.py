"""Scores as whole numbers, 64 bytes at a time: products, moves by differences of 8-bit rows, peaks, and a search.

Whole numbers are added and compared in the narrowest of widths, which compilers do not find by themselves. So these
loops are written in the compiler's own terms. Each instruction's body is its plain twin, see `smidgen.vector.lanes`.
Nothing is rounded but by `move_scores_by`, and nothing may overflow: the caller sees to it.

A range of scores first … last − 1 is a multiple of 32 long. Its *peaks* are 32 numbers: the highest of every 32nd
score, from the first on, from the second on, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen_papers.compiled.kernel import instruction
from smidgen_papers.compiled.lanes import filled

Bytes = NDArray[np.int8]
Shorts = NDArray[np.int16]
Wholes = NDArray[np.int32]

#: How many scores are treated at once.
WIDTH = 32
#: The product of a column that does not count.
NONE = -(1 << 31)
#: `move_scores_by` takes its factor as a multiple of one over this.
PARTS = 1 << 15


def _make_write_products() -> Any:
    from numba import types
    from numba.extending import intrinsic

    return intrinsic(
        lambda context, features, w, near, least, products: (
            types.int32(features, w, near, types.int16, products),
            _write_products,
        )
    )


def _make_write_scores() -> Any:
    from numba import types
    from numba.extending import intrinsic

    return intrinsic(
        lambda context, products, top, factor, low, high, gone, near: (
            types.void(products, types.float32, types.float32, *[types.int16] * 3, near),
            _write_scores,
        )
    )


def _make_highest() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(lambda context, s, first, last: (types.int16(s, whole, whole), _highest))


def _make_write_peaks() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(
        lambda context, s, first, last, peaks, at: (types.void(s, whole, whole, peaks, whole), _write_peaks)
    )


def _make_move_scores() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(
        lambda context, s, plus, minus, first, last, peaks, at: (
            types.void(s, plus, minus, whole, whole, peaks, whole),
            _move_scores,
        )
    )


def _make_move_scores_by() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(
        lambda context, s, plus, minus, factor, first, last, peaks, at: (
            types.void(s, plus, minus, types.int32, whole, whole, peaks, whole),
            _move_scores_by,
        )
    )


def _make_places_from() -> Any:
    from numba import types
    from numba.extending import intrinsic

    whole = types.intp
    return intrinsic(
        lambda context, s, first, last, limit, places: (types.intp(s, whole, whole, types.int16, places), _places_from)
    )


@instruction(_make_write_products)
def write_products(features: Shorts, w: Shorts, near: Shorts, least: int, products: Wholes) -> int:
    """Write Σ_f w_f·x_kf for all columns k, and −2³¹ where near is below least; gives the highest.

    Features lie in blocks of 128 columns, and there in pairs: first 0 and 1 of each column, then 2 and 3, and so on.
    """
    pairs = features.reshape(*features.shape[:2], -1, 2).astype(np.int32) * w.reshape(-1, 1, 2).astype(np.int32)
    products[:] = np.where(near < least, NONE, pairs.sum(axis=(1, 3)).reshape(-1))
    return int(products.max())


@instruction(_make_write_scores)
def write_scores(
    products: Wholes, top: np.float32, factor: np.float32, low: int, high: int, gone: int, near: Shorts
) -> None:
    """Write near scores: high − factor·(top − product), rounded, and at least low; or gone if there is no product."""
    below = (np.float32(top) - products.astype(np.float32)) * np.float32(factor)
    near[:] = np.where(products == NONE, gone, np.maximum(np.float32(low), np.float32(high) - below) + np.float32(0.5))


@instruction(_make_highest)
def highest_score(scores: Shorts, first: int, last: int) -> int:
    """The highest of a range of scores."""
    return int(scores[first:last].max())


@instruction(_make_write_peaks)
def write_peaks(scores: Shorts, first: int, last: int, peaks: Shorts, at: int) -> None:
    """Write the peaks of a range of scores to the 32 places from ``at`` on."""
    peaks[at : at + WIDTH] = scores[first:last].reshape(-1, WIDTH).max(axis=0)


@instruction(_make_move_scores)
def move_scores(scores: Shorts, plus: Bytes, minus: Bytes, first: int, last: int, peaks: Shorts, at: int) -> None:
    """Add plus − minus to a range of scores, and write their peaks."""
    scores[first:last] += plus[first:last].astype(np.int16) - minus[first:last].astype(np.int16)
    peaks[at : at + WIDTH] = scores[first:last].reshape(-1, WIDTH).max(axis=0)


@instruction(_make_move_scores_by)
def move_scores_by(
    scores: Shorts, plus: Bytes, minus: Bytes, factor: int, first: int, last: int, peaks: Shorts, at: int
) -> None:
    """The same with factor/2¹⁵·(plus − minus), rounded to the nearest; the factor is from 0 to 2¹⁵ − 1."""
    steps = plus[first:last].astype(np.int32) - minus[first:last].astype(np.int32)
    scores[first:last] += (((steps * factor >> 14) + 1) >> 1).astype(np.int16)
    peaks[at : at + WIDTH] = scores[first:last].reshape(-1, WIDTH).max(axis=0)


@instruction(_make_places_from)
def places_from(scores: Shorts, first: int, last: int, limit: int, places: Wholes) -> int:
    """Write down where in a range the scores are at least the limit; gives how many. It must hold them all."""
    found = first + np.flatnonzero(scores[first:last] >= limit)
    places[: len(found)] = found
    return len(found)


class _Range:
    """The code of a loop over a range of scores."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        from llvmlite import ir
        from numba.core import cgutils as numba_cgutils

        self.cgutils: Any = numba_cgutils
        self.ir: Any = ir
        self.builder = builder
        self.given = [
            context.make_array(kind)(context, builder, arg).data if hasattr(kind, "dtype") else arg
            for kind, arg in zip(signature.args, args, strict=True)
        ]
        self.one = self.given[0].type.pointee

    def steps(self, first: Any, last: Any) -> Any:
        """The loop itself; gives the place of the first of those that are treated at once."""
        return self.cgutils.for_range_slice(self.builder, first, last, first.type(WIDTH))

    def vector(self, one: Any) -> Any:
        """The type of those that are treated at once."""
        return self.ir.VectorType(one, WIDTH)

    def load(self, array: Any, at: Any, width: int = WIDTH) -> Any:
        """Read so many numbers; arrays start anywhere."""
        kind = self.ir.VectorType(array.type.pointee, width)
        value = self.builder.load(self.builder.bitcast(self.builder.gep(array, [at]), kind.as_pointer()))
        value.align = kind.element.width // 8
        return value

    def store(self, value: Any, array: Any, at: Any) -> None:
        """Write numbers."""
        place = self.builder.bitcast(self.builder.gep(array, [at]), value.type.as_pointer())
        self.builder.store(value, place).align = value.type.element.width // 8

    def lowest(self) -> Any:
        """Space for their maxima."""
        best = self.cgutils.alloca_once(self.builder, self.vector(self.one))
        lowest = self.ir.Constant(self.one, -(1 << 15))
        self.builder.store(filled(self.builder, lowest, self.vector(self.one)), best)
        return best

    def higher(self, a: Any, b: Any) -> Any:
        """The maximum, lane by lane."""
        return self.builder.select(self.builder.icmp_signed(">", a, b), a, b)

    def raise_to(self, best: Any, scores: Any) -> None:
        """Take the maxima with those of more scores."""
        self.builder.store(self.higher(scores, self.builder.load(best)), best)

    def highest(self, value: Any) -> Any:
        """The highest of a vector."""
        while value.type.count > 1:
            value = self.higher(*self.halves(value))
        return self.builder.extract_element(value, self.ir.Constant(self.ir.IntType(32), 0))

    def halves(self, value: Any) -> Any:
        """The first and the second half of a vector."""
        half = value.type.count // 2
        kind = self.ir.VectorType(self.ir.IntType(32), half)
        for start in (0, half):
            yield self.builder.shuffle_vector(value, value, self.ir.Constant(kind, list(range(start, start + half))))


def _write_products(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `write_products`: eight sums at a time, each of half as many columns as there are features."""
    r = _Range(context, builder, signature, args)
    features, weights, near, least, products = r.given
    ir, cgutils, half = r.ir, r.cgutils, WIDTH // 2
    whole = ir.IntType(32)
    shape = context.make_array(signature.args[0])(context, builder, args[0]).shape
    blocks, pairs = (builder.extract_value(shape, i) for i in range(2))
    wholes, sums = ir.VectorType(whole, half), ir.VectorType(whole, WIDTH)
    both = builder.bitcast(weights, whole.as_pointer())  # the weights of a pair, as one number
    totals, best = [cgutils.alloca_once(builder, wholes) for _ in range(8)], cgutils.alloca_once(builder, wholes)
    none, limits = ir.Constant(wholes, [NONE] * half), filled(builder, least, ir.VectorType(r.one, half))
    turns = [ir.Constant(wholes, list(range(start, WIDTH, 2))) for start in range(2)]
    builder.store(none, best)
    with cgutils.for_range(builder, blocks) as block:
        for total in totals:
            builder.store(ir.Constant(wholes, [0] * half), total)
        with cgutils.for_range(builder, pairs) as loop:
            pair = builder.load(builder.gep(both, [loop.index]))
            pair.align = 2
            w = builder.sext(builder.bitcast(filled(builder, pair, wholes), r.vector(r.one)), sums)
            row = builder.mul(builder.add(builder.mul(block.index, pairs), loop.index), pairs.type(8 * WIDTH))
            for i, total in enumerate(totals):
                x = builder.sext(r.load(features, builder.add(row, row.type(i * WIDTH))), sums)
                by = builder.mul(x, w)
                added = builder.add(*(builder.shuffle_vector(by, by, turn) for turn in turns))
                builder.store(builder.add(builder.load(total), added), total)
        for i, total in enumerate(totals):
            column = builder.add(builder.mul(block.index, pairs.type(8 * half)), pairs.type(i * half))
            gone = builder.icmp_signed("<", r.load(near, column, half), limits)
            found = builder.select(gone, none, builder.load(total))
            r.store(found, products, column)
            r.raise_to(best, found)
    return r.highest(builder.load(best))


def _write_scores(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `write_scores`."""
    r = _Range(context, builder, signature, args)
    products, top, factor, low, high, gone, near = r.given
    ir, half = r.ir, WIDTH // 2
    floats, shorts = ir.VectorType(ir.FloatType(), half), ir.VectorType(low.type, half)
    tops, factors = filled(builder, top, floats), filled(builder, factor, floats)
    lows, highs = (filled(builder, builder.sitofp(end, ir.FloatType()), floats) for end in (low, high))
    rounding = filled(builder, ir.Constant(ir.FloatType(), 0.5), floats)
    shape = context.make_array(signature.args[0])(context, builder, args[0]).shape
    columns = builder.extract_value(shape, 0)
    with r.cgutils.for_range_slice(builder, columns.type(0), columns, columns.type(half)) as (at, _):
        product = r.load(products, at, half)
        below = builder.fmul(builder.fsub(tops, builder.sitofp(product, floats)), factors)
        score = builder.fsub(highs, below)
        score = builder.select(builder.fcmp_ordered(">", score, lows), score, lows)
        whole = builder.trunc(builder.fptosi(builder.fadd(score, rounding), product.type), shorts)
        none = builder.icmp_signed("==", product, ir.Constant(product.type, [NONE] * half))
        r.store(builder.select(none, filled(builder, gone, shorts), whole), near, at)
    return context.get_dummy_value()


def _highest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `highest_score`."""
    r = _Range(context, builder, signature, args)
    scores, first, last = r.given
    best = r.lowest()
    with r.steps(first, last) as (at, _):
        r.raise_to(best, r.load(scores, at))
    return r.highest(builder.load(best))


def _write_peaks(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `write_peaks`."""
    r = _Range(context, builder, signature, args)
    scores, first, last, peaks, to = r.given
    best = r.lowest()
    with r.steps(first, last) as (at, _):
        r.raise_to(best, r.load(scores, at))
    r.store(builder.load(best), peaks, to)
    return context.get_dummy_value()


def _move_scores(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `move_scores`."""
    r = _Range(context, builder, signature, args)
    scores, plus, minus, first, last, peaks, to = r.given
    _move(r, scores, plus, minus, first, last, peaks, to, lambda steps: steps)
    return context.get_dummy_value()


def _move_scores_by(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `move_scores_by`."""
    r = _Range(context, builder, signature, args)
    scores, plus, minus, factor, first, last, peaks, to = r.given
    wholes = r.vector(r.ir.IntType(32))
    factors = filled(builder, factor, wholes)

    def multiplied(steps: Any) -> Any:
        product = builder.mul(builder.sext(steps, wholes), factors)
        for shift in (14, 1):
            product = builder.ashr(product, filled(builder, r.ir.IntType(32)(shift), wholes))
            if shift == 14:
                product = builder.add(product, filled(builder, r.ir.IntType(32)(1), wholes))
        return builder.trunc(product, steps.type)

    _move(r, scores, plus, minus, first, last, peaks, to, multiplied)
    return context.get_dummy_value()


def _move(
    r: _Range, scores: Any, plus: Any, minus: Any, first: Any, last: Any, peaks: Any, to: Any, multiplied: Any
) -> None:
    best, shorts = r.lowest(), r.vector(r.one)
    with r.steps(first, last) as (at, _):
        steps = r.builder.sub(*(r.builder.sext(r.load(row, at), shorts) for row in (plus, minus)))
        moved = r.builder.add(r.load(scores, at), multiplied(steps))
        r.store(moved, scores, at)
        r.raise_to(best, moved)
    r.store(r.builder.load(best), peaks, to)


def _places_from(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the code of `places_from`."""
    r = _Range(context, builder, signature, args)
    scores, first, last, limit, places = r.given
    ir, limits = r.ir, filled(builder, limit, r.vector(r.one))
    whole, half = ir.IntType(32), WIDTH // 2
    wholes, marks, bits = ir.VectorType(whole, half), ir.VectorType(ir.IntType(1), half), ir.IntType(half)
    kind = ir.FunctionType(ir.VoidType(), [wholes, whole.as_pointer(), marks])
    write = r.cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.compressstore.v{half}i32")
    count = r.cgutils.alloca_once_value(builder, first.type(0))
    with r.steps(first, last) as (at, _):
        enough = builder.icmp_signed(">=", r.load(scores, at), limits)
        some = builder.icmp_unsigned("!=", builder.bitcast(enough, whole), whole(0))
        with builder.if_then(some, likely=False):
            for start, part in zip((0, half), r.halves(enough), strict=True):
                found = builder.load(count)
                numbers = ir.Constant(wholes, list(range(start, start + half)))
                where = builder.add(filled(builder, builder.trunc(at, whole), wholes), numbers)
                builder.call(write, [where, builder.gep(places, [found]), part])
                more = builder.zext(builder.ctpop(builder.bitcast(part, bits)), found.type)
                builder.store(builder.add(found, more), count)
    return builder.load(count)
