"""Files of every released format are opened, verified, replayed bit for bit, and gone on with.

``1.0/`` and its successors were written by ``python tests/golden/write.py`` when their format was new, and stay as they
are. Whatever this smidgen does, it must read them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import smidgen
from golden.scenes import CALLED, PLAIN, TOLD, missing
from golden.writing import HERE, LATER, continued, machine, main, own_learners, state_of
from service.asgi import Caller
from service.bodies import Clock
from smidgen import records
from smidgen.errors import InvalidRecord
from smidgen.learners.storage import decode
from smidgen.service.insight.audit import audit_file, audit_model
from smidgen.service.insight.whatif import what_if
from smidgen.service.models.engine import Engine
from smidgen.service.models.fold import STEPS
from smidgen.service.safekeeping.fsck import fsck
from smidgen.service.store import bodies, formats
from smidgen.service.store.database_recording import DatabaseRecording
from smidgen.service.store.inspection import Inspection
from smidgen.service.store.rebuilding import rebuild
from smidgen.service.store.recording import TYPES, FileRecording

FORMATS = sorted(path.name for path in HERE.iterdir() if (path / "known.json").is_file())
KNOWN: dict[str, Any] = {number: json.loads((HERE / number / "known.json").read_text()) for number in FORMATS}
LEARNERS = [(number, name) for number in FORMATS for name in KNOWN[number]["learners"]]


def same(mine: Any, theirs: Any, number: str) -> bool:
    """To the last bit on the kind of machine that wrote the files; else up to rounding."""
    if KNOWN[number]["machine"] == machine():
        return bool(mine == theirs)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key], number) for key in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(same(a, b, number) for a, b in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, float):
        return mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    return bool(mine == theirs)


@pytest.fixture
def data(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of a folder, for its owner only, as a service keeps it."""
    folder = Path(shutil.copytree(HERE / request.param / "data", tmp_path / "data"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.mark.parametrize(("data", "number"), [(each, each) for each in FORMATS], indirect=["data"])
class TestFolders:
    def test_is_sound(self, data: Path, number: str) -> None:
        report = fsck(data, deep=KNOWN[number]["machine"] == machine())
        assert report.findings == []
        assert report.sound
        assert report.models == len(KNOWN[number]["models"])

    def test_every_log_is_verified_and_replayed(self, data: Path, number: str) -> None:
        exact, compared = KNOWN[number]["machine"] == machine(), 0
        with Inspection(data) as seen:
            for name in KNOWN[number]["models"]:
                found = audit_model(seen, seen.model(name))
                wrong = [each for each in found.problems if exact or "is not what the log leads to" not in each]
                assert wrong == [], name
                assert found.passed_over == 0
                compared += len(found.compared)
        assert compared > 0, "there are snapshots to be held against"

    def test_it_opens_as_it_was_and_goes_on(self, data: Path, number: str) -> None:
        clock = Clock()
        clock.now = LATER
        with Caller(data, clock=clock) as call:
            for name, known in KNOWN[number]["models"].items():
                assert same(state_of(call, name), known, number), name
            assert same(continued(call), KNOWN[number]["continued"], number)

    def test_what_if_reads_it(self, data: Path, number: str) -> None:
        with Inspection(data) as seen:
            for name, known in KNOWN[number]["models"].items():
                if known["loop"] in ("rank", "choose", "label", "filter") and "retained" not in name:
                    found = what_if(DatabaseRecording(seen, seen.model(name)), ())
                    assert found.loop == known["loop"]


@pytest.mark.parametrize(
    ("number", "path"),
    [(number, path) for number in FORMATS for path in sorted((HERE / number / "logs").glob("*.ndjson"))],
    ids=lambda value: value if isinstance(value, str) else value.stem,
)
def test_exported_logs_are_read(number: str, path: Path) -> None:
    found = audit_file(FileRecording(path))
    assert found.problems == []
    assert found.version == KNOWN[number]["models"][path.stem]["model_version"]


@pytest.mark.parametrize(("number", "name"), LEARNERS)
def test_saved_learners_go_on(number: str, name: str) -> None:
    folder = HERE / number / "learners"
    exact = KNOWN[number].get("added", {}).get(name, KNOWN[number]["machine"]) == machine()
    learner = smidgen.load(folder / f"{name}.smidgen")
    assert type(learner).__name__ == name
    for context, content, heard, feedback in records.decode((folder / f"{name}.next").read_bytes())["told"]:
        made, mine = smidgen.Decision.from_bytes(content.tobytes()), learner.decide(context)
        if exact:
            assert mine == made, "it decides what it decided then"
        if heard:
            learner.learn(made, feedback)
    after = (folder / f"{name}.after").read_bytes()
    if exact:
        mine, theirs = (list(decode(content, name)) for content in (learner.to_bytes(), after))
        assert records.same(mine, theirs)
    assert learner.rounds == smidgen.load(folder / f"{name}.after").rounds


class TestComplete:
    def test_the_newest_is_the_one_that_is_written(self) -> None:
        assert FORMATS[-1] == formats.LOG
        assert KNOWN[FORMATS[-1]]["format"] == formats.LOG

    def test_no_type_of_event_is_missing(self) -> None:
        """If this fails: add a story to scenes.py that writes it, then ``make golden`` with a new number."""
        assert missing(set(KNOWN[FORMATS[-1]]["types"])) == set()
        assert set(TYPES) <= {*STEPS, *PLAIN, *CALLED, *TOLD}, "a type of event that scenes.py has not heard of"

    def test_a_type_that_nobody_has_written_is_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("golden.scenes.TYPES", (*TYPES, "wondered"))
        assert missing(set(TYPES)) == {"wondered"}

    def test_no_learner_is_missing(self) -> None:
        """If this fails: ``make golden`` adds it."""
        assert KNOWN[FORMATS[-1]]["learners"] == own_learners()

    def test_files_that_are_there_are_not_overwritten(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="stays as it is"):
            main([formats.LOG])
        with pytest.raises(SystemExit, match="writes the format"):
            main(["0.7", "--force"])

    def test_a_learner_that_is_new_is_added_and_nothing_else_is_touched(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = Path(shutil.copytree(HERE / formats.LOG, tmp_path / formats.LOG))
        for path in (folder / "learners").glob("AROW.*"):
            path.unlink()
        told = json.loads((folder / "known.json").read_text())
        (folder / "known.json").write_text(
            json.dumps({**told, "learners": [n for n in told["learners"] if n != "AROW"]})
        )
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"}
        monkeypatch.setattr("golden.writing.HERE", tmp_path)
        main([formats.LOG])
        assert capsys.readouterr().out.startswith("added: AROW\n")
        assert all(path.read_bytes() == content for path, content in before.items())
        again = json.loads((folder / "known.json").read_text())
        assert again == {**told, "added": {**told.get("added", {}), "AROW": machine()}}
        assert smidgen.load(folder / "learners" / "AROW.after").rounds > 0

    def test_they_are_small(self) -> None:
        for number in FORMATS:
            assert sum(path.stat().st_size for path in (HERE / number).rglob("*") if path.is_file()) < 1_500_000


def newer(text: str) -> list[dict[str, Any]]:
    """A log as a newer smidgen might have written it: more fields everywhere, and events of a type of its own."""
    out: list[dict[str, Any]] = []
    for line in text.splitlines():
        event = {**json.loads(line), "mood": "sunny"}
        event["seq"] = len(out) + 1
        if isinstance(event.get("record"), dict):
            event["record"]["weather"] = [1, 2]
        out.append(event)
        out.append(
            {"seq": len(out) + 1, "type": "wondered", "decision": None, "key": None, "at": event["at"], "why": 7}
        )
    out[0]["format"] = "1.7"
    return out


class TestWhatIsNotKnown:
    """Readers keep types of events and fields that they do not know."""

    LOG = HERE / FORMATS[-1] / "logs" / "rank-example.ndjson"

    def written(self, path: Path, events: list[dict[str, Any]]) -> FileRecording:
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        return FileRecording(path)

    def test_in_an_exported_log(self, tmp_path: Path) -> None:
        events = newer(self.LOG.read_text())
        recording = self.written(tmp_path / "newer.ndjson", events)
        found = audit_file(recording)
        assert found.problems == []
        assert found.passed_over == len(events) // 2
        lines = list(recording.lines())
        assert lines[1].more == {"why": 7}
        assert all(line.more["mood"] == "sunny" for line in lines[::2])
        decision = next(line for line in lines if line.type == "decision")
        assert decision.made().more == {"weather": [1, 2]}
        assert smidgen.Decision.from_json(decision.made().to_json()) == decision.made()
        mine, theirs = rebuild(recording).learner(None), rebuild(FileRecording(self.LOG)).learner(None)
        assert records.same(mine.weights, theirs.weights)
        assert what_if(recording, ()).decisions == what_if(FileRecording(self.LOG), ()).decisions

    def test_in_a_data_folder(self, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(HERE / FORMATS[-1] / "data", tmp_path / "data"))
        engine = Engine(folder, synchronous="OFF")
        slot = engine.models["undone"].slot
        engine.run(lambda: engine.store.append(slot, "wondered", 2e9, bodies.write({"why": 7}), version=3))
        engine.close()
        engine = Engine(folder, synchronous="OFF")
        line = json.loads(list(engine.events.all_lines(engine.models["undone"]))[-1])
        version = engine.models["undone"].version
        engine.close()
        assert (line["type"], line["why"]) == ("wondered", 7)
        with Inspection(folder) as seen:
            found = audit_model(seen, seen.model("undone"))
        assert (found.problems, found.passed_over, found.version) == ([], 1, version)

    def test_a_log_of_a_newer_kind_is_refused_in_a_line(self, tmp_path: Path) -> None:
        for given, said in (("2.0", "this smidgen knows"), ("one", "has the format")):
            events = [json.loads(line) for line in self.LOG.read_text().splitlines()]
            events[0]["format"] = given
            recording = self.written(tmp_path / "log.ndjson", events)
            for read in (rebuild, lambda each: what_if(each, ())):
                with pytest.raises(InvalidRecord, match=said):
                    read(recording)

    def test_a_log_from_before_says_no_format(self, tmp_path: Path) -> None:
        events = [json.loads(line) for line in self.LOG.read_text().splitlines()]
        assert events[0].pop("format") == formats.LOG
        assert audit_file(self.written(tmp_path / "old.ndjson", events)).problems == []
