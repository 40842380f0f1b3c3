"""The site works without a net: no page loads anything from another host.

Notebooks come with scripts for formulas and diagrams that would be fetched elsewhere; they have neither, and the
scripts are left out. A page that names a script, a style, a font or a picture of another host ends the build.
"""

from __future__ import annotations

import re
from typing import Any

from mkdocs.exceptions import PluginError

_FETCHING = re.compile(
    r'<script type="module">(?:(?!</script>).)*?mermaid.*?</script>'
    r'|<script type="text/x-mathjax-config">.*?</script>'
    r'|<script src="">\s*</script>',
    re.DOTALL,
)
_OUTSIDE = re.compile(
    r'<(?:script|img|source|iframe|video|audio)\b[^>]*?\bsrc="(?:https?:)?//[^"]*"'
    r'|<link\b[^>]*?\brel="(?:stylesheet|preload|preconnect|icon)"[^>]*?\bhref="(?:https?:)?//[^"]*"'
    r'|\bimport\(\s*"https?://[^"]*"'
    r'|@import\s+(?:url\()?["\']?https?://[^;]*'
    r'|\burl\(["\']?(?:https?:)?//[^)]*'
)


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Leave out what would be fetched; refuse what is left."""
    output = _FETCHING.sub("", output)
    found = fetched(output)
    if found:
        raise PluginError(f"{page.file.src_uri} would fetch from another host: {', '.join(found)}")
    return output


def fetched(html: str) -> list[str]:
    """What a page would load from other hosts; links that people follow are none of it.

    Examples
    --------
    >>> fetched('<a href="https://example.org">there</a><img src="here.png">')
    []
    >>> fetched('<img alt="" src="https://example.org/a.png">')
    ['<img alt="" src="https://example.org/a.png"']
    """
    return _OUTSIDE.findall(html)
