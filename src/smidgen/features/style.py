"""Whole texts as numbers: hashed words and letters, style with names, and how much of a text was changed.

A trait is a number that people understand: how many words, how many exclamation marks, whether there is a greeting.
How much was changed is the edit distance between two sequences of tokens, over the longer of them. The distance is
Levenshtein's, by the bit vectors of Myers (1999) in the blocks of Hyyrö (2003): 64 tokens of one text against one of
the other at a time. What both begin and end with is taken off first, so that an ordinary edit of a long text costs
what the edit costs.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen._core import prose
from smidgen.decision import FloatArray, IntArray


class Trait(NamedTuple):
    """A trait of style.

    Attributes
    ----------
    name
        What it is called.
    kind
        A ``size`` (reported as a ratio), a ``rate`` or a ``count`` (fewer, more, none), or a ``flag`` (there or not).
    less, more
        Text for a preference for less of it, or more.
    none
        Text for a preference for none.
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
STYLE_COLUMNS = 64
_LENGTHS = (5, 10, 20, 40, 80, 160, 320, 640)
_SENTENCES = (4, 8, 12, 18, 26, 40)


def style_name(column: int) -> str:
    """Name of a style column."""
    if column < len(TRAITS):
        return TRAITS[column].name
    for what, knots in (("words", _LENGTHS), ("words a sentence", _SENTENCES)):
        column -= len(TRAITS) if what == "words" else len(_LENGTHS)
        if column < len(knots):
            return f"about {knots[column]} {what}"
    return f"style #{column}"


Codes = NDArray[np.uint32]
Kinds = NDArray[np.uint8]

#: Kinds of characters. Those of words stand together: ``LETTER <= kind <= DIGIT`` is what ``\w`` means.
SPACE, LINE, LETTER, CAPITAL, DIGIT, MARK, EMOJI = range(7)
_PICTURES = 0x2190  # symbols before this code point are no pictures: © ° ®


class Characters(NamedTuple):
    """The code points of a text and their kinds, as kernels read them."""

    codes: Codes
    kinds: Kinds


@lru_cache(maxsize=65_536)
def kind_of(character: str) -> int:
    """Kind of a character."""
    if character == "\n":
        return LINE
    if character.isspace():
        return SPACE
    if character.isalnum() or character == "_":
        if character.isdecimal():
            return DIGIT
        return CAPITAL if character.isupper() else LETTER
    picture = ord(character) >= _PICTURES and unicodedata.category(character) == "So"
    return EMOJI if picture else MARK


_ASCII = bytes(kind_of(chr(code)) for code in range(128)) + bytes(128)


def characters(text: str) -> Characters:
    """The characters of a text; a surrogate without its twin counts as a mark."""
    codes = _codes(text)
    if text.isascii():
        return Characters(codes, np.frombuffer(text.encode("ascii").translate(_ASCII), np.uint8))
    strange, where = np.unique(codes, return_inverse=True)
    known = np.array([kind_of(chr(code)) for code in strange.tolist()], np.uint8)
    return Characters(codes, known[where.reshape(-1)])


def folded(text: str, given: Characters) -> Characters:
    """The characters of the same text, case folded."""
    if text.isascii():
        return Characters(_codes(text.lower()), given.kinds)  # upper case counts as the same letter
    return characters(text.casefold())


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


#: Kinds of phrases; their order is that of `PHRASES`.
(
    GREETING,
    SIGN_OFF,
    OPENING,
    HEDGE,
    THANKS,
    APOLOGY,
    PLEASE,
    INTENSIFIER,
    FORMAL,
    INFORMAL,
    MYSELF,
    WE,
    YOU,
    OFFER,
    CONTRACTED,
) = range(15)
PHRASES: dict[int, str] = {
    GREETING: "hello, hi, hey, dear, hiya, greetings, good morning, good afternoon, good evening, good day, to whom it",
    SIGN_OFF: (
        "regards, best regards, kind regards, warm regards, sincerely, yours sincerely, yours faithfully, cheers, "
        "best wishes, all the best, respectfully, cordially, take care, many thanks, thanks again, yours truly"
    ),
    OPENING: (
        "thank you for, thank you so, thank you very, thanks for, thanks so much, thanks a lot, "
        "i hope this, i hope you, hope you are, hope this finds, great question, "
        "good question, happy to help, i am writing, i wanted to, just wanted to, just a quick, sure thing, certainly, "
        "of course, absolutely, as an ai, i appreciate your, we appreciate your, we have received, i have received, "
        "i understand, we understand, no problem, nice to hear, good to hear, lovely to hear, it was great"
    ),
    HEDGE: (
        "perhaps, maybe, possibly, probably, presumably, arguably, apparently, seemingly, somewhat, i think, i guess, "
        "i believe, i suppose, i feel, it seems, it appears, seems to, appears to, kind of, sort of, more or less, "
        "might be, could be, may be, in my opinion, to some extent, as far as, i would say, not sure, if possible"
    ),
    THANKS: "thanks, thank, grateful, appreciate, appreciated",
    APOLOGY: "sorry, apologies, apologise, apologize, apology, regret, pardon, forgive",
    PLEASE: "please, kindly, would you mind, could you please, if you could",
    INTENSIFIER: (
        "very, really, extremely, absolutely, totally, completely, truly, incredibly, highly, super, so much, "
        "definitely, certainly, literally, hugely, deeply, entirely, utterly"
    ),
    FORMAL: (
        "regarding, concerning, furthermore, moreover, therefore, however, consequently, hence, thus, accordingly, "
        "additionally, nevertheless, notwithstanding, pursuant, aforementioned, henceforth, herewith, hereby, "
        "in accordance, with respect, in regard, prior to, subsequent to, commence, terminate, utilise, utilize, "
        "endeavour, endeavor, facilitate, inquire, enquire, obtain, provide, require, request, assist, assistance, "
        "inform, attached, sincerely, respectfully, dear sir, dear madam, shall, upon, whilst, kindly, ensure"
    ),
    INFORMAL: (
        "hey, hiya, yeah, yep, yup, nope, ok, okay, cool, awesome, gonna, wanna, gotta, kinda, sorta, stuff, guys, "
        "folks, lol, btw, fyi, asap, thx, ty, pls, cheers, no worries, no problem, sure thing, a bit, loads, tons, "
        "super, gimme, dunno, oops, wow, hang on, heads up, get back, sort out, pop in, quick one"
    ),
    MYSELF: "i, me, my, mine, myself",
    WE: "we, us, our, ours, ourselves",
    YOU: "you, your, yours, yourself",
    OFFER: (
        "let me know, let us know, feel free, happy to help, glad to help, do not hesitate, don t hesitate, "
        "any questions, further questions, anything else, here to help, reach out, get in touch, happy to assist"
    ),
    CONTRACTED: "it s, that s, let s, what s, there s, here s, he s, she s, who s, how s, where s, i m, i d",
}


@cache
def phrase_table() -> IntArray:
    """All phrases by their hashes: keys in the first row, in the second a bit for every kind that they are of."""
    listed = [(phrase, kind) for kind, several in PHRASES.items() for phrase in several.split(", ")]
    size = 64
    while size < 4 * len(listed):
        size *= 2
    made = np.array([[-1], [0]]) * np.ones((2, size), np.int64)
    for phrase, kind in listed:
        prose.add_phrase(made, characters(phrase), kind)
    return made


#: Columns of words and pairs, and of letters.
WORD_COLUMNS, LETTER_COLUMNS = 768, 1024
#: Columns of a text: style, words, letters.
DIM = STYLE_COLUMNS + WORD_COLUMNS + LETTER_COLUMNS
#: Characters of a text; a longer one is refused.
LONGEST = 131_072
#: Characters of a text that is remembered, and how many are.
SHORT, LATELY = 16_384, 128
_TOKEN = re.compile(r"\w+|[^\w\s]+|\n+")


class Prose(NamedTuple):
    """A text that has been read: its counts and traits.

    Attributes
    ----------
    row
        Its columns; every number has a float32 of the same value, so that it can be kept in half the bytes.
    traits
        Its traits, in the order of `TRAITS`.
    tokens
        A key for each word, each run of marks and each line break, in order.
    """

    row: FloatArray
    traits: FloatArray
    tokens: IntArray


def read_style(text: str, salt: bytes | None = None) -> Prose:
    """Read a text; with a salt the keys of its tokens are digests that nobody without the salt can compare.

    Short texts that were read lately are remembered; what is given back may not be written to.
    """
    if salt is not None:
        return _read_style(text)._replace(tokens=digests(text, salt))
    return _read_lately(text) if len(text) <= SHORT else _read_style(text)


def _read_style(text: str) -> Prose:
    given = characters(text)
    row, traits, tokens = np.empty(DIM), np.empty(N_TRAITS), np.empty(len(text), np.int64)
    count = prose.read_text(given, folded(text, given), phrase_table(), row, traits, tokens)
    row.flags.writeable = traits.flags.writeable = False
    return Prose(row, traits, tokens[:count].copy())


_read_lately = lru_cache(maxsize=LATELY)(_read_style)


def digests(text: str, salt: bytes) -> IntArray:
    """The tokens of a text as salted digests of 63 bits."""
    tokens = _TOKEN.findall(text)
    known = {token: _digest(token, salt) for token in set(tokens)}
    return np.array([known[token] for token in tokens], np.int64)


def column_name(column: int) -> str:
    """Name of a text column."""
    if column < STYLE_COLUMNS:
        return style_name(column)
    return (
        f"words #{column - STYLE_COLUMNS}"
        if column < STYLE_COLUMNS + WORD_COLUMNS
        else f"letters #{column - STYLE_COLUMNS - WORD_COLUMNS}"
    )


def _digest(token: str, salt: bytes) -> int:
    content = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest()
    return int.from_bytes(content, "little") >> 1


#: Beyond this many pairs of tokens (16,384 against as many) the exact distance would take too long.
CELLS = 1 << 28


def changed_share(before: IntArray, after: IntArray) -> float:
    """The share of the text that was changed: 0 for the same tokens in the same order, 1 if nothing was kept."""
    longer = max(len(before), len(after))
    return token_distance(before, after) / longer if longer else 0.0


def token_distance(before: IntArray, after: IntArray) -> int:
    """Number of tokens inserted, deleted or replaced.

    Where more than `CELLS` pairs are left once the common ends are off, it is the least number that the tokens allow in
    any order: never more than the true distance.
    """
    return prose.token_distance(before, after, CELLS)
