"""The search demo in a real browser, by mouse and by keyboard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.browser import Visit, chromium, served, window
from service.tokens import Mint
from smidgen_demos.search.library import library

REFUSED = "Failed to load resource"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        library()  # read once, before any page waits for it
        yield found


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    with served(tmp_path) as address:
        found = Visit(window(browser), address)
        yield found
        found.context.close()


def results(page: Any) -> list[str]:
    names: list[str] = page.locator(".result").evaluate_all("all => all.map((one) => one.dataset.name)")
    return names


def weights(page: Any) -> list[str]:
    texts: list[str] = page.locator("#weights .value").all_text_contents()
    return texts


def learnt(page: Any, n: int) -> None:
    page.wait_for_function("n => Number(document.querySelector('#panel').dataset.learnt) >= n", arg=n)


def ranked_by(page: Any, version: int) -> None:
    page.get_by_text(f"ranked by version {version} of").wait_for()


def test_type_click_and_see_the_weights_move(visit: Visit) -> None:
    page = visit.go("/demo/search")
    page.get_by_label("Search the standard library").fill("read csv")
    ranked_by(page, 0)
    before = results(page)
    assert len(before) == 10
    assert set(weights(page)) == {"0"}
    assert page.locator(".result mark").first.text_content().lower() == "read"
    page.locator(".result > button").nth(6).click()
    learnt(page, 1)
    ranked_by(page, 1)
    assert any(text.startswith("+") for text in weights(page))
    width = page.locator("#weights .bar").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.width))")
    assert max(width) == 50
    after = results(page)
    opened = page.locator(".result.open")
    assert opened.get_attribute("data-name") == before[6]
    assert after.index(before[6]) < 6
    assert opened.locator("pre").is_visible()
    assert "was 7th" in opened.text_content()
    assert sorted(after) == sorted(before)  # the same ten, by what it has learnt
    assert page.locator("#learnt").text_content() == "1"
    opened.locator("button").click()  # closing teaches nothing
    page.locator(".result.open").wait_for(state="detached")
    assert page.locator("#learnt").text_content() == "1"
    page.locator(".result > button").nth(2).click()  # one click for each search
    page.locator(".result.open").wait_for()
    assert page.locator("#learnt").text_content() == "1"
    page.get_by_role("button", name="Search again").click()
    page.get_by_text("Click what you wanted.").wait_for()
    page.locator(".result > button").nth(4).click()
    learnt(page, 2)
    visit.leave()


def test_users_who_only_look_at_the_top_are_played_next_to_it(visit: Visit) -> None:
    page = visit.go("/demo/search")
    page.get_by_role("button", name="Simulate 200 users who only look at the top").click()
    page.locator(".top-chart[data-runs='10']").wait_for(timeout=120_000)  # ten runs, on a machine that may be busy
    ends = [float(text) for text in page.locator(".legend .end").all_text_contents()]
    assert ends[1] < ends[0] < ends[2]
    assert page.locator("#top-chart path.one").count() == 20
    assert page.locator("#learnt").text_content() == "0"  # it teaches the model nothing
    visit.leave()


def test_by_keyboard_alone(visit: Visit) -> None:
    page = visit.go("/demo/search")
    page.keyboard.type("json")  # the box has the focus
    page.keyboard.press("Enter")
    ranked_by(page, 0)
    before = results(page)
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    ranked_by(page, 1)
    focused = page.evaluate("() => document.activeElement.parentElement.dataset.name")
    assert focused == before[2] == page.locator(".result.open").get_attribute("data-name")
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "q"
    visit.leave()


def test_simulated_users_and_a_fresh_start(visit: Visit) -> None:
    page = visit.go("/demo/search#q=open%20file")
    ranked_by(page, 0)
    before = results(page)
    page.get_by_role("button", name="Simulate 200 users", exact=True).click()
    learnt(page, 1)  # the page is live while they search
    assert page.get_by_role("button", name="Stop").is_visible()
    page.get_by_role("button", name="Simulate 200 users", exact=True).wait_for()
    page.locator("#q").click()
    learnt(page, 150)
    page.wait_for_function("() => !document.querySelector('#count').textContent.includes('version 0 of')")
    assert results(page) != before
    _, last = page.locator(".line .now").first.text_content().split(" → ")
    assert float(last) < 3.5  # of ten places, over the last fifty clicks
    page.get_by_label("hidden taste").check()
    assert page.locator(".taste:visible").count() == 14
    _picture(page)
    page.get_by_role("button", name="Start over").click()
    page.locator("#model", has_text="demo-search-2").wait_for()
    ranked_by(page, 0)
    assert results(page) == before
    assert set(weights(page)) == {"0"}
    visit.leave()


def test_dark_narrow_and_gone_with_a_token(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        context = window(browser, color_scheme="dark", viewport={"width": 390, "height": 800})
        visit = Visit(context, address)
        page = visit.go("/demo/search")
        page.get_by_role("button", name="parse json").click()
        ranked_by(page, 0)
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        Mint(tmp_path).create(["admin"], None, 0.0)
        page.locator(".result > button").first.click()
        page.get_by_text("token").first.wait_for()
        page.get_by_role("button", name="read csv").click()
        page.get_by_text("there is no endpoint /demo/search/query").wait_for()
        visit.leave(allowed=REFUSED)
        context.close()


def test_pages_link_to_the_demo_as_long_as_it_is_there(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        visit = Visit(window(browser), address)
        for path in ("/", "/docs"):
            page = visit.go(path)
            found = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Search demo")
            found.wait_for()
            assert found.get_attribute("href") == "/demo/search"
        Mint(tmp_path).create(["admin"], None, 0.0)
        page = visit.go("/docs")
        page.get_by_role("heading", name="API reference").wait_for()
        assert page.get_by_role("link", name="Search demo").count() == 0
        visit.leave()
        visit.context.close()


def _picture(page: Any) -> None:
    """Set SMIDGEN_SCREENSHOTS=docs/images to renew the one in the documentation."""
    if folder := os.environ.get("SMIDGEN_SCREENSHOTS"):
        page.set_viewport_size({"width": 1200, "height": 1460})
        page.locator("#top-users").click()
        page.locator(".top-chart[data-runs='10']").wait_for()
        page.locator(".result > button").nth(1).click()
        page.locator(".result.open").wait_for()
        page.get_by_label("Search the standard library").hover()
        page.locator("#panel").evaluate("panel => panel.scrollTo(0, 0)")
        page.wait_for_timeout(1500)
        page.screenshot(path=str(Path(folder) / "search-demo.png"))
