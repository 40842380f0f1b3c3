"""Tokens where several workers share a store: a token is required as soon as any worker has created one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from service.asgi import Caller
from smidgen.service.engine import writer
from smidgen.service.engine.inspection import open_for_change
from smidgen.service.http import auth
from smidgen.service.storage.address import Database

LABELS = {"loop": "label", "learner": "HingeConfidit", "labels": ["x", "y"], "params": {"dim": 2}}
ASKED = {"features": [1.0, 0.5]}
DECIDE = "/v1/models/m/decisions"


@pytest.fixture
def worker(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """A worker that never looks around by itself, so that only what a request does can tell it of a token."""
    monkeypatch.setattr(writer, "LOOK_S", 1e9)
    with Caller(Database(postgres)) as call:
        assert call.put("/v1/models/m", LABELS).status_code == 201
        yield call


def token_of(postgres: str, *scopes: str, model: str | None = None) -> tuple[str, dict[str, str]]:
    """A token that another process makes: its id, and the header that shows it."""
    with open_for_change(Database(postgres)) as store:
        id, token = auth.create(store, list(scopes), model, time.time())
    return id, {"authorization": f"Bearer {token}"}


def decided(worker: Caller) -> int:
    """Number of decisions, as seen by any worker."""
    return int(worker.app.state.service.reading.counts(1).decisions)


def direct(worker: Caller, target: str, body: Any) -> int:
    """Status of the fast path."""

    async def ask() -> int:
        import asyncio

        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        content = json.dumps(body).encode()
        head = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"1")]
        taken = worker.app.state.direct.handle(
            target.encode(), head, content, lambda status, *_: found.set_result(status)
        )
        assert taken
        return await found

    return int(worker._run(ask()))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (DECIDE, ASKED, 201),
        (DECIDE + ":batch", {"decisions": [ASKED]}, 201),
        ("/v1/decisions/{id}/feedback", {"correct": True}, 200),
        ("/v1/decisions/{id}/shown", None, 200),
    ],
)
def test_the_first_token_is_asked_for_at_once(worker: Caller, postgres: str, path: str, body: Any, status: int) -> None:
    ids = [worker.post(DECIDE, ASKED).json()["decision"] for _ in range(2)]
    assert worker.post(path.format(id=ids[0]), body).status_code == status
    before = decided(worker)
    _, shown = token_of(postgres, "decide", "feedback")
    refused = worker.post(path.format(id=ids[1]), body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "not_allowed")
    assert decided(worker) == before
    assert worker.get(f"/v1/decisions/{ids[1]}", headers=shown).json()["feedback"] is None
    assert worker.post(path.format(id=ids[1]), body, headers=shown).status_code == status


def test_the_short_way_asks_too(worker: Caller, postgres: str) -> None:
    assert direct(worker, DECIDE, ASKED) == 201
    id = worker.post(DECIDE, ASKED).json()["decision"]
    token_of(postgres, "decide")
    assert direct(worker, f"/v1/decisions/{id}/feedback", {"correct": True}) == 401


def test_many_reactions_at_once(worker: Caller, postgres: str) -> None:
    ids = [worker.post(DECIDE, ASKED).json()["decision"] for _ in range(3)]
    _, shown = token_of(postgres, "feedback")
    several = {"feedback": [{"decision": id, "correct": True} for id in ids]}
    assert worker.post("/v1/feedback:batch", several).status_code == 401
    reply = worker.post("/v1/feedback:batch", several, headers=shown).json()["results"]
    assert [each["status"] for each in reply] == ["learnt"] * 3


def test_a_token_of_another_model_that_is_shown_before_it_is_known(worker: Caller, postgres: str) -> None:
    """Without any token all was allowed; the first one allows less, and the worker learns of it meanwhile."""
    id = worker.post(DECIDE, ASKED).json()["decision"]
    _, other = token_of(postgres, "decide", "feedback", model="other")
    assert worker.post(DECIDE, ASKED, headers=other).status_code == 403
    assert worker.post(f"/v1/decisions/{id}/feedback", {"correct": True}, headers=other).status_code == 404
    _, own = token_of(postgres, "decide", "feedback", model="m")
    assert worker.post(DECIDE, ASKED, headers=own).status_code == 201
    assert worker.post(f"/v1/decisions/{id}/feedback", {"correct": True}, headers=own).status_code == 200


def test_the_end_of_a_token_holds_at_once(worker: Caller, postgres: str) -> None:
    id, shown = token_of(postgres, "decide")
    assert worker.post(DECIDE, ASKED, headers=shown).status_code == 201
    with open_for_change(Database(postgres)) as store:
        auth.revoke(store, id, time.time())
    assert worker.post(DECIDE, ASKED, headers=shown).status_code == 401
    assert decided(worker) == 1


def test_no_question_is_asked_for_it(worker: Caller, postgres: str) -> None:
    token_of(postgres, "admin")
    _, shown = token_of(postgres, "decide", "feedback")
    store = worker.app.state.service.engine.store
    for _ in range(3):
        before = store.round_trips
        id = worker.post(DECIDE, ASKED, headers=shown).json()["decision"]
        between = store.round_trips
        assert worker.post(f"/v1/decisions/{id}/feedback", {"correct": True}, headers=shown).status_code == 200
    assert (between - before, store.round_trips - between) <= (2, 3)
