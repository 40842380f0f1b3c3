"""Error messages over HTTP: each names the path and the value in JSON terms, and a fix with the nearest valid name."""

from __future__ import annotations

from typing import Any

import pytest

from service.asgi import Caller

MODEL = {"loop": "choose", "feedback": "reward"}
CHOICE = {"candidates": [{"id": "red", "features": {"price": 1}}, {"id": "blue", "features": {"price": 2}}]}
LABEL = {"loop": "label", "labels": ["spam", "work"]}

#: What is sent (method, path, body), its status, and parts of the message and of the hint.
CASES: dict[str, tuple[str, str, Any, int, tuple[str, ...], tuple[str, ...]]] = {
    "unknown field": (
        "POST",
        "/v1/models/banner/decisions",
        {"candidate": []},
        422,
        ('unknown field "candidate"',),
        ('did you mean "candidates"?',),
    ),
    "name of another product": (
        "POST",
        "/v1/models/banner/decisions",
        {"actions": []},
        422,
        ('unknown field "actions"',),
        ('did you mean "candidates"?',),
    ),
    "the only entry of an object": (
        "POST",
        "/v1/models/banner/decisions",
        {"candidates": [{"id": "a", "costs": {"usd": -1}}]},
        422,
        ("candidates[0].costs.usd is -1",),
        (),
    ),
    "a name in place of an object with an id": (
        "POST",
        "/v1/models/banner/decisions",
        {"candidates": ["red"]},
        422,
        ('candidates[0] is "red"',),
        ('send an object, e.g. {"id": "red"}',),
    ),
    "unknown field inside": (
        "POST",
        "/v1/models/banner/decisions",
        {"candidates": [{"id": "a", "feature": {}}]},
        422,
        ('unknown field "candidates[0].feature"',),
        ('did you mean "features"?',),
    ),
    "a setting that is fixed": (
        "PATCH",
        "/v1/models/banner",
        {"keyed": True},
        422,
        ('"keyed" cannot be changed',),
        ("create another model",),
    ),
    "no method like it": ("GET", "/v1/models/banner/decisions", None, 405, ("GET is not allowed",), ("use POST; see",)),
    "wrong type": ("POST", "/v1/models/banner/decisions", {"key": True}, 422, ("key is true",), ("send a string",)),
    "null": ("PUT", "/v1/models/x", {"loop": None}, 422, ("loop is null",), ("send a string",)),
    "object": ("PUT", "/v1/models/x", {"loop": {"a": 1}}, 422, ("loop is an object with 1 field",), ("a string",)),
    "missing field": ("PUT", "/v1/models/x", {}, 422, ("loop is missing",), ("add it",)),
    "not JSON": (
        "PUT",
        "/v1/models/x",
        b'{"loop": "choose",}',
        400,
        ("not valid JSON (byte 18", "trailing comma"),
        ("fix",),
    ),
    "not complete": (
        "PUT",
        "/v1/models/x",
        b'{"loop": ',
        400,
        ("not valid JSON", "ends too early"),
        ("fix the syntax",),
    ),
    "unknown loop": ("PUT", "/v1/models/x", {"loop": "chose"}, 422, ('loop "chose"',), ('did you mean "choose"?',)),
    "unknown learner": (
        "PUT",
        "/v1/models/x",
        {**MODEL, "learner": "LinUBC"},
        422,
        ('learner is "LinUBC"',),
        ('did you mean "LinUCB"?',),
    ),
    "unknown param": (
        "PUT",
        "/v1/models/x",
        {**MODEL, "learner": "LinUCB", "params": {"withd": 1}},
        422,
        ('"params.withd"', "LinUCB"),
        ('did you mean "width"?',),
    ),
    "unknown feedback": (
        "PUT",
        "/v1/models/x",
        {"loop": "choose", "feedback": "rewards"},
        422,
        ('feedback is "rewards"', "choose"),
        ('did you mean "reward"?',),
    ),
    "no knobs": (
        "PUT",
        "/v1/models/x",
        {"loop": "tune"},
        422,
        ("no knobs given",),
        ('{"timeout": {"log": [0.01, 10]}}',),
    ),
    "duplicate label": (
        "PUT",
        "/v1/models/x",
        {"loop": "label", "labels": ["a", "a"]},
        422,
        ('labels holds "a" twice',),
        ("remove",),
    ),
    "value of a record": (
        "POST",
        "/v1/models/banner/decisions",
        {"candidates": [{"id": "a", "features": {"tags": [True]}}]},
        422,
        ("candidates[0].features.tags[0] is true",),
        ("strings",),
    ),
    "unknown model": ("GET", "/v1/models/baner", None, 404, ('no model "baner"',), ("PUT /v1/models/baner",)),
    "unknown feedback field": (
        "POST",
        "/v1/decisions/DECISION/feedback",
        {"rewrd": 1},
        422,
        ('unknown field "rewrd"',),
        ('did you mean "reward"?',),
    ),
    "reward out of range": (
        "POST",
        "/v1/decisions/DECISION/feedback",
        {"reward": 3},
        422,
        ("reward is 3",),
        ("from 0 (worst) to 1 (best)",),
    ),
    "query": ("GET", "/ui/models/banner/recent.json?before=x", None, 400, ('before is "x"',), ("whole numbers",)),
    "unknown order": ("GET", "/ui/models.json?sort=nam", None, 400, ('sort is "nam"',), ('did you mean "name"?',)),
}


def test_unknown_labels_and_candidates(call: Caller) -> None:
    call.put("/v1/models/mail", {**LABEL, "feedback": "label"})
    made = call.post("/v1/models/mail/decisions", {"features": {"a": 1}}).json()["decision"]
    error = call.post(f"/v1/decisions/{made}/feedback", {"label": "spma"}).json()["error"]
    assert '"spma"' in error["message"]
    assert 'did you mean "spam"?' in error["hint"]
    call.put("/v1/models/pick", {"loop": "choose", "feedback": "better"})
    made = call.post("/v1/models/pick/decisions", CHOICE).json()["decision"]
    error = call.post(f"/v1/decisions/{made}/feedback", {"better": "bleu"}).json()["error"]
    assert 'better names "bleu"' in error["message"]
    assert 'did you mean "blue"?' in error["hint"]


@pytest.mark.parametrize("case", CASES)
def test_errors_name_path_value_and_fix(case: str, call: Caller) -> None:
    method, path, body, status, problem, fix = CASES[case]
    call.put("/v1/models/banner", MODEL)
    if "DECISION" in path:
        path = path.replace("DECISION", call.post("/v1/models/banner/decisions", CHOICE).json()["decision"])
    json = {"content-type": "application/json"}
    sent = {"content": body, "headers": json} if isinstance(body, bytes) else {"json": body} if body is not None else {}
    reply = call(method, path, **sent)
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert all(part in error["message"] for part in problem), error
    assert all(part in error["hint"] for part in fix), error
