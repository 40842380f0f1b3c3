"""Damaged or foreign data in a store, its log, its snapshots and its commands."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from service.bodies import engine_with, play
from smidgen.cli import app
from smidgen.errors import InvalidRecord
from smidgen.service.admin import verify
from smidgen.service.admin.verify import Audit
from smidgen.service.engine import inspection
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_reader import _KEPT, EventLog
from smidgen.service.engine.log_sources import NdjsonSource, StoreSource
from smidgen.service.engine.rebuild import Rebuilder, rebuild
from smidgen.service.errors import StorageFailed
from smidgen.service.log import codec
from smidgen.service.log.codec import EventLine
from smidgen.service.log.events import erase_event
from smidgen.service.storage import crash_points, data_dir, sqlite_schema
from smidgen.service.storage.snapshots import Snapshots
from smidgen.service.storage.sqlite import SQLiteStore, open_folder_reader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two models that have learnt."""
    engine = engine_with(tmp_path / "data", ["rank", "keyed"], snapshot_every=5)
    play(engine, ["rank", "keyed"], 30, seed=1)
    engine.close()
    return tmp_path / "data"


class TestBodies:
    @pytest.mark.parametrize("body", [None, b"", b"\xc1", b"\x91\x01", b"\xa1\xff"])
    def test_what_is_no_body_names_its_event(self, body: bytes | None) -> None:
        for read in (codec.read_decision, codec.read_feedback):
            with pytest.raises(InvalidRecord, match="event 7 cannot be read"):
                read(body, 7)

    def test_any_other_body_is_a_map_or_one_field(self) -> None:
        assert codec.read_fields(None, 1) == codec.read_fields(b"", 1) == {}
        assert codec.read_fields(codec.encode({"a": 1}), 1) == {"a": 1}
        assert codec.read_fields(codec.encode([1, 2]), 1) == {"body": [1, 2]}
        with pytest.raises(InvalidRecord, match="event 9 cannot be read"):
            codec.read_fields(b"\xc1", 9)

    def test_records_and_values_that_cannot_be_read_name_their_event(self, folder: Path) -> None:
        engine = Engine(folder)
        learner = engine.learners.get(engine.models["rank"], None).learner
        with pytest.raises(InvalidRecord, match="event 3 cannot be read"):
            codec.decode_decision(learner, b"nothing", 3)
        with pytest.raises(InvalidRecord, match="event 3 cannot be read"):
            codec.read_value(b"nothing", 3)
        engine.store.close()


class TestCrashPoints:
    def test_the_process_ends_at_the_passing_that_was_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        killed: list[tuple[int, int]] = []
        monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
        crash_points.arm("before-commit:2")
        crash_points.crash_point("after-commit")
        crash_points.crash_point("before-commit")
        assert killed == []
        crash_points.crash_point("before-commit")
        assert killed == [(os.getpid(), signal.SIGKILL)]
        crash_points.crash_point("before-commit")
        crash_points.arm("")
        crash_points.crash_point("before-commit")
        assert len(killed) == 1


class TestLog:
    def test_an_erased_event_says_its_digest_and_nothing_else(self, folder: Path) -> None:
        with Inspection(folder) as seen:
            model = seen.model("keyed")
            event = seen.reading.events(model.shard)[1]
            reply = msgspec.json.decode(seen.log.line(model, erase_event(event)))
            assert (reply["type"], reply["decision"], reply["key"]) == ("erased", None, None)
            assert reply["digest"] == (erase_event(event).body or b"").hex()
            assert set(reply) == {"seq", "type", "decision", "key", "at", "digest"}

    def test_a_missing_event_is_reported(self, folder: Path) -> None:
        with Inspection(folder) as seen, pytest.raises(InvalidRecord, match="event 999 of rank is missing"):
            seen.log.decision(seen.model("rank"), 999)

    def test_few_learners_are_kept_to_read_records_of_many_keys(self, folder: Path) -> None:
        with Inspection(folder) as seen:
            log, model = EventLog(seen.reading), seen.model("keyed")
            made = next(event for event in log.all_events(model) if event.type == "decision")
            events = [made._replace(key=f"key{number}") for number in range(_KEPT + 5)]
            for event in events:
                log._learner(model, event)
            assert len(log._learners) == _KEPT
            assert "key4" not in {key for _, key, *_ in log._learners}
            assert log._learner(model, events[9]) is log._learner(model, events[9])


class TestRecordings:
    def test_blank_lines_of_an_export_are_passed_over(self, folder: Path, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        with Inspection(folder) as seen:
            path.write_bytes(b"\n\n".join(seen.log.all_lines(seen.model("rank"))) + b"\n \n")
        found = NdjsonSource(path)
        events = list(found.lines())
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        made = next(event.decision for event in events if event.type == "decision")
        line = found.decision(made or "")
        assert line is not None
        assert line.decision == made
        assert found.decision("nobody") is None

    def test_a_decision_of_another_model_is_none_of_this_log(self, folder: Path) -> None:
        with Inspection(folder) as seen:
            mine = StoreSource(seen, seen.model("rank"))
            other = next(e.decision for e in StoreSource(seen, seen.model("keyed")).lines() if e.decision)
            assert mine.decision(other) is None
            assert mine.decision("nobody") is None

    def test_an_export_says_what_was_taken_back(self, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        back = b'{"seq":9,"type":"rolled_back","model_version":4,"version":1}\n'
        path.write_bytes(b'{"seq":2,"type":"decision","decision":"\\"rolled_back\\"","key":"rolled_back"}\n' + back)
        undone = NdjsonSource(path).undone_versions()
        assert [version in undone for version in (1, 2, 3, 5)] == [False, True, True, False]

    def test_a_line_without_what_was_learnt(self) -> None:
        with pytest.raises(InvalidRecord, match="event 4 holds no feedback"):
            EventLine(seq=4, type="feedback", status="learnt", learn={"$": "unheard of"}).learner_input()

    def test_a_log_must_say_what_its_model_is(self, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        path.write_bytes(b"")
        with pytest.raises(InvalidRecord, match="holds no events"):
            rebuild(NdjsonSource(path))
        with pytest.raises(InvalidRecord, match="creates a model without settings"):
            Rebuilder(NdjsonSource(path)).apply(EventLine(seq=1, type="created"))


class TestSchema:
    def test_a_file_that_is_no_database_is_refused_by_readers(self, tmp_path: Path) -> None:
        (tmp_path / sqlite_schema.FILE).write_bytes(b"nonsense " * 1000)
        with pytest.raises(StorageFailed, match="cannot be read"):
            sqlite_schema.connect_reading(tmp_path)

    @pytest.mark.parametrize("script", ["SELECT nonsense", "ROLLBACK; SELECT nonsense"])
    def test_a_migration_that_fails_leaves_nothing(
        self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sqlite_schema.MIGRATIONS, 2, ("wrong", f"CREATE TABLE half (x INTEGER); {script}"))
        with pytest.raises(StorageFailed, match="cannot be opened"):
            sqlite_schema.connect(tmp_path)
        monkeypatch.undo()
        left = sqlite3.connect(tmp_path / sqlite_schema.FILE)
        assert left.execute("SELECT name FROM sqlite_schema WHERE name = 'half'").fetchall() == []
        left.close()
        SQLiteStore(tmp_path).close()  # and the next start makes it whole


class TestSnapshots:
    def test_other_files_are_passed_over_and_unreadable_ones_are_empty(self, tmp_path: Path) -> None:
        snapshots = Snapshots(tmp_path)
        assert list(snapshots.of(1)) == []
        taken = snapshots.write(1, 5, "aa", b"content")
        (taken.path.parent / "notes.smidgen").write_text("mine")
        (taken.path.parent / "000000000000009-bb.smidgen").mkdir()
        first, second = snapshots.of(1)
        assert (first.seq, first.mark, first.state(own=True).content) == (9, "bb", b"")
        assert second == taken
        assert second.state(own=True).content == b"content"

    def test_one_that_cannot_be_synced_is_not_left_half(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(handle: int) -> None:
            raise OSError(28, "No space left on device")

        snapshots = Snapshots(tmp_path)
        taken = snapshots.write(1, 5, "aa", b"content")
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space"):
            snapshots.write(1, 6, "bb", b"more")
        assert [path.name for path in taken.path.parent.iterdir()] == [taken.path.name]

    def test_a_learner_of_an_event_that_is_not_there_is_not_published(self, folder: Path) -> None:
        store = SQLiteStore(folder)
        before = [state.seq for state in store.states(1)]
        store.publish(1, None, 999, b"")
        assert [state.seq for state in store.states(1)] == before
        store.close()


class TestReading:
    def test_a_failing_disk_is_distinguished_from_a_wrong_query(self, folder: Path) -> None:
        store = SQLiteStore(folder)
        for ask in (store._buffer.rows, store._buffer.run, lambda sql: list(store._buffer.each(sql, (), 5))):
            with pytest.raises(StorageFailed, match="is damaged: no such column: nonsense"):
                ask("SELECT nonsense")
            with pytest.raises(sqlite3.ProgrammingError):
                ask("SELECT ?")
        store.begin()
        row = store.models()[0]
        with pytest.raises(sqlite3.IntegrityError):
            store.create(row.name, row.body, row.resolved, 0.0)
        store.rollback()
        store.close()

    @pytest.mark.parametrize(
        ("error", "found"),
        [(sqlite3.OperationalError, StorageFailed), (sqlite3.ProgrammingError, sqlite3.ProgrammingError)],
    )
    def test_what_the_disk_refuses_is_our_refusal(self, error: type[Exception], found: type[Exception]) -> None:
        with pytest.raises(found), sqlite_schema.translate_errors():
            raise error("no")

    def test_a_reader_knows_the_latest_numbers_too(self, folder: Path) -> None:
        engine = Engine(folder)
        reader = open_folder_reader(folder)
        assert reader.last_number(1, None) == engine.models["rank"].counts.number > 0
        assert reader.last_number(2, "user0") == engine.store.last_number(2, "user0") > 0
        assert reader.last_number(2, "nobody") == reader.last_number(9, None) == 0
        assert engine.store.last_number(9, None) == 0
        reader.close()
        engine.store.close()

    def test_a_log_that_ends_elsewhere_is_refused_at_the_start(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / sqlite_schema.FILE)
        connection.execute("UPDATE shards SET seq = seq + 1 WHERE id = 1")
        connection.commit()
        connection.close()
        with pytest.raises(StorageFailed, match="does not end with event"):
            SQLiteStore(folder)

    def test_there_is_no_writing_to_a_shard_that_is_not_there(self, folder: Path) -> None:
        store = SQLiteStore(folder)
        store.begin()
        with pytest.raises(KeyError, match="no shard 99"):
            store.append(99, "rumour", 0.0, None)
        store.rollback()
        store.close()


class TestStill:
    """A folder that is looked at while somebody writes to it."""

    @pytest.fixture
    def killed(self, folder: Path) -> Path:
        """A folder after a kill: part of the log is in the write-ahead file, and no shared memory."""
        engine = Engine(folder)
        play(engine, ["rank"], 5, seed=2)
        copy = Path(shutil.copytree(folder, folder.parent / "killed", ignore=shutil.ignore_patterns("*-shm", "lock")))
        engine.store.close()
        return copy

    def test_it_is_asked_again_if_it_could_not_be_read_meanwhile(self, killed: Path) -> None:
        asked: list[int] = []

        def question(seen: Inspection) -> int:
            asked.append(1)
            if len(asked) == 1:
                (killed / f"{sqlite_schema.FILE}-wal").open("ab").close()
                os.utime(killed / sqlite_schema.FILE)
                raise StorageFailed("half a page", "wait")
            return len(seen.models())

        assert inspection.query_offline(killed, question) == 2
        assert len(asked) == 2

    def test_a_copy_that_cannot_be_made_is_reported(self, killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(shutil, "copyfile", full)
        with pytest.raises(StorageFailed, match="cannot be read: No space"):
            inspection.query_offline(killed, lambda seen: seen.models())


class TestModes:
    def test_what_is_gone_is_closed_and_what_refuses_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(1, "Operation not permitted")

        assert data_dir._restrict_path(tmp_path / "gone")
        (tmp_path / "open").touch(0o644)
        monkeypatch.setattr(Path, "chmod", refuse)
        assert not data_dir._restrict_path(tmp_path / "open")

    def test_a_user_without_a_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", homeless)
        assert data_dir._shared() == {Path("/")}

    def test_a_snapshot_without_a_mark_proves_nothing(self, folder: Path) -> None:
        (folder / "snapshots" / "1" / "000000000009999.smidgen").write_bytes(b"of an earlier version")
        SQLiteStore(folder).close()


class TestCommands:
    def test_verify_is_brief_about_much(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def many(*_: Any) -> Audit:
            return Audit("rank", [f"problem {i}" for i in range(25)], compared=[f"state {i}" for i in range(8)])

        monkeypatch.setattr(verify, "audit_model", many)
        said = CliRunner().invoke(app, ["log", "verify", "rank", "--data", str(folder)])
        assert said.exit_code == 1
        assert said.output.count("error: ") == 20
        assert "… and 5 more" in said.output
        assert said.output.count("compared with") == 5
        assert "… and with 3 more" in said.output


class TestFolders:
    def test_every_new_folder_is_synced_into_the_one_above(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[Path] = []
        monkeypatch.setattr(data_dir, "sync_folder", synced.append)
        data_dir.make_folder(tmp_path / "a" / "b")
        assert sorted(synced) == [tmp_path, tmp_path / "a"]
        data_dir.make_folder(tmp_path / "a" / "b")
        assert len(synced) == 2
