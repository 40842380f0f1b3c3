"""The forms in a real browser: a new model and its calls, records tried by hand, change and archive."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.browser import Visit, served, window

REFUSED = "Failed to load resource"


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("forms")) as found:
        httpx.put(f"{found}/v1/models/first", json={"loop": "choose"}, timeout=60).raise_for_status()
        yield found


@pytest.fixture(scope="module")
def light(browser: Any) -> Any:
    return window(browser)


@pytest.fixture
def visit(light: Any, address: str) -> Visit:
    return Visit(light, address)


def new_model(visit: Visit, name: str, out: str, back: str) -> Any:
    page = visit.go("/")
    page.reload()
    page.get_by_role("button", name="New model").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("radio", name=out).check()
    page.get_by_role("radio", name=back).check()
    return page


def calls(page: Any) -> dict[str, str]:
    return {step: page.locator(f"#call-{step}").text_content() for step in ("create", "decide", "feedback")}


def sent(command: str) -> Any:
    """Run what the page shows in a shell, as somebody would who has copied it."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert "error" not in found, found
    return found


KINDS = [
    ("news", "A ranking", "Clicks", "topic"),
    ("offers", "One item", "A reward", "topic"),
    ("mail", "A label", "The correct label", "topic"),
    ("alerts", "Forward or drop", "Relevance", "topic"),
    ("speed", "Values of knobs", "A loss", ""),
    ("letters", "A text", "The edited text", ""),
]


@pytest.mark.parametrize(("name", "out", "back", "field"), KINDS)
def test_the_calls_shown_are_calls_that_work(name: str, out: str, back: str, field: str, visit: Visit) -> None:
    """All three, with curl in a shell and with the client in Python, before the button makes the same model."""
    page = new_model(visit, name, out, back)
    if field:
        page.locator("#new-item").fill(json.dumps({field: "it's <b>art</b>", "price": 12.5, "vip": True, "note": None}))
    if out == "A label":
        page.get_by_role("textbox", name="Labels").fill("spam, work")
    shown = calls(page)
    made = sent(shown["create"])
    assert (made["name"], made["model_version"]) == (name, 0)
    answer = sent(shown["decide"])
    assert sent(shown["feedback"].replace("DECISION", answer["decision"]))["status"] == "learnt"
    page.get_by_role("tab", name="Python").click()
    shown = calls(page)
    fields: dict[str, Any] = {}
    exec("\n".join(shown[step] for step in ("create", "decide", "feedback")), fields)
    assert httpx.get(f"{visit.address}/v1/models/{name}").json()["model_version"] == 2
    fields["client"].close()
    page.get_by_role("button", name="Create model").click()  # the same body again is no other model
    page.locator("h1", has_text=re.compile(f"^{name}$")).wait_for()
    visit.leave()


def test_calls_follow_what_is_typed_and_can_be_copied(browser: Any, address: str) -> None:
    context = window(browser, permissions=["clipboard-read", "clipboard-write"])
    visit = Visit(context, address)
    page = new_model(visit, "typed", "A label", "Correct or incorrect")
    page.get_by_role("textbox", name="Labels").fill("ham\nspam, eggs")
    page.get_by_text("More settings").click()
    page.get_by_label("One learner per user").check()
    page.get_by_label("Feedback window").fill("2")
    page.get_by_label("Unit of the window").select_option("days")
    page.get_by_label("Text fields").fill("title")
    body = json.loads(re.search(r"-d '(.*)'", calls(page)["create"], re.DOTALL)[1])
    assert body == {
        "loop": "label",
        "feedback": "bit",
        "features": {"auto": {"text": ["title"]}},
        "labels": ["ham", "spam", "eggs"],
        "window_s": 172800,
        "keyed": True,
    }
    assert '"key": "ann"' in calls(page)["decide"]
    page.get_by_role("button", name="Copy: Create the model once").click()
    page.wait_for_function("() => document.querySelector('#announce').textContent === 'Copied'")
    assert page.evaluate("() => navigator.clipboard.readText()") == calls(page)["create"]
    page.get_by_role("tab", name="curl").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.textContent") == "Python"
    assert 'labels=["ham", "spam", "eggs"]' in calls(page)["create"]
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.textContent") == "TypeScript"
    assert calls(page)["create"].startswith('import { Client } from "smidgen-client";')
    assert calls(page)["feedback"] == 'await model.learn(d, {"correct": true});'
    visit.leave()
    context.close()


def test_shards_are_asked_for_where_users_have_learners_of_their_own(visit: Visit) -> None:
    page = new_model(visit, "spread", "One item", "A reward")
    page.get_by_text("More settings").click()
    shards = page.get_by_label("Shards")
    assert not shards.is_visible()
    page.get_by_label("One learner per user").check()
    assert "shards" not in calls(page)["create"]
    shards.fill("65")
    page.get_by_role("button", name="Create model").click()
    page.locator("#new-shards-wrong", has_text="64").wait_for()
    shards.fill("3")
    assert '"shards": 3' in calls(page)["create"]
    page.get_by_label("One learner per user").uncheck()
    assert not shards.is_visible()
    assert "shards" not in calls(page)["create"]
    page.get_by_label("One learner per user").check()
    page.get_by_role("tab", name="Python").click()
    assert "shards=3" in calls(page)["create"]
    page.get_by_role("button", name="Create model").click()
    page.locator("h1", has_text=re.compile("^spread$")).wait_for()
    assert httpx.get(f"{visit.address}/v1/models/spread").json()["shards"] == 3
    visit.leave(allowed=REFUSED)


def test_knobs_have_names_limits_and_units_of_their_own(visit: Visit) -> None:
    page = new_model(visit, "pool", "Values of knobs", "A loss")
    page.get_by_role("button", name="Add knob").click()
    make = page.get_by_role("button", name="Create model")
    make.click()
    page.locator("#new-knobs-wrong", has_text="Every knob needs a name.").wait_for()
    page.get_by_label("Name of knob 3").fill("ratio")
    page.get_by_label("Minimum of knob 3").fill("2")
    make.click()
    page.locator("#new-knobs-wrong", has_text="The limits of ratio are 2 and 1").wait_for()
    page.get_by_label("Minimum of knob 3").fill("0")
    page.get_by_label("Minimum of knob 1").fill("-1")  # a number by factors is above 0: the service says so
    make.click()
    page.locator("#new-knobs-wrong", has_text="timeout").wait_for()
    page.get_by_label("Minimum of knob 1").fill("0.01")
    make.click()
    page.locator("h1", has_text="pool").wait_for()
    reply = httpx.get(f"{visit.address}/v1/models/pool").json()
    assert reply["knobs"] == {"timeout": {"log": [0.01, 10]}, "threads": {"integer": [1, 64]}, "ratio": [0, 1]}
    for n in range(1, 4):
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer .own-units").wait_for()
        assert page.locator("#try-answer .own-units dt").all_text_contents() == ["timeout", "threads", "ratio"]
        page.get_by_label("The loss at the point").fill(str(n))
        page.get_by_role("button", name="Send feedback").click()
        page.locator("#try-said", has_text=f"version {n}.").wait_for()
    page.get_by_role("heading", name="Best so far").wait_for()
    page.get_by_text("timeout from 0.01 to 10 (log)").wait_for()
    visit.leave(allowed=REFUSED)


def test_records_are_tried_and_explained_by_name(visit: Visit) -> None:
    page = new_model(visit, "tried", "One item", "A reward")
    page.get_by_label("Example record of one candidate").fill('{"topic": "art", "length": 3}')
    page.get_by_label("Example record of the context").fill('{"device": "tv"}')
    page.get_by_role("button", name="Create model").click()
    page.locator("h1", has_text="tried").wait_for()
    assert json.loads(page.get_by_label("Context: shared by all candidates").input_value()) == {"device": "tv"}
    first = json.loads(page.get_by_role("textbox", name="Candidates", exact=True).input_value())[0]
    assert first == {"id": "a", "features": {"topic": "art", "length": 3}}
    page.get_by_role("textbox", name="Candidates", exact=True).fill(
        '[{"id": 7, "features": {"topic": "art"}}, {"id": "x"}]'
    )
    for n in range(1, 4):
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer", has_text="What was the reward?").wait_for()
        page.get_by_role("button", name="Success (reward 1)").click()
        page.locator("#try-said", has_text=f"version {n}. It was at version {n - 1}.").wait_for()
    why = page.locator(".why-list .of").all_text_contents()
    assert {"(constant)", "context.device=tv"} <= set(why)
    page.get_by_role("button", name="Request a decision").click()
    page.get_by_label("Or any reward from 0 to 1").fill("3")
    page.get_by_role("button", name="Send feedback").click()
    page.locator(".wrong", has_text="Reward is 3").wait_for()
    page.get_by_role("textbox", name="Candidates", exact=True).fill('[{"id": 7, "features": {"topic": [1]}}]')
    page.get_by_role("button", name="Request a decision").click()
    page.locator("#try-candidates-wrong", has_text="topic").wait_for()
    page.get_by_role("textbox", name="Candidates", exact=True).fill("[{")
    page.get_by_role("button", name="Request a decision").click()
    page.locator("#try-candidates-wrong", has_text="Not valid JSON").wait_for()
    visit.leave(allowed=REFUSED)


def test_a_guess_has_the_fields_that_the_app_sends(visit: Visit) -> None:
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        app.put("/v1/models/known", json={"loop": "label", "labels": ["x", "y"]}).raise_for_status()
        for country in ("se", "de"):
            asked = {"features": {"country": country, "age": 31, "device": {"os": "ios"}}}
            made = app.post("/v1/models/known/decisions", json=asked).json()
            app.post(f"/v1/decisions/{made['decision']}/feedback", json={"correct": True}).raise_for_status()
    page = visit.go("/#model=known")
    page.wait_for_function("() => document.querySelector('#try-record')?.value.includes('country')")
    guess = json.loads(page.locator("#try-record").input_value())
    assert guess["country"] == "se"
    assert guess["device"] == {"os": "ios"}
    assert isinstance(guess["age"], float | int)
    page.get_by_role("button", name="Request a decision").click()
    page.get_by_role("button", name="Wrong").click()
    page.locator("#try-said", has_text="version 3").wait_for()
    visit.leave()


def test_change_and_archive_ask_before_they_do(visit: Visit) -> None:
    body = {"loop": "label", "feedback": "reward", "labels": ["x", "y"], "default_reward": 0.0}
    httpx.put(f"{visit.address}/v1/models/living", json=body, timeout=60).raise_for_status()
    page = visit.go("/#model=living")
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name="Change living")
    dialog.get_by_role("button", name="Review changes").click()
    dialog.get_by_text("No changes yet.").wait_for()
    dialog.get_by_label("Feedback window").fill("1800")
    dialog.get_by_label("New labels").fill("<i>z</i>, x")
    dialog.get_by_label("Reward for missing feedback").fill("7")
    dialog.get_by_role("button", name="Review changes").click()
    dialog.get_by_text("missing feedback counts as a reward of 7").wait_for()
    dialog.get_by_text("new labels: <i>z</i>, x").wait_for()
    dialog.get_by_role("button", name="Apply changes").click()
    page.locator("#edit-silence-wrong", has_text="from 0 (worst) to 1 (best)").wait_for()
    assert httpx.get(f"{visit.address}/v1/models/living").json()["labels"] == ["x", "y"]
    dialog.get_by_label("Reward for missing feedback").fill("")
    dialog.get_by_label("New text fields").fill("title")
    dialog.get_by_role("button", name="Review changes").click()
    dialog.get_by_text("missing feedback is ignored.", exact=True).wait_for()
    dialog.get_by_role("button", name="Apply changes").click()
    dialog.wait_for(state="detached")
    page.get_by_text("30 min", exact=True).wait_for()
    reply = httpx.get(f"{visit.address}/v1/models/living").json()
    assert (reply["labels"], reply["default_reward"], reply["window_s"]) == (["x", "y", "<i>z</i>"], None, 1800.0)
    assert reply["features"]["auto"]["text"] == ["title"]
    page.get_by_role("button", name="Archive", exact=True).click()
    ask = page.get_by_role("dialog", name="Archive living?")
    assert "makes no more decisions" in ask.inner_text()
    ask.get_by_role("button", name="Cancel").click()
    ask.wait_for(state="detached")
    assert httpx.get(f"{visit.address}/v1/models/living").json()["archived_at"] is None
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("button", name="Archive model").click()
    page.locator(".chip", has_text=re.compile("^archived$")).wait_for()
    assert page.locator("#try-ask, #edit-model, #archive-model").count() == 0
    assert httpx.get(f"{visit.address}/v1/models/living").json()["archived_at"] is not None
    page.get_by_role("button", name="Restore", exact=True).click()
    page.get_by_role("button", name="Restore model").click()
    page.locator("#try-ask").wait_for()
    assert httpx.get(f"{visit.address}/v1/models/living").json()["archived_at"] is None
    visit.leave(allowed=REFUSED)
