"""Everything that the simulation uses of the service, in one place: no other module here imports it.

The clock, the random numbers, the event loop and the writer's thread are replaced, so that one thread plays all of
them in an order that a seed decides.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import queue
import random
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from unittest import mock

import msgspec
import numpy as np

from service import memory
from service.forgetting_oracle import LeftOut
from service.memory import CommittedTables, MemoryStore, shared
from service.memory import store as memory_store
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import Learner
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine import blueprint as blueprint_module
from smidgen.service.engine import decide as decide_module
from smidgen.service.engine import engine as engine_module
from smidgen.service.engine import feedback as feedback_module
from smidgen.service.engine import lifecycle, snapshot_writer
from smidgen.service.engine import retention as retention_module
from smidgen.service.engine import writer as writer_module
from smidgen.service.engine.description import count_open, summarize_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.learner_cache import LearnerCache
from smidgen.service.engine.lifecycle import from_log, keys_of, refold_without
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.rebuild import Rebuilder
from smidgen.service.engine.registry import ShardAccess
from smidgen.service.engine.replay import UndoneVersions
from smidgen.service.engine.retention import checkpoint_states, plan_checkpoint
from smidgen.service.engine.rollback import refold
from smidgen.service.engine.stories import story_of
from smidgen.service.engine.undo import Progress, UndoStack
from smidgen.service.engine.writer import Writer
from smidgen.service.errors import StorageFailed, Taken
from smidgen.service.log import events as events_module
from smidgen.service.log.events import DECIDED, Chain, Event, stamp
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import AmendBody, CopyBody, ModelBody
from smidgen.service.storage import crash_points, transitions
from smidgen.service.storage.protocol import Store, StoreReader
from smidgen.service.storage.records import DecisionRow
from smidgen.service.storage.sqlite import SQLiteStore
from smidgen.structures.slots import Layout

__all__ = [
    "CommittedTables",
    "Event",
    "Fault",
    "Killed",
    "PlayedEngine",
    "PlayedWriter",
    "SmidgenError",
    "StorageFailed",
    "Taken",
    "VirtualClock",
    "VirtualLoop",
    "stamp",
]

WINDOW = 100.0
#: How often a worker believes that it owns a shard, whether or not that is so.
TRUST = 0.6


class Killed(BaseException):
    """The process is gone: whatever was not committed is lost."""


class Fault(StorageFailed):
    """The disk refuses."""


class VirtualClock:
    """Seconds since 1970, and the processor time that commands seem to take."""

    def __init__(self, *, slow: bool = False) -> None:
        self.now = 1_000_000.0
        self._slow, self._used = slow, 0.0

    def __call__(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        """If commands are slow, the event loop leaves all of them to the thread."""
        self._used += 1.0 if self._slow else 0.0
        return self._used


class _SeededOs:
    """The module `os`, but for its random bytes."""

    def __init__(self, rng: random.Random) -> None:
        self.urandom = rng.randbytes

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


class _Warnings(logging.Handler):
    """Passes on what the service logs of errors that it did not expect."""

    def __init__(self, warned: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._warned = warned

    def emit(self, record: logging.LogRecord) -> None:
        given = record.args if isinstance(record.args, tuple) else ()
        errors = [each for each in given if isinstance(each, Exception)]
        if any(not isinstance(error, StorageFailed) for error in errors):
            self._warned(record.getMessage())


@contextmanager
def virtual(
    clock: VirtualClock, seed: int, passed: Callable[[str], None], warned: Callable[[str], None]
) -> Iterator[None]:
    """Run the service by a clock and random numbers of ours.

    ``passed`` is called at every crash point, ``warned`` with what the service logs of errors that it did not expect.
    """
    log, handler = logging.getLogger("smidgen.service"), _Warnings(warned)
    before = log.propagate, list(log.handlers)
    with ExitStack() as stack:
        for module in (writer_module, engine_module, shared, memory_store):
            stack.enter_context(mock.patch.object(module, "time", clock))
        stack.enter_context(mock.patch.object(events_module, "os", _SeededOs(random.Random(seed))))
        stack.enter_context(mock.patch.object(blueprint_module, "new_salt", return_value="copied"))
        stack.enter_context(mock.patch.object(snapshot_writer, "ThreadPoolExecutor", InPlace))
        crash_points.watch(passed)
        log.propagate, log.handlers = False, [handler]
        try:
            yield
        finally:
            log.propagate, log.handlers = before
            crash_points.watch(None)


# The event loop and the writer


class _Timer:
    """A callback that may be cancelled."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualLoop:
    """The part of an event loop that the writer needs."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._count = clock, itertools.count()
        self._ready: deque[Callable[[], None]] = deque()
        self._later: list[tuple[float, int, _Timer]] = []

    def call_soon(self, callback: Callable[..., None], *arguments: Any) -> None:
        self._ready.append(lambda: callback(*arguments))

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., None]) -> _Timer:
        timer = _Timer(callback)
        heapq.heappush(self._later, (self._clock.now + delay, next(self._count), timer))
        return timer

    def step(self) -> bool:
        """Run one callback that is ready; False if there is none."""
        while self._later and self._later[0][0] <= self._clock.now:
            timer = heapq.heappop(self._later)[2]
            if timer.callback is not None:
                self._ready.append(timer.callback)
        if not self._ready:
            return False
        self._ready.popleft()()
        return True


class InPlace:
    """In place of a pool of threads: everything is done in the one thread of the simulation."""

    def __init__(self, workers: int) -> None:
        self.map = map

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class PlayedWriter(Writer):
    """The writer, whose thread is played."""

    def play(self, loop: Any) -> None:
        """Begin to work on a virtual event loop."""
        self._loop = loop
        self._watch = loop.call_later(self._patience, self._maintain)

    def work(self) -> bool:
        """Do what the thread was handed over; False if that is nothing."""
        try:
            work = self._work.get_nowait()
        except queue.Empty:
            return False
        if work is not None:
            work()
        return True

    @property
    def busy(self) -> bool:
        return bool(self._queued) or self._busy

    def ask(self, commands: list[Callable[[], Any]], done: Callable[[Any, Exception | None], None], op: Any) -> None:
        """Enter commands that are committed together, as the HTTP layer does."""
        engine = self.engine
        if len(commands) > 1:
            self._enter(writer_module.Job(commands, True, done, about=op.about))
        elif op.kind == "decide" and op.args["bodies"]:
            key = op.args["bodies"][0].get("key")
            self.submit(commands[0], done, lambda: engine.is_hot_for_decide(op.args["model"], key), ())
        elif op.kind == "feedback":
            self.submit(commands[0], done, lambda: engine.is_hot_for_feedback(op.args["decision"]), op.about)
        else:
            self.submit(commands[0], done, None, op.about)


class PlayedEngine(Engine):
    """The engine, which keeps what its open batch did until that is committed."""

    def __init__(self, store: Store, committed: Callable[[PlayedEngine, list[Any]], None], **options: Any) -> None:
        self._reset()
        self._committed = committed
        self.committing = False
        self.fail_commit = False
        super().__init__(store, **options)
        self._belief = random.Random(0)
        store.trust(lambda shard: self._belief.random() < TRUST)

    def begin(self, wanted: set[int] | None = None) -> None:
        super().begin(wanted)
        self._reset()

    def try_begin(self) -> bool:
        self._reset()
        return super().try_begin()

    def _reset(self) -> None:
        self.journal: list[Any] = []
        self.captured: dict[int, list[Event]] = {}
        self.rows: dict[str, Any] = {}

    def capture(self, known: dict[int, int]) -> None:
        """Keep what the open batch has written so far, before it is rewritten."""
        self.captured = self.fresh(known)
        for events in self.captured.values():
            for event in events:
                if event.type in DECIDED and event.decision is not None:
                    self.rows.setdefault(event.decision, self.store.decision(event.decision))

    def fresh(self, known: dict[int, int]) -> dict[int, list[Event]]:
        """By shard, the events of the batch."""
        kept = {shard: events for shard, events in self.captured.items() if events}
        last = {**known, **{shard: events[-1].seq for shard, events in kept.items()}}
        found = new_events(self.store, self, last)
        return {shard: [*kept.get(shard, ()), *found.get(shard, ())] for shard in {*kept, *found}}

    def sweep(self, *arguments: Any, **options: Any) -> int:
        self.journal.append("sweep")
        return super().sweep(*arguments, **options)

    def commit(self) -> None:
        if self.fail_commit:
            self.fail_commit = False
            raise Fault("the disk refused a commit", "try again")
        self.committing, lasts = True, False
        try:
            super().commit()
            lasts = True
        except Killed as end:
            lasts = end.args == ("after-commit",)
            raise
        finally:
            self.committing = False
            if lasts:
                self._committed(self, self.journal)
                self._reset()

    def rollback(self) -> None:
        self._reset()
        super().rollback()


class Place:
    """Place of a history: memory, shared memory, or a folder."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.folder: Path | None = None
        self.shelf = Exchange() if kind == "shared" else CommittedTables()
        if kind == "sqlite":
            fast = Path("/dev/shm")
            self.folder = Path(tempfile.mkdtemp(dir=fast if fast.is_dir() else None)) / "data"

    def open(self) -> Store:
        if self.folder is not None:
            return SQLiteStore(self.folder, synchronous="OFF")
        if isinstance(self.shelf, Exchange):
            return SharedMemoryStore(self.shelf)
        return MemoryStore(self.shelf)

    def remove(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder.parent)

    def cold(self, clock: VirtualClock) -> Engine:
        """An engine that has nothing but the log, and base states: no snapshots."""
        if self.folder is None:
            tables = self.shelf.tables.fork()
            tables.states = {}
            return Engine(MemoryStore(CommittedTables(tables)), clock=clock)
        shutil.rmtree(self.folder / "snapshots", ignore_errors=True)
        return Engine(self.folder, clock=clock, synchronous="OFF")

    def check(self) -> list[str]:
        """Findings of ``smidgen fsck --deep``."""
        if self.folder is None:
            return []
        report = fsck(self.folder, deep=True)
        return [f"{each}" for each in report.findings]

    def content(self) -> Iterator[tuple[str, bytes]]:
        """All bytes that are kept, and where."""
        if self.folder is not None:
            for path in sorted(self.folder.rglob("*")):
                if path.is_file():
                    yield path.name, path.read_bytes()
            return
        tables = self.shelf.tables
        for shard, events in tables.events.items():
            for event in events:
                text = f"{event.decision} {event.key}".encode()
                yield f"event {event.seq} of shard {shard}", text + (event.body or b"")
        for (shard, key), found in tables.states.items():
            for state in found:
                yield f"a state of shard {shard}", f"{key} ".encode() + state.content
        for (shard, key), kept in tables.base_states.items():
            for base in kept:
                yield f"a base state of shard {shard}", f"{key} ".encode() + base.state
        for row in tables.decisions.values():
            yield "the table of decisions", row.id.encode()
        for shard, request in tables.requests:
            yield f"the requests of shard {shard}", request.encode()


def reference(clock: VirtualClock) -> Engine:
    """An engine that keeps everything in memory, and never stops."""
    return Engine(memory.MemoryStore(), clock=clock, snapshot_every=1 << 30, keyed_in_memory=1 << 30)


# Commands, each as the HTTP layer gives it to the engine


def _decide(engine: Engine, args: dict[str, Any]) -> Any:
    """Decide; one request with a key has an id that names the key, which forgetting must erase too."""
    bodies = [msgspec.convert(body, loops.decision) for body in args["bodies"]]
    if len(bodies) == 1 and bodies[0].key is not None:
        request = f"request:{bodies[0].key}"
        return engine.run_requested(request, lambda _: engine.decide_all(args["model"], bodies), None)
    return engine.decide_all(args["model"], bodies)


def _feedback(engine: Engine, args: dict[str, Any]) -> Any:
    return engine.feedback(args["decision"], loops.feedback(**args["given"]))


def _teach(engine: Engine, args: dict[str, Any]) -> Any:
    return engine.teach(args["model"], msgspec.convert(args["body"], loops.examples))


def _rollback(engine: Engine, args: dict[str, Any]) -> Any:
    return engine.roll_back(args["model"], args["version"], args.get("ready"), then=args["then"])


def _forget(engine: Engine, args: dict[str, Any]) -> Any:
    return engine.forget(args["model"], args["key"], drop_base=args["drop_base"], ready=args.get("ready"))


def _import(engine: Engine, args: dict[str, Any]) -> Any:
    return engine.import_model(args["to"], from_log(args["content"]), "a log")


COMMANDS: dict[str, Callable[[Engine, dict[str, Any]], Any]] = {
    "create": lambda engine, args: engine.create(args["model"], msgspec.convert(args["body"], ModelBody)),
    "decide": _decide,
    "feedback": _feedback,
    "shown": lambda engine, args: engine.mark_shown(args["decision"]),
    "teach": _teach,
    "patch": lambda engine, args: engine.amend(args["model"], msgspec.convert(args["changes"], AmendBody)),
    "archive": lambda engine, args: engine.archive(args["model"]),
    "revive": lambda engine, args: engine.revive(args["model"]),
    "rename": lambda engine, args: engine.rename(args["model"], args["to"]),
    "copy": lambda engine, args: engine.copy(args["model"], CopyBody(to=args["to"], learnt=args["learnt"])),
    "import": _import,
    "promote": lambda engine, args: engine.promote(args["model"]),
    "retract": lambda engine, args: engine.retract(args["decision"], None, args.get("ready")),
    "rollback": _rollback,
    "forget": _forget,
}


def plain(reply: Any) -> Any:
    """A reply as JSON would have it."""
    return msgspec.to_builtins(reply)


def ready_for(engine: Engine, reading: StoreReader, kind: str, args: dict[str, Any]) -> Any:
    """State that the HTTP layer folds in the background before a command, over committed events."""
    if kind == "retract":
        row = reading.decision(args["decision"])
        if row is None or row.version is None or row.shard not in engine.shards:
            return None
        return refold(reading, engine.shards[row.shard], ("retracted", row.version))
    model = engine.models.get(args["model"])
    if model is None or reading.counts(model.shard) is None:
        return None
    if kind == "rollback" and args["version"] is not None:
        counts = reading.counts(model.shard)
        if counts is not None and args["version"] <= counts.version:
            return refold(reading, model, ("rolled_back", args["version"]))
    if kind == "forget":
        part = model.shard_for(args["key"])
        if reading.counts(part.shard) is not None:
            return refold_without(reading, dict(engine.shards), part, args["key"])
    return None


def plan_retention(
    engine: Engine, reading: StoreReader, model: ServedModel, age: float
) -> Generator[Callable[[], Any]]:
    """The commands of retention of a shard, one after the other."""
    now = engine.clock()
    plan = plan_checkpoint(reading, model, now - age, now)
    if plan is None:
        return
    found = list(checkpoint_states(reading, model, plan, Progress("retain")))
    yield lambda: engine.stage(model, plan, found, first=True)
    yield lambda: engine.apply_checkpoint(model, plan)


def retain(engine: Engine, shard: int, age: float) -> Any:
    """Retention of a shard from beginning to end."""
    reading = engine.store.reader()
    for command in plan_retention(engine, reading, engine.shards[shard], age):
        engine.run(command)
    while engine.run(lambda: engine.store.purge(500)):
        pass


def expire(engine: Engine, decision: str) -> None:
    """Learn that nobody answered a decision."""
    row = engine.store.decision(decision)
    if row is None:
        raise AssertionError(f"there is no decision {decision}")
    engine.run(lambda: engine._expiry.handle(row))


# What can be read


def shards_of(engine: Engine, name: str) -> list[int]:
    model = engine.models.get(name)
    return [part.shard for part in model.parts] if model is not None else []


def new_events(store: Store, engine: Engine, known: dict[int, int]) -> dict[int, list[Event]]:
    """By shard, the events after the last one that is known."""
    found: dict[int, list[Event]] = {}
    for shard, model in list(engine.shards.items()):
        if model.seq > known.get(shard, 0) and (events := store.events(shard, known.get(shard, 0))):
            found[shard] = events
    return found


def names_by_shard(engine: Engine) -> dict[int, tuple[str, int]]:
    return {shard: (model.name, model.part) for shard, model in engine.shards.items()}


def decision_row(store: Store, id: str) -> Any:
    return store.decision(id)


def gone(reading: StoreReader, id: str) -> bool:
    """True if retention has erased a decision."""
    return reading.decision(id) is None and reading.find_erased_decision(id) is not None


def read_model(
    reading: StoreReader, engine: Engine, name: str, now: float
) -> Generator[None, None, dict[str, Any] | None]:
    """GET /v1/models/NAME in two steps, as of one moment; None if there is no such model."""
    if name not in engine.models and engine.store.shared and not engine.store.in_batch:
        engine.refresh()
    model = engine.models.get(name)
    if model is None:
        return None
    with reading.snapshot():
        if any(reading.counts(part.shard) is None for part in model.parts):
            return None
        shown, pending = count_open(reading, model, now)
        yield
        reply = summarize_model(reading, model, now)
    return {
        "versions": [reply.model_version] if reply.shard_versions is None else list(reply.shard_versions),
        "decisions": reply.decisions,
        "answered": reply.answered,
        "late": reply.late,
        "keys": reply.keys or 0,
        "open": shown,
        "pending": pending,
    }


def read_story(reading: StoreReader, engine: Engine, decision: str, now: float) -> Any:
    return plain(story_of(EventLog(reading), engine.shards, decision, None, now))


def read_log(reading: StoreReader, engine: Engine, name: str) -> list[int]:
    """The numbers of the events of a model, shard by shard."""
    model = engine.models[name]
    found: list[int] = []
    for part in model.parts:
        found += [msgspec.json.decode(line)["seq"] for line in EventLog(reading).lines_after(part, 0)]
    return found


def export(engine: Engine, name: str) -> bytes:
    """GET /v1/models/NAME/log, over all shards."""

    def collect() -> bytes:
        lines = [line for part in engine.locked_model(name).parts for line in engine.events.all_lines(part)]
        return b"\n".join(lines) + b"\n"

    return engine.run(collect)


def weights(engine: Engine) -> dict[tuple[str, int, str | None, str], bytes]:
    """Every learner, and everything that keys share, as bytes."""
    found: dict[tuple[str, int, str | None, str], bytes] = {}

    def collect() -> None:
        for shard in sorted(engine.shards):
            model = engine.shards[shard]
            if engine.store.shared:
                engine.locked_model(model.name)
            place = (model.name, model.part)
            for key in keys_of(engine.store, model):
                found[(*place, key, "learner")] = engine.learners.get(model, key).learner.to_bytes()
            if (group := engine.learners.shared_state(model)) is not None:
                found[(*place, None, "shared")] = group.to_bytes()

    engine.run(collect)
    return found


def imported_weights(content: bytes) -> dict[str | None, bytes]:
    """The learners that an exported log leads to, by key."""
    return {key: learner.to_bytes() for key, learner in from_log(content).learners.items()}


def model_weights(engine: Engine, name: str) -> dict[str | None, bytes]:
    def collect() -> dict[str | None, bytes]:
        parts = engine.locked_model(name).parts
        return {
            key: engine.learners.get(part, key).learner.to_bytes()
            for part in parts
            for key in keys_of(engine.store, part)
        }

    return engine.run(collect)


def chain_problem(store: Store, shard: int) -> str | None:
    """Problem with the hash chain of a shard, if any; None for a shard with a checkpoint."""
    if store.checkpoint(shard) is not None:
        return None
    return Chain().check_all(store.events(shard))


def numbers_of(store: Store, engine: Engine, shard: int) -> dict[str | None, list[int]]:
    """The numbers of decisions in the log of a shard, by key."""
    found: dict[str | None, list[int]] = {}
    for line in engine.events.all_lines(engine.shards[shard]):
        given = msgspec.json.decode(line)
        if given["type"] == "decision":
            found.setdefault(given["key"], []).append(given["number"])
    return found


def has_base(store: Store, shard: int) -> bool:
    return store.checkpoint(shard) is not None


def logs(engine: Engine) -> dict[int, list[dict[str, Any]]]:
    return {
        shard: [msgspec.json.decode(line) for line in engine.events.all_lines(model)]
        for shard, model in engine.shards.items()
    }


def left_without(
    before: dict[int, list[dict[str, Any]]], key: str, shard: int
) -> tuple[list[dict[str, Any]], Rebuilder]:
    """The log of a shard without a person, worked out slowly from exported lines; and what it leads to."""
    fold, said = LeftOut(before, key).of(shard)
    return said, fold.now


def plain_fold(engine: Engine, shard: int, counts: frozenset[int]) -> dict[str | None, bytes] | None:
    """The learners of a shard whose rows are arrays: each learns the versions that count, one after the other.

    None where learning is more than that: records, promotions, imports, amendments, shared starts.
    """
    model = engine.shards[shard]
    blueprint = model.blueprint
    lines = [msgspec.json.decode(line) for line in engine.events.all_lines(model)]
    plain_types = {
        "created",
        "decision",
        "shown",
        "feedback",
        "expired",
        "reported",
        "settled",
        "withdrawn",
        "retracted",
        "rolled_back",
        "archived",
        "revived",
        "erased",
    }
    if blueprint.features is not None or blueprint.grouped or blueprint.guarded or model.hashed is not None:
        return None
    if any(line["type"] not in plain_types for line in lines) or has_base(engine.store, shard):
        return None
    made: dict[str, Decision] = {}
    found: dict[str | None, Any] = {}
    for line in lines:
        key = line["key"]
        if line["type"] == "decision":
            if key not in found:
                found[key] = blueprint.learner(key)
            found[key].reserve(line["number"])
            made[line["decision"]] = Decision.from_json(msgspec.json.encode(line["record"]))
        elif line.get("model_version") in counts and line["type"] in ("feedback", "expired", "settled"):
            found[key].learn(made[line["decision"]], serialization.unpack(line["learn"]))
    return {key: learner.to_bytes() for key, learner in found.items()}


def learner_of(engine: Engine, shard: int, key: str | None) -> bytes:
    return engine.run(lambda: engine.learners.get(engine.acquire(engine.shards[shard]), key).learner.to_bytes())


def same_weights(one: bytes, other: bytes) -> bool:
    """True if two learners have equal weights, whatever their number of decisions."""
    a, b = Learner.from_bytes(one, "one"), Learner.from_bytes(other, "other")
    for learner in (a, b):
        learner.reserve(max(a.decisions, b.decisions))
    return a.to_bytes() == b.to_bytes()


def retain_again(engine: Engine, name: str, part: int, age: float, planned_at: float, clock: VirtualClock) -> Any:
    """Retention of a shard from beginning to end, planned at another moment than it is done."""
    now, clock.now = clock.now, planned_at
    reading = engine.store.reader()
    commands = plan_retention(engine, reading, engine.models[name].parts[part], age)
    first = next(commands)
    clock.now = now
    engine.run(first)
    reply = engine.run(next(commands))
    while engine.run(lambda: engine.store.purge(500)):
        pass
    return plain(reply)


def follower_of(engine: Engine, decision: str, name: str) -> str | None:
    """The decision of a model that was made next to one that was shown."""
    for row in engine.store.follower_decisions(decision):
        if engine.shards[row.shard].name == name:
            return row.id
    return None


def has_learnt(content: bytes) -> bool:
    return Learner.from_bytes(content, "a learner").rounds > 0


# Planted defects: the simulation must find each of them


@contextmanager
def planted(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Replace attributes of the service for a while."""
    with ExitStack() as stack:
        for target, name, value in changes:
            stack.enter_context(mock.patch.object(target, name, value))
        yield


def _nothing(*arguments: Any, **options: Any) -> None:
    """Do nothing."""


def _get_without_pin(cache: LearnerCache, model: ServedModel, key: str | None) -> Any:
    found = _GET(cache, model, key)
    cache._pinned.clear()
    cache._shrink()
    return found


def _finish_early(writer: Writer, done: list[Any], background: Any = ()) -> None:
    writer._post([job.answer() for job in done], background, free=False)
    if writer._loop is not None:
        while getattr(writer._loop, "step", lambda: False)():
            pass
    _FINISH(writer, [], ())


def _undo_store_only(engine: Any) -> None:
    engine._undo.clear()
    _ABANDON(engine)


def _take_silence_twice(silences: Any, row: Any) -> None:
    _SILENCE(silences, row)
    store = silences._store
    if (now := store.decision(row.id)) is not None and now.feedback_seq is not None:
        store.update_decision(row.id, feedback_seq=None, feedback_hash=None, version=None)


_GET = LearnerCache.get
_FINISH = Writer._finish
_ABANDON = engine_module.Transactions.rollback
_SILENCE = feedback_module.ExpiryHandler.handle

#: By name: what is replaced, and the store on which that can be seen.
MUTANTS: dict[str, tuple[tuple[tuple[Any, str, Any], ...], str]] = {
    "learners are not pinned within a batch": (((LearnerCache, "get", _get_without_pin),), "memory"),
    "a snapshot is used after a rollback": (((UndoneVersions, "is_stale", lambda gone, version: False),), "memory"),
    "forgetting a unit skips shadows and challengers": (((lifecycle, "units_of", lambda model: [model]),), "memory"),
    "forgetting skips shadows and challengers": (
        ((lifecycle, "related_models", lambda reading, shards, model: [model]),),
        "memory",
    ),
    "retention drops open decisions": (((retention_module, "carried_over", lambda *arguments: iter(())),), "memory"),
    "a duplicate is written again": (
        (
            (feedback_module, "classify_repeat", lambda row, hash: None),
            (transitions, "classify_repeat", lambda row, hash: None),
        ),
        "memory",
    ),
    "memory is not put back when a command is refused": (
        ((UndoStack, "rollback", lambda undo, mark=0: undo.clear()),),
        "memory",
    ),
    "memory is not put back when a commit fails": (
        ((engine_module.Transactions, "rollback", _undo_store_only),),
        "memory",
    ),
    "missing feedback is learnt of decisions that were not shown": (
        ((DecisionRow, "is_due", property(lambda row: row.waits and row.feedback_seq is None)),),
        "memory",
    ),
    "windows that are over are not handled": (
        ((engine_module.Maintenance, "sweep", lambda *a, **o: 0),),
        "memory",
    ),
    "missing feedback is learnt again and again": (
        ((feedback_module.ExpiryHandler, "handle", _take_silence_twice),),
        "memory",
    ),
    "callers are answered before the commit": (((Writer, "_finish", _finish_early),), "memory"),
    "idempotency ids are ignored": (
        ((decide_module.DecideHandler, "_find_repeat", lambda *arguments: None),),
        "memory",
    ),
    "readers see what is not committed": (
        ((MemoryStore, "reader", lambda store: memory_store.MemoryReader(store._tables, store.shelf.lock)),),
        "memory",
    ),
    "a worker does not apply what others wrote": (((ShardAccess, "_sync", lambda entrance, model: False),), "shared"),
    "a copy does not know where it is from": (((MemoryStore, "derive", _nothing),), "memory"),
    "a holdout is answered by the model": (
        ((decide_module.DecideHandler, "_is_held_out", lambda *arguments: False),),
        "memory",
    ),
    "the learner counts the decisions of a holdout": (
        ((decide_module.DecideHandler, "_hold_out", lambda handler, own, key, ids: own._replace(holdout=True)),),
        "memory",
    ),
    "a candidate stands twice on a page": (
        ((Layout, "open", lambda layout, i, taken: np.ones(layout._n, np.bool_)),),
        "memory",
    ),
    "rewards of some slots are learned as if they were all": (
        ((feedback_module.FeedbackHandler, "_is_partial", lambda *arguments: False),),
        "memory",
    ),
    "challengers are not taught": (((feedback_module.FollowerTrainer, "train", _nothing),), "memory"),
}
