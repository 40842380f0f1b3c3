"""Keys that begin with what the others have learnt: the 51st user of PEOPLE's table, over real bodies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from service.memory import MemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.errors import Impossible

USERS, ROUNDS = 50, 3
#: How many worlds are played, and in how many the 51st user is offered A: the table, and one half of it for variations.
TABLE, HALF = (20, 18), (10, 9)
COLUMNS = {"A": [1.0, 0.0], "B": [0.0, 1.0]}
LISTED = {"features": ["is A", "is B"]}


def asked(key: str, rng: random.Random, *, listed: bool) -> dict[str, Any]:
    """A request of one user: two banners in any order."""
    banners = ["A", "B"]
    rng.shuffle(banners)
    features = [{"features": COLUMNS[banner]} if listed else {} for banner in banners]
    return {"key": key, "candidates": [{"id": banner, **more} for banner, more in zip(banners, features, strict=True)]}


def people(seed: int) -> tuple[random.Random, list[str]]:
    """Fifty users, each some times, under ids that say nothing."""
    rng = random.Random(seed)
    ids = [f"user-{number}" for number in rng.sample(range(10_000), USERS)]
    order = [key for _ in range(ROUNDS) for key in rng.sample(ids, len(ids))]
    return rng, order


def of_the_51st(body: dict[str, Any], feedback: str, seed: int) -> str:
    """Offer to the 51st user after fifty who all prefer A."""
    engine = Engine(MemoryStore(), clock=Clock())
    engine.create("banners", model({"loop": "choose", "keyed": True, **body}))
    rng, order = people(seed)
    for key in order:
        shown = engine.decide("banners", request(asked(key, rng, listed="features" in body)))
        said: dict[str, Any] = {"reward": float(shown["choice"] == "A")} if feedback == "reward" else {"better": "A"}
        engine.feedback(shown["decision"], feedback_body(**said))
    choice: str = engine.decide("banners", request(asked("the 51st", rng, listed="features" in body)))["choice"]
    return choice


@pytest.mark.parametrize(
    ("body", "feedback", "wanted"),
    [
        ({}, "reward", TABLE),
        (LISTED, "reward", HALF),
        ({"feedback": "better"}, "better", HALF),
        ({"learner": "SquareCB", "shared_start": True, **LISTED}, "reward", HALF),
        ({"learner": "ThompsonChoice", "shared_start": True, **LISTED}, "reward", HALF),
    ],
    ids=str,
)
def test_the_51st_user_is_offered_what_fifty_others_prefer(
    body: dict[str, Any], feedback: str, wanted: tuple[int, int]
) -> None:
    seeds, right = wanted
    assert sum(of_the_51st(body, feedback, seed) == "A" for seed in range(seeds)) >= right


def test_without_a_shared_start_the_51st_user_begins_with_nothing() -> None:
    seeds, right = HALF
    assert sum(of_the_51st({"shared_start": False}, "reward", seed) == "A" for seed in range(seeds)) < right


def test_the_same_over_http_and_for_labels(tmp_path: Path) -> None:
    rng, order = people(0)
    with Caller(tmp_path / "data") as call:
        put = call.put("/v1/models/banners", {"loop": "choose", "keyed": True})
        assert put.json()["shared_start"] is True
        put = call.put("/v1/models/mail", {"loop": "label", "labels": ["spam", "work"], "keyed": True})
        assert put.json()["shared_start"] is True
        for key in order[:USERS]:
            shown = call.post("/v1/models/banners/decisions", asked(key, rng, listed=False)).json()
            reward = float(shown["choice"] == "A")
            assert call.post(f"/v1/decisions/{shown['decision']}/feedback", {"reward": reward}).status_code == 200
            read = call.post("/v1/models/mail/decisions", {"key": key, "features": {"from": "boss"}}).json()
            call.post(f"/v1/decisions/{read['decision']}/feedback", {"correct": read["label"] == "work"})
        assert call.post("/v1/models/banners/decisions", asked("new", rng, listed=False)).json()["choice"] == "A"
        read = call.post("/v1/models/mail/decisions", {"key": "new", "features": {"from": "boss"}}).json()
        assert read["label"] == "work"
        weights = call.get("/v1/models/banners/weights?key=new").json()["weights"]
        assert {each["name"] for each in weights} >= {"id=A"}
        story = call.get(f"/v1/decisions/{read['decision']}").json()
        assert any("from=boss" in name for name, _ in story["contributions"]["items"])


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ({"loop": "choose", "keyed": True}, True),
        ({"loop": "choose", "keyed": True, "feedback": "better"}, True),
        ({"loop": "label", "labels": ["a", "b"], "keyed": True}, True),
        ({"loop": "label", "labels": ["a", "b"], "keyed": True, "feedback": "label"}, False),
        ({"loop": "rank", "keyed": True}, False),
        ({"loop": "rank", "keyed": True, "feedback": "better"}, True),
        ({"loop": "filter", "keyed": True}, False),
        ({"loop": "choose", "keyed": True, "learner": "LinUCB"}, False),
        ({"loop": "choose", "keyed": True, "learner": "LinUCB", "shared_start": True}, True),
        ({"loop": "choose", "keyed": True, "shared_start": False}, False),
        ({"loop": "tune", "keyed": True, "params": {"space": {"type": "Box", "low": [0], "high": [1]}}}, False),
        ({"loop": "choose"}, None),
    ],
    ids=str,
)
def test_whether_keys_share_their_start_is_settled_when_the_model_is_made(
    body: dict[str, Any], shared: bool | None
) -> None:
    store = MemoryStore()
    Engine(store).create("m", model(body))
    assert Engine(store).describe("m").shared_start is shared


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"loop": "choose", "shared_start": True}, "keyed model"),
        ({"loop": "filter", "keyed": True, "shared_start": True}, "does not work with"),
    ],
)
def test_a_start_that_cannot_be_shared_is_refused(body: dict[str, Any], word: str) -> None:
    with pytest.raises(Impossible, match=word):
        Engine(MemoryStore()).create("m", model(body))
