"""The rules of the service in plain Python: what every reply, count, status and story must be.

Nothing here runs code of the service. The oracle is given each committed batch: the commands with their replies, and
the events that the batch added to the logs. A command must account for its events, one after the other; an event that
no command accounts for is wrong, and so is a reply that does not follow from the events before it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulation.catalogue import Spec


class Wrong(BaseException):
    """A rule is broken. The service catches every `Exception` somewhere, and this must pass through."""


@dataclass
class Command:
    """A request to the service, and its outcome.

    Attributes
    ----------
    kind, args
        What is asked.
    about
        The decisions that it is about.
    at
        When it was run.
    reply, refusal
        What it was answered.
    """

    kind: str
    args: dict[str, Any]
    about: Sequence[str] = ()
    at: float = 0.0
    reply: Any = None
    refusal: Any = None

    def __str__(self) -> str:
        shown = {name: value for name, value in self.args.items() if name not in ("ready", "content")}
        if self.refusal is not None:
            return f"{self.kind} {shown} -> {getattr(self.refusal, 'status', '?')} {self.refusal}"
        return f"{self.kind} {shown} -> {self.reply}"


@dataclass(eq=False)
class Made:
    """A decision.

    Attributes
    ----------
    outcome
        None while nothing came of it; ``learnt``, ``late``, ``expired``, ``refused``; ``taught`` of one that was not
        shown, and whose model was taught what came of the one that was.
    versions
        All versions that were ever made by what came of it.
    gone
        Whether retention has erased it.
    holdout
        Whether the policy of a holdout decided: then feedback is ``recorded``, and nothing is learned.
    asked
        The request: context and candidates, or features.
    rewards, reports
        How several reports become one reward, and those that came in time.
    late_retracted
        How much late feedback came before a retraction.
    unit
        Whom it was made for, in a model without keys.
    """

    id: str
    shard: Shard
    key: str | None
    seq: int
    at: float
    expires: float
    waits: bool
    shown: bool
    beside: str | None
    forwarded: bool | None
    reply: dict[str, Any]
    given: dict[str, Any] | None = None
    late_given: dict[str, Any] | None = None
    outcome: str | None = None
    version: int | None = None
    worth: Any = None
    answered_at: float | None = None
    versions: list[int] = field(default_factory=list)
    retractions: list[tuple[int, int]] = field(default_factory=list)
    gone: bool = False
    holdout: bool = False
    asked: dict[str, Any] = field(default_factory=dict)
    rewards: str = "first"
    reports: list[dict[str, Any]] = field(default_factory=list)
    late_retracted: int = 0
    unit: str | None = None

    @property
    def answered(self) -> bool:
        return (self.given is not None or self.late_given is not None or bool(self.reports)) and self.beside is None

    @property
    def slots(self) -> list[str]:
        """The slots that it filled; none of a decision without slots."""
        return [each["slot"] for each in self.reply.get("choices", ())]

    def reported(self, slot: str) -> list[float]:
        """The reports on one slot."""
        return [rewards[slot] for each in self.reports if slot in (rewards := self.by_slot(each))]

    def by_slot(self, given: dict[str, Any]) -> dict[str, float]:
        """The rewards of feedback, by slot."""
        found: dict[str, float] = given.get("rewards") or dict.fromkeys(self.slots, given.get("reward"))
        return found

    def combined(self, default: float | None) -> Any:
        """The combined reward of its reports, in a range from 0 to 1; by slot, if it has slots."""
        if not self.slots:
            return self._one([each["reward"] for each in self.reports])
        values = {slot: self.reported(slot) for slot in self.slots}
        known = {slot: self._one(each) if each else default for slot, each in values.items()}
        return {slot: worth for slot, worth in known.items() if worth is not None}

    def _one(self, values: list[float]) -> float:
        every = {"sum": min(sum(values), 1.0), "max": max(values), "last": values[-1], "first": values[0]}
        return float(every[self.rewards])

    @property
    def due(self) -> bool:
        return (self.waits or bool(self.reports)) and self.shown and self.outcome is None


@dataclass(eq=False)
class Shard:
    """A log: the events of a model, or of some of its keys.

    Attributes
    ----------
    counts
        By version: the versions whose learning is in the weights then.
    base
        The last event that retention has folded.
    promoted
        The versions that promotions made.
    heirs
        The shards that took over what was learnt here.
    chosen
        By number, the events that teach what the app chose itself: of which decision.
    """

    number: int
    model: Model
    part: int
    seq: int = 0
    version: int = 0
    decisions: int = 0
    answered: int = 0
    late: int = 0
    keys: set[str] = field(default_factory=set)
    log: list[tuple[int, str, str | None, str | None, int | None, float]] = field(default_factory=list)
    made: dict[str, Made] = field(default_factory=dict)
    counts: dict[int, frozenset[int]] = field(default_factory=lambda: {0: frozenset()})
    base: int = 0
    promoted: list[int] = field(default_factory=list)
    heirs: list[Shard] = field(default_factory=list)
    chosen: dict[int, str] = field(default_factory=dict)

    @property
    def now(self) -> frozenset[int]:
        return self.counts[self.version]


@dataclass(eq=False)
class Model:
    """A model."""

    name: str
    spec: Spec
    shards: list[Shard] = field(default_factory=list)
    keyed: bool = False
    window: float = 0.0
    default_reward: float | None = None
    rewards: str = "first"
    labels: list[str] = field(default_factory=list)
    explore: float | None = None
    archived: bool = False
    leader: Model | None = None
    followers: list[Model] = field(default_factory=list)
    requests: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    calls: dict[str, tuple[dict[str, Any], Shard, int]] = field(default_factory=dict)
    homes: dict[str | None, Shard] = field(default_factory=dict)
    holdout: dict[str, Any] | None = None


Glance = tuple[Any, ...]


class Oracle:
    """The expected behavior of the service.

    Parameters
    ----------
    shared
        Whether several workers write: which one expires a decision, and when, is then theirs to say.
    row_of
        Reads the row of a decision: which shard made it, and next to which other one.
    stamp
        How the service writes a time.
    """

    def __init__(self, row_of: Callable[[str], Any], stamp: Callable[[float], str], *, shared: bool) -> None:
        self.models: dict[str, Model] = {}
        self.shards: dict[int, Shard] = {}
        self.made: dict[str, Made] = {}
        self.forgotten: set[str] = set()
        self.expired: list[str] = []  # those of the batch so far
        self._row_of, self._stamp, self._shared = row_of, stamp, shared
        self._fresh: dict[int, deque[Any]] = {}
        self._at = 0.0
        self.specs: dict[str, Spec] = {}

    # A batch

    def apply(
        self, journal: Sequence[Any], fresh: Mapping[int, Sequence[Any]], now: float, done: Callable[[Any], None]
    ) -> None:
        """Check a committed batch; ``done`` is called with each expiry and each command in their order."""
        self._fresh = {number: deque(events) for number, events in fresh.items()}
        commands = [each for each in journal if isinstance(each, Command)]
        self._at = commands[0].at if commands else now
        self._expire(done)
        if journal and not self._shared:
            for made in self.made.values():
                if made.due and made.expires < self._at and not made.gone:
                    raise Wrong(f"the window of {made.id} is over, and nothing was learnt of that")
        for command in commands:
            self._at = command.at
            self._expire(done)
            getattr(self, f"_{command.kind.replace('-', '_')}")(command)
            done(command)
        self._expire(done)
        for number, left in self._fresh.items():
            if left:
                raise Wrong(f"shard {number} has events that nobody asked for: {[(e.seq, e.type) for e in left]}")

    def _judge(self, command: Command, must: set[int], may: Sequence[int] = ()) -> bool:
        """True if the command was done; errors are compared by HTTP status."""
        if command.refusal is None:
            if must:
                raise Wrong(f"this should have been refused with {must}: {command}")
            return True
        status = getattr(command.refusal, "status", None)
        if status not in (must or may):
            raise Wrong(f"this should not have been refused so (expected: {must or 'done'}): {command}")
        return False

    def _enter(self, shard: Shard, type: str, *, made: bool | None = None) -> Any:
        """Account for the next event of a shard."""
        queue = self._fresh.get(shard.number)
        event = queue.popleft() if queue else None
        if event is None or event.type != type:
            raise Wrong(f"{shard.model.name} should have an event {type!r} and has {event and event.type!r}")
        if event.seq != shard.seq + 1:
            raise Wrong(f"event {event.seq} of {shard.model.name} follows event {shard.seq}")
        if made is not None and (event.made is not None) is not made:
            raise Wrong(f"event {event.seq} ({type}) of {shard.model.name}: its version is {event.made}")
        if event.at != self._at:
            raise Wrong(f"event {event.seq} of {shard.model.name} is of {event.at}, and was made at {self._at}")
        shard.seq = event.seq
        shard.log.append((event.seq, type, event.decision, event.key, event.made, event.at))
        if event.made is not None:
            if event.made != shard.version + 1:
                raise Wrong(f"version {event.made} of {shard.model.name} follows version {shard.version}")
            shard.counts[event.made] = shard.now | {event.made}
            shard.version = event.made
        if event.key is not None and type in ("decision", "held_out", "taught", "imported", "promoted"):
            shard.keys.add(event.key)
        return event

    def _next(self, shard: Shard) -> Any:
        queue = self._fresh.get(shard.number)
        return queue[0] if queue else None

    def _optional(self, shard: Shard, *types: str, most: int = 1 << 31, keyed: bool = False) -> list[Any]:
        """Account for the next events of a shard as long as they are of these types, and of a key if that is asked."""
        found: list[Any] = []
        while len(found) < most and (head := self._next(shard)) is not None and head.type in types:
            if keyed and head.type == "promoted" and head.key is None:
                break
            found.append(self._enter(shard, head.type))
        return found

    def _others(self, shard: Shard) -> list[Shard]:
        """The logs of those that stand next to the model of a shard, of the same keys."""
        model = shard.model
        leader = model.leader or model
        family = [leader, *leader.followers]
        return [each.shards[shard.part] for each in family if each is not model and len(each.shards) > shard.part]

    def _passed_on(self, shown: Made) -> None:
        """Those that decided next to it may be taught what came of it, once."""
        for shard in self._others(shown.shard):
            head = self._next(shard)
            made = self.made.get(head.decision) if head is not None and head.type == "taught" else None
            if made is None or made.beside != shown.id:
                waits = [each for each in shard.made.values() if each.beside == shown.id and each.outcome is None]
                alike = shard.model.spec.of.taught and not shard.promoted and not shown.shard.promoted
                if alike and waits and not shard.model.archived and not waits[0].gone:
                    raise Wrong(f"{shard.model.name} was not taught what came of {shown.id}")
                continue
            if made.outcome is not None:
                raise Wrong(f"{made.id} was taught twice")
            event = self._enter(shard, "taught", made=True)
            made.outcome, made.version = "taught", event.made
            made.versions.append(event.made)

    def _expire(self, done: Callable[[Any], None]) -> None:
        """Account for windows that closed without feedback."""
        found = True
        while found:
            found = False
            for shard in list(self.shards.values()):
                head = self._next(shard)
                if head is None or head.type not in ("expired", "settled") or self._comes_later(shard, head.decision):
                    continue
                found = True
                made = self.made.get(head.decision)
                if made is None or made.shard is not shard:
                    raise Wrong(f"{shard.model.name} has an expiry of {head.decision}, which it did not make")
                if not made.due or made.expires >= head.at:
                    raise Wrong(f"{made.id} expired, and it was not due: {made}")
                due = [each for each in shard.made.values() if each.due and not each.gone]
                if (first := min(due, key=lambda each: (each.expires, each.seq))) is not made:
                    raise Wrong(f"{made.id} expired before {first.id}")
                if made.reports:
                    self._settle(made)
                    done(made)
                    continue
                event = self._enter(shard, "expired", made=False if made.holdout else None)
                made.outcome = "expired" if event.made is not None else "refused"
                made.version, made.worth, made.answered_at = event.made, shard.model.default_reward, event.at
                if event.made is not None:
                    made.versions.append(event.made)
                    self._passed_on(made)
                done(made)

    def _comes_later(self, shard: Shard, id: str) -> bool:
        """True if a window closed before this one whose model is to be taught what comes of this one."""
        for other in self._others(shard):
            if other.model.archived:  # it is taught nothing
                continue
            head = self._next(other)
            waits = any(each.beside == id and each.outcome is None for each in other.made.values())
            if waits and head is not None and head.type in ("expired", "settled"):
                return True
        return False

    def _settle(self, made: Made) -> None:
        """Account for the one lesson of several reports."""
        event = self._enter(made.shard, "settled", made=not made.holdout)
        if event.decision != made.id:
            raise Wrong(f"{event.decision} was settled in the place of {made.id}")
        made.outcome, made.version = "recorded" if made.holdout else "learnt", event.made
        leader = made.shard.model.leader or made.shard.model
        made.worth, made.answered_at = made.combined(leader.default_reward), event.at
        if event.made is not None:
            made.versions.append(event.made)
            self._passed_on(made)

    # Commands

    def _create(self, command: Command) -> None:
        name, body = command.args["model"], command.args["body"]
        known = self.models.get(name)
        rival = "shadow_of" in body or "challenger_of" in body
        must: set[int] = {409} if known is not None and known.archived else set()
        may = (409, 422) if rival else ()
        if not self._judge(command, must, may):
            return
        new, reply = command.reply
        if new is not (known is None):
            raise Wrong(f"whether {name} is new: {command}")
        if known is None:
            model = self._begin(name, command.args["spec"], reply)
            if rival:
                of = body.get("shadow_of") or body.get("challenger_of")
                model.leader = self.models[of["model"]]
                model.leader.followers.append(model)

    def _begin(self, name: str, spec: Spec, reply: dict[str, Any]) -> Model:
        """Account for a new model."""
        model = self.models[name] = Model(name, spec)
        model.keyed, model.window, model.default_reward = reply["keyed"], reply["window_s"], reply["default_reward"]
        model.labels, model.explore = list(reply["labels"] or ()), reply["explore"]
        model.holdout, model.rewards = reply["holdout"], reply["rewards"]
        new = [number for number, events in sorted(self._fresh.items()) if number not in self.shards and events]
        for part, number in enumerate(new[: reply["shards"]]):
            shard = self.shards[number] = Shard(number, model, part)
            model.shards.append(shard)
            self._enter(shard, "created", made=False)
            self._optional(shard, "amended", most=1)
        if len(model.shards) != reply["shards"]:
            raise Wrong(f"{name} should have {reply['shards']} shards and has {len(model.shards)}")
        return model

    def _decide(self, command: Command) -> None:
        name, bodies = command.args["model"], command.args["bodies"]
        model, must = self.models.get(name), set[int]()
        if model is None:
            must = {404}
        elif model.archived or model.leader is not None:
            must = {409}
        else:
            known = dict(model.requests)
            for body in bodies:
                if "id" in body and known.setdefault(body["id"], (body, {}))[0] != body:
                    must |= {409}
            if command.args.get("wrong"):
                must |= {422}
        may = (422,) if any("chosen" in body for body in bodies) else ()
        if not self._judge(command, must, may) or model is None:
            return
        if len(command.reply) != len(bodies):
            raise Wrong(f"there should be {len(bodies)} replies: {command}")
        for body, reply in zip(bodies, command.reply, strict=True):
            if "id" in body and body["id"] in model.requests:
                if model.requests[body["id"]][1] != reply:
                    raise Wrong(f"the same id has another reply: {command}; before: {model.requests[body['id']][1]}")
                continue
            self._decided(model, body, reply)
            if "id" in body:
                model.requests[body["id"]] = (body, reply)

    def _decided(self, model: Model, body: dict[str, Any], reply: dict[str, Any]) -> None:
        id, key = reply["decision"], body.get("key")
        if id in self.made or id in self.forgotten:
            raise Wrong(f"the id {id} was given before")
        row = self._row_of(id)
        if row is None or row.shard not in self.shards:
            raise Wrong(f"{id} was answered, and is not there")
        shard = self.shards[row.shard]
        if shard.model is not model and shard.model not in model.followers:
            raise Wrong(f"{id} was asked of {model.name} and is of {shard.model.name}")
        if model.homes.setdefault(key, model.shards[shard.part]) is not model.shards[shard.part]:
            raise Wrong(f"key {key!r} of {model.name} has moved to shard {shard.part}")
        if reply["model_version"] != shard.version:
            raise Wrong(f"{id} is of version {reply['model_version']}, and {shard.model.name} is at {shard.version}")
        if reply["expires_at"] != self._stamp(self._at + model.window):
            raise Wrong(f"{id} expires at {reply['expires_at']}, and its window is {model.window} s")
        _check_answer(model.spec, body, reply)
        self._check_holdout(model, body, reply)
        shown = self._add(shard, body, reply, None)
        for other in self._others(shard):
            head = self._next(other)
            if head is not None and head.type == "decision" and self._row_of(head.decision).beside == id:
                if other.model.archived:
                    raise Wrong(f"{other.model.name} is archived and decided")
                self._add(other, body, {**reply, "decision": head.decision}, shown)
        if shard.model is not model and not any(made.beside == id for made in model.shards[shard.part].made.values()):
            raise Wrong(f"the challenger {shard.model.name} answered {id}, and {model.name} did not decide next to it")
        if "chosen" in body:
            for each in (shard, *self._others(shard)):
                if (head := self._next(each)) is not None and head.type == "taught" and head.decision is None:
                    each.chosen[self._enter(each, "taught", made=True).seq] = id

    def _check_holdout(self, model: Model, body: dict[str, Any], reply: dict[str, Any]) -> None:
        """The holdout answers those units whose hash is below its share, and nobody whose app has chosen."""
        held, unit = reply.get("holdout", False), body.get("unit", body.get("key"))
        if model.holdout is None or "chosen" in body:
            expected = False
        elif unit is None:
            expected = held
        else:
            digest = hashlib.sha256(f"{model.holdout['salt']}:{unit}".encode()).digest()
            expected = int.from_bytes(digest[:8], "big") / 2**64 < model.holdout["share"]
        if held is not expected:
            raise Wrong(f"whether {reply['decision']} is in the holdout {model.holdout}: {held}, {body}")

    def _add(self, shard: Shard, body: dict[str, Any], reply: dict[str, Any], shown: Made | None) -> Made:
        held = shown is None and reply.get("holdout", False)
        event = self._enter(shard, "held_out" if held else "decision", made=False)
        row = self._row_of(reply["decision"])
        if (event.decision, event.key) != (reply["decision"], body.get("key")):
            raise Wrong(f"event {event.seq} of {shard.model.name} is not about {reply['decision']}")
        leader = shard.model.leader or shard.model
        expires = self._at + leader.window if shown is None else shown.expires
        waits = shown is None and leader.default_reward is not None
        if any(each.type == "amended" for each in self._fresh.get(shard.number, ())):
            waits = waits and row.waits  # the row is read after a PATCH of the same batch, which may have cancelled it
        activated = shown is None and body.get("activate", True)
        if (row.expires_at, row.waits, row.shown) != (expires, waits, activated):
            raise Wrong(f"the row of {event.decision} is {row}: expected {(expires, waits, activated)}")
        forwarded = reply.get("forward") if shown is None else row.forwarded
        beside = None if shown is None else shown.id
        made = Made(
            event.decision, shard, event.key, event.seq, self._at, expires, waits, activated, beside, forwarded, reply
        )
        made.holdout, made.rewards, made.unit = held, leader.rewards, body.get("unit")
        asked = ("context", "candidates", "features", "slots")
        made.asked = {name: body[name] for name in asked if body.get(name)}
        shard.decisions += 1
        self.made[made.id] = shard.made[made.id] = made
        return made

    def _known(self, id: str, gone: int = 404) -> tuple[Made | None, set[int]]:
        """A decision, and with what it is refused."""
        made = self.made.get(id)
        if made is None:
            return None, {404}
        if made.gone:
            return made, {gone}
        return made, {409} if made.beside is not None else set()

    def _counts_again(self, made: Made) -> bool:
        """True if a rollback has undone the retraction."""
        if made.retractions and made.retractions[-1][0] <= made.shard.base:
            return False  # what was folded stays as it was then
        return made.version is None and any(version in made.shard.now for version in made.versions)

    def _feedback(self, command: Command) -> None:
        given = command.args["given"]
        made, must = self._known(command.args["decision"])
        if made is None or must:
            self._judge(command, must)
            return
        shard, impossible = made.shard, command.args["impossible"] or made.forwarded is False
        late = self._at > made.expires
        again = self._counts_again(made) and made.outcome is None
        waits = made.reports or set(made.by_slot(given)) != set(made.slots)
        if made.rewards != "first" or (made.slots and waits and (made.outcome is None or made.reports)):
            self._report(command, made, again=again, late=late or made.outcome is not None)
            return
        if made.outcome in ("learnt", "recorded", "late"):
            expected = "late" if made.outcome == "late" else "duplicate"
            # A worker that has not read the answer yet looks at the new one first.
            may = {422} if self._shared and impossible else set()
            if self._judge(command, {409} | may if made.given != given else set()):
                self._replied(command, made, expected)
            return
        if made.outcome in ("expired", "refused") and made.late_given is not None:
            may = {422} if self._shared and impossible else set()
            if self._judge(command, {409} | may if made.late_given != given else set()):
                self._replied(command, made, "late")
            return
        if again and not shard.promoted:
            if self._judge(command, set()):
                self._replied(command, made, "duplicate")
            return
        if not self._judge(command, {422} if impossible else set()):
            return
        if again and self._next(shard) is None:
            self._replied(command, made, "duplicate")
            return
        shard.answered += 1
        if made.outcome in ("expired", "refused"):
            event = self._enter(shard, "feedback", made=False)
            made.late_given = given
            shard.late += 1
            self._replied(command, made, "late")
            return
        recorded = made.holdout and not late
        event = self._enter(shard, "recorded" if recorded else "feedback", made=not late and not recorded)
        made.given, made.shown, made.answered_at = given, True, event.at
        made.outcome, made.version = "late" if late else "recorded" if recorded else "learnt", event.made
        shard.late += late
        self._replied(command, made, made.outcome)
        if made.version is not None:
            made.versions.append(event.made)
            self._passed_on(made)
        if event.decision != made.id or event.key != made.key:
            raise Wrong(f"event {event.seq} of {shard.model.name} is not about {made.id}")

    def _report(self, command: Command, made: Made, *, again: bool, late: bool) -> None:
        """One of several reports on a decision."""
        shard, given = made.shard, command.args["given"]
        if given in made.reports:
            if self._judge(command, set()):
                self._replied(command, made, "duplicate")
            return
        used = [each["id"] for each in made.reports if "id" in each]
        if given.get("id") in used:
            self._judge(command, {409})
            return
        if again and not shard.promoted:
            if self._judge(command, set()):
                self._replied(command, made, "duplicate")
            return
        once = made.slots and made.rewards == "first"
        clash = once and any(made.reported(slot) for slot in made.by_slot(given))
        if not self._judge(command, {422} if command.args["impossible"] else {409} if clash else set()):
            return
        if again and self._next(shard) is None:
            self._replied(command, made, "duplicate")
        elif not late:
            shard.answered += not made.answered
            event = self._enter(shard, "reported", made=False)
            if event.decision != made.id or event.key != made.key:
                raise Wrong(f"event {event.seq} of {shard.model.name} is not about {made.id}")
            made.reports.append(given)
            made.shown = True
            if given.get("final") or (once and all(map(made.reported, made.slots))):
                self._settle(made)
            self._replied(command, made, "learnt" if made.outcome == "learnt" else "recorded")
        elif made.outcome == "late" or made.late_given is not None:
            self._replied(command, made, "late")
        else:
            shard.answered += not made.answered
            shard.late += 1
            self._enter(shard, "feedback", made=False)
            if made.outcome is None:
                made.outcome, made.given, made.shown = "late", given, True
            else:
                made.late_given = given
            self._replied(command, made, "late")

    def _replied(self, command: Command, made: Made, status: str) -> None:
        reply = command.reply
        if (reply["status"], reply["model_version"]) != (status, made.shard.version):
            raise Wrong(f"expected {status} at version {made.shard.version}: {command}")

    def _shown(self, command: Command) -> None:
        made, must = self._known(command.args["decision"])
        if not self._judge(command, must) or made is None:
            return
        expected = "duplicate" if made.shown else "late" if self._at > made.expires else "shown"
        if command.reply["status"] != expected:
            raise Wrong(f"expected {expected}: {command}")
        if expected == "shown":
            self._enter(made.shard, "shown", made=False)
            made.shown = True

    def _teach(self, command: Command) -> None:
        model, body = self.models.get(command.args["model"]), command.args["body"]
        must: set[int] = {404} if model is None else {409} if model.archived else set()
        known = model.calls.get(body["id"]) if model is not None and "id" in body else None
        if known is not None and not must and known[0] != body:
            must = {409}
        if not self._judge(command, must, (422,)) or model is None:
            return
        if known is not None:
            shard = known[1]
        else:
            new = [each for each in model.shards if (head := self._next(each)) is not None and head.type == "taught"]
            if not new:
                raise Wrong(f"nothing was written: {command}")
            shard = new[0]
            event = self._enter(shard, "taught", made=True)
            key = body.get("key")
            if event.key != key or model.homes.setdefault(key, shard) is not shard:
                raise Wrong(f"the examples of key {key!r} went to key {event.key!r} of shard {shard.part}")
            if "id" in body:
                model.calls[body["id"]] = (body, shard, event.seq)
        if (command.reply["taught"], command.reply["model_version"]) != (len(body["examples"]), shard.version):
            raise Wrong(f"expected {len(body['examples'])} examples at version {shard.version}: {command}")

    def _patch(self, command: Command) -> None:
        model, changes = self.models.get(command.args["model"]), command.args["changes"]
        must: set[int] = {404} if model is None else {409} if model.archived else set()
        if model is not None and not must and model.leader is not None and not {"explore", "safe"} & changes.keys():
            must = {422}
        if not self._judge(command, must, (422,)) or model is None:
            return
        new = {"window": changes.get("window_s", model.window)}
        new["default_reward"] = changes.get("default_reward", model.default_reward)
        labels = [each for each in changes.get("add_labels", ()) if each not in model.labels]
        if "holdout" in changes:
            before, after = model.holdout, command.reply["holdout"]
            if (after is None) is not (changes["holdout"] is None):
                raise Wrong(f"whether there is a holdout: {command}")
            if before is not None and after is not None and before["salt"] != after["salt"]:
                raise Wrong(f"the salt of the holdout has changed: {command}")
            model.holdout = after
            for shard in model.shards:
                self._optional(shard, "amended", most=1)
        if "safe" in changes:
            if command.reply["safe"] != changes["safe"]:
                raise Wrong(f"the safe setting: {command}")
            for shard in model.shards:
                self._optional(shard, "amended", most=1)
        changed = bool(labels) or any(getattr(model, name) != value for name, value in new.items())
        explores = "explore" in changes and changes["explore"] != model.explore
        model.explore = changes.get("explore", model.explore)
        for each in (model, *model.followers):
            each.labels += labels
            for shard in each.shards:
                events = self._optional(shard, "amended", most=1) if changed or explores else []
                if each is model and changed and not events:
                    raise Wrong(f"{model.name} has no amendment: {command}")
                if model.default_reward is not None and new["default_reward"] is None:
                    for made in shard.made.values():
                        made.waits = made.waits and made.outcome is not None
        for each in (model, *(follower for follower in model.followers if not follower.archived)):
            each.window, each.default_reward = new["window"] or 0.0, new["default_reward"]
        if command.reply["window_s"] != model.window or command.reply["default_reward"] != model.default_reward:
            raise Wrong(f"it should be in force: {command}")

    def _archive(self, command: Command) -> None:
        self._mark(command, "archived", archived=True)

    def _revive(self, command: Command) -> None:
        self._mark(command, "revived", archived=False)

    def _mark(self, command: Command, type: str, *, archived: bool) -> None:
        model = self.models.get(command.args["model"])
        may = (409,) if model is not None and model.leader is not None and not archived else ()
        if not self._judge(command, {404} if model is None else set(), may) or model is None:
            return
        if model.archived is not archived:
            for shard in model.shards:
                self._enter(shard, type, made=False)
        model.archived = archived
        if (command.reply["archived_at"] is not None) is not archived:
            raise Wrong(f"whether it is archived: {command}")

    def _rename(self, command: Command) -> None:
        model, to = self.models.get(command.args["model"]), command.args["to"]
        must: set[int] = {404} if model is None else {409} if not model.archived or to in self.models else set()
        if self._judge(command, must) and model is not None:
            for shard in model.shards:
                self._enter(shard, "renamed", made=False)
            self.models[to] = self.models.pop(model.name)
            model.name = to

    def _copy(self, command: Command) -> None:
        source, to = self.models.get(command.args["model"]), command.args["to"]
        must: set[int] = {404} if source is None else {409} if to in self.models else set()
        if self._judge(command, must) and source is not None:
            model = self._begin(to, command.args["spec"], command.reply)
            for shard, other in zip(model.shards, source.shards, strict=True):
                events = self._optional(shard, "imported")
                brought = [event.key for event in events if event.key is not None]
                if command.args["learnt"] and source.keyed and sorted(brought) != sorted(other.keys):
                    raise Wrong(f"the copy has the keys {sorted(brought)} and its source {sorted(other.keys)}")
                if command.args["learnt"]:
                    other.heirs.append(shard)
                if not command.args["learnt"] and events:
                    raise Wrong(f"the copy was to be without what was learnt: {command}")

    def _import(self, command: Command) -> None:
        to = command.args["to"]
        model = self.models.get(to)  # one that is empty, and has the same settings, is filled
        full = model is not None and any(shard.version or shard.decisions for shard in model.shards)
        if self._judge(command, {409} if full else set(), (409,) if model is not None else ()):
            model = model or self._begin(to, command.args["spec"], command.reply)
            for shard in model.shards:
                self._optional(shard, "imported")

    def _promote(self, command: Command) -> None:
        model = self.models.get(command.args["model"])
        must: set[int] = {404} if model is None else {422} if model.leader is None else set()
        if model is not None and model.leader is not None and (model.archived or model.leader.archived):
            must = {409}
        if not self._judge(command, must) or model is None or model.leader is None:
            return
        for shard, other in zip(model.leader.shards, model.shards, strict=True):
            other.heirs.append(shard)
            shard.promoted.append(self._enter(shard, "promoted", made=True).made)
            self._optional(shard, "promoted", "imported", keyed=True)
        total = sum(shard.version for shard in model.leader.shards)
        if (command.reply["champion"], command.reply["model_version"]) != (model.leader.name, total):
            raise Wrong(f"expected version {total}: {command}")

    def _retract(self, command: Command) -> None:
        made, must = self._known(command.args["decision"], gone=409)
        if made is not None and not must:
            shard = made.shard
            version = made.version
            if made.reports and made.outcome is None:
                if self._judge(command, set()):
                    self._enter(shard, "withdrawn", made=False)
                    shard.answered -= made.answered
                    made.reports = []
                    if command.reply["model_version"] != shard.version:
                        raise Wrong(f"expected version {shard.version}: {command}")
                return
            if version not in shard.now or any(version < each and each in shard.now for each in shard.promoted):
                must = {409}
        promoted = made is not None and any(other.promoted for other in self._others(made.shard))
        if not self._judge(command, must, (409,) if promoted else ()) or made is None:
            return
        self._retracted(made)
        for shard in self._others(made.shard):
            head = self._next(shard)
            if head is not None and head.type == "retracted" and self.made[head.decision].beside == made.id:
                self._retracted(self.made[head.decision])
        if command.reply["model_version"] != made.shard.version:
            raise Wrong(f"expected version {made.shard.version}: {command}")

    def _retracted(self, made: Made) -> None:
        shard = made.shard
        event = self._enter(shard, "retracted", made=True)
        shard.counts[event.made] = shard.now - {made.version}
        shard.answered -= made.answered
        made.waits = made.waits and made.outcome != "expired"
        made.retractions.append((event.seq, event.made))
        made.late_retracted += made.outcome == "late" or made.late_given is not None
        made.given = made.late_given = made.outcome = made.version = None
        made.reports = []

    def _rollback(self, command: Command) -> None:
        model, version, then = self.models.get(command.args["model"]), command.args["version"], command.args["then"]
        must, targets = set[int](), list[int]()
        if model is None:
            must = {404}
        elif version is not None and (len(model.shards) > 1 or version > model.shards[0].version):
            must = {422}
        elif then is not None:
            for shard in model.shards:
                past = [entry for entry in shard.log if entry[5] <= then]
                if not past:
                    must = {422}
                targets.append(max([entry[4] or 0 for entry in past], default=0))
        else:
            targets = [version]
        based = model is not None and any(shard.base for shard in model.shards)
        if not self._judge(command, must, (409, 422) if based else ()) or model is None:
            return
        for shard, to in zip(model.shards, targets, strict=True):
            event = self._enter(shard, "rolled_back", made=True)
            if not (based and then is not None):
                shard.counts[event.made] = shard.counts[to] | {event.made}
        if command.reply["model_version"] != sum(shard.version for shard in model.shards):
            raise Wrong(f"the version should be {sum(shard.version for shard in model.shards)}: {command}")

    def _forget(self, command: Command) -> None:
        model, key = self.models.get(command.args["model"]), command.args["key"]
        if model is None:
            self._judge(command, {404})
            return
        if not model.keyed:
            self._forget_unit(command, model, key)
            return
        based = any(shard.base for shard in self.shards.values())
        knows = any(key in shard.keys for each in (model, *model.followers) for shard in each.shards)
        # A copy, or its base, may know a person that the model itself never heard of since it forgot them.
        may = (409, 404) if based else () if knows else (404,)
        if not self._judge(command, set(), may):
            return
        reached = [shard for each in (model, *model.followers) for shard in each.shards]
        for shard in reached:  # grows meanwhile
            reached += [heir for heir in shard.heirs if heir not in reached]
        erased: dict[str, int] = {}
        for shard in (shard for shard in reached if key in shard.keys):
            self._optional(shard, "retained", most=1)  # a base that holds nothing of the key any more
            if (head := self._next(shard)) is None or head.type != "erased":
                raise Wrong(f"{shard.model.name} has not forgotten {key!r}: {command}")
            count = self._erase(shard, key)
            erased[shard.model.name] = erased.get(shard.model.name, 0) + count
        own = sum(erased.pop(each.name, 0) for each in (model, *model.followers))
        if not based and (command.reply["forgotten"], command.reply["copies"]) != (own, erased):
            raise Wrong(f"{own} events, and {erased} of copies, should be erased: {command}")

    def _forget_unit(self, command: Command, model: Model, unit: str) -> None:
        """A unit of a model without keys: its decisions, what came of them, and those next to them."""
        shards = [shard for each in (model, *model.followers) for shard in each.shards]
        made = [each for shard in shards for each in shard.made.values()]
        gone = [each for each in made if each.unit == unit]
        must = set[int]()
        if model.leader is not None or any(self._has_foreign_past(shard) for shard in shards):
            must = {409}
        elif not gone:
            must = {404} if any(each.unit is not None for each in made) else {422}
        if not self._judge(command, must):
            return
        ids, count = {each.id for each in gone}, 0
        for shard in shards:
            own = {entry[0] for entry in shard.log if entry[2] in ids or shard.chosen.get(entry[0]) in ids}
            if own:
                self._enter(shard, "erased", made=True)
                self._erase_events(shard, own, [each for each in gone if each.shard is shard])
            count += len(own)
        if (command.reply["forgotten"], command.reply["copies"]) != (count, {}):
            raise Wrong(f"{count} events should be erased: {command}")
        if command.reply["model_version"] != sum(shard.version for shard in model.shards):
            raise Wrong(f"the version should be {sum(shard.version for shard in model.shards)}: {command}")

    def _has_foreign_past(self, shard: Shard) -> bool:
        """True if its beginning was folded, or it shares what it has learned with other models."""
        return bool(shard.base or shard.promoted or shard.heirs) or any(
            shard in other.heirs for other in self.shards.values()
        )

    def _erase(self, shard: Shard, key: str) -> int:
        if key not in shard.keys:
            raise Wrong(f"{shard.model.name} has forgotten {key!r}, of whom it knew nothing")
        own = {entry[0] for entry in shard.log if entry[3] == key}
        self._enter(shard, "erased", made=True)
        self._erase_events(shard, own, [made for made in shard.made.values() if made.key == key])
        shard.keys.discard(key)
        for model in self.models.values():
            model.calls = {
                name: call for name, call in model.calls.items() if call[1] is not shard or call[0].get("key") != key
            }
        return sum(seq > shard.base for seq in own)

    def _erase_events(self, shard: Shard, own: set[int], decisions: list[Made]) -> None:
        """Erase events of a shard, and the decisions that are among them."""
        shard.log = [
            entry if entry[0] not in own else (entry[0], "erased", None, None, *entry[4:]) for entry in shard.log
        ]
        for made in decisions:
            if not made.gone:  # what was folded is counted for good: nobody knows any more whose it was
                shard.decisions -= 1
                shard.answered -= made.answered
                shard.late -= made.outcome == "late" or made.late_given is not None
                shard.late -= made.late_retracted
            del shard.made[made.id], self.made[made.id]
            self.forgotten.add(made.id)
        for model in self.models.values():
            stay = {name: said for name, said in model.requests.items() if said[1]["decision"] in self.made}
            model.requests = stay

    def _stage(self, command: Command) -> None:
        self._judge(command, set(), (503,))

    def _retain(self, command: Command) -> None:
        if not self._judge(command, set(), (503,)):
            return
        shard = self.shards[command.args["shard"]]
        command.args["place"] = (shard.model.name, shard.part)  # it may have been renamed since it was planned
        self._enter(shard, "retained")
        shard.base = command.reply["base"]

    def retained(self, is_gone: Callable[[str], bool], now: float) -> None:
        """After retention: open decisions are still there, and so are those that later events are about."""
        for shard in self.shards.values():
            if not shard.base:
                continue
            later = {entry[2] for entry in shard.log if entry[0] > shard.base}
            for made in shard.made.values():
                if made.gone or made.seq > shard.base:
                    continue
                made.gone = is_gone(made.id)
                is_open = made.outcome is None and made.expires >= now and made.beside is None
                if made.gone and (is_open or made.due or made.id in later):
                    raise Wrong(f"retention has erased {made.id}, which is open, or has later events: {made}")
            for model in self.models.values():
                model.requests = {
                    name: said
                    for name, said in model.requests.items()
                    if said[1]["decision"] in self.made and not self.made[said[1]["decision"]].gone
                }
                model.calls = {name: call for name, call in model.calls.items() if call[2] > call[1].base}

    # What can be read

    def glance(self, model: Model) -> Glance:
        """Expected reply to GET /v1/models/NAME at any time: the last field has the open decisions and their expiry."""
        shards = model.shards
        waiting = [
            (made.expires, made.shown)
            for shard in shards
            for made in shard.made.values()
            if made.outcome is None
            and made.beside is None
            and made.forwarded is not False
            and not made.gone
            and not made.reports
        ]
        return (
            [shard.version for shard in shards],
            sum(shard.decisions for shard in shards),
            sum(shard.answered for shard in shards),
            sum(shard.late for shard in shards),
            sum(len(shard.keys) for shard in shards) if model.keyed else 0,
            waiting,
        )

    def _answer_erased(self, made: Made) -> bool:
        """True if retention has erased the event that closed a decision: later events are about it, so it stays."""
        type = "settled" if made.reports else "expired" if made.outcome in ("expired", "refused") else "feedback"
        closed = [seq for seq, kind, decision, *_ in made.shard.log if kind == type and decision == made.id]
        return bool(closed) and max(closed) <= made.shard.base

    def story(self, id: str, now: float) -> dict[str, Any] | None:
        """Expected reply to GET /v1/decisions/ID; None if it is an error."""
        made = self.made.get(id)
        if made is None or made.gone:
            return None
        shard, over = made.shard, now > made.expires
        learnt, why = made.version, None
        if self._counts_again(made):
            learnt = max(version for version in made.versions if version in shard.now)
        if made.version is not None and made.version not in shard.now:
            why = "a rollback undid it"
        elif made.holdout:
            why = "holdout"
        elif made.outcome == "late":
            why = "the feedback came after the window"
        elif made.outcome == "refused":
            why = "nobody answered, and the learner refused"
        elif made.outcome is None:
            why = "no feedback came within the window" if over else "no feedback has come yet"
            if self._counts_again(made):
                why = "its feedback was retracted, and a rollback undid that"
            elif made.beside is not None:
                why = "it was made next to"
            elif made.reports:
                why = "its reports are recorded"
            elif any(seq > shard.base and version in shard.now for seq, version in made.retractions):
                why = "the feedback was retracted"
            elif not made.shown:
                why = "it was never shown" if over else "it has not been shown yet"
        feedback = made.given if made.beside is None else None
        if made.outcome in ("expired", "refused"):
            feedback = {"default_reward": made.worth}
        elif made.reports and made.outcome is not None:
            feedback = {"rewards" if made.slots else "reward": made.worth}
        if made.outcome is not None and self._answer_erased(made):
            feedback = None
        return {
            "decision": id,
            "model": shard.model.name,
            "key": made.key,
            "made_at": self._stamp(made.at),
            "expires_at": self._stamp(made.expires),
            "feedback": feedback,
            "learnt_version": learnt,
            "why_not": why,
            "holdout": made.holdout,
        }


def _check_answer(spec: Spec, body: dict[str, Any], reply: dict[str, Any]) -> None:
    """An answer is one of those that there can be."""
    ids = sorted(each["id"] for each in body.get("candidates", body.get("drafts", ())))
    loop, fine = spec.of.loop, True
    if loop == "rank":
        fine = sorted(reply["ranking"]) == ids
        if "chosen" in body:
            fine = fine and reply["ranking"][: len(body["chosen"])] == body["chosen"]
    elif "slots" in body:
        shown = [each["choice"] for each in reply["choices"]]
        fine = [each["slot"] for each in reply["choices"]] == [each["id"] for each in body["slots"]]
        fine = fine and len(set(shown)) == len(shown) and set(shown) <= set(ids) and reply["choice"] == shown[0]
        fine = fine and shown[1] not in body["slots"][1]["exclude"] and body.get("chosen", shown) == shown
    elif loop in ("choose", "draft"):
        fine = reply["choice"] in ids and body.get("chosen", reply["choice"]) == reply["choice"]
        if (shares := reply.get("propensities")) is not None:
            fine = fine and sorted(shares) == ids and abs(sum(shares.values()) - 1.0) < 1e-9
    elif loop == "label":
        fine = body.get("chosen", reply["label"]) == reply["label"]
    elif loop == "filter":
        fine = reply["forward"] is body.get("chosen", reply["forward"])
    elif loop == "tune":
        fine = len(reply["point"]) == 2
    if "chosen" in body:
        fine = fine and reply["propensity"] is None
    if not fine:
        raise Wrong(f"{reply} is no answer to {body}")


def read_glance(glance: Glance | None, now: float) -> dict[str, Any] | None:
    """Expected reply at a moment."""
    if glance is None:
        return None
    versions, decisions, answered, late, keys, waiting = glance
    return {
        "versions": versions,
        "decisions": decisions,
        "answered": answered,
        "late": late,
        "keys": keys,
        "open": sum(shown for expires, shown in waiting if expires >= now),
        "pending": sum(not shown for expires, shown in waiting if expires >= now),
    }
