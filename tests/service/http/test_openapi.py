"""The OpenAPI document: every field has a meaning, and standard generators make clients of it that work."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.live import Live
from smidgen.service.http.openapi import document


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return document()


def nodes(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All objects of the document with where they are."""
    if isinstance(schema, dict):
        yield path, schema
        for name, each in schema.items():
            yield from nodes(each, f"{path}/{name}")
    elif isinstance(schema, list):
        for place, each in enumerate(schema):
            yield from nodes(each, f"{path}/{place}")


def test_every_field_has_a_description(described: dict[str, Any]) -> None:
    decided = described["paths"]["/v1/models/{name}/decisions"]["post"]["responses"]["201"]["content"]
    schemas = {**described["components"]["schemas"], "a decision": decided["application/json"]["schema"]}
    fields = {(name, field): each for name, schema in schemas.items() for field, each in schema["properties"].items()}
    assert len(fields) > 290
    assert [where for where, field in fields.items() if len(field.get("description", "")) < 8] == []
    assert all(schema.get("description") for schema in described["components"]["schemas"].values())


def test_every_parameter_and_every_field_within_a_field_has_a_description(described: dict[str, Any]) -> None:
    parameters = [
        (path, one)
        for path, item in described["paths"].items()
        for call in (item, *item.values())
        if isinstance(call, dict)
        for one in call.get("parameters", [])
    ]
    assert len(parameters) > 50
    assert [(path, one["name"]) for path, one in parameters if len(one.get("description", "")) < 8] == []
    nested = [
        (f"{path}/{name}", field)
        for path, schema in nodes(described)
        if isinstance(schema.get("properties"), dict) and not path.endswith("/properties")
        for name, field in schema["properties"].items()
    ]
    assert len(nested) > 350
    assert [path for path, field in nested if len(field.get("description", "")) < 8] == []


def test_every_body_has_an_example(described: dict[str, Any]) -> None:
    bodies = [
        (path, body)
        for path, schema in nodes(described["paths"])
        if (body := schema.get("requestBody", {}).get("content", {}).get("application/json"))
    ]
    assert len(bodies) > 25
    assert [path for path, body in bodies if "example" not in body] == []


def test_numbers_have_a_size_and_only_plain_values_a_default(described: dict[str, Any]) -> None:
    for path, schema in nodes(described):
        if schema.get("type") in ("number", "integer"):
            assert schema["format"] == {"number": "double", "integer": "int64"}[schema["type"]], path
        assert schema.get("default") is None or len(schema.get("anyOf", ())) < 2, path


def test_every_array_says_what_it_holds(described: dict[str, Any]) -> None:
    arrays = [(path, schema) for path, schema in nodes(described) if schema.get("type") == "array"]
    assert len(arrays) > 50
    assert [path for path, schema in arrays if not isinstance(schema.get("items"), dict)] == []


def test_no_field_with_a_default_is_required(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    required = [
        (name, field)
        for name, schema in schemas.items()
        for field in schema.get("required", [])
        if "default" in schema["properties"][field]
    ]
    assert required == []


def test_a_generated_python_client_closes_the_loop(described: dict[str, Any], tmp_path: Path) -> None:
    generator = shutil.which(os.environ.get("OPENAPI_PYTHON_CLIENT", "openapi-python-client"))
    if generator is None:
        pytest.skip("openapi-python-client is not installed: make test-generated")
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    command = [generator, "generate", "--path", "openapi.json"]
    done = subprocess.run(
        [*command, "--output-path", "made"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(tmp_path / "made"))
    try:
        made: Any = importlib.import_module("smidgen_client")
        models: Any = importlib.import_module("smidgen_client.models")
        calls = {name: importlib.import_module(f"smidgen_client.api.default.{name}") for name in CALLS}
        with Live(tmp_path / "data") as service, made.AuthenticatedClient(service.url, token="none") as client:
            close_the_loop(models, calls, client)
    finally:
        sys.path.remove(str(tmp_path / "made"))
        for name in [each for each in sys.modules if each.partition(".")[0] == "smidgen_client"]:
            del sys.modules[name]


CALLS = ("create_model", "decide", "give_feedback", "tell_story")


def close_the_loop(models: Any, calls: dict[str, Any], client: Any) -> None:
    body = models.ModelBody(loop=models.ModelBodyLoop.CHOOSE)
    created = calls["create_model"].sync("banner", client=client, body=body)
    assert created.learner
    offered = [models.Candidate(id="red"), models.Candidate(id="blue")]
    answer = calls["decide"].sync("banner", client=client, body=models.DecisionBody(candidates=offered))
    assert answer.choice in ("red", "blue")
    learnt = calls["give_feedback"].sync(answer.decision, client=client, body=models.FeedbackBody(reward=1.0))
    assert learnt.model_version == 1
    story = calls["tell_story"].sync(answer.decision, client=client)
    assert story.learnt_version == 1


def test_a_generated_go_client_closes_the_loop(described: dict[str, Any], tmp_path: Path) -> None:
    generator = shutil.which(os.environ.get("OPENAPI_GENERATOR", "openapi-generator-cli"))
    if generator is None or shutil.which("go") is None or shutil.which("java") is None:
        pytest.skip("openapi-generator-cli (a Java program) or Go is not installed: make test-generated")
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    command = [generator, "generate", "-g", "go", "-i", "openapi.json", "-o", "client"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=300)
    (tmp_path / "client" / "loop").mkdir()
    (tmp_path / "client" / "loop" / "main.go").write_text(GO)
    alone = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": str(tmp_path / "cache")}
    with Live(tmp_path / "data") as service:
        run = ["go", "run", "./loop", service.url.removesuffix("/")]
        done = subprocess.run(
            run, cwd=tmp_path / "client", env=os.environ | alone, capture_output=True, text=True, check=False
        )
    assert done.stdout.split()[1:] == ["1", "1"], done.stderr


#: Create a model, decide, send feedback, read the story; prints the choice and twice the model's version.
GO = """package main

import (
	"context"
	"fmt"
	"os"

	smidgen "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	settings := smidgen.NewConfiguration()
	settings.Servers = smidgen.ServerConfigurations{{URL: os.Args[1]}}
	api, ctx := smidgen.NewAPIClient(settings).DefaultAPI, context.Background()

	_, _, err := api.CreateModel(ctx, "banner").ModelBody(*smidgen.NewModelBody("choose")).Execute()
	check(err)
	red, blue := "red", "blue"
	offered := []smidgen.Candidate{
		*smidgen.NewCandidate(smidgen.CandidateId{String: &red}),
		*smidgen.NewCandidate(smidgen.CandidateId{String: &blue}),
	}
	body := smidgen.NewDecisionBody()
	body.SetCandidates(smidgen.DecisionBodyCandidates{ArrayOfCandidate: &offered})
	answer, _, err := api.Decide(ctx, "banner").DecisionBody(*body).Execute()
	check(err)
	one := 1.0
	feedback := smidgen.NewFeedbackBody()
	feedback.SetReward(smidgen.FeedbackBodyReward{Float64: &one})
	learnt, _, err := api.GiveFeedback(ctx, answer.Decision).FeedbackBody(*feedback).Execute()
	check(err)
	story, _, err := api.TellStory(ctx, answer.Decision).Execute()
	check(err)
	fmt.Println(*answer.Choice.String, learnt.ModelVersion, story.GetLearntVersion())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
"""


def test_generated_typescript_types_compile(described: dict[str, Any], tmp_path: Path) -> None:
    folder = os.environ.get("OPENAPI_TYPESCRIPT")
    if folder is None:
        pytest.skip("openapi-typescript is not installed: make test-generated")
    (tmp_path / "openapi.json").write_text(json.dumps(described))
    made = [Path(folder) / "openapi-typescript", tmp_path / "openapi.json", "--output", tmp_path / "api.d.ts"]
    subprocess.run(made, check=True, capture_output=True, timeout=300)
    use = "const wanted: components['schemas']['FeedbackBody'] = { reward: 1 };\nexport { wanted };\n"
    (tmp_path / "use.ts").write_text("import type { components } from './api';\n" + use)
    compiled = [Path(folder) / "tsc", "--noEmit", "--strict", "--skipLibCheck", "false", tmp_path / "use.ts"]
    done = subprocess.run(compiled, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
