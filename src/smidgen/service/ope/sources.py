"""Logs from files: NDJSON, Parquet, dsjson."""

from __future__ import annotations

import heapq
import os
import zlib
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import FOREIGN, DataMissing, InvalidRecord, MissingExtra, SmidgenError
from smidgen.learners import Feedback, Loop
from smidgen.learners.saving import read_compact_many, write_compact
from smidgen.serialization import UNREADABLE, decode_many
from smidgen.service.engine.blueprint import Blueprint, enforce_limit
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import LazyReply, LogSource, source_of
from smidgen.service.engine.registry import resolved_settings
from smidgen.service.engine.replay import UndoEvent, UndoneVersions
from smidgen.service.engine.teach import read_dsjson_line
from smidgen.service.log.codec import EventLine, parse
from smidgen.service.log.events import KEPT, REWINDS
from smidgen.service.schemas import ModelBody
from smidgen.service.storage.address import Place
from smidgen.service.storage.formats import LOG as FORMAT

# A file of a log: its lines one after the other, and a line at its place. This one is NDJSON.


class LogFile(ABC):
    """A file of a log.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The place of each line, and the line; places fit into 48 bits."""

    @abstractmethod
    def line(self, place: int) -> bytes:
        """The line at a place."""

    def events(self) -> Iterator[tuple[int, EventLine]]:
        """The place of each event, and the event."""
        for count, (place, text) in enumerate(self.lines(), 1):
            yield place, parse(text, f"line {count} of {self.path}")

    @abstractmethod
    def count(self) -> int:
        """Number of lines."""

    def holding(self, *words: bytes) -> Iterator[bytes]:
        """The lines that have one of these words in them, and perhaps others."""
        return (text for _, text in self.lines() if any(word in text for word in words))

    def close(self) -> None:
        """Let go of what is open."""
        return


class NdjsonLog(LogFile):
    """A file with a line of JSON for each event."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file: BinaryIO | None = None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The place of each line, and the line; empty ones are passed over."""
        place = 0
        with self.path.open("rb") as file:
            for text in file:
                if text.strip():
                    yield place, text
                place += len(text)

    def line(self, place: int) -> bytes:
        """The line that begins at this byte."""
        if self._file is None:
            self._file = self.path.open("rb")
        self._file.seek(place)
        return self._file.readline()

    def count(self) -> int:
        """Number of lines in the file."""
        with self.path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


# A Parquet file of a log: read a group of rows at a time, the latest groups kept for those who look back.

#: The column that holds each event in full.
LINE = "line"
#: Columns by which most events are read without their lines: of a decision the record, as a learner of this kind and
#: with these settings writes it; of feedback the learner's input.
TYPED = ("record", "learner_kind", "learner_settings", "learn")
#: What else these events need, and how many are decoded together.
_READ = ("seq", "type", "at", "decision", "key", "model_version", "answer", "candidates", "feedback", "status", *TYPED)
_DECODED = 1000
#: Fields that decisions of one key do not share with others, and that a replay does not read.
_ANSWER = msgspec.json.Decoder(dict[str, Any])
_OWN_FIELDS = frozenset({"why", "asked", "request", "unit"})


def typed_values(event: EventLine) -> dict[str, Any]:
    """Return the values of the typed columns for an event; nothing if only its line says all of it."""
    if event.type == "decision" and event.beside is None and _OWN_FIELDS.issuperset(event.shared or ()):
        decision = event.record_bytes()
        return dict(zip(TYPED, (write_compact(decision), decision.kind, decision.settings, None), strict=True))
    if event.is_learnt and event.places is None and event.row is None and not event.names:
        return {"learn": serialization.encode(event.learner_input())}
    return {}


#: Bytes of lines that are cached, of the groups read last.
KEPT_BYTES = 128 << 20


class ParquetLog(LogFile):
    """A Parquet file as ``smidgen log export --format parquet`` writes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = open_parquet(path)
        if LINE not in self._file.schema_arrow.names:
            raise InvalidRecord(
                f"{path} has no column {LINE!r}",
                "give a file written by smidgen log export --format parquet, or a table",
            )
        about = self._file.metadata
        self._sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._bytes = 0

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The row of each line, and the line."""
        row = 0
        for group, size in enumerate(self._sizes):
            for text in self._group(group):
                yield row, text.as_py()
                row += 1
            if row != sum(self._sizes[: group + 1]):
                raise InvalidRecord(
                    f"{self.path} ends after {row} rows where {size} more are expected", "export it again"
                )

    def events(self) -> Iterator[tuple[int, EventLine]]:
        """The row of each event, and the event: from typed columns where the file has them."""
        names = self._file.schema_arrow.names
        if not set(_READ).issubset(names):
            yield from super().events()
            return
        row, columns = 0, [*_READ, *(["shard"] if "shard" in names else [])]
        for group in range(len(self._sizes)):
            table = self._file.read_row_group(group, columns=columns, use_threads=False)
            for start in range(0, table.num_rows, _DECODED):
                for event in _typed_events(table.slice(start, _DECODED).to_pydict()):
                    yield row, event or parse(self.line(row), f"line {row + 1} of {self.path}")
                    row += 1

    def line(self, place: int) -> bytes:
        """The line of a row."""
        group = 0
        while place >= self._sizes[group]:
            place -= self._sizes[group]
            group += 1
        text: bytes = self._group(group)[place].as_py()
        return text

    def count(self) -> int:
        """Number of rows."""
        return sum(self._sizes)

    def holding(self, *words: bytes) -> Iterator[bytes]:
        """The lines whose type is one of these words; of other files of events, those that hold one."""
        names = self._file.schema_arrow.names
        wanted = {word.decode() for word in words}
        for group in range(len(self._sizes)):
            if "type" in names:
                types = self._file.read_row_group(group, columns=["type"])["type"].unique().to_pylist()
                if not wanted & set(types):
                    continue
            for text in self._group(group):
                if any(word in text.as_py() for word in words):
                    yield text.as_py()

    def close(self) -> None:
        """Close the file."""
        self._kept.clear()
        self._file.close()

    def _group(self, group: int) -> Any:
        """The lines of a group of rows."""
        if group in self._kept:
            self._kept.move_to_end(group)
            return self._kept[group]
        column = self._file.read_row_group(group, columns=[LINE], use_threads=False)[LINE].combine_chunks()
        self._kept[group] = column
        self._bytes += column.nbytes
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return column


def _typed_events(columns: dict[str, list[Any]]) -> Iterator[EventLine | None]:
    """Read events from typed columns; None for those that only their lines tell."""
    records, made = columns["record"], dict[int, Decision]()
    for who in {each for each in zip(columns["learner_kind"], columns["learner_settings"], strict=True) if each[0]}:
        kind, settings = who
        own = [
            place for place, each in enumerate(records) if each is not None and columns["learner_kind"][place] == kind
        ]
        own = [place for place in own if columns["learner_settings"][place] == settings]
        made.update(zip(own, read_compact_many([records[place] for place in own], kind, settings), strict=True))
    learned = [place for place, each in enumerate(columns["learn"]) if each is not None]
    signals = dict(zip(learned, decode_many([columns["learn"][place] for place in learned]), strict=True))
    shards = columns.get("shard") or [None] * len(records)
    for place, (seq, type, at, id, key) in enumerate(
        zip(*(columns[name] for name in ("seq", "type", "at", "decision", "key")), strict=True)
    ):
        event: EventLine | None = None
        if (decision := made.get(place)) is not None:
            event = EventLine(
                seq=seq,
                type=type,
                written_at=at,
                decision=id,
                key=key,
                shard=shards[place],
                number=decision.number,
                reply=LazyReply(partial(_ANSWER.decode, columns["answer"][place] or "{}")),
                ids=msgspec.json.decode(columns["candidates"][place] or "[]"),
            )
            event.__dict__["its decision"] = decision
        elif place in signals:
            event = EventLine(
                seq=seq,
                type=type,
                written_at=at,
                decision=id,
                key=key,
                shard=shards[place],
                feedback=msgspec.json.decode(columns["feedback"][place] or "{}"),
                status=columns["status"][place],
                model_version=columns["model_version"][place],
            )
            event.__dict__["its feedback"] = signals[place]
        yield event


def open_parquet(path: Path) -> Any:
    """A Parquet file, open."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("Parquet needs pyarrow", 'pip install "smidgen[parquet]"') from error
    try:
        return pyarrow.parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InvalidRecord(f"{path} is not a Parquet file: {error}", "export it again") from error


# Where each decision stands in a long log: sixteen bytes for each, however long its id.

#: Entries buffered before they are sorted in.
FRESH = 1 << 16

Run = tuple[NDArray[np.uint64], NDArray[np.uint64]]


class IdIndex:
    """A map from ids to whole numbers, which only grows.

    Ids are known by 64 bits of their hash, so a look-up may give more than one place: the reader sees which is right.
    Sorted runs are merged when they are alike in size, so that there are never many.

    Examples
    --------
    >>> from smidgen.service.ope.sources import IdIndex
    >>> places = IdIndex()
    >>> for number in range(100_000):
    ...     places.put(f"d{number}", number)
    >>> list(places.find("d70000")), list(places.find("nobody"))
    ([70000], [])
    """

    def __init__(self) -> None:
        self._fresh: dict[int, list[int]] = {}
        self._count = 0
        self._runs: list[Run] = []

    def put(self, id: str, place: int) -> None:
        """Enter an id."""
        self._fresh.setdefault(_hash(id), []).append(place)
        self._count += 1
        if self._count >= FRESH:
            self._settle()

    def find(self, id: str) -> Iterator[int]:
        """The places where it may be, the latest first."""
        key = _hash(id)
        yield from reversed(self._fresh.get(key, []))
        for hashes, places in reversed(self._runs):
            first, last = (
                np.searchsorted(hashes, np.uint64(key), "left"),
                np.searchsorted(hashes, np.uint64(key), "right"),
            )
            yield from (int(place) for place in places[first:last][::-1])

    def _settle(self) -> None:
        """Sort the fresh ones into a run, and merge runs of like size."""
        pairs = [(key, place) for key, places in self._fresh.items() for place in places]
        run = _sorted(
            np.array([pair[0] for pair in pairs], np.uint64), np.array([pair[1] for pair in pairs], np.uint64)
        )
        while self._runs and len(self._runs[-1][0]) <= len(run[0]):
            older = self._runs.pop()
            run = _sorted(np.concatenate([older[0], run[0]]), np.concatenate([older[1], run[1]]))
        self._runs.append(run)
        self._fresh, self._count = {}, 0


def _sorted(hashes: NDArray[np.uint64], places: NDArray[np.uint64]) -> Run:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], places[order]


def _hash(id: str) -> int:
    return int.from_bytes(blake2b(id.encode(), digest_size=8).digest(), "little")


# A log in one file or several, in bounded memory, however long it is.

_FILE = 48  # the bits of a place within its file
_REWINDS = tuple(name.encode() for name in REWINDS)


class FilesSource(LogSource):
    """A log that was exported, as a whole or in pieces that follow each other.

    Decisions are looked up where they stand, so only sixteen bytes of each are kept.

    Parameters
    ----------
    name
        What it is called.
    files
        In any order: the numbers of their events say how they follow each other.
    """

    def __init__(self, name: str, files: Sequence[LogFile]) -> None:
        self.name = name
        self._files = _in_order(files) if len(files) > 1 else list(files)
        self._places = IdIndex()

    def lines(self) -> Iterator[EventLine]:
        """The events in order."""
        last: dict[int | None, int] = {}
        for number, file in enumerate(self._files):
            begun = set[int | None]()
            for place, event in file.events():
                before = last.get(event.shard, 0)
                if event.shard not in begun and number and event.seq != before + 1:
                    raise InvalidRecord(
                        f"{file.path} begins with event {event.seq}, and the file before it ends with event {before}",
                        "give all files of the log, each once",
                    )
                begun.add(event.shard)
                last[event.shard] = event.seq
                if event.type == "decision" and event.decision is not None:
                    self._places.put(event.decision, (number << _FILE) | place)
                event.__dict__["its place"] = number, place
                yield event

    def text(self, event: EventLine) -> bytes:
        """An event of `lines` as the log's own line of JSON."""
        number, place = event.__dict__["its place"]
        text: bytes = self._files[number].line(place)
        return text.rstrip(b"\n")

    def decision(self, id: str) -> EventLine | None:
        """An earlier decision's event."""
        for found in self._places.find(id):
            number, place = found >> _FILE, found & ((1 << _FILE) - 1)
            file = self._files[number]
            event = parse(file.line(place), f"decision {id} of {file.path}")
            if event.decision == id:
                return event
        return None

    def count(self) -> int:
        """Number of events."""
        return sum(file.count() for file in self._files)

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """All retracted events of the log."""
        rewinds: list[UndoEvent] = []
        for file in self._files:
            for text in file.holding(*_REWINDS):
                event = parse(text, f"a line of {file.path}")
                if event.type in REWINDS and event.model_version is not None and event.shard == shard:
                    rewinds.append(UndoEvent(event.type, event.model_version, event.version, event.columns == KEPT))
        return UndoneVersions(rewinds)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _in_order(files: Sequence[LogFile]) -> list[LogFile]:
    """Files by the number of their first event, or, if it is that of a shard, by its time; empty ones are left out."""
    begun: list[tuple[str, int, Path, LogFile]] = []
    for file in files:
        first = next(file.lines(), None)
        if first is not None:
            event = parse(first[1], f"line 1 of {file.path}")
            begun.append(("" if event.shard is None else event.at, event.seq, file.path, file))
    return [file for *_, file in sorted(begun, key=lambda each: each[:3])]


# What people give to be replayed: a file, a folder of files, or a model's name.

#: Files of a folder that are read as a log.
ENDINGS = (".parquet", ".ndjson", ".jsonl", ".dsjson", ".json")


def files_of(path: Path) -> list[Path]:
    """The files of a log: one, or those of a folder; none if there is nothing of that name."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(each for each in path.iterdir() if each.suffix in ENDINGS and each.is_file())
    return []


def kind_of(path: Path) -> str:
    """Format of a file: ``log``, ``dsjson`` or ``table``."""
    if _is_parquet(path):
        file = open_parquet(path)
        with file:
            return "log" if LINE in file.schema_arrow.names else "table"
    with path.open("rb") as content:
        first = next((line for line in content if line.strip()), b"")
    try:
        fields = msgspec.json.decode(first) if first else {}
    except UNREADABLE:
        return "log"  # whose reader says what is wrong with it
    return "dsjson" if isinstance(fields, dict) and "seq" not in fields and "c" in fields else "log"


@contextmanager
def open_log(name: str, data: Place) -> Iterator[LogSource]:
    """The log of that name: files if there are any, else that of a model.

    Within the block learners are no larger than the service allows, and whatever comes of values of the wrong form in
    files is an `InvalidRecord`.
    """
    with enforce_limit():
        if not (files := files_of(Path(name))):
            if "/" in name or os.sep in name:  # names of models have none
                raise DataMissing(
                    f"there is no log {name}", "give a file or folder of an exported log, or a model's name"
                )
            with Inspection(data) as seen:
                yield source_of(seen, seen.model(name))
            return
        try:
            with _open_files(name, files) as recording:
                yield recording
        except SmidgenError:
            raise
        except FOREIGN as error:
            raise InvalidRecord(
                f"{name} cannot be replayed: {error!r}", "give a log that smidgen log export wrote"
            ) from error


@contextmanager
def _open_files(name: str, files: list[Path]) -> Iterator[LogSource]:
    """The log in these files."""
    kinds = {kind_of(each) for each in files}
    if kinds == {"dsjson"}:
        yield DsjsonSource(name, files)
        return
    if kinds != {"log"}:
        raise InvalidRecord(
            f"{name} holds files of several kinds: {' and '.join(sorted(kinds))}", "give files of one kind"
        )
    recording = FilesSource(name, [_texts(each) for each in files])
    try:
        yield recording
    finally:
        recording.close()


def _texts(path: Path) -> LogFile:
    return ParquetLog(path) if _is_parquet(path) else NdjsonLog(path)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


# dsjson, the logs of Vowpal Wabbit, as a log of ours: each line is a decision and what came of it.

#: Notes about the log's own learner.
OTHERS = (
    "the log was written by another system: its own policy is in the figure of what happened, not among the learners"
)


class _Head(msgspec.Struct):
    """Reader of the label and the reward of a line."""

    cost: Any = msgspec.field(default=None, name="_label_cost")
    skip: Any = msgspec.field(default=None, name="_skipLearn")

    @property
    def labelled(self) -> bool:
        """True if the decision has feedback."""
        return isinstance(self.cost, int | float) and not isinstance(self.cost, bool) and self.skip is not True


_heads = msgspec.json.Decoder(_Head)


class DsjsonSource(LogSource):
    """A dsjson log as the log of a choose model by reward that takes records.

    A line becomes a decision, with the probabilities of the log, and its reward right after it; rewards are the
    negatives of costs, and their range is that of the log, 0 and 1 included. Lines without a label are passed over.

    Parameters
    ----------
    name
        What it is called.
    paths
        The files, in order.
    """

    ours = False

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name = name
        self._files = [NdjsonLog(path) for path in paths]
        self._labelled, low, high = 0, 0.0, 1.0
        for _, head in self._heads():
            self._labelled += 1
            low, high = min(low, -head.cost), max(high, -head.cost)
        if not np.isfinite([low, high]).all():
            raise InvalidRecord(
                f"{name} has costs that are not finite", "remove these events, or fix their _label_cost"
            )
        body = ModelBody(loop=Loop.CHOOSE.value, feedback=Feedback.REWARD.value, reward_range=(low, high))
        self._blueprint = Blueprint(body)
        self._reader = self._blueprint.learner(None)
        self.passed_over = sum(file.count() for file in self._files) - self._labelled

    def lines(self) -> Iterator[EventLine]:
        """Settings; then, of each line with a label, the decision and its reward."""
        body = self._blueprint.body
        yield EventLine(seq=1, type="created", format=FORMAT, model=body, resolved=resolved_settings(self._blueprint))
        version = 0
        for text, _ in self._heads():
            version += 1
            place = f"line {version} with a label of {self.name}"
            given = read_dsjson_line(text, place)
            if given is None:  # _heads has seen to that
                continue
            reward = given.answer["reward"]
            made, ids = self._made(text, given, place)
            id = f"line {version}"
            decision = EventLine(seq=2 * version, type="decision", decision=id, number=version, ids=list(ids))
            decision.__dict__["its decision"] = made
            yield decision
            line = EventLine(seq=2 * version + 1, type="feedback", decision=id, status="learnt", model_version=version)
            line.feedback = {"reward": reward}
            line.__dict__["its feedback"] = self._blueprint.loop.parse_reward(reward).learn
            yield line

    def decision(self, id: str) -> EventLine | None:
        """None: every answer follows its decision."""
        return None

    def undone_versions(self, shard: int | None = None) -> UndoneVersions:
        """Empty: such logs have no rollbacks."""
        return UndoneVersions()

    def count(self) -> int:
        """Two events of each line with a label."""
        return 1 + 2 * self._labelled

    def _heads(self) -> Iterator[tuple[bytes, _Head]]:
        for file in self._files:
            for place, text in file.lines():
                try:
                    head = _heads.decode(text)
                except UNREADABLE as error:
                    raise InvalidRecord(f"{file.path}, byte {place}: {error}", "give one event per line") from error
                if head.labelled:
                    yield text, head

    def _made(self, text: bytes, given: Any, place: str) -> tuple[Decision, Sequence[Any]]:
        """The decision of a line, as our learner would have recorded it."""
        context, ids = self._blueprint.loop.context(given)
        fields = msgspec.json.decode(text)
        made = self._reader.decide(context)
        shares = _shares(fields, len(ids))
        shown = int(fields["_label_Action"]) - 1
        p = fields.get("_label_probability", None if shares is None else float(shares[shown]))
        if p is not None and not (isinstance(p, int | float) and 0.0 < p <= 1.0):
            raise InvalidRecord(f"{place}: _label_probability is {p!r}", "give a number above 0, at most 1")
        return (
            msgspec.structs.replace(
                made,
                action=shown,
                greedy=shown if shares is None else int(shares.argmax()),
                explored=False,
                propensity=None if p is None else float(p),
                propensities=shares,
            ),
            ids,
        )


def _shares(fields: dict[str, Any], count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """Probabilities of all candidates, in their order, if the line has them."""
    order, chances = fields.get("a"), fields.get("p")
    if not isinstance(order, list) or not isinstance(chances, list) or sorted(order) != list(range(1, count + 1)):
        return None
    if len(chances) != count or not all(isinstance(p, int | float) and 0.0 <= p <= 1.0 for p in chances):
        return None
    found = np.zeros(count)
    found[np.array(order) - 1] = chances
    return found


# Observations on their way from those who look at some keys to the one who counts, in the order of the log.

#: Observations packed together.
BLOCK = 10_000

#: The place of an event in the log, who observed, what, and the values.
Observation = tuple[int, int, str, list[Any]]

_packer, _unpacker = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[Observation])


class Observations:
    """Observations, packed as they come.

    Attributes
    ----------
    seq
        How many events were read before the one that is being read.
    """

    def __init__(self) -> None:
        self.seq = 0
        self._open: list[Any] = []
        self._blocks: list[bytes] = []

    def add(self, who: int, what: str, values: Sequence[Any]) -> None:
        """Take down an observation."""
        self._open.append((self.seq, who, what, values))
        if len(self._open) >= BLOCK:
            self._pack()

    def blocks(self) -> list[bytes]:
        """All of it, in blocks."""
        self._pack()
        return self._blocks

    def _pack(self) -> None:
        if self._open:
            self._blocks.append(zlib.compress(_packer.encode(self._open), 1))
            self._open = []


def unpack_observations(blocks: Sequence[bytes]) -> Iterator[Observation]:
    """The observations of a tape, in order."""
    for block in blocks:
        yield from _unpacker.decode(zlib.decompress(block))


def merge_observations(tapes: Sequence[Sequence[bytes]]) -> Iterator[Observation]:
    """The observations of several tapes, in the order of the log; an event is on one tape only."""
    return heapq.merge(*(unpack_observations(blocks) for blocks in tapes), key=lambda each: each[0])
