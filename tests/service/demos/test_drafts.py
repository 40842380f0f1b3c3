"""The drafts demo without a browser: messages, styles, colleagues, and what is learnt of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.asgi import Caller
from service.tokens import Mint
from smidgen.features.style import changed_share, read_style
from smidgen_demos.drafts.colleagues import COLLEAGUES, edited
from smidgen_demos.drafts.letters import CASES, letter
from smidgen_demos.drafts.styles import EVERY, USUAL, drafts, written


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    with Caller(tmp_path) as caller:
        yield caller


def following(call: Caller) -> dict[str, Any]:
    made = call.post("/demo/drafts/next", {})
    assert made.status_code == 201, made.text
    return dict(made.json())


def test_messages_are_whole_and_repeat() -> None:
    for number in range(3 * len(CASES)):
        one = letter(number)
        assert one == letter(number)
        assert "{" not in "".join([*one[:-1], *one.points])
        texts = drafts(one)
        assert texts[0] == written(one, USUAL)
        assert len(set(texts)) == len(texts) == len(EVERY)


@pytest.mark.parametrize("who", COLLEAGUES)
def test_after_a_handful_of_edits_drafts_come_in_the_style_of_a_colleague(call: Caller, who: str) -> None:
    changed = []
    for number in range(12):
        asked = following(call)
        wanted = call.post("/demo/drafts/colleague", {"who": who, "number": asked["number"]}).json()["edited"]
        assert wanted == edited(who, number)
        changed.append(changed_share(read_style(asked["draft"]).tokens, read_style(wanted).tokens))
        reply = call.post(f"/v1/decisions/{asked['decision']}/feedback", {"edited": wanted}).json()
        assert reply["status"] == "learnt"
    assert changed[0] > 0.3
    assert sum(changed[6:]) / 6 < 0.1
    assert 0.0 in changed[6:]
    found = call.get("/demo/drafts/taste").json()
    assert found["learnt"] == 12
    expected = {
        "tara": {"no greeting", "starts with the answer", "no sign-off", "no exclamation marks"},
        "walt": {"emoji", "no hedges"},
        "freya": {"no exclamation marks", "no hedges"},
        "pim": {"bullet points", "no exclamation marks", "starts with the answer"},
    }
    assert expected[who] <= set(found["taste"])
    assert [each["who"] for each in found["colleagues"]] == list(COLLEAGUES)


def test_a_fresh_start_is_another_model(call: Caller) -> None:
    first = following(call)
    assert (first["model"], first["model_version"]) == ("demo-drafts", 0)
    assert call.get("/demo/drafts/taste").json()["taste"] == []
    assert call.post("/demo/drafts/reset", {}).json() == {"model": "demo-drafts-2"}
    assert following(call)["model"] == "demo-drafts-2"
    assert call.get("/v1/models/demo-drafts").json()["archived_at"] is not None


def test_it_is_open_until_there_is_a_token(call: Caller, tmp_path: Path) -> None:
    assert "text/html" in call.get("/demo/drafts").headers["content-type"]
    for name in ("drafts.js", "drafts-diff.js", "drafts.css"):
        assert call.get(f"/demo/drafts/files/{name}").status_code == 200
    assert call.get("/demo/drafts/files/routes.py").status_code == 404
    assert {"title": "Drafts demo", "path": "/demo/drafts"} in call.get("/ui/guests.json").json()
    assert call.post("/demo/drafts/colleague", {"who": "nobody", "number": 1}).status_code == 422
    Mint(tmp_path).create(["admin"], None, 0.0)
    assert call.get("/demo/drafts").status_code == 404
