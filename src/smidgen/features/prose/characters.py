"""A text as code points, and what kind of character each is."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """What kind of character it is."""
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
        return Characters(_codes(text.lower()), given.kinds)  # a capital is a letter to whoever reads these
    return characters(text.casefold())


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
