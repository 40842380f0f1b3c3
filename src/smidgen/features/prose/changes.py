"""How much of a text was changed: the edit distance between two sequences of tokens, over the longer of them.

The distance is Levenshtein's, by the bit vectors of Myers (1999) in the blocks of Hyyrö (2003): 64 tokens of one text
against one of the other at a time. What both begin and end with is taken off first, so that an ordinary edit of a long
text costs what the edit costs.
"""

from __future__ import annotations

from smidgen._core import prose
from smidgen.decision import IntArray

#: Beyond so many pairs of tokens (16,384 against as many) the exact distance would take too long.
CELLS = 1 << 28


def changed_share(before: IntArray, after: IntArray) -> float:
    """The share of the text that was changed: 0 for the same tokens in the same order, 1 if nothing was kept."""
    longer = max(len(before), len(after))
    return token_distance(before, after) / longer if longer else 0.0


def token_distance(before: IntArray, after: IntArray) -> int:
    """How many tokens were put in, taken out or replaced.

    Where more than `CELLS` pairs are left once the common ends are off, it is the least number that the tokens allow in
    any order: never more than the true distance.
    """
    return prose.token_distance(before, after, CELLS)
