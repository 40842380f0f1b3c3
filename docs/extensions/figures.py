"""Pictures in light and dark: every picture that has both is put on the page twice, and the theme shows the right one.

Charts (SVG) know both themes (`smidgen_papers.themes`), and a click opens them in full; a screenshot has its dark one
next to it (``dashboard.png`` and ``dashboard-dark.png``). In the sources each picture stands once.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

_PICTURE = re.compile(r'<img (?P<before>[^>]*?)src="(?P<source>[^"#:]+\.(?:svg|png))"(?P<after>[^>]*)>')


def on_page_content(html: str, *, files: Any, **_: Any) -> str:
    """Put the second picture next to the first."""
    return both(html, {PurePosixPath(file.src_uri).name for file in files})


def both(html: str, names: set[str]) -> str:
    """A page with both pictures; ``names`` are the files that there are.

    Examples
    --------
    >>> print(both('<img src="a.svg">', set()))
    <a class="picture" href="a.svg"><img src="a.svg#only-light"><img src="a.svg#only-dark"></a>
    """

    def twice(found: re.Match[str]) -> str:
        light = dark = found["source"]
        if light.endswith(".png"):
            dark = f"{light.removesuffix('.png')}-dark.png"
            if PurePosixPath(dark).name not in names:
                return found[0]
        sources = (f"{light}#only-light", f"{dark}#only-dark")
        pair = "".join(f'<img {found["before"]}src="{source}"{found["after"]}>' for source in sources)
        return f'<a class="picture" href="{light}">{pair}</a>' if light is dark else pair

    return _PICTURE.sub(twice, html)
