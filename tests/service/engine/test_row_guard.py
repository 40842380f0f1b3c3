"""One row with huge features over HTTP: scaled down, counted, reported; replay, snapshots and what-if agree bit for
bit.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body, engine_with, feedback_body, model, reaction, request
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import StoreSource
from smidgen.service.engine.registry import recorded_blueprint, resolved_settings
from smidgen.service.ope.whatif import what_if

WISH = (1.0, -0.5, 0.25)
GUARDED = [name for name in MODELS if MODELS[name]["loop"] not in ("tune", "draft") and name != "simple"]


def candidates(rng: random.Random, size: float = 1.0) -> list[dict[str, Any]]:
    return [{"id": f"d{i}", "features": [size * rng.gauss(0, 1) for _ in range(3)]} for i in range(5)]


def worth(candidate: dict[str, Any]) -> float:
    return sum(a * b for a, b in zip(WISH, candidate["features"], strict=True))


@pytest.mark.parametrize("where", [0, 7, 19, 20, 60])
def test_one_wild_row_over_http(where: int, tmp_path: Path) -> None:
    rng = random.Random(1)
    with Caller(tmp_path) as call:
        call.put("/v1/models/shop", {"loop": "choose", "learner": "PreferencePerceptron", "params": {"dim": 3}})
        assert call.get("/v1/models/shop").json()["guarded"] == 0
        won = most = 0.0
        for t in range(where + 1 + 200 + 100):
            offered = candidates(rng, 2e99 if t == where else 1.0)
            answer = call.post("/v1/models/shop/decisions", {"candidates": offered})
            assert answer.status_code == 201, answer.text
            made = answer.json()
            chosen = (min if t == where else max)(offered, key=worth)
            if t > where + 200:
                won += worth(next(each for each in offered if each["id"] == made["choice"]))
                most += worth(chosen)
            call.post(f"/v1/decisions/{made['decision']}/feedback", {"better": chosen["id"]})
        assert call.get("/v1/models/shop").json()["guarded"] == 1
        assert won > 0.9 * most
    with Caller(tmp_path) as call:
        call.post("/v1/models/shop/decisions", {"candidates": candidates(rng)})
        assert call.get("/v1/models/shop").json()["guarded"] == 1


def wild(engine: Engine, name: str, rounds: int) -> None:
    """Play, with wild rows among the first and later."""
    rng = random.Random(3)
    for t in range(rounds):
        body = decision_body(name, rng)
        if t in (4, 40):
            for row in body.get("candidates", [body]):
                given = row["features"]
                row["features"] = (
                    {key: 1e60 * value for key, value in given.items()}
                    if isinstance(given, dict)
                    else [1e60 * value for value in given]
                )
        asked = request(body)
        reply = engine.run(lambda body=asked: engine.decide(name, body))
        if (given := reaction(name, reply, rng)) is not None:
            heard = feedback_body(**given)
            engine.run(lambda id=reply["decision"], body=heard: engine.feedback(id, body))


@pytest.mark.parametrize("name", GUARDED)
def test_replay_snapshots_keys_and_verify_agree(name: str, tmp_path: Path) -> None:
    engine = engine_with(tmp_path, [name], snapshot_every=17)
    wild(engine, name, 120)
    keys = [f"user{i}" for i in range(4)] if MODELS[name].get("keyed") else [None]
    engine.maintain(every=1)  # states are stored
    wild(engine, name, 3)  # and the log goes on
    before = {key: engine.learners.get(engine.models[name], key).learner.to_bytes() for key in keys}
    engine.store.close()
    again = Engine(tmp_path)
    assert {key: again.learners.get(again.models[name], key).learner.to_bytes() for key in keys} == before
    again.close()
    with Inspection(tmp_path) as seen:
        (served,) = seen.models()
        found = audit_model(seen, served)
        assert found.problems == []
        assert found.compared


def test_what_if_takes_the_guard_of_the_log(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    wild(engine, "rank", 80)
    engine.close()
    with Inspection(tmp_path) as seen:
        (served,) = seen.models()
        found = what_if(StoreSource(seen, served), ["PreferencePerceptron"])
    assert len(found.outcomes) == 2
    assert found.outcomes[0].figures == found.outcomes[1].figures


def test_models_made_before_are_left_alone(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["rank"])
    blueprint = engine.models["rank"].blueprint
    found = resolved_settings(blueprint)
    assert found["guarded"] is True
    assert recorded_blueprint(model(MODELS["rank"]), found).learner(None).guarded == 0
    old = {name: value for name, value in found.items() if name != "guarded"}
    assert recorded_blueprint(model(MODELS["rank"]), old).learner(None).guarded is None
    assert recorded_blueprint(model(MODELS["rank"]), None).learner(None).guarded is None
    created = msgspec.json.decode(next(iter(engine.events.all_lines(engine.models["rank"]))))
    assert created["resolved"]["guarded"] is True
    engine.close()


def test_a_loop_without_features_has_no_guard(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["tune", "simple"])
    assert engine.learners.get(engine.models["tune"], None).learner.guarded is None
    assert engine.learners.get(engine.models["simple"], None).learner.guarded is None
    engine.close()
