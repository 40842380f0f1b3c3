"""Pages for everybody, in a real browser: every control has a name, and every text stands out from its ground."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.browser import Visit, chromium, served, window
from smidgen_demos.search.library import library

#: Controls that can be seen and that nobody can call by a name.
NAMELESS = """() => [...document.querySelectorAll('button, a[href], input, select, textarea, summary, [role=img]')]
    .filter((e) => e.checkVisibility() && !(e.getAttribute('aria-label') || e.textContent.trim()
        || e.labels?.[0]?.textContent.trim() || document.getElementById(e.getAttribute('aria-labelledby') ?? '')))
    .map((e) => e.outerHTML.slice(0, 120))"""
#: Ids that two elements have.
TWICE = """() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
    return ids.filter((id, i) => id && ids.indexOf(id) !== i); }"""
#: Texts whose contrast with their ground is below what WCAG 2.1 asks for (AA: 4.5, of large text 3).
PALE = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const drawn = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const known = new Map();  // a page has few colours, and to read one back takes long
  const colour = (text) => { if (!known.has(text)) known.set(text, drawn(text)); return known.get(text); };
  const over = (top, under) => top.slice(0, 3).map((x, i) => x * top[3] + under[i] * (1 - top[3]));
  const ground = (e) => { const found = [];
    for (let at = e; at; at = at.parentElement) found.unshift(colour(getComputedStyle(at).backgroundColor));
    return found.reduce((under, top) => [...over(top, under), 1], [255, 255, 255, 1]); };
  const linear = (x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => { const [r, g, b] = rgb.map((x) => linear(x / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const out = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(e);
    if (!own || !e.checkVisibility() || e.closest('svg, .hidden, .skip, option') || e.matches(':disabled')) continue;
    const under = ground(e);
    const [a, b] = [light(over(colour(style.color), under)), light(under.slice(0, 3))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    const what = `${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.textContent.slice(0, 30)}`;
    if (ratio < (large ? 3 : 4.5)) out.push(what);
  }
  return out; }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        library()
        yield found


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("access")) as found, httpx.Client(base_url=found, timeout=60) as app:
        for i in range(8):
            app.put(f"/v1/models/m{i}", json={"loop": "choose", "keyed": i == 7}).raise_for_status()
        app.put("/v1/models/ill", json={"loop": "choose", "feedback": "better"}).raise_for_status()
        for _ in range(30):
            made = app.post("/v1/models/ill/decisions", json={"candidates": [{"id": "a"}, {"id": "b"}]}).json()
            app.post(f"/v1/decisions/{made['decision']}/feedback", json={"better": made["choice"]}).raise_for_status()
        app.post("/v1/models/ill/decisions", json={"candidates": [{"id": "a"}, {"id": "b"}]}).raise_for_status()
        yield found


def sound(page: Any) -> None:
    page.wait_for_timeout(250)  # colours change over 150 ms
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(TWICE) == []
    assert page.evaluate(PALE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_and_contrast(scheme: str, browser: Any, address: str) -> None:
    context = window(browser, color_scheme=scheme)
    visit = Visit(context, address)
    page = visit.go("/")
    page.locator(".models .chip.problem").first.wait_for()
    sound(page)
    page.get_by_role("button", name="New model").click()
    page.get_by_text("More settings").click()
    for out in ("One item", "Values of knobs", "A label"):
        page.get_by_role("radio", name=out).check()
        sound(page)
    page.get_by_role("button", name="Create model").click()
    page.locator("#new-name-wrong").wait_for()
    sound(page)
    for name in ("ill", "m7"):
        page = visit.go(f"/#model={name}")
        page.locator(".health[data-worst]").wait_for()
        page.get_by_role("button", name="Request a decision").click()
        page.locator("#try-answer button").first.wait_for()
        page.locator(".calls-card summary").click()
        sound(page)
    page.locator("#try-answer button").first.click()
    page.locator("#try-said").wait_for()
    sound(page)
    page.get_by_role("button", name="Change", exact=True).click()
    page.locator("#edit-window").fill("60")
    page.get_by_role("button", name="Review changes").click()
    sound(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Archive", exact=True).click()
    sound(page)
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.id") == "archive-model"  # the focus is back where it was
    page.locator(".recent button").first.click()
    page.locator("dialog .timeline li").first.wait_for()
    sound(page)
    page.keyboard.press("Escape")
    page = visit.go("/demo/search#q=json")
    page.get_by_text("Click what you wanted.").wait_for()
    page.locator(".result > button").nth(2).click()
    page.get_by_role("button", name="Search again").wait_for()
    page.wait_for_timeout(1500)  # what was touched glows for a second
    sound(page)
    visit.leave()
    context.close()
