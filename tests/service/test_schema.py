"""The OpenAPI document is true: schemathesis sends what it allows and what it does not, and reads the answers by it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from service.bodies import MODELS, decision_body
from service.live import Live
from service.victims import Line
from smidgen.service.http.openapi import document

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
schema = schemathesis.openapi.from_dict(document())
#: Whether a well-formed request is possible depends on the model: those that are not are answered by 422.
_POSSIBLE, _REFUSED = schemathesis.checks.CHECKS.get_by_names(["positive_data_acceptance", "negative_data_rejection"])


class Service:
    """A real service with a model of every loop and a decision of each."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.ids = []
        line = Line(url)
        for name, body in MODELS.items():
            assert line("PUT", f"/v1/models/{name}", body)[0] == 201
            status, reply = line("POST", f"/v1/models/{name}/decisions", decision_body(name, random.Random(1)))
            assert status == 201
            self.ids.append(reply["decision"])
        line.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Live(tmp_path_factory.mktemp("schema") / "data", "--snapshot-every", "50") as live:
        yield Service(live.url)
        code, _, errors = live.stop()
        assert code == 0
        assert "Traceback" not in errors, errors


@schema.parametrize()
@schema.given(which=st.sampled_from([None, *range(len(MODELS))]))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_call(case: Any, which: int | None, service: Service) -> None:
    given = case.path_parameters or {}
    if which is not None and "name" in given:
        case.path_parameters["name"] = list(MODELS)[which]
    if which is not None and "id" in given:
        case.path_parameters["id"] = service.ids[which]
    known = which is not None and case.method == "GET"  # then nothing that was made wrong is left
    case.call_and_validate(base_url=service.url, excluded_checks=[_POSSIBLE, *([_REFUSED] if known else [])])
