"""The service's commands, next to a running service and on the files that one left."""

from __future__ import annotations

import json
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

import smidgen
from processes import python
from service.bodies import MODELS, engine_with, play
from service.live import Live
from smidgen import serialization
from smidgen.cli import app, run
from smidgen.errors import SmidgenError
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.log import codec
from smidgen.service.storage.sqlite import SQLiteStore

KEYED = [name for name, body in MODELS.items() if body.get("keyed")]
PLAIN = [name for name in MODELS if name not in KEYED]


def invoke(*arguments: str | Path) -> Result:
    environment = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
    return CliRunner().invoke(app, [str(each) for each in arguments], env=environment, catch_exceptions=False)


def said(*arguments: str | Path) -> str:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a log of every model, snapshots in the middle and at the end."""
    folder = tmp_path_factory.mktemp("played")
    engine = engine_with(folder, list(MODELS))
    for seed in (1, 2):
        play(engine, list(MODELS), 250, seed)
        engine.maintain(every=1)
    play(engine, list(MODELS), 60, 3)
    engine.close()
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A data folder of one's own, to be damaged."""
    folder = tmp_path / "small"
    engine = engine_with(folder, ["rank", "keyed"])
    play(engine, ["rank", "keyed"], 60, 5)
    engine.close()
    return folder


@pytest.fixture
def exported(small: Path, tmp_path: Path) -> Path:
    path = tmp_path / "rank.ndjson"
    said("log", "export", "rank", "--data", small, "--out", path)
    return path


def change(path: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def sql(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "smidgen.db")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


class TestLogVerify:
    @pytest.mark.parametrize("name", list(MODELS))
    def test_a_log_that_the_service_wrote_is_sound_and_gives_its_snapshots(self, name: str, played: Path) -> None:
        text = said("log", "verify", name, "--data", played)
        assert text.splitlines()[-1] == "  no errors found"
        assert "replayed and compared with" in text
        assert ("the state of key" if name in KEYED else ".smidgen") in text

    @pytest.mark.parametrize("name", ["rank", "tune", "hashed"])
    def test_an_exported_log(self, name: str, played: Path, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        said("log", "export", name, "--data", played, "--out", path)
        assert said("log", "verify", path).splitlines()[-1] == "  no errors found"

    @pytest.mark.parametrize(
        ("edit", "problem"),
        [
            (lambda events: events.pop(10), "event 11 has the number 12"),
            (lambda events: events.pop(0), "event 1 has the number 2"),
            (lambda events: events.append({**events[1], "seq": len(events) + 1}), "was made before"),
            (lambda events: events.append({**first_learnt(events), "seq": len(events) + 1}), "for the second time"),
            (lambda events: events[1].update(record={"kind": 3}), "event 2 holds a record that cannot be read"),
            (lambda events: events[1].update(number=7), "has the number 7 and its record 1"),
            (lambda events: first_learnt(events).update(model_version=5), "made version 5 after version 0"),
            (lambda events: first_learnt(events).update(status="lost"), "has the status 'lost'"),
            (lambda events: first_learnt(events).update(decision="nobody"), "which was not made before"),
            (lambda events: first_learnt(events).update(learn=[0, 1]), "cannot be replayed"),
            (lambda events: events[2].update(seq="three"), "is not an event"),
        ],
    )
    def test_finds_what_is_wrong_with_an_exported_log(
        self, edit: Callable[[list[dict[str, Any]]], None], problem: str, exported: Path
    ) -> None:
        change(exported, edit)
        result = invoke("log", "verify", exported)
        assert result.exit_code == 1
        assert problem in result.output
        assert result.output.splitlines()[-1] == "  errors found"

    def test_finds_weights_that_the_log_does_not_lead_to(self, small: Path) -> None:
        connection = sqlite3.connect(small / "smidgen.db")
        rows = connection.execute("SELECT seq, body FROM events WHERE type = 'feedback' AND shard = 1").fetchall()
        seq, body = next((seq, codec.read_feedback(body, seq)) for seq, body in rows if b"clicked" in body)
        found = codec.read_value(body.learn, seq)
        changed = codec.FeedbackBody(body.feedback, serialization.encode(found[::-1].copy()))
        with connection:
            connection.execute("UPDATE events SET body = ? WHERE shard = 1 AND seq = ?", (codec.encode(changed), seq))
        connection.close()
        result = invoke("log", "verify", "rank", "--data", small)
        assert result.exit_code == 1
        assert "is not what the log leads to" in result.output
        assert f"event {seq} does not fit the chain" in result.output

    def test_passes_over_what_a_newer_smidgen_wrote(self, exported: Path) -> None:
        change(exported, lambda events: events.append({"seq": len(events) + 1, "type": "rumour", "said": [1]}))
        change(exported, lambda events: events[1].update(mood="good"))
        text = said("log", "verify", exported)
        assert "skipped 1 events of types that this version does not know" in text
        assert text.splitlines()[-1] == "  no errors found"
        lines = list(NdjsonSource(exported).lines())
        assert (lines[1].unknown_fields, lines[-1].unknown_fields, lines[-1].type) == (
            {"mood": "good"},
            {"said": [1]},
            "rumour",
        )

    def test_finds_a_key_whose_state_is_not_that_of_the_log(self, small: Path) -> None:
        connection = sqlite3.connect(small / "smidgen.db")
        (other,) = connection.execute("SELECT state FROM key_states WHERE key = 'user0'").fetchone()
        with connection:
            connection.execute("UPDATE key_states SET state = ? WHERE key = 'user2'", (other,))
        connection.close()
        result = invoke("log", "verify", "keyed", "--data", small)
        assert result.exit_code == 1
        assert "the state of key 'user2' is not what the log leads to" in result.output

    @pytest.mark.parametrize(
        ("statement", "problem"),
        [
            ("DELETE FROM events WHERE shard = 1 AND seq = 4", "event 4 has the number 5"),
            ("UPDATE decisions SET version = NULL WHERE version = 2 AND shard = 1", "the table of decisions counts"),
            ("UPDATE shards SET decisions = decisions + 1 WHERE id = 1", "the count that is kept"),
            ("UPDATE events SET key = 'x' WHERE shard = 1 AND seq = 1", "event 1 does not fit the chain"),
        ],
    )
    def test_finds_what_is_wrong_in_the_database(self, statement: str, problem: str, small: Path) -> None:
        sql(small, "PRAGMA foreign_keys = OFF", statement)
        result = invoke("log", "verify", "rank", "--data", small)
        assert result.exit_code == 1
        assert problem in result.output

    def test_finds_a_damaged_snapshot(self, small: Path) -> None:
        (path,) = (small / "snapshots" / "1").glob("*.smidgen")
        path.write_bytes(path.read_bytes()[:-5])
        result = invoke("log", "verify", "rank", "--data", small)
        assert result.exit_code == 1
        assert f"the snapshot {path.name} cannot be used" in result.output

    def test_next_to_a_running_service(self, tmp_path: Path) -> None:
        with Live(tmp_path) as live, smidgen.Client(live.url) as client:
            search = client.create("search", loop="rank", learner="PreferencePerceptron", params={"dim": 2})
            search.learn(search.decide({"a": [1, 0], "b": [0, 1]}), clicked=["b"])
            assert "1 decisions, 1 learnt" in said("log", "verify", "search", "--data", tmp_path)


def first_learnt(events: list[dict[str, Any]]) -> dict[str, Any]:
    return next(event for event in events if event["type"] == "feedback" and event["status"] == "learnt")


class TestLogReplay:
    @pytest.mark.parametrize("name", PLAIN)
    def test_gives_the_services_learner_bit_for_bit(self, name: str, played: Path, tmp_path: Path) -> None:
        exported, by_file, by_database = (tmp_path / each for each in ("log.ndjson", "file.smidgen", "db.smidgen"))
        said("log", "export", name, "--data", played, "--out", exported)
        said("log", "replay", exported, "--out", by_file)
        text = said("log", "replay", name, "--data", played, "--out", by_database)
        assert MODELS[name]["learner"] in text
        newest = max((played / "snapshots" / str(1 + list(MODELS).index(name))).glob("*.smidgen"))
        assert by_file.read_bytes() == by_database.read_bytes() == newest.read_bytes()
        assert f"Learned {smidgen.load(by_file).rounds} rounds" in text

    def test_of_one_key(self, played: Path, tmp_path: Path) -> None:
        assert "4 keys with one learner each" in said("log", "replay", "keyed", "--data", played)
        out = tmp_path / "user2.smidgen"
        said("log", "replay", "keyed", "--data", played, "--key", "user2", "--out", out)
        engine = Engine(played)
        held = engine.learners.get(engine.model("keyed"), "user2").learner
        assert out.read_bytes() == held.to_bytes()
        engine.store.close()

    def test_shows_the_strongest_weights_by_name(self, played: Path) -> None:
        text = said("log", "replay", "rank", "--data", played)
        assert all(f"  {name}: " in text for name in ("a", "b", "c"))

    def test_refuses_a_key_that_is_not_there(self, played: Path) -> None:
        with pytest.raises(SmidgenError, match="no key 'nobody'"):
            invoke("log", "replay", "keyed", "--data", played, "--key", "nobody")

    def test_refuses_to_save_many_learners_in_one_file(self, played: Path, tmp_path: Path) -> None:
        result = invoke("log", "replay", "keyed", "--data", played, "--out", tmp_path / "x")
        assert result.exit_code == 2
        assert "--key" in result.output

    def test_refuses_a_log_without_its_beginning(self, exported: Path) -> None:
        change(exported, lambda events: events.pop(0))
        with pytest.raises(SmidgenError, match="does not hold the model's settings"):
            invoke("log", "replay", exported)


class TestLogExport:
    def test_to_a_file_or_to_standard_output(self, played: Path, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        assert said("log", "export", "rank", "--data", played, "--out", path).strip() == str(path)
        assert said("log", "export", "rank", "--data", played) == path.read_text()
        events = [json.loads(line) for line in path.read_text().splitlines()]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert events[0]["type"] == "created"

    def test_after_an_event(self, played: Path) -> None:
        all_lines = said("log", "export", "rank", "--data", played).splitlines()
        assert said("log", "export", "rank", "--data", played, "--after", "7").splitlines() == all_lines[7:]

    @pytest.mark.parametrize("command", ["verify", "replay", "export"])
    def test_refuses_an_unknown_model_and_an_empty_folder(self, command: str, played: Path, tmp_path: Path) -> None:
        with pytest.raises(SmidgenError, match=r'no model "nobody".*choose one of rank'):
            invoke("log", command, "nobody", "--data", played)
        with pytest.raises(SmidgenError, match="no database"):
            invoke("log", command, "rank", "--data", tmp_path / "nowhere")
        assert not (tmp_path / "nowhere").exists()

    def test_a_span_that_ends_before_it_begins(self, small: Path) -> None:
        result = invoke("log", "export", "rank", "--data", small, "--since", "2026-11-18", "--until", "2026-11-17")
        assert result.exit_code == 2
        assert "before" in result.output


class TestSnapshots:
    def test_list(self, played: Path) -> None:
        text = said("snapshot", "list", "--data", played)
        files = sorted(played.glob("snapshots/*/*.smidgen"))
        assert len(files) > 2 * len(PLAIN)
        assert sorted(line.split()[-1] for line in text.splitlines()[1:]) == [str(path) for path in files]
        assert "no snapshots" in said("snapshot", "list", "--data", make_empty(played.parent / "empty"))

    def test_verify(self, small: Path) -> None:
        assert said("snapshot", "verify", "--data", small).splitlines()[-1] == "1 valid, 0 damaged"
        (path,) = (small / "snapshots" / "1").glob("*.smidgen")
        content = path.read_bytes()
        path.write_bytes(content[:200] + b"!" + content[201:])
        path.with_name("000000000009999-0000.smidgen").write_bytes(content)
        result = invoke("snapshot", "verify", "--data", small)
        assert result.exit_code == 1
        assert "checksum" in result.output
        assert "it is not of this log" in result.output
        assert result.output.splitlines()[-1] == "0 valid, 2 damaged"


def make_empty(folder: Path) -> Path:
    SQLiteStore(folder).close()
    return folder


class TestModels:
    def test_a_table(self, played: Path) -> None:
        text = said("models", "--data", played)
        for name, body in MODELS.items():
            (line,) = (line for line in text.splitlines() if line.split()[0] == name)
            assert body.get("learner", "SoftPreferencePerceptron" if body["loop"] == "draft" else "") in line
        assert "× 4 keys" in text

    def test_from_the_database_and_from_the_service_they_are_the_same(self, small: Path) -> None:
        before = said("models", "--data", small, "--json")
        with Live(small) as live:
            assert said("models", "--url", live.url, "--json") == before
        assert {model["name"] for model in json.loads(before)} == {"rank", "keyed"}

    def test_none(self, tmp_path: Path) -> None:
        assert "no models" in said("models", "--data", make_empty(tmp_path))


class TestTokens:
    def test_a_running_service_sees_them_at_once(self, tmp_path: Path) -> None:
        with Live(tmp_path) as live:

            def ask(token: str) -> int:
                headers = {"Authorization": f"Bearer {token}"}
                return httpx.get(f"{live.url}v1/models", headers=headers).status_code

            assert httpx.get(f"{live.url}v1/models").status_code == 200
            made = invoke("token", "create", "--scope", "decide,feedback,admin", "--data", tmp_path)
            token, id = made.stdout.strip(), made.stderr.split()[2].rstrip(".")
            assert token.startswith("smidgen_")
            assert httpx.get(f"{live.url}v1/models").status_code == 401
            assert ask(token) == 200
            assert id in said("token", "list", "--data", tmp_path)
            assert token not in said("token", "list", "--data", tmp_path)
            said("token", "revoke", id, "--data", tmp_path)
            assert ask(token) == 401

    def test_a_token_for_one_model(self, tmp_path: Path) -> None:
        said("token", "create", "--scope", "decide", "--model", "search", "--data", tmp_path)
        (line,) = (line for line in said("token", "list", "--data", tmp_path).splitlines() if "decide" in line)
        assert line.split()[1:3] == ["decide", "search"]

    def test_a_name_and_an_expiry(self, tmp_path: Path) -> None:
        folder = ("--data", tmp_path)
        made = invoke("token", "create", "--scope", "read", "--name", "Grafana", "--expires", "2199-01-31", *folder)
        (line,) = (line for line in said("token", "list", *folder).splitlines() if "Grafana" in line)
        id = made.stderr.split()[2].rstrip(".")
        assert line.split()[:4] == [id, "Grafana", "read", "all"]
        assert line.split()[5:] == ["2199-01-31T00:00:00Z"]
        said("token", "revoke", id, *folder)
        (line,) = (line for line in said("token", "list", *folder).splitlines() if "Grafana" in line)
        assert len(line.split()) == 7
        for wrong, problem in (("yesterday", "the token's expiry is"), ("2001-01-01", "has passed")):
            with pytest.raises(SmidgenError, match=problem):
                invoke("token", "create", "--scope", "read", "--expires", wrong, *folder)

    def test_refusals(self, tmp_path: Path) -> None:
        with pytest.raises(SmidgenError, match="choose one of decide, feedback, read, admin"):
            invoke("token", "create", "--scope", "dance", "--data", tmp_path)
        with pytest.raises(SmidgenError, match='no valid token with the id "abc"'):
            invoke("token", "revoke", "abc", "--data", make_empty(tmp_path))
        with pytest.raises(SmidgenError, match="no database"):
            invoke("token", "revoke", "abc", "--data", tmp_path / "nowhere")


@pytest.fixture
def occupied() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def refused(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> str:
    monkeypatch.setattr(sys, "argv", ["smidgen", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    assert isinstance(ended.value.code, str)
    assert len(ended.value.code.splitlines()) == 1
    return ended.value.code


class TestServe:
    def test_stops_gracefully_and_leaves_a_snapshot(self, tmp_path: Path) -> None:
        with Live(tmp_path) as live, smidgen.Client(live.url) as client:
            assert httpx.get(f"{live.url}readyz").status_code == 200
            client.create("search", loop="rank", learner="PreferencePerceptron", params={"dim": 2})
            assert not list(tmp_path.glob("snapshots/*/*"))
            assert live.stop() == (0, "", "")
        assert len(list(tmp_path.glob("snapshots/1/*.smidgen"))) == 1

    def test_a_second_one_on_the_same_data_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with Live(tmp_path):
            assert "another service is using" in refused(monkeypatch, "serve", "--port", "0", "--data", tmp_path)

    def test_a_port_in_use(self, occupied: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        message = refused(monkeypatch, "serve", "--port", str(occupied), "--data", tmp_path)
        assert f"port {occupied} of 127.0.0.1 cannot be used: Address already in use" in message

    def test_other_addresses_need_a_token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        message = refused(monkeypatch, "serve", "--host", "0.0.0.0", "--port", "0", "--data", tmp_path)
        assert "smidgen token create" in message
        said("token", "create", "--scope", "decide", "--data", tmp_path)
        with Live(tmp_path, "--host", "0.0.0.0") as live:
            assert httpx.get(live.url.replace("0.0.0.0", "127.0.0.1") + "v1/models").status_code == 401

    def test_the_limit_of_bodies(self, tmp_path: Path) -> None:
        with Live(tmp_path, "--max-body", "2000") as live, smidgen.Client(live.url) as client:
            labels = client.create("spam", loop="label", learner="Banditron", params={"dim": 500, "n_classes": 2})
            with pytest.raises(smidgen.SmidgenError) as refusal:
                labels.decide([0.125] * 500)
            assert refusal.value.status == 413

    @pytest.mark.parametrize("what", ["file", "garbage"])
    def test_a_data_folder_that_cannot_be_one(self, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "data"
        if what == "file":
            folder.write_text("mine")
        else:
            folder.mkdir()
            (folder / "smidgen.db").write_text("mine " * 1000)
        message = refused(monkeypatch, "serve", "--port", "0", "--data", folder)
        assert "data" in message

    @pytest.mark.parametrize("absent", ["uvicorn", "starlette"])
    def test_without_its_extra(self, absent: str, tmp_path: Path) -> None:
        arguments = ["smidgen", "serve", "--data", str(tmp_path)]
        script = f"import sys; sys.modules[{absent!r}] = None; sys.argv = {arguments}"
        ended = python("-c", f"{script}; from smidgen.__main__ import main; main()")
        assert ended.returncode == 1
        assert ended.stderr.splitlines() == [f'smidgen: the service needs {absent}; pip install "smidgen[service]"']


class TestHelp:
    @pytest.mark.parametrize("arguments", [["serve"], ["token", "create"], ["log", "verify"], ["replay"], ["models"]])
    def test_imports_nothing_heavy(self, arguments: list[str]) -> None:
        heavy = ("numpy", "msgspec", "starlette", "uvicorn", "httpx", "sqlite3", "numba", "scipy")
        script = (
            "import sys\nfrom smidgen.__main__ import main\n"
            f"sys.argv = ['smidgen', *{arguments}, '--help']\n"
            "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code\n"
            f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)\n"
        )
        ended = python("-c", script)
        assert (ended.returncode, ended.stderr.strip()) == (0, "[]")
