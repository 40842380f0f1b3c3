"""The drafts demo in a real browser: edit, send, and read what it has learnt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.browser import Visit, served, window
from smidgen_demos.drafts.letters import letter


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    with served(tmp_path) as address:
        found = Visit(window(browser), address)
        yield found
        found.context.close()


def learnt(page: Any, n: int) -> None:
    page.wait_for_function("n => Number(document.querySelector('#panel').dataset.learnt) >= n", arg=n)


def draft_by(page: Any, replies: int) -> str:
    """The draft that is in the editor once a number of replies has been learned."""
    page.wait_for_function(
        "n => document.querySelector('#about').textContent.includes(n ? `by ${n} replies` : 'by nothing')", arg=replies
    )
    text: str = page.locator("#reply").input_value()
    return text


def test_edit_send_and_read_what_it_learnt(visit: Visit) -> None:
    page = visit.go("/demo/drafts")
    first = draft_by(page, 0)
    assert first.startswith("Hello ")
    assert "Kind regards" in first
    assert page.locator("#taste").text_content().startswith("Nothing yet")
    for replies in range(6):
        draft_by(page, replies)
        page.get_by_label("Your reply").fill(letter(replies).short)
        page.get_by_role("button", name="Send").click()
        learnt(page, replies + 1)
    last = draft_by(page, 6)
    assert "Hello" not in last
    assert "regards" not in last
    said = page.locator("#taste").text_content()
    assert "shorter" in said
    assert "no sign-off" in said
    assert page.locator("#strip li").count() == 6
    assert page.locator("#diff del").count() + page.locator("#strip li.same").count() > 0
    visit.leave()


def test_undo_keyboard_and_a_fresh_start(visit: Visit) -> None:
    page = visit.go("/demo/drafts")
    first = draft_by(page, 0)
    page.get_by_label("Your reply").fill("Yes.")
    assert "changed" in page.locator("#changed").text_content()
    page.get_by_role("button", name="Back to the draft").click()
    assert page.locator("#reply").input_value() == first
    page.get_by_role("button", name="Send as it is").wait_for()
    page.keyboard.press("Control+Enter")
    learnt(page, 1)
    draft_by(page, 1)
    page.locator("#strip li.same").wait_for()
    assert page.locator("#sent-title").text_content() == "Sent as it was"
    page.get_by_role("button", name="Start over").click()
    page.locator("#model", has_text="demo-drafts-2").wait_for()
    assert page.locator("#strip li").count() == 0
    visit.leave()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1400),
        ("dark", 390),
        pytest.param("dark", 1400, marks=pytest.mark.long),
        pytest.param("light", 390, marks=pytest.mark.long),
    ],
)
def test_a_colleague_answers_in_every_window(browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    with served(tmp_path) as address:
        size = {"width": width, "height": 1000}
        context = window(browser, color_scheme=scheme, viewport=size, reduced_motion="reduce")
        visit = Visit(context, address)
        page = visit.go("/demo/drafts")
        draft_by(page, 0)
        page.get_by_role("button", name="Tara").click()
        learnt(page, 8)
        draft_by(page, 8)
        assert page.locator("#strip li.same").count() >= 4
        assert "starts with the answer" in page.locator("#taste").text_content()
        assert page.evaluate("() => document.documentElement.dataset.theme") == scheme
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("SMIDGEN_SCREENSHOTS"):
            page.wait_for_timeout(1500)
            page.screenshot(path=str(Path(folder) / f"drafts-demo-{scheme}-{width}.png"), full_page=width == 390)
        visit.leave()
        context.close()
