"""Hidden styles: what a simulated editor may want of a text, as two renderings of the same sentences.

Half of them are among the traits of style that the features name; the other half are not, and one of these (what comes
first) is hardly seen by words and letters either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Sentences = list[str]

_EXPANDED = {
    "don't": "do not",
    "doesn't": "does not",
    "didn't": "did not",
    "isn't": "is not",
    "wasn't": "was not",
    "can't": "cannot",
    "won't": "will not",
    "it's": "it is",
    "i'm": "i am",
    "i've": "i have",
    "that's": "that is",
}
_CONTRACTED = {long: short for short, long in _EXPANDED.items()}
_CHOICE = {
    "book": "volume",
    "buy": "purchase",
    "bought": "purchased",
    "good": "decent",
    "great": "splendid",
    "like": "enjoy",
    "said": "stated",
    "big": "large",
    "work": "function",
    "works": "functions",
    "use": "employ",
    "used": "employed",
    "year": "twelvemonth",
    "people": "folk",
    "think": "reckon",
    "want": "desire",
    "money": "cash",
    "get": "acquire",
    "time": "period",
    "story": "tale",
}


def _replaced(sentences: Sentences, pairs: dict[str, str]) -> Sentences:
    """Words and phrases put in the place of others; a capital stays one."""
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, pairs)) + r")\b", re.IGNORECASE)

    def other(found: re.Match[str]) -> str:
        new = pairs[found[0].lower()]
        return new[0].upper() + new[1:] if found[0][0].isupper() else new

    return [pattern.sub(other, sentence) for sentence in sentences]


def _ended(sentences: Sentences, before: str, after: str) -> Sentences:
    return [s[:-1] + after if s.endswith(before) else s for s in sentences]


def _swap(pairs: dict[str, str]) -> Callable[[Sentences, bool], Sentences]:
    back = {new: old for old, new in pairs.items()}
    return lambda sentences, on: _replaced(sentences, pairs if on else back)


#: Of every trait that changes sentences: its two renderings.
CHANGES: dict[str, Callable[[Sentences, bool], Sentences]] = {
    "short": lambda s, on: s[: (len(s) + 1) // 2] if on else s,
    "exclaiming": lambda s, on: _ended(s, ".", "!") if on else _ended(s, "!", "."),
    "contracted": lambda s, on: _replaced(s, _CONTRACTED if on else _EXPANDED),
    "ampersand": lambda s, on: [re.sub(r"\band\b", "&", each) if on else re.sub(r" & ", " and ", each) for each in s],
    "yet": _swap({"but": "yet"}),
    "that": _swap({"which": "that which"}),
    "choice of words": _swap(_CHOICE),
    "conclusion first": lambda s, on: [s[-1], *s[:-1]] if on else s,
}
#: Among the traits that features have names for, and not among them.
NAMED = ("short", "exclaiming", "contracted", "bullets", "greeting")
UNNAMED = ("ampersand", "yet", "that", "choice of words", "conclusion first")
TRAITS = (*NAMED, *UNNAMED)


def rendered(sentences: Sentences, on: Iterable[str]) -> str:
    """The text with these traits, and the opposite of all others."""
    wanted = frozenset(on)
    for trait, change in CHANGES.items():
        sentences = change(sentences, trait in wanted)
    body = "\n".join(f"- {each}" for each in sentences) if "bullets" in wanted else " ".join(sentences)
    return f"Hello,\n\n{body}" if "greeting" in wanted else body


def sentences_of(text: str, fewest: int = 4, most: int = 8) -> Sentences | None:
    """The first sentences of a text, if it has enough of ordinary length."""
    found = [each.strip() for each in re.split(r"(?<=[.!?])\s+", " ".join(text.split()))]
    kept = [each for each in found if 4 <= len(each.split()) <= 40][:most]
    return kept if len(kept) >= fewest else None
