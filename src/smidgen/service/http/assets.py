"""The files behind the pages: each from this machine, from our package or a guest's."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.refusals import Unknown

PAGES = Path(__file__).parents[1] / "pages"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

#: Only this service may be asked for anything; scripts and styles come from files; nobody may frame the page.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def asset(request: Request, name: str, folder: Path = PAGES) -> Response:
    """One of our own files, or of a guest's folder."""
    if name not in _names(folder):  # whatever else it is: a path, a name too long for any file, …
        raise Unknown(f"there is nothing at {request.url.path[:200]}", "see /")
    path = folder / name
    return answer(request, path.read_bytes(), _TYPES[path.suffix])


def answer(request: Request, content: bytes, media: str) -> Response:
    """A file's bytes, or that they are those which the reader has."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {**HEADERS, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media)


def uncached(content: Any, status: int = 200) -> Response:
    """What a page asked for, as JSON, with the headers of the page; it is of this moment."""
    return Response(msgspec.json.encode(content), status, {**HEADERS, "cache-control": "no-store"}, "application/json")


@cache
def _names(folder: Path) -> frozenset[str]:
    """The files that there are."""
    return frozenset(path.name for path in folder.iterdir() if path.suffix in _TYPES and path.is_file())
