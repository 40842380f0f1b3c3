"""Style in words: traits of a text with names, how they enter the features, and how a wish is said.

A trait is a number that people understand: how many words, how many exclamation marks, whether there is a greeting.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.prose import lexicon, marks

#: Words among which a farewell, an opening courtesy or a greeting must begin to count as one.
ENDING, BEGINNING, FIRST = 8, 10, 2


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
_LENGTHS = np.log(np.array([5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0]))
_SENTENCES = np.log(np.array([4.0, 8.0, 12.0, 18.0, 26.0, 40.0]))
_SIZE, _RATE, _COUNT, _FLAG = range(4)
_KINDS = np.array([("size", "rate", "count", "flag").index(trait.kind) for trait in TRAITS])


@kernel
def measure(counted: IntArray, found: IntArray, first: IntArray, last: IntArray, out: FloatArray) -> None:
    """The traits of a text, from what was counted on it and the phrases that were found in it."""
    words, sentences = max(1, counted[marks.WORDS]), max(1, counted[marks.SENTENCES])
    out[0], out[1], out[2] = counted[marks.WORDS], words / sentences, counted[marks.LETTERS] / words
    for k in range(marks.PARAGRAPHS, marks.NUMBERS + 1):
        out[k] = counted[k]
    out[11] = counted[marks.COMMAS] / sentences
    for k in range(marks.DASHES, marks.SHOUTED + 1):
        out[k] = counted[k]
    out[18] = counted[marks.SMALL_STARTS] / sentences
    contracted = counted[marks.APOSTROPHES] + found[lexicon.CONTRACTED]
    out[19], out[20], out[21] = contracted, counted[marks.LINKS], counted[marks.BACKTICKS]
    out[22] = found[lexicon.GREETING] > 0 and first[lexicon.GREETING] < FIRST
    out[23] = found[lexicon.SIGN_OFF] > 0 and last[lexicon.SIGN_OFF] >= counted[marks.WORDS] - ENDING
    out[24] = found[lexicon.OPENING] > 0 and first[lexicon.OPENING] < BEGINNING
    for k in range(lexicon.HEDGE, lexicon.INFORMAL + 1):
        out[22 + k] = found[k]
    out[32] = 10.0 * (found[lexicon.FORMAL] - found[lexicon.INFORMAL] - contracted) / words
    for k in range(lexicon.MYSELF, lexicon.YOU + 1):
        out[23 + k] = 10.0 * found[k] / words
    out[36] = found[lexicon.OFFER]


@kernel
def _lay_hats(x: float, knots: FloatArray, out: FloatArray) -> None:
    """How near x lies to each knot: 1 there, 0 at its neighbours, straight in between; beyond the ends 1."""
    last = knots.shape[0] - 1
    if x <= knots[0] or x >= knots[last]:
        out[0 if x <= knots[0] else last] = 1.0
        return
    for k in range(last):
        if knots[k] <= x < knots[k + 1]:
            share = (x - knots[k]) / (knots[k + 1] - knots[k])
            out[k], out[k + 1] = 1.0 - share, share


@kernel
def lay_traits(traits: FloatArray, out: FloatArray) -> None:
    """The columns of style of a text with these traits, of comparable size."""
    n = traits.shape[0]
    for k in range(n):
        x = traits[k]
        if _KINDS[k] == _SIZE:
            out[k] = 0.5 * math.log(max(x, 1.0))
        elif _KINDS[k] == _RATE:
            out[k] = x / (1.0 + abs(x))
        elif _KINDS[k] == _COUNT:
            out[k] = 0.5 * math.log1p(x)
        else:
            out[k] = x
    _lay_hats(math.log(max(traits[0], 1.0)), _LENGTHS, out[n : n + _LENGTHS.shape[0]])
    _lay_hats(math.log(max(traits[1], 1.0)), _SENTENCES, out[n + _LENGTHS.shape[0] :][: _SENTENCES.shape[0]])


def style_name(column: int) -> str:
    """What a column of style is called."""
    if column < len(TRAITS):
        return TRAITS[column].name
    for what, knots in (("words", _LENGTHS), ("words a sentence", _SENTENCES)):
        column -= len(TRAITS) if what == "words" else len(_LENGTHS)
        if column < len(knots):
            return f"about {math.exp(knots[column]):.0f} {what}"
    return f"style #{column}"
