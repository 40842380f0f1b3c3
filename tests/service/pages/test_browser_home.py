"""The list of models and the narrow screen in a real browser: sorting, long names, names that are markup."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.browser import Visit, served, window

REFUSED = "Failed to load resource"
LONG = "a-name-without-an-end-" * 4 + "and-on"
ENDLESS = "x" * 190
MARKUP = '<img src=x onerror="window.hit=1"><b>bold</b>&amp;%{y}'
#: Everything that sticks out to the right, unless it lies in something that scrolls by itself.
WIDE = """() => [...document.querySelectorAll('body *')]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('pre, .scroll, .chart, .panel'))
    .map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`)"""
#: What a name that is taken for markup would have made.
HIT = """() => [window.hit ?? null, ...[...document.querySelectorAll('img')].map((e) => e.getAttribute('src'))
    .filter((src) => src === 'x'), ...[...document.querySelectorAll('main b, dialog b')].map((e) => e.textContent)
    .filter((text) => text === 'bold')]"""


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Many models, one of them with names that are too long, one with names that are markup."""
    with served(tmp_path_factory.mktemp("home")) as found, httpx.Client(base_url=found, timeout=60) as app:
        for i in range(24):
            loop = "filter" if i % 4 == 0 else "choose"
            app.put(f"/v1/models/m{i:03d}", json={"loop": loop}).raise_for_status()
        for name, text in ((LONG, ENDLESS), ("marked", MARKUP)):
            _play(app, name, text)
        for _ in range(3):
            made = app.post("/v1/models/m001/decisions", json={"candidates": [{"id": "a"}, {"id": "b"}]}).json()
            app.post(f"/v1/decisions/{made['decision']}/feedback", json={"reward": 1.0}).raise_for_status()
        yield found


def _play(app: httpx.Client, name: str, text: str) -> None:
    """A model whose ids, fields, values and keys are this text, and one whose labels are."""
    app.put(f"/v1/models/{name}", json={"loop": "choose", "keyed": True}).raise_for_status()
    labels = [text, text + "2"]
    app.put(f"/v1/models/{name}-l", json={"loop": "label", "labels": labels}).raise_for_status()
    for n in range(12):
        items = [{"id": f"{text}{i}"[:200], "features": {text[:80]: text}} for i in range(2)]
        asked = {"key": text, "context": {"where": text}, "candidates": items}
        made = app.post(f"/v1/models/{name}/decisions", json=asked).json()
        app.post(f"/v1/decisions/{made['decision']}/feedback", json={"reward": n % 2}).raise_for_status()
        made = app.post(f"/v1/models/{name}-l/decisions", json={"features": {"where": text, text[:80]: n}}).json()
        app.post(f"/v1/decisions/{made['decision']}/feedback", json={"correct": n % 3 > 0}).raise_for_status()


@pytest.fixture(scope="module")
def light(browser: Any) -> Any:
    return window(browser)


@pytest.fixture
def visit(light: Any, address: str) -> Visit:
    return Visit(light, address)


def names(page: Any) -> list[str]:
    found: list[str] = page.locator(".name").evaluate_all("all => all.map((each) => each.title)")
    return found


def first(page: Any, name: str) -> None:
    page.wait_for_function("n => document.querySelector('.name')?.title === n", arg=name)


def test_the_list_is_sorted_and_filtered(visit: Visit) -> None:
    page = visit.go("/")
    first(page, "marked-l")
    page.get_by_label("Sort models by").select_option("name")
    first(page, LONG)
    assert names(page)[2:5] == ["m000", "m001", "m002"]
    page.get_by_label("Sort models by").select_option("decisions")
    page.wait_for_function("() => document.querySelectorAll('.name')[4]?.title === 'm001'")
    page.get_by_label("Filter models by loop").select_option("filter")
    first(page, "m000")
    assert names(page) == [f"m{i:03d}" for i in range(0, 24, 4)]
    page.get_by_text("6 of 28").wait_for()
    page.get_by_label("Filter models by name").fill("m02")
    page.wait_for_function("() => document.querySelectorAll('.name').length === 1")
    assert names(page) == ["m020"]
    assert page.evaluate("() => location.hash") == "#q=m02&loop=filter&sort=decisions"
    page.reload()  # the address keeps it
    page.wait_for_function("() => document.querySelectorAll('.name').length === 1")
    assert page.get_by_label("Filter models by loop").input_value() == "filter"
    page.get_by_label("Filter models by name").fill("nothing like it")
    page.get_by_text("No model matches the filters.").wait_for()
    page.get_by_role("button", name="Clear the filters").click()
    page.wait_for_function("() => document.querySelectorAll('.name').length === 28")
    visit.leave()


def test_a_model_that_is_not_there_is_said_to_be_missing(visit: Visit) -> None:
    page = visit.go("/#model=nobody")
    page.get_by_role("heading", name="There is no model nobody").wait_for()
    assert page.evaluate("() => location.hash") == "#model=nobody"
    page.get_by_role("main").get_by_role("link", name="All models").click()
    first(page, "marked-l")
    visit.leave(allowed=REFUSED)


def test_a_model_without_a_decision_says_what_to_do(visit: Visit) -> None:
    page = visit.go("/#model=m002")
    page.get_by_text("No decisions yet. Request one above, or from your app.").wait_for()
    page.get_by_text("No decisions yet.", exact=True).wait_for()
    assert page.locator("#tile-quality").inner_text() == "–"
    visit.leave()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_nothing_is_wider_than_a_phone(scheme: str, browser: Any, address: str) -> None:
    context = window(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    visit = Visit(context, address)
    page = visit.go("/")
    page.locator("main .name").first.wait_for()
    assert page.evaluate(WIDE) == []
    page.get_by_role("button", name="New model").click()
    page.get_by_text("More settings").click()
    for out in ("A ranking", "A label", "Values of knobs"):
        page.get_by_role("radio", name=out).check()
        assert page.evaluate(WIDE) == []
    for name in (LONG, f"{LONG}-l"):
        page = visit.go(f"/#model={name}")
        page.locator("#curve svg").first.wait_for()
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer p").first.wait_for()
        page.locator(".calls-card summary").click()
        assert page.evaluate(WIDE) == []
        page.locator(".recent button").first.click()
        page.locator("dialog .timeline li").first.wait_for()
        assert page.evaluate(WIDE) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Change", exact=True).click()
        page.locator("#edit-window").wait_for()
        assert page.evaluate(WIDE) == []
        page.keyboard.press("Escape")
    visit.go("/docs").locator(".operations section").first.wait_for()
    assert visit.page.evaluate(WIDE) == []
    visit.leave()
    context.close()


def test_names_are_never_markup_in_forms_answers_and_dialogs(visit: Visit) -> None:
    for name in ("marked", "marked-l"):
        page = visit.go(f"/#model={name}")
        page.locator("#curve svg").first.wait_for()
        page.locator(".bars .bar").first.wait_for()
        if name == "marked":
            page.locator("#try-key").fill(MARKUP)
            page.locator("#try-context").fill(json.dumps({"where": MARKUP}))
            page.locator("#try-candidates").fill(json.dumps([{"id": MARKUP, "features": {MARKUP: MARKUP}}]))
        else:
            page.locator("#try-record").fill(json.dumps({"where": MARKUP}))
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer p", has_text=MARKUP).first.wait_for()
        page.locator(".why-list .of", has_text=MARKUP).first.wait_for()
        page.locator(".calls-card summary").click()
        assert MARKUP in page.locator("#call-decide").text_content().replace('\\"', '"')
        page.locator(".recent button", has_text=MARKUP).first.click()
        page.locator("dialog .timeline li", has_text=MARKUP).first.wait_for()
        assert page.evaluate(HIT) == [None]
        page.keyboard.press("Escape")
    page = visit.go("/")
    page.get_by_role("button", name="New model").click()
    page.get_by_role("radio", name="Values of knobs").check()
    page.locator(".knob-name").first.fill(MARKUP)
    page.get_by_role("tab", name="Python").click()
    page.get_by_role("radio", name="A label").check()
    page.get_by_role("textbox", name="Labels").fill(f"{MARKUP}, other")
    assert "<b>bold</b>" in page.locator("#call-create").text_content()
    assert page.evaluate(HIT) == [None]
    visit.leave()


def test_knobs_by_name_and_never_as_markup(visit: Visit) -> None:
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        body = {"loop": "tune", "knobs": {MARKUP: [0, 1], "threads": {"integer": [1, 64]}}}
        app.put("/v1/models/turned", json=body).raise_for_status()
        for n in range(4):
            made = app.post("/v1/models/turned/decisions", json={}).json()
            app.post(f"/v1/decisions/{made['decision']}/feedback", json={"loss": n}).raise_for_status()
    page = visit.go("/#model=turned")
    page.get_by_role("heading", name="Best so far").wait_for()
    page.get_by_role("button", name="Request a decision").click()
    page.locator("#try-answer .own-units").wait_for()
    for place in ("#try-answer .own-units dt", "[aria-labelledby=best-title] dt"):
        assert page.locator(place).all_text_contents() == [MARKUP, "threads"]
    page.locator(".recent button", has_text=MARKUP).first.wait_for()
    page.get_by_text(f"{MARKUP} from 0 to 1").wait_for()
    assert page.evaluate(HIT) == [None]
    visit.leave()


def test_how_far_people_look_is_drawn_with_its_interval(visit: Visit) -> None:
    rng = random.Random(5)
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        app.put("/v1/models/looked", json={"loop": "rank", "features": ["x", "y"]}).raise_for_status()
        page = visit.go("/#model=looked")
        page.get_by_role("heading", name="Position bias").wait_for()  # not known yet, and it says why
        page.locator("#examination").wait_for(state="hidden")
        for _ in range(4):
            bodies = [{"candidates": [{"id": i, "features": [rng.random(), rng.random()]} for i in range(5)]}] * 100
            made = app.post("/v1/models/looked/decisions:batch", json={"decisions": bodies}).json()["decisions"]
            listed = []
            for one in made:
                clicked = [id for place, id in enumerate(one["ranking"], 1) if rng.random() < 0.7 / place]
                if clicked:
                    listed.append({"decision": one["decision"], "clicked": clicked})
            app.post("/v1/feedback:batch", json={"feedback": listed}).raise_for_status()
        curve = app.get("/v1/models/looked").json()["examination"]
    assert curve is not None
    page.locator("#examination .series .dot").first.wait_for()
    assert page.locator("#examination .series .dot").count() == len(curve["places"])
    assert f"at position {curve['places'][-1]}" in page.locator("#examination").get_attribute("aria-label")
    page.locator("#perturbation", has_text="rankings").wait_for()
    visit.leave()
