"""Eight numbers at a time: vector instructions, said by name, for the few kernels that need them.

The compiler turns most loops into vector code by itself. It must not where that would change the order of a sum, and
it gives up where it cannot tell that many arrays do not overlap. There a kernel can say what it wants: `load` gives
eight neighbours of a float64 array as one value, which ``+``, ``-``, ``*``, ``/`` and `root` treat lane by lane; `fill`
gives eight equal ones, `store` writes eight back, `total` adds the lanes up, in pairs. So the order of a sum is part of
the program, and the same on every processor.

Every instruction has a plain twin, its body here, which runs where numba is switched off; a test holds them equal.
Like kernels, instructions check nothing: the caller sees to it that eight numbers are there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import FloatArray
from smidgen_papers.compiled.kernel import instruction

__all__ = [
    "LANES",
    "add_to",
    "add_words",
    "fill",
    "from_bits",
    "load",
    "multiply_words",
    "only",
    "prefetch",
    "prefetch_later",
    "root",
    "shuffled",
    "store",
    "to_bits",
    "total",
    "totals",
]

#: How many numbers one value holds: a register of AVX-512, two of AVX2, four of NEON.
LANES = 8

Lanes = FloatArray


def _instruction(function: Callable[..., Any]) -> Callable[..., Any]:
    return instruction(lambda: _intrinsics()[function.__name__])(function)


@_instruction
def load(array: FloatArray, at: int) -> Lanes:
    """The eight numbers of a contiguous array, of one or two dimensions, from the ``at``-th in memory on."""
    return array.reshape(-1)[at : at + LANES].astype(np.float64)


@_instruction
def store(array: FloatArray, at: int, lanes: Lanes) -> None:
    """Write eight numbers to a contiguous array, from the ``at``-th in memory on."""
    array.reshape(-1)[at : at + LANES] = lanes


@_instruction
def add_to(array: FloatArray, at: int, lanes: Lanes) -> None:
    """Add eight numbers to those of a contiguous array."""
    array.reshape(-1)[at : at + LANES] += lanes


@_instruction
def fill(number: float) -> Lanes:
    """The same number eight times."""
    return np.full(LANES, number)


@_instruction
def root(lanes: Lanes) -> Lanes:
    """The square root of each."""
    return np.sqrt(lanes)


@_instruction
def only(lanes: Lanes, count: int) -> Lanes:
    """The first lanes, as many as said (all, if that is more than there are), and 0 in the place of the others."""
    return np.where(np.arange(LANES) < count, lanes, 0.0)


@_instruction
def shuffled(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """The lanes of both in turn, a_0, b_0, a_1, b_1 and so on."""
    both = np.column_stack([a, b]).reshape(-1)
    return both[:LANES].copy(), both[LANES:].copy()


@_instruction
def prefetch(array: NDArray[Any], at: int) -> None:
    """Ask for the cache line around the ``at``-th number of a contiguous array before it is needed.

    It changes nothing but the time of later reads, and may be asked for places that are not there.
    """


@_instruction
def prefetch_later(array: NDArray[Any], at: int) -> None:
    """The same for what is needed only after much else: it is brought near, but does not take the nearest places."""


@_instruction
def total(lanes: Lanes) -> float:
    """The sum of the lanes: halves are added to each other until one is left."""
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return float(lanes[0])


@_instruction
def totals(a: Lanes, b: Lanes, c: Lanes, d: Lanes, e: Lanes, f: Lanes, g: Lanes, h: Lanes) -> Lanes:
    """The `total` of each of eight."""
    return np.array([total(lanes) for lanes in (a, b, c, d, e, f, g, h)])


@_instruction
def to_bits(number: float) -> np.int64:
    """The 64 bits of a number, as a whole number."""
    return np.float64(number).view(np.int64)


@_instruction
def from_bits(bits: np.int64) -> float:
    """The number that has these bits."""
    return float(np.int64(bits).view(np.float64))


@_instruction
def multiply_words(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The high and the low 64 bits of a · b."""
    product = int(a) * int(b)
    return np.uint64(product >> 64), np.uint64(product & 0xFFFFFFFFFFFFFFFF)


@_instruction
def add_words(a: np.uint64, b: np.uint64) -> np.uint64:
    """A + b modulo 2^64."""
    return np.uint64((int(a) + int(b)) & 0xFFFFFFFFFFFFFFFF)


def __getattr__(name: str) -> Any:
    """The type of lanes, for cached kernels that are read before anything was compiled."""
    if name == "LanesType":
        _intrinsics()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _intrinsics() -> dict[str, Any]:
    """Tell numba of the type, of its arithmetic and of the instructions."""
    import numba.extending as numba_extending
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils as numba_cgutils
    from numba.core.typing import templates as numba_templates

    extending: Any = numba_extending  # numba has no types for those who check them
    templates: Any = numba_templates
    cgutils: Any = numba_cgutils
    vector, zero = ir.VectorType(ir.DoubleType(), LANES), ir.Constant(ir.IntType(32), 0)
    kind: Any = type("LanesType", (types.Type,), {"__module__": __name__})  # cached kernels name it: see __getattr__
    globals()[kind.__name__] = kind
    lanes = kind("Lanes")
    extending.register_model(kind)(lambda manager, fe_type: extending.models.PrimitiveModel(manager, fe_type, vector))
    for symbol, code in (
        (operator.add, "fadd"),
        (operator.sub, "fsub"),
        (operator.mul, "fmul"),
        (operator.truediv, "fdiv"),
    ):
        cases = [templates.signature(lanes, lanes, lanes)]
        templates.infer_global(symbol)(type(code, (templates.ConcreteTemplate,), {"cases": cases}))
        extending.lower_builtin(symbol, lanes, lanes)(partial(_arithmetic, code))

    def address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(data.type.pointee, LANES).as_pointer())

    def halves(builder: Any, value: Any, width: int) -> tuple[Any, Any]:
        places = (range(width), range(width, 2 * width))
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), width), list(where)) for where in places]
        return builder.shuffle_vector(value, value, masks[0]), builder.shuffle_vector(value, value, masks[1])

    def do_load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(address(context, builder, signature.args[0], *args))
        value.align = signature.args[0].dtype.bitwidth // 8  # arrays start anywhere
        return value if value.type == vector else builder.fpext(value, vector)

    def do_store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], address(context, builder, signature.args[0], *args[:2])).align = 8
        return context.get_dummy_value()

    def do_add_to(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.fadd(do_load(context, builder, signature, args[:2]), args[2])
        return do_store(context, builder, signature, (*args[:2], value))

    def do_fill(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return filled(builder, args[0], vector)

    def do_root(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        name, kind = f"llvm.sqrt.v{LANES}f64", ir.FunctionType(vector, [vector])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    def do_only(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = ir.VectorType(ir.IntType(64), LANES)
        which = builder.icmp_signed("<", ir.Constant(places, list(range(LANES))), filled(builder, args[1], places))
        return builder.select(which, args[0], ir.Constant(vector, [0.0] * LANES))

    def do_shuffled(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        turns = [k // 2 + LANES * (k % 2) for k in range(2 * LANES)]
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), half) for half in (turns[:LANES], turns[LANES:])]
        parts = [builder.shuffle_vector(*args, mask) for mask in masks]
        return context.make_tuple(builder, signature.return_type, parts)

    def do_prefetch(cache: int, context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        ask_for(builder, builder.gep(data, [args[1]]), cache)
        return context.get_dummy_value()

    def do_total(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, width = args[0], LANES
        while width > 1:
            width //= 2
            value = builder.fadd(*halves(builder, value, width))
        return builder.extract_element(value, zero)

    def do_totals(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rest, width = list(args), LANES
        while width > 1:  # two by two: the halves of the parts are added up; the parts halve, their number doubles
            width //= 2
            first = [k for k in range(2 * LANES) if k % (2 * width) < width]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), LANES), [k + w for k in first]) for w in (0, width)]
            pairs = zip(rest[::2], rest[1::2], strict=True)
            rest = [builder.fadd(*(builder.shuffle_vector(x, y, mask) for mask in masks)) for x, y in pairs]
        return rest[0]

    def do_multiply_words(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(factor, wide) for factor in args))
        parts = [builder.trunc(builder.lshr(product, wide(64)), word), builder.trunc(product, word)]
        return context.make_tuple(builder, signature.return_type, parts)

    def do_add_words(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.add(*args)

    def do_to_bits(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    def do_from_bits(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    def writing(array: Any) -> Any:
        return types.void(array, types.intp, lanes)

    def whole(array: Any, kind: Any, code: Any) -> Any:
        """The type and the code; None, which numba refuses to compile, if the array is not contiguous."""
        return (kind, code) if array.layout == "C" else None

    intrinsic, word = extending.intrinsic, types.uint64
    pair: Any = partial(_pair, types)
    return {
        "load": intrinsic(lambda context, array, at: whole(array, lanes(array, types.intp), do_load)),
        "store": intrinsic(lambda context, array, at, value: whole(array, writing(array), do_store)),
        "add_to": intrinsic(lambda context, array, at, value: whole(array, writing(array), do_add_to)),
        "prefetch": intrinsic(lambda context, array, at: (types.void(array, types.intp), partial(do_prefetch, 1))),
        "prefetch_later": intrinsic(
            lambda context, array, at: (types.void(array, types.intp), partial(do_prefetch, 2))
        ),
        "fill": intrinsic(lambda context, number: (lanes(types.float64), do_fill)),
        "only": intrinsic(lambda context, value, count: (lanes(lanes, types.intp), do_only)),
        "root": intrinsic(lambda context, value: (lanes(lanes), do_root)),
        "shuffled": intrinsic(lambda context, a, b: (pair(lanes)(lanes, lanes), do_shuffled)),
        "total": intrinsic(lambda context, value: (types.float64(lanes), do_total)),
        "totals": intrinsic(lambda context, a, b, c, d, e, f, g, h: (lanes(*[lanes] * LANES), do_totals)),
        "to_bits": intrinsic(lambda context, number: (types.int64(types.float64), do_to_bits)),
        "from_bits": intrinsic(lambda context, bits: (types.float64(types.int64), do_from_bits)),
        "multiply_words": intrinsic(lambda context, a, b: (pair(word)(word, word), do_multiply_words)),
        "add_words": intrinsic(lambda context, a, b: (word(word, word), do_add_words)),
    }


def _pair(types: Any, kind: Any) -> Any:
    """The type of two values of a kind."""
    return types.UniTuple(kind, 2)


def _arithmetic(code: str, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return getattr(builder, code)(*args)


def filled(builder: Any, value: Any, kind: Any) -> Any:
    """A vector of equal numbers."""
    from llvmlite import ir

    undefined, places = ir.Constant(kind, ir.Undefined), ir.VectorType(ir.IntType(32), kind.count)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(places, [0] * kind.count))


def ask_for(builder: Any, place: Any, cache: int = 1) -> None:
    """Ask for the line of memory that a pointer points to: into the first cache, the second or the third."""
    from llvmlite import ir
    from numba.core import cgutils as numba_cgutils

    cgutils: Any = numba_cgutils
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(place, byte), flag(0), flag(4 - cache), flag(1)])  # to read, how near, data
