"""Every page of the built site in a real Chromium: it fits a phone, fetches nothing elsewhere, and its figures show."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from service.browser import chromium
from test_site import QUESTIONS

pytest.importorskip("mkdocs", reason="the documentation's packages are not installed")
pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
#: What is wider than the window and does not scroll by itself.
HANGING = """() => {
  const wide = document.documentElement.clientWidth + 1;
  const clips = (e) => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
  const scrolls = (e) => e && (clips(e) || scrolls(e.parentElement));
  const hangs = (e) => e.getBoundingClientRect().right > wide && !scrolls(e.parentElement);
  return [...document.querySelectorAll(".md-content *")].filter(hangs).map((e) => e.outerHTML.slice(0, 80));
}"""
BROKEN = "() => [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built; the notebooks are shown as they are, since another test runs them."""
    folder = tmp_path_factory.mktemp("site")
    written = (ROOT / "mkdocs.yml").read_text()
    assert "execute: true" in written
    config = ROOT / f".mkdocs-{os.getpid()}.yml"
    config.write_text(written.replace("execute: true", "execute: false"))
    try:
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)],
            check=True,
            timeout=600,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )
    finally:
        config.unlink()
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_asks_nobody_else(site: Path, address: str, browser: Any, scheme: str) -> None:
    asked: set[str] = set()
    complaints: list[str] = []
    window = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme, reduced_motion="reduce")
    page = window.new_page()
    page.on("request", lambda request: asked.add(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    found = {}
    for file in sorted(site.rglob("index.html")):
        page.goto(address + file.parent.relative_to(site).as_posix().removeprefix("."))
        across = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        wrong = [*page.evaluate(HANGING), *page.evaluate(BROKEN), *([f"{across} too wide"] if across > 0 else [])]
        if wrong:
            found[file.parent.name] = wrong
    window.close()
    assert found == {}
    assert complaints == []
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def test_the_search_answers_what_strangers_ask(address: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    results = page.locator(".md-search-result__list > li .md-search-result__link")
    missed = {}
    for queries, wanted in QUESTIONS.values():
        for query in queries:
            page.goto(f"{address}?q={quote(query)}")
            page.locator(".md-search-result__meta", has_text="matching").wait_for()
            results.first.wait_for()
            links = results.evaluate_all("links => links.map((link) => link.pathname.slice(1).replace(/\\/$/, ''))")
            pages = list(dict.fromkeys(links))
            if wanted not in pages[:5]:
                missed[query] = pages[:5]
    page.close()
    assert missed == {}


def test_claims_are_filtered_and_searched(address: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{address}papers/claims/")
    rows = page.locator("table.filtered tbody tr:visible")
    every = rows.count()
    page.locator(".filter-chip", has_text="does not hold").click()
    failing = rows.count()
    assert 0 < failing < every
    assert page.locator(".filter-count").inner_text() == f"{failing} of {every}"
    page.locator(".filter-search").fill("perceptron")
    assert 0 < rows.count() < failing
    page.locator(".filter-search").fill("no such words")
    assert rows.count() == 0
    page.close()
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(f"{address}papers/claims/")
    assert plain.locator("table").nth(1).locator("tbody tr").count() == every
    plain.close()


@pytest.mark.parametrize(("scheme", "shown"), [("light", "only-light"), ("dark", "only-dark")])
def test_a_chart_has_the_colours_of_its_page(address: str, browser: Any, scheme: str, shown: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(f"{address}speed/")
    sources = page.evaluate(
        "() => [...document.querySelectorAll('.picture img')]"
        ".filter((i) => getComputedStyle(i).display !== 'none').map((i) => i.src)"
    )
    assert sources
    assert all(source.endswith(shown) for source in sources)
    page.close()


def test_the_first_page_stands_still_where_motion_is_not_wanted(address: str, browser: Any) -> None:
    window = browser.new_context(reduced_motion="reduce")
    page = window.new_page()
    page.goto(address)
    assert page.evaluate("() => document.querySelector('.landing').getAnimations({subtree: true}).length") == 0
    assert page.locator(".lp-turn-5").evaluate("e => getComputedStyle(e).opacity") == "1"
    window.close()
    moving = browser.new_page()
    moving.goto(address)
    assert moving.evaluate("() => document.querySelector('.landing').getAnimations({subtree: true}).length") > 5
    moving.close()
