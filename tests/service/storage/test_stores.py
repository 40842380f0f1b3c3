"""The shipped contract, over our own stores; and stores that break it, each in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import smidgen
from service.bodies import MODELS, log_of, model, play
from service.memory import CommittedTables, MemoryStore
from service.memory.reads import MemoryReader
from smidgen.service.engine.engine import Engine
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState
from smidgen.service.log.events import START, Chain, Event, chain_digest, content_digest, erase_event
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import (
    Counts,
    DecisionRow,
    NewDecision,
    NewExpiry,
    NewFeedback,
    TokenRow,
    WriteResult,
)
from smidgen.service.storage.sqlite import SQLiteStore
from smidgen.testing import check_store


def test_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    check_store(lambda: SQLiteStore(tmp_path / "data", synchronous="OFF"))


def test_memory_keeps_the_contract() -> None:
    shelf = CommittedTables()
    check_store(lambda: MemoryStore(shelf))


class Forgets(MemoryStore):
    def commit(self) -> None:
        self._changes = None


class Dirty(MemoryStore):
    def reader(self) -> StoreReader:
        return MemoryReader(self._tables, self._lock)


class Hasty(MemoryReader):
    def snapshot(self) -> AbstractContextManager[None]:
        return nullcontext()


class Restless(MemoryStore):
    def reader(self) -> StoreReader:
        return Hasty(self.shelf.tables, self.shelf.lock)


class NeverUndoes(MemoryStore):
    def rollback_to_savepoint(self) -> None:
        self.release()


class UndoesAll(MemoryStore):
    def rollback_to_savepoint(self) -> None:
        self._back_to(0)


class NeverRollsBack(MemoryStore):
    def rollback(self) -> None:
        if self._changes is not None:
            self.commit()


class LearnsTwice(MemoryStore):
    def _write_answer(self, shard: int, counts: Counts, row: NewFeedback) -> WriteResult:
        made = self._tables.decisions.get(row.decision)
        if made is not None:
            self._tables.decisions[row.decision] = made._replace(feedback_seq=None)
        return super()._write_answer(shard, counts, row)


class NeverLate(MemoryStore):
    def _write_answer(self, shard: int, counts: Counts, row: NewFeedback) -> WriteResult:
        return super()._write_answer(shard, counts, row._replace(at=0.0))


class TakesAnyRequest(MemoryStore):
    def write_decisions(self, shard: int, rows: Sequence[NewDecision]) -> int:
        for row in rows:
            self._tables.requests.pop((shard, row.request or ""), None)
        return super().write_decisions(shard, rows)


class NoChain(MemoryStore):
    def events(self, *arguments: Any, **named: Any) -> list[Event]:
        return [event._replace(chain=bytes(16)) for event in super().events(*arguments, **named)]


class CountsAnew(MemoryStore):
    def counts(self, shard: int) -> Counts | None:
        self._live.pop(shard, None)
        return super().counts(shard)


class OtherOrder(MemoryStore):
    def changes(self, *arguments: Any) -> Any:
        return iter(sorted(super().changes(*arguments), key=lambda step: step[1].seq))


class NoStates(MemoryStore):
    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        return True


class AllTokens(MemoryStore):
    def revoke_token(self, id: str, at: float) -> bool:
        return True


class WrongSums(MemoryStore):
    def query(self, *arguments: Any, **values: Any) -> list[tuple[Any, ...]]:
        return super().query(*arguments, **values)[::-1]


class LearnsSilenceAgain(MemoryStore):
    def write_expiries(self, shard: int, rows: Sequence[NewExpiry]) -> list[WriteResult]:
        found = super().write_expiries(shard, rows)
        return [found[0], *(verdict._replace(status="learnt") for verdict in found[1:])]


class AllAreDue(MemoryStore):
    def due_decisions(self, now: float, limit: int = 1000) -> list[DecisionRow]:
        return [row for row in self._tables.decisions.values() if row.expires_at < now][:limit]


class ShownForEver(MemoryStore):
    def mark_shown(self, shard: int, decision: str, at: float, key: str | None) -> bool | None:
        return super().mark_shown(shard, decision, min(at, 50.0), key)


class StaysClosed(MemoryStore):
    def write_retraction(self, shard: int, decision: str, at: float, key: str | None) -> WriteResult:
        before = self._tables.decisions.get(decision)
        verdict = super().write_retraction(shard, decision, at, key)
        if before is not None:
            self.update_decision(decision, version=before.version)
        return verdict


class OnlyItsOwn(MemoryStore):
    def changes(self, shard: int, after: int = 0, key: str | None = None) -> Iterator[tuple[Event, Event | None]]:
        return (step for step in super().changes(shard, after, key) if key is None or step[0].key == key)


class ForgetsSettings(MemoryStore):
    def amend(self, model: int, resolved: dict[str, Any]) -> None:
        self._tables.models[model] = self._tables.models[model]._replace(resolved=resolved)


class Orphans(MemoryStore):
    def derive(self, shard: int, source: int, seq: int) -> None:
        return


class Homonyms(MemoryStore):
    def rename(self, model: int, name: str) -> None:
        row = self._tables.models[model]._replace(name=name)
        self._do(lambda tables: tables.models.__setitem__(model, row))


class StagesInPublic(MemoryStore):
    def checkpoint_state(self, shard: int, key: str | None) -> CheckpointState | None:
        found = self._tables.base_states.get((shard, key))
        return found[-1] if found else None


class NeverTidies(MemoryStore):
    def purge(self, limit: int) -> bool:
        return False


class ErasesTooMuch(MemoryStore):
    def write_checkpoint(self, shard: int, base: Checkpoint, carried: Sequence[CarriedDecision], at: float) -> int:
        return super().write_checkpoint(shard, base, [], at)


class TeachesTwice(MemoryStore):
    def write_follower_update(self, shard: int, row: NewFeedback) -> WriteResult:
        made = self._tables.decisions.get(row.decision)
        if made is not None and made.beside is not None and made.shard == shard:
            self.update_decision(row.decision, feedback_seq=None)
        return super().write_follower_update(shard, row)


class NoFollowers(MemoryStore):
    def follower_decisions(self, decision: str) -> list[DecisionRow]:
        return []


class NeverGrants(MemoryStore):
    def lease(self, owner: str, seconds: float, *shards: int) -> dict[int, int]:
        return {}


class FencesItsOwner(MemoryStore):
    def publish(self, shard: int, key: str | None, seq: int, content: bytes, epoch: int | None = None) -> bool:
        return super().publish(shard, key, seq, content) and epoch is None


BROKEN: dict[type[MemoryStore], str] = {
    NeverGrants: "a shard that nobody owns is granted",
    FencesItsOwner: "its owner publishes",
    TeachesTwice: "a follower's decision is taught once",
    NoFollowers: "the decisions next to the one shown are found by it",
    Forgets: "a rollback takes",
    Restless: "all answers within a moment",
    Dirty: "does not see what is not committed",
    NeverUndoes: "takes only itself back",
    UndoesAll: "takes only itself back",
    NeverRollsBack: "a rollback takes",
    LearnsTwice: "duplicate",
    NeverLate: "late",
    TakesAnyRequest: "not entered twice",
    NoChain: "the chain of digests holds",
    CountsAnew: "one object",
    OtherOrder: "order of the feedback",
    NoStates: "states are kept",
    AllTokens: "not revoked twice",
    WrongSums: "the question",
    LearnsSilenceAgain: "silence is learnt once",
    AllAreDue: "what is due",
    ShownForEver: "not after its window",
    StaysClosed: "open again",
    OnlyItsOwn: "of a key",
    ForgetsSettings: "put in force",
    Orphans: "knows where it is from",
    Homonyms: "not given twice",
    StagesInPublic: "nobody sees it",
    NeverTidies: "step by step",
    ErasesTooMuch: "carried",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_store_is_reported_in_a_sentence(broken: type[MemoryStore]) -> None:
    shelf = CommittedTables()
    with pytest.raises(AssertionError) as caught:
        check_store(lambda: broken(shelf))
    assert re.search(BROKEN[broken], str(caught.value)), str(caught.value)
    assert len(str(caught.value).split()) > 3


#: Models whose logs hold no salt of chance, as those do that keep no texts.
UNSALTED = [name for name, body in MODELS.items() if body.get("keep_texts", True)]


@pytest.mark.parametrize("name", UNSALTED)
def test_an_engine_on_memory_is_the_engine_on_disk(name: str, tmp_path: Path) -> None:
    assert log_of(tmp_path, name) == log_of(MemoryStore(CommittedTables()), name)


def test_an_engine_on_memory_goes_on_after_a_crash() -> None:
    shelf = CommittedTables()
    engine = Engine(MemoryStore(shelf))
    engine.create("rank", model(MODELS["rank"]))
    play(engine, ["rank"], 40, seed=1)
    known = engine.learners.get(engine.models["rank"], None).learner.to_bytes()
    engine.begin()
    engine.archive("rank")  # never committed
    again = Engine(MemoryStore(shelf))
    assert again.models["rank"].archived_at is None
    assert again.learners.get(again.models["rank"], None).learner.to_bytes() == known


def test_a_store_says_when_it_is_used_without_a_batch() -> None:
    store = MemoryStore()
    with pytest.raises(RuntimeError, match="no batch is open"):
        store.add_token(TokenRow("a", b"", "", None, 0.0, None))
    store.begin()
    with pytest.raises(RuntimeError, match="open already"):
        store.begin()


def test_no_sql_outside_of_the_store() -> None:
    """The rest of the package knows neither SQLite nor SQL."""
    root = Path(smidgen.__file__).parent
    files = [path for path in root.rglob("*.py") if path.relative_to(root).parts[:2] != ("service", "storage")]
    assert len(files) > 200
    found = [path for path in files if re.search(r"\.execute(many|script)?\(|\bsqlite3\b", path.read_text())]
    assert found == []


def test_erasing_keeps_the_chain(tmp_path: Path) -> None:
    engine = Engine(tmp_path, synchronous="OFF")
    engine.create("rank", model(MODELS["rank"]))
    play(engine, ["rank"], 20, seed=1)
    events = engine.store.events(1)
    engine.store.close()
    assert Chain().check_all(events) is None
    gone = [erase_event(event) if event.seq in (3, 4, len(events)) else event for event in events]
    assert Chain().check_all(gone) is None
    assert {(event.type, event.key, event.decision, event.salt) for event in gone[2:4]} == {
        ("erased", None, None, None)
    }
    for damage in (
        lambda event: event._replace(body=b"0" * 16),
        lambda event: event._replace(body=None),
        lambda event: event._replace(chain=b"0" * 16),
        lambda event: event._replace(seq=event.seq + 1),
    ):
        assert Chain().check_all([*gone[:2], damage(gone[2]), *gone[3:]]) is not None
    for damage in (
        lambda event: event._replace(salt=None),
        lambda event: event._replace(at=event.at + 1e-3),
        lambda event: event._replace(type="erased", salt=None, body=b"1" * 16),
        lambda event: event._replace(decision="z"),
        lambda event: event._replace(version=2),
        lambda event: event._replace(key="ann"),
    ):
        assert Chain().check_all([*gone[:4], damage(gone[4]), *gone[5:]]) is not None


def test_the_chain_is_the_one_that_is_written_down() -> None:
    """Its bytes are a format: logs of today must fit it tomorrow."""
    found = content_digest(bytes(range(16)), "decision", 1, 12.5, "0123456789abcdef01234567", "ann", b"body")
    assert found.hex() == "d6a617cbc1d194d5047c669f5bba5282"
    first = chain_digest(START, 1, found)
    assert first.hex() == "701f89cb762c4b45737b788df7b5bf77"
    assert chain_digest(first, 2, found).hex() == "0feb76af8bb69edd924a5654ed53e67c"
    assert chain_digest(START, 2, found) != chain_digest(first, 2, found)
