"""The store in PostgreSQL: the shipped contract, what it costs, who may open it, and writers at the same time."""

from __future__ import annotations

import multiprocessing
import runpy
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster
from service.bodies import MODELS, Clock, decision_body, feedback_body, log_of, model, play, request
from service.older_schema import POSTGRES
from smidgen.errors import InvalidArgument, MissingExtra
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import StorageFailed
from smidgen.service.log.events import Chain
from smidgen.service.storage import postgres_connection, postgres_schema
from smidgen.service.storage.address import Database, open_store, parse_address
from smidgen.service.storage.postgres import PostgresStore, open_snapshot_reader
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import Connection, bind_statement
from smidgen.service.storage.postgres_dialect import encode_values, escape, translate, unescape
from smidgen.service.storage.postgres_schema import NEWEST
from smidgen.service.storage.records import TokenRow
from smidgen.testing import check_store
from smidgen.testing.store_decisions import in_batch, new_decision, new_feedback
from smidgen.testing.store_decisions import make_model as made


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres)
    yield opened
    opened.close()


def test_postgresql_keeps_the_contract(postgres: str) -> None:
    check_store(lambda: PostgresStore(postgres))


@pytest.mark.parametrize("name", ["rank", "duel", "hashed", "newcomers", "tune", "draft"])
def test_an_engine_on_postgresql_is_the_engine_on_disk(name: str, postgres: str, tmp_path: Path) -> None:
    assert log_of(tmp_path, name) == log_of(PostgresStore(postgres), name)


def test_a_store_is_sound_when_retention_has_passed_a_state(postgres: str) -> None:
    clock = Clock()
    engine = Engine(PostgresStore(postgres), clock=clock)
    engine.run(lambda: engine.create("rank", model(MODELS["rank"])))
    rank = engine.models["rank"]
    play(engine, ["rank"], 20, seed=1)
    state = engine.learners.get(rank, None).learner.to_bytes()
    assert engine.store.publish(rank.shard, None, rank.seq, state)
    play(engine, ["rank"], 20, seed=2)
    clock.now += 1.0
    assert engine.retain("rank", 0.5).base == rank.seq - 1
    engine.close()
    report = fsck(Database(postgres), deep=True)
    assert report.sound, report.findings


class TestTrips:
    """Number of round trips of a command to the database."""

    def test_a_decision_waits_twice_and_feedback_three_times(self, store: PostgresStore) -> None:
        import random

        engine, rng = Engine(store), random.Random(1)
        engine.create("rank", model(MODELS["rank"]))
        play(engine, ["rank"], 5, seed=1)
        before = store.round_trips
        reply = engine.decide("rank", request(decision_body("rank", rng)))
        assert store.round_trips - before <= 2
        before = store.round_trips
        assert engine.feedback(reply["decision"], feedback_body(clicked=reply["ranking"][-1:])).status == "learnt"
        assert store.round_trips - before <= 3

    def test_many_in_a_batch_wait_as_often_as_one(self, store: PostgresStore) -> None:
        row = made(store, "round_trips")
        before = store.round_trips
        store.begin()
        for n in range(50):
            store.savepoint()
            store.write_decisions(row.shard, [new_decision(100 + n, number=n + 1)])
            store.release()
        store.commit()
        assert store.round_trips - before <= 2
        before = store.round_trips
        store.begin()
        store.prefetch([new_decision(100 + n).decision for n in range(50)] + ["nonsense", "f" * 24])
        for n in range(50):
            store.savepoint()
            event = store.event(row.shard, 2 + n)
            assert event is not None
            assert event.decision == new_decision(100 + n).decision
            assert store.write_feedback(row.shard, [new_feedback(100 + n)])[0].status == "learnt"
            store.release()
        assert store.write_feedback(row.shard, [new_feedback(120)])[0].status == "duplicate"
        store.commit()
        assert store.round_trips - before <= 3
        assert Chain().check_all(store.events(row.shard)) is None

    def test_a_command_that_is_undone_before_anything_of_it_went_costs_nothing(self, store: PostgresStore) -> None:
        row = made(store, "undone")
        store.begin()
        store.acquire(row.shard)
        before = store.round_trips
        for n in range(20):
            store.savepoint()
            store.write_decisions(row.shard, [new_decision(n, number=1)])
            store.rollback_to_savepoint()
        assert store.round_trips == before
        store.savepoint()
        store.write_decisions(row.shard, [new_decision(50, number=1)])
        assert store.decision(new_decision(50).decision) is not None  # so it had to go
        store.rollback_to_savepoint()
        assert store.decision(new_decision(50).decision) is None
        store.write_decisions(row.shard, [new_decision(51, number=1)])
        store.commit()
        assert [event.decision for event in store.events(row.shard, 1)] == [new_decision(51).decision]

    def test_long_answers_come_in_parts(self, store: PostgresStore) -> None:
        row = made(store, "long")
        in_batch(store, lambda: store.write_decisions(row.shard, [new_decision(n, number=n) for n in range(1, 701)]))
        in_batch(store, lambda: store.write_feedback(row.shard, [new_feedback(n) for n in range(1, 701)]))
        expected = list(range(702, 1402))
        reader = store.reader()
        assert [event.seq for event, _ in reader.changes(row.shard)] == expected
        with reader.snapshot():
            assert [event.seq for event, _ in reader.changes(row.shard)] == expected
        steps = reader.changes(row.shard)
        assert next(steps)[0].seq == 702
        steps.close()  # what is left open gives its connection back
        assert len(reader.events(row.shard, 0, 500)) == 500
        assert [event.seq for event, _ in store.changes(row.shard)] == expected
        store.begin()
        store.acquire(row.shard)
        assert [event.seq for event, _ in store.changes(row.shard)] == expected
        store.commit()
        reader.close()


class TestOpening:
    def test_a_server_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StorageFailed, match="no connection to"):
            PostgresStore(f"postgresql://postgres@/postgres?host={tmp_path}")

    def test_a_database_that_is_not_there(self, cluster: Cluster) -> None:
        with pytest.raises(StorageFailed, match='database "absent" does not exist'):
            PostgresStore(cluster.url("absent"))

    def test_a_wrong_password_is_reported_and_not_shown(self, cluster: Cluster) -> None:
        wire = Connection(Address.of(cluster.url()))
        wire.ask([bind_statement("CREATE ROLE careful LOGIN PASSWORD 'right'")])
        hba = cluster.folder / "data" / "pg_hba.conf"
        before = hba.read_text()
        hba.write_text(f"local all careful scram-sha-256\n{before}")
        wire.ask([bind_statement("SELECT pg_reload_conf()")])
        try:
            with pytest.raises(StorageFailed, match="password authentication failed") as caught:
                PostgresStore(f"postgresql://careful:wrong-secret@/postgres?host={cluster.folder}")
            assert "wrong-secret" not in str(caught.value)
            with pytest.raises(StorageFailed, match="permission denied"):  # nor may it make a schema
                PostgresStore(f"postgresql://careful:right@/postgres?host={cluster.folder}&schema=nothers")
        finally:
            hba.write_text(before)
            wire.ask([bind_statement("SELECT pg_reload_conf()")])
            wire.ask([bind_statement("DROP ROLE careful")])
            wire.close()

    def test_tables_of_a_newer_smidgen(self, postgres: str) -> None:
        PostgresStore(postgres).close()
        wire = Connection(Address.of(postgres))
        wire.ask([bind_statement("INSERT INTO migrations VALUES (?, ?, ?)", (NEWEST + 1, "of tomorrow", 0.0))])
        wire.close()
        with pytest.raises(StorageFailed, match=f"schema {NEWEST + 1}, .* up to {NEWEST}"):
            PostgresStore(postgres)

    def test_tables_of_an_older_one_are_left_to_the_service(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres_schema, "NEWEST", NEWEST + 1)
        with pytest.raises(StorageFailed, match=f"older schema {NEWEST}"):
            open_snapshot_reader(store.address)

    def test_tokens_of_the_first_schema_are_kept(self, postgres: str) -> None:
        store = PostgresStore(postgres)
        store.begin()
        store.add_token(TokenRow("0badcafe", b"h" * 32, "decide", "m", 1.0))
        store.commit()
        store.close()
        wire = Connection(Address.of(postgres))
        for column in ("name", "expires_at", "used_at"):
            wire.ask([bind_statement(f"ALTER TABLE tokens DROP COLUMN {column}")])
        wire.ask([bind_statement(statement) for statement in POSTGRES])
        wire.ask([bind_statement("DELETE FROM migrations WHERE version > 1")])
        store = PostgresStore(postgres)
        assert store.tokens() == [TokenRow("0badcafe", b"h" * 32, "decide", "m", 1.0)]
        store.begin()
        store.use_token("0badcafe", 5.0)
        store.commit()
        assert [row.used_at for row in store.tokens()] == [5.0]
        store.close()
        ((records,),) = wire.ask([bind_statement("SELECT what FROM migrations WHERE version = 2")])[0]
        assert records == "names, expiry and last use of tokens"
        wire.close()

    def test_without_psycopg_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtra, match="needs psycopg"):
            runpy.run_path(postgres_connection.__file__)

    def test_a_server_that_is_out_of_step_is_left(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        wire = Connection(Address.of(postgres))
        monkeypatch.setattr(wire, "_wait", lambda: None)
        with pytest.raises(StorageFailed, match="no answer, or two"):
            wire.ask([bind_statement("SELECT 1")])
        assert not wire.open

    def test_tables_of_somebody_else_are_left_alone(self, postgres: str) -> None:
        address = Address.of(postgres)
        wire = Connection(address)
        wire.ask(
            [
                bind_statement(f"CREATE SCHEMA {address.schema}"),
                bind_statement(f"CREATE TABLE {address.schema}.models (id BIGINT)"),
            ]
        )
        with pytest.raises(StorageFailed, match="could not be created"):
            PostgresStore(postgres)
        (rows,) = wire.ask([bind_statement("SELECT count(*) FROM pg_tables WHERE schemaname = ?", (address.schema,))])
        assert rows == [(1,)]
        wire.close()

    def test_a_record_of_somebody_else(self, postgres: str) -> None:
        address = Address.of(postgres)
        wire = Connection(address)
        wire.ask(
            [bind_statement(f"CREATE SCHEMA {address.schema}"), bind_statement("CREATE TABLE migrations (id BIGINT)")]
        )
        wire.close()
        with pytest.raises(StorageFailed, match=r'tables of another application: .* "version" does not exist'):
            PostgresStore(postgres)

    def test_a_role_that_only_reads(self, postgres: str) -> None:
        PostgresStore(postgres).close()
        schema = Address.of(postgres).schema
        wire = Connection(Address.of(postgres))
        wire.ask(
            [bind_statement("CREATE ROLE reader LOGIN"), bind_statement(f"GRANT USAGE ON SCHEMA {schema} TO reader")]
        )
        wire.ask([bind_statement(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")])
        url = postgres.replace("postgres@", "reader@", 1)
        try:
            assert fsck(Database(url)).sound
            with pytest.raises(StorageFailed, match="permission denied for table probe") as caught:
                PostgresStore(url)
            assert "grant" in caught.value.hint
        finally:
            wire.ask([bind_statement("DROP OWNED BY reader"), bind_statement("DROP ROLE reader")])
            wire.close()

    def test_a_pooler_that_keeps_no_sessions(self, postgres: str) -> None:
        wire = Connection(Address.of(postgres))
        wire.ask([bind_statement("SELECT 1")])
        wire._prepared.clear()  # as if another's session were ours
        with pytest.raises(StorageFailed, match=r"prepared statement .* already exists") as caught:
            wire.ask([bind_statement("SELECT 1")])
        assert "keeps sessions" in caught.value.hint
        wire.close()

    def test_those_who_start_at_once_make_the_tables_once(self, postgres: str) -> None:
        problems: list[Exception] = []

        def start() -> None:
            try:
                PostgresStore(postgres).close()
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=start) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert problems == []
        wire = Connection(Address.of(postgres))
        assert wire.ask([bind_statement("SELECT count(*) FROM migrations")]) == [[(NEWEST,)]]
        wire.close()

    def test_a_server_that_can_lose_what_it_acknowledged_is_refused(self, cluster: Cluster, postgres: str) -> None:
        wire = Connection(Address.of(cluster.url()))
        conf = cluster.folder / "data" / "postgresql.auto.conf"
        before = conf.read_text()
        try:
            conf.write_text(before.replace("fsync = on", "fsync = off"))
            wire.ask([bind_statement("SELECT pg_reload_conf()"), bind_statement("SELECT pg_sleep(0.2)")])
            with pytest.raises(StorageFailed, match="fsync = off: it can lose"):
                PostgresStore(postgres)
            PostgresStore(f"{postgres}&durable=no").close()
        finally:
            conf.write_text(before)
            wire.ask([bind_statement("SELECT pg_reload_conf()"), bind_statement("SELECT pg_sleep(0.2)")])
            wire.close()

    def test_a_commit_is_synced_even_if_the_database_says_otherwise(self, postgres: str) -> None:
        store = PostgresStore(f"{postgres}&options=-c%20synchronous_commit%3Doff")
        store.begin()
        assert store._buffer.rows("SELECT current_setting('synchronous_commit')") == [("on",)]
        store.rollback()
        store.close()

    def test_a_log_that_ends_elsewhere(self, store: PostgresStore) -> None:
        row = made(store, "torn")
        in_batch(store, lambda: store._buffer.run("UPDATE shards SET seq = 7 WHERE id = ?", (row.shard,)))
        with pytest.raises(StorageFailed, match="does not end with event 7"):
            PostgresStore(_url(store))

    @pytest.mark.parametrize(
        "options", ["schema=A", "schema=pg_x", "schema=a;b", "idle_s=0", "idle_s=x", "durable=maybe"]
    )
    def test_options_that_are_none(self, options: str) -> None:
        with pytest.raises(InvalidArgument):
            Address.of(f"postgresql://h/d?{options}")


def _url(store: PostgresStore) -> str:
    return f"{store.address.url}&schema={store.address.schema}"


class TestPlaces:
    def test_places_as_people_say_them(self) -> None:
        assert parse_address("data") == parse_address("sqlite:data") == parse_address("sqlite:///data") == Path("data")
        assert parse_address("sqlite:////data") == parse_address(Path("/data")) == Path("/data")
        assert parse_address("postgres://h/d") == Database("postgres://h/d")
        for text in ("", "mysql://h/d", "sqlite:", "sqlite://host/x"):
            with pytest.raises(InvalidArgument):
                parse_address(text)

    def test_a_store_is_opened_by_its_place(self, postgres: str, tmp_path: Path) -> None:
        for where, shared in ((postgres, True), (f"sqlite:{tmp_path}", False)):
            store = open_store(where)
            assert store.shared is shared
            store.close()


class TestDialect:
    def test_statements_are_translated(self) -> None:
        assert translate("SELECT a FROM b INDEXED BY c WHERE d = ? AND e IS NOT ? AND f IS NOT NULL").sql == (
            "SELECT a FROM b WHERE d = $1 AND e IS DISTINCT FROM $2 AND f IS NOT NULL"
        )
        named = translate("SELECT total(x * x), '?' FROM b WHERE c = :c AND d > :d AND e = :c")
        assert named.sql.endswith("'?' FROM b WHERE c = $1 AND d > $2 AND e = $1")
        assert encode_values(named, {"d": 1.5, "c": True})[0] == [b"1", b"1.5"]
        with pytest.raises(TypeError, match="no value"):
            encode_values(translate("?"), ([],))

    @pytest.mark.parametrize("text", ["", "a", "\x00", "\x01", "\x00\x01\x02\x01\x00", "\x01\x01\x02\x02", "é\x00é"])
    def test_texts_come_back_and_stay_in_order(self, text: str) -> None:
        assert unescape(escape(text)) == text
        assert b"\x00" not in escape(text)
        assert (escape(text) < escape("\x01")) == (text < "\x01")


def _write(url: str, shard: int, first: int, count: int) -> None:
    store = PostgresStore(url)
    for n in range(first, first + count):
        in_batch(store, lambda n=n: store.write_decisions(shard, [new_decision(n, number=1)]))
        in_batch(store, lambda n=n: store.write_feedback(shard, [new_feedback(n)]))
    store.close()


class TestTogether:
    """Several writers at the same time."""

    def test_processes_on_the_same_shard_and_on_others(self, store: PostgresStore) -> None:
        rows = [made(store, f"together {n}") for n in range(2)]
        spawn = multiprocessing.get_context("spawn")
        jobs = [(_url(store), rows[n % 2].shard, 1000 * n, 40) for n in range(1, 4)]
        workers = [spawn.Process(target=_write, args=job) for job in jobs]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
            assert worker.exitcode == 0
        for row, count in zip(rows, (40, 80), strict=True):
            events = store.events(row.shard)
            assert [event.seq for event in events] == list(range(1, 2 * count + 2))
            assert Chain().check_all(events) is None
            counts = store.counts(row.shard)
            assert counts is not None
            assert (counts.decisions, counts.version, counts.answered) == (count, count, count)

    def test_threads_that_touch_two_shards_in_any_order_never_wait_in_a_ring(self, store: PostgresStore) -> None:
        from smidgen.service.errors import Taken

        shards = [made(store, f"ring {n}").shard for n in range(2)]
        taken: list[int] = []

        def work(first: int, shards: list[int]) -> None:
            mine = PostgresStore(_url(store))
            for n in range(first, first + 25):
                while True:
                    mine.begin()
                    try:
                        mine.write_decisions(shards[0], [new_decision(n, number=1)])
                        mine.write_decisions(shards[1], [new_decision(n + 10_000, number=1)])
                        mine.commit()
                        break
                    except Taken:
                        taken.append(n)
                        mine.rollback()
                        shards = shards[::-1]
            mine.close()

        threads = [threading.Thread(target=work, args=(1000 * n, shards[:: (-1) ** n])) for n in range(1, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        for shard in shards:
            events = store.events(shard)
            assert len(events) == 76
            assert Chain().check_all(events) is None
