"""A text read once: its columns, its traits, its tokens."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smidgen._kernel import kernel
from smidgen.decision import FloatArray, IntArray
from smidgen.features.prose import lexicon
from smidgen.features.prose.characters import Codes, Kinds, characters, folded
from smidgen.features.prose.lexicon import CATEGORIES
from smidgen.features.prose.marks import COUNTED, count_all
from smidgen.features.prose.terms import find_phrases, lay_letters, lay_words, token_keys, word_keys
from smidgen.features.prose.traits import COLUMNS as STYLE
from smidgen.features.prose.traits import N_TRAITS, lay_traits, measure, style_name

#: Columns of words and pairs, and of letters.
WORDS, LETTERS = 768, 1024
#: Columns of a text: style, words, letters.
DIM = STYLE + WORDS + LETTERS
#: How much words and letters weigh beside style.
WORD_SCALE, LETTER_SCALE = 1.0, 1.0
#: Characters of a text; a longer one is refused.
LONGEST = 131_072
#: Characters of a text that is remembered, and how many are.
SHORT, LATELY = 16_384, 128
_TOKEN = re.compile(r"\w+|[^\w\s]+|\n+")


class Prose(NamedTuple):
    """What is known of a text once it has been read.

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


@kernel
def _numbers(
    codes: Codes, kinds: Kinds, small: Codes, small_kinds: Kinds, phrases: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The columns of a text, its traits and its tokens, from its characters as they are and case folded."""
    counted, found = np.zeros(COUNTED, np.int64), np.zeros((3, CATEGORIES), np.int64)
    traits, row, keys = np.zeros(N_TRAITS), np.zeros(DIM), word_keys(small, small_kinds)
    count_all(codes, kinds, counted)
    find_phrases(keys, phrases, found[0], found[1], found[2])
    measure(counted, found[0], found[1], found[2], traits)
    lay_traits(traits, row[:STYLE])
    lay_words(keys, WORD_SCALE, row[STYLE : STYLE + WORDS])
    lay_letters(small, small_kinds, LETTER_SCALE, row[STYLE + WORDS :])
    for k in range(DIM):
        row[k] = np.float32(row[k])
    return row, traits, token_keys(codes, kinds)


def read(text: str, salt: bytes | None = None) -> Prose:
    """Read a text; with a salt the keys of its tokens are digests that nobody without the salt can compare.

    Short texts that were read lately are remembered; what is given back may not be written to.
    """
    if salt is not None:
        return _read(text)._replace(tokens=digests(text, salt))
    return _lately(text) if len(text) <= SHORT else _read(text)


def _read(text: str) -> Prose:
    given = characters(text)
    row, traits, tokens = _numbers(*given, *folded(text, given), lexicon.table())
    row.flags.writeable = traits.flags.writeable = False
    return Prose(row, traits, tokens)


_lately = lru_cache(maxsize=LATELY)(_read)


def digests(text: str, salt: bytes) -> IntArray:
    """The tokens of a text as salted digests of 63 bits."""
    tokens = _TOKEN.findall(text)
    known = {token: _digest(token, salt) for token in set(tokens)}
    return np.array([known[token] for token in tokens], np.int64)


def column_name(column: int) -> str:
    """What a column of a text is called."""
    if column < STYLE:
        return style_name(column)
    return f"words #{column - STYLE}" if column < STYLE + WORDS else f"letters #{column - STYLE - WORDS}"


def _digest(token: str, salt: bytes) -> int:
    content = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest()
    return int.from_bytes(content, "little") >> 1
