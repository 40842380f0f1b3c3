"""Small pieces of HTML for notebooks: no script, no style sheet, and whatever comes from outside is text."""

from __future__ import annotations

import html
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

#: Number of characters of a value that are shown.
LONGEST = 160


class _Short(reprlib.Repr):
    """The look of a value, in few characters and little time whatever its size."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = LONGEST

    def repr_ndarray(self, x: Any, level: int) -> str:
        """An array by its ends."""
        return np.array2string(x, threshold=12, edgeitems=4, precision=4, separator=", ").replace("\n", " ")


_SHORT = _Short()


def short(value: Any) -> str:
    """Short text of a value, at most about 160 characters."""
    text = f"{value:.6g}" if isinstance(value, float) else _SHORT.repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def pairs(title: str, rows: Mapping[str, Any]) -> str:
    """A table of names and values under a title."""
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
        f"<td style='text-align:left'><code>{html.escape(short(value))}</code></td></tr>"
        for name, value in rows.items()
    )
    return f"<div><strong>{html.escape(title)}</strong><table>{body}</table></div>"


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a head, of texts; the first cell of each row is its name."""
    head = "".join(f"<th style='text-align:left'>{html.escape(each)}</th>" for each in heads)
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(row[0])}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f"<div><strong>{html.escape(title)}</strong>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def sparkline(values: Any, label: str, *, width: int = 240, height: int = 40) -> str:
    """A curve as a small picture; at most ``width`` points of it, and nothing where it is not finite."""
    y = np.asarray(values, dtype=np.float64)
    y = y[np.unique(np.linspace(0, len(y) - 1, min(len(y), width)).astype(np.int64))] if len(y) else y
    y = y[np.isfinite(y)]
    if len(y) < 2:
        return ""
    low, high = float(y.min()), float(y.max())
    spread = high - low or 1.0
    x = np.linspace(1.0, width - 1.0, len(y))
    points = " ".join(
        f"{a:.1f},{b:.1f}" for a, b in zip(x, height - 2.0 - (y - low) / spread * (height - 4.0), strict=True)
    )
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{html.escape(label)}">'
        f'<polyline points="{points}" fill="none" stroke="#1f6f8b" stroke-width="1.5"/></svg>'
    )
