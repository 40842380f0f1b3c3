"""What can be counted on the face of a text: sentences, lines, marks, capitals; by compiled code, in one pass."""

from __future__ import annotations

from smidgen._kernel import inlined, kernel
from smidgen.decision import IntArray
from smidgen.features.prose.characters import CAPITAL, DIGIT, EMOJI, LETTER, LINE, MARK, SPACE, Codes, Kinds

#: What is counted, by its place.
(
    WORDS,
    LETTERS,
    SENTENCES,
    PARAGRAPHS,
    BULLETS,
    NUMBERED,
    HEADINGS,
    EXCLAMATIONS,
    QUESTIONS,
    PICTURES,
    NUMBERS,
    COMMAS,
    DASHES,
    COLONS,
    BRACKETS,
    QUOTES,
    ELLIPSES,
    SHOUTED,
    SMALL_STARTS,
    APOSTROPHES,
    LINKS,
    BACKTICKS,
) = range(22)
COUNTED = 22
_FULL, _EXCLAMATION, _QUESTION, _COMMA, _SEMICOLON, _COLON = 46, 33, 63, 44, 59, 58
_HYPHEN, _STAR, _HASH, _OPEN, _QUOTE, _APOSTROPHE, _SLASH, _BACKTICK = 45, 42, 35, 40, 34, 39, 47, 96
_BULLET, _EN, _EM, _CURLY, _LEFT, _RIGHT, _DOTS = 0x2022, 0x2013, 0x2014, 0x2019, 0x201C, 0x201D, 0x2026
_S, _LOW_S = 83, 115


@inlined
def _code(codes: Codes, at: int) -> int:
    """The character there; 0 outside the text."""
    return int(codes[at]) if 0 <= at < codes.shape[0] else 0


@inlined
def _kind(kinds: Kinds, at: int) -> int:
    """The kind of character there; outside the text it is a line break."""
    return int(kinds[at]) if 0 <= at < kinds.shape[0] else LINE


@inlined
def _in_word(kind: int) -> bool:
    return LETTER <= kind <= DIGIT


@inlined
def _count_marks(codes: Codes, kinds: Kinds, out: IntArray) -> None:
    """Count everything that a character and its neighbours tell."""
    letters = 0
    for k in range(codes.shape[0]):
        letters += LETTER <= kinds[k] <= DIGIT
    out[LETTERS] += letters
    for k in range(codes.shape[0]):
        if kinds[k] < MARK:
            continue
        c, before, after = int(codes[k]), _kind(kinds, k - 1), _kind(kinds, k + 1)
        if kinds[k] == EMOJI:
            out[PICTURES] += 1
        elif c == _EXCLAMATION:
            out[EXCLAMATIONS] += 1
        elif c == _QUESTION:
            out[QUESTIONS] += 1
        elif c == _COMMA:
            out[COMMAS] += 1
        elif c in (_SEMICOLON, _COLON):
            smile = _code(codes, k + 1 + (_code(codes, k + 1) == _HYPHEN)) in (40, 41, 68, 80)
            out[PICTURES if smile else COLONS] += not (c == _COLON and _code(codes, k + 1) == _SLASH)
            out[LINKS] += c == _COLON and _code(codes, k + 1) == _SLASH and _code(codes, k + 2) == _SLASH
        elif c == _OPEN:
            out[BRACKETS] += _code(codes, k - 1) not in (_COLON, _SEMICOLON, _HYPHEN)
        elif c in (_QUOTE, _LEFT, _RIGHT):
            out[QUOTES] += 1
        elif c == _BACKTICK:
            out[BACKTICKS] += 1
        elif c == _DOTS:
            out[ELLIPSES] += 1
        elif c == _FULL:
            out[ELLIPSES] += _code(codes, k + 1) == _FULL and _code(codes, k - 1) != _FULL
        elif c in (_EN, _EM) or (c == _HYPHEN and _code(codes, k + 1) == _HYPHEN):
            out[DASHES] += 1
        elif c == _HYPHEN:
            out[DASHES] += before == SPACE and after == SPACE and not _starts_line(kinds, k)
        elif c in (_APOSTROPHE, _CURLY):
            inside = _in_word(before) and _in_word(after)
            out[APOSTROPHES] += inside and _code(codes, k + 1) not in (_S, _LOW_S)


@inlined
def _starts_line(kinds: Kinds, at: int) -> bool:
    """Whether only spaces stand before it on its line."""
    k = at - 1
    while k >= 0 and kinds[k] == SPACE:
        k -= 1
    return k < 0 or kinds[k] == LINE


@inlined
def _count_words(codes: Codes, kinds: Kinds, out: IntArray) -> None:
    """Count words, numbers, words in capitals, sentences, and sentences that begin with a small letter."""
    begun, waiting, capitals, digits, size = False, True, 0, 0, 0
    for k in range(codes.shape[0] + 1):
        kind = _kind(kinds, k)
        if _in_word(kind):
            if waiting and not begun:
                out[SENTENCES] += 1
                out[SMALL_STARTS] += kind == LETTER
                waiting = False
            begun = True
            capitals, digits, size = capitals + (kind == CAPITAL), digits + (kind == DIGIT), size + 1
            continue
        if begun:
            out[WORDS] += 1
            out[NUMBERS] += digits > 0
            out[SHOUTED] += capitals == size and size > 1
            begun, capitals, digits, size = False, 0, 0, 0
        ends = _code(codes, k) in (_FULL, _EXCLAMATION, _QUESTION, _DOTS)
        space = _kind(kinds, k + 1)
        waiting = waiting or kind == LINE or (ends and (space in (SPACE, LINE) or _code(codes, k + 1) == _RIGHT))


@inlined
def _count_lines(codes: Codes, kinds: Kinds, out: IntArray) -> None:
    """Count paragraphs, bullet points, numbered points and headings."""
    n, k, empty = codes.shape[0], 0, True
    while k < n:
        while k < n and kinds[k] == SPACE:
            k += 1
        if k < n and kinds[k] == LINE:
            empty, k = True, k + 1
            continue
        if k == n:
            return
        out[PARAGRAPHS] += empty
        empty, c = False, int(codes[k])
        spaced = _kind(kinds, k + 1) == SPACE
        out[BULLETS] += spaced and c in (_HYPHEN, _STAR, _BULLET, _EN)
        out[HEADINGS] += c == _HASH or (c == _STAR and _code(codes, k + 1) == _STAR)
        digit = k
        while digit < n and kinds[digit] == DIGIT:
            digit += 1
        point = _code(codes, digit) in (_FULL, 41)
        out[NUMBERED] += digit > k and point and _kind(kinds, digit + 1) == SPACE
        while k < n and kinds[k] != LINE:
            k += 1
        k += 1


@kernel
def count_all(codes: Codes, kinds: Kinds, out: IntArray) -> None:
    """Count all that can be counted."""
    _count_marks(codes, kinds, out)
    _count_words(codes, kinds, out)
    _count_lines(codes, kinds, out)
