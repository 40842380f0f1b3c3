"""No request keeps the service from saying that it is alive: the worst bodies that we know, at a running service."""

from __future__ import annotations

import asyncio
import base64
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from service.asgi import Caller
from service.heartbeat import Pulse
from service.live import Live
from smidgen.service.errors import StorageFailed

MB = 1 << 20
RANK = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}}
MAIL = {"loop": "label", "learner": "Banditron", "features": {"hashed": 1 << 16}, "labels": ["a", "b", "c"]}
WIDE = {"loop": "label", "learner": "Confidit", "params": {"dim": 300}, "labels": [str(i) for i in range(20_000)]}
SECOND = {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 2000}}
MODELS: dict[str, Any] = {"rank": RANK, "mail": MAIL, "wide": WIDE, "second": SECOND}


def compact(rows: int, dim: int) -> str:
    numbers = np.random.default_rng(0).normal(size=(rows, dim)).astype("<f4")
    return f'{{"shape":[{rows},{dim}],"f32":"{base64.b64encode(numbers.tobytes()).decode()}"}}'


def ids(count: int, last: str) -> str:
    return "[" + ",".join(f'"{i:0100d}"' for i in range(count - 1)) + f',"{last}"]'


def worst() -> Iterator[tuple[str, str, str]]:
    """Calls of at most 8 MB: method, path, body."""
    decide, batch = "/v1/models/{}/decisions", "/v1/models/{}/decisions:batch"
    empties = 8 * MB // 3 - 100
    head = '{"loop":"rank","learner":"PreferencePerceptron","params":{"dim":['
    yield "PUT", "/v1/models/lists", head + "[]," * empties + "[]]}}"
    yield "PUT", "/v1/models/some-lists", head + "[]," * 400_000 + "[]]}}"
    yield "PUT", "/v1/models/objects", head + "{}," * 400_000 + "{}]}}"
    yield "PUT", "/v1/models/strings", head + '":",' * (2 * MB - 100) + '""]}}'
    yield "PUT", "/v1/models/deep", '{"loop":' + "[" * (4 * MB) + "]" * (4 * MB - 10) + "}"
    yield "PUT", "/v1/models/classes", '{"loop":"label","learner":"Banditron","params":{"dim":1,"n_classes":20000000}}'
    yield "PUT", "/v1/models/huge", '{"loop":"rank","learner":"SecondOrderPreferencePerceptron","params":{"dim":90000}}'
    yield "PUT", "/v1/models/big", '{"loop":"label","learner":"Confidit","params":{"dim":80,"n_classes":100000}}'
    yield "POST", decide.format("rank"), '{"candidates":[' + '{"id":"a","features":[1,2]},' * 290_000 + "1]}"
    yield (
        "POST",
        decide.format("rank"),
        f'{{"candidates":{{"ids":{ids(10_000, "0" * 99 + "7")},"features":{compact(10_000, 2)}}}}}',
    )
    yield (
        "POST",
        decide.format("rank"),
        f'{{"candidates":{{"ids":{ids(10_000, "z")},"features":{compact(10_000, 2)}}}}}',
    )
    yield "POST", decide.format("mail"), '{"features":{' + ",".join(f'"{i}":1' for i in range(480_000)) + "}}"
    yield "POST", batch.format("mail"), '{"decisions":[' + '{"features":{"a":1}},' * 9_999 + '{"features":{}}]}'
    yield "POST", batch.format("mail"), f'{{"id":"a:b","features":{compact(20, 1 << 16)}}}'
    yield "POST", batch.format("wide"), f'{{"id":"a:b","features":{compact(5_000, 300)}}}'
    yield "POST", batch.format("wide"), f'{{"features":{compact(200, 300)}}}'
    yield "POST", decide.format("second"), f'{{"candidates":{{"ids":{ids(600, "z")},"features":{compact(600, 2000)}}}}}'
    yield "POST", "/v1/decisions/0123456789abcdef01234567/feedback", '{"clicked":[' + '"a",' * (2 * MB - 10) + '"b"]}'
    yield "POST", decide.format("rank"), " " * (8 * MB - 10) + "{}"
    yield "POST", decide.format("rank"), '"' + "\\" * (8 * MB - 10) + '"'
    yield "POST", decide.format("rank"), "1" * (8 * MB - 10)
    yield "GET", "/v1/models/mail/log", ""
    yield "GET", "/v1/models", ""
    yield "GET", "/ui/models.json", ""


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)])
def test_the_worst_requests_do_not_silence_it(tmp_path: Path, step: int) -> None:
    """Every second of them by day, all by night."""
    with Live(tmp_path) as live:
        port = int(live.url.rstrip("/").rpartition(":")[2])
        with httpx.Client(base_url=live.url, timeout=120) as client:
            for name, body in MODELS.items():
                assert client.put(f"/v1/models/{name}", json=body).status_code == 201
            bad = {}
            for method, path, body in itertools.islice(worst(), 0, None, step):
                assert len(body) <= 8 * MB
                with Pulse(port, live.process.pid) as pulse:
                    answer = client.request(method, path, content=body, headers={"content-type": "application/json"})
                assert answer.status_code < 500, answer.text[:300]
                if not pulse.steady:
                    bad[f"{method} {path} {body[:40]}"] = repr(pulse)
            assert bad == {}
            assert client.get("/readyz").status_code == 200


def test_commands_run_outside_the_event_loop(tmp_path: Path) -> None:
    """While one takes its time, everything that only looks is answered."""
    with Caller(tmp_path) as caller:
        caller.put("/v1/models/rank", RANK)
        here = caller.app.state.service
        going, begun = threading.Event(), threading.Event()

        def long() -> str:
            begun.set()
            going.wait(60)
            return threading.current_thread().name

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: caller._run(here.writer.run(long)))
            assert begun.wait(60)
            paths = ("/healthz", "/readyz", "/v1/models", "/v1/models/rank", "/v1/models/rank/log", "/metrics")
            for path in (*paths, "/ui/models.json", "/ui/models/rank/curve.json", "/ui/models/rank/recent.json"):
                assert caller.get(path).status_code == 200, path
            assert not waiting.done()
            going.set()
            assert waiting.result(60) == "smidgen engine"


def test_it_is_ready_when_a_decision_can_be_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(tmp_path) as caller:
        here = caller.app.state.service
        store = here.engine.store
        assert caller.get("/readyz").status_code == 200
        here.writer.last_commit_at -= 61

        def full() -> None:
            raise StorageFailed("a write to the disk failed: it is full", "free some space")

        with monkeypatch.context() as broken:
            broken.setattr(store, "commit", full)
            answer = caller.get("/readyz")
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert caller.get("/healthz").status_code == 200
            assert caller.get("/readyz").status_code == 503
        assert caller.get("/readyz").status_code == 200, "it comes back by itself"
        before = here.writer.commits
        assert caller.get("/readyz").status_code == 200
        assert here.writer.commits == before, "what was proved within five seconds is believed"


def test_a_busy_writer_is_believed_by_what_it_last_showed(tmp_path: Path) -> None:
    with Caller(tmp_path) as caller:
        here = caller.app.state.service
        going, begun = threading.Event(), threading.Event()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: caller._run(here.writer.run(lambda: (begun.set(), going.wait(60)))))
            assert begun.wait(60)
            here.writer.last_commit_at -= 10
            assert caller.get("/readyz").status_code == 200
            here.writer.healthy = False
            assert caller.get("/readyz").status_code == 503
            going.set()
            waiting.result(60)


def test_who_gives_up_does_not_stop_the_others(tmp_path: Path) -> None:
    with Caller(tmp_path) as caller:
        caller.put("/v1/models/rank", RANK)
        here = caller.app.state.service

        async def some() -> list[Any]:
            gone = asyncio.ensure_future(here.writer.run(lambda: time.sleep(0.2)))
            stays = asyncio.ensure_future(here.writer.run(lambda: "done"))
            await asyncio.sleep(0.05)
            gone.cancel()
            return await asyncio.gather(gone, stays, return_exceptions=True)

        cancelled, done = caller._run(some())
        assert isinstance(cancelled, asyncio.CancelledError)
        assert done == "done"
