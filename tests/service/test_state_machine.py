"""The service against a small model of the contract, in any order of events: hypothesis looks for a difference."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from service.asgi import Caller
from service.bodies import MODELS, Clock

NAMES = ("rank", "label", "filter", "tune", "keyed")
WINDOW = 1000.0
#: What can be told of a decision, by loop: two possible answers, and one that is impossible.
TOLD: dict[str, list[dict[str, Any]]] = {
    "rank": [{"clicked": ["b"]}, {"better": ["c", "a"]}, {"clicked": ["nobody"]}],
    "label": [{"correct": True}, {"label": "y"}, {"label": "nothing"}],
    "filter": [{"relevant": True}, {"relevant": False}, {"loss": 0.5}],
    "tune": [{"loss": 0.5}, {"loss": 0.25}, {"relevant": True}],
}
IMPOSSIBLE = 2


@dataclass
class Known:
    """A model as it should be."""

    body: dict[str, Any]
    archived: bool = False
    version: int = 0
    late: int = 0
    events: list[tuple[Any, ...]] = field(default_factory=list)
    requests: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)


@dataclass
class Made:
    """A decision as it should be."""

    model: str
    reply: dict[str, Any]
    expires: float
    told: dict[str, Any] | None = None
    status: str | None = None
    version: int | None = None


def request_of(name: str, variant: int, key: int, wrong: bool) -> dict[str, Any]:
    """A request of a loop; the wrong one has a feature too few, or a field of another loop."""
    loop = MODELS[name]["loop"]
    row = [1.0, 0.5 * variant, -0.5][: 2 if wrong else 3]
    body: dict[str, Any] = {"key": f"user{key}"} if MODELS[name].get("keyed") else {}
    if loop == "rank":
        rows = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.5 * variant], row)
        body["candidates"] = [{"id": id, "features": features} for id, features in zip("abc", rows, strict=True)]
    elif loop == "tune":
        body |= {"top": 3} if wrong else {}
    else:
        body["features"] = row
    return body


class Contract(RuleBasedStateMachine):
    """Every rule says what the contract promises, and holds the service to it."""

    decisions: Bundle[str] = Bundle("decisions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.models: dict[str, Known] = {}
        self.made: dict[str, Made] = {}
        self._open()

    def _open(self) -> None:
        self.call = Caller(self.folder, clock=self.clock, snapshot_every=6, keyed_in_memory=1)
        self.call.__enter__()

    def teardown(self) -> None:
        try:
            self._compare_everything()
        finally:
            self.call.__exit__(None, None, None)
            shutil.rmtree(self.folder)

    # What happens to the service

    @rule()
    def restart(self) -> None:
        self.call.__exit__(None, None, None)
        self._open()

    @rule()
    def crash(self) -> None:
        """Nothing is written on the way out."""
        engine = self.call.app.state.service.engine
        engine.close = engine.store.close
        if engine.owning is not None:  # the dead renew nothing
            engine.owning.stop()
        self.call.__exit__(None, None, None)
        self._open()

    @rule(seconds=st.sampled_from([0.001, 400.0, WINDOW, 3 * WINDOW, -5.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    # Models

    @initialize(names=st.sets(st.sampled_from(NAMES), min_size=2))
    def begin(self, names: set[str]) -> None:
        for name in sorted(names):
            self.create(name, False)

    @rule(name=st.sampled_from(NAMES), other=st.booleans())
    def create(self, name: str, other: bool) -> None:
        body = {**MODELS[name], "window_s": WINDOW * (2 if other else 1)}
        answer = self.call.put(f"/v1/models/{name}", body)
        known = self.models.get(name)
        if known is None:
            assert answer.status_code == 201
            self.models[name] = Known(body, events=[("created",)])
        elif known.archived or known.body != body:
            assert answer.status_code == 409
        else:
            assert answer.status_code == 200

    @rule(name=st.sampled_from(NAMES))
    def archive(self, name: str) -> None:
        answer = self.call("DELETE", f"/v1/models/{name}")
        if name not in self.models:
            assert answer.status_code == 404
            return
        assert answer.status_code == 200
        assert answer.json()["archived_at"] is not None
        if not self.models[name].archived:
            self.models[name].archived = True
            self.models[name].events.append(("archived",))

    # Decisions

    @rule(
        target=decisions,
        name=st.sampled_from(NAMES),
        id=st.sampled_from([None, None, "r1", "r2"]),
        variant=st.integers(0, 1),
        key=st.integers(0, 2),
    )
    def decide(self, name: str, id: str | None, variant: int, key: int) -> Any:
        body = request_of(name, variant, key, wrong=False) | ({} if id is None else {"id": id})
        answer = self.call.post(f"/v1/models/{name}/decisions", body)
        if (refused := self._refused(name)) is not None:
            assert answer.status_code == refused
            return multiple()
        known = self.models[name]
        if id in known.requests:
            before, made = known.requests[id]
            if before != body:
                assert answer.status_code == 409
                return multiple()
            assert (answer.status_code, answer.json()) == (201, self.made[made].reply)
            return made
        assert answer.status_code == 201
        return self._book(name, body, answer.json())

    @rule(
        target=decisions,
        name=st.sampled_from(NAMES),
        variants=st.lists(st.integers(0, 1), min_size=1, max_size=3),
        bad=st.sampled_from([None, None, 0, 2]),
    )
    def decide_batch(self, name: str, variants: list[int], bad: int | None) -> Any:
        bodies = [request_of(name, variant, 0, wrong=i == bad) for i, variant in enumerate(variants)]
        answer = self.call.post(f"/v1/models/{name}/decisions:batch", {"decisions": bodies})
        if (refused := self._refused(name)) is not None:
            assert answer.status_code == refused
            return multiple()
        if bad is not None and bad < len(bodies):
            assert answer.status_code == 422
            assert len(bodies) == 1 or f"decision {bad} " in answer.json()["error"]["message"]
            return multiple()
        assert answer.status_code == 201
        replies = answer.json()["decisions"]
        return multiple(*(self._book(name, body, reply) for body, reply in zip(bodies, replies, strict=True)))

    @rule(name=st.sampled_from(NAMES))
    def ask_for_the_impossible(self, name: str) -> None:
        answer = self.call.post(f"/v1/models/{name}/decisions", request_of(name, 0, 0, wrong=True))
        assert answer.status_code == (self._refused(name) or 422)

    def _refused(self, name: str) -> int | None:
        if name not in self.models:
            return 404
        return 409 if self.models[name].archived else None

    def _book(self, name: str, body: dict[str, Any], reply: dict[str, Any]) -> str:
        known, id = self.models[name], reply["decision"]
        assert id not in self.made
        assert reply["model_version"] == known.version
        self.made[id] = Made(name, reply, self.clock.now + known.body["window_s"])
        known.events.append(("decision", id))
        if "id" in body:
            known.requests[body["id"]] = (body, id)
        return str(id)

    # Feedback

    @rule(id=decisions, which=st.sampled_from([0, 0, 0, 1, IMPOSSIBLE]))
    def tell(self, id: str, which: int) -> None:
        made = self.made[id]
        known = self.models[made.model]
        body = TOLD[MODELS[made.model]["loop"]][which]
        answer = self.call.post(f"/v1/decisions/{id}/feedback", body)
        if made.status is not None:
            if made.told != body:
                assert answer.status_code == 409
                return
            expected = (200, "duplicate") if made.status == "learnt" else (202, "late")
        elif which == IMPOSSIBLE or made.reply.get("forward") is False:
            assert answer.status_code == 422
            return
        elif self.clock.now > made.expires:
            known.late += 1
            made.told, made.status, expected = body, "late", (202, "late")
            known.events.append(("feedback", id, "late", None))
        else:
            known.version += 1
            made.told, made.status, made.version, expected = body, "learnt", known.version, (200, "learnt")
            known.events.append(("feedback", id, "learnt", known.version))
        assert (answer.status_code, answer.json()["status"]) == expected
        assert answer.json()["model_version"] == known.version

    @rule(id=consumes(decisions), which=st.integers(0, IMPOSSIBLE))
    def tell_another(self, id: str, which: int) -> None:
        """A decision that nobody made."""
        body = TOLD[MODELS[self.made[id].model]["loop"]][which]
        assert self.call.post(f"/v1/decisions/{id[::-1]}x/feedback", body).status_code == 404

    @rule(id=decisions)
    def hear_the_story(self, id: str) -> None:
        self._compare_story(id)

    # Comparison

    def _compare_story(self, id: str) -> None:
        made = self.made[id]
        story = self.call.get(f"/v1/decisions/{id}").json()
        why = story.pop("why_not")
        assert (story["decision"], story["model"], story["shown"]) == (id, made.model, made.reply)
        assert (story["feedback"], story["learnt_version"]) == (made.told, made.version)
        assert (story["feedback_at"] is None) == (made.told is None)
        if made.status == "learnt":
            assert why is None
        elif made.status == "late":
            assert "after the window" in why
        else:
            assert ("within the window" in why) == (self.clock.now > made.expires)

    @invariant()
    def counts_agree(self) -> None:
        for shown in self.call.get("/v1/models").json()["models"]:
            known = self.models[shown["name"]]
            count = sum(event[0] == "decision" for event in known.events)
            assert (shown["model_version"], shown["late"], shown["decisions"]) == (known.version, known.late, count)
            assert shown["answered"] == known.version + known.late
            assert (shown["archived_at"] is not None) == known.archived

    def _compare_everything(self) -> None:
        assert {model["name"] for model in self.call.get("/v1/models").json()["models"]} == self.models.keys()
        for id in self.made:
            self._compare_story(id)
        for name, known in self.models.items():
            log = [msgspec.json.decode(line) for line in self.call.get(f"/v1/models/{name}/log").text.splitlines()]
            assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
            assert [_short(event) for event in log] == known.events


def _short(event: dict[str, Any]) -> tuple[Any, ...]:
    if event["type"] == "feedback":
        return ("feedback", event["decision"], event["status"], event["model_version"])
    return (event["type"], event["decision"]) if event["type"] == "decision" else (event["type"],)


Contract.TestCase.settings = settings(
    max_examples=10, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestContract = Contract.TestCase


@pytest.mark.long
class TestContractAtLength(Contract.TestCase):
    """The same, many times."""

    settings = settings(Contract.TestCase.settings, max_examples=100)
