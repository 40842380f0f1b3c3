"""A world that plays a history: workers with their engines and writers over one store, apps, readers and accidents.

One thread plays all of them. Whose turn it is, is drawn: at the end of each step, and at every crash point that the
service passes meanwhile, where readers and other workers go on, the disk refuses, or the process is killed.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from simulation import service
from simulation.catalogue import Spec, answer, chosen, example, holdout, request, rival, wrong
from simulation.checker import Checker, Read
from simulation.oracle import Command, Made, Model, Oracle, Wrong
from simulation.scheduler import History, Step
from simulation.service import Fault, Killed, PlayedEngine, PlayedWriter, SmidgenError, StorageFailed, Taken

KEYS = ("k0", "k1", "k2")
#: The person whose requests have a word that nobody else's have.
PERSON = "person-zz"
#: What is given out in the place of a key of the catalogue.
NAMES = {"k0": PERSON, "k1": "k1", "k2": "k2"}
#: Past these the batch lasts: the disk cannot refuse it any more.
LASTING = ("after-commit",)


@dataclass
class Worker:
    """A process."""

    number: int
    engine: PlayedEngine
    writer: PlayedWriter
    loop: service.VirtualLoop
    reader: Any
    slow_reader: Any
    waiting: list[list[Command]] = field(default_factory=list)
    reading: tuple[Read, Generator[None, None, Any]] | None = None
    careful: int = 0  # how many commands wait that need the whole file to themselves
    down: bool = False  # between an end and the next start


@dataclass
class Note:
    """A committed command, or an expiry, for the run of reference."""

    command: Command | None
    decision: str | None
    at: float


class World:
    """Plays one history.

    Parameters
    ----------
    history
        What happens.
    say
        Called with a line for each step and command, if somebody watches.
    """

    def __init__(self, history: History, say: Callable[[str], None] | None = None) -> None:
        self.history, self.setup, self.say = history, history.setup, say
        self.clock = service.VirtualClock(slow=history.setup.slow)
        self.place = service.Place(history.setup.store)
        self.shared = history.setup.store == "shared"
        self.oracle = Oracle(self._row_of, service.stamp, shared=self.shared)
        self.checker = Checker()
        self.workers: list[Worker] = []
        self.notes: list[Note] = []
        self.specs: dict[str, Spec] = {}
        self.asked: list[str] = []  # decisions that apps know of
        self.replies: dict[str, tuple[Spec, dict[str, Any], dict[str, Any]]] = {}
        self.commits = self.tick = self.commands = 0
        self.rng = self.side_rng = random.Random(history.seed)
        self.within: list[Worker] = []  # whose code runs, the latest last
        self.kill_in: int | None = None
        self.fault_in: int | None = None
        self.ever_forgotten: set[str] = set()
        self.besides: dict[str, list[tuple[str, str]]] = {}  # what was decided next to a decision, and by whom
        self.imports: list[tuple[str, dict[str | None, bytes]]] = []
        self.used_ids: list[tuple[str, dict[str, Any]]] = []
        self.used_calls: list[tuple[str, dict[str, Any]]] = []

    # From the beginning to the end

    def play(self, laws: Callable[[World], None] | None = None) -> None:
        """Play the history, and check the laws at its end."""
        try:
            with service.virtual(self.clock, self.history.seed, self.passed, self._warned):
                try:
                    self.workers = [self.open(number) for number in range(self.setup.workers)]
                    for spec in self.setup.models:
                        self._create(spec)
                    for step in self.history.steps:
                        self.step(step)
                    self.settle()
                    self._forget_units()
                    if laws is not None:
                        laws(self)
                except (Wrong, Killed):
                    raise
                except Exception as error:
                    raise Wrong(f"a fault: {error!r}") from error
                finally:
                    for worker in self.workers:
                        self._close_reads(worker)
                        worker.engine.store.close()
        finally:
            self.place.remove()

    def open(self, number: int) -> Worker:
        """Start a worker."""
        engine = PlayedEngine(
            self.place.open(),
            self.committed,
            clock=self.clock,
            keyed_in_memory=self.setup.keyed_in_memory,
            snapshot_every=self.setup.snapshot_every,
            worker=f"w{number}.{self.tick}",
        )
        loop = service.VirtualLoop(self.clock)
        writer = PlayedWriter(engine)
        writer.play(loop)
        return Worker(number, engine, writer, loop, engine.store.reader(), engine.store.reader())

    def settle(self) -> None:
        """Finish everything that was begun."""
        self.kill_in = self.fault_in = None
        for worker in self.workers:
            worker.engine.fail_commit = False
            self.finish_read(worker)
        self.drain()
        for worker in self.workers:
            if worker.waiting:
                raise Wrong(f"nobody answered {[str(each) for job in worker.waiting for each in job]}")

    def tell(self, text: str) -> None:
        if self.say is not None:
            self.say(text)

    def _warned(self, message: str) -> None:
        raise Wrong(f"the service warns: {message}")

    def _row_of(self, id: str) -> Any:
        for worker in (*self.within[::-1], *self.workers):
            if (row := worker.engine.rows.get(id)) is not None:
                return row
            if (row := service.decision_row(worker.engine.store, id)) is not None:
                return row
        return None

    # The schedule

    def act(self, worker: Worker, what: str) -> bool:
        """Let a worker's event loop, or its thread, do one thing; False if there is nothing to do."""
        self.tick += 1
        self.within.append(worker)
        try:
            return worker.loop.step() if what == "loop" else worker.writer.work()
        except Killed as end:
            self.tell(f"  worker {worker.number} is killed at {end.args[0]}")
            self.crash(worker)
            return True
        finally:
            self.within.remove(worker)

    def turns(self, rng: random.Random) -> None:
        """Let some things happen, or all that can."""
        if rng.random() < 0.6:
            self.drain()
            return
        for _ in range(rng.randrange(4)):
            self.act(rng.choice(self.workers), rng.choice(["loop", "thread"]))

    def drain(self) -> None:
        """Let all workers go on until there is nothing to do."""
        idle = 0
        for _ in range(5000):
            acted = False
            for worker in self.workers:
                while self.act(worker, "loop"):
                    acted = True
                acted = self.act(worker, "thread") or acted
            idle = 0 if acted else idle + 1
            if idle:
                return
            if self.shared:
                self.clock.now += 1e-4
        raise Wrong("the workers never come to an end")

    def passed(self, name: str) -> None:
        """A crash point was passed: readers and other workers may go on there, or an accident happens."""
        if not self.within:
            return
        worker = self.within[-1]
        if self.kill_in is not None:
            self.kill_in -= 1
            if self.kill_in <= 0:
                self.kill_in = None
                raise Killed(name)
        if self.fault_in is not None and name not in LASTING:
            self.fault_in -= 1
            if self.fault_in <= 0:
                self.fault_in = None
                self.tell(f"  the disk refuses at {name}")
                raise Fault(f"the disk refused at {name}", "try again")
        if worker.down:
            return
        chance = self.side_rng.random()
        if chance < 0.06 and self.oracle.models and len(self.within) == 1:
            self.read(worker, self.side_rng.choice(list(self.oracle.models)))
        elif self.shared and chance < 0.16 and len(self.within) < len(self.workers):
            others = [each for each in self.workers if each not in self.within]
            self.act(self.side_rng.choice(others), self.side_rng.choice(["loop", "thread"]))

    def crash(self, worker: Worker) -> None:
        """The process is gone, and another one takes its place."""
        self._close_reads(worker)
        for job in worker.waiting:
            self.tell(f"  lost: {'; '.join(each.kind for each in job)}")
        worker.engine.store.close()
        self._replace(worker)

    def _replace(self, worker: Worker) -> None:
        worker.down = True
        while True:
            try:
                fresh = self.open(worker.number)
                break
            except (Killed, Fault):
                self.tell("  the start fails, and is tried again")
        worker.down = False
        worker.engine, worker.writer, worker.loop = fresh.engine, fresh.writer, fresh.loop
        worker.reader, worker.slow_reader, worker.waiting, worker.careful = fresh.reader, fresh.slow_reader, [], 0

    def _close_reads(self, worker: Worker) -> None:
        if worker.reading is not None:
            worker.reading[1].close()
            worker.reading = None
        for reader in (worker.reader, worker.slow_reader):
            reader.close()

    # Commands

    def ask(self, worker: Worker, commands: list[Command], then: Callable[[Any], None] | None = None) -> None:
        """Give a worker commands that are committed together, and remember that somebody waits."""
        careful = commands[0].kind in ("forget", "retain", "stage")
        if careful:
            self.finish_read(worker)
            worker.careful += 1
        job, writer = list(commands), worker.writer
        worker.waiting.append(job)
        self.commands += len(job)

        def done(answer: Any, refused: Exception | None) -> None:
            if worker.writer is not writer:
                raise Wrong("a process that is gone has answered")
            if job not in worker.waiting:
                raise Wrong(f"somebody is answered twice: {[str(each) for each in job]}")
            worker.waiting.remove(job)
            worker.careful -= careful
            answers = answer if len(job) > 1 and refused is None else [answer]
            for place, command in enumerate(job):
                lasts = getattr(command, "lasts", False)
                said = answers[place] if refused is None else refused
                not_done = isinstance(said, StorageFailed) or type(said).__name__ == "Busy"
                if not_done and said is not command.refusal:
                    if lasts:
                        raise Wrong(f"it was committed and refused: {command}")
                    self.tell(f"    not done: {said}")
                elif not lasts:
                    raise Wrong(f"answered before it was committed: {command}")
                elif isinstance(said, Exception):
                    if said is not command.refusal:
                        raise Wrong(f"answered with another refusal: {said!r}: {command}")
                elif service.plain(said) != command.reply and command.kind != "stage":
                    raise Wrong(f"answered with another reply: {said!r}: {command}")
            if then is not None and refused is None:
                then(answer)

        try:
            writer.ask([self._runner(worker.engine, command) for command in job], done, commands[0])
        except SmidgenError as error:
            worker.waiting.remove(job)
            raise Wrong(f"the writer took nothing more: {error}") from error

    def _runner(self, engine: PlayedEngine, command: Command) -> Callable[[], Any]:
        do = command.args.get("do") or (lambda: service.COMMANDS[command.kind](engine, command.args))

        def run() -> Any:
            command.at, command.reply, command.refusal = self.clock.now, None, None
            if command.kind == "forget":  # it may rewrite what was written before it in the same batch
                engine.capture({number: shard.seq for number, shard in self.oracle.shards.items()})
            try:
                reply = do()
            except (Taken, StorageFailed, OSError):
                raise
            except SmidgenError as error:
                command.refusal = error
                engine.journal.append(command)
                raise
            except Exception as error:
                raise Wrong(f"a fault of the service in {command}: {error!r}") from error
            command.reply = service.plain(reply)
            engine.journal.append(command)
            return reply

        return run

    def committed(self, engine: PlayedEngine, journal: list[Any]) -> None:
        """A batch lasts: the oracle says whether it is right."""
        try:
            known = {number: shard.seq for number, shard in self.oracle.shards.items()}
            fresh = engine.fresh(known)
            if not journal and not fresh:
                return
            self.commits += 1
            self.oracle.apply(journal, fresh, self.clock.now, lambda each: self._done(engine, each))
            glances = {name: self.oracle.glance(model) for name, model in self.oracle.models.items()}
            gone = {name: None for name in self.checker.states if name not in glances}
            self.checker.commit(self.commits, {**glances, **gone})
        except Wrong:
            raise
        except Exception as error:
            raise Wrong(f"the oracle is at a loss: {error!r}") from error

    def _done(self, engine: PlayedEngine, what: Made | Command) -> None:
        if isinstance(what, Made):
            self.tell(f"    expired: {what.id} of {what.shard.model.name}, version {what.version}")
            self.notes.append(Note(None, what.id, self.oracle._at))
            return
        what.__dict__["lasts"] = True
        self.tell(f"    {what}")
        self.notes.append(Note(what, None, what.at))
        if what.refusal is not None:
            return
        if what.kind == "decide":
            spec = self.specs[what.args["model"]]
            for body, reply in zip(what.args["bodies"], what.reply, strict=True):
                besides = [each for each in self.oracle.made.values() if each.beside == reply["decision"]]
                self.besides.setdefault(reply["decision"], [(each.id, each.shard.model.name) for each in besides])
                if reply["decision"] not in self.replies:
                    self.asked.append(reply["decision"])
                    self.replies[reply["decision"]] = spec, body, reply
        elif what.kind in ("create", "copy", "import"):
            name = what.args["to"] if "to" in what.args else what.args["model"]
            body = dict(what.args["spec"].body)
            if isinstance(what.reply, dict) and what.reply.get("budget") is None:  # of a shadow or challenger
                body.pop("budget", None)
            self.specs[name] = Spec(name, what.args["spec"].kind, body)
        elif what.kind == "rename":
            self.specs[what.args["to"]] = self.specs.pop(what.args["model"])
        elif what.kind == "forget":
            self.ever_forgotten.add(what.args["key"])
        elif what.kind == "retain":
            self.oracle.retained(lambda id: service.gone(engine.store, id), self.clock.now)

    def _create(self, spec: Spec) -> None:
        worker = self.workers[0]
        self.ask(worker, [Command("create", {"model": spec.name, "body": spec.body, "spec": spec})])
        self.drain()
        if self.oracle.models.get(spec.name) is None:
            raise Wrong(f"{spec} could not be created")

    # Reads

    def read(self, worker: Worker, name: str) -> None:
        """Read a model at one moment."""
        self.begin_read(worker, name, worker.reader)
        self.finish_read(worker, again=False)

    def begin_read(self, worker: Worker, name: str, reader: Any) -> None:
        self.finish_read(worker)
        self.tick += 1
        read = Read(name, self.tick, self.commits, self.clock.now)
        steps = service.read_model(reader, worker.engine, name, read.now)
        worker.reading = read, steps
        try:
            next(steps)
        except StopIteration as end:
            self._answered(worker, end.value)

    def finish_read(self, worker: Worker, *, again: bool = True) -> None:
        """Ask the rest, and keep the answer."""
        if worker.reading is None:
            return
        try:
            next(worker.reading[1])
        except StopIteration as end:
            self._answered(worker, end.value)

    def _answered(self, worker: Worker, value: Any) -> None:
        if worker.reading is None:
            return
        read, worker.reading = worker.reading[0], None
        self.tick += 1
        committing = any(each.engine.committing for each in self.workers)
        if value is None:  # a name that an open batch has given away is gone a moment before the commit
            committing = committing or any(each.engine.store.in_batch for each in self.workers)
        read.answered, read.last, read.value = self.tick, self.commits + committing, value
        self.checker.reads.append(read)

    # Steps

    def step(self, step: Step) -> None:
        """Let something happen."""
        self.rng, self.side_rng = random.Random(step.number), random.Random(step.number ^ 0x5EED)
        self.tell(f"{step.what} ({step.number}) at {self.clock.now - 1_000_000.0:g} s")
        getattr(self, f"do_{step.what}")(self.rng)
        self.turns(self.rng)

    def worker(self) -> Worker:
        return self.rng.choice(self.workers)

    def model(self, rng: random.Random) -> Model:
        return rng.choice(list(self.oracle.models.values()))

    def _deciding(self, rng: random.Random) -> Model:
        """Mostly a model that decides."""
        able = [each for each in self.oracle.models.values() if each.leader is None and not each.archived]
        return rng.choice(able) if able and rng.random() < 0.9 else self.model(rng)

    def _body(self, rng: random.Random, model: Model) -> dict[str, Any]:
        key = rng.choice(KEYS) if model.keyed else None
        spec = self.specs[model.name]
        body = request(rng, spec, key)
        if key is not None:
            body["key"] = NAMES[key]
        if rng.random() < 0.12:
            body["activate"] = False
        if rng.random() < 0.08 and (value := chosen(rng, spec, body)) is not None:
            body["chosen"] = value
        return body

    def _with_id(self, rng: random.Random, model: Model, body: dict[str, Any]) -> dict[str, Any]:
        """Some requests have an id: a new one, one of the same request, or one of another request."""
        chance = rng.random()
        mine = [used for name, used in self.used_ids if name == model.name]
        if chance < 0.15:
            body["id"] = f"r{rng.getrandbits(24)}" + ("-zzsecret" if body.get("key") == PERSON else "")
            self.used_ids.append((model.name, dict(body)))
        elif mine and chance < 0.27:
            return dict(rng.choice(mine[-4:]))
        elif mine and chance < 0.3:
            body["id"] = rng.choice(mine[-4:])["id"]
        return body

    def do_decide(self, rng: random.Random) -> None:
        model = self._deciding(rng)
        body = self._with_id(rng, model, self._body(rng, model))
        bad = rng.random() < 0.04
        if bad:
            body = wrong(self.specs[model.name], {name: value for name, value in body.items() if name != "id"})
        self.ask(self.worker(), [Command("decide", {"model": model.name, "bodies": [body], "wrong": bad})])

    def do_batch(self, rng: random.Random) -> None:
        """Decisions in one call: all of them, or none."""
        model = self._deciding(rng)
        bodies = [self._with_id(rng, model, self._body(rng, model)) for _ in range(rng.randrange(2, 6))]
        bad = rng.random() < 0.1
        if bad:
            spec = self.specs[model.name]
            bodies.append(wrong(spec, {name: value for name, value in bodies[0].items() if name != "id"}))
        if rng.random() < 0.2:
            bodies.append(bodies[0])
        self.ask(self.worker(), [Command("decide", {"model": model.name, "bodies": bodies, "wrong": bad})])

    def _feedback(self, rng: random.Random) -> Command | None:
        if not self.asked:
            return None
        id = self.asked[-1 - min(int(rng.expovariate(0.3)), len(self.asked) - 1)]
        spec, body, reply = self.replies[id]
        if (made := self.oracle.made.get(id)) is not None and rng.random() < 0.2:
            beside = [each.id for each in self.oracle.made.values() if each.beside == made.id]
            id = beside[0] if beside and rng.random() < 0.2 else id
        impossible = rng.random() < 0.05
        known = made.given or made.late_given if made is not None else None
        if made is not None and made.reports:
            known = made.reports[-1] if rng.random() < 0.3 else None
        if known is not None and rng.random() < 0.6:
            given, impossible = known, False
        else:
            ids = [each["id"] for each in body.get("candidates", ())]
            given = answer(rng, spec, {**reply, "ids": ids} if ids else reply, impossible=impossible)
        if rng.random() < 0.02:
            id = "0" * 24
        return Command("feedback", {"decision": id, "given": given, "impossible": impossible}, (id,))

    def do_feedback(self, rng: random.Random) -> None:
        if (command := self._feedback(rng)) is not None:
            self.ask(self.worker(), [command])

    def do_several(self, rng: random.Random) -> None:
        """Feedback on several decisions in one call: each is answered for itself."""
        found = [command for _ in range(rng.randrange(2, 5)) if (command := self._feedback(rng)) is not None]
        if len(found) > 1:
            found[0].about = [id for command in found for id in command.about]
            self.ask(self.worker(), found)

    def do_shown(self, rng: random.Random) -> None:
        pending = [id for id in self.asked if (made := self.oracle.made.get(id)) is not None and not made.shown]
        if self.asked:
            id = rng.choice(pending if pending and rng.random() < 0.7 else self.asked)
            self.ask(self.worker(), [Command("shown", {"decision": id}, (id,))])

    def do_wait(self, rng: random.Random) -> None:
        self.clock.now += rng.choice([0.1, 1.0, 15.0, 25.0, 120.0])

    def do_turn(self, rng: random.Random) -> None:
        """Run turns only."""

    def do_teach(self, rng: random.Random) -> None:
        model = self.model(rng)
        body: dict[str, Any] = {"examples": [example(rng, self.specs[model.name]) for _ in range(rng.randrange(1, 3))]}
        if model.keyed:
            body["key"] = NAMES[rng.choice(KEYS)]
        mine = [used for name, used in self.used_calls if name == model.name]
        if mine and rng.random() < 0.4:
            body = dict(rng.choice(mine))
        elif rng.random() < 0.5:
            body["id"] = f"t{rng.getrandbits(24)}" + ("-zzsecret" if body.get("key") == PERSON else "")
            self.used_calls.append((model.name, body))
        self.ask(self.worker(), [Command("teach", {"model": model.name, "body": body})])

    def do_patch(self, rng: random.Random) -> None:
        model = self.model(rng)
        of = self.specs[model.name].of
        changes: dict[str, Any] = {"window_s": rng.choice([10.0, 20.0, 100.0])}
        if of.rewards and rng.random() < 0.5:
            changes = {"default_reward": rng.choice([None, 0.0, 0.5])}
        elif of.loop == "label" and rng.random() < 0.4:
            changes = {"add_labels": [rng.choice("xyz")]}
        elif of.rewards and rng.random() < 0.3:
            changes = {"explore": rng.choice([0.0, 0.2])}
        if of.loop in ("rank", "choose", "label") and rng.random() < 0.2:
            changes = {"holdout": holdout(rng) if rng.random() < 0.7 else None}
        if of.safe and rng.random() < 0.5:
            changes = {"safe": rng.choice(of.safe)}
        self.ask(self.worker(), [Command("patch", {"model": model.name, "changes": changes})])

    def do_archive(self, rng: random.Random) -> None:
        model = self.model(rng)
        self.ask(self.worker(), [Command("archive", {"model": model.name})])

    def do_revive(self, rng: random.Random) -> None:
        archived = [each.name for each in self.oracle.models.values() if each.archived]
        name = rng.choice(archived) if archived else self.model(rng).name
        self.ask(self.worker(), [Command("revive", {"model": name})])

    def do_rename(self, rng: random.Random) -> None:
        archived = [each.name for each in self.oracle.models.values() if each.archived]
        name = rng.choice(archived) if archived else self.model(rng).name
        to = rng.choice([f"other{rng.randrange(3)}", self.model(rng).name])
        self.ask(self.worker(), [Command("rename", {"model": name, "to": to})])

    def do_rival(self, rng: random.Random) -> None:
        model = self._deciding(rng)
        spec, shadow = self.specs[model.name], rng.random() < 0.5
        named = Spec(model.name, spec.kind, spec.body)
        body, name = rival(rng, named, shadow), f"{model.name}-{'shadow' if shadow else 'challenger'}{rng.randrange(2)}"
        if name not in self.oracle.models:
            self.ask(self.worker(), [Command("create", {"model": name, "body": body, "spec": named})])

    def do_promote(self, rng: random.Random) -> None:
        rivals = [each.name for each in self.oracle.models.values() if each.leader is not None]
        name = rng.choice(rivals) if rivals else self.model(rng).name
        self.ask(self.worker(), [Command("promote", {"model": name})])

    def do_copy(self, rng: random.Random) -> None:
        model, learnt = self.model(rng), rng.random() < 0.8
        args = {"model": model.name, "to": f"copy{rng.randrange(3)}", "learnt": learnt}
        self.ask(self.worker(), [Command("copy", {**args, "spec": self.specs[model.name]})])

    def do_import(self, rng: random.Random) -> None:
        """An export of a model, imported under another name: it has the same weights."""
        worker, model, to = self.worker(), self.model(rng), f"import{rng.randrange(3)}"
        if to in self.oracle.models or any(shard.base for shard in model.shards):
            return
        self.drain()
        if worker.engine.store.in_batch or worker.engine.fail_commit:
            return
        if model.name not in worker.engine.models or self.oracle.models.get(model.name) is not model:
            return
        content, expected = service.export(worker.engine, model.name), service.model_weights(worker.engine, model.name)
        found = service.imported_weights(content)
        missing = [key for key in expected.keys() - found.keys() if service.has_learnt(expected[key])]
        if missing or any(not service.same_weights(found[key], expected[key]) for key in found):
            raise Wrong(f"an export of {model.name} leads to other weights: {_differing(found, expected)}")
        command = Command("import", {"to": to, "content": content, "spec": self.specs[model.name]})

        def compare(answer: Any) -> None:
            self.imports.append((to, expected))

        self.ask(worker, [command], compare)

    def _ready(self, rng: random.Random, worker: Worker, kind: str, args: dict[str, Any]) -> dict[str, Any]:
        """State folded in the background now for a command that runs later."""
        if rng.random() < 0.5:
            return args
        try:
            return {**args, "ready": service.ready_for(worker.engine, worker.reader, kind, args)}
        except SmidgenError:
            return args

    def do_retract(self, rng: random.Random) -> None:
        made = self.oracle.made
        learnt = [id for id in self.asked if id in made and made[id].version is not None]
        if self.asked:
            id, worker = rng.choice(learnt if learnt and rng.random() < 0.8 else self.asked), self.worker()
            args = self._ready(rng, worker, "retract", {"decision": id})
            self.ask(worker, [Command("retract", args, (id,))])

    def do_rollback(self, rng: random.Random) -> None:
        model, worker = self.model(rng), self.worker()
        version = max(0, model.shards[0].version - rng.choice([-1, 0, 1, 1, 2, 3, 5]))
        args: dict[str, Any] = {"model": model.name, "version": version, "then": None}
        if len(model.shards) > 1 and rng.random() < 0.9:
            args |= {"version": None, "then": self.clock.now - rng.choice([0.0, 1.0, 20.0, 40.0, 200.0])}
        self.ask(worker, [Command("rollback", self._ready(rng, worker, "rollback", args))])

    def do_forget(self, rng: random.Random) -> None:
        keyed = [each for each in self.oracle.models.values() if each.keyed]
        model = rng.choice(keyed) if keyed and rng.random() < 0.95 else self.model(rng)
        worker, key = self.worker(), NAMES[rng.choice(["k0", "k0", "k1"])]
        if not model.keyed:
            key = f"u{self.side_rng.randrange(6)}"
        drop = rng.random() < 0.3
        args = self._ready(rng, worker, "forget", {"model": model.name, "key": key, "drop_base": drop})
        command = Command("forget", args)
        if rng.random() < 0.4:
            self._forget_checked(worker, command, model, key)
        else:
            self.ask(worker, [command])

    def _forget_units(self) -> None:
        """Forget a unit of each model without keys, at the end, in every second history."""
        rng = random.Random(self.history.seed)
        if rng.random() < 0.5:
            return
        for name in [name for name, model in self.oracle.models.items() if not model.keyed]:
            worker, args = self.worker(), {"model": name, "key": f"u{rng.randrange(6)}", "drop_base": False}
            self.ask(worker, [Command("forget", self._ready(rng, worker, "forget", args))])
            self.drain()

    def _forget_checked(self, worker: Worker, command: Command, model: Model, key: str) -> None:
        """Forget while nothing else happens, and compare with what is worked out slowly."""
        self.drain()
        based = any(shard.base for shard in self.oracle.shards.values())
        busy = worker.engine.store.in_batch or worker.engine.fail_commit or self.kill_in or self.fault_in
        if based or busy or model.name not in worker.engine.models:
            self.ask(worker, [command])
            return
        worker.engine.run(lambda: [worker.engine.locked_model(name) for name in list(worker.engine.models)])
        before = service.logs(worker.engine)
        every = [line for lines in before.values() for line in lines]
        if any(line.get("examples", 0) > 1 or line.get("source") == "a log" for line in every):
            self.ask(worker, [command])  # calls of several examples, and imports, cannot be worked out slowly
            return
        owned = {number for number, shard in self.oracle.shards.items() if key in shard.keys}
        self.ask(worker, [command])
        self.drain()
        if command.refusal is not None or not getattr(command, "lasts", False):
            return
        for number in sorted(owned):
            if key not in self.oracle.shards[number].keys:
                self._compare_left(worker, number, key, before)

    def _compare_left(self, worker: Worker, number: int, key: str, before: dict[int, list[dict[str, Any]]]) -> None:
        said, fold = service.left_without(before, key, number)
        kept = [line for line in service.logs(worker.engine)[number] if line["type"] != "erased"]
        name = self.oracle.shards[number].model.name
        if kept != (expected := [line for line in said if line["type"] != "erased"]):
            first = next((pair for pair in zip(kept, expected, strict=False) if pair[0] != pair[1]), None)
            raise Wrong(f"without {key} the log of {name} says other things: {first}")
        for other in sorted({line["key"] for line in said} - {None}):
            if service.learner_of(worker.engine, number, other) != fold.learner(other).to_bytes():
                raise Wrong(f"without {key} the learner of {other} in {name} is another one")

    def do_retain(self, rng: random.Random) -> None:
        """Retention of a shard: planned and folded over what is committed, then two commands."""
        model, worker = self.model(rng), self.worker()
        shard, age = rng.choice(model.shards), rng.choice([0.0, 5.0, 30.0])
        if worker.engine.store.in_batch or shard.number not in worker.engine.shards:
            return
        planned_at = self.clock.now
        commands = service.plan_retention(worker.engine, worker.reader, worker.engine.shards[shard.number], age)
        if (first := next(commands, None)) is None:
            return
        args = {"shard": shard.number, "age": age, "planned_at": planned_at, "place": (model.name, shard.part)}

        def rebase(answer: Any) -> None:
            if command.refusal is None and (second := next(commands, None)) is not None:
                self.ask(worker, [Command("retain", {**args, "do": second})])

        command = Command("stage", {**args, "do": first})
        self.ask(worker, [command], rebase)

    def do_maintain(self, rng: random.Random) -> None:
        worker = self.worker()
        if not worker.engine.store.in_batch and not worker.writer.busy:
            self.finish_read(worker)
            self.within.append(worker)
            try:
                worker.engine.maintain(every=rng.choice([1, 2, 4]))
            except Killed as end:
                self.tell(f"  worker {worker.number} is killed at {end.args[0]}")
                self.crash(worker)
            finally:
                self.within.remove(worker)

    def do_lease(self, rng: random.Random) -> None:
        """A worker asks for the shards that nobody owns."""
        worker = self.worker()
        if worker.engine.leases is not None and (new := worker.engine.leases.renew()):
            worker.writer.take_over(new)

    def do_restart(self, rng: random.Random) -> None:
        """A clean stop, and a new start."""
        worker = self.worker()
        self.drain()
        if worker.waiting or worker.engine.store.in_batch:
            return
        self._close_reads(worker)
        worker.down = True
        self.within.append(worker)
        try:
            worker.engine.close()
        except (Killed, Fault):
            worker.engine.store.close()
        finally:
            self.within.remove(worker)
        self._replace(worker)

    def do_kill(self, rng: random.Random) -> None:
        """The process is killed: now, or at one of the next crash points."""
        if rng.random() < 0.4:
            worker = self.worker()
            self.tell(f"  worker {worker.number} is killed")
            self.crash(worker)
        else:
            self.kill_in = rng.randrange(1, 14)

    def do_fault(self, rng: random.Random) -> None:
        """The disk refuses a commit, or something before it."""
        if rng.random() < 0.5:
            self.worker().engine.fail_commit = True
        else:
            self.fault_in = rng.randrange(1, 10)

    def do_read(self, rng: random.Random) -> None:
        worker, name = self.worker(), rng.choice([*self.oracle.models, "nobody"])
        quiet = not (worker.careful or worker.engine.vacuum_pending or worker.engine.purge_pending)
        if self.place.folder is not None and quiet:
            self.begin_read(worker, name, worker.slow_reader)
        else:
            self.read(worker, name)

    def do_story(self, rng: random.Random) -> None:
        if self.asked:
            self.story(self.worker(), rng.choice(self.asked))

    def story(self, worker: Worker, id: str) -> None:
        """Read a story, and compare it with the oracle's."""
        expected, now = self.oracle.story(id, self.clock.now), self.clock.now
        made = self.oracle.made.get(id)
        if made is not None and made.shard.number not in worker.engine.shards:
            return
        try:
            found = service.read_story(worker.reader, worker.engine, id, now)
        except SmidgenError as error:
            if expected is not None or getattr(error, "status", None) != 404:
                raise Wrong(f"the story of {id} is refused: {error!r}; expected {expected}") from error
            return
        if expected is None:
            raise Wrong(f"there should be no story of {id}: {found}")
        if made is not None and found["asked"] not in (None, _with_vectors(made.asked)):
            raise Wrong(f"the story of {id} says that {found['asked']} was asked, and it was {made.asked}")
        draft = self.replies[id][0].of.loop == "draft" if id in self.replies else False
        for name, value in expected.items():
            if name == "why_not":
                fine = found[name] is None if value is None else str(found[name]).startswith(value)
                counted = found["teams"] is not None and str(found[name]).startswith("interleaved")
                fine = fine or (value is None and counted)  # of a learner that draws its lists
            elif name == "feedback" and draft:
                fine = (found[name] is None) is (value is None)
            elif name == "model" and (worker.engine.store.in_batch or self.shared):
                continue
            else:
                fine = found[name] == value
            if not fine:
                raise Wrong(f"the story of {id}: {name} is {found[name]!r}, expected {value!r}: {made}")


def _differing(found: dict[Any, bytes], expected: dict[Any, bytes]) -> list[Any]:
    return [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]


def _with_vectors(asked: Any) -> Any:
    """A request as stories write it: a vector is float32, in base64."""
    if isinstance(asked, dict):
        return {name: _with_vectors(value) for name, value in asked.items()}
    if isinstance(asked, list) and asked and all(isinstance(each, float) for each in asked):
        return {"f32": base64.b64encode(struct.pack(f"<{len(asked)}f", *asked)).decode()}
    return [_with_vectors(each) for each in asked] if isinstance(asked, list) else asked
