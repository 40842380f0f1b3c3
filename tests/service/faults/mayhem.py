"""Two machines of workers over one PostgreSQL, and all that can happen to them; the log is held against the answers."""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import psycopg

from cluster import Cluster
from service.cuttable_socket import Cuttable
from service.multi_worker import Fleet, Line
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.leases import LEASE_S
from smidgen.service.http.routing import SILENT_S
from smidgen.service.storage.address import parse_address
from smidgen.service.storage.postgres_address import Address

LABEL = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}
BODIES: dict[str, dict[str, Any]] = {
    "one": LABEL,
    "two": {"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2}},
    "keyed": {**LABEL, "keyed": True},
    "quiet": {"loop": "choose", "default_reward": 0.0, "window_s": 1.0},
}
#: What every fleet is started with: states are published often, so that owners have something to do.
OPTIONS = ("--snapshot-every", "40")
#: How long somebody who is never answered is waited for.
PATIENCE = 60.0


@dataclass
class Record:
    """Replies that callers received.

    Attributes
    ----------
    decided
        The decision by the caller's own id of the request.
    learnt
        The version by decision, of reactions that were acknowledged as learnt.
    reported
        Decisions whose reaction was acknowledged, as learnt or as known already.
    refused, broken
        Answers that were none, by status; connections that ended.
    strange
        Answers that nobody should get, whatever happens.
    """

    decided: dict[str, str] = field(default_factory=dict)
    learnt: dict[str, int] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    refused: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    strange: list[str] = field(default_factory=list)


class Stubborn(threading.Thread):
    """A client that retries until it gets a reply: the same request with the same id, on any worker."""

    def __init__(self, seed: int, urls: Callable[[], list[str]], ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._rng = random.Random(seed)
        self._urls, self._ended = urls, ended
        self._line: Line | None = None
        self.record = Record()

    def run(self) -> None:
        try:
            self._play()
        finally:
            if self._line is not None:
                self._line.close()

    def _play(self) -> None:
        while not self._ended.is_set():
            name = self._rng.choice(list(BODIES))
            id = uuid.UUID(int=self._rng.getrandbits(128)).hex
            made = self._until_answered(f"/v1/models/{name}/decisions", {"id": id, **self._question(name)}, {201})
            if made is None:
                continue
            decision = self.record.decided[id] = made["decision"]
            if (reaction := self._reaction(name, made)) is None:
                continue
            given = self._until_answered(f"/v1/decisions/{decision}/feedback", reaction, {200, 202})
            if given is None:
                continue
            if given["status"] == "learnt":
                self.record.learnt[decision] = given["model_version"]
            if given["status"] != "late":
                self.record.reported.add(decision)

    def _question(self, name: str) -> dict[str, Any]:
        if name == "quiet":
            return {"candidates": [{"id": "a"}, {"id": "b"}]}
        key = {"key": f"k{self._rng.randrange(4)}"} if name == "keyed" else {}
        return {"features": [self._rng.random(), self._rng.random()], **key}

    def _reaction(self, name: str, made: dict[str, Any]) -> dict[str, Any] | None:
        if name == "two":
            return {"relevant": self._rng.random() < 0.5} if made["forward"] else None
        if name == "quiet":
            return {"reward": self._rng.random()} if self._rng.random() < 0.5 else None
        return {"correct": self._rng.random() < 0.5}

    def _until_answered(self, path: str, body: dict[str, Any], good: set[int]) -> dict[str, Any] | None:
        """Ask until the answer is one of the good ones; None if that is no more asked for."""
        while True:
            try:
                self._line = self._line or Line(self._rng.choice(self._urls()))
                answer = self._line("POST", path, body)
                if answer.status in good:
                    return dict(answer.body)
                self.record.refused[answer.status] += 1
                if answer.status not in (503, 429):
                    self.record.strange.append(f"{path}: {answer.status} {answer.body}")
                    return None
            except (OSError, http.client.HTTPException):
                self.record.broken += 1
            if self._line is not None:
                self._line.close()
            self._line = None
            if self._ended.is_set():
                return None
            time.sleep(0.02)


class Mayhem:
    """Two fleets over one database, callers, and faults.

    Parameters
    ----------
    cluster
        The server; of this play alone, since it is stopped and started.
    seed
        Decides everything that is drawn.
    workers
        How many workers each fleet has.
    modules
        What the workers import: mutants.
    options
        Further options of `smidgen serve`.

    Attributes
    ----------
    faults
        What was done, by name.
    longest_ownerless
        How long a shard was without an owner who lives, at most, after its owner was killed.
    """

    def __init__(
        self,
        cluster: Cluster,
        seed: int,
        workers: int = 2,
        modules: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
    ) -> None:
        self.cluster, self.rng = cluster, random.Random(seed)
        self.store = cluster.fresh()
        self.wire = Cuttable(cluster.folder)
        self.faults: Counter[str] = Counter()
        self.longest_ownerless = 0.0
        self._options = (*OPTIONS, *options, *(word for module in modules for word in ("--import", module)))
        self._count = workers
        self._ended = threading.Event()
        self.callers = [Stubborn(seed * 100 + n, self._urls, self._ended) for n in range(4)]

    def __enter__(self) -> Self:
        self.wire.__enter__()
        address = self.store.replace(str(self.cluster.folder), str(self.wire.folder))
        self.here = Fleet(self.store, self._count, *self._options).__enter__()
        self.there = Fleet(address, self._count, *self._options).__enter__()
        line = self.here.line()
        for name, body in BODIES.items():
            assert line("PUT", f"/v1/models/{name}", body).status in (200, 201)
        for caller in self.callers:
            caller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self.wire.restore()
        for caller in self.callers:
            caller.join(PATIENCE)
        self.said = [fleet.stop() for fleet in (self.here, self.there)]
        self.wire.__exit__(None, None, None)

    def _urls(self) -> list[str]:
        return [self.here.url, self.there.url]

    # What can happen

    def kill_worker(self) -> None:
        """Kill -9 of any worker; its supervisor starts another."""
        fleet = self.rng.choice([self.here, self.there])
        if workers := fleet.workers():
            os.kill(self.rng.choice(workers), signal.SIGKILL)

    def kill_owner(self) -> None:
        """Kill -9 of the worker that owns a shard; another one owns it soon."""
        if (victim := self._owner()) is None:
            return
        os.kill(victim, signal.SIGKILL)
        began = time.monotonic()
        while any(owner.endswith(f"/{victim}") for owner, _ in self._leases()) or len(self._leases()) < len(BODIES):
            assert time.monotonic() - began < PATIENCE, "nobody owns a shard"
            time.sleep(0.02)
        self.longest_ownerless = max(self.longest_ownerless, time.monotonic() - began)

    def pause_owner(self) -> None:
        """SIGSTOP of an owner for longer than its lease; it comes back when others own its shards."""
        self._pause(LEASE_S + 1.0)

    def slow_owner(self) -> None:
        """SIGSTOP of an owner for a moment, around the time after which others do without it."""
        self._pause(self.rng.uniform(0.5, 3.0) * SILENT_S)

    def _pause(self, seconds: float) -> None:
        if (victim := self._owner()) is not None:
            os.kill(victim, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(victim, signal.SIGCONT)

    def stop_owner(self) -> None:
        """SIGTERM to an owner: it answers what it has, and gives its shards back."""
        if (victim := self._owner()) is not None:
            os.kill(victim, signal.SIGTERM)

    def _owner(self) -> int | None:
        """Draw a worker that owns a shard."""
        owners = {int(owner.rsplit("/", 1)[1]) for owner, _ in self._leases()}
        living = sorted(owners.intersection([*self.here.workers(), *self.there.workers()]))
        return self.rng.choice(living) if living else None

    def stop_database(self) -> None:
        """The server stops as if its machine had lost its power, and comes back."""
        self.cluster.stop("immediate")
        time.sleep(self.rng.uniform(0.0, 0.3))
        self.cluster.start()

    def end_connections(self) -> None:
        """The server ends every connection of this store, whatever it is in the midst of."""
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname <> ''"
        with self._asking() as asking:
            asking.execute(sql)

    def tear(self) -> None:
        """All connections of one machine to the database end at once."""
        self.wire.tear()

    def cut(self) -> None:
        """Cut one machine off from the database for a while without notice to either side; the other continues."""
        self.wire.cut()
        time.sleep(self.rng.uniform(0.2, LEASE_S + 1.0))
        self.wire.restore()

    def kill_machine(self) -> None:
        """Kill -9 of a supervisor, and of its workers; it is started again."""
        old = self.there
        workers = old.workers()
        for process in (old.process.pid, *workers):
            os.kill(process, signal.SIGKILL)
        old.process.communicate()
        self.there = Fleet(old.store, self._count, *self._options).__enter__()

    FAULTS = (
        "kill_worker",
        "kill_owner",
        "pause_owner",
        "slow_owner",
        "stop_owner",
        "stop_database",
        "end_connections",
        "tear",
        "cut",
        "kill_machine",
    )

    def do(self, name: str) -> None:
        """Let one thing happen, and wait until work goes on."""
        getattr(self, name)()
        self.faults[name] += 1
        self.go_on()

    def go_on(self, count: int = 8) -> None:
        """Wait until a number of further reactions is acknowledged."""
        began, first = time.monotonic(), self.acknowledged()
        while self.acknowledged() < first + count:
            assert time.monotonic() - began < PATIENCE, "nothing is acknowledged any more"
            assert all(caller.is_alive() for caller in self.callers), "a caller has ended"
            time.sleep(0.01)

    def acknowledged(self) -> int:
        """Number of acknowledged feedback."""
        return sum(len(caller.record.reported) for caller in self.callers)

    # What must hold

    def strange(self) -> list[str]:
        """Answers that nobody should get."""
        return [each for caller in self.callers for each in caller.record.strange]

    def wrong(self) -> list[str]:
        """All that is not as it was acknowledged: lost, twice, with gaps, or not what the log leads to."""
        with self._asking() as asking:
            requests = dict(
                asking.execute("SELECT request, encode(id, 'hex') FROM decisions WHERE request IS NOT NULL")
            )
            twice = (
                "SELECT request FROM decisions WHERE request IS NOT NULL GROUP BY shard, request HAVING count(*) > 1"
            )
            found = [f"request {request} has two decisions" for (request,) in asking.execute(twice)]
            gaps = "SELECT shard, count(*), max(seq), min(seq) FROM events GROUP BY shard HAVING count(*) <> max(seq)"
            found += [f"shard {row[0]} has {row[1]} events up to {row[2]}" for row in asking.execute(gaps)]
            again = """SELECT encode(decision, 'hex'), count(*) FROM events
                WHERE made IS NOT NULL AND decision IS NOT NULL AND type IN ('feedback', 'expired')
                GROUP BY shard, decision HAVING count(*) > 1"""
            found += [f"decision {row[0]} was learnt {row[1]} times" for row in asking.execute(again)]
            closed = dict(
                asking.execute("SELECT encode(id, 'hex'), version FROM decisions WHERE feedback_seq IS NOT NULL")
            )
        for record in (caller.record for caller in self.callers):
            found += [
                f"decision {id} of request {request} is gone"
                for request, id in record.decided.items()
                if requests.get(request) != id
            ]
            found += [f"the reaction to {id} is gone" for id in record.reported if id not in closed]
            found += [
                f"{id} is learnt at {closed.get(id)}, not {version}"
                for id, version in record.learnt.items()
                if closed.get(id) != version
            ]
        with Inspection(parse_address(self.store)) as seen:
            for model in seen.models():
                report = audit_model(seen, model)
                found += [f"{model.name}: {problem}" for problem in report.problems]
        return found

    def _asking(self) -> psycopg.Connection[Any]:
        made = psycopg.connect(self.cluster.url(), autocommit=True)
        made.execute(f"SET search_path TO {Address.of(self.store).schema}")
        return made

    def _leases(self) -> list[tuple[str, int]]:
        """Current owners of the shards."""
        with self._asking() as asking:
            return list(
                asking.execute("SELECT owner, shard FROM leases WHERE until > extract(epoch FROM clock_timestamp())")
            )
