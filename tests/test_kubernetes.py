"""``deploy/kubernetes``: manifests that fit Kubernetes' own schema, the image and the service's probes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer.main

from smidgen import __version__
from smidgen.cli import app
from smidgen.service.engine.learner_cache import MEMORY

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
FOLDER = Path(__file__).parents[1] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def pods(path: Path) -> list[Any]:
    return [each["spec"]["template"]["spec"] for each in documents(path) if "template" in each.get("spec", {})]


def test_there_are_manifests_for_both_stores() -> None:
    assert {path.stem for path in FILES} == {"sqlite", "postgresql", "token-job"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_document_fits_the_schema_of_kubernetes(path: Path) -> None:
    schema = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for each in documents(path):
        assert schema.validate(each, "1.31", strict=True) == "1.31"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pods_have_few_rights_and_a_user_that_the_image_has(path: Path) -> None:
    (pod,) = pods(path)
    image = (FOLDER.parent / "Dockerfile").read_text()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"--uid {pod['securityContext']['runAsUser']} " in image
    for container in pod["containers"]:
        rights = container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"]["drop"] == ["ALL"]


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_the_service_is_probed_where_it_answers(name: str) -> None:
    (pod,) = pods(FOLDER / f"{name}.yaml")
    (container,) = pod["containers"]
    paths = {probe: container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
    assert paths == {"startup": "/readyz", "liveness": "/healthz", "readiness": "/readyz"}
    (program, seconds) = container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert pod["terminationGracePeriodSeconds"] - int(seconds) >= 50


def test_an_upgrade_on_postgresql_keeps_all_replicas() -> None:
    (deployment,) = [each for each in documents(FOLDER / "postgresql.yaml") if each["kind"] == "Deployment"]
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_image_is_of_this_version(path: Path) -> None:
    assert {each["image"] for pod in pods(path) for each in pod["containers"]} == {f"smidgen:{__version__}"}


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_the_memory_limit_covers_the_limits_of_the_service(name: str) -> None:
    (pod,) = pods(FOLDER / f"{name}.yaml")
    limit = pod["containers"][0]["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    assert int(limit[:-2]) * 2**30 > MEMORY + 600 * 10**6, "learners of keys, and the largest request"


def test_one_replica_writes_to_a_volume() -> None:
    (stateful,) = [each for each in documents(FOLDER / "sqlite.yaml") if each["kind"] == "StatefulSet"]
    assert stateful["spec"]["replicas"] == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_arguments_are_those_of_the_command_line(path: Path) -> None:
    command: Any = typer.main.get_command(app)
    for container in (each for pod in pods(path) for each in pod["containers"]):
        group, arguments = command, container["args"]
        while hasattr(group, "commands"):
            group, arguments = group.commands[arguments[0]], arguments[1:]
        options = {option for each in group.params for option in each.opts}
        assert {each for each in arguments if each.startswith("--")} <= options
