"""Logs in files: Parquet, NDJSON, folders of both, dsjson; and where each decision stands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from service.bodies import engine_with, play
from smidgen.cli import app
from smidgen.errors import InvalidRecord, MissingExtra
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import LogSource, StoreSource
from smidgen.service.integrations.exports import Span, find
from smidgen.service.ope import sources
from smidgen.service.ope.replay import replay
from smidgen.service.ope.sources import IdIndex, files_of, kind_of, open_log
from smidgen.service.ope.whatif import what_if

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet", reason="pyarrow was built without Parquet")
NOWHERE = Path("nowhere")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in several forms: ``whole.parquet``, ``whole.ndjson``, and pieces of it in ``pieces``."""
    root = tmp_path_factory.mktemp("files")
    engine = engine_with(root / "data", ["newcomers"])
    play(engine, ["newcomers"], 300, seed=1)
    engine.close()
    (root / "pieces").mkdir()
    with Inspection(root / "data") as seen:
        recording = StoreSource(seen, seen.model("newcomers"))
        for name in ("parquet", "ndjson"):
            find(name).write(recording, Span(), root / f"whole.{name}")
        lines = (root / "whole.ndjson").read_bytes().splitlines(keepends=True)
    (root / "pieces" / "c.ndjson").write_bytes(b"".join(lines[:100]))
    (root / "pieces" / "a.ndjson").write_bytes(b"".join(lines[200:]))
    with Inspection(root / "data") as seen:
        recording = StoreSource(seen, seen.model("newcomers"))
        find("parquet").write(recording, Span(after=100), root / "after.parquet")
    table = pyarrow.parquet.read_table(root / "after.parquet").slice(0, 100)
    pyarrow.parquet.write_table(table, root / "pieces" / "b.parquet", row_group_size=7)
    (root / "pieces" / "empty.ndjson").touch()
    return root


def events(recording: LogSource) -> list[bytes]:
    return [recording.text(event) for event in recording.lines()]


@pytest.mark.parametrize("name", ["whole.parquet", "whole.ndjson", "pieces"])
def test_every_form_holds_the_same_log(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "KEPT_BYTES", 10_000)  # groups must be read again
    whole = (folder / "whole.ndjson").read_bytes().splitlines()
    with open_log(str(folder / name), NOWHERE) as recording:
        assert events(recording) == whole
        assert recording.count() == len(whole)
        for event in reversed(list(recording.lines())):
            if event.type == "decision":
                found = recording.decision(event.decision or "")
                assert found is not None
                assert found.seq == event.seq
        assert recording.decision("nobody") is None
        reply = what_if(recording, ["LinUCB"])
    with Inspection(folder / "data") as seen:
        assert what_if(StoreSource(seen, seen.model("newcomers")), ["LinUCB"]).outcomes == reply.outcomes


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("rank", "ConvexPreferencePerceptron:radius=10.0"),
        ("label", "Confidit"),
        ("tune", "OGDEG"),
        ("filter", "RidgeFil"),
    ],
)
def test_typed_columns_say_what_the_lines_say(name: str, learner: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path / "data", [name])
    play(engine, [name], 200, seed=2)
    engine.close()
    with Inspection(tmp_path / "data") as seen:
        recording = StoreSource(seen, seen.model(name))
        find("parquet").write(recording, Span(), tmp_path / "typed.parquet")
        known, lines = what_if(recording, [learner]).outcomes, events(recording)
    table = pyarrow.parquet.read_table(tmp_path / "typed.parquet")
    pyarrow.parquet.write_table(table.drop_columns(list(sources.TYPED)), tmp_path / "lines.parquet")
    for file in ("typed", "lines"):
        with open_log(str(tmp_path / f"{file}.parquet"), NOWHERE) as recording:
            assert what_if(recording, [learner]).outcomes == known
            assert events(recording) == lines
            typed = [event for event in recording.lines() if "its text" not in event.__dict__]
            assert {event.type for event in typed} == ({"decision", "feedback"} if file == "typed" else set())
        assert CliRunner().invoke(app, ["log", "verify", str(tmp_path / f"{file}.parquet")]).exit_code == 0


@pytest.mark.parametrize("name", ["whole.parquet", "pieces"])
def test_verify_and_log_replay_read_them_too(folder: Path, name: str, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["log", "verify", str(folder / name)]).exit_code == 0
    done = CliRunner().invoke(app, ["log", "replay", str(folder / name), "--key", "user1"])
    assert " rounds from " in done.output


def test_a_missing_piece_is_noticed(folder: Path, tmp_path: Path) -> None:
    for name in ("a.ndjson", "c.ndjson"):
        (tmp_path / name).write_bytes((folder / "pieces" / name).read_bytes())
    with open_log(str(tmp_path), NOWHERE) as recording, pytest.raises(InvalidRecord, match="all files"):
        events(recording)


def test_what_was_taken_back_is_found_in_parquet(tmp_path: Path) -> None:
    engine = engine_with(tmp_path / "data", ["label"])
    play(engine, ["label"], 60, seed=3)
    engine.run(lambda: engine.roll_back("label", 5))
    engine.close()
    with Inspection(tmp_path / "data") as seen:
        recording = StoreSource(seen, seen.model("label"))
        find("parquet").write(recording, Span(), tmp_path / "log.parquet")
        undone = [version for version in range(60) if version in recording.undone_versions()]
    with open_log(str(tmp_path / "log.parquet"), NOWHERE) as there:
        assert undone
        assert [version for version in range(60) if version in there.undone_versions()] == undone


def test_what_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InvalidRecord, match="not a Parquet file"):
        kind_of(tmp_path / "bad.parquet")
    (tmp_path / "bad.parquet").unlink()
    (tmp_path / "words.ndjson").write_text("words\n")
    with open_log(str(tmp_path / "words.ndjson"), NOWHERE) as recording, pytest.raises(InvalidRecord, match="line 1"):
        events(recording)
    pyarrow.parquet.write_table(pyarrow.table({"n": [1]}), tmp_path / "table.parquet")
    assert kind_of(tmp_path / "table.parquet") == "table"
    with pytest.raises(InvalidRecord, match="one kind"), open_log(str(tmp_path), NOWHERE):
        pass
    assert files_of(tmp_path / "nothing") == []


def test_parquet_is_an_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"smidgen\[parquet\]"):
        kind_of(folder / "whole.parquet")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=5), max_size=60), st.integers(1, 8))
def test_places_are_found_again(ids: list[str], fresh: int) -> None:
    before, sources.FRESH = sources.FRESH, fresh
    try:
        kept = IdIndex()
        for number, id in enumerate(ids):
            kept.put(id, number)
    finally:
        sources.FRESH = before
    for id in [*ids, "nobody at all"]:
        assert sorted(kept.find(id)) == [number for number, each in enumerate(ids) if each == id]


class TestDsjson:
    @staticmethod
    def lines(rounds: int) -> list[dict[str, Any]]:
        """A world where art is liked on phones and sport elsewhere; the log shows either with probability ½."""
        rng = np.random.default_rng(0)
        found = []
        for _ in range(rounds):
            shown, phone = int(rng.integers(2)), bool(rng.integers(2))
            actions = [{"_tag": name, "TAction": {"topic": name}} for name in ("sport", "art")]
            about = {"GUser": {"device": "ios" if phone else "mac"}, "_multi": actions}
            reward = float(rng.random() < (0.8 if shown == phone else 0.2))
            order = [shown + 1, 2 - shown]
            found.append(
                {"_label_cost": -reward, "_label_probability": 0.5, "_label_Action": shown + 1}
                | {"a": order, "p": [0.5, 0.5], "c": about}
            )
        return found

    def write(self, path: Path, lines: list[Any]) -> str:
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return str(path)

    def test_a_learner_is_judged_on_a_log_of_another_system(self, tmp_path: Path) -> None:
        log = self.write(tmp_path / "log.dsjson", [*self.lines(1500), {"c": {}, "RewardValue": 1}])
        found = replay(log, ["LinUCB:floor=0.0"], data=NOWHERE)
        assert (found.loop, found.decisions, found.answered) == ("choose", 1500, 1500)
        assert [outcome.learner for outcome in found.outcomes] == ["LinUCB:floor=0.0"]
        (estimate,) = (each for each in found.outcomes[0].figures if each.measure == "mean reward (self-normalised)")
        assert estimate.value == pytest.approx(0.8, abs=0.06)
        assert found.logged.value == pytest.approx(0.5, abs=0.05)
        assert any("another system" in note for note in found.notes)
        assert replay(log, [], data=NOWHERE).outcomes  # the recommended one, if nobody is named

    def test_costs_of_any_size(self, tmp_path: Path) -> None:
        lines = [{**line, "_label_cost": 3 * line["_label_cost"] + 1} for line in self.lines(200)]
        found = replay(self.write(tmp_path / "log.dsjson", lines), ["LinUCB"], data=NOWHERE)
        assert found.logged.value is not None
        assert 0.0 < found.logged.value < 1.2

    @pytest.mark.parametrize("change", [{"_label_probability": 0.0}, {"_label_Action": 9}, {"c": {}}])
    def test_bad_lines_are_refused(self, tmp_path: Path, change: dict[str, Any]) -> None:
        lines = self.lines(3)
        lines[1] |= change
        with pytest.raises(Exception, match="line 2"):
            replay(self.write(tmp_path / "log.dsjson", lines), ["LinUCB"], data=NOWHERE)


def test_memory_does_not_grow_with_the_log(folder: Path) -> None:
    """Reading a log from Parquet ten times as long takes about as much memory."""
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "sys.path.insert(0, '.')\n"
        "from benchmarks.long_log import write_log\n"
        "from smidgen.service.ope.sources import open_log\n"
        "for events in (2_000, 200_000):\n"
        "    write_log(Path(sys.argv[1]), events)\n"
        "    with open_log(sys.argv[1], Path('nowhere')) as recording:\n"
        "        assert sum(1 for _ in recording.lines()) == events + 1\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder / "long.parquet")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3], timeout=120,
    )  # fmt: skip
    short, long = (int(each) for each in done.stdout.split())
    assert long - short < 200_000  # KB: the kept groups, and sixteen bytes for each decision
