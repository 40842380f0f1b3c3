"""The service against a small model of the contract, in any order of events: hypothesis looks for a difference.

A second service, the twin, gets the same requests one by one, keeps every learner in memory and never stops. Batches
(`decisions:batch`, `feedback:batch`, several examples in one call) must come to the same as the twin's single calls,
however few learners stay in memory. It runs on PostgreSQL: on SQLite and in memory the simulation plays all of this and
more (`tests/simulation`).
"""

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

from service import bodies, postgres_env
from service.asgi import Caller
from service.bodies import Clock
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.lifecycle import keys_of

pytestmark = pytest.mark.skipif(not postgres_env.ON, reason="on SQLite the simulation plays it")

LOOPS = ("rank", "choose", "label", "filter", "tune", "draft")
PLAIN = {loop: bodies.MODELS[loop] for loop in LOOPS}
KEYED = {f"{loop}-by-key": {**body, "keyed": True} for loop, body in PLAIN.items()}
#: The keys of the last one share the names of features, and begin with what others have learnt.
MODELS: dict[str, dict[str, Any]] = {**PLAIN, **KEYED, "people": {"loop": "choose", "keyed": True}}
NAMES = tuple(MODELS)
KEYS = 5
WINDOW = 1000.0
#: Feedback on a decision, by loop: two possible answers, and one that is impossible.
FEEDBACK: dict[str, list[dict[str, Any]]] = {
    "rank": [{"clicked": ["b"]}, {"better": ["c", "a"]}, {"clicked": ["nobody"]}],
    "choose": [{"better": "b"}, {"better": "c"}, {"better": "nobody"}],
    "label": [{"correct": True}, {"label": "y"}, {"label": "nothing"}],
    "filter": [{"relevant": True}, {"relevant": False}, {"loss": 0.5}],
    "tune": [{"loss": 0.5}, {"loss": 0.25}, {"relevant": True}],
    "draft": [{"edited": "So be it."}, {"edited": "No, thank you."}, {"loss": 0.5}],
}
REWARDS: list[dict[str, Any]] = [{"reward": 1.0}, {"reward": 0.25}, {"better": "nobody"}]
IMPOSSIBLE = 2
#: What an app may have chosen itself, and the answers of examples, by loop; a tuner takes neither here.
CHOSEN: dict[str, Any] = {"rank": "b", "choose": "b", "label": "y", "filter": True, "draft": "b"}
ANSWERS: dict[str, list[Any]] = {
    "rank": [["b"], ["c", "a"]],
    "choose": ["b", "c"],
    "label": ["x", "y"],
    "filter": [True, False],
    "draft": ["So be it.", "No."],
}
REWARDED = [{"choice": "b", "reward": 1.0}, {"choice": "c", "reward": 0.25}]


def feedback_of(name: str, which: int) -> dict[str, Any]:
    """Feedback on a decision of a model."""
    return (REWARDS if name == "people" else FEEDBACK[MODELS[name]["loop"]])[which]


@dataclass
class Known:
    """A model as it should be."""

    body: dict[str, Any]
    archived: bool = False
    version: int = 0
    answered: int = 0
    late: int = 0
    extra: int = 0  # versions that the twin has more, since it is taught by several calls
    events: list[tuple[Any, ...]] = field(default_factory=list)
    requests: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)


@dataclass
class Made:
    """A decision as it should be."""

    model: str
    reply: dict[str, Any]
    expires: float
    reported: dict[str, Any] | None = None
    status: str | None = None
    version: int | None = None


def request_of(name: str, variant: int, key: int, wrong: bool) -> dict[str, Any]:
    """A request of a loop; the wrong one has a feature too few, or a field of another loop."""
    loop = MODELS[name]["loop"]
    row = [1.0, 0.5 * variant, -0.5][: 2 if wrong else 3]
    body: dict[str, Any] = {"key": f"user{key}"} if MODELS[name].get("keyed") else {}
    if name == "people":
        ids = ["abc", "bca", "cbad"][(key + variant) % 3]
        body["candidates"] = [{"id": id} for id in ids]
        body |= {"top": 3} if wrong else {}
        body["context"] = {f"likes {key}": "tea", "size": 0.5 * variant}
    elif loop == "draft":
        texts = ["Hello! " * variant, f"The parcel of user {key} is late.", "Bye."]
        body["drafts"] = [{"id": id, "text": text} for id, text in zip("abc", texts, strict=True)]
        body |= {"top": 3} if wrong else {}
    elif loop in ("rank", "choose"):
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

    keyed_in_memory = 1

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.models: dict[str, Known] = {}
        self.made: dict[str, Made] = {}
        self.twins: dict[str, str] = {}  # the twin's decisions by ours
        self._open()
        self.twin = Caller(self.folder / "twin", clock=self.clock, snapshot_every=1 << 30, keyed_in_memory=1 << 30)
        self.twin.__enter__()

    def _open(self) -> None:
        self.call = Caller(
            self.folder / "own", clock=self.clock, snapshot_every=6, keyed_in_memory=self.keyed_in_memory
        )
        self.call.__enter__()

    def teardown(self) -> None:
        try:
            self._compare_everything()
            ours, theirs = _in_memory(self.call), _in_memory(self.twin)
            assert ours == theirs
        finally:
            self.call.__exit__(None, None, None)
            self.twin.__exit__(None, None, None)
        try:
            assert _from_disk(self.folder / "own") == ours
            with Inspection(self.folder / "own") as seen:
                assert [audit_model(seen, each).problems for each in seen.models()] == [[]] * len(self.models)
        finally:
            shutil.rmtree(self.folder)

    def _alike(self, name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        """Compare two replies, but for the names of decisions and the twin's extra versions."""
        theirs = {**theirs, "model_version": theirs["model_version"] - self.models[name].extra}
        if "decision" in ours:
            self.twins.setdefault(ours["decision"], theirs["decision"])
            theirs["decision"] = ours["decision"]
        assert ours == theirs

    # What happens to the service

    @rule()
    def restart(self) -> None:
        self.call.__exit__(None, None, None)
        self._open()

    @rule()
    def crash(self) -> None:
        """Stop without writing anything."""
        engine = self.call.app.state.service.engine
        engine.close = engine.store.close
        if engine.leases is not None:  # the dead renew nothing
            engine.leases.stop()
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
        assert self.twin.put(f"/v1/models/{name}", body).status_code == answer.status_code
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
        assert self.twin("DELETE", f"/v1/models/{name}").status_code == answer.status_code
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
        which=st.integers(0, 99),
        id=st.sampled_from([None, None, "r1", "r2"]),
        variant=st.integers(0, 1),
        key=st.integers(0, KEYS - 1),
        chosen=st.sampled_from([False, False, True]),
    )
    def decide(self, which: int, id: str | None, variant: int, key: int, chosen: bool) -> Any:
        name = self._name(which)
        body = self._request(name, id, variant, key, chosen=chosen)
        answer = self.call.post(f"/v1/models/{name}/decisions", body)
        other = self.twin.post(f"/v1/models/{name}/decisions", body)
        assert other.status_code == answer.status_code
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
        self._alike(name, answer.json(), other.json())
        return self._book(name, body, answer.json())

    @rule(
        target=decisions,
        which=st.integers(0, 99),
        asked=st.lists(
            st.tuples(
                st.integers(0, 1),
                st.integers(0, KEYS - 1),
                st.sampled_from([False, False, False, True]),
                st.sampled_from([None, None, None, "b1", "b2"]),
            ),
            min_size=1,
            max_size=9,
        ),
        bad=st.sampled_from([None, None, None, 0, 2]),
    )
    def decide_batch(self, which: int, asked: list[tuple[int, int, bool, str | None]], bad: int | None) -> Any:
        name = self._name(which)
        known = self.models.get(name)
        requests, seen = list[dict[str, Any]](), dict(known.requests) if known is not None else {}
        for variant, key, chosen, id in asked:
            body = self._request(name, id, variant, key, chosen=chosen)
            if id is not None and seen.setdefault(id, (body, ""))[0] != body:
                del body["id"]  # another body for the same id would refuse the whole batch
            requests.append(body)
        if bad is not None and bad < len(requests):
            requests[bad] = request_of(name, 0, 0, wrong=True)
        answer = self.call.post(f"/v1/models/{name}/decisions:batch", {"decisions": requests})
        if known is None or (refused := self._refused(name)) is not None:
            assert answer.status_code == (404 if known is None else refused)
            return multiple()
        if bad is not None and bad < len(requests):
            assert answer.status_code == 422
            assert len(requests) == 1 or f"decision {bad} " in answer.json()["error"]["message"]
            return multiple()
        assert answer.status_code == 201
        made = list[str]()
        for body, reply in zip(requests, answer.json()["decisions"], strict=True):
            other = self.twin.post(f"/v1/models/{name}/decisions", body)
            assert other.status_code == 201
            if body.get("id") in known.requests:
                assert reply == self.made[known.requests[body["id"]][1]].reply
                continue
            self._alike(name, reply, other.json())
            made.append(self._book(name, body, reply))
        return multiple(*made)

    @rule(
        which=st.integers(0, 99),
        key=st.integers(0, KEYS - 1),
        asked=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=4),
    )
    def teach(self, which: int, key: int, asked: list[tuple[int, int]]) -> None:
        name = self._name(which)
        answers = REWARDED if name == "people" else ANSWERS.get(MODELS[name]["loop"])
        if answers is None:
            return
        examples = [request_of(name, variant, key, wrong=False) | {"answer": answers[i]} for variant, i in asked]
        answer = self.call.post(f"/v1/models/{name}/examples", {"examples": examples})
        if (refused := self._refused(name)) is not None:
            assert answer.status_code == refused
            return
        known = self.models[name]
        known.version += 1
        known.extra += len(examples) - 1
        known.events.append(("taught",))
        assert (answer.status_code, answer.json()["taught"]) == (200, len(examples))
        assert answer.json()["model_version"] == known.version
        for example in examples:
            assert self.twin.post(f"/v1/models/{name}/examples", {"examples": [example]}).status_code == 200

    def _name(self, which: int) -> str:
        """A model's name, sometimes one that does not exist."""
        return NAMES[which % len(NAMES)] if which >= 95 else sorted(self.models)[which % len(self.models)]

    def _request(self, name: str, id: str | None, variant: int, key: int, *, chosen: bool) -> dict[str, Any]:
        body = request_of(name, variant, key, wrong=False) | ({} if id is None else {"id": id})
        if chosen and (value := CHOSEN.get(MODELS[name]["loop"])) is not None:
            body["chosen"] = value
        return body

    @rule(name=st.sampled_from(NAMES))
    def ask_for_the_impossible(self, name: str) -> None:
        answer = self.call.post(f"/v1/models/{name}/decisions", request_of(name, 0, 0, wrong=True))
        other = self.twin.post(f"/v1/models/{name}/decisions", request_of(name, 0, 0, wrong=True))
        assert other.status_code == answer.status_code
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
        if "chosen" in body:  # the model is taught it at once
            known.version += 1
            known.events.append(("taught",))
        if "id" in body:
            known.requests[body["id"]] = (body, id)
        return str(id)

    # Feedback

    @rule(id=decisions, which=st.sampled_from([0, 0, 0, 1, IMPOSSIBLE]))
    def tell(self, id: str, which: int) -> None:
        body = feedback_of(self.made[id].model, which)
        answer = self.call.post(f"/v1/decisions/{id}/feedback", body)
        self._check_feedback(id, body, answer.status_code, answer.json())

    @rule(
        given=st.lists(st.tuples(decisions, st.sampled_from([0, 0, 0, 1, IMPOSSIBLE])), min_size=1, max_size=9),
    )
    def tell_batch(self, given: list[tuple[str, int]]) -> None:
        listed = [(id, feedback_of(self.made[id].model, which)) for id, which in given]
        answer = self.call.post("/v1/feedback:batch", {"feedback": [{"decision": id, **body} for id, body in listed]})
        assert answer.status_code == 200
        for (id, body), result in zip(listed, answer.json()["results"], strict=True):
            self._check_feedback(id, body, None, result)

    def _check_feedback(self, id: str, body: dict[str, Any], status: int | None, reply: dict[str, Any]) -> None:
        """Hold a reply to feedback, or one of a batch of them, to the contract, and to what the twin answers."""
        made = self.made[id]
        known = self.models[made.model]
        other = self.twin.post(f"/v1/decisions/{self.twins[id]}/feedback", body)
        assert status in (None, other.status_code)
        if made.status is not None:
            refused = None if made.reported == body else 409
            expected = (200, "duplicate") if made.status == "learnt" else (202, "late")
        else:
            impossible = body == feedback_of(made.model, IMPOSSIBLE) or made.reply.get("forward") is False
            refused = 422 if impossible else None
            expected = (202, "late") if self.clock.now > made.expires else (200, "learnt")
        if refused is not None:
            assert other.status_code == refused
            assert reply["error"]["code"] == other.json()["error"]["code"]
            return
        if made.status is None:
            known.answered += 1
            made.reported, made.status = body, expected[1]
            if made.status == "late":
                known.late += 1
            else:
                known.version += 1
                made.version = known.version
            known.events.append(("feedback", id, made.status, made.version))
        assert (other.status_code, reply["status"]) == expected
        assert reply["model_version"] == known.version
        self._alike(made.model, reply, other.json())

    @rule(id=consumes(decisions), which=st.integers(0, IMPOSSIBLE))
    def tell_another(self, id: str, which: int) -> None:
        """A decision that nobody made."""
        body = feedback_of(self.made[id].model, which)
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
        assert (story["feedback"], story["learnt_version"]) == (made.reported, made.version)
        assert (story["feedback_at"] is None) == (made.reported is None)
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
            assert shown["answered"] == known.answered
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


def _in_memory(call: Caller) -> dict[tuple[str, str | None], bytes]:
    """The learners of all models and keys, as a service has them."""
    engine = call.app.state.service.engine
    return call._run(call.app.state.service.writer.run(lambda: _learners(engine)))


def _from_disk(folder: Path) -> dict[tuple[str, str | None], bytes]:
    """States as a service reads them at its start."""
    engine = Engine(folder)
    try:
        return engine.run(lambda: _learners(engine))
    finally:
        engine.store.close()


def _learners(engine: Engine) -> dict[tuple[str, str | None], bytes]:
    return {
        (name, key): engine.learners.get(engine.locked_model(name), key).learner.to_bytes()
        for name, model in engine.models.items()
        for key in keys_of(engine.store, model)
    }


SETTINGS = settings(max_examples=8, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))


class TestWithOneLearnerInMemory(Contract.TestCase):
    """Every other key evicts the last one."""

    settings = SETTINGS


class Two(Contract):
    keyed_in_memory = 2


class Three(Contract):
    keyed_in_memory = 3


class TestWithTwoLearnersInMemory(Two.TestCase):
    """Two keys stay."""

    settings = SETTINGS


class TestWithThreeLearnersInMemory(Three.TestCase):
    """Three keys stay."""

    settings = SETTINGS


@pytest.mark.long
class TestContractAtLength(Two.TestCase):
    """The state machine with more and longer histories."""

    settings = settings(SETTINGS, max_examples=100)
