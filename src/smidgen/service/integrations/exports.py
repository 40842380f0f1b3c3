"""Export formats of logs.

dsjson: answered decisions of a choose model by reward, as Vowpal Wabbit's ``--dsjson`` reads them.

A line has the features of every candidate as the model saw them (``c._multi``, with the context crossed in), the
actions with the shown one first (``a``, from 1) and their probabilities (``p``), and the reward as a cost (its
negative). Decisions without an answer, and what was taken back, are left out.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from smidgen.checks import suggest
from smidgen.decision import Decision
from smidgen.errors import MissingExtra
from smidgen.features import Encoded
from smidgen.learners import Learner, Loop
from smidgen.learners.pipeline import vectorizer_of
from smidgen.service.engine.log_sources import LogSource
from smidgen.service.engine.rebuild import Rebuilder, rebuild_all
from smidgen.service.errors import Impossible, json_text
from smidgen.service.log.codec import EventLine
from smidgen.service.log.events import ANSWERED
from smidgen.service.loops.slots import slot_events
from smidgen.service.ope.sources import TYPED, typed_values

#: By how much the clocks of machines that share a store may differ, in seconds, if spans are to follow each other.
APART_S = 60.0
_BASES = ("base", "base_state")


@dataclass(frozen=True)
class Span:
    """Range of events: those after a number, and from one time until another, as the log writes them."""

    after: int = 0
    since: str = ""
    until: str = "~"


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name, about
        What it is called, and what it is good for.
    write
        Writes the wanted events of a log into a file; returns how many.
    """

    name: str
    about: str
    write: Callable[[LogSource, Span, Path], int]


def formats() -> dict[str, Format]:
    """The formats by name."""
    return {each.name: each for each in (DSJSON, NDJSON, PARQUET, CSV)}


def find(name: str) -> Format:
    """The format of this name."""
    known = formats()
    if name not in known:
        raise Impossible(f"there is no format {json_text(name)}", suggest(name, known))
    return known[name]


def parse_span(recording: LogSource, span: Span) -> Iterator[EventLine]:
    """The events of a span, in order.

    Spans that follow each other have the events of a shard in the order of their numbers: one that was written a moment
    before its predecessor, by the clock of another machine, counts when that did. So does one that was forgotten.
    """
    before: dict[int | None, str] = {}
    for event in recording.lines():
        at, last = event.at, before.get(event.shard, "")
        if at < last and (event.type == "erased" or _seconds(at, last) <= APART_S):
            at = last
        if event.type not in _BASES:  # when a base was made says nothing of when events were
            before[event.shard] = at
        if event.seq > span.after and span.since <= at < span.until:
            yield event


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def write_dsjson(recording: LogSource, span: Span, path: Path) -> int:
    """A line for each answered decision, in the order of the answers."""
    shards = rebuild_all(recording)
    blueprint = next(iter(shards.values())).blueprint
    if blueprint is None or blueprint.loop.name != Loop.CHOOSE or blueprint.feedback != "reward":
        raise Impossible(
            f"{recording.name} is not a log of choices with rewards", "export it as ndjson, csv or parquet"
        )
    count = 0
    with path.open("wb") as file:
        for event in parse_span(recording, span):
            rebuilt = shards[event.shard or 0]
            if event.type in ANSWERED and event.status != "late" and _stands(event, rebuilt):
                made = recording.decision(event.decision or "")
                for line in [] if made is None else _lines(made, event, rebuilt):
                    file.write(line + b"\n")
                    count += 1
    return count


def _stands(event: EventLine, rebuilt: Rebuilder) -> bool:
    return event.model_version is not None and event.model_version not in rebuilt.undone


def _lines(made: EventLine, feedback_line: EventLine, rebuilt: Rebuilder) -> Iterator[bytes]:
    """The line of a choice; of several slots one for each that has a reward."""
    decision = made.record_bytes()
    if decision.slots is None:
        yield _line(made, feedback_line, decision, made.reply.get("propensities", {}), rebuilt)
        return
    asked = {part.decision: part for part, _ in slot_events(made, None)}
    for answer, single in slot_events(feedback_line, decision):
        if single is not None and single.propensities is not None:
            part = asked[answer.decision]
            shares = dict(zip(map(str, part.ids), single.propensities.tolist(), strict=True))
            yield _line(part, answer, single, shares, rebuilt)


def _line(
    made: EventLine, feedback_line: EventLine, decision: Decision, shares: Mapping[str, float], rebuilt: Rebuilder
) -> bytes:
    shown = int(decision.action)
    others = [place for place in range(len(made.ids)) if place != shown]
    others.sort(key=lambda place: -shares.get(str(made.ids[place]), 0.0))
    order = [shown, *others]
    probabilities = [shares.get(str(made.ids[place]), 0.0) for place in order] if shares else [1.0]
    reward = _reward(feedback_line, rebuilt)
    features = _features(decision, rebuilt.learner(made.key), rebuilt)
    fields: dict[str, Any] = {
        "_label_cost": -reward,
        "_label_probability": probabilities[0],
        "_label_Action": shown + 1,
        "_labelIndex": shown,
        "o": [{"v": reward, "EventId": made.decision}],
        "Timestamp": made.at,
        "Version": "1",
        "EventId": made.decision,
        "a": [place + 1 for place in order],
        "c": {"_multi": [{"_id": str(id), "f": row} for id, row in zip(made.ids, features, strict=True)]},
        "p": probabilities,
    }
    return msgspec.json.encode(fields)


def _reward(feedback_line: EventLine, rebuilt: Rebuilder) -> float:
    """The reward in the app's own range; silence is worth what the model says."""
    if "reward" in feedback_line.feedback:
        return float(feedback_line.feedback["reward"])
    if "default_reward" in feedback_line.feedback:
        return float(feedback_line.feedback["default_reward"])
    low, high = rebuilt.blueprint.terms.reward_range if rebuilt.blueprint is not None else (0.0, 1.0)
    return low + (high - low) * float(feedback_line.learner_input())


def _features(decision: Decision, learner: Learner, rebuilt: Rebuilder) -> list[dict[str, float]]:
    """The features of each candidate by name, as the model read them."""
    context = decision.context
    if isinstance(context, Encoded):
        group = rebuilt.group
        found = group.table if group is not None and group.table is not None else vectorizer_of(learner)
        if found is None:
            raise Impossible("the log holds records and its learner does not read records", "export it as ndjson")
        columns = found.planned(context)[1]
        names = dict(zip(columns.tolist(), context.names, strict=True)) | dict(found.named_columns())
        starts, indices, values = context.with_columns(columns)
        every = [names.get(column, f"column {column}") for column in indices.tolist()]
        return [
            dict(zip(every[first:last], values[first:last].tolist(), strict=True))
            for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
    known = rebuilt.blueprint.names if rebuilt.blueprint is not None else None
    rows = context.items
    named = known or [f"f{column + 1}" for column in range(rows.shape[1])]
    return [{name: value for name, value in zip(named, row.tolist(), strict=True) if value} for row in rows]


DSJSON = Format("dsjson", "answered choices by reward, for Vowpal Wabbit", write_dsjson)


# NDJSON: one event per line, as ``GET …/log`` tells them; enough to rebuild the weights bit for bit.


def lines(recording: LogSource, span: Span) -> Iterator[bytes]:
    """The wanted events, each with the end of its line."""
    return (recording.text(event).rstrip(b"\n") + b"\n" for event in parse_span(recording, span))


def write_ndjson(recording: LogSource, span: Span, path: Path) -> int:
    """Write one JSON line per event."""
    count = 0
    with path.open("wb") as file:
        for line in lines(recording, span):
            file.write(line)
            count += 1
    return count


NDJSON = Format("ndjson", "every event in full, one per line", write_ndjson)


# Events as rows of a table: what people look at, each in a column of its own.

#: What every reply has, and columns of their own say.
_COMMON = ("decision", "model", "shard", "model_version", "explored", "propensity", "expires_at")
COLUMNS = (
    "seq",
    "type",
    "at",
    "decision",
    "key",
    "model_version",
    "explored",
    "propensity",
    "expires_at",
    "answer",
    "candidates",
    "feedback",
    "status",
    "token_id",
)


def columns(recording: LogSource) -> list[str]:
    """The columns of a log; the shard is one where the model has several."""
    return [*(["shard"] if recording.sharded else []), *COLUMNS]


def row(event: EventLine) -> dict[str, Any]:
    """An event as a flat row. Values without a plain form are JSON text."""
    reply = event.reply
    answer = {name: value for name, value in reply.items() if name not in _COMMON}
    version = event.model_version if event.model_version is not None else reply.get("model_version")
    return {
        **({"shard": event.shard} if event.shard is not None else {}),
        "seq": event.seq,
        "type": event.type,
        "at": event.at,
        "decision": event.decision,
        "key": event.key,
        "model_version": version,
        "explored": reply.get("explored"),
        "propensity": reply.get("propensity"),
        "expires_at": reply.get("expires_at"),
        "answer": _json(answer),
        "candidates": _json(event.ids),
        "feedback": _json(event.feedback),
        "status": event.status,
        "token_id": event.token_id,
    }


def rows(recording: LogSource, span: Span) -> Iterator[tuple[EventLine, dict[str, Any]]]:
    """The wanted events, each with its row."""
    return ((event, row(event)) for event in parse_span(recording, span))


def _json(value: Any) -> str | None:
    return msgspec.json.encode(value).decode() if value else None


# Parquet: the same rows, and each event in full next to them, so that a log can be played again from the file.

#: Number of events that are held at once, and how many bytes of them at most.
GROUP, GROUP_BYTES = 10_000, 64 << 20


def write_parquet(recording: LogSource, span: Span, path: Path) -> int:
    """The columns of `rows`, typed ones for replays, and ``line``, the event as NDJSON says it; in groups of rows."""
    arrow, parquet = _arrow()
    whole, real, flag, text = arrow.int64(), arrow.float64(), arrow.bool_(), arrow.string()
    kinds = {"shard": whole, "seq": whole, "model_version": whole, "propensity": real, "explored": flag}
    typed = [(name, text if name.startswith("learner") else arrow.binary()) for name in TYPED]
    plain = [(name, kinds.get(name, text)) for name in columns(recording)]
    schema = arrow.schema([*plain, *typed, ("line", arrow.binary())])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        held: list[dict[str, Any]] = []
        size = 0
        for event, found in rows(recording, span):
            found |= typed_values(event)
            found["line"] = recording.text(event)
            held.append(found)
            size += len(found["line"])
            if len(held) >= GROUP or size >= GROUP_BYTES:
                file.write_table(arrow.Table.from_pylist(held, schema))
                count, held, size = count + len(held), [], 0
        if held or not count:
            file.write_table(arrow.Table.from_pylist(held, schema))
    return count + len(held)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("Parquet needs pyarrow", 'pip install "smidgen[parquet]"') from error
    return pyarrow, pyarrow.parquet


PARQUET = Format(
    "parquet", "the rows of csv and each event in full, compressed; smidgen replay reads it", write_parquet
)


# CSV: one event per line of a table, for spreadsheets and data frames.


def write_csv(recording: LogSource, span: Span, path: Path) -> int:
    """The columns of `rows`; a cell that would be a formula to a spreadsheet is quoted by an apostrophe."""
    count = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns(recording))
        table.writeheader()
        for _, found in rows(recording, span):
            table.writerow({name: _harmless(value) for name, value in found.items()})
            count += 1
    return count


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


CSV = Format("csv", "one event per row; answers and feedback as JSON in their cells", write_csv)
