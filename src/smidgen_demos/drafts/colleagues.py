"""Simulated colleagues, each with a style of his own, who answer some messages while one looks on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from smidgen.service.schemas import Message
from smidgen_demos.drafts.letters import letter
from smidgen_demos.drafts.styles import Style, written

COLLEAGUES: dict[str, tuple[str, str, Style]] = {
    "tara": ("Tara", "as few words as possible", Style("", "", "short", "", "")),
    "walt": ("Walt", "warm, chatty, with a smile", Style("hello", "warm", "long", "warm", "cheers")),
    "freya": ("Freya", "formal and complete", Style("dear", "thanks", "long", "offer", "regards")),
    "pim": ("Pim", "points, no small talk", Style("hi", "", "points", "", "cheers")),
}


class ColleagueBody(Message):
    """Name of the colleague who answers the next message."""

    who: Literal["tara", "walt", "freya", "pim"]
    number: Annotated[int, Meta(ge=0, le=1 << 40)]


def edited(who: str, number: int) -> str:
    """The reply of a colleague, in their own style, to any draft for the message of this number."""
    return written(letter(number), COLLEAGUES[who][2])


def introduced() -> list[dict[str, Any]]:
    """The colleagues, for the page."""
    return [{"who": who, "name": name, "about": about} for who, (name, about, _) in COLLEAGUES.items()]
