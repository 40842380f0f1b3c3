"""What the service does, one command at a time. A batch of commands is one transaction: all of it lasts, or none."""

from __future__ import annotations

import hashlib
import logging
import secrets
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from smidgen import records
from smidgen.errors import SmidgenError
from smidgen.service.building import Blueprint, canonical
from smidgen.service.clock import stamp
from smidgen.service.crash_points import reach
from smidgen.service.database import open_database
from smidgen.service.log import Answered, DecisionEvent, Log
from smidgen.service.messages import (
    BatchBody,
    DecisionBody,
    FeedbackBody,
    FeedbackReply,
    ModelBody,
    ModelReply,
    Story,
)
from smidgen.service.quality import at_a_glance
from smidgen.service.refusals import Conflict, Impossible, StorageFailed, Unknown
from smidgen.service.served import LearnerCache, Served
from smidgen.service.snapshots import Snapshots
from smidgen.types import Decision

Reply = dict[str, Any]
_log = logging.getLogger("smidgen.service")


class Engine:
    """Models, decisions and feedback over one database.

    Every public verb may be called within `batch`, which commits once for all of them. A refused command changes
    nothing. If the commit fails, nothing of the batch has happened: memory is read anew from disk.

    Parameters
    ----------
    folder
        The data folder.
    clock
        Seconds since 1970.
    snapshot_every
        Events of a model between two snapshots.
    keyed_in_memory
        How many keyed learners stay in memory.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = 20_000,
        keyed_in_memory: int = 2_000,
        synchronous: str = "FULL",
    ) -> None:
        self.folder = folder
        self.clock = clock
        self._every = snapshot_every
        self.connection = open_database(folder, synchronous=synchronous)
        self.events = Log(self.connection)
        self.snapshots = Snapshots(folder)
        self.learners = LearnerCache(self.events, self.snapshots, keyed_in_memory)
        self.models: dict[str, Served] = {}
        self._by_id: dict[int, Served] = {}
        self._recent: OrderedDict[str, tuple[Decision, list[str]]] = OrderedDict()
        self.written = 0
        self.failed_snapshots = 0
        self._load()

    # The transaction

    def begin(self) -> None:
        """Open a batch."""
        reach("before-begin")
        self.connection.execute("BEGIN IMMEDIATE")
        reach("after-begin")

    def commit(self) -> None:
        """Make the batch last: returns when it is on the disk."""
        reach("before-commit")
        self.connection.execute("COMMIT")
        reach("after-commit")

    def abandon(self) -> None:
        """Undo the batch, on disk and in memory."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self._load()

    def run(self, command: Callable[[], Any]) -> Any:
        """One command as a batch of its own."""
        try:
            self.begin()
            answer = command()
            self.commit()
        except sqlite3.Error as error:
            self.abandon()
            raise StorageFailed(f"the disk refused: {error}", "free some space, then try again") from error
        except BaseException:
            self.abandon()
            raise
        return answer

    def maintain(self, every: int | None = None) -> None:
        """Take the snapshots that are due; between batches, so that no file runs ahead of the log.

        One that fails (the disk is full, say) costs nothing but a longer recovery; it is tried again when the next is
        due.
        """
        for model in self.models.values():
            if model.fresh >= (self._every if every is None else every):
                try:
                    self.snapshot(model)
                except Exception as error:
                    self.failed_snapshots += 1
                    _log.warning("no snapshot of model %s: %s", model.name, error)
                model.fresh = 0

    def snapshot(self, model: Served) -> None:
        """Write the model's learner, or its keyed learners, aside."""
        if model.keyed:
            self._write_keyed(model)
        elif (mark := self.events.mark(model.id, model.seq)) is not None:
            self.snapshots.take(model.id, model.seq, mark, self.learners.get(model, None).learner.to_bytes())

    def _write_keyed(self, model: Served) -> None:
        self.begin()
        try:
            written = self.learners.write_keyed(model)
            self.commit()
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        for held in written:
            held.changed = False

    def close(self) -> None:
        """Take snapshots of what has changed, and close the file."""
        self.maintain(every=1)
        self.connection.close()

    # Models

    def create(self, name: str, body: ModelBody) -> tuple[bool, ModelReply]:
        """Make a model; whether it is new, and the model."""
        if (old := self.models.get(name)) is not None:
            if old.archived_at is not None:
                raise Conflict(f"the model {name!r} is archived", "choose another name; its log stays")
            if canonical(old.blueprint.body) != canonical(body):
                raise Conflict(f"the model {name!r} has other settings", "choose another name, or send the same body")
            return False, self.describe(name)
        blueprint, now = Blueprint(body), self.clock()
        content = canonical(body)
        cursor = self.connection.execute(
            "INSERT INTO models (name, body, created_at) VALUES (?, ?, ?)", (name, content, now)
        )
        model = Served(int(cursor.lastrowid or 0), name, blueprint, now)
        self._enter(model)
        self._append(model, "created", None, None, now, {"model": msgspec.Raw(content)})
        return True, self.describe(name)

    def archive(self, name: str) -> ModelReply:
        """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""
        model = self.model(name)
        if model.archived_at is None:
            model.archived_at = self.clock()
            self.connection.execute("UPDATE models SET archived_at = ? WHERE id = ?", (model.archived_at, model.id))
            self._append(model, "archived", None, None, model.archived_at, {})
        return self.describe(name)

    def model(self, name: str) -> Served:
        """The model of this name."""
        if name not in self.models:
            raise Unknown(f"there is no model {name!r}", "create it first: PUT /v1/models/NAME")
        return self.models[name]

    def describe(self, name: str) -> ModelReply:
        """A model at a glance."""
        return at_a_glance(self.connection, self.model(name))

    # Decisions

    def decide(self, name: str, body: DecisionBody) -> Reply:
        """One decision."""
        return self.decide_all(name, [body])[0]

    def decide_batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        if (body.decisions is None) == (body.features is None):
            raise Impossible("a batch has either decisions or features", 'send {"decisions": […]}')
        if body.decisions is not None:
            if body.key is not None:
                raise Impossible("key stands beside the decisions", "give each decision its own key")
            if body.id is not None:
                raise Impossible("id stands beside the decisions", "give each decision its own id")
            return self.decide_all(name, body.decisions)
        model = self.model(name)
        if model.blueprint.body.loop not in ("label", "filter") or body.features is None:
            raise Impossible("a matrix of decisions is for label and filter", "give candidates to each decision")
        matrix = model.blueprint.translator.vectors.matrix(body.features)
        ids = [None if body.id is None else f"{body.id}.{i}" for i in range(len(matrix))]
        rows = zip(ids, matrix.tolist(), strict=True)
        return self.decide_all(name, [DecisionBody(id=id, key=body.key, features=row) for id, row in rows])

    def decide_all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        model = self.model(name)
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived and decides no more", "create another")
        ready = []
        for index, body in enumerate(bodies):
            with _naming(index, len(bodies)):
                ready.append(self._prepare(model, body))
        replies: list[Reply] = []
        for index, (body, known, context, ids, digest) in enumerate(ready):
            with _naming(index, len(bodies)):
                if known is None and body.id is not None:
                    known = self._known(model, body.id, digest)  # the same id twice in one batch
                replies.append(known if known is not None else self._decide(model, body, context, ids, digest))
        return replies

    def _prepare(self, model: Served, body: DecisionBody) -> tuple[DecisionBody, Reply | None, Any, Any, bytes]:
        """Check a request and make its context, changing nothing."""
        if model.keyed and body.key is None:
            raise Impossible("key is missing", "this model has one learner per key: say whose decision it is")
        if not model.keyed and body.key is not None:
            raise Impossible("this model has no keys", 'leave key out, or create the model with "keyed": true')
        digest = hashlib.sha256(msgspec.json.encode(body, order="deterministic")).digest()
        if body.id is not None and (known := self._known(model, body.id, digest)) is not None:
            return body, known, None, (), digest
        translator = model.blueprint.translator
        translator.check(body)
        context, ids = translator.context(body)
        return body, None, context, ids, digest

    def _known(self, model: Served, request: str, digest: bytes) -> Reply | None:
        known = self.events.requested(model.id, request)
        if known is None:
            return None
        if known[1] != digest:
            raise Conflict(f"the id {request!r} was used for another request", "use a new id for a new decision")
        return self.events.decision(model.id, known[0]).reply

    def _decide(self, model: Served, body: DecisionBody, context: Any, ids: Any, digest: bytes) -> Reply:
        now = self.clock()
        decision = self.learners.get(model, body.key).learner.decide(context)
        name, expires = secrets.token_hex(12), now + model.blueprint.body.window_s
        answer = model.blueprint.translator.answer(decision, ids)
        told = {"explored": decision.explored, "propensity": decision.propensity, "expires_at": stamp(expires)}
        reply = {"decision": name, "model_version": model.version, **told, **answer}
        content = DecisionEvent(decision.number, reply, list(ids), msgspec.Raw(decision.to_json()))
        seq = self._append(model, "decision", name, body.key, now, content)
        self.events.enter(
            {
                "id": name,
                "model": model.id,
                "seq": seq,
                "key": body.key,
                "number": decision.number,
                "made_at": now,
                "expires_at": expires,
                "request_id": body.id,
                "request_hash": digest if body.id is not None else None,
                "explored": decision.explored,
                "forwarded": answer.get("forward"),
            }
        )
        model.decisions += 1
        model.keys += body.key is not None and decision.number == 1
        self._remember(name, decision, list(ids))
        return reply

    # Feedback

    def feedback(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision: once, in time, if it is possible."""
        row = self._row(name, allowed)
        model = self._by_id[row["model"]]
        digest = hashlib.sha256(msgspec.json.encode(body, order="deterministic")).digest()
        if row["status"] is not None:
            if row["feedback_hash"] != digest:
                raise Conflict(f"decision {name} has other feedback already", "the first answer counts")
            status: Any = "duplicate" if row["status"] == "learnt" else "late"
            return FeedbackReply(status=status, model_version=model.version)
        decision, ids = self._decision(name, model.id, row["seq"])
        held = self.learners.get(model, row["key"])
        reaction = model.blueprint.translator.reaction(held.learner, decision, ids, body)
        now = self.clock()
        late = now > row["expires_at"]
        packed = records.pack(reaction.learn)
        if late:
            model.late += 1
        else:
            held.learner.learn(decision, reaction.learn)
            reach("learnt")
            model.version += 1
        status, version = ("late", None) if late else ("learnt", model.version)
        told = Answered(body.given(), status, packed, version)
        seq = self._append(model, "feedback", name, row["key"], now, told)
        if not late:
            held.seq, held.changed = seq, True
        self.events.answer(
            {
                "id": name,
                "feedback_seq": seq,
                "feedback_hash": digest,
                "feedback_at": now,
                "status": status,
                "learnt_version": version,
                "measure": reaction.measure,
                "position": reaction.position,
            }
        )
        self._recent.pop(name, None)
        return FeedbackReply(status=status, model_version=model.version)

    def story(self, name: str, allowed: str | None = None) -> Story:
        """A decision from beginning to end."""
        row = self._row(name, allowed)
        feedback = None
        if row["feedback_seq"] is not None:
            feedback = self.events.answered(row["model"], row["feedback_seq"]).feedback
        why_not = None
        if row["status"] == "late":
            why_not = "the feedback came after the window: it is in the log and was not learnt"
        elif row["status"] is None:
            over = self.clock() > row["expires_at"]
            why_not = "no feedback came within the window" if over else "no feedback has come yet"
        return Story(
            decision=name,
            model=self._by_id[row["model"]].name,
            key=row["key"],
            made_at=stamp(row["made_at"]),
            expires_at=stamp(row["expires_at"]),
            shown=self.events.decision(row["model"], row["seq"]).reply,
            feedback=feedback,
            feedback_at=stamp(row["feedback_at"]) if row["feedback_at"] is not None else None,
            learnt_version=row["learnt_version"],
            why_not=why_not,
        )

    # Rows

    def _load(self) -> None:
        """Read the models from disk; their learners follow when they are needed."""
        self.learners.forget()
        self._recent.clear()
        self.models.clear()
        self._by_id.clear()
        for id, name, body, created, archived in self.connection.execute(
            "SELECT id, name, body, created_at, archived_at FROM models ORDER BY id"
        ).fetchall():
            blueprint = Blueprint(msgspec.json.decode(body, type=ModelBody))
            model = Served(id, name, blueprint, created, archived, **self.events.counts(id))
            newest = next(self.snapshots.of_log(id, self.events), None)
            model.fresh = model.seq - (newest.seq if newest is not None else 0)
            self._enter(model)

    def _enter(self, model: Served) -> None:
        self.models[model.name] = self._by_id[model.id] = model

    def _append(self, model: Served, type: str, decision: str | None, key: str | None, at: float, body: Any) -> int:
        model.seq += 1
        model.fresh += 1
        self.written += 1
        self.events.append(model.id, model.seq, type, decision, key, at, body)
        reach(f"{type}-appended")
        return model.seq

    def _row(self, name: str, allowed: str | None) -> sqlite3.Row:
        row = self.events.row(name)
        if row is None or (allowed is not None and self._by_id[row["model"]].name != allowed):
            raise Unknown(f"there is no decision {name!r}", "use the id that the decision's answer had")
        return row

    def _decision(self, name: str, model: int, seq: int) -> tuple[Decision, list[str]]:
        if (recent := self._recent.get(name)) is not None:
            return recent
        told = self.events.decision(model, seq)
        return told.decision(), told.ids

    def _remember(self, name: str, decision: Decision, ids: list[str]) -> None:
        """Keep the latest decisions, so that quick feedback need not read them back."""
        self._recent[name] = (decision, ids)
        while len(self._recent) > 256:
            self._recent.popitem(last=False)


@contextmanager
def _naming(index: int, of: int) -> Iterator[None]:
    """A refusal of one of several decisions says which."""
    try:
        yield
    except SmidgenError as error:
        if of == 1:
            raise
        refusal = Conflict if isinstance(error, Conflict) else Impossible
        raise refusal(f"decision {index} of the batch: {error.problem}", error.way_out) from error
