"""Faults that only mutants revealed. `tests/mutants` injects each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.bodies import Clock, engine_with, feedback_body, model, play, request
from service.memory import CommittedTables, MemoryStore
from smidgen import AROW, Banditron
from smidgen.service.engine.engine import Engine
from smidgen.service.monitoring.weights import by_name
from smidgen.service.storage.snapshots import Snapshots

RANK = {"loop": "rank", "learner": "PreferencePerceptron", "features": ["a", "b"], "window_s": 60}
ASKED = {"id": "r", "candidates": [{"id": "x", "features": [1, 0]}, {"id": "y", "features": [0, 1]}]}


def reopened(engine: Engine, clock: Clock) -> Engine:
    """An engine on the same folder or store with empty memory."""
    place: Any = engine.store.folder if hasattr(engine.store, "folder") else MemoryStore(engine.store.shelf)
    engine.store.close()
    return Engine(place, clock=clock)


@pytest.mark.parametrize("store", ["disk", "memory"])
@pytest.mark.parametrize(("after", "status"), [(0.0, "learnt"), (60.0, "learnt"), (60.001, "late"), (1e6, "late")])
@pytest.mark.parametrize("way", ["at once", "reopened", "forgotten"])
def test_the_window_holds_for_decisions_from_memory_and_from_disk(
    way: str, after: float, status: str, store: str, tmp_path: Path
) -> None:
    clock = Clock()
    engine = Engine(tmp_path if store == "disk" else MemoryStore(CommittedTables()), clock=clock)
    engine.create("rank", model(RANK))
    reply = engine.decide("rank", request(ASKED))
    clock.now += after
    if way == "reopened":
        engine = reopened(engine, clock)
    elif way == "forgotten":
        engine._open_decisions.clear()
    heard = engine.feedback(reply["decision"], feedback_body(clicked=["y"]))
    assert (heard.status, heard.model_version) == (status, int(status == "learnt"))
    assert engine.decide("rank", request(ASKED)) == reply, "after a repeat, it expires when it did"
    again = engine.feedback(reply["decision"], feedback_body(clicked=["y"]))
    assert again.status == {"learnt": "duplicate", "late": "late"}[status]
    story = engine.story(reply["decision"])
    assert story.learnt_version == (1 if status == "learnt" else None)
    assert story.expires_at == reply["expires_at"]
    weights = engine.learners.get(engine.models["rank"], None).learner.weights
    assert weights.any() == (status == "learnt")
    engine.store.close()


LABELS = ["pear", "apple", "quince", "fig"]  # in no order that anybody sorts them in
ROWS = {label: [float(label == each) for each in LABELS] for label in LABELS}


@pytest.mark.parametrize("way", ["at once", "reopened"])
def test_labels_keep_the_order_in_which_they_were_given(way: str, tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(tmp_path, clock=clock)
    engine.create("fruit", model({"loop": "label", "learner": "AROW", "features": LABELS, "labels": LABELS}))
    for label in LABELS * 3:
        reply = engine.decide("fruit", request({"features": ROWS[label]}))
        engine.feedback(reply["decision"], feedback_body(label=label))
    if way == "reopened":
        engine = reopened(engine, clock)
    for place, label in enumerate(LABELS):
        reply = engine.decide("fruit", request({"features": ROWS[label]}))
        assert reply["label"] == label
        made = engine.events.decision(engine.models["fruit"], engine.models["fruit"].seq).decision
        assert made.action == place, "the record has the label by its place in the list that was given"
    strongest = by_name(engine, engine.models["fruit"], None, 100).weights
    assert {(each.label, each.name) for each in strongest if each.weight > 0.1} == {(label, label) for label in LABELS}
    engine.store.close()


def test_one_bit_and_propensities_go_with_the_right_labels(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    params = {"dim": 4, "gamma": 0.2}
    engine.create("fruit", model({"loop": "label", "learner": "Banditron", "params": params, "labels": LABELS}))
    twin = Banditron(dim=4, n_classes=4, gamma=0.2).guard()
    for label in LABELS * 20:
        reply = engine.decide("fruit", request({"features": ROWS[label]}))
        decision = twin.decide(ROWS[label])
        assert reply["label"] == LABELS[decision.action]
        assert reply["propensity"] == decision.propensity
        engine.feedback(reply["decision"], feedback_body(label=label))
        twin.learn(decision, label == LABELS[decision.action])
    assert all(LABELS[twin.predict(ROWS[label])] == label for label in LABELS)
    engine.store.close()


def test_a_library_learner_keeps_the_order_of_its_labels_too() -> None:
    learner = AROW(dim=4, labels=LABELS)
    for label in LABELS * 3:
        learner.learn(learner.decide(ROWS[label]), label)
    assert [learner.predict(ROWS[label]) for label in LABELS] == LABELS
    assert learner.labels == LABELS
    assert [int(row.argmax()) for row in learner.weights] == [0, 1, 2, 3]


DRAWING = {
    "tune": ({"space": {"type": "Ball", "dim": 3, "radius": 1.0}, "loss_bound": 1.0}, "OGDEG", {}),
    "label": ({"dim": 2, "n_classes": 50, "gamma": 0.99}, "Banditron", {"features": [1.0, 2.0]}),
}


@pytest.mark.parametrize("loop", DRAWING)
def test_every_key_draws_for_itself(loop: str, tmp_path: Path) -> None:
    """Two users must not get the same random choices; nor must the same user in models of other seeds."""
    params, learner, features = DRAWING[loop]
    engine = Engine(tmp_path)
    drawn: dict[tuple[int, str], list[Any]] = {}
    for seed in (0, 1):
        body = {"loop": loop, "learner": learner, "params": {**params, "seed": seed}, "keyed": True}
        engine.create(f"model{seed}", model(body))
        for key in ("ann", "bob", "cleo"):
            replies = [engine.decide(f"model{seed}", request({"key": key, **features})) for _ in range(6)]
            drawn[seed, key] = [{**reply, "decision": "", "expires_at": ""} for reply in replies]
    seeds = {(seed, key): engine.models[f"model{seed}"].blueprint.learner(key).params["seed"] for seed, key in drawn}
    assert len(set(seeds.values())) == len(seeds)
    assert len({str(each) for each in drawn.values()}) == len(drawn)
    known = {key: engine.learners.get(engine.models["model0"], key).learner.to_bytes() for key in ("ann", "bob")}
    engine = reopened(engine, Clock())
    again = {key: engine.learners.get(engine.models["model0"], key).learner.to_bytes() for key in ("ann", "bob")}
    assert again == known, "and always the same ones"
    engine.store.close()


def test_a_state_of_another_log_is_not_used(tmp_path: Path) -> None:
    """A snapshot of the same event, but of another past, by its mark: the log is learnt again instead."""
    engine = engine_with(tmp_path, ["tune"])
    play(engine, ["tune"], 20, seed=1)
    engine.snapshots.write(engine.models["tune"])
    known = engine.learners.get(engine.models["tune"], None).learner.to_bytes()
    (taken,) = Snapshots(tmp_path).of(1)
    other = engine.models["tune"].blueprint.learner(None).to_bytes()
    taken.path.with_name(f"{taken.seq:015d}-{'f' * 16}.smidgen").write_bytes(other)
    taken.path.unlink()
    engine.learners.clear()
    assert engine.learners.get(engine.models["tune"], None).learner.to_bytes() == known != other
    engine.store.close()
