"""Checks of a database by SQL: the file itself, and tables that contradict the log."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import msgspec

from smidgen.service.storage import sql
from smidgen.service.storage.reader import SqlStoreReader
from smidgen.service.storage.records import SCOPES, TOKEN_NAME
from smidgen.service.storage.sqlite import SQLiteFolder
from smidgen.service.storage.sqlite_schema import ERRORS, FILE, NEWEST, RESTORE, schema_number

#: How many problems of one code in one place are listed; of further ones only their number.
MOST = 20


class Problem(msgspec.Struct, frozen=True):
    """A problem of a store.

    Attributes
    ----------
    code
        One word, for programs: ``database``, ``tables``, ``chain``, ``counts``, ``lost``, ``head``, ``snapshot``,
        ``state``, ``replay``, ``settings``, ``learner``, ``token``, ``mode``.
    where
        A model, or a file of the folder.
    problem
        The problem.
    hint
        How to fix it.
    """

    code: str
    where: str
    problem: str
    hint: str


class Problems:
    """Collects problems, in bounded memory."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._counts: dict[tuple[str, str], int] = {}
        self._hints: dict[tuple[str, str], str] = {}

    def add(self, code: str, where: str, problem: str, hint: str) -> None:
        """Add a problem."""
        place = (code, where)
        self._counts[place] = count = self._counts.get(place, 0) + 1
        self._hints[place] = hint
        if count <= MOST:
            self._found.append(Problem(code, where, problem, hint))

    def all(self) -> list[Problem]:
        """Return the problems in order, with the number of further ones of each code."""
        more = [
            Problem(code, where, f"and {count - MOST} more", self._hints[code, where])
            for (code, where), count in self._counts.items()
            if count > MOST
        ]
        return [*self._found, *more]


_STEPS = 100_000  # of SQLite's virtual machine between two calls of ``alive``
_HASH = 32  # bytes of SHA-256


class _Rule(NamedTuple):
    """A statement that returns rows of (shard, event) that contradict the log, and the message for each."""

    words: str
    sql: str


_RULES = (
    _Rule(
        "the decision of event {} is not in the table of decisions",
        sql.DECISIONS_WITHOUT_ROW,
    ),
    _Rule(
        "the table of decisions has one of event {}, which is no such decision",
        sql.ROWS_WITHOUT_DECISION,
    ),
    _Rule(
        "the answer of event {} is not the one that the table of decisions has",
        sql.FEEDBACK_WITHOUT_ROW,
    ),
    _Rule(
        "the table of decisions has an answer by event {}, which is none to it",
        sql.ROWS_WITHOUT_FEEDBACK,
    ),
    _Rule("it has the place {} and must have 0", sql.SHARDS_OUT_OF_PLACE),
    _Rule("its number {} is out of range", sql.SHARDS_OUT_OF_RANGE),
    _Rule("the log does not end with event {}, as its counts say", sql.TORN_LOGS),
)


def check_file(file: SQLiteFolder, found: Problems, alive: Callable[[], None]) -> bool:
    """Check whether SQLite finds its own file whole: every page, every index, every reference.

    Parameters
    ----------
    file
        The database.
    found
        Where findings go.
    alive
        Called now and then.
    """
    with _report_progress(file.connection, alive):
        try:
            checked = file.connection.execute("PRAGMA integrity_check(100)")
            problems = [str(text) for (text,) in checked if text != "ok"]
            lost = file.connection.execute("PRAGMA foreign_key_check").fetchall()
        except ERRORS as error:
            problems, lost = [str(error)], []
    for problem in problems:
        found.add("database", FILE, re.sub(r"\s+", " ", problem).strip(), RESTORE)
    for table, _, parent, _ in lost:
        found.add("tables", FILE, f"the table {table} refers to {parent} which are not there", RESTORE)
    return not problems


def check_schema(file: SQLiteFolder, found: Problems) -> bool:
    """Check whether the tables are those of this smidgen."""
    if (number := schema_number(file.connection)) == NEWEST:
        return True
    found.add("tables", FILE, f"the tables have the number {number} and {NEWEST} is the present one", RESTORE)
    return False


def check_tables(
    reading: SqlStoreReader, found: Problems, name: Callable[[int], str], alive: Callable[[], None]
) -> None:
    """Check whether the tables say the same as the events.

    Parameters
    ----------
    reading, found, alive
        See `check_file`.
    name
        What a shard is called.
    """
    file = reading.statements
    with _report_progress(file.connection, alive) if isinstance(file, SQLiteFolder) else nullcontext():
        for rule in _RULES:
            alive()
            for shard, seq in reading.contradictions(rule.sql):
                found.add("tables", name(shard), rule.words.format(seq), RESTORE)


def check_tokens(reading: SqlStoreReader, found: Problems) -> int:
    """Check whether every token could be one; how many there are."""
    tokens = reading.tokens()
    for id, hash, scopes, _, at, revoked, name, expires, used in tokens:
        times = [time for time in (at, revoked, expires, used) if time is not None]
        if re.fullmatch(r"[0-9a-f]{8}", id) is None:
            problem = "has no id of eight digits"
        elif len(hash) != _HASH:
            problem = f"has a hash of {len(hash)} bytes, which no token fits"
        elif not scopes or not set(scopes.split(",")) <= set(SCOPES):
            problem = f"has the scopes {scopes!r}"
        elif not 0.0 <= at < 1e11:
            problem = f"was made at {at}"
        elif not all(0.0 <= time < 1e11 for time in times):
            problem = f"has the times {times}, and they are seconds since 1970"
        elif name is not None and not 0 < len(name) <= TOKEN_NAME:
            problem = f"has a name of {len(name)} characters"
        else:
            continue
        found.add("token", f"token {id}", f"the token {problem}", "revoke it, and make another: smidgen token create")
    return len(tokens)


@contextmanager
def _report_progress(connection: sqlite3.Connection, alive: Callable[[], None]) -> Iterator[None]:
    connection.set_progress_handler(alive, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)
