"""Records over HTTP: what apps send, from a model without settings to weights by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from service.asgi import Caller
from service.bodies import feedback_body, model, request
from smidgen import Candidates
from smidgen.learners import Learner
from smidgen.learners.pipeline import unwrap
from smidgen.learners.record_adapter import RecordAdapter, as_context
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import NdjsonSource, StoreSource
from smidgen.service.ope.whatif import OWN, ReplayRun, what_if

ARTICLES = [
    {"id": "a", "features": {"topic": "art", "words": 300, "pictures": True, "tags": ["new", "local"]}},
    {"id": 7, "features": {"topic": "cars", "words": 1200, "pictures": False, "author": None}},
    {"id": "c", "features": {"topic": "food", "words": 800, "pictures": True}},
]
BODIES: dict[str, dict[str, Any]] = {
    "rank": {"loop": "rank"},
    "better": {"loop": "rank", "feedback": "better"},
    "choose": {"loop": "choose", "feedback": "better"},
    "reward": {"loop": "choose"},
    "label": {"loop": "label", "labels": ["bug", "billing"]},
    "filter": {"loop": "filter"},
}
ASKED: dict[str, dict[str, Any]] = {
    "rank": {"candidates": ARTICLES, "context": {"device": {"os": "ios"}, "hour": 9}},
    "better": {"candidates": ARTICLES, "context": {"device": {"os": "ios"}}, "top": 2},
    "choose": {"candidates": [{"id": 1}, {"id": 2}], "context": {"country": "se"}},
    "reward": {"candidates": ARTICLES, "context": {"country": "se"}},
    "label": {"features": {"title": "it crashes", "plan": "free", "age_days": 3, "vip": False, "note": None}},
    "filter": {"features": {"source": "cron", "level": 3}},
}
FEEDBACK: dict[str, dict[str, Any]] = {
    "rank": {"clicked": [7]},
    "better": {"better": ["c", 7]},
    "choose": {"better": 2},
    "reward": {"reward": 0.7},
    "label": {"correct": True},
    "filter": {"relevant": True},
}


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path / "data") as caller:
        yield caller


def _round(call: Caller, name: str, **more: Any) -> dict[str, Any]:
    """A decision of the model and the feedback on it."""
    made = call.post(f"/v1/models/{name}/decisions", ASKED[name] | more)
    assert made.status_code == 201, made.text
    reply = call.post(f"/v1/decisions/{made.json()['decision']}/feedback", FEEDBACK[name])
    assert reply.status_code == 200, reply.text
    assert reply.json()["status"] == "learnt"
    return dict(made.json())


@pytest.mark.parametrize("name", BODIES)
def test_a_model_without_learner_and_features_takes_records(call: Caller, name: str) -> None:
    made = call.put(f"/v1/models/{name}", BODIES[name])
    assert made.status_code == 201, made.text
    assert made.json()["learner"]
    assert made.json()["features"]["auto"]["dim"] == 4096
    again = call.put(f"/v1/models/{name}", BODIES[name])
    assert (again.status_code, again.json()["learner"]) == (200, made.json()["learner"])
    first = _round(call, name)
    assert first["model_version"] == 0
    assert _round(call, name)["model_version"] == 1


def test_a_table_sent_as_records_is_learnt_as_well_as_its_array(tmp_path: Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:400]
    X, y = X[order], y[order]
    spread = np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    array = smidgen.recommended(loop="label", feedback="bit", dim=65, n_classes=10)
    rows = np.hstack([np.ones((len(y), 1)), (X - X.mean(axis=0)) / spread])
    expected = sum(_labelled(array, row, int(label)) for row, label in zip(rows, y, strict=True))
    with Caller(tmp_path / "data", snapshot_every=100_000) as call:
        call.put("/v1/models/digits", {"loop": "label", "labels": [str(label) for label in range(10)]})
        wrong = 0
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            asked = {"features": {f"pixel{place}": value for place, value in enumerate(row)}}
            made = call.post("/v1/models/digits/decisions", asked).json()
            right = made["label"] == str(label)
            wrong += not right
            call.post(f"/v1/decisions/{made['decision']}/feedback", {"correct": right})
    assert wrong < 1.2 * expected
    with Inspection(tmp_path / "data") as seen:  # the log, followed in compiled code, leads to the same weights
        found = audit_model(seen, seen.model("digits"))
        assert found.problems == []
        assert found.compared


def _labelled(learner: Learner, row: Any, label: int) -> bool:
    """True if the learner was wrong in one round."""
    decision = learner.decide(row)
    learner.learn(decision, bool(decision.action == label))
    return bool(decision.action != label)


def test_ids_are_answered_as_they_were_given(call: Caller) -> None:
    for name in ("rank", "choose"):
        call.put(f"/v1/models/{name}", BODIES[name])
    assert set(_round(call, "rank")["ranking"]) == {"a", 7, "c"}
    assert _round(call, "choose")["choice"] in (1, 2)
    assert _round(call, "choose")["choice"] == 2
    twice = call.post("/v1/models/choose/decisions", {"candidates": [{"id": 7}, {"id": "7"}]})
    assert twice.status_code == 422
    assert '"7"' in twice.json()["error"]["message"]


def test_what_was_resolved_outlives_a_restart_and_verifies(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Caller(data, snapshot_every=5) as call:
        for name, body in BODIES.items():
            call.put(f"/v1/models/{name}", body)
            for _ in range(8):
                _round(call, name)
        before = {name: call.post(f"/v1/models/{name}/decisions", ASKED[name]).json() for name in BODIES}
    with Inspection(data) as seen:
        for name in BODIES:
            found = audit_model(seen, seen.model(name))
            assert found.problems == []
            assert found.compared
    with Caller(data) as call:
        for name, body in BODIES.items():
            assert call.put(f"/v1/models/{name}", body).status_code == 200
            after = call.post(f"/v1/models/{name}/decisions", ASKED[name]).json()
            answer = {"ranking", "choice", "label", "forward", "margin", "model_version"}
            if name in ("better", "choose", "label"):  # the others draw, or count decisions
                assert {k: after[k] for k in answer & after.keys()} == {
                    k: before[name][k] for k in answer & after.keys()
                }


def test_every_key_has_a_pipeline_of_its_own_that_replays(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Caller(data, keyed_in_memory=2) as call:
        call.put("/v1/models/rank", BODIES["rank"] | {"keyed": True})
        for i in range(12):
            _round(call, "rank", key=f"user{i % 4}")
    with Inspection(data) as seen:
        found = audit_model(seen, seen.model("rank"))
    assert (found.problems, found.learnt) == ([], 12)
    assert found.compared


def test_rows_of_numbers_and_records_are_distinguished(call: Caller) -> None:
    call.put("/v1/models/rows", {"loop": "label", "labels": ["x", "y"], "params": {"dim": 2}})
    assert call.post("/v1/models/rows/decisions", {"features": [0.1, 0.2]}).status_code == 201
    assert call.get("/v1/models/rows").json()["features"] is None
    call.put("/v1/models/names", {"loop": "label", "labels": ["x", "y"], "features": ["age", "height"]})
    refused = call.post("/v1/models/names/decisions", {"features": {"age": "old"}}).json()["error"]
    assert 'features.age is "old"' in refused["message"]
    assert "number" in refused["hint"]
    call.put("/v1/models/label", BODIES["label"])
    refused = call.post("/v1/models/label/decisions", {"features": [1.0, 2.0]}).json()["error"]
    assert "array of 2 numbers" in refused["message"]
    context = {"candidates": [{"id": "a", "features": [1.0]}], "context": {"a": 1}}
    call.put("/v1/models/first", {"loop": "choose", "learner": "PreferencePerceptron", "params": {"dim": 1}})
    assert call.post("/v1/models/first/decisions", context).status_code == 422


def test_a_reward_teaches_which_banner_works_for_whom(call: Caller) -> None:
    made = call.put("/v1/models/banners", {"loop": "choose"}).json()
    assert (made["learner"], made["feedback"], made["quality"]["measure"]) == ("ChoiceBank", "reward", "mean reward")
    shown = []
    for i in range(60):
        device = ("ios", "web")[i % 2]
        asked = {"candidates": [{"id": 7}, {"id": "b"}], "context": {"device": device}}
        answer = call.post("/v1/models/banners/decisions", asked).json()
        assert answer["propensities"].keys() == {"7", "b"}
        assert sum(answer["propensities"].values()) == pytest.approx(1.0)
        assert answer["propensity"] == answer["propensities"][str(answer["choice"])]
        good = answer["choice"] == (7 if device == "ios" else "b")
        shown.append(good)
        call.post(f"/v1/decisions/{answer['decision']}/feedback", {"reward": 0.9 if good else 0.1})
    assert sum(shown[-20:]) >= 17
    answer = call.post("/v1/models/banners/decisions", {"candidates": [{"id": 7}]}).json()
    for wrong in ({"reward": 1.5}, {"reward": "much"}, {"better": 7}):
        assert call.post(f"/v1/decisions/{answer['decision']}/feedback", wrong).status_code == 422
    assert call.get("/v1/models/banners").json()["quality"]["value"] > 0.6


def test_labels_take_rewards_too(call: Caller) -> None:
    body = {"loop": "label", "labels": ["x", "y"], "feedback": "reward"}
    assert call.put("/v1/models/label", body).json()["quality"]["measure"] == "mean reward"
    answer = call.post("/v1/models/label/decisions", ASKED["label"]).json()
    reply = call.post(f"/v1/decisions/{answer['decision']}/feedback", {"reward": 0.4})
    assert (reply.status_code, reply.json()["status"]) == (200, "learnt")


def test_clicks_reach_a_learner_of_clicks_as_clicks(call: Caller) -> None:
    assert call.put("/v1/models/rank", BODIES["rank"]).json()["learner"] == "PDGD"
    _round(call, "rank")
    log = call.get("/v1/models/rank/log").text.splitlines()
    assert '"$":"Clicks"' in log[-1]
    assert '"documents":[1]' in log[-1]


def test_weights_read_back_by_name(call: Caller) -> None:
    for name, body in BODIES.items():
        call.put(f"/v1/models/{name}", body)
        for _ in range(4):
            _round(call, name)
        reply = call.get(f"/v1/models/{name}/weights")
        assert reply.status_code == 200, reply.text
        assert reply.json()["model_version"] == 4
        weights = reply.json()["weights"]
        assert weights
        assert [abs(each["weight"]) for each in weights] == sorted((abs(e["weight"]) for e in weights), reverse=True)
        assert len(call.get(f"/v1/models/{name}/weights?limit=1").json()["weights"]) == 1
    names = {each["name"] for each in call.get("/v1/models/reward/weights").json()["weights"]}
    assert {"(constant)", "context.country=se", "topic=art"} & names
    assert any(" × " in name for name in names)
    labelled = call.get("/v1/models/label/weights").json()["weights"]
    assert {each["label"] for each in labelled} <= {"bug", "billing"}
    assert {"plan=free", "(constant)"} & {each["name"] for each in labelled}
    shown = call.get(f"/ui/models/label/weights.json?label={labelled[0]['label']}").json()["weights"]
    assert {"plan=free", "(constant)"} & {each["name"] for each in shown}


def test_weights_of_a_key(call: Caller) -> None:
    call.put("/v1/models/rank", BODIES["rank"] | {"keyed": True})
    _round(call, "rank", key="ann")
    assert call.get("/v1/models/rank/weights?key=ann").json()["weights"]
    assert call.get("/v1/models/rank/weights").status_code == 422
    assert call.get("/v1/models/rank/weights?key=bob").status_code == 404
    assert call.get("/v1/models/nobody/weights").status_code == 404


@pytest.mark.parametrize("name", BODIES)
def test_the_story_says_what_spoke_for_the_answer(call: Caller, name: str) -> None:
    call.put(f"/v1/models/{name}", BODIES[name])
    for _ in range(4):
        made = _round(call, name)
    story = call.get(f"/v1/decisions/{made['decision']}").json()
    assert story["contributions"]["version"] == 3
    found = story["contributions_now"]
    assert found["version"] == 4
    assert all(isinstance(item, str) and value != 0.0 for item, value in found["items"])
    assert found["items"]
    lines = call.get(f"/ui/decisions/{made['decision']}/story.json").json()["lines"]
    assert any(found["items"][0][0] in line["text"] for line in lines)


def test_rows_of_numbers_tell_contributions_too(call: Caller) -> None:
    call.put("/v1/models/rows", {"loop": "rank", "features": ["fresh", "long"], "feedback": "better"})
    asked = {"candidates": [{"id": 1, "features": [0.0, 1.0]}, {"id": 2, "features": [1.0, 0.0]}]}
    made = call.post("/v1/models/rows/decisions", asked).json()
    call.post(f"/v1/decisions/{made['decision']}/feedback", {"better": [2]})
    made = call.post("/v1/models/rows/decisions", asked).json()
    assert made["ranking"] == [2, 1]
    items = call.get(f"/v1/decisions/{made['decision']}").json()["contributions"]["items"]
    assert [name for name, _ in items] == ["fresh"]
    assert items[0][1] > 0.0


@pytest.mark.parametrize("named", [True, False])
def test_contributions_add_up_where_features_are_scaled_within_a_query(named: bool, call: Caller) -> None:
    """The default for clicks scales each feature to [0, 1] over the candidates; reported values are those it read."""
    call.put("/v1/models/scaled", {"loop": "rank", **({"features": ["price", "age"]} if named else {})})
    for n in range(12):
        rows = [{"price": 100.0 * i + n, "age": 50.0 - i * n} for i in range(4)]
        asked = {"candidates": [{"id": i, "features": row} for i, row in enumerate(rows)]}
        made = call.post("/v1/models/scaled/decisions", asked).json()
        call.post(f"/v1/decisions/{made['decision']}/feedback", {"clicked": [made["ranking"][2]]})
    made = call.post("/v1/models/scaled/decisions", asked).json()
    items = call.get(f"/v1/decisions/{made['decision']}").json()["contributions"]["items"]
    assert sum(value for _, value in items) == pytest.approx(made["scores"][0])


OTHERS = {
    "rank": "PreferencePerceptron",
    "better": "PDGD",
    "choose": "PreferencePerceptron",
    "label": "Confidit",
    "filter": "PerceptronFilter",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_if_reads_records_as_the_log_read_them(tmp_path: Path, name: str) -> None:
    data, exported = tmp_path / "data", tmp_path / "log.ndjson"
    with Caller(data) as call:
        call.put(f"/v1/models/{name}", BODIES[name])
        for i in range(6):
            made = call.post(f"/v1/models/{name}/decisions", ASKED[name]).json()
            if i % 3 != 2:
                call.post(f"/v1/decisions/{made['decision']}/feedback", FEEDBACK[name])
        exported.write_text(call.get(f"/v1/models/{name}/log").text)
    others = [OTHERS[name]] if name in OTHERS else []
    with Inspection(data) as seen:
        found = what_if(StoreSource(seen, seen.model(name)), others)
    again = what_if(NdjsonSource(exported), others)
    assert (found.decisions, found.answered) == (6, 4)
    assert again.outcomes == found.outcomes
    assert [each.learner for each in found.outcomes] == ["as logged", *others]


LEARNT: dict[str, dict[str, Any]] = {
    "hinge": {"loop": "label", "learner": "HingeConfidit", "labels": ["bug", "billing", "other"]},
    "confidit": {"loop": "label", "learner": "Confidit", "labels": ["bug", "billing", "other"]},
    "arow": {"loop": "label", "learner": "AROW", "labels": ["bug", "billing", "other"]},
    "filter": {"loop": "filter"},
    "reward": {"loop": "choose"},
}


@pytest.mark.parametrize("keyed", [False, True], ids=["one learner", "keyed"])
@pytest.mark.parametrize("name", LEARNT)
def test_records_are_learnt_as_the_bare_learner_learns_their_rows(tmp_path: Path, name: str, keyed: bool) -> None:
    """In the service, and along its log: the bits of a learner that is given the rows themselves."""
    body = LEARNT[name] | ({"keyed": True, "shared_start": False} if keyed else {})
    engine, rng = Engine(tmp_path, synchronous="OFF"), np.random.default_rng(0)
    engine.run(lambda: engine.create("m", model(body)))
    blueprint = engine.models["m"].blueprint
    assert blueprint.features is not None
    features, bare = blueprint.features.fresh(), {}
    front = RecordAdapter(unwrap(blueprint.learner(None)), features.dim)
    for i in range(60):
        key = f"k{i % 3}" if keyed else None
        learner = bare.setdefault(key, unwrap(blueprint.learner(key)).fresh())
        record: dict[str, Any] = {"size": float(rng.normal(300.0, 90.0)), "plan": str(rng.choice(["free", "team"]))}
        if name == "reward":
            offered = {"a": record, "b": {"size": 40.0, "tags": ["x", "y"]}}
            asked: dict[str, Any] = {"candidates": [{"id": id, "features": each} for id, each in offered.items()]}
            encoded = front.encode(features, Candidates(offered))
        else:
            asked, encoded = {"features": record}, front.encode(features, record)
        ids, columns = features.planned(encoded)
        mine = learner.decide(as_context(encoded, columns))
        made = engine.run(
            lambda asked=asked, key=key: engine.decide("m", request(asked | ({"key": key} if key else {})))
        )
        if name == "reward":
            assert made["choice"] == "ab"[mine.action]
            heard: Any = {"reward": float(rng.random())}
            said = heard["reward"]
        elif name == "filter":
            assert made["forward"] == mine.action
            heard, said = {"relevant": record["size"] > 300.0}, record["size"] > 300.0
        else:
            assert made["label"] == body["labels"][mine.action]
            right = 2 if record["plan"] == "team" else int(record["size"] > 300.0)
            heard = {"label": body["labels"][right]}
            said = right if "label" in learner.card.kinds else bool(mine.action == right)
        if name == "filter" and not mine.action:
            continue
        engine.run(lambda made=made, heard=heard: engine.feedback(made["decision"], feedback_body(**heard)))
        learner.learn(mine, said)
        features.absorb(encoded, ids)
    live = {key: _arrays(unwrap(engine.learners.get(engine.models["m"], key).learner)) for key in bare}
    assert live == {key: _arrays(learner) for key, learner in bare.items()}
    engine.store.close()
    with Inspection(tmp_path) as seen:
        recording = StoreSource(seen, seen.model("m"))
        bench = ReplayRun(blueprint, [], recording)
        for line in recording.lines():
            bench.apply(line)
        bench.flush()
        assert {key: _arrays(bench.evaluators[OWN].learner(key)) for key in bare} == live
        assert not any("unit length" in note for note in bench.notes()), "the log holds the records' own numbers"


def _arrays(learner: Learner) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in learner._state().items()}


@pytest.mark.parametrize(
    ("name", "body", "found"),
    [
        ("rank", {"candidates": [{"id": "a"}, {"id": 1.5}]}, "candidates[1].id is 1.5"),
        ("rank", {"candidates": [{"id": "a", "features": "art"}]}, 'candidates[0].features is "art"'),
        ("rank", {"candidates": [{"id": "a", "wings": 2}]}, 'unknown field "candidates[0].wings"'),
        ("rank", {"candidates": [{"features": {}}]}, "candidates[0].id is missing"),
        ("rank", {"candidates": []}, "candidates is an array of 0"),
        (
            "rank",
            {"candidates": [{"id": "a"}, {"id": "b", "features": {"x": [1]}}]},
            "candidates[1].features.x is an array of 1 number, and a vector has 2 to 4,096",
        ),
        ("rank", {"candidates": [{"id": "a"}], "context": {"x": 1e200}}, "context.x is 1e+200"),
        ("rank", {"candidates": [{"id": "a"}], "context": ["ios"]}, "context is an array of 1"),
        ("label", {"features": {"a": {"b": [["c"]]}}}, "features.a.b[0] is an array of 1"),
        ("label", {"features": {"a": "x" * 2000}}, "features.a is 'x"),
        ("label", {"features": {"a": 10**400}}, "features"),
        ("label", {"features": {"a": {"b": 10**40}}, "id": "once"}, "64 bits"),
    ],
)
def test_a_refusal_names_the_field_and_what_was_found(call: Caller, name: str, body: Any, found: str) -> None:
    call.put(f"/v1/models/{name}", BODIES[name])
    refused = call.post(f"/v1/models/{name}/decisions", body)
    assert refused.status_code == 422, refused.text
    error = refused.json()["error"]
    assert found in error["message"]
    assert "Expected" not in error["message"]
    assert error["hint"]


def test_a_learner_that_wraps_another_takes_records(call: Caller) -> None:
    body = {"loop": "filter", "learner": "AppleTasting", "params": {"learner": {"type": "PerceptronFilter"}}}
    assert call.put("/v1/models/tasting", body).status_code == 201
    assert call.post("/v1/models/tasting/decisions", ASKED["filter"]).status_code == 201


@pytest.mark.parametrize("name", BODIES)
def test_a_service_that_is_killed_goes_on_bit_for_bit(tmp_path: Path, name: str) -> None:
    engine = Engine(tmp_path, synchronous="OFF", snapshot_every=7)
    engine.run(lambda: engine.create(name, model(BODIES[name])))
    made = []
    for i in range(12):
        asked = request(ASKED[name])
        made.append(engine.run(lambda asked=asked: engine.decide(name, asked))["decision"])
        if i % 3:
            answered = made.pop(0)
            engine.run(lambda answered=answered: engine.feedback(answered, feedback_body(**FEEDBACK[name])))
        if i == 8:
            engine.maintain()
    before = engine.learners.get(engine.models[name], None).learner.to_bytes()
    engine.store.close()  # and nothing else: as after a kill
    again = Engine(tmp_path, synchronous="OFF")
    assert again.learners.get(again.models[name], None).learner.to_bytes() == before
    again.close()


def test_text_crosses_and_the_id_are_settings(call: Caller) -> None:
    auto = {"dim": 64, "text": ["title"], "crosses": [["device", "kind"]]}
    made = call.put("/v1/models/m", {"loop": "choose", "features": {"auto": auto}, "id_feature": False})
    assert made.json()["features"] == {"auto": {**auto, "id_feature": False, "vectors": 32}}
    asked = {
        "candidates": [{"id": 1, "features": {"title": "cheap flights", "kind": "short"}}, {"id": 2}],
        "context": {"device": "phone"},
    }
    for _ in range(5):
        answer = call.post("/v1/models/m/decisions", asked).json()
        call.post(f"/v1/decisions/{answer['decision']}/feedback", {"reward": float(answer["choice"] == 1)})
    names = {each["name"] for each in call.get("/v1/models/m/weights").json()["weights"]}
    assert "context.device=phone × kind=short" in names
    assert "title:cheap" in names
    assert not any(name.startswith("id=") for name in names)
    for wrong in ({"auto": {"dim": 1}}, {"auto": {"crosses": "all"}}, {"auto": {}, "hashed": 3}, {"wings": 1}):
        assert call.put("/v1/models/n", {"loop": "choose", "features": wrong}).status_code == 422
    assert call.put("/v1/models/n", {"loop": "choose", "feedback": "applause"}).status_code == 422
    assert call.put("/v1/models/n", {"loop": "choose", "params": {"wings": 1}}).status_code == 422


def test_settings_without_a_learner_go_to_the_recommended_one(call: Caller) -> None:
    made = call.put("/v1/models/m", {"loop": "choose", "params": {"floor": 0.5}}).json()
    assert made["learner"] == "ChoiceBank"
    assert made["params"]["floor"] == 0.5
    answer = call.post("/v1/models/m/decisions", {"candidates": [{"id": 1}, {"id": 2}]}).json()
    assert set(answer["propensities"].values()) == {0.5}  # nothing is known of either
    call.post(f"/v1/decisions/{answer['decision']}/feedback", {"reward": 0.0})
    answer = call.post("/v1/models/m/decisions", {"candidates": [{"id": 1}, {"id": 2}]}).json()
    assert min(answer["propensities"].values()) == pytest.approx(0.25)
    space = {"space": {"type": "Box", "low": [0.0, 0.0], "high": [1.0, 1.0]}}
    assert call.put("/v1/models/t", {"loop": "tune", "params": space}).json()["learner"] == "QuadraticTuner"
    assert len(call.post("/v1/models/t/decisions", {}).json()["point"]) == 2


def test_more_crosses_than_can_be_held_are_refused(call: Caller) -> None:
    call.put("/v1/models/rank", BODIES["rank"])
    call.put("/v1/models/plain", {"loop": "rank", "features": {"auto": {"crosses": []}}})
    asked = {"candidates": [{"id": i} for i in range(5000)], "context": {f"field {i}": "x" for i in range(100)}}
    refused = call.post("/v1/models/rank/decisions", asked)
    assert refused.status_code == 422
    assert "crosses" in refused.json()["error"]["message"]
    nested = asked | {"context": {"all": asked["context"]}}
    assert call.post("/v1/models/rank/decisions", nested).status_code == 422
    assert call.post("/v1/models/plain/decisions", asked).status_code == 201


def test_objects_inside_objects_inside_objects_are_refused(call: Caller) -> None:
    call.put("/v1/models/label", BODIES["label"])
    for depth in (9, 60, 300, 900, 5000):
        deep = '{"a":' * depth + "1" + "}" * depth
        headers = {"content-type": "application/json"}
        refused = call("POST", "/v1/models/label/decisions", content=f'{{"features":{deep}}}', headers=headers)
        assert refused.status_code in (400, 422), (depth, refused.text)
