"""The formats of stored data, by number, all of which stay readable (`docs/reference/compatibility.md`)."""

from __future__ import annotations

from smidgen.errors import InvalidRecord
from smidgen.learners import saving
from smidgen.service.storage import sqlite_schema

#: Of the log, in a data folder and exported: its first event says so. Logs without it were written before it was fixed.
LOG = "1.4"


def parts() -> dict[str, str]:
    """Every format with its number, as this smidgen writes it.

    Examples
    --------
    >>> from smidgen.service.storage.formats import parts
    >>> parts()["log"]
    '1.4'
    """
    return {
        "log": LOG,
        "tables": str(sqlite_schema.NEWEST),
        "decision": str(saving.BRIEF_FORM),
        "saved learner": str(saving.LEARNER_FORMAT),
        "arithmetic": str(saving.ARITHMETIC),
    }


def check(found: str | None, place: str) -> None:
    """Refuse a log of a format that this smidgen cannot know: one whose first number is higher.

    Parameters
    ----------
    found
        What its first event says; None of logs from before.
    place
        Its name in refusals.
    """
    if found is None:
        return
    major, _, minor = found.partition(".")
    if not (major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit()):
        raise InvalidRecord(f"{place} has the format {found!r}", "export the log again: smidgen log export")
    if int(major) > int(LOG.partition(".")[0]):
        raise InvalidRecord(
            f"{place} has format {found}, and this version of smidgen reads up to {LOG}", "upgrade smidgen"
        )
