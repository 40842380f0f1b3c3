"""The dashboard in a real browser: what a person sees, by mouse and by keyboard."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.bodies import MODELS, decision_body, reaction
from service.browser import Visit, served, window
from service.sample_plugins import plugin_loop
from service.tokens import Mint

REFUSED = "Failed to load resource"


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One service for all tests that can share it: each has models of its own."""
    with served(tmp_path_factory.mktemp("shared")) as found:
        yield found


@pytest.fixture(scope="module")
def light(browser: Any) -> Any:
    return window(browser)


@pytest.fixture(scope="module")
def dark(browser: Any) -> Any:
    return window(browser, color_scheme="dark")


@pytest.fixture
def visit(light: Any, address: str) -> Visit:
    return Visit(light, address)


def play(address: str, name: str, rounds: int, called: str | None = None) -> str:
    """Act as an app on a model with the settings of that name; return the name of the model."""
    rng, called = random.Random(1), called or name
    with httpx.Client(base_url=address) as app:
        app.put(f"/v1/models/{called}", json=MODELS[name]).raise_for_status()
        for _ in range(rounds):
            reply = app.post(f"/v1/models/{called}/decisions", json=decision_body(name, rng)).json()
            given = reaction(name, reply, rng)
            if given is not None:
                app.post(f"/v1/decisions/{reply['decision']}/feedback", json=given).raise_for_status()
    return called


def wait_for(page: Any, selector: str, text: str) -> None:
    page.locator(selector, has_text=re.compile(text)).first.wait_for()


def learnt(page: Any, n: int) -> None:
    """Wait until the curve shows a number of feedbacks."""
    page.wait_for_function("n => document.querySelector('#curve')?.dataset.to === String(n)", arg=n)


def test_create_a_model_decide_answer_and_see_the_curve_move(visit: Visit) -> None:
    play(visit.address, "second", 0)
    page = visit.go("/")
    page.get_by_role("button", name="New model").click()
    page.get_by_label("Name", exact=True).fill("paper")
    page.get_by_text("More settings").click()
    page.get_by_label("Feature format").select_option("names")
    page.get_by_label("Feature names").fill("fresh, close, long")
    page.get_by_role("button", name="Create model").click()
    wait_for(page, "h1", "^paper$")
    for n in (1, 2):
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer button").nth(3).click()
        wait_for(page, "#try-said", f"version {n}")
        learnt(page, n)
    assert page.locator("#tile-version").inner_text() == "2"
    assert page.locator("#tile-quality").inner_text() == "0 %"
    page.locator("#curve .series .dot").first.wait_for()
    wait_for(page, ".recent", "at position 4")
    path = page.locator("#curve .series .dot").first.get_attribute("cy")
    for n in range(3, 7):
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer button").first.click()
        learnt(page, n)
    page.wait_for_function("old => document.querySelector('#curve .series .dot').getAttribute('cy') !== old", arg=path)
    visit.leave()


def test_a_filter_that_wraps_another_by_the_form(visit: Visit) -> None:
    play(visit.address, "second", 0)
    page = visit.go("/")
    page.get_by_role("button", name="New model").click()
    page.get_by_label("Name", exact=True).fill("tasting")
    page.get_by_role("radio", name="Forward or drop").check()
    page.get_by_text("More settings").click()
    page.get_by_label("Learner", exact=True).select_option("AppleTasting")
    page.get_by_label("Feature format").select_option("dim")
    page.get_by_label("Number of features").fill("2")
    page.get_by_role("button", name="Create model").click()
    wait_for(page, "h1", "^tasting$")
    wait_for(page, "main", "2, by position")
    page.get_by_role("button", name="Request a decision").click()
    page.get_by_role("button", name="Relevant", exact=True).click()
    learnt(page, 1)
    page.locator("#curve .tick-x").first.wait_for()
    ticks = page.locator("#curve .tick-x").all_text_contents()
    assert ticks == ["0", "1"]  # none of them twice
    visit.leave()


def test_a_newcomer_is_greeted_and_sees_the_sample_model_learn(light: Any, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        _newcomer(Visit(light, address))


def _newcomer(visit: Visit) -> None:
    page = visit.go("/")
    wait_for(page, "h1", "Decisions that learn from feedback")
    assert page.locator(".steps li").count() == 3
    assert page.get_by_role("link", name="Try the search demo").get_attribute("href") == "/demo/search"
    page.get_by_role("button", name="Create a model").click()
    page.get_by_label("Name", exact=True).wait_for()
    page.get_by_role("button", name="Start a sample model").click()
    wait_for(page, "h1", "^sample$")
    page.wait_for_function("() => Number(document.querySelector('#curve')?.dataset.points) >= 3")
    page.locator(".bars .bar").first.wait_for()
    shares = httpx.get(f"{visit.address}/ui/models/sample/curve.json").json()["points"]
    assert shares[-1]["to"] > shares[0]["to"]
    visit.leave()


def test_errors_are_shown_next_to_the_form(visit: Visit) -> None:
    play(visit.address, "rank", 1)
    page = visit.go("/")
    page.get_by_role("button", name="New model").click()
    make = page.get_by_role("button", name="Create model")
    make.click()
    wait_for(page, "#new-name-wrong", "Enter a name")
    page.get_by_label("Name", exact=True).fill("rank")
    page.get_by_text("More settings").click()
    page.get_by_label("Feature format").select_option("names")
    make.click()
    wait_for(page, "#new-features-wrong", "Name at least one feature.")
    assert page.evaluate("() => document.activeElement.id") == "new-features"
    page.get_by_label("Feature names").fill("x, x")
    make.click()
    wait_for(page, "#new-name-wrong", "exists with other settings. Choose another name")
    page.get_by_label("Name", exact=True).fill("other")
    make.click()
    wait_for(page, "#new-features-wrong", 'Features holds "x" twice')
    assert page.get_by_label("Feature names").get_attribute("aria-invalid") == "true"
    page.get_by_role("radio", name="One item").check()
    page.get_by_label("Example record of one candidate").fill('{"price": ')
    make.click()
    wait_for(page, "#new-item-wrong", "Not a valid JSON object")
    page.get_by_label("Example record of one candidate").fill('{"price": 3}')
    page.get_by_label("Reward for missing feedback").fill("7")
    page.locator(".advanced > summary").click()  # folded away, it opens again by itself
    make.click()
    wait_for(page, "#new-silence-wrong", "Default_reward is 7")
    assert page.get_by_label("Reward for missing feedback").is_visible()
    page.get_by_label("Reward for missing feedback").fill("")
    page.get_by_label("Learner params").fill("{")
    make.click()
    wait_for(page, "#new-params-wrong", "JSON")
    page.get_by_role("radio", name="A label").check()
    make.click()
    wait_for(page, "#new-labels-wrong", "at least two labels")
    visit.leave(allowed=REFUSED)


def test_every_loop_can_be_tried_by_hand(visit: Visit) -> None:
    for name in ("duel", "label", "arow", "filter", "simple", "tune", "keyed"):
        page = visit.go(f"/#model={play(visit.address, name, 0, f'hand-{name}')}")
        wait_for(page, "h1", f"^hand-{name}$")
        page.get_by_role("button", name="Request a decision").click()
        if name == "tune":
            page.get_by_label("The loss at the point").fill("0.25")
            page.get_by_role("button", name="Send feedback").click()
        else:
            page.locator("#try-answer button").last.click()
        wait_for(page, "#try-said", "version 1")
        learnt(page, 1)
    visit.leave()


def test_a_loop_of_somebody_else_has_a_page_too(light: Any, tmp_path: Path) -> None:
    with plugin_loop(), served(tmp_path) as address:
        visit = Visit(light, address)
        play(address, "rank", 0)
        page = visit.go("/")
        page.get_by_role("button", name="New model").click()
        page.get_by_label("Name", exact=True).fill("auction")
        page.get_by_role("radio", name="Bid: one of the lots").check()
        page.get_by_label("Feature names").fill("age, size")
        page.get_by_role("button", name="Create model").click()
        wait_for(page, "h1", "^auction$")
        assert page.get_by_label("Request (JSON)").input_value().replace(" ", "").startswith('{\n"lots":[')
        page.get_by_role("button", name="Request a decision").click()
        wait_for(page, "#try-answer", "It decided: lot 0")
        page.get_by_label("Feedback as JSON").fill('{"rather": 1}')
        page.get_by_role("button", name="Send feedback").click()
        wait_for(page, "#try-said", "version 1")
        learnt(page, 1)
        wait_for(page, "h2", "^Well bid$")
        wait_for(page, ".recent", "rather lot 1")
        visit.go("/docs").locator("h3", has_text="Bid: another lot").wait_for()
        visit.leave()


@pytest.mark.parametrize("width", [1400, 390])
def test_a_page_after_retractions_counts_what_is_open_and_says_why(browser: Any, address: str, width: int) -> None:
    """It said "answered, -1 open", drew an interval beyond the range of the reward, and showed no retraction."""
    name, offered = f"undone{width}", {"candidates": [{"id": "a"}, {"id": "b"}]}
    with httpx.Client(base_url=address) as app:
        app.put(f"/v1/models/{name}", json={"loop": "choose"}).raise_for_status()
        ids = [app.post(f"/v1/models/{name}/decisions", json=offered).json()["decision"] for _ in range(3)]
        for id in ids:
            app.post(f"/v1/decisions/{id}/feedback", json={"reward": 1.0}).raise_for_status()
        app.post(f"/v1/decisions/{ids[2]}:retract", json={}).raise_for_status()
        app.post(f"/v1/models/{name}/decisions", json={**offered, "activate": False}).raise_for_status()
    visit = Visit(window(browser, viewport={"width": width, "height": 900}), address)
    page = visit.go(f"/#model={name}")
    wait_for(page, "main", "with feedback, 1 open, 1 not shown yet")
    wait_for(page, "main", r"mean reward \(last 2\)")
    assert page.locator("#curve .band").count() == 0
    page.locator(".recent .chip.retracted").wait_for()
    page.locator(f'[data-id="{ids[2]}"]').click()
    wait_for(page, "#story", "The feedback was retracted: what the model learned from it is undone")
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing hangs out of the page"
    visit.leave()


def test_a_story_can_be_read(visit: Visit) -> None:
    page = visit.go(f"/#model={play(visit.address, 'rank', 3, 'ranked')}")
    page.locator(".recent button").first.click()
    wait_for(page, "dialog .timeline", "The app requested a ranking of 5 candidates from ranked.")
    wait_for(page, "dialog .timeline", "It was learned: the model went from version 2 to 3.")
    page.keyboard.press("Escape")
    page.locator("#story").wait_for(state="hidden")
    visit.leave()


MARKUP = [
    '<a href="https://evil.example/">a link</a>',
    "<b>bold</b> &lt;i&gt; &amp; <script>window.hit = 1</script>",
    "<img src=x onerror=window.hit=1>%{y}<br>",
]


def test_names_are_never_markup(visit: Visit) -> None:
    """Features, labels, ids and keys that look like HTML are shown as they are, in charts too."""
    with httpx.Client(base_url=visit.address, timeout=60) as app:
        rank = {"loop": "rank", "learner": "PreferencePerceptron", "features": MARKUP, "keyed": True}
        app.put("/v1/models/marked", json=rank).raise_for_status()
        label = {"loop": "label", "learner": "MulticlassPerceptron", "features": MARKUP, "labels": MARKUP}
        app.put("/v1/models/marked-labels", json=label).raise_for_status()
        for row in ([3.0, 2.0, 1.0], [1.0, 3.0, 2.0]):
            candidates = [{"id": id, "features": [i * x for x in row]} for i, id in enumerate(MARKUP)]
            asked = {"candidates": candidates, "key": MARKUP[0]}
            made = app.post("/v1/models/marked/decisions", json=asked).json()
            reply = {"clicked": [made["ranking"][-1]]}
            app.post(f"/v1/decisions/{made['decision']}/feedback", json=reply).raise_for_status()
            made = app.post("/v1/models/marked-labels/decisions", json={"features": row}).json()
            reply = {"label": next(each for each in MARKUP if each != made["label"])}
            app.post(f"/v1/decisions/{made['decision']}/feedback", json=reply).raise_for_status()
    for name in ("marked", "marked-labels"):
        page = visit.go(f"/#model={name}")
        learnt(page, 2)
        page.locator(".bars .bar").first.wait_for()
        shown = page.locator(".bars .tick-y").all_text_contents()
        assert len(shown) == len(MARKUP)
        for text, name in zip(sorted(shown), sorted(MARKUP), strict=True):
            head, cut, tail = text.partition("…")
            assert name == text or (cut and name.startswith(head) and name.endswith(tail)), "as it is, or shortened"
        page.locator(".bars .bar").first.hover(force=True)
        page.locator(".recent button").first.click()
        page.locator("dialog .timeline").first.wait_for()
        found = page.evaluate(
            """() => [...document.querySelectorAll('*')].filter((e) => e.getAttribute('src') === 'x'
                || [...e.attributes].some((a) => a.name.includes('href') && a.value.includes('evil')))
                .map((e) => e.outerHTML)"""
        )
        assert (found, page.evaluate("() => window.hit")) == ([], None)
        page.keyboard.press("Escape")
    visit.leave()


def test_light_and_dark_by_the_system_and_by_hand(dark: Any, address: str) -> None:
    play(address, "rank", 6)
    visit = Visit(dark, address)
    page = visit.go("/#model=rank")
    axis = page.locator("#curve .tick-x").first
    axis.wait_for()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    night = (page.evaluate(ground), axis.evaluate("e => getComputedStyle(e).fill"))
    page.get_by_role("button", name="Switch between light and dark").click()
    assert axis.evaluate("e => getComputedStyle(e).fill") != night[1]
    day = (page.evaluate(ground), axis.evaluate("e => getComputedStyle(e).fill"))
    brightness = [sum(map(int, re.findall(r"\d+", ground)[:3])) for ground, _ in (night, day)]
    assert brightness[0] < 150 < 600 < brightness[1]
    page.reload()
    assert page.evaluate(ground) == day[0]
    page.evaluate("() => localStorage.clear()")
    visit.leave()


def test_all_of_it_by_keyboard(visit: Visit) -> None:
    play(visit.address, "choose", 0)
    page = visit.go("/")
    page.locator("main .name").first.wait_for()
    focused = "() => document.activeElement.textContent || document.activeElement.id"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    for _ in range(2):  # the field that filters by name comes first, if there are many models
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "New model":
            break
    assert page.evaluate(focused) == "New model"
    width = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert width == "solid"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'new-name'")
    page.keyboard.type("by-hand")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # among what may go out
    assert page.evaluate("() => document.activeElement.value") == "choose"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.value") == "clicks"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "new-item"
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    wait_for(page, "h1", "^by-hand$")
    page.locator("#try-ask").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.dataset.candidate !== undefined")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'try-ask'")
    learnt(page, 1)
    assert "Learned" in page.locator("#announce").inner_text()
    visit.leave()


def test_nothing_sticks_out_on_a_small_screen(browser: Any, address: str) -> None:
    for name in ("rank", "label", "tune"):
        play(address, name, 5)
    visit = Visit(window(browser, viewport={"width": 400, "height": 800}), address)
    for path, ready in (
        ("/", "main .name"),
        ("/#model=label", "#curve svg"),
        ("/#model=tune", "dl"),
        ("/docs", ".operations section"),
    ):
        page = visit.go(path)
        page.locator(ready).first.wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth") == 400, path
    visit.leave()


def test_the_page_asks_for_a_token_and_keeps_it_in_the_tab(light: Any, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        play(address, "rank", 2)
        _, token = Mint(tmp_path).create(["admin"], None, 0.0)
        _with_token(Visit(light, address), token)


def _with_token(visit: Visit, token: str) -> None:
    page = visit.go("/")
    for given in ("wrong", token):
        page.get_by_label("Token", exact=True).fill(given)
        page.get_by_role("button", name="Use token").click()
        if given == "wrong":
            wait_for(page, "#ask-wrong", "not valid")
    page.locator("main .name").first.click()
    learnt(page, 2)
    assert page.evaluate("() => [sessionStorage.getItem('smidgen-token'), JSON.stringify(localStorage)]") == [
        token,
        "{}",
    ]
    visit.leave(allowed=REFUSED)


def test_the_api_page_shows_every_operation(visit: Visit) -> None:
    page = visit.go("/docs")
    page.locator(".operations section").first.wait_for()
    document = httpx.get(f"{visit.address}/openapi.json").json()
    wanted = {(verb, path) for path, item in document["paths"].items() for verb in item if verb != "parameters"}
    shown = page.evaluate(
        "() => [...document.querySelectorAll('.verb')].map((e) => [e.textContent, e.nextSibling.textContent])"
    )
    assert {tuple(pair) for pair in shown} == wanted
    for name in document["components"]["schemas"]:
        assert page.locator(f"section#{name}").count() == 1
    visit.leave()


def test_what_the_api_page_says_works(visit: Visit) -> None:
    page = visit.go("/docs")
    page.locator(".operations section").first.wait_for()
    calls = page.evaluate(
        "async () => (await import('/ui/files/examples.js')).examples(await (await fetch('/ui/loops.json')).json())"
    )
    decisions = {}
    with httpx.Client(base_url=visit.address) as app:
        for one in calls["put /v1/models/{name}"]:
            assert app.put(one["path"], json=one["body"]).status_code == 201, one
        for one in calls["post /v1/models/{name}/decisions"]:
            made = app.post(one["path"], json=one["body"])
            assert made.status_code == 201, one
            decisions[one["title"]] = made.json()["decision"]
        for one in calls["post /v1/models/{name}/decisions:batch"]:
            assert len(app.post(one["path"], json=one["body"]).json()["decisions"]) == 2, one
        heard = set()
        for one in calls["post /v1/decisions/{id}/feedback"]:
            loop = one["title"].partition(":")[0]
            answer = app.post(one["path"].replace("DECISION", decisions[loop]), json=one["body"])
            assert answer.status_code == (409 if loop in heard else 200), one
            heard.add(loop)
    visit.leave()


def test_the_form_knows_the_slots_of_a_model(visit: Visit) -> None:
    with httpx.Client(base_url=visit.address) as app:
        app.put("/v1/models/slotted", json={"loop": "choose"}).raise_for_status()
        asked = {
            "candidates": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "slots": [{"id": "hero"}, {"id": "side", "features": {"wide": True}}],
            "context": {"plan": "free"},
        }
        made = app.post("/v1/models/slotted/decisions", json=asked).json()
        app.post(f"/v1/decisions/{made['decision']}/feedback", json={"rewards": {"hero": 1, "side": 0}})
    page = visit.go("/#model=slotted")
    page.wait_for_function('() => document.querySelector(\'#try-slots\')?.value === \'[{"id":"hero"},{"id":"side"}]\'')
    assert page.locator("#try-context").input_value() == '{"plan":"free"}'
    page.get_by_role("button", name="Request a decision").click()
    page.locator("#try-answer", has_text="It chose hero:").wait_for()
    visit.leave()


def test_a_call_is_tried_on_the_api_page(visit: Visit) -> None:
    page = visit.go("/docs")
    assert page.locator("#get--v1-models-name-log tr", has_text="after").inner_text().endswith("number (seq).")

    def send(operation: str, **fields: str) -> str:
        card = page.locator(f"section#{operation}")
        card.locator("summary", has_text="Try it").click()
        for name, value in fields.items():
            card.locator(f"#{operation}-{name}").fill(value)
        card.get_by_role("button", name="Send").click()
        card.locator("pre[aria-label=Reply]", has_text="{").wait_for()
        return str(card.locator("pre[aria-label=Reply]").inner_text())

    assert send("put--v1-models-name-", name="tried").startswith("201 Created")
    reply = send("post--v1-models-name-decisions", name="tried")
    decision = json.loads(reply.partition("\n")[2])["decision"]
    assert send("post--v1-decisions-id-feedback", id=decision).startswith("200 OK")
    assert send("get--v1-models-name-log", name="tried", after="2").count('"seq"') == 1
    visit.leave()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_for_the_documentation(
    scheme: str, request: pytest.FixtureRequest, address: str, tmp_path: Path
) -> None:
    """Set SMIDGEN_SCREENSHOTS=docs/images to renew those in the documentation."""
    with httpx.Client(base_url=address, timeout=60) as app:
        while app.get("/v1/models/sample").json().get("model_version", 0) < 300:
            app.post("/ui/sample", json={"users": 150}).raise_for_status()
    visit = Visit(request.getfixturevalue(scheme), address)
    visit.page.set_viewport_size({"width": 1200, "height": 1760})
    page = visit.go("/#model=sample")
    learnt(page, 300)
    page.locator(".bars .bar").first.wait_for()
    page.wait_for_timeout(300)
    folder = Path(os.environ.get("SMIDGEN_SCREENSHOTS", tmp_path))
    picture = folder / ("dashboard.png" if scheme == "light" else "dashboard-dark.png")
    page.screenshot(path=str(picture))
    assert picture.stat().st_size > 20_000
    visit.leave()
