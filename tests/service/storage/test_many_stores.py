"""Any sequence of commands does the same to every store: SQLite, memory, PostgreSQL, and PostgreSQL by two writers."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster import Cluster
from service.memory import CommittedTables, MemoryStore
from smidgen.service.errors import Taken
from smidgen.service.log.checkpoint import CarriedDecision, Checkpoint, CheckpointState, state_digest
from smidgen.service.log.events import Chain
from smidgen.service.storage.postgres import PostgresStore
from smidgen.service.storage.protocol import Store
from smidgen.service.storage.records import NewExpiry
from smidgen.service.storage.sqlite import SQLiteStore
from smidgen.testing.store_decisions import new_decision, new_feedback

Step = tuple[Any, ...]
_KEYS = st.sampled_from([None, None, "a", "b\x00", "ü"])
_IDS = st.integers(1, 12)
_TIMES = st.sampled_from([20.0, 99.0, 120.0])
_STEPS = st.one_of(
    st.tuples(st.just("decide"), st.integers(0, 1), _IDS, _KEYS, st.booleans(), st.sampled_from([None, "r1", "r2"])),
    st.tuples(st.just("answer"), st.integers(0, 1), _IDS, _TIMES, st.sampled_from([b"x", b"y"])),
    st.tuples(st.just("expire"), st.integers(0, 1), _IDS, _TIMES),
    st.tuples(st.just("show"), st.integers(0, 1), _IDS, _TIMES),
    st.tuples(st.just("retract"), st.integers(0, 1), _IDS),
    st.tuples(st.just("back"), st.integers(0, 1), st.integers(0, 5)),
    st.tuples(st.just("forget"), st.integers(0, 1), st.sampled_from(["a", "b\x00"])),
    st.tuples(st.just("append"), st.integers(0, 1), _KEYS, st.booleans(), st.sampled_from([None, "c1", "c2"])),
    st.tuples(st.just("publish"), st.integers(0, 1), st.sampled_from(["a", "b\x00"]), st.integers(1, 9)),
    st.tuples(st.just("base"), st.integers(0, 1)),
    st.tuples(st.just("tidy"), st.integers(1, 3)),
    st.tuples(st.just("undone"), st.integers(0, 1), _IDS),
    st.tuples(st.just("rolled"), st.integers(0, 1), _IDS),
    st.tuples(st.just("commit")),
)


def _do(store: Store, shards: list[int], step: Step, made: dict[tuple[int, Any], int]) -> Any:
    """Result of one command."""
    kind, *rest = step
    if kind == "tidy":
        return store.purge(rest[0])
    shard, *rest = shards[rest[0]], *rest[1:]
    if kind in ("decide", "undone", "rolled"):
        place, key, waits, request = (*rest, None, False, None)[:4]
        id = f"{shard:012x}{place:012x}"
        if store.decision(id) is not None or store.find_erased_decision(id) is not None:
            return "there"
        if request is not None and store.find_request(shard, request) is not None:
            return "asked"
        number = store.last_number(shard, key) + 1
        row = new_decision(1)._replace(
            decision=id, key=key, number=number, waits=waits, shown=not waits, request=request
        )
        return store.write_decisions(shard, [row])
    if kind in ("answer", "expire", "show", "retract"):
        id = f"{shard:012x}{rest[0]:012x}"
        if kind == "answer":
            return store.write_feedback(shard, [new_feedback(1)._replace(decision=id, at=rest[1], hash=rest[2])])
        if kind == "expire":
            return store.write_expiries(shard, [NewExpiry(id, rest[1], None, 0.5, None, b"silent")])
        return (
            store.mark_shown(shard, id, rest[1], None)
            if kind == "show"
            else store.write_retraction(shard, id, 50.0, None)
        )
    if kind == "back":
        return store.write_rollback(shard, rest[0], 60.0)
    if kind == "forget":
        return store.forget(shard, rest[0], 70.0)
    if kind == "append":
        key, changes, call = rest
        if call is not None and store.find_call(shard, call) is not None:
            return "called"
        reply = (call, b"digest") if call is not None else None
        return store.append(shard, "rumour", 9.0, b"body", key=key, changes=changes, call=reply)
    if kind == "publish":
        return store.publish(shard, rest[0], rest[1], b"state of %d" % rest[1])
    return _rebase(store, shard)


def _rebase(store: Store, shard: int) -> Any:
    counts, old = store.counts(shard), store.checkpoint(shard)
    events = store.events(shard)
    if counts is None or len(events) < 3 or (old is not None and old.erased < old.seq):
        return "too soon"
    last = events[-2]
    decisions, late = store.counts_up_to(shard, last.seq)
    state = CheckpointState(None, last.seq, 1, state_digest(None, last.seq, 1, b"learner"), b"learner")
    store.unstage(shard)
    store.stage(shard, [state])
    crossing = store.decisions_to_carry(shard, last.seq, 50.0, 0)
    base = Checkpoint(last.seq, store.version_at(shard, last.seq), last.chain, 80.0, decisions, late, 0, b"settings")
    kept = [CarriedDecision(seq, b"digest") for seq in crossing]
    return store.write_checkpoint(shard, base, kept, 80.0), crossing


def _play(stores: list[Store], steps: list[Step]) -> list[Any]:
    """The steps, in batches, by stores that take turns; what was said."""
    turns, said = itertools.cycle(stores), []
    store = next(turns)
    shards = []
    for name in ("one", "two"):
        store.begin()
        shards.append(store.create(name, b"{}", {}, 1.0).shard)
        store.append(shards[-1], "created", 1.0, b"")
        store.commit()
    store.begin()
    for step in steps:
        if step[0] == "commit":
            store.commit()
            store = next(turns)
            store.begin()
            continue
        if step[0] == "rolled":
            _do(store, shards, step, {})
            store.rollback()
            store.begin()
            continue
        store.savepoint()
        said.append(_do(store, shards, step, {}))
        if step[0] == "undone":
            store.rollback_to_savepoint()
        else:
            store.release()
    store.commit()
    return [said, [_all(each, shard) for each in stores for shard in shards][-2:]]


def _all(store: Store, shard: int) -> Any:
    events, base, counts = store.events(shard), store.checkpoint(shard), store.counts(shard)
    start = Chain() if base is None else Chain(base.seq, base.chain)
    assert start.check_all(events) is None
    assert counts is not None
    assert counts.chain == start.chain
    ids = [f"{shard:012x}{place:012x}" for place in range(1, 13)]
    reader = store.reader()
    found = (
        [
            event._replace(salt=None, chain=b"", body=None if event.type in ("erased", "retained") else event.body)
            for event in events
        ],
        [(view.decision(id), view.find_erased_decision(id)) for view in (store, reader) for id in ids],
        [getattr(counts, name) for name in ("seq", "version", "decisions", "late", "keys", "number", "answered")],
        [
            [(event.seq, made and made.seq) for event, made in store.changes(shard, 0, key)]
            for key in (None, "a", "b\x00")
        ],
        [[event.seq for event in store.events_of_key(shard, key)] for key in ("a", "b\x00", "ü")],
        [(key, next(iter(store.states(shard, key))).content) for key in store.state_keys(shard)],
        [row.id for row in store.due_decisions(1e6)],
        [store.last_number(shard, key) for key in (None, "a", "b\x00")],
        [store.version_at(shard, seq) for seq in range(counts.seq + 1)],
        base and base._replace(chain=b""),
        [kept.seq for kept in store.carried_decisions(shard)],
        [[tuple(row) for row in store.query(question, shard, **values)] for question, values in _LOOKS],
    )
    reader.close()
    return found


_LOOKS: list[tuple[Any, dict[str, Any]]] = [
    ("learnt_blocks", {"after": 0, "upto": 99, "block": 3}),
    ("made_blocks", {"after": 0, "upto": 99, "block": 3}),
    ("waits", {"after": 0}),
    ("measures", {"after": 0}),
    ("latest", {"before": 99, "limit": 5}),
    ("tally", {}),
    ("lately", {"limit": 4}),
    ("ended", {"now": 110.0, "limit": 4}),
    ("answers", {"limit": 4}),
    ("agreement", {"limit": 4}),
]


_patient = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
_some_steps = given(steps=st.lists(_STEPS, min_size=5, max_size=40))


@settings(_patient, max_examples=10)
@_some_steps
def test_every_store_does_the_same(steps: list[Step], cluster: Cluster) -> None:
    _alike(steps, cluster)


@pytest.mark.long
@settings(_patient, max_examples=100)
@_some_steps
def test_every_store_does_the_same_at_length(steps: list[Step], cluster: Cluster) -> None:
    _alike(steps, cluster)


def _alike(steps: list[Step], cluster: Cluster) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf, once, twice = CommittedTables(), cluster.fresh(), cluster.fresh()
        makers: list[tuple[Callable[[], Store], int]] = [
            (lambda: SQLiteStore(Path(folder), synchronous="OFF"), 1),
            (lambda: MemoryStore(shelf), 1),
            (lambda: PostgresStore(once), 1),
            (lambda: PostgresStore(twice), 2),
        ]
        outcomes = []
        for make, writers in makers:
            stores = [make() for _ in range(writers)]
            try:
                outcomes.append(_play(stores, steps))
            except Taken:
                raise AssertionError("one at a time is never in another's way") from None
            finally:
                for store in stores:
                    store.rollback()
                    store.close()
    for outcome in outcomes[1:]:
        assert outcome == outcomes[0]
