"""A reply in many styles: greeting, thanks, answer, offer and closing."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from smidgen_demos.drafts.letters import Letter

NAME = "Sam"
GREETINGS = {"": "", "hi": "Hi {first},", "hello": "Hello {first}!", "dear": "Dear {first} {last},"}
COURTESIES = {
    "": "",
    "thanks": "Thank you for your message.",
    "warm": "Thanks so much for writing, it is great to hear from you!",
}
HEDGE = "As far as I can see, this is how it stands. Perhaps I should check once more, though."
OFFERS = {
    "": "",
    "offer": "Please let me know if you have any questions.",
    "warm": "Just shout if anything is unclear 🙂",
}
FAREWELLS = {"": "", "cheers": "Cheers\n" + NAME, "regards": "Kind regards,\n" + NAME}
ANSWERS = ("short", "plain", "long", "hedged", "points")


class Style(NamedTuple):
    """A writing style: a key into each of the tables above."""

    greeting: str = "hello"
    courtesy: str = "warm"
    answer: str = "hedged"
    offer: str = "offer"
    farewell: str = "regards"


#: What everybody begins with: a little of everything.
USUAL = Style()
EVERY = tuple(Style(*each) for each in product(GREETINGS, COURTESIES, ANSWERS, OFFERS, FAREWELLS))


def written(letter: Letter, style: Style) -> str:
    """The reply to a message in this style."""
    said = {
        "short": letter.short,
        "plain": letter.plain,
        "long": letter.long,
        "hedged": f"{letter.long} {HEDGE}",
        "points": "\n".join(f"- {point}" for point in letter.points),
    }
    paragraphs = [COURTESIES[style.courtesy], said[style.answer], OFFERS[style.offer]]
    middle = _joined([part for part in paragraphs if part])
    whole = [GREETINGS[style.greeting].format(first=letter.first, last=letter.last), middle, FAREWELLS[style.farewell]]
    return "\n\n".join(part for part in whole if part)


def drafts(letter: Letter) -> list[str]:
    """The drafts for a message, all different: the usual one first."""
    return list(dict.fromkeys(written(letter, style) for style in (USUAL, *EVERY)))


def _joined(parts: list[str]) -> str:
    """Sentences in one paragraph; points in one of their own."""
    text = ""
    for part in parts:
        apart = "\n\n" if part.startswith("- ") or text.rpartition("\n")[2].startswith("- ") else " "
        text += (apart if text else "") + part
    return text
