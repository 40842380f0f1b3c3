"""smidgen fsck: it reports problems with a hint, and leaves sound data unchanged, to the last byte."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from service.bodies import Clock, decision_body, engine_with, model, play, request
from service.bodies import feedback_body as heard
from service.live import Live
from service.older_schema import SQLITE
from smidgen.cli import app
from smidgen.service.admin.backup import backup, restore
from smidgen.service.admin.fsck import FsckReport, fsck
from smidgen.service.engine import inspection
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import open_for_change
from smidgen.service.errors import Busy, Impossible, StorageFailed
from smidgen.service.http.auth import create
from smidgen.service.schemas import AmendBody
from smidgen.service.storage.integrity import MOST, Problems
from smidgen.service.storage.sqlite import SQLiteStore
from smidgen.testing import check_store

NAMES = ["rank", "tune", "label", "keyed"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log of some models, snapshots in the middle and at the end, and a token."""
    folder = tmp_path_factory.mktemp("fsck") / "data"
    engine = engine_with(folder, NAMES)
    play(engine, NAMES, 120, seed=1)
    engine.maintain(every=1)
    play(engine, NAMES, 60, seed=2)
    engine.close()
    with open_for_change(folder) as store:
        create(store, ["decide", "feedback"], "rank", 1e9)
    return folder


@pytest.fixture
def data(stopped: Path, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    shutil.copytree(stopped, tmp_path / "data")
    return tmp_path / "data"


def killed(folder: Path) -> Path:
    """The folder as a kill leaves it: part of the log is in the write-ahead file."""
    engine = Engine(folder, synchronous="OFF")
    play(engine, NAMES, 30, seed=3)
    copy = folder.with_name("killed")
    shutil.copytree(folder, copy)
    engine.store.close()
    return copy


def digests(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "", path.stat().st_mtime_ns)
        for path in (folder, *folder.rglob("*"))
    }


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["fsck", *map(str, arguments)], env={"COLUMNS": "200"}, catch_exceptions=False)


def execute(folder: Path, sql: str) -> None:
    with closing(sqlite3.connect(folder / "smidgen.db")) as connection:
        connection.executescript(sql)


def codes(report: FsckReport) -> set[str]:
    return {finding.code for finding in report.findings}


def make_old(folder: Path) -> Path:
    """A folder as the second schema had it, before there was silence that is learnt."""
    engine = engine_with(folder, ["rank"])
    play(engine, ["rank"], 20, seed=1)
    engine.close()
    with closing(sqlite3.connect(folder / "smidgen.db")) as connection:
        for statement in SQLITE:
            connection.execute(statement)
        connection.executescript(
            """
            DROP INDEX decision_due; DROP INDEX event_wide; DROP INDEX event_rewinds; DROP TABLE calls;
            DROP INDEX decision_beside; DROP INDEX decision_agreed; DROP TABLE lineage; DROP TABLE bases;
            DROP TABLE base_states; DROP TABLE carried; DROP TABLE gone;
            ALTER TABLE decisions DROP COLUMN beside; ALTER TABLE decisions DROP COLUMN agreed;
            ALTER TABLE decisions DROP COLUMN target; ALTER TABLE decisions DROP COLUMN chance;
            ALTER TABLE decisions DROP COLUMN waits; ALTER TABLE decisions DROP COLUMN shown;
            ALTER TABLE decisions DROP COLUMN late_hash; ALTER TABLE slots DROP COLUMN answered;
            ALTER TABLE tokens DROP COLUMN name; ALTER TABLE tokens DROP COLUMN expires_at;
            ALTER TABLE tokens DROP COLUMN used_at;
            DELETE FROM migrations WHERE version > 2;
            """
        )
    return folder / "smidgen.db"


class TestSound:
    @pytest.mark.parametrize("deep", [False, True])
    @pytest.mark.parametrize("state", ["stopped", "killed", "without shared memory", "empty log"])
    def test_a_sound_folder_is_sound_and_stays_as_it_is(self, state: str, deep: bool, data: Path) -> None:
        if state in ("killed", "without shared memory"):
            data = killed(data)
        if state == "without shared memory":
            (data / "smidgen.db-shm").unlink()
        if state == "empty log":
            (data / "smidgen.db-wal").touch(mode=0o600)
        before = digests(data)
        report = fsck(data, deep=deep)
        assert digests(data) == before
        assert report.findings == []
        assert report.notes == []
        assert (report.sound, report.running, report.deep, report.models, report.tokens) == (True, False, deep, 4, 1)
        engine = Engine(data)
        assert report.events == sum(model.seq for model in engine.models.values())
        engine.store.close()
        assert (report.snapshots, report.states) == (6, 4)

    def test_next_to_a_running_service(self, data: Path) -> None:
        execute(data, "DELETE FROM tokens")
        with Live(data, "--snapshot-every", "5") as live, httpx.Client(base_url=live.url) as client:
            rng = random.Random(1)
            for _ in range(20):
                assert client.post("/v1/models/rank/decisions", json=decision_body("rank", rng)).status_code == 201
            assert client.get("/v1/models/rank/weights").status_code == 200  # after the snapshot that was due
            before = digests(data)
            report = fsck(data, deep=True)
            live_files = {str(data / "smidgen.db-shm")}  # the service's shared memory
            assert {k: v for k, v in digests(data).items() if k not in live_files} == {
                k: v for k, v in before.items() if k not in live_files
            }
            assert (report.sound, report.running) == (True, True), report.findings
            assert client.post("/v1/models/rank/decisions", json=decision_body("rank", rng)).status_code == 201

    def test_the_command(self, data: Path) -> None:
        result = invoke("--data", data)
        assert result.exit_code == 0
        assert f"{data}: 4 models, " in result.output
        assert result.output.endswith("  no errors found\n")
        outcome = json.loads(invoke("--data", data, "--deep", "--json").stdout)
        assert (outcome["sound"], outcome["deep"], outcome["findings"], outcome["models"]) == (True, True, [], 4)

    def test_a_folder_that_is_none_is_refused(self, tmp_path: Path) -> None:
        for folder, what in ((tmp_path / "nowhere", "there is no folder"), (tmp_path, "is empty")):
            with pytest.raises(StorageFailed, match=what):
                fsck(folder)

    def test_whatever_a_store_can_write_is_sound(self, tmp_path: Path) -> None:
        """Silence, showing, retractions, late answers, changed settings: all that the contract of stores tries."""
        check_store(lambda: SQLiteStore(tmp_path / "data", synchronous="OFF"))
        report = fsck(tmp_path / "data")
        assert report.events > 50
        fields = {(each.code, each.problem) for each in report.findings}
        assert {code for code, _ in fields} <= {"learner", "settings", "token", "state", "snapshot"}, (
            fields
        )  # bodies that say nothing

    def test_a_life_with_silence_and_new_settings(self, tmp_path: Path) -> None:
        clock = Clock()
        engine = Engine(tmp_path / "data", clock=clock, synchronous="OFF")
        body = {"loop": "choose", "default_reward": 0.0, "window_s": 10.0}
        engine.create("banner", model(body))
        engine.create("mail", model({"loop": "label", "labels": ["spam", "work"]}))
        offer = request({"candidates": [{"id": "a"}, {"id": "b"}]})
        for turn in range(12):
            made = engine.decide("banner", offer)
            if turn % 3 == 0:
                engine.feedback(made["decision"], heard(reward=1.0))
            if turn % 4 == 1:
                clock.now += 20.0
                engine.sweep_all()
            if turn == 6:
                engine.amend("banner", msgspec.convert({"default_reward": 0.25}, AmendBody))
                engine.amend("mail", msgspec.convert({"add_labels": ["family"]}, AmendBody))
        engine.create("people", model({**body, "keyed": True}))
        for turn in range(12):
            asked = request({"candidates": [{"id": "a"}, {"id": "b"}], "key": "ann" if turn % 2 else "bob"})
            made = engine.decide("people", asked)
            engine.feedback(made["decision"], heard(reward=1.0))
            if turn == 6:
                engine.retract(made["decision"])
                engine.feedback(made["decision"], heard(reward=0.0))
        engine.roll_back("banner", 3)
        engine.maintain(every=1)
        engine.forget("people", "ann")
        with pytest.raises(Impossible, match='add_labels holds "x" twice'):
            engine.amend("mail", msgspec.convert({"add_labels": ["x", "x"]}, AmendBody))
        engine.close()
        types = {row[2] for row in _events(tmp_path / "data")}
        assert {"created", "decision", "feedback", "expired", "amended", "retracted", "rolled_back", "erased"} <= types
        report = fsck(tmp_path / "data", deep=True)
        assert report.findings == []

    def test_a_learner_that_is_not_installed_here_can_be_kept_all_the_same(self, data: Path) -> None:
        sql = "UPDATE {} SET {} = CAST(replace({}, 'PreferencePerceptron', 'SomebodyElses') AS BLOB) WHERE id = 1"
        shutil.rmtree(data)
        engine_with(data, ["rank"]).close()
        execute(data, sql.format("models", "resolved", "resolved"))
        report = fsck(data)
        assert codes(report) == {"learner", "settings"}
        assert [finding.code for finding in report.blocking_findings] == ["settings"]
        assert "--import MODULE" in next(each.hint for each in report.findings if each.code == "learner")

    def test_tables_of_an_earlier_smidgen(self, data: Path) -> None:
        shutil.rmtree(data)
        make_old(data)
        before = digests(data)
        report = fsck(data, deep=True)
        assert digests(data) == before
        assert (report.findings, report.models) == ([], 1)
        backup(data.with_name("b"), data)
        restore(data.with_name("b"), data.with_name("r"))
        Engine(data.with_name("r")).close()

    def test_without_heads_it_is_sound_and_says_what_is_missing(self, data: Path) -> None:
        (data / "smidgen.db.heads").unlink()
        report = fsck(data)
        assert report.sound
        assert report.notes == [
            "smidgen.db.heads says nothing of 4 models; until the next start, a loss of theirs would not be seen"
        ]
        assert "note: smidgen.db.heads says nothing" in invoke("--data", data).output
        Engine(data).close()
        assert fsck(data).notes == []


class TestNotSound:
    @pytest.mark.parametrize(
        ("sql", "code", "problem"),
        [
            ("UPDATE events SET at = at + 1 WHERE shard = 1 AND seq = 5", "chain", "event 5 does not fit the chain"),
            ("UPDATE events SET body = x'00' WHERE shard = 2 AND seq = 3", "chain", "event 3 does not fit the chain"),
            ("UPDATE events SET salt = NULL WHERE shard = 2 AND seq = 3", "chain", "event 3 has no salt"),
            (
                "UPDATE events SET made = made + 1 WHERE shard = 1 AND made > 3",
                "chain",
                "made version 5 after version 3",
            ),
            ("DELETE FROM events WHERE shard = 1 AND seq = 4", "chain", "event 4 has the number 5"),
            ("DELETE FROM events WHERE shard = 1 AND seq > 9", "counts", "the log ends with event 9 and should end"),
            ("DELETE FROM events WHERE shard = 1 AND seq > 9", "lost", "is missing in the database"),
            ("UPDATE shards SET version = version - 1 WHERE id = 3", "counts", "the version that is kept is"),
            ("UPDATE shards SET decisions = 0 WHERE id = 3", "counts", "0 decisions are counted and the log has"),
            ("UPDATE shards SET late = 7 WHERE id = 3", "counts", "7 late answers are counted and the log has 0"),
            ("UPDATE shards SET chain = x'00' WHERE id = 3", "tables", "the log does not end with event"),
            ("UPDATE decisions SET version = 77 WHERE version = 2", "tables", "is not the one that the table"),
            ("UPDATE decisions SET feedback_seq = 1 WHERE version = 2", "tables", "the answer of event"),
            ("DELETE FROM decisions WHERE version = 1", "tables", "is not in the table of decisions"),
            ("UPDATE decisions SET seq = seq + 1000 WHERE version = 1", "tables", "which is no such decision"),
            (
                "UPDATE decisions SET shard = 99 WHERE version = 1 AND shard = 1",
                "tables",
                "refers to shards which are not",
            ),
            (
                "UPDATE models SET body = CAST(replace(body, '\"a\"', '\"z\"') AS BLOB) WHERE id = 1",
                "settings",
                "not those that it was made with",
            ),
            (
                "UPDATE models SET resolved = CAST(replace(resolved, 'Perceptron', 'Gone') AS BLOB) WHERE id = 1",
                "learner",
                "its learner cannot be made here",
            ),
            ("UPDATE tokens SET hash = x'00'", "token", "has a hash of 1 bytes"),
            ("UPDATE tokens SET scopes = 'everything'", "token", "has the scopes 'everything'"),
            ("UPDATE tokens SET id = 'x'", "token", "has no id of eight digits"),
            ("UPDATE tokens SET created_at = -1.0", "token", "was made at -1.0"),
            ("UPDATE tokens SET expires_at = -1.0", "token", "and they are seconds since 1970"),
            ("UPDATE tokens SET used_at = 1e300", "token", "and they are seconds since 1970"),
            ("UPDATE tokens SET name = ''", "token", "has a name of 0 characters"),
            ("UPDATE key_states SET state = x'00' WHERE key = 'user1'", "state", "the state of key 'user1' cannot be"),
            ("UPDATE key_states SET seq = 99999 WHERE key = 'user1'", "state", "is ahead of the log"),
            ("DELETE FROM migrations", "tables", "the tables have the number 0"),
            ("INSERT INTO migrations VALUES (99, 'later', 0.0)", "database", "this version of smidgen reads up to"),
        ],
    )
    def test_what_is_wrong_in_the_database(self, sql: str, code: str, problem: str, data: Path) -> None:
        execute(data, sql)
        report = fsck(data)
        assert not report.sound
        assert [each for each in report.findings if each.code == code and problem in each.problem], report.findings
        assert all(each.hint for each in report.findings)

    def test_a_state_that_the_log_does_not_lead_to_is_found_by_the_deep_check(self, data: Path) -> None:
        files = sorted((data / "snapshots" / "1").glob("*.smidgen"))
        files[0].write_bytes(files[1].read_bytes())
        assert fsck(data).sound
        report = fsck(data, deep=True)
        assert codes(report) == {"replay"}
        assert f"the snapshot {files[0].name} is not what the log leads to" in report.findings[0].problem

    def test_a_snapshot_that_is_damaged(self, data: Path) -> None:
        path = next((data / "snapshots" / "1").glob("*.smidgen"))
        path.write_bytes(path.read_bytes()[:-1])
        report = fsck(data, deep=True)
        assert codes(report) == {"snapshot"}
        assert f"delete {path}" in report.findings[0].hint
        assert report.notes == ["the logs were not replayed: fix the errors first"]

    def test_snapshots_and_heads_that_have_seen_more_than_the_log(self, data: Path) -> None:
        copy = data.with_name("copy")
        shutil.copytree(data, copy)
        engine = Engine(data)
        play(engine, NAMES, 30, seed=5)
        engine.close()
        shutil.copy(copy / "smidgen.db", data / "smidgen.db")
        report = fsck(data)
        assert codes(report) == {"lost"}
        assert len({finding.where for finding in report.findings}) == 4, "heads and three snapshots"
        assert all("smidgen restore" in finding.hint and "delete" in finding.hint for finding in report.findings)

    @pytest.mark.parametrize("left", ["smidgen.db.heads", "snapshots", "smidgen.db-wal"])
    def test_a_database_that_is_gone(self, left: str, data: Path) -> None:
        for path in data.iterdir():
            if path.name != left:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if left == "smidgen.db-wal":
            (data / left).write_bytes(b"x")
            (data / left).chmod(0o600)
        report = fsck(data)
        assert codes(report) == {"database"}
        assert f"{left} belongs to it and is still there" in report.findings[0].problem
        with pytest.raises(StorageFailed, match="belongs to it and is still there"):
            Engine(data)

    def test_a_file_that_is_no_database(self, data: Path) -> None:
        (data / "smidgen.db").write_bytes(b"nonsense" * 1000)
        assert codes(fsck(data)) == {"database"}
        (data / "smidgen.db").write_bytes(b"")
        assert not fsck(data).sound

    def test_a_head_that_cannot_be_read(self, data: Path) -> None:
        content = bytearray((data / "smidgen.db.heads").read_bytes())
        content[40] ^= 1
        (data / "smidgen.db.heads").write_bytes(content)
        report = fsck(data)
        assert [(each.code, each.problem) for each in report.findings] == [
            ("head", "what it says of model rank cannot be read")
        ]
        Engine(data).close()
        assert fsck(data).sound, "a start has written it again"

    def test_others_can_read_it(self, data: Path) -> None:
        (data / "smidgen.db").chmod(0o644)
        report = fsck(data)
        assert [(each.code, each.where, each.problem) for each in report.findings] == [
            ("mode", "data/smidgen.db", "others can open it (mode 0644)")
        ]
        Engine(data).close()
        assert fsck(data).sound

    def test_the_command_prints_every_finding_and_its_hint(self, data: Path) -> None:
        execute(data, "UPDATE events SET at = at + 1 WHERE shard = 1; UPDATE shards SET late = 7 WHERE id = 3")
        result = invoke("--data", data)
        assert result.exit_code == 1
        assert "error: model rank: event 1 does not fit the chain" in result.output
        assert "more" in result.output
        assert "error: model label: 7 late answers" in result.output
        assert "smidgen restore FILE --force" in result.output
        outcome = invoke("--data", data, "--json")
        assert outcome.exit_code == 1
        assert json.loads(outcome.stdout)["sound"] is False


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_turned_in_a_body_is_always_found(place: float, bit: int, stopped: Path, tmp_path: Path) -> None:
    """Wherever in the log it is."""
    data = tmp_path / "data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(stopped, data)
    with closing(sqlite3.connect(data / "smidgen.db")) as connection:
        rows = connection.execute("SELECT shard, seq, body FROM events WHERE body IS NOT NULL").fetchall()
        shard, seq, body = rows[int(place * len(rows))]
        changed = bytearray(body)
        changed[int(place * 977) % len(body)] ^= 1 << bit
        connection.execute("UPDATE events SET body = ? WHERE shard = ? AND seq = ?", (bytes(changed), shard, seq))
        connection.commit()
    report = fsck(data)
    assert "chain" in codes(report)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_turned_anywhere_in_the_file_is_found_or_changes_nothing(
    place: float, bit: int, stopped: Path, tmp_path: Path
) -> None:
    """Sound data reads as before, and no damage passes as another error."""
    data = tmp_path / "data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(stopped, data)
    content = bytearray((data / "smidgen.db").read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    (data / "smidgen.db").write_bytes(content)
    if fsck(data).sound:
        assert _events(data) == _events(stopped)


def _events(folder: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{folder / 'smidgen.db'}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute("SELECT * FROM events ORDER BY shard, seq").fetchall()


def test_a_folder_that_is_written_to_meanwhile_is_looked_at_again(data: Path) -> None:
    seen = []

    def question(_: object) -> int:
        seen.append(1)
        if len(seen) < 3:
            with open_for_change(data) as store:
                create(store, ["admin"], None, 1e9)
        return len(seen)

    assert inspection.query_offline(data, question) == 3

    def restless(_: object) -> None:
        with open_for_change(data) as store:
            create(store, ["admin"], None, 1e9)

    with pytest.raises(Busy, match="is being written to"):
        inspection.query_offline(data, restless)


def test_a_long_list_of_findings_is_cut_and_counted() -> None:
    found = Problems()
    for count in range(MOST + 5):
        found.add("chain", "model m", f"event {count}", "hint")
    assert len(found.all()) == MOST + 1
    assert found.all()[-1].problem == "and 5 more"


def test_a_bar_is_shown_to_those_who_look(data: Path) -> None:
    listed: list[tuple[str, int, int]] = []
    engine = Engine(data, synchronous="OFF")
    play(engine, ["rank"], 700, seed=9)
    engine.close()
    fsck(data, deep=True, progress=lambda *step: listed.append(step))
    assert ("rank", 1000) in {(what, done) for what, done, _ in listed}
