r"""How the store's statements are said to PostgreSQL: each is translated once, values and rows one by one.

Texts may hold any character, and PostgreSQL takes no NUL. So NUL goes as ``\x01\x01`` and ``\x01`` as ``\x01\x02``: no
word of this code begins another, and order and beginnings of texts stay as they were.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

#: What is spelt otherwise; values are ``$1``, ``$2``, ….
_SPELLINGS = (
    (re.compile(r"\s+INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bIS NOT (?!NULL\b)"), "IS DISTINCT FROM "),
    (re.compile(r"\btotal\(([^()]*)\)"), r"coalesce(sum(CAST(\1 AS DOUBLE PRECISION)), 0.0)"),
    (re.compile(r"\s+"), " "),
)
_VALUE = re.compile(r"'[^']*'|\?(\d+)|\?|(?<![:\w]):([a-z_]+)")
#: Whether a value goes as text, to be read as whatever its place asks for, or as the very bytes.
TEXT, BINARY = 0, 1


class Statement(NamedTuple):
    """A statement as PostgreSQL takes it.

    Attributes
    ----------
    sql
        With numbered places for values.
    names
        The names of the values in the order of their places, of a statement whose values have names.
    """

    sql: str
    names: tuple[str, ...]


@lru_cache(maxsize=1024)
def said(sql: str) -> Statement:
    """A statement in PostgreSQL's spelling."""
    for pattern, to in _SPELLINGS:
        sql = pattern.sub(to, sql)
    names: list[str] = []
    count = 0

    def place(found: re.Match[str]) -> str:
        nonlocal count
        number, name = found.groups()
        if found[0].startswith("'"):
            return found[0]
        if number is not None:
            return f"${number}"
        if name is None:
            count += 1
            return f"${count}"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Statement(_VALUE.sub(place, sql).strip(), tuple(names))


def values_of(statement: Statement, values: Any) -> tuple[list[bytes | None], list[int]]:
    """The values of a statement as they go over the wire, and which of them go as bytes."""
    given: Sequence[Any] = [values[name] for name in statement.names] if statement.names else values
    sent: list[bytes | None] = []
    formats: list[int] = []
    for value in given:
        if isinstance(value, bytes):
            sent.append(value)
            formats.append(BINARY)
        elif isinstance(value, str):
            sent.append(escaped(value))
            formats.append(BINARY)
        else:
            sent.append(None if value is None else _told(value))
            formats.append(TEXT)
    return sent, formats


def _told(value: Any) -> bytes:
    if isinstance(value, float):
        return float.__repr__(value).encode()
    if isinstance(value, int):
        return b"%d" % value
    raise TypeError(f"a {type(value).__name__} is no value of a statement")


def escaped(text: str) -> bytes:
    """A text as PostgreSQL can keep it."""
    if "\x00" in text or "\x01" in text:
        text = text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    return text.encode()


def unescaped(content: bytes) -> str:
    """The text that it was."""
    text = content.decode()
    return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01") if "\x01" in text else text


def _unpacking(code: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(code).unpack
    return lambda content: unpack(content)[0]


#: How a column is read, by the number of its type; all columns come as bytes.
READ: dict[int, Callable[[bytes], Any]] = {
    16: lambda content: content == b"\x01",  # bool
    17: bytes,  # bytea
    18: bytes.decode,  # "char"
    19: bytes.decode,  # name
    20: _unpacking("!q"),  # int8
    21: _unpacking("!h"),  # int2
    23: _unpacking("!i"),  # int4
    25: unescaped,  # text
    26: _unpacking("!I"),  # oid
    701: _unpacking("!d"),  # float8
    1043: unescaped,  # varchar
    2278: lambda content: None,  # void
}
