"""Settings and numbers that no sane app sends: each is refused, or answered in finite numbers."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.asgi import Caller
from service.bodies import MODELS, decision_body, model, reaction
from smidgen.errors import SmidgenError
from smidgen.learners import cards, learners
from smidgen.service.engine.blueprint import Blueprint, learners_for
from smidgen.service.loops.registry import loops

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

#: Sizes are either small, or so large that nothing of them is ever allocated.
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([2**53, 2**62, 2**63 - 1, -(2**63), 2**64 - 1]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.sampled_from(["practical", "theory", "rbf", "primal", "dual"]),
)
spaces = st.fixed_dictionaries(
    {"type": st.sampled_from(["Ball", "Box", "Simplex", "L1Ball", "OGD", "PreferencePerceptron", "os.system", 3])},
    optional={"dim": plain, "radius": plain, "low": st.lists(plain, max_size=3), "high": st.lists(plain, max_size=3)},
)
values = st.one_of(plain, spaces, st.lists(plain, max_size=3), st.dictionaries(st.text(max_size=3), plain, max_size=2))


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    loop = draw(st.sampled_from(sorted(loops)))
    name = draw(st.sampled_from(learners_for(loop)))
    accepted = inspect.signature(learners[name]).parameters
    params = {**cards[name].first, **({"dim": 3} if "dim" in accepted else {})}
    params |= draw(st.dictionaries(st.sampled_from(sorted(accepted)), values, max_size=2))
    body: dict[str, Any] = {"loop": loop, "learner": name, "params": params}
    if "n_classes" in accepted and "n_classes" not in params:
        body["labels"] = ["x", "y"]
    return body


@quick
@given(body=models())
def test_settings_are_taken_or_refused(body: dict[str, Any]) -> None:
    assert refused(body) in (None, 422)


@pytest.mark.parametrize(
    "body",
    [
        {**MODELS["tune"], "params": {**MODELS["tune"]["params"], "delta": 1e-320}},
        {"loop": "filter", "learner": "PerceptronFilter", "params": {"dim": 2**46}},
        {"loop": "label", "learner": "MulticlassPerceptron", "params": {"dim": 3, "n_classes": 2**30}},
        {"loop": "label", "learner": "Banditron", "params": {"dim": 2**24, "n_classes": 16}},
        {"loop": "tune", "learner": "OGD", "params": {"space": {"type": "Simplex", "dim": 2**46}, "gradient_bound": 1}},
    ],
)
def test_what_cannot_be_computed_or_held_is_refused(body: dict[str, Any]) -> None:
    assert refused(body) == 422


def refused(body: dict[str, Any]) -> int | None:
    try:
        Blueprint(model(body)).learner("somebody")
    except SmidgenError as error:
        return error.status
    return None


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with Caller(tmp_path_factory.mktemp("extremes")) as caller:
        for name, body in MODELS.items():
            assert caller.put(f"/v1/models/{name}", body).status_code == 201
        yield caller


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([1e308, -1e308, 1e154, 1e100, -1e100, 5e-324])
)
rows = st.lists(numbers, min_size=3, max_size=3)
#: Whole numbers that a log cannot hold.
LONG = (2**64, -(2**63) - 1, 10**30)


@pytest.mark.parametrize("number", LONG)
@pytest.mark.parametrize(
    "body",
    [
        lambda number: {"params": {"width": number}},
        lambda number: {"candidates": [{"id": "a", "value": number}, {"id": "b"}]},
        lambda number: {"candidates": [{"id": "a", "value": {"inside": [number]}}, {"id": "b"}]},
    ],
)
def test_whole_numbers_that_a_log_cannot_hold_are_refused(call: Caller, body: Any, number: int) -> None:
    answer = call.put("/v1/models/long", {"loop": "choose", **body(number)})
    assert answer.status_code == 422, answer.text
    assert call.get("/v1/models/long").status_code == 404


def finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(finite(inner) for inner in value.values())
    if isinstance(value, list):
        return all(finite(inner) for inner in value)
    return not isinstance(value, float) or math.isfinite(value)


@quick
@given(
    name=st.sampled_from(sorted(MODELS)),
    features=st.lists(rows, min_size=3, max_size=3),
    top=st.sampled_from([None, 1, 2**40, 2**63 - 1]),
    number=numbers,
    yes=st.booleans(),
)
def test_numbers_of_any_size_leave_finite_weights(
    name: str, features: list[list[float]], top: int | None, number: float, yes: bool, call: Caller
) -> None:
    loop = MODELS[name]["loop"]
    body: dict[str, Any] = {"key": "somebody"} if MODELS[name].get("keyed") else {}
    if loop in ("rank", "choose"):
        body["candidates"] = [{"id": f"d{i}", "features": row} for i, row in enumerate(features)]
        body |= {"top": top} if loop == "rank" and top is not None else {}
    elif name == "hashed":
        body["features"] = {f"w{i}": x for i, x in enumerate(features[0])}
    elif loop != "tune" and name != "simple":
        body["features"] = features[0]
    answer = call.post(f"/v1/models/{name}/decisions", body)
    assert answer.status_code in (201, 422)
    if answer.status_code == 422:
        return
    reply = answer.json()
    assert reply.get("scores") is None or None not in reply["scores"]  # JSON says null for what is not finite
    fields: dict[str, Any] = {
        "rank": {"clicked": ["d2"]},
        "choose": {"better": reply.get("pair", ["d1"])[-1]},
        "label": {"label": "y"} if MODELS[name].get("learner") == "AROW" else {"correct": yes},
        "filter": {"relevant": yes},
        "tune": {"gradient": features[0]} if name == "ogd" else {"loss": number},
    }[loop]
    heard = call.post(f"/v1/decisions/{reply['decision']}/feedback", fields)
    assert heard.status_code in (200, 422)
    engine = call.app.state.service.engine
    learner = engine.learners.get(engine.models[name], body.get("key")).learner
    assert name == "simple" or np.isfinite(learner.weights).all()  # SimpleFil has no weights
    assert finite(call.get(f"/v1/decisions/{reply['decision']}").json())


@pytest.mark.parametrize("name", ["rank", "second", "choose", "label", "arow", "filter", "keyed"])
def test_a_number_that_is_too_large_is_refused_and_the_largest_is_survived(name: str, call: Caller) -> None:
    rng = random.Random(2)
    for largest, statuses in ((1e100, (201, 422)), (-1e100, (201, 422)), (1.1e100, (422,)), (-1e308, (422,))):
        body = decision_body(name, rng)
        body.pop("features", None)
        row = [largest, 0.5, -largest]
        if "candidates" in body:
            body["candidates"] = [{"id": f"d{i}", "features": row[i:] + row[:i]} for i in range(3)]
        else:
            body["features"] = row
        answer = call.post(f"/v1/models/{name}/decisions", body)
        assert answer.status_code in statuses  # some learners have stricter limits of their own
        if answer.status_code == 201 and (reply := reaction(name, answer.json(), random.Random(1))) is not None:
            reply = {"better": "d1"} if name == "choose" else {"clicked": ["d2"]} if "candidates" in body else reply
            assert call.post(f"/v1/decisions/{answer.json()['decision']}/feedback", reply).status_code in (200, 422)
    engine = call.app.state.service.engine
    key = body.get("key")
    assert np.isfinite(engine.learners.get(engine.models[name], key).learner.weights).all()


@pytest.mark.parametrize("text", ["é", "AAAA=", "!!!!", "A", ""])
def test_compact_features_that_are_not_base64(text: str, call: Caller) -> None:
    body = {"features": {"shape": [1, 3], "f32": text}}
    assert call.post("/v1/models/label/decisions:batch", body).status_code == 422


@pytest.mark.parametrize("text", ['"\\ud800"', '"\\u0000"', '"' + "\U0001f600" * 200 + '"', '"\x7f"'])
def test_keys_and_ids_of_any_characters(text: str, call: Caller, tmp_path: Path) -> None:
    row = '{"id": "p", "features": [1, 0, 0]}'
    raw = f'{{"key": {text}, "id": {text}, "candidates": [{row}]}}'.encode()
    headers = {"content-type": "application/json"}
    answer = call("POST", "/v1/models/keyed/decisions", content=raw, headers=headers)
    assert answer.status_code in (201, 400, 422)
    if answer.status_code == 201:
        assert call("POST", "/v1/models/keyed/decisions", content=raw, headers=headers).json() == answer.json()
        log = call.get("/v1/models/keyed/log").text
        assert log.endswith("\n")
