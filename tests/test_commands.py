"""Commands that other distributions bring by an entry point."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from processes import python
from smidgen.cli import GROUP, add_plugin_commands, plugin_commands

ROOT = Path(__file__).parents[1]

PLUGIN = """
import typer

app = typer.Typer(help="Apples and pears.")

@app.command()
def weigh(apples: int) -> None:
    typer.echo(f"{2 * apples} pounds")

@app.command()
def sort() -> None:
    typer.echo("sorted")

def greet(name: str = "you") -> None:
    "Say hello."
    typer.echo(f"hello {name}")

stone = 3

def __getattr__(name):
    if name == "leaving":
        raise SystemExit(7)
    raise AttributeError(name)
"""


def install(folder: Path, name: str, **commands: str) -> None:
    """A distribution as small as can be: its metadata, and nothing else."""
    data = folder / f"{name}-1.0.dist-info"
    data.mkdir(parents=True)
    (data / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = (f"{command} = {value}" for command, value in commands.items())
    (data / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "greengrocer.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def commands() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def serve() -> None:
        typer.echo("ours")

    @app.command("tidy")
    def tidy_up() -> None:
        typer.echo("tidied")

    return app


def invoke(app: typer.Typer, *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})


class TestGuests:
    def test_a_function_and_a_family_of_commands(self, plugins: Path) -> None:
        install(plugins, "greengrocer", fruit="greengrocer:app", greet="greengrocer:greet")
        app = commands()
        add_plugin_commands(app)
        assert invoke(app, "fruit", "weigh", "4").output == "8 pounds\n"
        assert invoke(app, "greet", "--name", "Ada").output == "hello Ada\n"
        assert invoke(app, "serve").output == "ours\n"
        outcome = invoke(app, "--help").output
        assert "Apples and pears." in outcome
        assert "Say hello." in outcome

    def test_ours_keep_their_names(self, plugins: Path) -> None:
        install(plugins, "greengrocer", serve="greengrocer:greet", tidy="greengrocer:greet")
        app = commands()
        add_plugin_commands(app)
        assert invoke(app, "serve").output == "ours\n"
        assert invoke(app, "tidy").output == "tidied\n"

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ("no_such_module:app", "ModuleNotFoundError"),
            ("greengrocer:no_such_name", "AttributeError"),
            ("greengrocer:leaving", "SystemExit"),
            ("greengrocer:stone", "must be a function or a typer.Typer"),
        ],
    )
    def test_a_broken_one_says_why_and_spoils_nothing(self, plugins: Path, value: str, why: str) -> None:
        install(plugins, "greengrocer", fruit=value, greet="greengrocer:greet")
        app = commands()
        add_plugin_commands(app)
        assert "fruit" in invoke(app, "--help").output, "it is not hidden"
        ended = invoke(app, "fruit", "weigh", "--apples", "4")
        assert ended.exit_code == 1
        assert why in str(ended.exception)
        assert value in str(ended.exception)
        assert invoke(app, "greet").output == "hello you\n"

    def test_a_name_that_two_bring(self, plugins: Path) -> None:
        install(plugins, "greengrocer", fruit="greengrocer:app")
        install(plugins, "supermarket", fruit="greengrocer:greet")
        app = commands()
        add_plugin_commands(app)
        ended = invoke(app, "fruit")
        assert ended.exit_code == 1
        assert "greengrocer:app and greengrocer:greet" in str(ended.exception)


class TestPapers:
    def test_a_command_that_is_named_twice_is_one(self, plugins: Path) -> None:
        for name in ("greengrocer", "greengrocer_in_a_checkout"):
            install(plugins, name, fruit="greengrocer:app")
        assert [each.value for each in plugin_commands()["fruit"]] == ["greengrocer:app"]

    def test_the_papers_declare_their_command(self) -> None:
        declared = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
        assert declared == {"papers": "smidgen_papers.commands:app"}
        assert GROUP not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("entry-points", {})

    def test_the_papers_are_brought(self) -> None:
        ended = python("-m", "smidgen", "papers", "--help")
        assert ended.returncode == 0, ended.stderr
        assert "Reproduce the papers" in ended.stdout

    def test_smidgen_runs_without_the_papers(self) -> None:
        script = (
            "import sys\n"
            "sys.modules['smidgen_papers'] = None\n"
            "from smidgen.__main__ import main\n"
            "sys.argv = ['smidgen', *sys.argv[1:]]\n"
            "main()\n"
        )
        assert python("-c", script, "--version").returncode == 0
        refused = python("-c", script, "papers", "list")
        assert refused.returncode == 1
        assert "smidgen_papers.commands:app cannot be imported" in refused.stderr
