"""PostgreSQL taken away: connections that are ended in every phase, servers that stop, workers that pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from cluster import Cluster
from service.bodies import MODELS, feedback_body, model, play
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import StorageFailed
from smidgen.service.log.events import Chain
from smidgen.service.storage import postgres_batch, postgres_connection
from smidgen.service.storage.postgres import PostgresStore
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import BoundStatement, Connection, Rows, bind_statement
from smidgen.testing.store_decisions import in_batch, new_decision, new_feedback
from smidgen.testing.store_decisions import make_model as made


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(f"{postgres}&application_name={Address.of(postgres).schema}")
    yield opened
    opened.close()


def kill(store: PostgresStore) -> None:
    """End all of a store's connections, and wait until they are."""
    wire = Connection(Address.of(store.address.url.replace("application_name=", "application_name=killer")))
    name = store.address.schema
    ending = bind_statement(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = ?", (name,)
    )
    wire.ask([ending])
    counting = bind_statement("SELECT count(*) FROM pg_stat_activity WHERE application_name = ?", (name,))
    while wire.ask([counting])[0][0][0]:
        time.sleep(0.005)
    wire.close()


def _sound(store: PostgresStore, shard: int, seqs: int) -> None:
    events = store.events(shard)
    assert [event.seq for event in events] == list(range(1, seqs + 1))
    assert Chain().check_all(events) is None
    counts = store.counts(shard)
    assert counts is not None
    assert (counts.seq, counts.chain) == (seqs, events[-1].chain)


def _at_the_beginning(store: PostgresStore, shard: int) -> None:
    store.begin()


def _entered(store: PostgresStore, shard: int) -> None:
    store.begin()
    store.acquire(shard)


def _waiting(store: PostgresStore, shard: int) -> None:
    _entered(store, shard)
    store.write_decisions(shard, [new_decision(1, number=1)])


def _sent(store: PostgresStore, shard: int) -> None:
    _waiting(store, shard)
    assert store.decision(new_decision(1).decision) is not None


def _in_a_command(store: PostgresStore, shard: int) -> None:
    _entered(store, shard)
    store.savepoint()
    store.write_decisions(shard, [new_decision(1, number=1)])
    assert store.decision(new_decision(1).decision) is not None


class TestKilled:
    def test_between_batches_nobody_notices(self, store: PostgresStore) -> None:
        row = made(store, "idle")
        reader = store.reader()
        assert reader.counts(row.shard) is not None
        for n in (1, 2):
            kill(store)
            assert reader.counts(row.shard) is not None
            assert len(store.models()) == 1
            assert store.lease("me", 5.0, row.shard) == {row.shard: 1}
            kill(store)
            in_batch(store, lambda n=n: store.write_decisions(row.shard, [new_decision(n, number=n)]))
        _sound(store, row.shard, 3)
        reader.close()

    def test_before_anything_of_a_batch_was_sent_nobody_notices(self, store: PostgresStore) -> None:
        row = made(store, "begun")
        _at_the_beginning(store, row.shard)
        kill(store)
        store.write_decisions(row.shard, [new_decision(1, number=1)])
        store.commit()
        _sound(store, row.shard, 2)

    @pytest.mark.parametrize("phase", [_entered, _waiting, _sent, _in_a_command])
    def test_within_a_batch_it_fails_and_the_next_goes_on(
        self, store: PostgresStore, phase: Callable[[PostgresStore, int], None]
    ) -> None:
        row = made(store, "killed")
        phase(store, row.shard)
        kill(store)
        with pytest.raises(StorageFailed, match="returned an error"):
            store.find_request(row.shard, "whatever")
        if phase is _in_a_command:
            store.rollback_to_savepoint()
        for _ in range(2):
            with pytest.raises(StorageFailed):
                store.commit()  # it cannot be had after all
        store.rollback()
        _sound(store, row.shard, 1)
        in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(1, number=1)]))
        _sound(store, row.shard, 2)

    def test_at_the_commit_nothing_was_done(self, store: PostgresStore) -> None:
        row = made(store, "committing")
        _waiting(store, row.shard)
        kill(store)
        with pytest.raises(StorageFailed):
            store.commit()
        store.rollback()
        _sound(store, row.shard, 1)

    def test_a_commit_whose_answer_is_lost_is_no_acknowledgement_and_is_known_again(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = made(store, "answerless")
        in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(1, number=1, request="mine")]))
        ask = Connection.ask

        def lost(wire: Connection, calls: list[BoundStatement]) -> Rows:
            answers = ask(wire, calls)
            if any(each.sql == "COMMIT" for each in calls):
                wire.close()
                raise StorageFailed("the answer was lost", "")
            return answers

        monkeypatch.setattr(Connection, "ask", lost)
        with pytest.raises(StorageFailed, match="answer was lost"):
            in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(1)]))
        monkeypatch.undo()
        store.rollback()
        again = in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(1)]))
        assert [verdict.status for verdict in again] == ["duplicate"]
        assert store.find_request(row.shard, "mine") is not None
        _sound(store, row.shard, 3)

    def test_a_batch_that_failed_in_the_database_is_never_committed(self, store: PostgresStore) -> None:
        row = made(store, "aborted")
        store.begin()
        store.write_decisions(row.shard, [new_decision(1, number=1)])
        with pytest.raises(Exception, match="column"):
            store._buffer.rows("SELECT nonsense FROM shards")
        with pytest.raises(StorageFailed):
            store.commit()
        store.rollback()
        _sound(store, row.shard, 1)
        wire = Connection(store.address)
        with pytest.raises(Exception, match="does not exist"):
            wire.ask([bind_statement("BEGIN"), bind_statement("SELECT nonsense")])
        with pytest.raises(StorageFailed, match="had failed"):  # the server answers such a COMMIT with a ROLLBACK
            wire.ask([bind_statement("COMMIT")])
        wire.close()

    def test_a_command_that_is_refused_after_its_savepoint_is_undone_alone(self, store: PostgresStore) -> None:
        row = made(store, "refused")
        store.begin()
        store.savepoint()
        store.write_decisions(row.shard, [new_decision(1, number=1, request="a")])
        store.release()
        store.savepoint()
        store.write_decisions(row.shard, [new_decision(2, number=2)])
        assert store.decision(new_decision(2).decision) is not None
        store.write_decisions(row.shard, [new_decision(3, number=3, request="a")])
        with pytest.raises(Exception, match="unique"):
            store.decision(new_decision(9).decision)
        store.rollback_to_savepoint()
        store.savepoint()
        store.write_decisions(row.shard, [new_decision(4, number=2)])
        store.release()
        store.commit()
        assert [event.decision for event in store.events(row.shard, 1)] == [
            new_decision(1).decision,
            new_decision(4).decision,
        ]
        _sound(store, row.shard, 3)


class TestAway:
    """A server of its own, that stops."""

    @pytest.fixture
    def server(self) -> Iterator[Cluster]:
        from cluster import missing

        if (reason := missing()) is not None:
            pytest.skip(reason)
        made = Cluster()
        yield made
        made.close()

    def test_an_engine_lives_through_a_crash_of_its_server(self, server: Cluster) -> None:
        store = PostgresStore(server.fresh())
        engine = Engine(store)
        engine.create("rank", model(MODELS["rank"]))
        play(engine, ["rank"], 20, seed=1)
        before = engine.models["rank"].seq
        server.stop("immediate")
        with pytest.raises(StorageFailed, match=r"no connection|refused"):
            play(engine, ["rank"], 3, seed=2)
        with pytest.raises(StorageFailed, match="no connection"):
            store.catalogue_number()
        server.start()
        assert engine.models["rank"].seq == before
        play(engine, ["rank"], 10, seed=2)
        _sound(store, 1, engine.models["rank"].seq)
        known = engine.learners.get(engine.models["rank"], None).learner.to_bytes()
        again = Engine(PostgresStore(f"{store.address.url}&schema={store.address.schema}"))
        assert again.learners.get(again.models["rank"], None).learner.to_bytes() == known
        again.close()
        engine.close()

    def test_a_reader_outlives_it_too(self, server: Cluster) -> None:
        store = PostgresStore(server.fresh())
        row, reader = made(store, "read"), store.reader()
        assert reader.counts(row.shard) is not None
        server.restart("fast")
        assert reader.counts(row.shard) is not None
        server.stop("fast")
        with pytest.raises(StorageFailed):
            reader.counts(row.shard)
        server.start()
        assert reader.counts(row.shard) is not None
        server.restart("immediate")
        with reader.snapshot():  # what is asked within one cannot be asked again: its connection must be a live one
            assert reader.counts(row.shard) is not None
        reader.close()
        store.close()


class TestPaused:
    def test_a_worker_that_pauses_is_ended_and_lets_others_go_on(self, postgres: str) -> None:
        store, other = PostgresStore(f"{postgres}&idle_s=0.2"), PostgresStore(postgres)
        row = made(store, "paused")
        store.begin()
        store.acquire(row.shard)
        store.write_decisions(row.shard, [new_decision(1, number=1)])
        started = time.monotonic()
        in_batch(
            other, lambda: other.write_decisions(row.shard, [new_decision(2, number=1)])
        )  # waits for the pause to be ended
        assert time.monotonic() - started < 5.0
        with pytest.raises(StorageFailed):
            store.commit()
        store.rollback()
        in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(1, number=2)]))
        assert [event.decision for event in other.events(row.shard, 1)] == [
            new_decision(2).decision,
            new_decision(1).decision,
        ]
        _sound(store, row.shard, 3)
        store.close()
        other.close()

    def test_waiting_too_long_is_an_error(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        store = PostgresStore(f"{postgres}&idle_s=60")
        row = made(store, "long")
        store.begin()
        store.acquire(row.shard)
        monkeypatch.setattr(postgres_connection, "_LOCK_S", 0.1)
        other = PostgresStore(postgres)
        other.begin()
        with pytest.raises(StorageFailed, match="lock timeout"):
            other.acquire(row.shard)
        other.rollback()
        store.rollback()
        in_batch(other, lambda: other.write_decisions(row.shard, [new_decision(2, number=1)]))
        store.close()
        other.close()

    def test_a_server_that_does_not_answer_is_given_up(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres_connection, "PATIENCE_S", 0.1)
        wire = Connection(store.address, statement_s=60.0)
        wire._patience = 0.1
        with pytest.raises(StorageFailed, match="no answer in time"):
            wire.ask([bind_statement("SELECT pg_sleep(2)")])
        assert not wire.open

    def test_what_waits_long_goes_by_itself(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        row = made(store, "slow")
        monkeypatch.setattr(postgres_batch, "_SECONDS", 0.0)
        store.begin()
        store.acquire(row.shard)
        before = store.round_trips
        store.write_decisions(row.shard, [new_decision(1, number=1)])
        assert store.round_trips > before
        store.commit()
        _sound(store, row.shard, 2)

    def test_readers_have_a_bound(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgres_connection, "_WAIT_S", 0.05)
        wires = postgres_connection.ConnectionPool(store.address, 1)
        held = wires.acquire()
        with pytest.raises(StorageFailed, match="readers are busy"):
            wires.acquire()
        wires.close()
        wires.release(held)
        assert not held.open


def test_an_engine_takes_up_feedback_after_its_connection_was_lost(store: PostgresStore) -> None:
    engine = Engine(store)
    engine.create("rank", model(MODELS["rank"]))
    play(engine, ["rank"], 5, seed=1)
    reply = engine.decide("rank", _request())
    engine.begin()
    status = engine.run_in_savepoint(
        lambda: engine.feedback(reply["decision"], feedback_body(clicked=reply["ranking"][-1:]))
    ).status
    assert status == "learnt"
    kill(store)
    with pytest.raises(StorageFailed):
        engine.commit()
    engine.rollback()
    before = engine.models["rank"].version
    answer = engine.feedback(reply["decision"], feedback_body(clicked=reply["ranking"][-1:]))
    assert (answer.status, answer.model_version) == ("learnt", before + 1)


def _request() -> object:
    import random

    from service.bodies import decision_body, request

    return request(decision_body("rank", random.Random(3)))
