"""Damage that SQL can find in a database, as findings."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import msgspec

from smidgen.service.storage.records import SCOPES, TOKEN_NAME
from smidgen.service.storage.sql import TORN, SqlStoreReader
from smidgen.service.storage.sqlite import SQLiteFolderReader
from smidgen.service.storage.sqlite_schema import ERRORS, FILE, NEWEST, RESTORE, schema_number

# Something that is wrong with a data folder, in words, with the way out.

#: How many findings of one code about one thing are told; of the rest only how many there are.
MOST = 20


class Problem(msgspec.Struct, frozen=True):
    """Something that is wrong.

    Attributes
    ----------
    code
        One word, for programs: ``database``, ``tables``, ``chain``, ``counts``, ``lost``, ``head``, ``snapshot``,
        ``state``, ``replay``, ``settings``, ``learner``, ``token``, ``mode``.
    where
        A model, or a file of the folder.
    problem
        What is wrong.
    hint
        The way out.
    """

    code: str
    where: str
    problem: str
    hint: str


class Problems:
    """Collects findings; a long log that is wrong throughout does not fill the memory."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._counts: dict[tuple[str, str], int] = {}
        self._hints: dict[tuple[str, str], str] = {}

    def add(self, code: str, where: str, problem: str, hint: str) -> None:
        """Something is wrong."""
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


# What SQL can tell of a database that is damaged: the file itself, and tables that contradict the events.

_STEPS = 100_000  # of SQLite's machine between two signs of life
_HASH = 32  # bytes of SHA-256


class _Rule(NamedTuple):
    """Rows of (shard, number of an event) that contradict something, and what to say of each."""

    words: str
    sql: str


#: Each gives the rows that are wrong. None looks into a body.
_RULES = (
    _Rule(
        "the decision of event {} is not in the table of decisions",
        """
        SELECT e.shard, e.seq FROM events e LEFT JOIN decisions x ON x.id = e.decision
        WHERE e.type IN ('decision', 'held_out') AND (x.shard IS NOT e.shard OR x.seq IS NOT e.seq)
        """,
    ),
    _Rule(
        "the table of decisions has one of event {}, which is no such decision",
        """
        SELECT x.shard, x.seq FROM decisions x LEFT JOIN events e ON e.shard = x.shard AND e.seq = x.seq
        WHERE e.type IS NULL
            OR (e.type <> 'erased' AND (e.type NOT IN ('decision', 'held_out') OR e.decision IS NOT x.id))
        """,
    ),
    _Rule(  # but for feedback after a silence that was learnt, and for what was taken back later
        "the answer of event {} is not the one that the table of decisions has",
        """
        SELECT e.shard, e.seq FROM events e LEFT JOIN decisions x ON x.id = e.decision
        WHERE (e.type IN ('feedback', 'expired', 'settled', 'recorded')
                OR (e.type = 'taught' AND e.decision IS NOT NULL))
            AND (x.feedback_seq IS NOT e.seq OR x.version IS NOT e.made)
            AND NOT (e.type = 'feedback' AND e.made IS NULL AND x.late_hash IS NOT NULL)
            AND NOT EXISTS (
                SELECT 1 FROM events r INDEXED BY event_rewinds WHERE r.shard = e.shard AND r.seq > e.seq
                    AND r.type IN ('retracted', 'rolled_back') AND r.type = 'retracted' AND r.decision = e.decision
            )
        """,
    ),
    _Rule(
        "the table of decisions has an answer by event {}, which is none to it",
        """
        SELECT x.shard, x.feedback_seq FROM decisions x
        LEFT JOIN events e ON e.shard = x.shard AND e.seq = x.feedback_seq
        WHERE x.feedback_seq IS NOT NULL AND e.type IS NOT 'erased'
            AND (e.type IS NULL OR e.decision IS NOT x.id
                OR e.type NOT IN ('feedback', 'recorded', 'expired', 'settled', 'taught'))
        """,
    ),
    _Rule("it has the place {} and must have 0", "SELECT id, place FROM shards WHERE place <> 0"),
    _Rule("its number {} is out of range", "SELECT id, id FROM shards WHERE id < 1 OR id > 1 << 20"),
    _Rule("the log does not end with event {}, as its counts say", TORN),
)


def check_file(reading: SQLiteFolderReader, found: Problems, alive: Callable[[], None]) -> bool:
    """Check whether SQLite finds its own file whole: every page, every index, every reference.

    Parameters
    ----------
    reading
        The database.
    found
        Where findings go.
    alive
        Called now and then.
    """
    with _report_progress(reading.connection, alive):
        try:
            checked = reading.connection.execute("PRAGMA integrity_check(100)")
            problems = [str(text) for (text,) in checked if text != "ok"]
            lost = reading.connection.execute("PRAGMA foreign_key_check").fetchall()
        except ERRORS as error:
            problems, lost = [str(error)], []
    for problem in problems:
        found.add("database", FILE, re.sub(r"\s+", " ", problem).strip(), RESTORE)
    for table, _, parent, _ in lost:
        found.add("tables", FILE, f"the table {table} refers to {parent} which are not there", RESTORE)
    return not problems


def check_schema(reading: SQLiteFolderReader, found: Problems) -> bool:
    """Check whether the tables are those of this smidgen."""
    if (number := schema_number(reading.connection)) == NEWEST:
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
    living = _report_progress(reading.connection, alive) if isinstance(reading, SQLiteFolderReader) else nullcontext()
    with living:
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
