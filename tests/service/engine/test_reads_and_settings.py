"""Reads do not wait for the writer; and a folder outlives a learner whose arguments and defaults change."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import MODELS, decision_body, engine_with, feedback_body, model, play, request
from smidgen import ConvexPreferencePerceptron
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection


def test_reads_are_answered_while_a_commit_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/rank", MODELS["rank"])
        body = decision_body("rank", random.Random(1))
        known = call.post("/v1/models/rank/decisions", body).json()["decision"]
        store = call.app.state.service.engine.store
        commit, begun, go = store.commit, threading.Event(), threading.Event()

        def slow() -> None:
            begun.set()
            assert go.wait(30)
            commit()

        monkeypatch.setattr(store, "commit", slow)
        answers: list[int] = []
        caller = threading.Thread(
            target=lambda: answers.append(call.post("/v1/models/rank/decisions", body).status_code)
        )
        caller.start()
        assert begun.wait(30)
        try:
            assert call.get("/readyz").status_code == 200
            assert call.get("/v1/models").json()["models"][0]["decisions"] == 1  # the second one is not committed
            assert call.get("/v1/models/rank").json()["decisions"] == 1
            assert call.get(f"/v1/decisions/{known}").json()["why_not"] == "no feedback has come yet"
            assert len(call.get("/v1/models/rank/log").text.splitlines()) == 2
            for page in ("models.json", "models/rank/curve.json", "models/rank/recent.json", "models/rank/keys.json"):
                assert call.get(f"/ui/{page}").status_code == 200
            assert call.get(f"/ui/decisions/{known}/story.json").status_code == 200
            assert answers == []
        finally:
            go.set()
            caller.join(30)
        assert answers == [201]
        assert call.get("/v1/models/rank").json()["decisions"] == 2


def _bits(engine: Engine, name: str) -> bytes:
    return engine.learners.get(engine.models[name], None).learner.weights.tobytes()


def test_an_argument_and_a_default_that_change_later_change_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class gets a new argument, another default, and a new number; the model stays as it was made."""
    body = {**MODELS["choose"], "learner": "ConvexPreferencePerceptron"}
    engine = engine_with(tmp_path, [])
    engine.create("choose", model(body))
    play(engine, ["choose"], 40, seed=1)
    open_ = engine.decide("choose", request(decision_body("choose", random.Random(3))))
    known = _bits(engine, "choose")
    engine.store.close()  # no snapshot was taken: all of it is replayed

    old = ConvexPreferencePerceptron.__init__

    def grown(self: Any, *, dim: int, radius: float, lipschitz: float = 7.0, mood: str = "", seed: int = 0) -> None:
        old(self, dim=dim, radius=radius, lipschitz=lipschitz, seed=seed)

    monkeypatch.setattr(ConvexPreferencePerceptron, "__init__", grown)
    monkeypatch.setattr(ConvexPreferencePerceptron, "settings_version", 2)
    monkeypatch.setattr(ConvexPreferencePerceptron, "older_settings", MappingProxyType({1: {"lipschitz": 1.0}}))
    again = Engine(tmp_path)
    assert again.models["choose"].blueprint.settings["lipschitz"] == 1.0
    assert _bits(again, "choose") == known
    assert again.feedback(open_["decision"], feedback_body(better="d2")).status == "learnt"
    assert _bits(again, "choose") != known
    assert not again.create("choose", model(body))[0]  # the same body is the same model
    again.create("new", model(body))
    assert again.models["new"].blueprint.settings["lipschitz"] == 7.0
    known = _bits(again, "choose")
    again.close()
    third = Engine(tmp_path)
    assert _bits(third, "choose") == known
    third.store.close()
    with Inspection(tmp_path) as seen:
        assert audit_model(seen, seen.model("choose")).problems == []
