"""Give the search dialog of the theme a name, which screen readers announce."""

from __future__ import annotations

from typing import Any

_DIALOG = '<div class="md-search" data-md-component="search" role="dialog"'


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog.

    Examples
    --------
    >>> on_post_page('<div class="md-search" data-md-component="search" role="dialog">')
    '<div class="md-search" data-md-component="search" role="dialog" aria-label="Search">'
    """
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')
