"""The question of a decision, for its story: the request, the best answers, and the features that spoke for the one.

The log holds most of it already: rows, scores and probabilities are the learner's own record. Two things are added to
the event of a decision where there is room: the request as it was sent, where the record does not hold it, and the
strongest contributions under the weights that decided, as columns and numbers.
"""

from __future__ import annotations

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
from smidgen.learners.pipeline import as_context, by_field, prepared, source_of, unwrap
from smidgen.serialization import UNREADABLE
from smidgen.service.loops.base import Loop
from smidgen.structures import Choice, Ranking, structured
from smidgen.structures.base import vector

#: The strongest contributions that an event holds at most, and their size in bytes at most.
STRONGEST, MOST = 20, 400
#: Bytes of one of them: a column and a number of 32 bits each.
_EACH = 8
#: The room for both: a share of a record of candidates, or so many bytes with the record of a single thing.
SHARE, ROOM = 0.33, 560
#: Learners with more weights than this are asked for contributions afterwards only: reading weights copies them.
WEIGHTS = 1 << 16
#: Texts shorter than this are not compressed.
_SHORT = 150
#: The place of the cosines of a bank, which count together.
_CURVED = 0xFFFF_FFFF
#: The largest contribution that is recorded, of either sign.
_LARGEST = float(np.finfo(np.float32).max)
#: Between the names of a cross.
CROSS = " × "
#: How many of the best answers a story names.
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
    if keep and isinstance(decision.context, Encoded) and decision.context.source is None:
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
    if not len(columns) or int(columns.max()) >= len(weights):
        return None
    dim = getattr(inner, "dim", len(weights))
    if not isinstance(dim, int):
        dim = len(weights)
    own = columns < dim
    with np.errstate(over="ignore", invalid="ignore"):
        added = weights[columns] * values
        if not own.all():
            columns, added = np.append(columns[own], _CURVED), np.append(added[own], added[~own].sum())
    added = np.clip(np.nan_to_num(added), -_LARGEST, _LARGEST)
    order = np.lexsort((columns, -np.abs(added)))[:most]
    order = order[added[order] != 0.0]
    content: bytes = columns[order].astype("<u4").tobytes() + added[order].astype("<f4").tobytes()
    return content


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
    first = int(np.ravel(np.asarray(decision.action))[0])
    rows, seen = context.rows, getattr(inner, "seen_rows", None)  # some scale the features of a query
    if seen is not None:
        if isinstance(context, Choice) and isinstance(rows, SparseRows):  # the rows of a choice are read one by one
            part = slice(rows.indptr[first], rows.indptr[first + 1])
            ends = np.array([0, part.stop - part.start], np.int64)
            context = Choice(SparseRows(rows.data[part], rows.indices[part], ends, rows.shape[1]))
            first = 0
        rows = seen(context)
    if isinstance(rows, DenseRows):
        return np.arange(rows.shape[1]), rows.array[first]
    part = slice(rows.indptr[first], rows.indptr[first + 1])
    return np.asarray(rows.indices[part], np.int64), rows.data[part]


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


def asked_as_sent(decision: Decision, shared: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the request as it was sent, if the event holds it."""
    content, source = (shared or {}).get("asked"), None
    if isinstance(decision.context, Encoded) and decision.context.source is not None:
        source = decision.context.source
    try:
        if isinstance(content, bytes):
            source = _unpacked(content)
        found = None if source is None else msgspec.msgpack.decode(source, ext_hook=_vector)
    except (*UNREADABLE, zlib.error):
        return None
    if isinstance(found, dict):
        return {"features": found}
    if not isinstance(found, list) or not isinstance(found[0], dict):
        return None
    offer = found[0]
    ids = offer.get("ids") or range(len(offer["records"]))
    candidates = [{"id": id, "features": record} for id, record in zip(ids, offer["records"], strict=False)]
    for name, amounts in (offer.get("costs") or {}).items():
        for each, amount in zip(candidates, amounts, strict=False):
            if amount is not None:
                each.setdefault("costs", {})[name] = amount
    context = offer.get("context")
    return ({"context": context} if context else {}) | {"candidates": candidates}


def _vector(code: int, content: memoryview) -> dict[str, str]:
    """Return a vector of a record as stories and logs write it."""
    return to_json(from_extension(code, content))


def asked_by_name(
    decision: Decision, ids: Sequence[Any], name: Callable[[int], str], named: bool
) -> dict[str, Any] | None:
    """Return the request from the rows of the record: texts, categories and numbers by name, without crosses.

    ``named`` says that rows of numbers have names; without them they are arrays, as they were sent.
    """
    context = decision.context
    if isinstance(context, Encoded):
        rows = [_fields(context, i, name) for i in range(len(context))]
        return _as_request(rows, ids) if context.candidates else {"features": rows[0]}
    if isinstance(context, Row):
        pairs = zip(np.asarray(context.indices).tolist(), np.asarray(context.values).tolist(), strict=True)
        if named:
            return {"features": {name(c): v for c, v in pairs}}
        dense = np.zeros(context.dim)
        dense[np.asarray(context.indices)] = context.values
        return {"features": dense.tolist()}
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
