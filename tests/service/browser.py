"""A real Chromium against a service in this process, for the tests of the pages.

A page may say nothing on its console, throw nothing, keep no cookie and ask nobody but the service: `Visit.leave` holds
it to that.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from smidgen.service.http.app import create_app
from smidgen.service.http.resources import Options

CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def served(data: Path) -> Iterator[str]:
    """The service at a free port; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(Options(data, synchronous="OFF")), log_level="warning", access_log=False)
        config.timeout_graceful_shutdown = 2
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        end = time.monotonic() + 30
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    """A browser, started with these arguments too, or a skip that says what is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", *arguments]
        )
        yield browser
        browser.close()


def window(browser: Any, **options: Any) -> Any:
    """A window with a cache of its own; pages in it share that."""
    return browser.new_context(**{"viewport": {"width": 1200, "height": 900}, "color_scheme": "light", **options})


class Visit:
    """A page in a window, watched."""

    def __init__(self, window: Any, address: str) -> None:
        self.address = address
        self.context = window
        self.page = window.new_page()
        self.page.set_default_timeout(20_000)
        self.complaints: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._request)

    def go(self, path: str) -> Any:
        """Open a path; gives the page."""
        self.page.goto(self.address + path)
        return self.page

    def leave(self, allowed: str = "") -> None:
        """Close the page; if it complained, or asked others, the test fails."""
        cookies = self.context.cookies()
        self.page.close()
        assert [text for text in self.complaints if not allowed or allowed not in text] == []
        assert cookies == []

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert", "trace"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(self.address):
            self.complaints.append(f"asked for {request.url}")
