"""Lay out the parts of a docstring (Update, Symbols, …) and its references for the API pages."""

from __future__ import annotations

import re
from typing import Any

import griffe

PARTS = ("Update", "Symbols", "Assumes", "Bound", "Cost", "Differs", "Feature map", "Argmax")
_PART = re.compile(r"\s+(\*\*(?:" + "|".join(PARTS) + r")\*\*)")
_REFERENCE = re.compile(r"^\.\. \[(\d+)\] ", re.MULTILINE)
_STAR = re.compile(r"\b([wy])\*(?!\*)")  # w* and y* are letters of the papers, not the start of italics


class DocstringParts(griffe.Extension):
    """Each part starts a paragraph of its own; references become a numbered list."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object, if it has one."""
        if obj.docstring is not None:
            parted = _PART.sub(r"\n\n\1", obj.docstring.value)
            parted = parted.replace("-----\n\n**", "-----\n**")  # the first part follows its section's underline
            obj.docstring.value = _STAR.sub(r"\1\\*", _REFERENCE.sub(r"\1. ", parted))
