"""The two verbs over HTTP, against a real service in a process of its own."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import smidgen
from processes import python
from service.live import Live
from smidgen.client import Answer, ServiceError, Unreachable
from smidgen.errors import InvalidArgument, InvalidFeatures

DOCS = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as running:
        yield running


@pytest.fixture
def client(live: Live) -> Iterator[smidgen.Client]:
    with smidgen.Client(live.url) as open_client:
        yield open_client


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A model's name that no other test uses."""
    return f"m{abs(hash(request.node.nodeid))}"


#: The body of a refusal.
REFUSED = {"error": {"code": "busy", "message": "it is busy", "hint": "later"}}


class Faulty(httpx.HTTPTransport):
    """Carries requests, and then spoils what comes back."""

    def __init__(self, *faults: Callable[[httpx.Response], httpx.Response]) -> None:
        super().__init__()
        self.faults = list(faults)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = super().handle_request(request)
        if not self.faults:
            return response
        response.read()
        return self.faults.pop(0)(response)


def lost(response: httpx.Response) -> httpx.Response:
    raise httpx.ReadError("the line went dead")


def busy(response: httpx.Response) -> httpx.Response:
    error = {"code": "busy", "message": "too much", "hint": "later"}
    return httpx.Response(503, headers={"Retry-After": "2"}, json={"error": error})


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


class TestLoops:
    @pytest.mark.parametrize(
        "given",
        [
            DOCS,
            list(DOCS.items()),
            {id: dict(zip("xyz", row, strict=True)) for id, row in DOCS.items()},
            {id: np.array(row) for id, row in DOCS.items()},
            (list(DOCS), np.array(list(DOCS.values()))),
        ],
        ids=["dict", "pairs", "by name", "arrays", "matrix"],
    )
    def test_rank_takes_candidates_in_every_form(self, given: Any, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner=smidgen.PreferencePerceptron, features=["x", "y", "z"])
        first = model.decide(given)
        assert (first.ranking, first.action, first.model_version) == (["a", "b", "c"], ["a", "b", "c"], 0)
        assert model.learn(first, clicked=["c"]).status == "learnt"
        second = model.decide(given)
        assert second.ranking == ["c", "a", "b"] or second.ranking == ["c", "b", "a"]
        assert model.learn(second.id, better=["c"]).model_version == 2
        assert second.scores is not None
        assert second.scores[0] == max(second.scores)

    def test_ids_next_to_a_matrix_or_a_list(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="choose", learner="PreferencePerceptron", params={"dim": 3})
        for rows in (np.eye(3), np.eye(3).tolist(), np.eye(3, dtype=np.int64)):
            assert model.decide(rows, ids=["a", "b", "c"]).choice == "a"
        d = model.decide(np.eye(3), ids=["a", "b", "c"])
        model.learn(d, better="b")
        assert model.decide(np.eye(3), ids=["a", "b", "c"]).action == "b"

    def test_top_counts_positions(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        model.learn(model.decide(DOCS, top=1), clicked=["c"])
        assert model.decide(DOCS).scores == [1.0, 0.0, -1.0]

    def test_label(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="label", learner="Banditron", features=["x", "y"], labels=["spam", "ham"])
        for features in ([0.0, 1.0], np.array([0.0, 1.0]), {"y": 1.0}, {"y": np.float32(1.0)}):
            d = model.decide(features)
            assert d.label in ("spam", "ham")
            assert d.propensity is not None
            model.learn(d, correct=np.bool_(d.label == "ham"))
        assert model.learn(model.decide([1, 0]), label="spam").model_version == 5

    def test_filter(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="filter", learner="RidgeFil", features={"hashed": 64})
        d = model.decide({"alarm": 1.0})
        assert (d.forward, d.action, d.threshold) == (True, True, None)
        model.learn(d, relevant=False)
        assert model.decide({"alarm": 1.0}).margin == pytest.approx(-1 / 3)

    def test_tune(self, client: smidgen.Client, name: str) -> None:
        space = smidgen.Box(low=np.zeros(2), high=np.ones(2))
        params = {"space": space, "loss_bound": 1.0, "delta": 0.1, "gamma": 0.2}
        model = client.create(name, loop="tune", learner=smidgen.OGDEG, params=params)
        d = model.decide()
        assert d.point is not None
        assert space.contains(np.array(d.point))
        assert model.learn(d, loss=np.float64(0.5)).status == "learnt"

    def test_keys_have_learners_of_their_own(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3}, keyed=True)
        model.learn(model.decide(DOCS, key="ann"), clicked=["c"])
        assert model.decide(DOCS, key="ann").ranking != model.decide(DOCS, key="bob").ranking
        assert model.describe()["keys"] == 2


class TestMany:
    def test_a_list(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        answers = model.decide_many([DOCS, list(DOCS.items()), (["p", "q", "r"], np.eye(3))], top=2)
        assert [each.ranking for each in answers] == [["a", "b", "c"], ["a", "b", "c"], ["p", "q", "r"]]
        assert len({each.id for each in answers}) == 3

    def test_feedback_on_many(self, live: Live, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        first, second, third = model.decide_many([DOCS] * 3)
        reply = client.learn_many(
            [(first, {"clicked": ["c"]}), (second.id, {"better": ["b"]}), ("nobody", {"clicked": []})]
        )
        assert [each.get("status") for each in reply] == ["learnt", "learnt", None]
        assert reply[2]["error"]["code"] == "unknown_decision"

        async def go() -> list[dict[str, Any]]:
            async with smidgen.AsyncClient(live.url) as other:
                return await other.learn_many([(third.id, {"clicked": ["a"]}), (first.id, {"clicked": ["c"]})])

        assert [each["status"] for each in asyncio.run(go())] == ["learnt", "duplicate"]

    def test_a_matrix_is_one_decision_for_each_row(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="label", learner="Confidit", params={"dim": 3, "n_classes": 2}, keyed=True)
        assert len(model.decide_many(np.eye(3), keys="ann")) == 3
        assert len(model.decide_many(np.eye(3), keys=["ann", "bob", "cid"])) == 3
        assert model.describe()["keys"] == 3

    def test_the_bad_one_is_named_and_nothing_is_decided(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="label", learner="Confidit", params={"dim": 2, "n_classes": 2})
        with pytest.raises(ServiceError, match="decision 1 of the batch") as refusal:
            model.decide_many([[1, 0], [1, 0, 0]])
        assert refusal.value.status == 422
        assert model.describe()["decisions"] == 0

    def test_keys_for_each(self, client: smidgen.Client, name: str) -> None:
        with pytest.raises(InvalidArgument, match="1 keys for 2 decisions"):
            client.model(name).decide_many([[1, 0], [1, 0]], keys=["ann"])


class TestRetries:
    def test_a_lost_answer_is_not_decided_or_learnt_twice(self, live: Live, name: str, waits: list[float]) -> None:
        transport = Faulty(lost, lost, lost)
        with smidgen.Client(live.url, transport=transport) as client:
            model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
            assert len(transport.requests) == 4
            transport.faults = [lost, lost]
            d = model.decide(DOCS)
            transport.faults = [lost]
            assert model.learn(d, clicked=["b"]).status == "duplicate", "the first attempt was learnt"
            transport.faults = [lost]
            model.decide_many([DOCS, DOCS])
            assert [event["type"] for event in model.log()] == [
                "created",
                "decision",
                "feedback",
                "decision",
                "decision",
            ]
        assert len(waits) == 7
        assert waits[0] < 0.1 < waits[2] < 0.4, "the pauses grow"

    def test_a_matrix_is_not_decided_twice(self, live: Live, name: str, waits: list[float]) -> None:
        with smidgen.Client(live.url, transport=Faulty()) as client:
            model = client.create(name, loop="label", learner="Confidit", params={"dim": 3, "n_classes": 2})
            client._http._transport.faults = [lost]
            answers = model.decide_many(np.eye(3))
            assert [event["decision"] for event in model.log(after=1)] == [each.id for each in answers]

    def test_what_would_be_done_twice_is_sent_once(self, live: Live, name: str, waits: list[float]) -> None:
        """Also behind a gateway that lost the service; the hint says that the call may have been carried out."""
        transport = Faulty()
        with smidgen.Client(live.url, transport=transport) as client:
            model = client.create(name, loop="choose")
            d = model.decide({"a": None, "b": None})
            model.learn(d, reward=1)
            calls: list[Callable[[], Any]] = [
                lambda: model.copy(f"{name}-copy"),
                lambda: model.rollback(0),
                lambda: model.retract(d),
                lambda: client.rename(name, f"{name}-2"),
                lambda: client.import_model(f"{name}-3", b"", "application/x-ndjson"),
                lambda: model.forget("ann"),
                model.promote,
            ]
            for call in calls:
                transport.requests, transport.faults = [], [lost]
                with pytest.raises(Unreachable, match="may have been carried out"):
                    call()
                transport.requests, transport.faults = [], [lambda _: httpx.Response(502, json=REFUSED)]
                with pytest.raises(ServiceError):
                    call()
                assert len(transport.requests) == 1
            kinds = [event["type"] for event in model.log()]
            assert kinds.count("rolled_back") == 2, "once for each call, none for a retry"
            assert waits == []

    def test_retry_after_is_respected(self, live: Live, name: str, waits: list[float]) -> None:
        with smidgen.Client(live.url, transport=Faulty(busy, busy)) as client:
            client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        assert waits == [2.0, 2.0], "as Retry-After asks"

    def test_create_says_why_it_waits(self, live: Live, name: str, waits: list[float]) -> None:
        seen: list[str] = []
        with smidgen.Client(live.url, transport=Faulty(busy, lost)) as client:
            client.create(name, loop="rank", progress=seen.append)
            client.create(name, loop="rank", progress=seen.append)
        assert seen == [
            "too much; the next attempt is in 2.0 s",
            f"there is no reply: the line went dead; the next attempt is in {waits[1]:.1f} s",
        ]

    def test_create_with_await_says_why_it_waits(self) -> None:
        replies = [httpx.Response(502, text="<html>"), httpx.Response(200, json={})]

        async def create() -> list[str]:
            seen: list[str] = []
            async with smidgen.AsyncClient(
                "http://here", transport=httpx.MockTransport(lambda _: replies.pop(0))
            ) as it:
                await it.create("m", loop="rank", progress=seen.append)
            return seen

        (line,) = asyncio.run(create())
        assert "502" in line
        assert "the next attempt is in 0." in line

    def test_gives_up(self, live: Live, waits: list[float]) -> None:
        with smidgen.Client(live.url, transport=Faulty(*[busy] * 3), retries=2) as client:
            with pytest.raises(ServiceError) as refusal:
                client.models()
            assert (refusal.value.status, refusal.value.code, refusal.value.hint) == (503, "busy", "later")
        dead = smidgen.Client(live.url, transport=Faulty(*[lost] * 3), retries=2)
        with dead, pytest.raises(Unreachable, match="no reply after 3 attempts: the line went dead"):
            dead.models()

    def test_nobody_there(self, waits: list[float]) -> None:
        with smidgen.Client("http://127.0.0.1:9", retries=1) as client, pytest.raises(Unreachable):
            client.models()
        assert len(waits) == 1

    def test_a_service_that_comes_back(self, tmp_path: Path) -> None:
        with Live(tmp_path) as first, smidgen.Client(first.url) as client:
            client.create("m", loop="rank", learner="PreferencePerceptron", params={"dim": 3})
            port = first.url.rstrip("/").rpartition(":")[2]
            first.stop()
            second = Live(tmp_path, "--port", port)
            starting = threading.Thread(target=second.__enter__)
            starting.start()
            try:
                with smidgen.Client(first.url, retries=12) as patient:
                    assert patient.model("m").decide(DOCS).ranking == ["a", "b", "c"]
            finally:
                starting.join()
                second.stop()

    def test_a_log_goes_on_where_it_broke(self, live: Live, name: str, waits: list[float]) -> None:
        class Halved(httpx.HTTPTransport):
            broken = False

            def handle_request(self, request: httpx.Request) -> httpx.Response:
                response = super().handle_request(request)
                if self.broken or "/log" not in request.url.path:
                    return response
                self.broken = True
                content = response.read()

                class Half(httpx.SyncByteStream):
                    def __iter__(self) -> Iterator[bytes]:
                        yield content[: len(content) // 2]
                        raise httpx.RemoteProtocolError("cut off")

                return httpx.Response(200, stream=Half(), request=request)

        with smidgen.Client(live.url, transport=Halved()) as client:
            model = client.create(name, loop="tune", learner="OGD", params=ogd())
            for _ in range(20):
                model.learn(model.decide(), gradient=np.array([0.1, 0.2]))
            assert [event["seq"] for event in model.log()] == list(range(1, 42))
            assert len(waits) == 1


def ogd() -> dict[str, Any]:
    return {"space": smidgen.Ball(dim=2, radius=1.0), "gradient_bound": 1.0}


class TestRefusals:
    def test_are_typed(self, client: smidgen.Client, name: str) -> None:
        with pytest.raises(ServiceError) as refusal:
            client.model("nobody").decide(DOCS)
        assert isinstance(refusal.value, smidgen.SmidgenError)
        assert (refusal.value.status, refusal.value.code) == (404, "unknown_model")
        assert "create it first" in refusal.value.hint
        assert str(refusal.value) == f"{refusal.value.problem}; {refusal.value.hint}"
        client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        with pytest.raises(ServiceError) as refusal:
            client.create(name, loop="choose", learner="PreferencePerceptron", params={"dim": 3})
        assert (refusal.value.status, refusal.value.code) == (409, "conflict")

    def test_labels_belong_next_to_the_params(self, client: smidgen.Client, name: str) -> None:
        with pytest.raises(ServiceError, match="labels is not a param") as refusal:
            client.create(name, loop="label", learner="Banditron", params={"dim": 2, "labels": ["a", "b"]})
        assert refusal.value.status == 422

    def test_the_same_id_is_the_same_decision(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        assert model.decide(DOCS, id="basket 7") == model.decide(DOCS, id="basket 7")
        with pytest.raises(ServiceError) as refusal:
            model.decide({"a": [1, 0, 0]}, id="basket 7")
        assert refusal.value.status == 409

    @pytest.mark.parametrize(
        "given",
        [
            [1.0, float("nan")],
            {"x": float("inf")},
            {"a": b"bytes", "x": float("nan")},
            [[1.0, 2.0]],
            "words",
            np.eye(2),
        ],
        ids=repr,
    )
    def test_features_that_cannot_be(self, given: Any, client: smidgen.Client) -> None:
        with pytest.raises((InvalidFeatures, InvalidArgument)):
            client.model("any").decide(given)

    @pytest.mark.parametrize("matrix", [np.array([[1e300]]), np.array([[np.nan]]), np.array([["a"]])], ids=repr)
    def test_matrices_that_cannot_be(self, matrix: Any, client: smidgen.Client) -> None:
        with pytest.raises(InvalidFeatures):
            client.model("any").decide(matrix, ids=["a"])

    def test_ids_and_rows_are_as_many(self, client: smidgen.Client) -> None:
        with pytest.raises(InvalidArgument, match="1 ids for 2 rows"):
            client.model("any").decide(np.eye(2), ids=["a"])

    @pytest.mark.parametrize("feedback", [{}, {"correct": True, "label": "spam"}])
    def test_feedback_of_one_kind(self, feedback: dict[str, Any], client: smidgen.Client) -> None:
        with pytest.raises(InvalidArgument, match="kinds of feedback"):
            client.learn("d", **feedback)

    @pytest.mark.parametrize("url", ["127.0.0.1:8470", "ftp://here", "http://", "http://here:there", "/v1"])
    def test_addresses(self, url: str) -> None:
        with pytest.raises(ServiceError, match="the service address is"):
            smidgen.Client(url)

    def test_somebody_else_answers(self) -> None:
        page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>"))
        with (
            smidgen.Client("http://x", transport=page) as client,
            pytest.raises(ServiceError, match="not one of a smid"),
        ):
            client.models()
        page = httpx.MockTransport(lambda request: httpx.Response(403, text="<html>go away"))
        with smidgen.Client("http://x", transport=page) as client, pytest.raises(ServiceError, match="go away") as no:
            client.models()
        assert no.value.status == 403

    def test_without_its_extra(self) -> None:
        script = "import sys; sys.modules['httpx'] = None; import smidgen; smidgen.Client"
        ended = python("-c", script)
        assert 'MissingExtra: smidgen.Client needs httpx; pip install "smidgen[client]"' in ended.stderr


class TestStoriesAndLogs:
    def test_the_story_of_a_decision(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3}, window_s=60)
        d = model.decide(DOCS)
        assert model.story(d)["why_not"] == "no feedback has come yet"
        model.learn(d, clicked=["b"])
        story = client.story(d.id)
        assert (story["model"], story["learnt_version"], story["feedback"]) == (name, 1, {"clicked": ["b"]})
        assert story["shown"]["ranking"] == ["a", "b", "c"]

    def test_the_log_survives_odd_line_ends(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 1}, keyed=True)
        odd = "two\u2028lines\x85and\nmore"
        model.decide({"a\u2029b": [1]}, key=odd)
        events = list(client.log(name))
        assert [event["seq"] for event in events] == [1, 2]
        assert events[1]["key"] == odd

    def test_archive(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
        d = model.decide(DOCS)
        assert model.archive()["archived_at"] is not None
        with pytest.raises(ServiceError) as refusal:
            model.decide(DOCS)
        assert refusal.value.status == 409
        assert model.learn(d, clicked=["b"]).status == "learnt"
        assert name in {each["name"] for each in client.models()}

    def test_a_token(self, tmp_path: Path) -> None:
        made = python("-m", "smidgen", "token", "create", "--scope", "admin", "--store", Live(tmp_path).store)
        with Live(tmp_path) as live:
            with smidgen.Client(live.url) as nobody, pytest.raises(ServiceError) as refusal:
                nobody.models()
            assert refusal.value.status == 401
            with smidgen.Client(live.url, token=made.stdout.strip()) as client:
                assert client.models() == []
                reading = client.create_token(["read"], name="Grafana", model="m", expires="30d")
                with smidgen.Client(live.url, token=reading["token"]) as reader, pytest.raises(ServiceError) as refusal:
                    reader.create("m", loop="choose")
                assert refusal.value.status == 403
                assert [each["name"] for each in client.tokens()] == [None, "Grafana"]
                assert client.revoke_token(reading["id"])["revoked_at"] is not None
                with smidgen.Client(live.url, token=reading["token"]) as reader, pytest.raises(ServiceError) as refusal:
                    reader.models()
                assert refusal.value.status == 401

            async def at_once() -> list[str]:
                async with smidgen.AsyncClient(live.url, token=made.stdout.strip()) as client:
                    id = (await client.create_token(["decide"]))["id"]
                    await client.revoke_token(id)
                    return [each["id"] for each in await client.tokens() if each["revoked_at"] is not None]

            assert len(asyncio.run(at_once())) == 2


class Counting(httpx.AsyncHTTPTransport):
    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        return await super().handle_async_request(request)


class TestAsync:
    def test_every_verb(self, live: Live, name: str) -> None:
        async def go() -> list[dict[str, Any]]:
            async with smidgen.AsyncClient(live.url) as client:
                model = await client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
                d = await model.decide(DOCS)
                assert (await model.learn(d, clicked=["c"])).status == "learnt"
                assert (await model.story(d))["learnt_version"] == 1
                (first, second) = await model.decide_many([DOCS, DOCS])
                assert first.ranking == second.ranking
                assert (await model.describe())["model_version"] == 1
                assert name in {each["name"] for each in await client.models()}
                assert (await model.archive())["archived_at"]
                with pytest.raises(ServiceError):
                    await client.model("nobody").decide(DOCS)
                with pytest.raises(ServiceError, match='unknown field "like"'):
                    await model.learn(d, like=True)
                return [event async for event in model.log()]

        assert [event["seq"] for event in asyncio.run(go())] == [1, 2, 3, 4, 5, 6]

    def test_what_is_asked_at_once_is_sent_at_once(self, live: Live, name: str) -> None:
        transport = Counting()

        async def go() -> list[Answer | BaseException]:
            async with smidgen.AsyncClient(live.url, batch=20, transport=transport) as client:
                model = await client.create(name, loop="label", learner="Banditron", params={"dim": 2, "n_classes": 2})
                rows = [[1.0, i / 50] for i in range(50)]
                answers = await asyncio.gather(*(model.decide(row) for row in rows))
                assert [event["decision"] async for event in model.log(after=1)] == [each.id for each in answers]
                calls = [path for path in transport.paths if "decisions" in path]
                assert calls == [f"/v1/models/{name}/decisions:batch"] * 3
                alone = await model.decide([1, 0])
                assert transport.paths[-1] == f"/v1/models/{name}/decisions"
                bad = [[1.0], *rows[:4]]
                mixed = await asyncio.gather(*(model.decide(row) for row in bad), return_exceptions=True)
                assert alone.label in ("0", "1")
                return mixed

        mixed = asyncio.run(go())
        assert isinstance(mixed[0], ServiceError)
        assert all(isinstance(each, Answer) for each in mixed[1:])

    def test_retries(self, live: Live, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        class Dead(httpx.AsyncHTTPTransport):
            alive = False

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                response = await super().handle_async_request(request)
                await response.aread()
                self.alive = not self.alive
                if self.alive:
                    raise httpx.ReadTimeout("slow")
                return response

        async def go() -> list[str]:
            async with smidgen.AsyncClient(live.url, transport=Dead()) as client:
                model = await client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
                d = await model.decide(DOCS)
                await model.learn(d, clicked=["c"])
            async with smidgen.AsyncClient(live.url) as client:
                return [event["type"] async for event in client.log(name)]

        assert asyncio.run(go()) == ["created", "decision", "feedback"]


def test_the_clients_log_is_what_the_command_exports(live: Live, client: smidgen.Client, name: str) -> None:
    model = client.create(name, loop="rank", learner="PreferencePerceptron", params={"dim": 3})
    model.learn(model.decide(DOCS), clicked=["b"])
    ended = python("-m", "smidgen", "log", "export", name, "--store", live.store)
    assert [json.loads(line) for line in ended.stdout.splitlines()] == list(model.log())


class TestRecords:
    def test_candidates_with_a_context(self, client: smidgen.Client, name: str) -> None:
        banners = client.create(name, loop="choose")
        for _ in range(3):
            d = banners.decide({7: {"topic": "art"}, "b": None}, context={"device": {"os": "ios"}})
            assert d.propensities is not None
            assert d.propensities.keys() == {"7", "b"}
            banners.learn(d, reward=1.0)
        assert d.choice in (7, "b")
        offer = smidgen.Candidates({7: {"topic": "art"}, "b": {}}, context={"device": {"os": "ios"}})
        assert banners.decide(offer).choice in (7, "b")
        names = [each["name"] for each in banners.weights(limit=50)]
        assert "context.device.os=ios" in names

    def test_several_slots(self, live: Live, client: smidgen.Client, name: str) -> None:
        pages = client.create(name, loop="choose", feedback="reward")
        slots = ["hero", {"id": "side", "features": {"wide": True}, "exclude": ["a"]}]
        offer = smidgen.Candidates({"a": {}, "b": {}, "c": {}}, context={"device": "ios"}, slots=slots)
        for d in (pages.decide(offer), pages.decide({"a": {}, "b": {}, "c": {}}, slots=slots)):
            assert d.choices is not None
            assert [each["slot"] for each in d.choices] == ["hero", "side"]
            assert d.action == {each["slot"]: each["choice"] for each in d.choices}
            assert d.action["side"] != "a"
            assert pages.learn(d, rewards={"hero": 1.0, "side": 0.0}).status == "learnt"

        async def go() -> str:
            async with smidgen.AsyncClient(live.url) as other:
                d = await other.model(name).decide(offer)
                return (await other.model(name).learn(d, rewards={"side": 0.5})).status

        assert asyncio.run(go()) == "recorded"
        with pytest.raises(InvalidArgument, match="two slots"):
            pages.decide({"a": {}}, slots=["x", "x"])

    def test_one_record(self, client: smidgen.Client, name: str) -> None:
        triage = client.create(name, loop="label", labels=["bug", "billing"], features={"auto": {"text": ["title"]}})
        record = {"title": "it crashes", "tags": ["a", "b"], "age": np.float32(3.0), "plan": None}
        triage.learn(triage.decide(record), correct=True)
        assert triage.decide(features={"device": {"os": "ios"}}).label in ("bug", "billing")
        assert len(triage.decide_many([record, {"plan": "team"}])) == 2
        assert {each["label"] for each in triage.weights()} <= {"bug", "billing"}
        with pytest.raises(InvalidFeatures, match=r"features\.a\.b is nan"):
            triage.decide({"a": {"b": float("nan")}, "c": "d"})
        with pytest.raises(InvalidArgument, match="together with candidates"):
            triage.decide(record, features=record)

    def test_with_await(self, live: Live, name: str) -> None:
        async def go() -> list[dict[str, Any]]:
            async with smidgen.AsyncClient(live.url) as client:
                ranked = await client.create(name, loop="rank", feedback="better")
                d = await ranked.decide({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"hour": 9})
                await ranked.learn(d, better=["b"])
                return await ranked.weights()

        assert {"topic=art", "topic=cars"} <= {each["name"] for each in asyncio.run(go())}


class TestShards:
    """A model with several shards."""

    def test_replies_say_which_and_rollbacks_take_a_moment(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="choose", keyed=True, shards=4)
        decided = model.decide({"a": {}, "b": {}}, key="eve")
        assert (decided.shard, decided.action) == (3, decided.choice)
        assert model.learn(decided, reward=1.0).shard == 3
        with pytest.raises(ServiceError) as caught:
            client.rollback(name, 0)
        assert caught.value.status == 422
        assert client.rollback(name, time=time.time()) == 5

    def test_a_log_that_breaks_is_taken_up_in_its_shard(self, live: Live, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="choose", keyed=True, shards=3)
        for i in range(12):
            model.learn(model.decide({"a": {}, "b": {}}, key=f"k{i}"), reward=1.0)
        whole = list(model.log())
        assert [event["shard"] for event in whole] == sorted(event["shard"] for event in whole)
        assert list(client.log(name, 2, shard=1)) == [
            event for event in whole if event["shard"] == 1 and event["seq"] > 2
        ]

        class Broken(httpx.SyncByteStream):
            """The first lines, and then nothing."""

            def __init__(self, content: bytes) -> None:
                self.content = content

            def __iter__(self) -> Iterator[bytes]:
                yield self.content
                raise httpx.ReadError("the line is dead")

        def broken(response: httpx.Response) -> httpx.Response:
            lines = response.content.splitlines(keepends=True)
            return httpx.Response(200, stream=Broken(b"".join(lines[: len(lines) // 2])))

        with smidgen.Client(live.url, transport=Faulty(broken)) as other:
            assert list(other.log(name)) == whole


class TestRequests:
    """Forms of candidates and requests."""

    def test_costs_of_candidates(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="choose", budget={"usd": 1.5})
        given: list[Any] = [
            {"a": {"x": 1, "costs": {"usd": 1}}, "b": {"x": 2, "costs": {"usd": 2}}},
            [{"id": "a", "features": {"x": 1}, "costs": {"usd": 1}}, {"id": "b", "costs": {"usd": 2}}],
            smidgen.Candidates({"a": {"x": 1}, "b": {"x": 2}}, costs={"usd": [1, 2]}),
        ]
        for each in given:
            before = (client.describe(name)["budget"]["usd"]["mean"] or 0.0) * client.describe(name)["decisions"]
            choice = model.decide(each).choice
            now = client.describe(name)
            assert now["budget"]["usd"]["mean"] * now["decisions"] - before == pytest.approx(1 if choice == "a" else 2)
        assert not [weight for weight in model.weights() if "costs" in weight["name"]]

    def test_many_requests_with_their_fields(self, client: smidgen.Client, name: str) -> None:
        model = client.create(name, loop="choose")
        offered = {"a": {"x": np.float32(1)}, "b": {"x": 2}, "c": {"emb": np.ones(3, np.float32)}}
        first, second, third = model.decide_many(
            [
                {"candidates": offered, "context": {"device": "ios"}, "slots": ["hero", "side"], "unit": "ann"},
                {"candidates": [("a", None), ("b", None)], "exclude": ["a"]},
                offered,
            ]
        )
        assert set(first.action) == {"hero", "side"}
        assert second.choice == "b"
        assert third.choice in offered
        assert client.story(first)["asked"]["context"] == {"device": "ios"}
        tuner = client.create(f"{name}t", loop="tune", knobs={"price": (1, 5)})
        assert len(tuner.decide_many([{"context": {"plan": "free"}}, {"context": {"plan": "paid"}}])) == 2

    def test_the_best_of_a_tuner_that_has_learned_nothing(self, client: smidgen.Client, name: str) -> None:
        """Its safe setting, of categories too."""
        knobs = {"price": (1, 5), "mode": smidgen.knobs.Category("a", "b")}
        model = client.create(name, loop="tune", knobs=knobs, safe={"knobs": {"price": 2, "mode": "a"}, "margin": 0.1})
        for context in ({}, {"plan": "free"}):
            best = model.best(context)
            assert best["loss"] is None
            assert best["knobs"] == {"price": pytest.approx(2.0), "mode": "a"}
