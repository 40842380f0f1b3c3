"""Complete the theme's HTML for screen readers: a name for the search dialog, no empty table headers."""

from __future__ import annotations

import re
from typing import Any

_DIALOG = '<div class="md-search" data-md-component="search" role="dialog"'
_EMPTY_HEADER = re.compile(r"<th((?: [^>]*)?)></th>")


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog, and make empty headers plain cells.

    Examples
    --------
    >>> on_post_page('<div class="md-search" data-md-component="search" role="dialog">')
    '<div class="md-search" data-md-component="search" role="dialog" aria-label="Search">'
    >>> on_post_page("<tr><th></th><th>value</th></tr>")
    '<tr><td></td><th>value</th></tr>'
    """
    return _EMPTY_HEADER.sub(r"<td\1></td>", output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"'))


def on_post_template(output_content: str, **_: Any) -> str:
    """Complete pages that are made from a template alone, such as the one for wrong addresses."""
    return on_post_page(output_content)
