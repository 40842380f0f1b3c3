"""A text read once: its columns, its traits, its tokens."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.features.prose import lexicon, marks
from smidgen.features.prose.characters import characters, folded
from smidgen.features.prose.terms import find_phrases, lay_letters, lay_words, token_keys, word_keys
from smidgen.features.prose.traits import COLUMNS as STYLE
from smidgen.features.prose.traits import TRAITS, lay_traits, measure

#: Columns of words and pairs, and of letters.
WORDS, LETTERS = 768, 1024
#: Columns of a text: style, words, letters.
DIM = STYLE + WORDS + LETTERS
#: How much words and letters weigh beside style.
WORD_SCALE, LETTER_SCALE = 1.0, 1.0
#: Characters of a text; a longer one is refused.
LONGEST = 131_072
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


def read(text: str, salt: bytes | None = None) -> Prose:
    """Read a text; with a salt the keys of its tokens are digests that nobody without the salt can compare."""
    given = characters(text)
    small = folded(text, given)
    keys = word_keys(*small)
    counted, found = np.zeros(marks.COUNTED, np.int64), np.zeros((3, lexicon.CATEGORIES), np.int64)
    marks.count_all(*given, counted)
    find_phrases(keys, lexicon.table(), found[0], found[1], found[2])
    traits, row = np.zeros(len(TRAITS)), np.zeros(DIM)
    measure(counted, found[0], found[1], found[2], traits)
    lay_traits(traits, row[:STYLE])
    lay_words(keys, WORD_SCALE, row[STYLE : STYLE + WORDS])
    lay_letters(*small, LETTER_SCALE, row[STYLE + WORDS :])
    row = row.astype(np.float32).astype(np.float64)
    return Prose(row, traits, token_keys(*given) if salt is None else digests(text, salt))


def digests(text: str, salt: bytes) -> IntArray:
    """The tokens of a text as salted digests of 63 bits."""
    tokens = _TOKEN.findall(text)
    known = {token: _digest(token, salt) for token in set(tokens)}
    return np.array([known[token] for token in tokens], np.int64)


def _digest(token: str, salt: bytes) -> int:
    content = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest()
    return int.from_bytes(content, "little") >> 1
