"""Comparison in a real browser: the card on both models' pages, and promotion with a confirmation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.browser import Visit, served, window


@pytest.fixture
def address(browser: Any, tmp_path: Path) -> Iterator[str]:
    """A champion that draws evenly, a challenger that learns, and an apprentice."""
    with served(tmp_path) as found, httpx.Client(base_url=found, timeout=60) as app:
        _play(app)
        yield found


def _play(app: httpx.Client) -> None:
    rng = random.Random(2)
    app.put("/v1/models/banner", json={"loop": "choose", "learner": "LinUCB", "explore": 1.0}).raise_for_status()
    rival = {"loop": "choose", "learner": "LinUCB", "explore": 0.02}
    rival["challenger_of"] = {"model": "banner", "share": 0.5}
    app.put("/v1/models/rival", json=rival).raise_for_status()
    app.put("/v1/models/pupil", json={"loop": "choose"}).raise_for_status()
    asked = {"candidates": [{"id": each} for each in "abcd"]}
    for _ in range(6):
        batch = app.post("/v1/models/banner/decisions:batch", json={"decisions": [asked] * 60}).json()["decisions"]
        listed = [
            {"decision": each["decision"], "reward": float(rng.random() < (0.9 if each["choice"] == "c" else 0.1))}
            for each in batch
        ]
        app.post("/v1/feedback:batch", json={"feedback": listed}).raise_for_status()
    for _ in range(4):
        app.post("/v1/models/pupil/decisions", json=asked | {"chosen": "b"}).raise_for_status()


def test_the_card_says_in_words_who_is_better_and_promotes(browser: Any, address: str) -> None:
    visit = Visit(window(browser), address)
    for name in ("banner", "rival"):
        page = visit.go(f"/#model={name}")
        page.locator(".compare[data-verdict=better]").wait_for()
        assert page.locator("#verdict").inner_text() == "better"
        assert "rival achieves more than banner, so it is better" in page.locator("#compare-words").inner_text()
        assert page.locator("#compare-title").inner_text() == "rival, the challenger of banner"
        assert page.locator(".compare .tiles > div").count() == 2
        assert page.locator("#try").count() == 0 or name == "banner"
    page.locator("#promote").click()
    page.get_by_text("banner will decide with the settings and the learned state of rival").wait_for()
    page.get_by_text("Not now").click()
    assert httpx.get(f"{address}/v1/models/banner").json()["explore"] == 1.0
    page.locator("#promote").click()
    page.locator("#promote-it").click()
    page.locator(".compare[data-verdict='not yet']").wait_for()
    assert "Not enough data" in page.locator("#compare-words").inner_text()
    assert httpx.get(f"{address}/v1/models/banner").json()["explore"] == 0.02
    log = httpx.get(f"{address}/v1/models/banner/log", params={"after": 0}).text
    assert '"type":"promoted"' in log.splitlines()[-1]
    visit.leave()


def test_an_apprentice_says_how_often_it_agrees(browser: Any, address: str) -> None:
    visit = Visit(window(browser, viewport={"width": 380, "height": 800}), address)
    page = visit.go("/#model=pupil")
    page.locator("#compare-words").wait_for()
    assert "of the last 4 requests" in page.locator("#compare-words").inner_text()
    assert page.locator("#promote").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    visit.leave()
