"""Words of names and of texts: lower case, split where names are, without the plural's s."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*|[0-9]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
#: Words that stand in nearly every docstring.
COMMON = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "if", "in", "is", "it", "of", "on", "or"}
    | {"that", "the", "this", "to", "which", "with"}
)


def stem(word: str) -> str:
    """A word in lower case, without the s of a plural.

    Examples
    --------
    >>> from smidgen_demos.search.words import stem
    >>> stem("Files"), stem("class"), stem("os")
    ('file', 'class', 'os')
    """
    word = word.lower()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def of_text(text: str) -> list[str]:
    """The words of a text, common ones left out.

    Examples
    --------
    >>> from smidgen_demos.search.words import of_text
    >>> of_text("Return the names of all files.")
    ['return', 'name', 'all', 'file']
    """
    return [stem(word) for word in _WORD.findall(text) if word.lower() not in COMMON]


def of_name(name: str) -> list[str]:
    """The words of a qualified name: the parts between dots, and the words within them.

    Examples
    --------
    >>> from smidgen_demos.search.words import of_name
    >>> of_name("csv.DictReader")
    ['csv', 'dictreader', 'dict', 'reader']
    """
    out = []
    for part in name.split("."):
        inner = [stem(word) for word in _PARTS.findall(part)]
        whole = stem(part.strip("_").replace("_", ""))
        out += [whole, *inner] if len(inner) > 1 else inner or [whole]
    return out


def of_query(text: str) -> list[str]:
    """The different words of a query; if all are common, they count after all.

    Examples
    --------
    >>> from smidgen_demos.search.words import of_query
    >>> of_query("csv.DictReader of rows"), of_query("is")
    (['csv', 'dictreader', 'row'], ['is'])
    """
    words = [stem(word) for word in _WORD.findall(text.replace("_", ""))]
    wanted = [word for word in words if word not in COMMON] or words
    return list(dict.fromkeys(wanted))
