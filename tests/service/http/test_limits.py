"""The cost of one request is limited: rows, candidates, classes, numbers, multiplications."""

from __future__ import annotations

import asyncio
import base64
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.asgi import Caller, Sent
from smidgen.service.engine import budget as cost
from smidgen.service.engine.blueprint import Blueprint
from smidgen.service.engine.budget import Budget
from smidgen.service.errors import BadRequest, Impossible
from smidgen.service.http import middleware
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import CANDIDATES, LABELS, ROWS, ModelBody
from smidgen.structures import Candidates

RANK = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}}
LABEL = {"loop": "label", "learner": "Confidit", "features": ["a", "b"], "labels": ["yes", "no"]}


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path) as made:
        yield made


def compact(rows: int, dim: int) -> dict[str, Any]:
    content = base64.b64encode(np.zeros((rows, dim), np.float32).tobytes()).decode()
    return {"shape": [rows, dim], "f32": content}


def test_a_compact_batch_has_as_many_rows_as_a_list(caller: Caller) -> None:
    caller.put("/v1/models/mail", LABEL)
    answer = caller.post("/v1/models/mail/decisions:batch", {"features": compact(ROWS + 1, 2)})
    assert answer.status_code == 422
    assert str(ROWS) in answer.text
    assert caller.post("/v1/models/mail/decisions:batch", {"features": compact(50, 2)}).status_code == 201


def test_candidates_are_counted(caller: Caller) -> None:
    caller.put("/v1/models/news", RANK)
    many = [{"id": str(i), "features": [0.0, 1.0]} for i in range(CANDIDATES + 1)]
    assert caller.post("/v1/models/news/decisions", {"candidates": many}).status_code == 422
    packed = {"ids": [str(i) for i in range(CANDIDATES + 1)], "features": compact(CANDIDATES, 2)}
    assert caller.post("/v1/models/news/decisions", {"candidates": packed}).status_code == 422
    assert caller.post("/v1/models/news/decisions", {"candidates": many[:-1]}).status_code == 201


def test_a_candidate_twice_is_found_in_one_pass(caller: Caller) -> None:
    caller.put("/v1/models/news", RANK)
    ids = [f"candidate {i}" for i in range(CANDIDATES - 1)] + ["candidate 9000"]
    asked = {"candidates": {"ids": ids, "features": compact(CANDIDATES, 2)}}
    began = time.process_time()
    answer = caller.post("/v1/models/news/decisions", asked)
    took = time.process_time() - began
    assert answer.status_code == 422
    assert 'have the id "candidate 9000"' in answer.json()["error"]["message"]
    began = time.process_time()
    caller.post("/v1/models/news/decisions", {"candidates": {**asked["candidates"], "ids": [*ids[:-1], "another"]}})
    assert took < 3 * (time.process_time() - began), "it costs no more than a good request"


def test_many_labels_are_taken_and_more_are_refused(caller: Caller) -> None:
    labels = [str(i) for i in range(LABELS)]
    body = {"loop": "label", "learner": "Banditron", "features": ["a", "b"], "labels": labels}
    assert caller.put("/v1/models/many", body).status_code == 201
    made = caller.post("/v1/models/many/decisions", {"features": [0.5, 1.0]})
    assert made.status_code == 201
    unknown = caller.post(f"/v1/decisions/{made.json()['decision']}/feedback", {"label": "none of them"})
    assert unknown.status_code == 422
    assert len(unknown.content) < 1000, "the hint does not list them all"
    assert caller.put("/v1/models/more", {**body, "labels": [*labels, "more"]}).status_code == 422
    numbered = {"loop": "label", "learner": "Banditron", "params": {"dim": 1, "n_classes": 20_000_000}}
    refused = caller.put("/v1/models/most", numbered)
    assert refused.status_code == 422
    assert "n_classes is 20,000,000" in refused.json()["error"]["message"]


def test_names_that_unfold_to_many_numbers_are_refused_before_they_do(caller: Caller) -> None:
    wide = {"loop": "rank", "learner": "PreferencePerceptron", "features": [str(i) for i in range(50_000)]}
    assert caller.put("/v1/models/wide", wide).status_code == 201
    empty = [{"id": str(i), "features": {}} for i in range(CANDIDATES)]
    tracemalloc.start()
    answer = caller.post("/v1/models/wide/decisions", {"candidates": empty})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.status_code == 422
    assert "numbers" in answer.json()["error"]["message"]
    assert peak < 100 << 20


def test_rows_that_unfold_to_many_numbers_together_are_refused(caller: Caller) -> None:
    wide = {"loop": "label", "learner": "Banditron", "features": [str(i) for i in range(50_000)], "labels": ["a", "b"]}
    assert caller.put("/v1/models/wide", wide).status_code == 201
    answer = caller.post("/v1/models/wide/decisions:batch", {"decisions": [{"features": {}}] * 1000})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("decision 200 of the batch: the features hold more than")
    assert caller.get("/v1/models/wide").json()["decisions"] == 0


def spend(budget: Budget, times: int, row: Any) -> None:
    for _ in range(times):
        budget.spend(row)


MATRIX = {"loop": "rank", "learner": "SecondOrderPreferencePerceptron", "params": {"dim": 2000}}
DRAWS = {"loop": "choose", "learner": "DuelingBandit", "features": {"hashed": 1 << 20}}


@pytest.mark.parametrize(("body", "rows"), [(LABEL, ROWS), (MATRIX, 1000), (DRAWS, 4000)])
def test_work_is_judged_by_what_the_learner_does(body: dict[str, Any], rows: int) -> None:
    """Rows up to the limit are fine, and a learner that does more for each has a lower limit."""
    import msgspec

    blueprint = Blueprint(msgspec.convert(body, ModelBody))
    dim = min(blueprint.dim or 0, 2000)
    budget = Budget(blueprint.cost)
    spend(budget, rows, np.zeros(dim))
    if body is not LABEL:
        with pytest.raises(Impossible, match="multiplications"):
            spend(budget, ROWS, np.zeros(1))
    assert budget._work < cost.WORK


def read(content: bytes, kind: Any) -> Any:
    return asyncio.run(middleware.json_body(Sent(content), kind))


def test_a_long_string_is_searched_for_keys_in_one_pass() -> None:
    """Compared with the time of reading, which is linear."""
    import msgspec

    content = b'{"id":"a:b","features":{"shape":[1,1],"f32":"' + b"A" * (8_000_000) + b'"}}'
    began = time.process_time()
    for _ in range(10):
        msgspec.json.decode(content)
    plain = time.process_time() - began
    began = time.process_time()
    assert middleware._count_keys_in_text(content) == 4
    assert time.process_time() - began < max(0.1, 3 * plain)
    with pytest.raises(BadRequest, match="twice"):
        read(content[:-1] + b',"id":"a:b"}', loops.batch)


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (b'{"a":1}', 1),
        (b'{"a" \n\t: 1, "b"\r:": "}', 2),
        (b'["a", ":", "b:"]', 0),
        (rb'{"a\"":1,"b\\":"\\\":","c\\\\\"": 2}', 3),
        (b'""', 0),
        (b"1", 0),
        (b'{"": {"": ""}}', 2),
        (b'["a" ]', 0),
    ],
)
def test_keys_are_counted_exactly(content: bytes, keys: int) -> None:
    assert middleware._count_keys_in_text(content) == keys


def test_a_crowd_of_objects_or_keys_is_refused_before_it_is_read() -> None:
    head = b'{"loop":"rank","learner":"x","params":{"a":['
    with pytest.raises(Impossible, match="objects and arrays"):
        read(head + b"[]," * 600_000 + b"[]]}}", ModelBody)
    names = b",".join(b'"%d":0' % i for i in range(600_000))
    with pytest.raises(Impossible, match="keys"):
        read(b'{"features":{' + names + b"}}", loops.decision)


RECORDS = {"loop": "label", "labels": ["a", "b"]}
OFFERS = {"loop": "choose", "feedback": "reward"}


def strange(rows: int, fields: int, form: str) -> list[dict[str, Any]]:
    """Records that bring names by the thousand: of fields, of categories, of lists, of words."""
    each: dict[str, Callable[[int, int], tuple[str, Any]]] = {
        "fields": lambda i, k: (f"x{i}.{k}", 1.0),
        "categories": lambda i, k: (f"f{k}", f"v{i}"),
        "lists": lambda i, k: (f"f{k}", [f"v{i}"]),
        "objects": lambda i, k: (f"f{k}", {f"x{i}": True}),
        "words": lambda i, k: (f"f{k}", f"{i} {k} " * 4),
    }
    return [dict(each[form](i, k) for k in range(fields)) for i in range(rows)]


@pytest.mark.parametrize("form", ["fields", "categories", "lists", "objects", "words"])
@pytest.mark.parametrize("call", ["decisions:batch", "examples", "decisions"])
def test_names_by_the_thousand_are_refused_before_any_is_made(caller: Caller, form: str, call: str) -> None:
    made = strange(45, 990, form)
    assert caller.put("/v1/models/m", OFFERS if call == "decisions" else RECORDS).status_code == 201
    body: dict[str, Any] = {"candidates": [{"id": k, "features": each} for k, each in enumerate(made)]}
    if call != "decisions":
        more = {"answer": "a"} if call == "examples" else {}
        body = {call.partition(":")[0]: [{"features": each, **more} for each in made]}
    body = body if call != "decisions:batch" else {"decisions": body["decisions"]}
    answer = caller.post(f"/v1/models/m/{call}", body)
    assert answer.status_code == 422
    assert f"the records hold more than {cost.NAMES} names" in answer.json()["error"]["message"]
    assert caller.get("/v1/models/m").json()["decisions"] == 0


def test_the_same_names_again_and_again_are_no_trouble(caller: Caller) -> None:
    assert caller.put("/v1/models/m", RECORDS).status_code == 201
    same = [{"features": each} for each in strange(1, 500, "fields") * 400]
    assert caller.post("/v1/models/m/decisions:batch", {"decisions": same}).status_code == 201


def test_crosses_are_names_too() -> None:
    import msgspec

    context = {f"c{k}": "x" for k in range(10)}
    few, many = ({str(k): {} for k in range(n)} for n in (1000, 5000))
    crossed = Blueprint(msgspec.convert(OFFERS, ModelBody)).cost
    Budget(crossed).spend(Candidates(few, context=context))
    with pytest.raises(Impossible, match="names"):
        Budget(crossed).spend(Candidates(many, context=context))
    apart = Blueprint(msgspec.convert({**OFFERS, "features": {"auto": {"crosses": []}}}, ModelBody)).cost
    Budget(apart).spend(Candidates(many, context=context))
