"""Figures of a model after everything that can happen to its decisions: open, pending, answered, quality."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.bodies import Clock, feedback_body, model, request
from smidgen.errors import SmidgenError
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.description import count_open, quality
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.loops.estimates import FEW, mean, mean_of, wilson
from smidgen.service.schemas import CopyBody

WINDOW = 60.0
OFFERED = {"candidates": [{"id": "x", "features": [1.0, 0.0]}, {"id": "y", "features": [0.0, 1.0]}]}
MODELS: dict[str, dict[str, Any]] = {
    "people": {"loop": "choose", "features": ["a", "b"], "keyed": True, "default_reward": 0.0, "window_s": WINDOW},
    "tickets": {"loop": "label", "features": ["a", "b"], "labels": ["bug", "praise"], "window_s": WINDOW},
    "gate": {"loop": "filter", "params": {"dim": 2}, "learner": "RidgeFil", "window_s": WINDOW},
    "knobs": {"loop": "tune", "knobs": {"wait": [0.0, 1.0]}, "window_s": WINDOW},
    "champion": {"loop": "choose", "features": ["a", "b"], "window_s": WINDOW},
    "challenger": {"loop": "choose", "features": ["a", "b"], "challenger_of": {"model": "champion", "share": 0.5}},
}
ASKED = ("people", "tickets", "gate", "knobs", "champion")


@dataclass
class Row:
    """A decision as it should be."""

    id: str
    model: str
    key: str | None
    expires: float
    shown: bool
    forward: bool
    answer: str | None = None  # learnt, late, expired
    late: bool = False  # an answer came after its silence was learnt
    version: int | None = None
    waits: bool = False


class Walk:
    """A service, whatever happens to it, and what is expected of its figures."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.clock = folder, random.Random(seed), Clock()
        self.engine = Engine(folder, synchronous="OFF", clock=self.clock)
        self.rows: dict[str, Row] = {}
        self.lost: dict[str, set[int]] = {name: set() for name in MODELS}  # versions that a rollback took back
        self.copies = 0
        for name, body in MODELS.items():
            self.engine.run(lambda name=name, body=body: self.engine.create(name, model(body)))

    def step(self) -> str:
        what = self.rng.choice(
            ["decide"] * 6 + ["feedback"] * 5 + ["shown", "wait", "sweep", "retract", "retract", "roll_back"]
            + (["forget", "promote", "copy", "restart"] if self.rng.random() < 0.15 else [])
        )  # fmt: skip
        getattr(self, what)()
        return what

    def decide(self) -> None:
        name = self.rng.choice(ASKED)
        body: dict[str, Any] = dict(OFFERED) if name in ("people", "champion") else {"features": [1.0, -1.0]}
        body = {} if name == "knobs" else body
        if name == "gate":
            body = {"features": [self.rng.gauss(0, 1), self.rng.gauss(0, 1)]}
        key = self.rng.choice("abc") if name == "people" else None
        body |= {"key": key} if key else {}
        ahead = name != "gate" and self.rng.random() < 0.3
        made = self.engine.run(lambda: self.engine.decide(name, request(body | ({"activate": False} if ahead else {}))))
        owner, id = made["model"], made["decision"]
        waits, forward = name == "people", bool(made.get("forward", True))
        row = Row(id, owner, key, self.clock.now + WINDOW, not ahead, forward, waits=waits)
        self.rows[id] = row
        if owner == "challenger":
            row.expires = self.engine.store.decision(id).expires_at
        self.clock.now += 1.0

    def feedback(self) -> None:
        if not (row := self._any()):
            return
        if row.waits and row.expires < self.clock.now:
            self.sweep()  # a late answer does not come before the silence that is due
        given: dict[str, Any] = {"reward": self.rng.choice([0.0, 0.5, 1.0])}
        loop = MODELS[row.model]["loop"]
        given = {"label": {"correct": True}, "filter": {"relevant": True}, "tune": {"loss": 3.0}}.get(loop, given)
        try:
            said = self.engine.run(lambda: self.engine.feedback(row.id, feedback_body(**given)))
        except SmidgenError:  # other feedback came before, or the item was dropped
            assert row.answer is not None or not row.forward
            return
        if said.status == "learnt":
            assert row.answer is None
            row.answer, row.shown, row.version = "learnt", True, said.model_version
        elif said.status == "late" and row.answer == "expired":
            row.late = True
        elif said.status == "late" and row.answer is None:
            row.answer, row.shown = "late", True

    def shown(self) -> None:
        if (row := self._any()) and self.engine.run(lambda: self.engine.mark_shown(row.id)).status == "shown":
            row.shown = True

    def wait(self) -> None:
        self.clock.now += self.rng.choice([5.0, 30.0, 70.0])

    def sweep(self) -> None:
        self.engine.sweep_all()
        for row in self.rows.values():
            if row.waits and row.shown and row.answer is None and row.expires < self.clock.now:
                row.answer, row.version = "expired", self.engine.store.decision(row.id).version

    def retract(self) -> None:
        if not (row := self._any()):
            return
        try:
            self.engine.run(lambda: self.engine.retract(row.id))
        except SmidgenError:  # nothing was learnt of it, or it was taken back before
            return
        row.waits &= row.answer != "expired"
        row.answer, row.version, row.late = None, None, False

    def roll_back(self) -> None:
        name = self.rng.choice(("people", "tickets"))
        to = self.rng.randint(0, self.engine.models[name].version)
        said = self.engine.run(lambda: self.engine.roll_back(name, to))
        self.lost[name] |= set(range(to + 1, said.model_version))

    def forget(self) -> None:
        key = self.rng.choice("abc")
        if not any(row.key == key for row in self.rows.values()):
            return
        self.engine.forget("people", key)
        self.rows = {id: row for id, row in self.rows.items() if row.key != key}

    def promote(self) -> None:
        self.engine.run(lambda: self.engine.promote("challenger"))

    def copy(self) -> None:
        self.copies += 1
        body = CopyBody(to=f"copy{self.copies}", learnt=True)
        self.engine.run(lambda: self.engine.copy("tickets", body))
        reading = self.engine.store.reader()
        assert count_open(reading, self.engine.models[body.to], self.clock.now) == (0, 0)
        reading.close()

    def restart(self) -> None:
        self.engine.close()
        self.engine = Engine(self.folder, synchronous="OFF", clock=self.clock)

    def check(self, what: str) -> None:
        now, reading = self.clock.now, self.engine.store.reader()
        for name in MODELS:
            rows = [row for row in self.rows.values() if row.model == name and row.forward]
            unanswered = [row for row in rows if row.answer is None and row.expires >= now]
            expected = sum(row.shown for row in unanswered), sum(not row.shown for row in unanswered)
            assert count_open(reading, self.engine.models[name], now) == expected, (what, name)
            counts = reading.counts(self.engine.models[name].shard)
            assert counts is not None
            heard = sum(row.answer in ("learnt", "late") or row.late for row in rows)
            assert 0 <= counts.answered == heard <= counts.decisions, (what, name)
            found = quality(reading, self.engine.models[name], now)
            closed = [row for row in rows if row.shown and (row.expires < now or row.version is not None)]
            closed = [row for row in closed if row.version not in self.lost[name]]
            silent = [row for row in closed if row.answer in (None, "expired")]
            assert (found.of, found.silent) == (len(closed), len(silent)), (what, name)
            figures = len(closed) - (len(silent) if name == "knobs" else 0)
            assert (found.low is None) == (found.high is None) == (figures < FEW), (what, name)
            assert (found.value is None) == (figures == 0)
            if found.value is not None and found.low is not None and found.high is not None:
                assert found.low <= found.value <= found.high
                assert name == "knobs" or 0.0 <= found.low <= found.high <= 1.0
        reading.close()

    def _any(self) -> Row | None:
        latest = list(self.rows.values())[-12:]
        return self.rng.choice(latest) if latest else None


@pytest.mark.parametrize("seed", range(6))
def test_open_pending_answered_and_quality_are_right_whatever_happens(tmp_path: Path, seed: int) -> None:
    walk, seen = Walk(tmp_path / "data", seed), set()
    for _ in range(160):
        what = walk.step()
        seen.add(what)
        walk.check(what)
    assert {"retract", "roll_back", "sweep", "shown"} <= seen
    walk.engine.close()
    with Inspection(tmp_path / "data") as found:
        for each in found.models():
            assert audit_model(found, each).problems == []


@pytest.fixture
def call(tmp_path: Path, clock: Clock) -> Iterator[Caller]:
    with Caller(tmp_path / "data", clock=clock) as caller:
        yield caller


def ask(call: Caller, name: str, **more: Any) -> str:
    return str(call.post(f"/v1/models/{name}/decisions", OFFERED | more).json()["decision"])


def test_a_retracted_decision_is_open_and_its_story_says_so(call: Caller, clock: Clock) -> None:
    call.put("/v1/models/m", {"loop": "choose", "features": ["a", "b"], "window_s": 60})
    first, second = ask(call, "m"), ask(call, "m")
    for id in (first, second):
        assert call.post(f"/v1/decisions/{id}/feedback", {"reward": 1.0}).json()["status"] == "learnt"
    clock.now += 10.0
    assert call.post(f"/v1/decisions/{first}:retract", {}).json() == {"model_version": 3}
    reply = call.get("/v1/models/m").json()
    assert (reply["open"], reply["pending"], reply["answered"]) == (1, 0, 1), "it was -1 open"
    story = call.get(f"/v1/decisions/{first}").json()
    assert (story["learnt_version"], story["feedback"]) == (None, None)
    assert "was retracted" in story["why_not"]
    assert "another may come" in story["why_not"]
    assert story["retracted_at"] > story["made_at"]
    assert call.get(f"/v1/decisions/{second}").json()["retracted_at"] is None
    lines = [line["text"] for line in call.get(f"/ui/decisions/{first}/story.json").json()["lines"]]
    place = lines.index("The feedback was retracted: what the model learned from it is undone.")
    assert lines[place + 1] == "It has no feedback now. New feedback is learned within about 50 seconds."
    listed = {one["decision"]: one["status"] for one in call.get("/ui/models/m/recent.json").json()["decisions"]}
    assert listed == {first: "retracted", second: "learnt"}
    clock.now += 100.0
    assert "no other came within the window" in call.get(f"/v1/decisions/{first}").json()["why_not"]
    reply = call.get("/v1/models/m").json()
    assert (reply["open"], reply["quality"]["of"], reply["quality"]["silent"]) == (0, 2, 1)


def test_a_retracted_decision_that_is_answered_again_is_learnt(call: Caller) -> None:
    call.put("/v1/models/m", {"loop": "choose", "features": ["a", "b"]})
    id = ask(call, "m")
    call.post(f"/v1/decisions/{id}/feedback", {"reward": 1.0})
    call.post(f"/v1/decisions/{id}:retract", {})
    assert call.post(f"/v1/decisions/{id}/feedback", {"reward": 0.0}).json()["status"] == "learnt"
    story = call.get(f"/v1/decisions/{id}").json()
    assert (story["learnt_version"], story["why_not"], story["feedback"]) == (3, None, {"reward": 0.0})
    lines = [line["text"] for line in call.get(f"/ui/decisions/{id}/story.json").json()["lines"]]
    assert any("was retracted" in line for line in lines)
    assert any("went from version 2 to 3" in line for line in lines)


def test_a_rollback_is_in_the_stories_of_what_it_undid(call: Caller) -> None:
    call.put("/v1/models/m", {"loop": "choose", "features": ["a", "b"]})
    ids = [ask(call, "m") for _ in range(3)]
    for id in ids:
        call.post(f"/v1/decisions/{id}/feedback", {"reward": 1.0})
    call.post(f"/v1/decisions/{ids[0]}:retract", {})
    call.post("/v1/models/m:rollback", {"version": 2})
    story = call.get(f"/v1/decisions/{ids[2]}").json()
    assert (story["learnt_version"], "a rollback undid it" in story["why_not"]) == (3, True)
    assert call.get("/ui/models/m/recent.json").json()["decisions"][0]["status"] == "rolled back"
    again = call.get(f"/v1/decisions/{ids[0]}").json()  # the rollback goes back beyond its retraction, too
    assert (again["learnt_version"], again["retracted_at"]) == (1, None)
    assert "counts again" in again["why_not"]
    for reward in (1.0, 0.5):
        said = call.post(f"/v1/decisions/{ids[0]}/feedback", {"reward": reward})
        assert (said.status_code, said.json()["status"]) == (200, "duplicate"), "it was 409 for good"
    assert call.get("/v1/models/m").json()["quality"]["of"] == 1


def test_silence_that_was_retracted_is_not_learnt_again(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(tmp_path, synchronous="OFF", clock=clock)
    engine.run(lambda: engine.create("m", model(MODELS["people"])))
    made = engine.run(lambda: engine.decide("m", request(OFFERED | {"key": "a"})))
    clock.now += 2 * WINDOW
    engine.sweep_all()
    assert engine.models["m"].version == 1
    engine.run(lambda: engine.retract(made["decision"]))
    engine.sweep_all()
    assert engine.models["m"].version == 2, "the retraction, and nothing after it"
    engine.close()


@pytest.mark.parametrize("span", [(0.0, 1.0), (-5.0, 20.0)])
def test_intervals_lie_within_the_range_and_hold_the_mean(span: tuple[float, float]) -> None:
    low, high = span
    rng = random.Random(7)
    for draw in (
        lambda: float(rng.random() < 0.02),
        lambda: float(rng.random() < 0.5),
        lambda: 0.45 + 0.1 * rng.random(),
        lambda: rng.betavariate(1.0, 9.0),
        lambda: 1.0,
    ):
        missed, n = 0, 60
        many = [draw() for _ in range(20_000)]
        truth = low + (high - low) * sum(many) / len(many)
        for _ in range(400):
            found = mean_of([low + (high - low) * draw() for _ in range(n)], span)
            assert found[1] is not None
            assert found[2] is not None
            assert low <= found[1] <= (found[0] or 0.0) <= found[2] <= high
            missed += not found[1] <= truth <= found[2]
        assert missed <= 40, "5 % of 400 runs, and room for chance"


def test_intervals_of_few_are_none_and_of_shares_wilsons() -> None:
    assert mean_of([], (0.0, 1.0)) == (None, None, None)
    assert mean_of([1.0] * (FEW - 1), (0.0, 1.0)) == (1.0, None, None)
    assert mean_of([1.0, 2.0], None) == (1.5, None, None)
    for hits in range(13):
        assert mean(12, hits, hits, (0.0, 1.0)) == pytest.approx(wilson(hits, 12))
    value, low, high = mean_of([1.0] * 6 + [3.0] * 6, None)
    assert (value, low, high) == pytest.approx((2.0, 2.0 - 1.96 * 0.30151, 2.0 + 1.96 * 0.30151), abs=1e-3)
    assert mean_of([0.5] * 20, (0.0, 1.0))[1:] != (0.5, 0.5), "values that are all the same leave room"
