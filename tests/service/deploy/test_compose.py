"""``compose.yaml``: two services that fit each other and the image, nothing open, no password in the file."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main

from smidgen.cli import app

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "compose.yaml"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@pytest.fixture(scope="module")
def composed() -> Any:
    return yaml.safe_load(COMPOSE.read_text())


def test_the_service_waits_for_a_healthy_database(composed: Any) -> None:
    services = composed["services"]
    assert set(services) == {"postgres", "smidgen"}
    assert services["smidgen"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert all("healthcheck" in each for each in services.values())
    assert services["postgres"]["image"].startswith("postgres:")


def test_only_this_machine_reaches_it_and_nobody_the_database(composed: Any) -> None:
    assert "ports" not in composed["services"]["postgres"]
    assert composed["services"]["postgres"]["networks"] == ["inside"]
    assert composed["networks"]["inside"]["internal"] is True
    assert all(port.startswith("127.0.0.1:") for port in composed["services"]["smidgen"]["ports"])


def test_what_must_last_has_a_volume(composed: Any) -> None:
    volumes = [each.partition(":")[0] for each in composed["services"]["postgres"]["volumes"]]
    assert set(volumes) <= set(composed["volumes"])


def test_the_password_comes_from_a_file_that_is_not_in_the_repository(composed: Any) -> None:
    services, (name,) = composed["services"], composed["secrets"]
    assert composed["secrets"][name]["file"] == f"./secrets/{name}"
    assert "secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    assert all(name in each["secrets"] for each in services.values())
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{name}"
    store = services["smidgen"]["environment"]["SMIDGEN_STORE"]
    assert store == "postgresql://smidgen@postgres/smidgen"
    database = services["postgres"]["environment"]
    assert (database["POSTGRES_USER"], database["POSTGRES_DB"]) == ("smidgen", "smidgen")


def test_the_entrance_hands_the_password_over_and_the_command_on(composed: Any, tmp_path: Path) -> None:
    *shell, line, name = composed["services"]["smidgen"]["entrypoint"]
    (tmp_path / "password").write_text("pass word'\n")
    line = line.replace("$$", "$").replace("/run/secrets/postgres_password", shlex.quote(str(tmp_path / "password")))
    line = line.replace("exec smidgen", "exec env")
    done = subprocess.run([*shell, line, name, "-u", "HOME"], capture_output=True, text=True, check=True)
    assert "PGPASSWORD=pass word'" in done.stdout.splitlines()


def test_the_command_and_its_settings_exist(composed: Any) -> None:
    service = composed["services"]["smidgen"]
    command, *given = service["command"]
    commands: Any = typer.main.get_command(app)
    serve = commands.get_command(None, command)
    known = {option for parameter in serve.params for option in parameter.opts}
    assert {each for each in given if each.startswith("--")} <= known
    variables = {parameter.envvar for parameter in serve.params}
    assert {name for name in service["environment"] if name.startswith("SMIDGEN_")} <= variables


def test_the_image_has_what_the_store_needs(composed: Any) -> None:
    file = (ROOT / composed["services"]["smidgen"]["build"]["dockerfile"]).read_text()
    assert ".[service,postgresql]" in file


def test_the_image_holds_bytecode() -> None:
    """Its user cannot write any: without it every start would compile the sources, which takes three times as long."""
    install = next(line for line in DOCKERFILE.read_text().split("\nRUN ") if "pip install" in line)
    assert "--no-compile" not in install
    assert "PYTHONDONTWRITEBYTECODE" not in install.partition("\nFROM")[0]
