"""The command line: what it says, what it writes, what it refuses, and what it does not import."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from processes import python
from smidgen.cli import app, run
from smidgen.learners import cards

HEAVY = ("numba", "scipy", "sklearn", "matplotlib")
DEMO_LEARNERS = sorted(name for name, card in cards.items() if "rank" in card.loops and "dim" in card.example)


def invoke(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, arguments, env=environment, catch_exceptions=False)


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message with which the whole command ends, as the shell would show it."""
    monkeypatch.setattr(sys, "argv", ["smidgen", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code not in (0, None)
    said = capsys.readouterr()
    message = ended.value.code if isinstance(ended.value.code, str) else said.err
    assert "Traceback" not in message
    return message


def read_csv(path: Path) -> Any:
    return np.genfromtxt(path, delimiter=",", names=True)


class TestHelpAndVersion:
    def test_help_names_the_commands(self) -> None:
        result = invoke("--help")
        assert result.exit_code == 0
        assert "demo" in result.output
        assert "learners" in result.output
        assert "Traceback" not in result.output

    @pytest.mark.parametrize("command", ["demo", "learners"])
    def test_every_command_has_help(self, command: str) -> None:
        result = invoke(command, "--help", COLUMNS="200", TERMINAL_WIDTH="200")
        assert result.exit_code == 0
        assert {"demo": "--queries", "learners": "--json"}[command] in result.output

    def test_nothing_said_is_help(self) -> None:
        assert "demo" in invoke().output

    def test_version(self) -> None:
        result = invoke("--version")
        assert (result.exit_code, result.output.strip()) == (0, f"smidgen {version('smidgen')}")

    def test_an_unknown_command(self) -> None:
        result = invoke("dance")
        assert result.exit_code == 2
        assert "dance" in result.output


class TestLearners:
    @pytest.mark.parametrize("columns", [60, 80, 139, 140, 200])
    def test_lists_them_all_whatever_the_width(self, columns: int) -> None:
        result = invoke("learners", COLUMNS=str(columns))
        assert result.exit_code == 0
        for name in cards:
            assert name in result.output
        assert max(map(len, result.output.splitlines())) <= columns

    def test_wide_is_a_table_and_narrow_a_list(self) -> None:
        wide, narrow = invoke("learners", COLUMNS="180").output, invoke("learners", COLUMNS="80").output
        assert f"{len(cards)} learners" in wide
        assert "┃" in wide
        assert "┃" not in narrow
        assert narrow.count("average regret") == len(cards)

    def test_json_is_for_programs(self) -> None:
        rows = json.loads(invoke("learners", "--json", COLUMNS="40").output)
        assert {row["learner"] for row in rows} == set(cards)
        for row in rows:
            card = cards[row.pop("learner")]
            assert row["loop"] == ", ".join(card.loops)
            assert row["feedback"] == card.feedback_in_words
            assert {name: row[name] for name in ("paper", "bound", "cost")} == {
                "paper": card.paper,
                "bound": card.bound,
                "cost": card.cost,
            }

    def test_one_loop(self) -> None:
        rows = json.loads(invoke("learners", "--json", "--loop", "rank").output)
        assert {row["learner"] for row in rows} == {name for name, card in cards.items() if "rank" in card.loops}

    def test_an_unknown_loop(self) -> None:
        result = invoke("learners", "--loop", "knitting", COLUMNS="200", TERMINAL_WIDTH="200")
        assert result.exit_code == 2
        assert "there is no loop 'knitting'; choose one of " in result.output
        assert "Traceback" not in result.output


class TestDemo:
    SMALL = ("--docs", "12", "--features", "5")

    def check(self, folder: Path, queries: int) -> None:
        table = read_csv(folder / "regret.csv")
        assert table.dtype.names == ("round", "regret", "average_regret", "bound")
        assert table["round"].tolist() == list(range(1, queries + 1))
        np.testing.assert_allclose(
            table["average_regret"], np.cumsum(table["regret"]) / table["round"], rtol=1e-6, atol=1e-8
        )
        assert table["average_regret"][-1] < 0.8 * table["average_regret"][:10].max(), "regret falls"
        assert not (table["average_regret"] > table["bound"]).any()
        assert (folder / "regret.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")

    @pytest.mark.parametrize("learner", DEMO_LEARNERS)
    def test_every_learner(self, learner: str, tmp_path: Path) -> None:
        queries = 60 if learner == "RankingSVM" else 200
        result = invoke("demo", "--learner", learner, "--queries", str(queries), *self.SMALL, "--out", str(tmp_path))
        assert result.exit_code == 0, result.output
        assert learner in result.output
        self.check(tmp_path, queries)

    @pytest.mark.parametrize("user", ["strict", "noisy", "clicks"])
    def test_every_user(self, user: str, tmp_path: Path) -> None:
        folder = tmp_path / "made" / "on the way"
        result = invoke("demo", "--user", user, "--queries", "150", *self.SMALL, "--out", str(folder))
        assert result.exit_code == 0, result.output
        self.check(folder, 150)

    def test_as_a_command_of_its_own(self, tmp_path: Path) -> None:
        ended = python("-W", "error", "-m", "smidgen", "demo", "--queries", "100", *self.SMALL, "--out", str(tmp_path))
        assert ended.returncode == 0, ended.stderr
        assert "Theorem 1" in ended.stdout
        self.check(tmp_path, 100)

    def test_the_same_seed_the_same_numbers(self, tmp_path: Path) -> None:
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            invoke("demo", "--queries", "40", *self.SMALL, "--seed", seed, "--out", str(tmp_path / name))
        a, b, c = ((tmp_path / name / "regret.csv").read_bytes() for name in "abc")
        assert a == b
        assert a != c

    def test_as_little_as_can_be(self, tmp_path: Path) -> None:
        result = invoke("demo", "--queries", "1", "--docs", "2", "--features", "1", "--out", str(tmp_path))
        assert result.exit_code == 0
        assert read_csv(tmp_path / "regret.csv")["round"] == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--alpha", "2"), "alpha is 2.0"),
            (("--alpha", "0"), "alpha is 0.0"),
            (("--alpha", "nan"), "alpha is nan"),
            (("--learner", "Oracle"), "learner is 'Oracle'"),
            (("--learner", "CoactiveLearner"), "learner is 'CoactiveLearner'"),
            (("--user", "nobody"), "user is 'nobody'"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_are_one_clear_line(
        self,
        arguments: tuple[str, ...],
        said: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        message = refused(monkeypatch, capsys, "demo", "--queries", "5", "--out", str(tmp_path / "out"), *arguments)
        assert message.startswith("smidgen: ")
        assert said in message
        assert len(message.splitlines()) == 1
        assert not (tmp_path / "out").exists(), "nothing is written"

    def test_in_a_process_of_its_own(self, tmp_path: Path) -> None:
        ended = python("-m", "smidgen", "demo", "--alpha", "2", "--out", str(tmp_path / "out"))
        assert ended.returncode == 1
        assert ended.stderr.splitlines() == ["smidgen: alpha is 2.0 and must lie in (0, 1]; omit it for 0.5"]

    @pytest.mark.parametrize("argument", ["--queries", "--docs", "--features", "--seed"])
    def test_counts_that_are_none(
        self, argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert argument in refused(monkeypatch, capsys, "demo", argument, "-1")

    def test_a_folder_that_is_a_file(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        occupied = tmp_path / "occupied"
        occupied.write_text("mine")
        message = refused(monkeypatch, capsys, "demo", "--queries", "5", *TestDemo.SMALL, "--out", str(occupied))
        assert "occupied" in message
        assert occupied.read_text() == "mine"


class TestWhatIsNotImported:
    def test_importing_the_package_is_light(self) -> None:
        ended = python("-c", f"import smidgen, sys; print([m for m in {('numpy', *HEAVY)} if m in sys.modules])")
        assert (ended.returncode, ended.stdout.strip()) == (0, "[]"), ended.stderr

    def test_making_a_learner_compiles_and_plots_nothing(self) -> None:
        script = "import smidgen, sys; smidgen.PreferencePerceptron(dim=3); smidgen.users.StrictAlpha"
        ended = python("-c", f"{script}; print([m for m in {HEAVY} if m in sys.modules])")
        assert (ended.returncode, ended.stdout.strip()) == (0, "[]"), ended.stderr

    @pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"]], ids=" ".join)
    def test_help_is_light(self, arguments: list[str]) -> None:
        script = (
            "import sys\n"
            "from smidgen.__main__ import main\n"
            f"sys.argv = ['smidgen', *{arguments}]\n"
            "try:\n"
            "    main()\n"
            "except SystemExit as ended:\n"
            "    assert not ended.code, ended.code\n"
            f"print([m for m in {('numpy', *HEAVY)} if m in sys.modules], file=sys.stderr)\n"
        )
        ended = python("-c", script)
        assert (ended.returncode, ended.stderr.strip()) == (0, "[]")
        assert "smidgen" in ended.stdout


class TestUbi:
    def written(self, folder: Path, orders: list[list[str]]) -> tuple[str, str]:
        queries, events = [], []
        for number in range(200):
            hits = orders[number % len(orders)]
            queries.append({"query_id": f"q{number}", "user_query": "toner", "query_response_hit_ids": hits})
            clicked = "a" if number % 4 < 2 or hits[0] == "a" else None
            about = {"object": {"object_id": clicked}, "position": {"ordinal": 1}}
            events.append({"action_name": "click", "query_id": f"q{number}", "event_attributes": about})
        for name, things in (("queries", queries), ("events", events)):
            (folder / f"{name}.ndjson").write_text("\n".join(map(json.dumps, things)))
        return str(folder / "queries.ndjson"), str(folder / "events.ndjson")

    def test_a_log_whose_order_changed(self, tmp_path: Path) -> None:
        files = self.written(tmp_path, [["a", "b"], ["b", "a"]])
        found = json.loads(CliRunner().invoke(app, ["ubi", *files, "--json", "--places", "3"]).stdout)
        assert (found["searches"], found["click_rates"][2]) == (200, None)
        assert found["looks"]["value"] == [1.0, 0.5, None]
        shown = CliRunner().invoke(app, ["ubi", *files]).stdout
        assert "0.50 (" in shown
        none = CliRunner().invoke(app, ["ubi", *files, "--actions", "purchase,like", "--json"])
        assert json.loads(none.stdout)["clicks"] == 0

    def test_a_log_whose_order_never_changed(self, tmp_path: Path) -> None:
        shown = CliRunner().invoke(app, ["ubi", *self.written(tmp_path, [["a", "b"]])])
        assert shown.exit_code == 0
        assert "not known" in shown.stdout
