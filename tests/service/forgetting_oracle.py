"""Logs without one person, computed the slow and plain way, from exported lines alone.

Every log is learnt line by line by what replays an exported log (`Rebuilder`), without the person's lines. What a key
begins with, what a copy takes over, and which numbers a record can be said to lack is asked of that at its line.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.features import Encoded, Vectorizer
from smidgen.service.engine.log_sources import LogSource
from smidgen.service.engine.rebuild import Rebuilder
from smidgen.service.engine.replay import UndoEvent, UndoneVersions
from smidgen.service.log.codec import EventLine, parse
from smidgen.service.log.events import DECIDED
from smidgen.service.loops.evaluator import TrainingSignal

LogLine = dict[str, Any]
REWINDS = ("retracted", "rolled_back")


class Lines(LogSource):
    """Lines that were said so far."""

    name = "what was left"

    def __init__(self) -> None:
        self.said: list[EventLine] = []
        self._made: dict[str, EventLine] = {}

    def add(self, found: LogLine) -> EventLine:
        """Say one more."""
        line = parse(msgspec.json.encode(found), "a line")
        self.said.append(line)
        if line.type == "decision" and line.decision is not None:
            self._made[line.decision] = line
        return line

    def lines(self) -> Iterator[EventLine]:
        """All of them."""
        yield from self.said

    def decision(self, id: str) -> EventLine | None:
        """One that was made."""
        return self._made.get(id)

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Versions that were undone so far."""
        found = [line for line in self.said if line.type in REWINDS]
        return UndoneVersions([UndoEvent(e.type, e.model_version or 0, e.version, e.columns == "kept") for e in found])

    def count(self) -> int:
        """Number of lines."""
        return len(self.said)


class Fold:
    """The learners of a log, as they were after each line."""

    def __init__(self) -> None:
        self._lines = Lines()
        self.now = Rebuilder(self._lines)

    def take(self, found: LogLine) -> None:
        """Take a line; one that takes back lets all be learnt again."""
        line = self._lines.add(found)
        if line.type not in REWINDS:
            self.now.apply(line)
            return
        self.now = Rebuilder(self._lines)
        for each in self._lines.lines():
            self.now.apply(each)

    def has_begun(self, key: str) -> bool:
        """True if a line gives the key's start and was not rolled back."""
        for line in self._lines.said:
            if line.key == key and line.type in ("decision", "taught", "imported"):
                made = line.reply["model_version"] if line.type == "decision" else (line.model_version or 1) - 1
                if not self.now.undone.restarts_key(made):
                    return True
        return False

    @property
    def table(self) -> Vectorizer | None:
        """The names that are known."""
        return self.now.group.table if self.now.group is not None else None


class LeftOut:
    """All logs without a person.

    Parameters
    ----------
    logs
        The lines of all shards, as they were.
    key
        Who is left out.
    origins
        Of shards whose lines do not say it: from which shard, and up to which line, they took something over.
    """

    def __init__(
        self,
        logs: Mapping[int, Sequence[LogLine]],
        key: str | None,
        origins: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self._logs, self._key = logs, key
        self._origins = origins or {}
        self._folds: dict[tuple[int, int], tuple[Fold, list[LogLine]]] = {}

    def of(self, shard: int, upto: int | None = None) -> tuple[Fold, list[LogLine]]:
        """Fold of a log up to a line, and its contents then."""
        last = len(self._logs[shard]) if upto is None else upto
        if (shard, last) not in self._folds:
            left, whole, said = Fold(), Fold(), list[LogLine]()
            for line in self._logs[shard][:last]:
                if line["key"] is None or line["key"] != self._key:
                    said.append(self._changed(line, left, whole, self._origins.get(shard)))
                    left.take(said[-1])
                whole.take(line)
            self._folds[shard, last] = left, said
        return self._folds[shard, last]

    def _changed(self, line: LogLine, left: Fold, whole: Fold, origin: tuple[int, int] | None) -> LogLine:
        if line["type"] in ("imported", "promoted") and (of := line.get("of", origin)) is not None:
            return self._brought(line, self.of(*of)[0])
        line = self._without(line, left, whole)
        key, now = line["key"], left.now
        begins = line["type"] == "decision" or (line["type"] == "taught" and line["decision"] is None)
        origin = now._origin
        if not begins or key is None or origin is None or now.blueprint is None:
            return line
        can = origin.shared_start is not None and now.blueprint.shared_start is not None and now.group is not None
        if not can or left.has_begun(key) or now.learner(key).rounds:
            return line
        start = now.group.start(now.learner(key)) if now.group is not None else None
        said = None if start is None else base64.b64encode(start).decode()
        if line["type"] == "taught":
            return _with(line, start=said)
        shared = _with(line.get("shared") or {}, start=said)
        return _with(line, shared=shared or None)

    def _brought(self, line: LogLine, fold: Fold) -> LogLine:
        if line.get("group") is not None:
            assert fold.now.group is not None
            return line | {"group": base64.b64encode(fold.now.group.to_bytes()).decode()}
        if line["key"] is None:
            return line
        state = np.frombuffer(fold.now.learner(line["key"]).to_bytes(), np.uint8)
        return line | {"learn": serialization.pack({"state": state} if line["type"] == "promoted" else state)}

    # Features that say that a number is absent

    def _without(self, line: LogLine, left: Fold, whole: Fold) -> LogLine:
        if left.table is None or whole.table is None or self._key is None:
            return line
        private = _numbers(whole.table) - _numbers(left.table)
        together = {column for column, name in whole.table.named_columns() if name.endswith(" (share a column)")}
        called = {i: name for i, name in enumerate(whole.table.names) if i not in together}
        for i, names in _said_by(line).items():  # names that are first known with this line
            if i not in together and not called.get(i) and len(names) == 1:
                called[i] = next(iter(names))

        def goes(name: str) -> bool:
            return any(f"{path} (missing)" in name.split(" × ") for path in private)

        def cut(e: Encoded) -> tuple[Encoded, list[bool]]:
            gone = [goes(name) for name in e.names]
            rows = np.repeat(np.arange(len(e)), np.diff(e.starts)).tolist()
            every = zip(rows, e.indices.tolist(), e.values.tolist(), strict=True)
            stay = set(e.forgotten.tolist())  # columns that other names share, which the record may hold
            entries = [
                (row, column, value)
                for row, column, value in every
                if column in stay or not goes(called.get(column, ""))
            ]
            place = {old: new for new, old in enumerate(i for i, out in enumerate(gone) if not out)}
            new = [i for i, name in enumerate(e.new_names.tolist()) if not gone[name]]
            fields = e.to_record() | {
                "starts": np.array([sum(r < row for r, _, _ in entries) for row in range(len(e) + 1)], np.int64),
                "indices": np.array([column for _, column, _ in entries], np.uint32),
                "values": np.array([value for _, _, value in entries], np.float64),
                "names": tuple(name for name, out in zip(e.names, gone, strict=True) if not out),
                "new_rows": e.new_rows[new],
                "new_names": np.array([place[e.new_names[i]] for i in new], np.int64),
                "new_values": e.new_values[new],
                "new_numbers": np.array([place[i] for i in e.new_numbers.tolist()], np.int64),
                "new_terms": np.array([place[i] for i in e.new_terms.tolist()], np.int64),
            }
            if len(e.direction):  # of vectors, whose names never go
                fields["direction_names"] = np.array([place.get(i, -1) for i in e.direction_names.tolist()], np.int64)
            return Encoded.from_record(fields), gone

        if line["type"] in DECIDED:
            made = Decision.from_json(msgspec.json.encode(line["record"]))
            if isinstance(made.context, Encoded):
                context, self._gone_of(line["decision"])[:] = cut(made.context)
                made = msgspec.structs.replace(made, context=context)
                shared = dict(line.get("shared") or {})
                names = [each for each in shared.get("names", ()) if not goes(each[1])]
                line = line | {"record": msgspec.json.decode(made.to_json())}
                line = _with(line, shared=_with(shared, names=names or None) or None)
        elif line["type"] in ("feedback", "expired", "taught") and line.get("learn") is not None:
            learn, places = serialization.unpack(line["learn"]), line.get("places")
            if isinstance(learn, TrainingSignal) and learn.is_standalone and isinstance(learn.context, Encoded):
                context, gone = cut(learn.context)
                learn = TrainingSignal(learn.answer, context, learn.shown, learn.chance)
                places = _placed(places, gone)
            elif isinstance(learn, list) and line["type"] == "taught":
                cuts = [cut(context) for context, _ in learn]
                learn = [(context, answer) for (context, _), (_, answer) in zip(cuts, learn, strict=True)]
                places = [_placed(each, gone) for each, (_, gone) in zip(places, cuts, strict=True)]
            elif not (isinstance(learn, TrainingSignal) and learn.is_standalone) and line.get("row") is not None:
                context, gone = cut(serialization.unpack(line["row"]))
                line, places = line | {"row": serialization.pack(context)}, _placed(places, gone)
            elif not (isinstance(learn, TrainingSignal) and learn.is_standalone):
                places = _placed(places, self._gone_of(line["decision"]))
            if line.get("names"):
                kept = [each for each in line["names"] if not goes(each[1])]
                line = line | {"names": kept} if kept or line["type"] == "taught" else _with(line, names=None)
            line = line | {"learn": serialization.pack(learn)} | ({} if "places" not in line else {"places": places})
        return line

    def _gone_of(self, decision: str) -> list[bool]:
        gone: dict[str, list[bool]] = self.__dict__.setdefault("gone", {})
        return gone.setdefault(decision, [])


def _numbers(table: Vectorizer) -> set[str]:
    return {name for _, name, slot in table.known() if slot >= 0}


def _said_by(line: LogLine) -> dict[int, set[str]]:
    """The names that a line says, by column."""
    found: dict[int, set[str]] = {}
    for i, name, _ in [*((line.get("shared") or {}).get("names") or ()), *(line.get("names") or ())]:
        found.setdefault(i, set()).add(name)
    return found


def _placed(places: Any, gone: list[bool]) -> Any:
    if places is None:
        return None
    return [[place for place, out in zip(places[0], gone, strict=True) if not out], places[1]]


def _with(fields: LogLine, **changed: Any) -> LogLine:
    """A copy with other fields; those that are None are removed."""
    both = {**fields, **changed}
    return {name: value for name, value in both.items() if name not in changed or value is not None}
