"""What the web-search halves of the figures taught us, by figure."""

from __future__ import annotations

#: Markdown by the figure's name, ``"fig2"``.
WEB: dict[str, str] = {}
