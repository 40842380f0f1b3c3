"""A kernel is compiled once per kind of input: rounds that are replayed from bytes bring no kind of their own."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from laws.loops import CASES
from smidgen import Decision, Learner, records
from smidgen._kernel import JIT, constant, ordinary
from smidgen.features import as_row
from smidgen.features.stream import as_stream
from smidgen.testing import Case

pytestmark = pytest.mark.skipif(not JIT, reason="kernels run as plain Python here")


def kernels() -> dict[str, Any]:
    """All kernels that have been compiled or loaded, by name; not the vector code, which is always part of others."""
    from numba.core.dispatcher import Dispatcher

    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("smidgen") and not name.startswith("smidgen.vector"):
            each = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
            named = {f"{value.py_func.__module__}.{value.py_func.__name__}": value for value in each}
            found.update({name: value for name, value in named.items() if not name.startswith("smidgen.vector")})
    return found


def kind(argument: Any) -> Any:
    """What a kernel must tell apart: the numbers' type and the rank of arrays, not who may write to them."""
    from numba import types

    plain = types.unliteral(argument)
    if isinstance(plain, types.Array):
        return str(plain.dtype), plain.ndim
    return tuple(map(kind, plain)) if isinstance(plain, types.BaseTuple) else str(plain)


def spelt(argument: Any) -> str:
    """A type in full; numba's own variants for constants count as one."""
    from numba import types

    return str(types.unliteral(argument))


def doubles(before: dict[str, set[Any]]) -> list[str]:
    """Kernels that have been compiled for two spellings of one kind since ``before``."""
    found = []
    for name, each in kernels().items():
        spellings: dict[Any, set[Any]] = {}
        for signature in each.overloads:
            spellings.setdefault(tuple(map(kind, signature)), set()).add(tuple(map(spelt, signature)))
        new = {tuple(map(spelt, signature)) for signature in each.overloads} - before.get(name, set())
        found += [f"{name}: {sorted(two)}" for two in spellings.values() if len(two) > 1 and two & new]
    return found


def seen() -> dict[str, set[Any]]:
    return {name: {tuple(map(spelt, s)) for s in each.overloads} for name, each in kernels().items()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_live_replayed_and_revived_rounds_share_their_kernels(case: Case) -> None:
    before = seen()
    for as_csr in (False, True):
        contexts = case.form.contexts(21, 8, as_csr=as_csr)
        live, twin = case.make(), case.make()
        for decision, feedback in case.play(live, contexts):
            again = records.unpack(records.pack(feedback))
            twin.learn(Decision.from_json(decision.to_json()), again)
        case.play(Learner.from_bytes(twin.to_bytes()), contexts)
    assert doubles(before) == []


@pytest.mark.parametrize("case", [case for case in CASES if case.form.name in ("rows", "items")], ids=str)
def test_rows_that_may_not_be_written_to_share_their_kernels(case: Case) -> None:
    """As they come from a request's bytes."""
    before = seen()
    contexts = case.form.contexts(22, 6)
    case.play(case.make(), contexts)
    case.play(case.make(), [np.frombuffer(row.tobytes()) for row in contexts])
    case.play(case.make(), [np.repeat(row, 2)[::2] for row in contexts])
    assert doubles(before) == []


def test_a_row_has_one_kind_wherever_it_comes_from() -> None:
    from scipy import sparse

    dense = np.array([0.0, 2.0, 0.0, 1.0])
    given = [dense, np.frombuffer(dense.tobytes()), sparse.csr_array(dense[None]), sparse.coo_array(dense[None])]
    made = [as_row(each, 4) for each in given]
    for row in [*made, *(records.unpack(records.pack(row)) for row in made)]:
        assert not row.indices.flags.writeable
        assert row.values.flags.carray


def test_a_stream_has_one_kind_wherever_it_comes_from() -> None:
    from scipy import sparse

    dense = np.array([[0.0, 2.0], [1.0, 0.0]])
    csr = sparse.csr_array(dense)
    for given in (dense, csr, sparse.coo_array(dense), csr.astype(np.float32)):
        assert not any(array.flags.writeable for array in as_stream(given, 2, np.float64))
    assert csr.data.flags.writeable, "the caller's own arrays stay as they were"
    assert csr.indptr.flags.writeable


def test_arrays_of_one_kind_are_not_copied() -> None:
    fresh = np.zeros(3)
    assert ordinary(fresh) is fresh
    shut = constant(fresh)
    assert shut.base is fresh
    assert constant(shut) is shut
    assert ordinary(shut).flags.carray
    assert ordinary(np.zeros(6)[::2]).flags.carray
    assert constant(np.zeros(6)[::2]).flags.c_contiguous
