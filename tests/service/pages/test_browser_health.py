"""Health in a real browser: the first card of a model's page, and the mark on the list."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.browser import Visit, served, window

MARKUP = "<b>price</b>"
LONG = "a_feature_with_a_name_that_goes_on_" * 3


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A model that learns nothing, one with odd features, one without a fault, and one without a decision."""
    with served(tmp_path_factory.mktemp("health")) as found, httpx.Client(base_url=found, timeout=60) as app:
        _play(app)
        yield found


def _play(app: httpx.Client) -> None:
    rng = random.Random(1)
    bodies = {
        "banner": {"loop": "choose", "feedback": "better"},
        "shop": {"loop": "rank", "learner": "PreferencePerceptron", "features": [MARKUP, "rating", LONG]},
        "sound": {"loop": "choose"},
        "fresh": {"loop": "choose"},
    }
    for name, body in bodies.items():
        app.put(f"/v1/models/{name}", json=body).raise_for_status()

    def decide(name: str, body: dict[str, Any]) -> dict[str, Any]:
        made = app.post(f"/v1/models/{name}/decisions", json=body)
        made.raise_for_status()
        reply: dict[str, Any] = made.json()
        return reply

    def answer(reply: dict[str, Any], body: dict[str, Any]) -> None:
        app.post(f"/v1/decisions/{reply['decision']}/feedback", json=body).raise_for_status()

    items = {"candidates": [{"id": "a"}, {"id": "b"}]}
    for n in range(40):
        reply = decide("banner", items)
        if n % 3 == 0:
            answer(reply, {"better": reply["choice"]})
        rows = [[rng.uniform(5, 500), rng.uniform(1, 5), 1.0] for _ in range(3)]
        reply = decide("shop", {"candidates": [{"id": f"d{i}", "features": row} for i, row in enumerate(rows)]})
        answer(reply, {"clicked": [rng.choice(reply["ranking"])]})
        reply = decide("sound", items)
        answer(reply, {"reward": float(rng.random() < (0.8 if reply["choice"] == "b" else 0.3))})


def _findings(page: Any) -> list[str]:
    page.locator(".health[data-worst]").wait_for()
    codes: list[str] = page.locator(".findings li").evaluate_all("all => all.map((each) => each.dataset.code)")
    return codes


def test_health_comes_first_and_no_100_per_cent_next_to_it(browser: Any, address: str) -> None:
    visit = Visit(window(browser), address)
    page = visit.go("/#model=banner")
    assert _findings(page)[0] == "nothing_to_learn"
    assert page.locator("main section").first.get_attribute("aria-labelledby") == "health-title"
    page.locator(".findings li", has_text="Nothing to learn from").first.wait_for()
    page.locator(".findings .hint", has_text="default_reward").first.wait_for()
    page.wait_for_function("() => document.querySelector('#curve')?.dataset.to === '14'")
    assert page.locator("#tile-quality").inner_text() == "–"
    assert page.locator("#curve").is_hidden()
    assert page.get_by_text("nothing to learn from: see Health").count() == 1
    assert page.get_by_text("100 %", exact=True).count() == 0
    page = visit.go("/#model=sound")
    page.reload()
    assert _findings(page) == []
    assert "Healthy: no problems in the latest decisions (40 in total)" in page.locator("#health-state").inner_text()
    page = visit.go("/#model=fresh")
    page.reload()
    assert _findings(page) == []
    assert page.locator("#health-state").inner_text() == "No decisions yet."
    visit.leave()


def test_the_list_marks_models_that_are_ill(browser: Any, address: str) -> None:
    visit = Visit(window(browser), address)
    page = visit.go("/")
    page.locator(".models .chip.problem", has_text="nothing to learn from").wait_for()
    shown = ".chip.problem:not([hidden]), .chip.warning:not([hidden])"
    marks = [each.locator(shown).count() for each in page.locator(".models li").all()]
    assert sorted(marks) == [0, 0, 1, 1]
    assert page.locator(".models li", has_text="banner").locator(".big").inner_text() == "–"
    visit.leave()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_names_are_no_markup_and_fit_a_phone(scheme: str, browser: Any, address: str) -> None:
    visit = Visit(window(browser, color_scheme=scheme, viewport={"width": 390, "height": 844}), address)
    page = visit.go("/#model=shop")
    assert {"scale", "constant"} <= set(_findings(page))
    page.locator(".findings li[data-code=scale]", has_text=MARKUP).wait_for()
    page.locator(".findings li[data-code=constant]", has_text=LONG).wait_for()
    page.locator(".bars .tick-y", has_text=MARKUP).wait_for()
    assert page.locator(".health b, .bars b").count() == 0
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    box = page.locator(".health").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    visit.leave()
