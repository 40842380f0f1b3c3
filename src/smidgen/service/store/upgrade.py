"""From the unreleased 0.1 to the present format: every event anew, in its envelope and in the chain.

The new database is made aside and checked: each reply told anew is the old reply, each version the old version, and a
replay from nothing goes through. Only then does it take the place of the old one, which is kept beside it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from smidgen import records
from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.learners import briefs
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.registry import resolved
from smidgen.service.models.served import Served
from smidgen.service.refusals import StorageFailed
from smidgen.service.store import bodies, head, modes
from smidgen.service.store.events import Event
from smidgen.service.store.lock import only_one
from smidgen.service.store.log import EventLog
from smidgen.service.store.old_format import OldDatabase, OldEvent, OldModel, settle
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import Asked, Told
from smidgen.service.store.schema import FILE, NEWEST, OLD, refuse_other
from smidgen.service.store.sqlite import SQLiteStore

#: What the old database is called afterwards.
KEPT = "smidgen-0.1.db"
_ASIDE = "upgrading"
_AT_ONCE = 500  # events in a commit


class Upgraded(NamedTuple):
    """What was converted.

    Attributes
    ----------
    models, events
        How many.
    bytes_before, bytes_after
        Of the database.
    """

    models: int
    events: int
    bytes_before: int
    bytes_after: int


def upgrade(folder: Path, *, check: bool = False) -> Upgraded | None:
    """Convert a data folder of 0.1; None if there is nothing to convert.

    Parameters
    ----------
    folder
        The data folder; no service may be using it.
    check
        Convert into a temporary place and compare, but leave the folder as it is.
    """
    with OldDatabase(folder, mend=not check) as old, _told(folder):
        number = old.schema()
        if number == NEWEST:
            return None
        if number != OLD:
            refuse_other(number, folder)
            raise StorageFailed(f"the database in {folder} is none of smidgen's", "give the --data folder of a service")
    if check:
        with tempfile.TemporaryDirectory() as place:
            return _convert(folder, Path(place), "OFF")
    with only_one(folder):
        aside = folder / _ASIDE
        shutil.rmtree(aside, ignore_errors=True)
        found = _convert(folder, aside, "FULL")
        _exchange(folder, aside)
    return found


def _convert(folder: Path, place: Path, synchronous: str) -> Upgraded:
    store = SQLiteStore(place, synchronous=synchronous)
    try:
        with OldDatabase(folder) as old, _told(folder):
            models = old.models()
            for token in old.tokens():
                _batch(store, token)
            events = sum(_Conversion(store, model).run(old.events(model.id)) for model in models)
            before = old.path.stat().st_size
    finally:
        store.close()
    _refuse_unsound(place)
    return Upgraded(len(models), events, before, (place / FILE).stat().st_size)


class _Conversion:
    """One model's events, written anew.

    Parameters
    ----------
    store
        Where they go.
    old
        The old model.
    """

    def __init__(self, store: Store, old: OldModel) -> None:
        self._store = store
        self._log = EventLog(store)
        self._old = old
        try:
            self._blueprint = Blueprint(msgspec.json.decode(old.body, type=ModelBody))
        except SmidgenError as error:
            raise StorageFailed(f"the model {old.name!r} cannot be taken over: {error.problem}", error.hint) from error
        self._blueprint.guarded = False  # what it has learnt, it learnt without
        self._resolved = resolved(self._blueprint)

    def run(self, events: Iterator[OldEvent]) -> int:
        """Write all of them; how many there are."""
        store, old = self._store, self._old
        store.begin()
        row = store.create(old.name, old.body, self._resolved, old.created_at)
        model = Served(row.id, old.name, row.slot, self._blueprint, old.created_at)
        done = 0
        for event in events:
            self._take(model, event)
            done += 1
            if done % _AT_ONCE == 0:
                store.commit()
                store.begin()
        if old.archived_at is not None:
            store.archive(row.id, old.archived_at)
        store.commit()
        return done

    def _take(self, model: Served, event: OldEvent) -> None:
        if event.type == "decision":
            seq = self._decision(model, event)
        elif event.type == "feedback":
            seq = self._feedback(model, event)
        else:
            fields = event.body | ({"resolved": self._resolved} if event.type == "created" else {})
            seq = self._store.append(model.slot, event.type, event.at, bodies.write(fields) if fields else None)
        self._hold(seq == event.seq, event, f"is the {seq}. of its log")

    def _decision(self, model: Served, event: OldEvent) -> int:
        body, row, window = event.body, event.row, self._blueprint.terms.window_s
        made = Decision.of(records.unpack(body["record"]))
        reply, ids = body["reply"], body["ids"]
        content = bodies.DecisionBody(body["number"], reply["model_version"], window, ids, briefs.write(made))
        asked = Asked(
            event.decision or "",
            event.at,
            event.at + window,
            event.key,
            body["number"],
            row["request"],
            row["request_hash"][:16] if row["request_hash"] is not None else None,
            bool(row["explored"]),
            bool(row["forwarded"]) if row["forwarded"] is not None else None,
            bodies.write(content),
        )
        seq = self._store.decided(model.slot, [asked])
        envelope = self._store.event(model.slot, seq)
        self._hold(
            envelope is not None and self._reply(model, envelope) == reply and asked.expires_at == row["expires_at"],
            event,
            "would tell another reply",
        )
        return seq

    def _reply(self, model: Served, envelope: Event) -> Any:
        """What is told of a decision today, without what 0.1 did not tell."""
        told = msgspec.to_builtins(self._log.told(model, envelope).reply)
        return {field: value for field, value in told.items() if field != "model"}

    def _feedback(self, model: Served, event: OldEvent) -> int:
        body, row = event.body, event.row
        content = bodies.FeedbackBody(body["feedback"], records.encode(records.unpack(body["learn"])))
        hashed = row["feedback_hash"][:16]
        told = Told(
            event.decision or "", event.at, event.key, hashed, row["measure"], row["position"], bodies.write(content)
        )
        (verdict,) = self._store.answered(model.slot, [told])
        same = verdict.status == body["status"] and (
            verdict.status != "learnt" or verdict.version == body["model_version"]
        )
        self._hold(same, event, f"was {body['status']} and would be {verdict.status}")
        return verdict.seq or 0

    def _hold(self, fact: bool, event: OldEvent, what: str) -> None:
        if not fact:
            raise StorageFailed(
                f"event {event.seq} of the model {self._old.name!r} {what}", "the folder is left as it was; report this"
            )


def _batch(store: Store, token: Any) -> None:
    store.begin()
    store.add_token(token)
    store.commit()


def _refuse_unsound(place: Path) -> None:
    """Replay every model of the new database from nothing."""
    from smidgen.service.insight.audit import audit_model
    from smidgen.service.store.inspection import Inspection

    with Inspection(place) as seen:
        for model in seen.models():
            if problems := audit_model(seen, model).problems:
                raise StorageFailed(
                    f"the model {model.name!r} would not be sound: {problems[0]}",
                    "the folder is left as it was; report this",
                )


def _exchange(folder: Path, aside: Path) -> None:
    """Put the new database in the place of the old one, which stays under another name; states are made anew."""
    settle(folder)
    settle(aside)
    (folder / KEPT).unlink(missing_ok=True)
    os.link(folder / FILE, folder / KEPT)
    (aside / FILE).replace(folder / FILE)
    if (aside / head.NAME).exists():
        (aside / head.NAME).replace(folder / head.NAME)
    shutil.rmtree(folder / "snapshots", ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)
    modes.sync_folder(folder)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """A file that cannot be read is told in one line."""
    try:
        yield
    except (sqlite3.Error, OSError, msgspec.DecodeError, KeyError) as error:
        raise StorageFailed(
            f"the database in {folder} cannot be converted: {error}", "restore it from a backup"
        ) from error
