"""Golden folders of every format are opened, verified, replayed and continued.

``1.0/`` and its successors were written by ``python tests/golden/write.py`` when their format was new, and stay as they
are. Every smidgen reads them. They are compared bit for bit, except where a later change made other bits on purpose:
models that learn differently now are listed in `CHANGED`, learners and models that differ by rounding in `ROUNDED`. An
entry that is equal to the last bit after all fails the test.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

import smidgen
from golden.scenes import CALLED, PLAIN, TOLD, missing
from golden.writing import HERE, LATER, continued, machine, main, own_learners, state_of
from service.asgi import Caller
from service.bodies import Clock
from smidgen import serialization
from smidgen.errors import InvalidRecord
from smidgen.features import Encoded
from smidgen.learners import saving
from smidgen.learners.saving import decode_learner
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_file, audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection, open_read_only
from smidgen.service.engine.log_sources import TYPES, NdjsonSource, StoreSource
from smidgen.service.engine.rebuild import rebuild
from smidgen.service.engine.replay import STEPS
from smidgen.service.log import codec
from smidgen.service.ope.whatif import what_if
from smidgen.service.storage import formats

FORMATS = sorted(path.name for path in HERE.iterdir() if (path / "known.json").is_file())
KNOWN: dict[str, Any] = {number: json.loads((HERE / number / "known.json").read_text()) for number in FORMATS}
#: Models of older folders that lead to other weights now, and the change that is the reason. All else in these folders
#: keeps its bits.
_START = "format 1.4: a diagonal ChoiceBank starts at .03"
CHANGED: dict[str, dict[str, str]] = {
    "1.0": {
        "triage": "format 1.1: HingeConfidit learns from rows of unit length behind a vectorizer, as it decides",
    },
    "1.2": {"songs": _START},
    "1.3": {"songs": _START},
}
#: Saved learners (by class) and models (by name) of a folder whose numbers differ by rounding now, and why: they are
#: compared within `CLOSE`. All else keeps its bits.
_OWN_FUNCTIONS = "exp is computed by the compiled core, and not by the C library"
ROUNDED: dict[str, dict[str, str]] = {
    "1.0": {"ExponentiatedPreferencePerceptron": _OWN_FUNCTIONS},
    "1.1": {"ExponentiatedPreferencePerceptron": _OWN_FUNCTIONS},
}
#: Models of older folders that keep their weights and go on differently, and why.
_TIES = "format 1.2: among candidates or labels that are tied one is drawn, and a late record is encoded again"
CONTINUED: dict[str, dict[str, str]] = {number: dict.fromkeys(("songs", "triage"), _TIES) for number in ("1.0", "1.1")}
CLOSE = 1e-9  # relative; for arrays, to their largest number
LEARNERS = [(number, name) for number in FORMATS for name in KNOWN[number]["learners"]]


def near(mine: Any, theirs: Any) -> bool:
    """True if two values are equal up to rounding of floats: for machines other than the one that wrote the files."""
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape or mine.dtype.kind != "f":
            return serialization.same(mine, theirs)
        largest = float(np.abs(theirs).max(initial=0.0))
        return np.allclose(mine, theirs, rtol=CLOSE, atol=CLOSE * largest, equal_nan=True)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(near(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, (list, tuple)) and type(mine) is type(theirs):
        return len(mine) == len(theirs) and all(map(near, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=CLOSE, abs_tol=1e-12) or serialization.same(mine, theirs)
    return serialization.same(mine, theirs)


def agree(mine: Any, theirs: Any, number: str, name: str, *, exact: bool) -> None:
    """Assert that a learner or model does what it did: bit for bit; if it is listed, up to rounding and no better."""
    if not exact:
        assert near(mine, theirs), name
    elif name in ROUNDED.get(number, {}):
        assert near(mine, theirs), f"{name} differs by more than rounding"
        assert not serialization.same(mine, theirs), f"{name} keeps its bits: drop it from ROUNDED[{number!r}]"
    else:
        assert serialization.same(mine, theirs), name


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

    def test_every_log_is_verified_and_replayed(self, data: Path, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
        exact, compared = KNOWN[number]["machine"] == machine(), 0
        written_by = int(KNOWN[number]["parts"].get("arithmetic", 0))
        monkeypatch.setattr(saving, "ARITHMETIC", written_by)  # so that its snapshots are held against the log
        with open_read_only(data, running=False) as seen:
            for name in KNOWN[number]["models"]:
                found = audit_model(seen, seen.model(name))
                wrong = [each for each in found.problems if exact or "is not what the log leads to" not in each]
                if exact and name in ROUNDED.get(number, {}):
                    assert [each for each in wrong if "is not what the log leads to" in each] == wrong, name
                elif exact and name in CHANGED.get(number, {}):
                    assert [each for each in wrong if "is not what the log leads to" in each] == wrong != []
                else:
                    assert wrong == [], name
                assert found.passed_over == 0
                compared += len(found.compared)
        assert compared > 0, "there are snapshots to be held against"

    def test_it_opens_as_it_was_and_goes_on(self, data: Path, number: str) -> None:
        clock, changed, before = Clock(), CHANGED.get(number, {}), {}
        exact, clock.now = KNOWN[number]["machine"] == machine(), LATER
        with Caller(data, clock=clock) as call:
            for name, known in KNOWN[number]["models"].items():
                found = state_of(call, name)
                if name in changed:
                    assert found["weights"] != known["weights"], f"{name} keeps its bits: drop it from CHANGED"
                    assert _but_weights(found) == _but_weights(known)
                else:
                    before[name] = found
            after, then = continued(call), KNOWN[number]["continued"]
            assert after.keys() == then.keys()
            for name in changed.keys() & after.keys():
                assert after[name]["reply"].keys() == then[name]["reply"].keys()
            for name, found in before.items():
                if name in CONTINUED.get(number, {}):
                    agree(found, KNOWN[number]["models"][name], number, name, exact=exact)
                    assert after[name] != then[name], f"{name} goes on as it did: drop it from CONTINUED"
                    continue
                mine, theirs = (found, after.get(name)), (KNOWN[number]["models"][name], then.get(name))
                agree(mine, theirs, number, name, exact=exact)

    def test_weights_are_those_that_its_log_leads_to(self, data: Path, number: str) -> None:
        """Also where the folder holds states of an older arithmetic: they are not used."""
        with open_read_only(data, running=False) as seen:
            logs = {name: rebuild(StoreSource(seen, seen.model(name))) for name in KNOWN[number]["models"]}
        engine = Engine(data, synchronous="OFF")
        try:
            for name, log in logs.items():
                for key in log.numbers:
                    live, reply = engine.learners.get(engine.models[name], key).learner, log.learner(key)
                    live.reserve(reply.decisions)
                    reply.reserve(live.decisions)
                    assert live.to_bytes() == reply.to_bytes(), (name, key)
        finally:
            engine.close()

    def test_what_if_reads_it(self, data: Path, number: str) -> None:
        with open_read_only(data, running=False) as seen:
            for name, known in KNOWN[number]["models"].items():
                if known["loop"] in ("rank", "choose", "label", "filter") and "retained" not in name:
                    found = what_if(StoreSource(seen, seen.model(name)), ())
                    assert found.loop == known["loop"]


def _but_weights(fields: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if field != "weights"}


@pytest.mark.parametrize(
    ("number", "path"),
    [(number, path) for number in FORMATS for path in sorted((HERE / number / "logs").glob("*.ndjson"))],
    ids=lambda value: value if isinstance(value, str) else value.stem,
)
def test_exported_logs_are_read(number: str, path: Path) -> None:
    found = audit_file(NdjsonSource(path))
    assert found.problems == []
    assert found.version == KNOWN[number]["models"][path.stem]["model_version"]


def _as_then(decision: smidgen.Decision, then: smidgen.Decision) -> smidgen.Decision:
    """A decision on a record as older formats have it: since 1.2 it holds the record too."""
    if not isinstance(decision.context, Encoded) or then.context.source is not None:
        return decision
    return structs.replace(decision, context=decision.context.settled())


@pytest.mark.parametrize(("number", "name"), LEARNERS)
def test_saved_learners_go_on(number: str, name: str) -> None:
    folder = HERE / number / "learners"
    exact = KNOWN[number].get("added", {}).get(name, KNOWN[number]["machine"]) == machine()
    learner = smidgen.load(folder / f"{name}.smidgen")
    assert type(learner).__name__ == name
    mine, theirs = [], []
    for context, content, heard, feedback in serialization.decode((folder / f"{name}.next").read_bytes())["told"]:
        made = smidgen.Decision.from_bytes(content.tobytes())
        mine.append(serialization.decode(_as_then(learner.decide(context), made).to_bytes()))
        theirs.append(serialization.decode(made.to_bytes()))
        if heard:
            learner.learn(made, feedback)
    after = (folder / f"{name}.after").read_bytes()
    if exact:
        agree(
            [mine, *decode_learner(learner.to_bytes(), name)],
            [theirs, *decode_learner(after, name)],
            number,
            name,
            exact=True,
        )
    assert learner.rounds == smidgen.load(folder / f"{name}.after").rounds


class TestRounded:
    """The list of learners and models that differ by rounding says no more than is true."""

    def test_it_names_what_is_there_and_why(self) -> None:
        for number, names in ROUNDED.items():
            there = {*KNOWN[number]["learners"], *KNOWN[number]["models"]}
            assert names.keys() <= there - CHANGED.get(number, {}).keys(), number
            assert all(names.values()), "each needs a reason"

    def test_an_entry_that_is_equal_or_far_off_is_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(ROUNDED, "1.0", {"Listed": "for this test"})
        w = np.array([1.0, 1e-20, -3.0])
        agree([{"w": w + 1e-12}, 3], [{"w": w}, 3], "1.0", "Listed", exact=True)
        with pytest.raises(AssertionError, match="keeps its bits: drop it"):
            agree([{"w": w.copy()}, 3], [{"w": w}, 3], "1.0", "Listed", exact=True)
        for mine in ([{"w": w + 1e-6}, 3], [{"w": w + 1e-12}, 4], [{"w": w[:2]}, 3], [{"v": w}, 3]):
            with pytest.raises(AssertionError, match="more than rounding"):
                agree(mine, [{"w": w}, 3], "1.0", "Listed", exact=True)
        with pytest.raises(AssertionError, match="Other"):
            agree([{"w": w + 1e-12}, 3], [{"w": w}, 3], "1.0", "Other", exact=True)


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
        found = json.loads((folder / "known.json").read_text())
        (folder / "known.json").write_text(
            json.dumps({**found, "learners": [n for n in found["learners"] if n != "AROW"]})
        )
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"}
        monkeypatch.setattr("golden.writing.HERE", tmp_path)
        main([formats.LOG])
        assert capsys.readouterr().out.startswith("added: AROW\n")
        assert all(path.read_bytes() == content for path, content in before.items())
        again = json.loads((folder / "known.json").read_text())
        assert again == {**found, "added": {**found.get("added", {}), "AROW": machine()}}
        assert smidgen.load(folder / "learners" / "AROW.after").rounds > 0

    def test_they_are_small(self) -> None:
        for number in FORMATS:
            assert sum(path.stat().st_size for path in (HERE / number).rglob("*") if path.is_file()) < 6_000_000


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

    def written(self, path: Path, events: list[dict[str, Any]]) -> NdjsonSource:
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        return NdjsonSource(path)

    def test_in_an_exported_log(self, tmp_path: Path) -> None:
        events = newer(self.LOG.read_text())
        recording = self.written(tmp_path / "newer.ndjson", events)
        found = audit_file(recording)
        assert found.problems == []
        assert found.passed_over == len(events) // 2
        lines = list(recording.lines())
        assert lines[1].unknown_fields == {"why": 7}
        assert all(line.unknown_fields["mood"] == "sunny" for line in lines[::2])
        decision = next(line for line in lines if line.type == "decision")
        assert decision.record_bytes().more == {"weather": [1, 2]}
        assert smidgen.Decision.from_json(decision.record_bytes().to_json()) == decision.record_bytes()
        mine, theirs = rebuild(recording).learner(None), rebuild(NdjsonSource(self.LOG)).learner(None)
        assert serialization.same(mine.weights, theirs.weights)
        assert what_if(recording, ()).decisions == what_if(NdjsonSource(self.LOG), ()).decisions

    def test_in_a_data_folder(self, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(HERE / FORMATS[-1] / "data", tmp_path / "data"))
        engine = Engine(folder, synchronous="OFF")
        shard = engine.models["undone"].shard
        engine.run(lambda: engine.store.append(shard, "wondered", 2e9, codec.encode({"why": 7}), version=3))
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
        for given, said in (("2.0", "this version of smidgen reads up to"), ("one", "has the format")):
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
