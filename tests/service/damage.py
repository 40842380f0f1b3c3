"""Damage to the files of a data folder: what is changed, where, and what must be said of it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

PAGE = 4096
Damage = Callable[[bytearray, random.Random], None]


def _page(content: bytearray, rng: random.Random) -> int:
    """The offset of a page, the first one as often as all others together."""
    pages = max(len(content) // PAGE, 1)
    return 0 if rng.random() < 0.2 else rng.randrange(pages) * PAGE


def flip(content: bytearray, rng: random.Random) -> None:
    """Flip one bit."""
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def flip_header(content: bytearray, rng: random.Random) -> None:
    """Flip one bit of the first bytes of a page: the header of the file, or of a node of a tree."""
    at = _page(content, rng)
    content[min(at + rng.randrange(112), len(content) - 1)] ^= 1 << rng.randrange(8)


def overwrite(content: bytearray, rng: random.Random) -> None:
    """Overwrite some bytes with random ones."""
    at = rng.randrange(len(content))
    size = min(rng.choice((1, 2, 4, 8, 64, 512)), len(content) - at)
    content[at : at + size] = rng.randbytes(size)


def extreme(content: bytearray, rng: random.Random) -> None:
    """Overwrite four bytes with the largest or smallest number."""
    at = _page(content, rng) + rng.randrange(112) if rng.random() < 0.5 else rng.randrange(len(content))
    at = min(at, max(len(content) - 4, 0))
    content[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))


def zero_page(content: bytearray, rng: random.Random) -> None:
    """Overwrite a page with zeros."""
    at = _page(content, rng)
    content[at : at + PAGE] = bytes(len(content[at : at + PAGE]))


def copy_page(content: bytearray, rng: random.Random) -> None:
    """Overwrite a page with another one."""
    at, of = _page(content, rng), _page(content, rng)
    size = min(PAGE, len(content) - at, len(content) - of)
    content[at : at + size] = content[of : of + size]


def swap_pages(content: bytearray, rng: random.Random) -> None:
    """Exchange two pages."""
    at, of = _page(content, rng), _page(content, rng)
    size = min(PAGE, len(content) - at, len(content) - of)
    content[at : at + size], content[of : of + size] = content[of : of + size], content[at : at + size]


def cut(content: bytearray, rng: random.Random) -> None:
    """Cut the file off, anywhere or at a page."""
    length = rng.randrange(len(content))
    del content[length if rng.random() < 0.5 else length // PAGE * PAGE :]


def cut_out(content: bytearray, rng: random.Random) -> None:
    """Remove some bytes; what follows moves up."""
    at = rng.randrange(len(content))
    del content[at : at + rng.choice((1, 100, PAGE))]


def double(content: bytearray, rng: random.Random) -> None:
    """Put a page in twice; what follows moves down."""
    at = _page(content, rng)
    content[at:at] = content[at : at + PAGE]


def append(content: bytearray, rng: random.Random) -> None:
    """Add bytes at the end."""
    content += rng.choice((bytes(PAGE), rng.randbytes(100), bytes(content[-PAGE:]), bytes(content[:PAGE])))


BYTES: tuple[Damage, ...] = (
    flip,
    flip_header,
    overwrite,
    extreme,
    zero_page,
    copy_page,
    swap_pages,
    cut,
    cut_out,
    double,
    append,
)

#: Values that no service writes, or that are of another row.
_ODD = (
    None,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    1e300,
    -1.5,
    "",
    "x",
    "\U0001f600",
    b"",
    b"\0",
    b"\xff" * 40,
    b"{",
    b"[[[[",
    b"{}",
)


def change_row(path: Path, rng: random.Random) -> str:
    """Change one column of one row, or delete or double the row, as SQL may: SQLite finds nothing wrong with the file.

    Returns what was done. The constraints of the table are obeyed.
    """
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )
            if connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        ]
        for _ in range(50):
            table = "events" if rng.random() < 0.3 else rng.choice(tables)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            row, place = list(rng.choice(rows)), rng.randrange(len(columns))
            clause = " AND ".join(f"{column} IS ?" for column in columns)
            try:
                if rng.random() < 0.1:
                    changed = connection.execute(f"DELETE FROM {table} WHERE {clause}", row).rowcount
                    done = f"DELETE FROM {table}: {row!r:.200}"
                else:
                    value = _value(row[place], rng.choice(rows)[place], rng)
                    changed = connection.execute(
                        f"UPDATE {table} SET {columns[place]} = ? WHERE {clause}", [value, *row]
                    ).rowcount
                    done = f"UPDATE {table} SET {columns[place]} = {value!r:.100} (was {row[place]!r:.100})"
                    changed = changed if value != row[place] else 0
            except (sqlite3.IntegrityError, OverflowError):
                continue
            if changed:
                connection.commit()
                return done
    raise AssertionError("nothing could be changed")


def _value(old: object, other: object, rng: random.Random) -> object:
    kind = rng.randrange(4)
    if kind == 0:
        return other
    if kind == 1:
        return rng.choice(_ODD)
    if isinstance(old, bytes) and old:
        content = bytearray(old)
        rng.choice((flip, overwrite, cut))(content, rng)
        return bytes(content)
    if isinstance(old, str) and old:
        return old[:-1] + chr(rng.randrange(33, 126))
    if isinstance(old, int | float):
        return old + rng.choice((-1, 1, 1000, 10**9))
    return rng.choice(_ODD)
