"""A key that stands twice is refused, a body without one never: by a count that is exact whatever the body holds."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.asgi import Sent
from smidgen.service.errors import BadRequest
from smidgen.service.http import middleware
from smidgen.service.integrations.personalizer import RankBody
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import ModelBody


def read(content: str, type: type) -> Any:
    return asyncio.run(middleware.json_body(Sent(content.encode()), type))


def twice(content: str) -> bool:
    """The slow and plain way to see a key twice."""
    found = False

    def pairs(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found |= len({name for name, _ in fields}) < len(fields)
        return dict(fields)

    json.loads(content, object_pairs_hook=pairs)
    return found


TWICE = [
    (loops.decision, '{"top": 3, "top": 3, "candidates": [{"id": "a", "features": [1]}]}'),
    (loops.decision, '{"top": 3, "top": null, "candidates": [{"id": "a", "features": [1]}]}'),
    (loops.decision, '{"id": null, "id": null}'),
    (loops.decision, '{"candidates": [{"id": "a", "id": "b", "features": [1]}]}'),
    (loops.decision, '{"candidates": [{"id": "a", "\\u0069d": "b", "features": [1]}]}'),
    (loops.decision, '{"candidates": [{"id": "a", "features": {"x": 1, "x": 1}}]}'),
    (loops.decision, '{"candidates": [{"id": "a", "features": {"x:y": 1, "x\\u003ay": 1}}]}'),
    (loops.decision, '{"features": {"a": 1}, "features": {"b": 1}}'),
    (loops.batch, '{"decisions": [{"features": [1]}, {"features": [1], "key": "a", "key": "b"}]}'),
    (loops.feedback, '{"clicked": ["a"], "clicked": ["a"]}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {"a": [{"b": 1, "b": 2}]}}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {}, "params": {"dim": 3}}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {"dim": 3}, "params": {}}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "keyed": false, "keyed": true}'),
    (ModelBody, '{"loop": "rank", "challenger_of": {"model": "a", "model": "a"}}'),  # its share says its default
    (RankBody, '{"actions": [{"id": "a", "id": "a"}]}'),  # such bodies would be written with their defaults
    (RankBody, '{"eventId": "e", "eventId": "e", "actions": [{"id": "a"}], "strange": 1}'),
]
ONCE = [
    (loops.decision, '{"id": null, "key": null, "top": null, "candidates": [{"id": "a:b", "features": [1]}]}'),
    (loops.decision, '{"candidates": [{"id": "\\"id\\": ", "features": {":": 1, "a:": 2, "\\\\": 3}}]}'),
    (loops.decision, '{"candidates": [{"id": "x", "features": {"id": 1, "features": 2}}]}'),
    (loops.decision, "{}"),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {}, "window_s": 86400, "keyed": false, "labels": null}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {"a": [1, {"b": [[{"b": 1}], {}]}]}}'),
    (ModelBody, '{"loop": "rank", "learner": "P", "params": {"a": [{"b": 1}, 1, null, "x", [{"b": 1}, 2.5]]}}'),
    (loops.feedback, '{"better": "a:b"}'),
]


@pytest.mark.parametrize(("type", "content"), TWICE)
def test_a_key_that_stands_twice_is_refused(type: type, content: str) -> None:
    assert twice(content)
    with pytest.raises(BadRequest, match="twice"):
        read(content, type)


@pytest.mark.parametrize(("type", "content"), ONCE)
def test_a_body_without_one_is_read(type: type, content: str) -> None:
    assert not twice(content)
    assert isinstance(read(content, type), type)


names = st.sampled_from(["a", "b", ":", 'a":', "\\", "é", "\\u0061"])
numbers = st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6))


def written(fields: list[tuple[str, str]]) -> str:
    """An object with these fields as they come, twice or not; half of the names are spelt with escapes."""
    spelt = [json.dumps(name, ensure_ascii=place % 2 == 0) for place, (name, _) in enumerate(fields)]
    return "{" + ",".join(f"{name} : {value}" for name, (_, value) in zip(spelt, fields, strict=True)) + "}"


features = st.one_of(
    st.lists(numbers, max_size=4).map(json.dumps),
    st.lists(st.tuples(names, numbers.map(json.dumps)), max_size=4).map(written),
)
candidates = st.tuples(names.map(json.dumps), features).map(
    lambda pair: written([("id", pair[0]), ("features", pair[1])])
)
fields = st.one_of(
    st.tuples(st.just("top"), st.sampled_from(["null", "1", "2"])),
    st.tuples(st.sampled_from(["id", "key"]), st.one_of(st.just("null"), names.map(json.dumps))),
    st.tuples(st.just("features"), st.one_of(st.just("null"), features)),
    st.tuples(
        st.just("candidates"), st.lists(candidates, min_size=1, max_size=3).map(lambda given: f"[{','.join(given)}]")
    ),
)


@given(st.lists(fields, max_size=5).map(written))
def test_the_count_agrees_with_the_plain_way(content: str) -> None:
    if twice(content):
        with pytest.raises(BadRequest, match="twice"):
            read(content, loops.decision)
    else:
        assert isinstance(read(content, loops.decision), loops.decision)


def test_a_body_of_numbers_is_not_read_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second reading costs more than all the rest of a large request."""

    def never(*_: object) -> None:
        raise AssertionError("it was read again")

    content = json.dumps({"candidates": [{"id": f"d{i}", "features": [0.5] * 9} for i in range(9)], "top": 5})
    monkeypatch.setattr(middleware.msgspec.json, "decode", never)
    assert len(read(content, loops.decision).candidates) == 9
    assert len(read(content.replace("d1", "doc:1"), loops.decision).candidates) == 9


@pytest.mark.parametrize("depth", [600, 700, 800, 900, 1100, 5000])
def test_deep_nesting_is_a_refusal_at_every_depth(depth: int) -> None:
    """Some depths the parser takes, and counting does not."""
    content = '{"loop": "rank", "learner": "P", "params": {"a:": ' + '{"b": ' * depth + "1" + "}" * depth + "}}"
    with pytest.raises(BadRequest, match=r"deep|JSON"):
        read(content, ModelBody)
