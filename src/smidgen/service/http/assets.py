"""The files behind the pages: each from this machine, from our package, a guest's or plotly's."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import re
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from smidgen.service.refusals import Unknown

PAGES = Path(__file__).parents[1] / "pages"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_NEVER_CALLED_STYLE = re.compile(rb'getElementById\("([0-9a-f]{64})"\)')

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


def plotly(request: Request) -> Response:
    """The charts' library, from its Python package."""
    plain, packed = _plotly()
    if plain is None or packed is None:
        raise Unknown("plotly is not installed", "pip install 'smidgen[service]' brings the charts")
    if "gzip" in request.headers.get("accept-encoding", ""):
        return answer(request, packed, _TYPES[".js"], {"content-encoding": "gzip", "vary": "accept-encoding"})
    return answer(request, plain, _TYPES[".js"], {"vary": "accept-encoding"})


def answer(request: Request, content: bytes, media: str, more: dict[str, str] | None = None) -> Response:
    """A file's bytes, or that they are those which the reader has."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    headers = {**HEADERS, "etag": tag, **(more or {})}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media)


@cache
def _names(folder: Path) -> frozenset[str]:
    """The files that there are."""
    return frozenset(path.name for path in folder.iterdir() if path.suffix in _TYPES and path.is_file())


@cache
def _plotly() -> tuple[bytes | None, bytes | None]:
    """The library as it is and compressed.

    It begins with a style sheet for maps, which our headers refuse, unless an element of that name is there already.
    """
    spec = importlib.util.find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        return None, None
    path = Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    if not path.is_file():
        return None, None
    content = path.read_bytes()
    names = b",".join(b'"%s"' % name for name in _NEVER_CALLED_STYLE.findall(content))
    stand_in = (
        b'for(const id of [%s]){const e=document.createElement("meta");e.id=id;document.head.append(e)}\n' % names
    )
    whole = stand_in + content
    return whole, gzip.compress(whole, 6)
