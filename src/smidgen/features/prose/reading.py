"""A text read once: its columns, its traits, its tokens."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smidgen._core.prose import read_text
from smidgen.decision import FloatArray, IntArray
from smidgen.features.prose import lexicon
from smidgen.features.prose.characters import characters, folded
from smidgen.features.prose.traits import COLUMNS as STYLE
from smidgen.features.prose.traits import N_TRAITS, style_name

#: Columns of words and pairs, and of letters.
WORDS, LETTERS = 768, 1024
#: Columns of a text: style, words, letters.
DIM = STYLE + WORDS + LETTERS
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


def read(text: str, salt: bytes | None = None) -> Prose:
    """Read a text; with a salt the keys of its tokens are digests that nobody without the salt can compare.

    Short texts that were read lately are remembered; what is given back may not be written to.
    """
    if salt is not None:
        return _read(text)._replace(tokens=digests(text, salt))
    return _lately(text) if len(text) <= SHORT else _read(text)


def _read(text: str) -> Prose:
    given = characters(text)
    row, traits, tokens = np.empty(DIM), np.empty(N_TRAITS), np.empty(len(text), np.int64)
    count = read_text(given, folded(text, given), lexicon.table(), row, traits, tokens)
    row.flags.writeable = traits.flags.writeable = False
    return Prose(row, traits, tokens[:count].copy())


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
