"""Pictures for pages that are light or dark: one file that knows both.

A picture as Matplotlib writes it is ink on white paper. Here every colour of it becomes a variable whose default is
that colour, and a style sheet inside the file gives the variables their values for the dark. Which it is, the page says
by the end of the address: ``figure.svg#only-dark`` or ``figure.svg#only-light`` (on these the paper is transparent);
without either the reader's own preference decides.

``python -m smidgen_papers.themes FILE …`` does it to pictures that are there, in place; a second time changes nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from smidgen_papers.drawing import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What the colours of pictures are in the dark.
DARK = {
    "#000000": "#e9ecef",
    "#444444": "#c3cad1",
    "#4d4d4d": "#b6bec6",
    "#777777": "#98a2ac",
    "#999999": "#aab3bb",
    "#b0b0b0": "#9ba6b1",
    "#b8b8b8": "#6b7580",
    "#ffffff": "#1a1f25",
    "#00798c": "#3fb6c8",
    "#1f6f8b": "#5fb9d6",
    "#2e4057": "#9fb4d0",
    "#66a182": "#6cc496",
    "#6a4c93": "#b79be0",
    "#8a9a5b": "#b5c77f",
    "#8d6a4f": "#c9a083",
    "#d1495b": "#f08398",
    "#d37ab0": "#e59cc9",
    "#edae49": "#edae49",
}
_COLOUR = re.compile(r"(?<=fill: |roke: )#[0-9a-f]{6}")
_PAPER = 'style="fill: #ffffff"'
_STYLE = "</style>\n </defs>"


def save_for_page(figure: Figure, path: Path) -> None:
    """Write the picture as SVG, light and dark."""
    save(figure, path)
    path.write_text(themed(path.read_text(encoding="utf-8")), encoding="utf-8")


def themed(svg: str) -> str:
    """The picture with both its themes; one that has them already is given back."""
    if "#only-dark:target" in svg:
        return svg
    used = sorted(set(_COLOUR.findall(svg)) & DARK.keys())
    svg = svg.replace(_PAPER, 'style="fill: var(--paper, #ffffff)"')
    svg = _COLOUR.sub(lambda found: f"var({_name(found[0])}, {found[0]})" if found[0] in DARK else found[0], svg)
    head, foot = svg.split(_STYLE, 1)
    return f'{head}\n{_sheet(used)}{_STYLE}\n <g id="only-light"/>\n <g id="only-dark"/>{foot}'


def _sheet(used: Sequence[str]) -> str:
    dark = "; ".join(f"{_name(colour)}: {DARK[colour]}" for colour in used)
    light = "; ".join(f"{_name(colour)}: initial" for colour in used)
    return (
        f"text {{fill: var({_name('#000000')}, #000000)}}\n"
        f"@media (prefers-color-scheme: dark) {{svg > g {{{dark}; --paper: #1a1f25}}}}\n"
        f"#only-dark:target ~ g {{{dark}; --paper: transparent}}\n"
        f"#only-light:target ~ g {{{light}; --paper: transparent}}\n"
    )


def _name(colour: str) -> str:
    return f"--c{colour[1:]}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = Path(name)
        file.write_text(themed(file.read_text(encoding="utf-8")), encoding="utf-8")
