"""The question of a decision, for its story: the request, the best answers, and the features that spoke for the one.

The log holds most of it already: rows, scores and probabilities are the learner's own record. Two things are added to
the event of a decision where there is room: the request as it was sent, where the record does not hold it, and the
strongest contributions under the weights that decided, as columns and numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features import DenseRows, Encoded, Row, SparseRows
from smidgen.features.vectors import from_extension, to_json
from smidgen.learners import Learner
from smidgen.learners.bank import curvature_name
from smidgen.learners.pipeline import by_field, unwrap
from smidgen.learners.record_adapter import as_context, prepared, source_of
from smidgen.serialization import UNREADABLE
from smidgen.service.loops.base import Loop
from smidgen.structures import Choice, Ranking, structured
from smidgen.structures.base import vector
from smidgen.structures.slots import by_slot

#: The strongest contributions that an event holds at most, and their size in bytes at most.
STRONGEST, MOST = 20, 400
#: Bytes of one of them: a column and a number of 32 bits each.
_EACH = 8
#: The limit for both: a share of a record of candidates, or a number of bytes with the record of a single thing.
SHARE, ROOM = 0.33, 560
#: Learners with more weights than this are asked for contributions afterwards only: reading weights copies them.
WEIGHTS = 1 << 16
#: Of more contributions than this the strongest are found in the array.
FEW = 64
#: Texts shorter than this are not compressed.
_SHORT = 150
#: The place of the cosines of a bank, which count together.
_CURVED = 0xFFFF_FFFF
#: The largest contribution that is recorded, of either sign.
_LARGEST = float(np.finfo(np.float32).max)
#: Between the names of a cross.
CROSS = " × "
#: Number of the best answers that a story names.
BEST = 3
#: Arrays of candidates with more numbers than this are not written into a story.
NUMBERS = 1 << 20


# Recorded with a decision


def recorded(
    learner: Learner, table: Any, context: Any, decision: Decision, size: int, keep: bool, *, by_model: bool
) -> dict[str, bytes]:
    """Return the fields that the event of a decision gets for its story.

    Parameters
    ----------
    learner, table
        The learner that decided, and the vectorizer that has the names of its columns, if any.
    context
        The request as the loop read it: a record, or candidates.
    decision, size
        The decision, and the size of its record in bytes.
    keep
        Whether the request may be kept as it was sent.
    by_model
        Whether the learner decided, so that its weights speak for the answer.
    """
    many = isinstance(decision.context, Encoded | Ranking | Choice) and not _is_single(decision.context)
    room = int(SHARE * size) if many else ROOM
    found: dict[str, bytes] = {}
    if keep and isinstance(decision.context, Encoded) and decision.context.source is None and context != {}:
        asked = _packed(source_of(context))
        if asked is not None and len(asked) <= room:
            found["asked"] = asked
            room -= len(asked)
    most = min(STRONGEST, min(room, MOST) // _EACH) if by_model else 0
    if isinstance(decision.context, Encoded) and len(decision.context.direction):
        return found  # the rows are not all that counts
    if (why := strongest(learner, table, decision, most)) is not None:
        found["why"] = why
    return found


def _is_single(context: Any) -> bool:
    return isinstance(context, Encoded) and not context.candidates


def _packed(source: bytes | None) -> bytes | None:
    if source is None:
        return None
    return b"\0" + source if len(source) < _SHORT else b"\1" + zlib.compress(source, 6)


def _unpacked(content: bytes) -> bytes:
    return content[1:] if content[:1] == b"\0" else zlib.decompress(content[1:])


def strongest(learner: Learner, table: Any, decision: Decision, most: int) -> bytes | None:
    """Return the columns of the answer's row that add most to its score, and what they add, as bytes."""
    inner = unwrap(learner)
    if most <= 0:
        return None
    try:
        weights = _weights(inner)
        row = answered_row(inner, table, decision) if weights is not None else None
    except (SmidgenError, AttributeError):  # a learner without weights
        return None
    if weights is None or row is None:
        return None
    if weights.ndim == 2:
        weights = weights[_label_row(inner, decision.action)]
    columns, values = row
    if not len(columns):
        return None
    dim = getattr(inner, "dim", None)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            added, extra = weights[columns] * values, ()
            if isinstance(dim, int) and dim < len(weights) and not (own := columns < dim).all():
                extra = _finite(added[~own].sum(keepdims=True)).tolist()
                columns, added = columns[own], added[own]
            places, numbers = _strongest(columns, added, most)
    except IndexError:  # a row of another width
        return None
    found = zip([*places, *[_CURVED] * len(extra)], [*numbers, *extra], strict=True)
    order = sorted((-abs(number), place, number) for place, number in found if number)[:most]
    columns, numbers = [place for _, place, _ in order], [number for *_, number in order]
    return struct.pack(f"<{len(order)}I{len(order)}f", *columns, *numbers)


def _strongest(columns: Any, added: Any, most: int) -> tuple[list[int], list[float]]:
    """Return the strongest of many contributions, and all of a few."""
    added = _finite(added)
    if len(added) > FEW:
        size = np.abs(added)
        kept = size >= np.partition(size, -most)[-most]
        columns, added = columns[kept], added[kept]
    return columns.tolist(), added.tolist()


def _finite(added: Any) -> Any:
    """Replace what is not finite, or too large to be recorded."""
    if np.vdot(added, added) < _LARGEST:  # the quick way; NaN is not less
        return added
    return np.clip(np.nan_to_num(added), -_LARGEST, _LARGEST)


def _weights(inner: Learner) -> Any:
    if getattr(inner, "dim", 0) is not None and (getattr(inner, "dim", 0) or 0) > WEIGHTS:
        return None
    seen = getattr(inner, "seen_weights", None)  # of a bank, with those of its cosines
    weights = np.asarray(inner.weights if seen is None else seen, dtype=np.float64)
    return weights if weights.size <= WEIGHTS else None


def _label_row(inner: Learner, action: Any) -> int:
    return int(action) if isinstance(action, int | np.integer) else list(getattr(inner, "labels", ())).index(action)


def answered_row(inner: Learner, table: Any, decision: Decision) -> tuple[Any, Any] | None:
    """Return columns and values of the row that was labelled, forwarded, chosen or ranked first, as the learner reads.

    Of any other object it is φ of what was shown; None where there are no rows.
    """
    context = decision.context
    if decision.slots is not None:
        return _answered_rows(inner, table, decision)
    if isinstance(context, Encoded):
        columns = table.planned(context)[1] if table is not None else np.empty(0, np.uint32)
        if not context.candidates:
            _, indices, values = context.with_columns(columns)
            context = prepared(inner, Row(indices, values, context.dim))
        else:
            context = as_context(context, columns)
    if isinstance(context, Row):
        seen_row = getattr(inner, "seen_row", None)  # of a bank
        context = context if seen_row is None else seen_row(context)
        return np.asarray(context.indices, dtype=np.int64), np.asarray(context.values, dtype=np.float64)
    if not isinstance(context, Ranking | Choice):
        return _described(decision)
    first = int(np.asarray(decision.action).item(0))
    rows, seen = context.rows, getattr(inner, "seen_rows", None)  # some scale the features of a query
    if seen is not None:
        if isinstance(context, Choice):  # the rows of a choice are read one by one
            context, first = Choice(_single_row(rows, first)), 0
        rows = seen(context)
    if isinstance(rows, DenseRows):
        return np.arange(rows.shape[1]), rows.array[first]
    part = slice(rows.indptr[first], rows.indptr[first + 1])
    return np.asarray(rows.indices[part], np.int64), rows.data[part]


def _answered_rows(inner: Learner, table: Any, decision: Decision) -> tuple[Any, Any] | None:
    """Return the sum of the rows that were chosen for the slots."""
    found = [answered_row(inner, table, each.decision) for each in by_slot(decision)]
    rows = [row for row in found if row is not None]
    columns, place = np.unique(np.concatenate([row[0] for row in rows]), return_inverse=True)
    values = np.zeros(len(columns))
    np.add.at(values, place, np.concatenate([row[1] for row in rows]))
    return columns, values


def _single_row(rows: DenseRows | SparseRows, place: int) -> DenseRows | SparseRows:
    if isinstance(rows, DenseRows):
        return DenseRows(rows.array[place : place + 1])
    part = slice(rows.indptr[place], rows.indptr[place + 1])
    ends = np.array([0, part.stop - part.start], np.int64)
    return SparseRows(rows.data[part], rows.indices[part], ends, rows.shape[1])


def _described(decision: Decision) -> tuple[Any, Any] | None:
    """Return all columns and φ of what was shown, of a structure of others; of two that were shown, the first."""
    known = structured(decision.context)
    if known is None:
        return None
    values = vector(known.phi(decision.greedy))
    return np.arange(len(values)), values


# Read back for a story


def contributions_then(
    shared: Mapping[str, Any] | None, name: Callable[[int], str], expand: Collection[str] = ()
) -> list[tuple[str, float]] | None:
    """Return the contributions that an event holds, strongest first; None of one without them."""
    content = (shared or {}).get("why")
    if not isinstance(content, bytes) or len(content) % _EACH:
        return None
    n = len(content) // _EACH
    columns = np.frombuffer(content, "<u4", n)
    added = np.frombuffer(content, "<f4", n, 4 * n)
    names = {int(column): name(int(column)) for column in columns if column != _CURVED}
    curved = curvature_name(names, columns[columns != _CURVED])
    pairs = zip(columns.tolist(), added.tolist(), strict=True)
    return by_field([(names.get(int(c), curved), float(x)) for c, x in pairs], expand)


def best_answers(decision: Decision, ids: Sequence[Any]) -> list[tuple[Any, float | None, float | None]] | None:
    """Return the three best answers: id, score, probability; None where the learner gives neither."""
    scores, chances = decision.scores, decision.propensities
    sorted_by = scores if scores is not None else chances
    if sorted_by is None or np.ndim(sorted_by) != 1 or len(sorted_by) > len(ids):
        return None
    order = np.argsort(-np.asarray(sorted_by), kind="stable")[:BEST].tolist()
    known = chances is not None and len(chances) == len(sorted_by)
    return [
        (
            ids[i],
            None if scores is None else float(scores[i]),
            float(chances[i]) if chances is not None and known else None,
        )
        for i in order
    ]


def greedy_answer(loop: Loop, decision: Decision, ids: Sequence[Any]) -> Any:
    """Return the answer without exploration, as the reply would have it."""
    plain = structs.replace(decision, action=decision.greedy, propensities=None)
    try:
        return next(iter(loop.answer(plain, ids).values()), None)
    except (TypeError, IndexError, AttributeError):
        return None


def recorded_source(shared: Mapping[str, Any]) -> bytes | None:
    """Return the request that the event of a decision holds, as `Encoded.source` has it; None if it holds none."""
    content = shared.get("asked")
    try:
        return _unpacked(content) if isinstance(content, bytes) else None
    except zlib.error:
        return None


def asked_as_sent(decision: Decision, shared: Mapping[str, Any] | None, single: str) -> dict[str, Any] | None:
    """Return the request as it was sent, if the event holds it; ``single`` is the name of a single record."""
    source = recorded_source(shared or {})
    if source is None and isinstance(decision.context, Encoded):
        source = decision.context.source
    try:
        found = None if source is None else msgspec.msgpack.decode(source, ext_hook=_vector)
    except UNREADABLE:
        return None
    if isinstance(found, dict):
        return _of_single(single, found)
    if not isinstance(found, list) or not isinstance(found[0], dict):
        return None
    offer = found[0]
    ids = offer.get("ids") or range(len(offer["records"]))
    candidates = [{"id": id, "features": record} for id, record in zip(ids, offer["records"], strict=False)]
    for name, amounts in (offer.get("costs") or {}).items():
        for each, amount in zip(candidates, amounts, strict=False):
            if amount is not None:
                each.setdefault("costs", {})[name] = amount
    context, slots = offer.get("context"), offer.get("slots")
    return ({"context": context} if context else {}) | {"candidates": candidates} | ({"slots": slots} if slots else {})


def _of_single(name: str, record: dict[str, Any]) -> dict[str, Any] | None:
    """A single record as the request had it: a context may have been left out."""
    return {name: record} if record or name != "context" else None


def _vector(code: int, content: memoryview) -> dict[str, str]:
    """Return a vector of a record as stories and logs write it."""
    return to_json(from_extension(code, content))


def asked_by_name(
    decision: Decision, ids: Sequence[Any], name: Callable[[int], str], named: bool, single: str
) -> dict[str, Any] | None:
    """Return the request from the rows of the record: texts, categories and numbers by name, without crosses.

    ``named`` says that rows of numbers have names; without them they are arrays, as they were sent. ``single`` is the
    name of a single record.
    """
    context = decision.context
    if isinstance(context, Encoded):
        many = max(len(context.entries), 1)
        rows = [_fields(context, i, name) for i in range(len(context) // many)]
        if context.entries:
            return _as_request(rows, ids) | {"slots": [{"id": id} for id in context.slot_ids]}
        return _as_request(rows, ids) if context.candidates else _of_single(single, rows[0])
    if isinstance(context, Row):
        pairs = zip(np.asarray(context.indices).tolist(), np.asarray(context.values).tolist(), strict=True)
        if named:
            return {single: {name(c): v for c, v in pairs}}
        dense = np.zeros(context.dim)
        dense[np.asarray(context.indices)] = context.values
        return {single: dense.tolist()}
    if not isinstance(context, Ranking | Choice):
        return None
    rows_ = context.rows
    if rows_.shape[0] * rows_.shape[1] > NUMBERS:
        return None
    full = rows_.array if isinstance(rows_, DenseRows) else rows_.dense()
    given = [({name(c): v for c, v in enumerate(row) if v} if named else row) for row in full.tolist()]
    return {"candidates": [{"id": id, "features": row} for id, row in zip(ids, given, strict=True)]}


def _fields(encoded: Encoded, row: int, name: Callable[[int], str]) -> dict[str, Any]:
    """Return the fields of one encoded record."""
    part = slice(encoded.starts[row], encoded.starts[row + 1])
    pairs: Iterable[tuple[str, float]] = [
        (name(int(c)), float(v)) for c, v in zip(encoded.indices[part], encoded.values[part], strict=True)
    ]
    new = encoded.new_rows == row
    pairs = [
        *pairs,
        *((encoded.names[i], float(v)) for i, v in zip(encoded.new_names[new], encoded.new_values[new], strict=True)),
    ]
    found: dict[str, Any] = {}
    crossed = [(part, 1.0) for each, _ in pairs if CROSS in each for part in each.split(CROSS)]
    own = {each for each, _ in pairs}
    shared = dict.fromkeys((part, x) for part, x in crossed if part.startswith("context.") and "=" in part)
    for each, value in [*pairs, *((part, x) for part, x in shared if part not in own)]:
        if CROSS in each or each.endswith(" (missing)") or each == "(constant)":
            continue
        field, equals, text = each.partition("=")
        if not equals:
            found[each] = value
        elif field not in found:
            found[field] = text
        else:
            found[field] = [*(found[field] if isinstance(found[field], list) else [found[field]]), text]
    return found


def _as_request(rows: list[dict[str, Any]], ids: Sequence[Any]) -> dict[str, Any]:
    prefix = "context."
    context = {f.removeprefix(prefix): v for f, v in rows[0].items() if f.startswith(prefix)} if rows else {}
    own = [{f: v for f, v in row.items() if not f.startswith(prefix)} for row in rows]
    candidates = [{"id": id, "features": row} for id, row in zip(ids, own, strict=False)]
    return ({"context": context} if context else {}) | {"candidates": candidates}
