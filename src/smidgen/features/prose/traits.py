"""Style in words: traits of a text with names, how they enter the features, and how a wish is said.

A trait is a number that people understand: how many words, how many exclamation marks, whether there is a greeting.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Trait(NamedTuple):
    """One trait of style.

    Attributes
    ----------
    name
        What it is called.
    kind
        A ``size`` (told as a ratio), a ``rate`` or a ``count`` (fewer, more, none), or a ``flag`` (there or not).
    less, more
        How it is said that people want less of it, or more.
    none
        How it is said that they want none.
    """

    name: str
    kind: Literal["size", "rate", "count", "flag"]
    less: str
    more: str
    none: str = ""


TRAITS: tuple[Trait, ...] = (
    Trait("length", "size", "shorter", "longer"),
    Trait("sentence length", "size", "shorter sentences", "longer sentences"),
    Trait("word length", "size", "shorter words", "longer words"),
    Trait("paragraphs", "count", "fewer paragraphs", "more paragraphs"),
    Trait("bullet points", "count", "fewer bullet points", "bullet points", "no bullet points"),
    Trait("numbered points", "count", "fewer numbered points", "numbered points", "no numbered points"),
    Trait("headings", "count", "fewer headings", "headings", "no headings"),
    Trait("exclamation marks", "count", "fewer exclamation marks", "more exclamation marks", "no exclamation marks"),
    Trait("question marks", "count", "fewer questions", "more questions", "no questions"),
    Trait("emoji", "count", "fewer emoji", "emoji", "no emoji"),
    Trait("numbers", "count", "fewer numbers", "more numbers", "no numbers"),
    Trait("commas", "rate", "fewer commas", "more commas"),
    Trait("dashes", "count", "fewer dashes", "dashes", "no dashes"),
    Trait("colons", "count", "fewer colons and semicolons", "colons and semicolons", "no colons or semicolons"),
    Trait("brackets", "count", "fewer brackets", "brackets", "no brackets"),
    Trait("quotes", "count", "fewer quotation marks", "quotation marks", "no quotation marks"),
    Trait("ellipses", "count", "fewer ellipses", "ellipses", "no ellipses"),
    Trait("capitals", "count", "fewer words in capitals", "words in capitals", "no words in capitals"),
    Trait("small letters", "rate", "capital letters at the start of sentences", "small letters throughout"),
    Trait("contractions", "count", "fewer contractions", "contractions", "no contractions"),
    Trait("links", "count", "fewer links", "links", "no links"),
    Trait("code", "count", "less code", "code", "no code"),
    Trait("greeting", "flag", "no greeting", "a greeting"),
    Trait("sign-off", "flag", "no sign-off", "a sign-off"),
    Trait("opening", "flag", "starts with the answer", "starts with a courtesy"),
    Trait("hedges", "count", "fewer hedges", "more hedges", "no hedges"),
    Trait("thanks", "count", "fewer thanks", "more thanks", "no thanks"),
    Trait("apologies", "count", "fewer apologies", "apologies", "no apologies"),
    Trait("please", "count", "fewer pleases", "says please", "no pleases"),
    Trait("intensifiers", "count", "fewer intensifiers", "more intensifiers", "no intensifiers"),
    Trait("formal words", "count", "fewer formal words", "formal words", "no formal words"),
    Trait("informal words", "count", "fewer informal words", "informal words", "no informal words"),
    Trait("formality", "rate", "less formal", "more formal"),
    Trait("I", "rate", "says I less often", "says I more often"),
    Trait("we", "rate", "says we less often", "says we more often"),
    Trait("you", "rate", "says you less often", "says you more often"),
    Trait("offers", "count", "fewer offers of help", "offers help", "no offers of help"),
)
#: The traits that a context is crossed with: length, sentence length, bullet points, …, formality.
MAIN = (0, 1, 4, 7, 9, 22, 23, 24, 32)
N_TRAITS = len(TRAITS)
#: Columns of style: one for each trait, then where the length and the sentence length lie.
COLUMNS = 64
_LENGTHS = (5, 10, 20, 40, 80, 160, 320, 640)
_SENTENCES = (4, 8, 12, 18, 26, 40)


def style_name(column: int) -> str:
    """What a column of style is called."""
    if column < len(TRAITS):
        return TRAITS[column].name
    for what, knots in (("words", _LENGTHS), ("words a sentence", _SENTENCES)):
        column -= len(TRAITS) if what == "words" else len(_LENGTHS)
        if column < len(knots):
            return f"about {knots[column]} {what}"
    return f"style #{column}"
