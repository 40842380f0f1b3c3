"""The figures behind the dashboard, against the decisions that the test made itself."""

from __future__ import annotations

import math
import random
import re
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request

from service.asgi import Caller
from service.bodies import MODELS, Clock, decision_body, engine_with, reaction
from service.tokens import Mint
from smidgen import Ranking, bounds
from smidgen.learners import cards
from smidgen.service.errors import Unknown
from smidgen.service.http import dashboard
from smidgen.service.log import codec
from smidgen.service.loops.estimates import wilson
from smidgen.service.monitoring import curves
from smidgen.service.monitoring.weights import keys
from smidgen.service.storage.records import NewDecision, NewFeedback
from smidgen_demos.base import FRAME
from smidgen_demos.drafts.rounds import DEMO as DRAFTS
from smidgen_demos.search.searches import DEMO as SEARCH


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> str:
    """A filter that drops and explores a good deal."""
    monkeypatch.setitem(MODELS, "gate", {"loop": "filter", "learner": "PRidgeFil", "params": {"dim": 3, "p": 0.3}})
    return "gate"


def played(call: Caller, name: str, rounds: int, seed: int = 1) -> list[tuple[dict[str, Any], Any, Any]]:
    """Requests, replies and reactions, each answered at once."""
    rng = random.Random(seed)
    call.put(f"/v1/models/{name}", MODELS[name])
    out = []
    for _ in range(rounds):
        body = decision_body(name, rng)
        reply = call.post(f"/v1/models/{name}/decisions", body).json()
        given = reaction(name, reply, rng)
        if given is not None:
            assert call.post(f"/v1/decisions/{reply['decision']}/feedback", given).status_code == 200
        out.append((body, reply, given))
    return out


def figures(call: Caller, name: str) -> Any:
    return call.get(f"/ui/models/{name}/curve.json").json()


@pytest.mark.parametrize("end", ["retract", "forget", "retain"])
def test_a_curve_is_that_of_the_log_after_earlier_reads(call: Caller, clock: Clock, end: str) -> None:
    """Cached curves are dropped when the past is undone or erased."""
    name = "keyed" if end == "forget" else "rank"
    made = played(call, name, 23)
    before = figures(call, name)
    assert before["points"][-1]["to"] == 23
    if end == "retract":
        ended = call("POST", f"/v1/decisions/{made[0][1]['decision']}:retract")
    elif end == "forget":
        ended = call("DELETE", f"/v1/models/{name}/keys/{made[0][0]['key']}")
    else:
        clock.now += 1e6
        ended = call.post(f"/v1/models/{name}:retain", {"older_than_s": 1.0})
    assert ended.status_code == 200, ended.text
    here = call.app.state.service
    while here.engine.purge_pending:
        time.sleep(0.01)
    after = figures(call, name)
    here.curves._full.clear()
    assert figures(call, name)["points"] == after["points"] != before["points"]


def test_the_curve_of_a_ranking_is_what_users_left_unchanged(call: Caller) -> None:
    rounds = played(call, "rank", 37)
    named = [next(iter(given.values())) for _, _, given in rounds]
    shown = [reply["ranking"] for _, reply, _ in rounds]
    same = [ids == ranking[: len(ids)] for ids, ranking in zip(named, shown, strict=True)]
    places = [min(ranking.index(id) for id in ids) + 1 for ids, ranking in zip(named, shown, strict=True)]
    answered = figures(call, "rank")
    assert (answered["loop"], answered["measure"], answered["complete"]) == ("rank", "left unchanged", True)
    ends = [*range(5, 35, 5), 37]  # the last two join the window before
    assert [(p["from"], p["to"]) for p in answered["points"]] == list(
        zip([1, *(e + 1 for e in ends[:-1])], ends, strict=True)
    )
    for point in answered["points"]:
        part = slice(point["from"] - 1, point["to"])
        assert (point["value"], point["low"], point["high"]) == (statistics.mean(same[part]), None, None)
        assert point["position"] == pytest.approx(statistics.mean(places[part]))
        assert point["lag"] == 0


def test_windows_of_ten_and_more_have_an_interval(call: Caller) -> None:
    rounds = played(call, "choose", 160)
    same = [reply["choice"] == given["better"] for _, reply, given in rounds]
    points = figures(call, "choose")["points"]
    assert len(points) > 5
    for point in points:
        part = same[point["from"] - 1 : point["to"]]
        assert (point["value"], point["low"], point["high"]) == pytest.approx(wilson(sum(part), len(part)))


def test_a_curve_goes_on_where_it_was_and_counts_only_what_was_clicked(call: Caller) -> None:
    same: list[bool] = []
    places: list[int] = []
    for n in (3, 4, 1, 9):
        same += [reply["choice"] == given["better"] for _, reply, given in played(call, "choose", n, seed=n)]
        answered = figures(call, "choose")["points"]
        assert (answered[-1]["to"], sum(point["n"] for point in answered)) == (len(same), len(same))
        assert sum(point["n"] * point["value"] for point in answered) == pytest.approx(sum(same))
    call.put("/v1/models/rank", MODELS["rank"])
    for wanted in ([], [2], [], [3], [1]):
        reply = call.post("/v1/models/rank/decisions", decision_body("rank", random.Random(1))).json()
        better = [reply["ranking"][place - 1] for place in wanted]
        call.post(f"/v1/decisions/{reply['decision']}/feedback", {"better": better})
        places += wanted
        (point,) = figures(call, "rank")["points"]
        assert point["position"] == (statistics.mean(places) if places else None)


def test_the_strongest_weights_are_the_sum_of_what_was_learnt(call: Caller) -> None:
    w = np.zeros(3)
    for body, reply, given in played(call, "rank", 20):
        docs = Ranking(np.array([one["features"] for one in body["candidates"]]))
        place = {one["id"]: i for i, one in enumerate(body["candidates"])}
        named = next(iter(given.values()))
        better = named + [id for id in reply["ranking"] if id not in named]
        w += docs.phi([place[id] for id in better]) - docs.phi([place[id] for id in reply["ranking"]])
    answered = call.get("/ui/models/rank/weights.json").json()
    assert answered["rounds"] == 20
    assert {bar["name"]: bar["weight"] for bar in answered["weights"]} == pytest.approx(
        dict(zip("abc", w, strict=True))
    )
    sizes = [abs(bar["weight"]) for bar in answered["weights"]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_curve_of_a_filter_has_precision_forward_rate_and_exploration(call: Caller, gate: str) -> None:
    rounds = played(call, gate, 60)
    answered = figures(call, gate)
    relevant = [given["relevant"] for _, _, given in rounds if given is not None]
    assert sum(p["n"] * p["value"] for p in answered["points"]) == pytest.approx(sum(relevant))
    assert answered["points"][-1]["to"] == len(relevant)
    counts = [p["to"] - p["from"] + 1 for p in answered["made"]]
    assert sum(counts) == 60
    for what, truth in (("forwarded", "forward"), ("explored", "explored")):
        total = sum(n * p[what] for n, p in zip(counts, answered["made"], strict=True))
        wanted = sum(reply[truth] for _, reply, _ in rounds)
        assert (total, 0 < wanted < 60) == (pytest.approx(wanted), True), what


def test_the_curve_of_tuning_is_the_mean_loss_with_its_interval(call: Caller) -> None:
    losses = [given["loss"] for _, _, given in played(call, "tune", 160)]
    for point in figures(call, "tune")["points"]:
        part = losses[point["from"] - 1 : point["to"]]
        half = 1.959964 * statistics.stdev(part) / math.sqrt(len(part))
        mean = statistics.mean(part)
        assert (point["value"], point["low"], point["high"]) == pytest.approx((mean, mean - half, mean + half))


def test_the_list_shows_all_models_with_their_small_curves(call: Caller) -> None:
    for name in ("rank", "label", "tune"):
        played(call, name, 10)
    call("DELETE", "/v1/models/tune")
    reply = call.get("/ui/models.json").json()
    assert [model["name"] for model in reply["models"]] == ["label", "rank", "tune"]
    assert (reply["of"], reply["all"]) == (3, 3)
    for model in reply["models"]:
        line = [point["value"] for point in figures(call, model["name"])["points"]]
        assert model["sparkline"] == line
        at_a_glance = call.get(f"/v1/models/{model['name']}").json()
        # reported for one model only
        for closer in ("open", "pending", "best", "perturbation", "examination", "unexamined"):
            assert model[closer] is None
            del at_a_glance[closer]
        assert at_a_glance.items() <= model.items()
    assert [m["name"] for m in call.get("/ui/models.json?q=AB").json()["models"]] == ["label"]


def test_lag_is_counted_and_late_feedback_is_not(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/simple", {**MODELS["simple"], "window_s": 1000.0})
    spans = [0.9, 0.5, 9.0, 50.0, 700.0, 2000.0]
    for wait in spans:
        id = call.post("/v1/models/simple/decisions", {}).json()["decision"]
        clock.now += wait
        call.post(f"/v1/decisions/{id}/feedback", {"relevant": True})
    call.post("/v1/models/simple/decisions", {})
    lag = figures(call, "simple")["lag"]
    assert {bar["name"]: bar["n"] for bar in lag["bars"] if bar["n"]} == {
        "under 1 s": 2,
        "1–10 s": 1,
        "10–60 s": 1,
        "10–60 min": 1,
    }
    assert (lag["of"], lag["late"]) == (5, 1)
    assert call.get("/v1/models/simple").json()["open"] == 1
    assert lag["median_s"] == pytest.approx(9.0)


def test_a_long_log_is_read_in_steps_once_and_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n, rng = 9_000, random.Random(3)
    measures = [float(rng.random() < i / n) for i in range(n)]
    engine = engine_with(tmp_path, ["rank"])
    content = codec.encode(codec.DecisionBody(1, 0, 86400.0, [], b""))
    engine.begin()
    for i, measure in enumerate(measures):
        id = f"{i:024x}"
        engine.store.write_decisions(1, [NewDecision(id, 0.0, 9e9, None, i + 1, None, None, False, None, content)])
        engine.store.write_feedback(1, [NewFeedback(id, 1.0, None, b"", measure, 2.0, b"")])
    engine.commit()
    engine.store.close()
    reads: list[int] = []
    read = curves._read
    monkeypatch.setattr(curves, "_read", lambda *arguments: reads.append(arguments[-1]) or read(*arguments))
    with Caller(tmp_path) as call:
        monkeypatch.setattr(curves, "PATIENCE_S", -1.0)
        first = figures(call, "rank")
        assert not first["complete"]
        assert first["points"][-1]["to"] == curves.STEP
        monkeypatch.setattr(curves, "PATIENCE_S", 60.0)
        reply = figures(call, "rank")
        assert reply["complete"]
        size = reply["points"][0]["to"]
        assert (len(reply["points"]), reply["points"][-1]["to"], size % curves.BLOCK) == (round(n / size), n, 0)
        for point in reply["points"]:
            part = measures[point["from"] - 1 : point["to"]]
            assert point["value"] == pytest.approx(statistics.mean(part))
        reads.clear()
        assert figures(call, "rank")["points"] == reply["points"]
        assert min(reads) >= n - curves.BLOCK


@pytest.mark.parametrize(
    ("blocks", "at_most", "size"), [(1, 10, 1), (10, 10, 1), (11, 10, 2), (21, 10, 5), (99, 9, 20)]
)
def test_windows_are_round_numbers_of_blocks(blocks: int, at_most: int, size: int) -> None:
    rows = np.stack([np.full(blocks, 5.0), np.arange(blocks)], axis=1)
    merged, starts = curves.windows(rows, at_most)
    joined = 0 < blocks % size < size / 2
    assert starts.tolist() == list(range(0, blocks, size))[: -1 if joined else None]
    assert len(merged) == len(starts)
    assert merged.sum(axis=0) == pytest.approx(rows.sum(axis=0))


def test_a_last_window_that_is_hardly_begun_joins_the_one_before() -> None:
    for last, ends in ((1.0, 3), (2.0, 3), (3.0, 4), (5.0, 4)):
        rows = np.array([[5.0, 1.0]] * 3 + [[last, last]])
        merged, _ = curves.windows(rows, 10)
        assert len(merged) == ends
        assert merged[-1].tolist() == ([5.0 + last, 1.0 + last] if ends == 3 else [last, last])
    assert len(curves.windows(np.array([[1.0, 1.0]]), 10)[0]) == 1
    assert len(curves.windows(np.zeros((0, 2)), 10)[0]) == 0


def corrected(call: Caller, rounds: int, seed: int = 1) -> None:
    """Rankings, each corrected as one taste wants it."""
    rng, taste = random.Random(seed), (1.0, -2.0, 0.5)
    call.put("/v1/models/rank", MODELS["rank"])
    for _ in range(rounds):
        body = decision_body("rank", rng)
        reply = call.post("/v1/models/rank/decisions", body).json()
        liked = sorted(body["candidates"], key=lambda each: -sum(map(lambda w, x: w * x, taste, each["features"])))
        call.post(f"/v1/decisions/{reply['decision']}/feedback", {"better": [each["id"] for each in liked]})


def test_the_bound_is_the_theorems(call: Caller) -> None:
    corrected(call, 10)
    reply = figures(call, "rank")["bound"]
    assert "one weight vector agrees with all of the last 10 feedbacks" in reply["checked"]
    assert reply["unit"] == "R‖w*‖/α"
    wanted = [[T, bounds.preference_perceptron(T=T, R=1.0, w_norm=1.0, alpha=1.0)] for T in (5, 10)]
    assert np.array(reply["curve"]) == pytest.approx(np.array(wanted))
    first = call.post("/v1/models/rank/decisions", {"candidates": [{"id": "p", "features": [1, 0, 0]}]}).json()
    corrected(call, 3, seed=2)
    call.post(f"/v1/decisions/{first['decision']}/feedback", {"better": ["p"]})
    late = figures(call, "rank")["bound"]
    assert late["curve"][-1][1] > bounds.preference_perceptron(T=14, R=1.0, w_norm=1.0, alpha=1.0, lag=3)
    assert "6 updates late" in late["theorem"]
    played(call, "ogd", 8)
    D = math.sqrt(3.0)
    assert figures(call, "ogd")["bound"]["curve"][-1] == pytest.approx([8, bounds.ogd(T=8, D=D, G=2.0) / 8])


def test_a_bound_whose_conditions_fail_is_not_drawn(call: Caller) -> None:
    played(call, "rank", 12)  # clicks, and corrections that no taste explains
    reply = figures(call, "rank")["bound"]
    assert (reply["curve"], reply["theorem"]) == ([], "Theorem 1")
    assert "and clicks are not" in reply["why_not"]


def test_confidit_has_a_bound_under_the_theorems_settings_only(call: Caller) -> None:
    played(call, "label", 5)
    assert "theory" in figures(call, "label")["bound"]["why_not"]
    params = {"eta": "theory", "covariance": "full", "project": True}
    call.put("/v1/models/strict", {**MODELS["label"], "params": params})
    for _ in range(6):
        id = call.post("/v1/models/strict/decisions", {"features": [1.0, 0.0, 0.0]}).json()["decision"]
        call.post(f"/v1/decisions/{id}/feedback", {"correct": True})
    reply = figures(call, "strict")["bound"]
    B3 = bounds.determinant_bound(T=6, dim=3, n_classes=2, alpha=1.0)
    wanted = bounds.confidit(T=6, alpha=1.0, norm_bound=1.0, delta=0.05, log_determinant=B3) / 6
    assert reply["curve"][-1] == pytest.approx([6, wanted])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("rank", "ogd", "label")])
def test_where_there_is_no_bound_the_page_says_why(name: str, call: Caller) -> None:
    played(call, name, 12)
    reply = figures(call, name)["bound"]
    assert reply["curve"] == []
    assert len(reply["why_not"]) > 20


def test_keys_have_weights_of_their_own(call: Caller) -> None:
    played(call, "keyed", 30)
    found = call.get("/ui/models/keyed/keys.json?prefix=user").json()["keys"]
    assert found == ["user0", "user1", "user2", "user3"]
    assert call.get("/ui/models/keyed/keys.json?prefix=user2").json()["keys"] == ["user2"]
    each = {key: call.get(f"/ui/models/keyed/weights.json?key={key}").json() for key in found}
    assert sum(found["rounds"] for found in each.values()) == 30
    assert len({str(found["weights"]) for found in each.values()}) == 4
    assert call.get("/ui/models/keyed/weights.json").json() == each["user0"]
    before = call.get("/v1/models/keyed").json()["keys"]
    assert call.get("/ui/models/keyed/weights.json?key=nobody").status_code == 404
    assert call.get("/v1/models/keyed").json()["keys"] == before == 4


def test_keys_come_in_order_and_not_all_at_once(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, ["keyed", "rank"])
    rows = [
        NewDecision(f"{seq:024x}", 0.0, 1.0, f"user{seq % 30:02d}", seq, None, None, False, None, b"")
        for seq in range(200)
    ]
    engine.begin()
    engine.store.write_decisions(1, rows)
    engine.commit()
    reader = engine.store.reader()
    assert keys(reader, engine.model("keyed"), "user", 5) == [f"user0{i}" for i in range(5)]
    assert keys(reader, engine.model("keyed"), "user2", 50) == [f"user2{i}" for i in range(10)]
    assert keys(reader, engine.model("keyed"), "z") == []
    assert keys(reader, engine.model("rank")) == []
    reader.close()
    engine.store.close()


def test_weights_by_label_by_column_and_none_at_all(call: Caller) -> None:
    played(call, "arow", 15)
    labels = {label: call.get(f"/ui/models/arow/weights.json?label={label}").json() for label in "xyz"}
    learner = call.app.state.service.engine.learners
    weights = learner.get(call.app.state.service.engine.model("arow"), None).learner.weights
    for i, found in enumerate(labels.values()):
        assert found["labels"] == ["x", "y", "z"]
        assert {bar["name"]: bar["weight"] for bar in found["weights"]} == {
            f"feature {j + 1}": w for j, w in enumerate(weights[i]) if w
        }
    assert call.get("/ui/models/arow/weights.json?label=q").status_code == 404
    played(call, "hashed", 20)
    assert call.get("/ui/models/hashed/weights.json").json()["weights"][0]["name"].startswith(("w", "bias"))
    played(call, "simple", 4)
    assert "relevant" in call.get("/ui/models/simple/weights.json").json()["why_not"]


def test_recent_decisions_newest_first_page_by_page(call: Caller) -> None:
    rounds = played(call, "rank", 15)
    last = call.post("/v1/models/rank/decisions", decision_body("rank", random.Random(9))).json()
    answered = call.get("/ui/models/rank/recent.json").json()["decisions"]
    ids = [reply["decision"] for _, reply, _ in rounds]
    assert [one["decision"] for one in answered] == [last["decision"], *ids[:3:-1]]
    assert [one["status"] for one in answered[:2]] == ["waiting", "learnt"]
    assert answered[1]["learnt_version"] == 15
    assert answered[1]["answer"].startswith(" › ".join(rounds[-1][1]["ranking"][:3]))
    rest = call.get(f"/ui/models/rank/recent.json?before={answered[-1]['seq']}").json()["decisions"]
    assert [one["decision"] for one in rest] == ids[3::-1]
    assert call.get("/ui/models/rank/recent.json?before=x").status_code == 400


def test_what_a_filter_dropped_is_not_waited_for(call: Caller, gate: str) -> None:
    sent = {reply["decision"]: reply["forward"] for _, reply, _ in played(call, gate, 12)}
    answered = {
        one["decision"]: one["status"] for one in call.get(f"/ui/models/{gate}/recent.json").json()["decisions"]
    }
    assert answered == {id: "learnt" if forwarded else "dropped" for id, forwarded in sent.items()}
    assert set(answered.values()) == {"learnt", "dropped"}


@pytest.mark.parametrize("name", MODELS)
def test_every_decision_has_a_story(name: str, call: Caller) -> None:
    for _, reply, given in played(call, name, 8):
        lines = call.get(f"/ui/decisions/{reply['decision']}/story.json").json()["lines"]
        text = " ".join(line["text"] for line in lines)
        assert f" from {name}." in text
        assert ("It was learned: the model went from version" in text) is (given is not None)
        assert ("no feedback is expected" in text) is (given is None)
        assert ("Exploration: " in text) is reply["explored"]


def test_a_story_of_a_late_answer(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/rank", MODELS["rank"])
    docs = [{"id": id, "features": [x, 0, 0]} for id, x in (("p", 0.0), ("q", 1.0))]
    id = call.post("/v1/models/rank/decisions", {"candidates": docs}).json()["decision"]
    clock.now += 90_000
    call.post(f"/v1/decisions/{id}/feedback", {"clicked": ["q"]})
    lines = [line["text"] for line in call.get(f"/ui/decisions/{id}/story.json").json()["lines"]]
    assert lines[2] == "Feedback came 1.04 days later: clicked q (shown at position 2)."
    assert lines[3].startswith("Nothing was learned: the feedback came after the window")
    assert call.get("/ui/decisions/nobody/story.json").status_code == 404


def test_simulated_users_teach_the_sample_model(call: Caller) -> None:
    assert call.post("/ui/sample", {"users": 150}).json() == {"model": "sample", "played": 150}
    points = figures(call, "sample")["points"]
    assert (points[-1]["to"], call.get("/v1/models/sample").json()["model_version"]) == (150, 150)
    early, late = points[0]["value"], statistics.mean(p["value"] for p in points[-5:])
    assert late > early + 0.15
    assert call.get("/ui/models/sample/weights.json").json()["weights"][0]["name"] == "topic match"
    assert [m["sample"] for m in call.get("/ui/models.json").json()["models"]] == [True]
    call("DELETE", "/v1/models/sample")
    assert call.post("/ui/sample", {"users": 1}).json()["model"] == "sample-2"
    assert call.post("/ui/sample", {"users": 1000}).status_code == 422
    assert call("POST", "/ui/sample", content=b"users=3").status_code == 415


def test_nobody_plays_on_somebodys_own_model(call: Caller) -> None:
    played(call, "rank", 1)
    call.put("/v1/models/sample", MODELS["rank"])
    assert call.post("/ui/sample", {"users": 1}).json()["model"] == "sample-2"
    assert call.get("/v1/models/sample").json()["decisions"] == 0


def test_the_form_offers_nothing_that_the_service_refuses(call: Caller) -> None:
    offered = call.get("/ui/learners.json").json()
    assert list(offered) == ["rank", "choose", "label", "filter", "tune", "draft"]
    assert {entry["name"] for entry in offered["filter"]} == {
        name for name, card in cards.items() if "filter" in card.loops and not card.not_served
    }
    for loop, entries in offered.items():
        for number, entry in enumerate(entries):
            body: dict[str, Any] = {"loop": loop, "learner": entry["name"], "params": entry["params"]}
            if entry["features"]:
                body["features"] = ["a", "b"]
            if loop == "label":
                body["labels"] = ["x", "y"]
            made = call.put(f"/v1/models/{loop}{number}", body)
            assert made.status_code == 201, made.text


def test_tokens_guard_the_figures_and_not_the_page(call: Caller, tmp_path: Path) -> None:
    played(call, "rank", 2)
    played(call, "label", 2)
    id = played(call, "label", 1)[0][1]["decision"]
    _, narrow = Mint(tmp_path).create(["decide"], "rank", 0.0)
    _, wide = Mint(tmp_path).create(["admin"], None, 0.0)
    paths = [
        "models.json",
        "learners.json",
        *(f"models/label/{x}.json" for x in ("curve", "weights", "keys", "recent")),
    ]
    paths.append(f"decisions/{id}/story.json")
    for path in paths:
        assert call.get(f"/ui/{path}").status_code == 401
        assert call.get(f"/ui/{path}", headers={"authorization": f"Bearer {wide}"}).status_code == 200
    mine = {"authorization": f"Bearer {narrow}"}
    reply = call.get("/ui/models.json", headers=mine).json()
    assert ([m["name"] for m in reply["models"]], reply["all"]) == (["rank"], 1)
    assert call.get("/ui/models/rank/curve.json", headers=mine).status_code == 200
    for path in paths[2:]:
        assert call.get(f"/ui/{path}", headers=mine).status_code == (404 if path.startswith("decisions") else 403)
    assert call.post("/ui/sample", {"users": 1}).status_code == 401
    assert call.post("/ui/sample", {"users": 1}, headers=mine).status_code == 403
    for path in ("/", "/docs", "/ui/files/app.js"):
        assert call.get(path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs",
        "/ui/files/style.css",
        "/ui/models.json",
        "/demo/search",
        "/demo/search/files/search.js",
    ],
)
def test_pages_are_shut_to_the_outside(path: str, call: Caller) -> None:
    answer = call.get(path)
    policy = dict(part.split(maxsplit=1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert policy["frame-ancestors"] == "'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers


def test_files_hold_no_inline_code_and_no_outside_address() -> None:
    for path in (*dashboard.PAGES_DIR.iterdir(), *SEARCH.folder.iterdir(), *DRAFTS.folder.iterdir(), FRAME):
        text = path.read_text()
        outside = set(re.findall(r"https?://[^\s\"'<>`]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not outside, path.name
        assert not re.search(r"innerHTML|document\.write|\beval\(|document\.cookie", text), path.name
        if path.suffix == ".html":
            assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), path.name
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text), path.name


def test_files_are_sent_once_and_only_ours(call: Caller) -> None:
    first = call.get("/ui/files/app.js")
    assert first.headers["content-type"].startswith("text/javascript")
    again = call.get("/ui/files/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("..%2Fapp.py", "%2Fetc%2Fpasswd", "nothing.js", "app.py", ".", "..%5Capp.py"):
        assert call.get(f"/ui/files/{name}").status_code == 404, name
    for name in ("x" * 300 + ".js", "x" * 60_000, "%00.js", "a" * 255 + ".css", "%F0%9F%98%80" * 100):
        assert call.get(f"/ui/files/{name}").status_code == 404, name[:20]
    request = Request({"type": "http", "path": "/", "headers": [], "query_string": b"", "server": ("here", 80)})
    for name in ("../pages/app.js", str(dashboard.PAGES_DIR / "app.js"), "sub/../app.js"):
        with pytest.raises(Unknown):
            dashboard.asset(request, name)
