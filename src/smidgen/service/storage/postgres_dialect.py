r"""The dialect of PostgreSQL: the few places where statements and values differ from those of SQLite.

Each statement is translated once. Texts may hold any character, and PostgreSQL takes no NUL. So NUL is sent as
``\x01\x01`` and ``\x01`` as ``\x01\x02``: this code is prefix-free, and keeps the order and the prefixes of texts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, NamedTuple

#: What is written differently; values are ``$1``, ``$2``, ….
_SPELLINGS = (
    (re.compile(r"\s+INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bIS NOT (?!NULL\b)"), "IS DISTINCT FROM "),
    (re.compile(r"\btotal\(([^()]*)\)"), r"coalesce(sum(CAST(\1 AS DOUBLE PRECISION)), 0.0)"),
    (re.compile(r"\s+"), " "),
)
_VALUE = re.compile(r"'[^']*'|\?(\d+)|\?|(?<![:\w]):([a-z_]+)")
#: The formats of values: as text, which the server converts to the type of the place, or as bytes.
TEXT, BINARY = 0, 1


class Statement(NamedTuple):
    """A statement in PostgreSQL's spelling.

    Attributes
    ----------
    sql
        The text, with numbered places for values.
    names
        The names of the values in the order of their places, if the values have names.
    """

    sql: str
    names: tuple[str, ...]


@lru_cache(maxsize=1024)
def translate(sql: str) -> Statement:
    """Translate a statement into PostgreSQL's spelling."""
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


def encode_values(statement: Statement, values: Any) -> tuple[list[bytes | None], list[int]]:
    """Encode the values of a statement; returns them with their formats."""
    given: Sequence[Any] = [values[name] for name in statement.names] if statement.names else values
    sent: list[bytes | None] = []
    formats: list[int] = []
    for value in given:
        if isinstance(value, bytes):
            sent.append(value)
            formats.append(BINARY)
        elif isinstance(value, str):
            sent.append(escape(value))
            formats.append(BINARY)
        else:
            sent.append(None if value is None else _encode_value(value))
            formats.append(TEXT)
    return sent, formats


def _encode_value(value: Any) -> bytes:
    if isinstance(value, float):
        return float.__repr__(value).encode()
    if isinstance(value, int):
        return b"%d" % value
    raise TypeError(f"a {type(value).__name__} is no value of a statement")


def escape(text: str) -> bytes:
    """Encode a text without NUL."""
    if "\x00" in text or "\x01" in text:
        text = text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    return text.encode()


def unescape(content: bytes) -> str:
    """Decode a text that `escape` encoded."""
    text = content.decode()
    return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01") if "\x01" in text else text


def _decoder_of(code: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(code).unpack
    return lambda content: unpack(content)[0]


#: Decoders of columns by the number of their type; all columns arrive as bytes.
READ: dict[int, Callable[[bytes], Any]] = {
    16: lambda content: content == b"\x01",  # bool
    17: bytes,  # bytea
    18: bytes.decode,  # "char"
    19: bytes.decode,  # name
    20: _decoder_of("!q"),  # int8
    21: _decoder_of("!h"),  # int2
    23: _decoder_of("!i"),  # int4
    25: unescape,  # text
    26: _decoder_of("!I"),  # oid
    701: _decoder_of("!d"),  # float8
    1043: unescape,  # varchar
    2278: lambda content: None,  # void
}


# Arrays: many rows in one statement

_ARRAY = struct.Struct("!iiIii")  # dimensions, whether it has nulls, type of elements, length, first index
_LENGTH = struct.Struct("!i")
_NULL = _LENGTH.pack(-1)


class ArrayType(NamedTuple):
    """A type of elements of an array.

    Attributes
    ----------
    oid
        Its number.
    code
        The code of `struct` for a number; None for texts and bytes.
    size
        The bytes of a number.
    """

    oid: int
    code: str | None = None
    size: int = 0


BIGINT, SMALLINT, DOUBLE = ArrayType(20, "q", 8), ArrayType(21, "h", 2), ArrayType(701, "d", 8)
BYTES, STRING = ArrayType(17), ArrayType(25)


def encode_array(kind: ArrayType, values: Sequence[Any]) -> bytes | None:
    """Encode values as an array; None if all of them are None: `unnest` fills up a missing array with NULL."""
    nulls = None in values
    if nulls and all(value is None for value in values):
        return None
    head = _ARRAY.pack(1, nulls, kind.oid, len(values), 1)
    if kind.code is not None and not nulls:
        numbers = chain.from_iterable(zip(repeat(kind.size), values))
        return head + struct.pack("!" + ("i" + kind.code) * len(values), *numbers)
    if kind.code is not None:
        pack = struct.Struct("!i" + kind.code).pack
        return head + b"".join(_NULL if value is None else pack(kind.size, value) for value in values)
    length, parts = _LENGTH.pack, [head]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            content = escape(value) if kind is STRING else value
            parts += (length(len(content)), content)
    return b"".join(parts)
