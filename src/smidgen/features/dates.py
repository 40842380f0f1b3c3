"""A date or a time of day as the parts that decisions turn on."""

from __future__ import annotations

from datetime import UTC, date, datetime

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LONGEST = 40
DAY = 86_400.0


def as_moment(text: str) -> datetime | date | None:
    """The date, or date and time, that a string says in the form of ISO 8601; None if it says none."""
    if not 10 <= len(text) <= LONGEST or text[4] != "-" or text[7] != "-" or not text[:4].isdigit():
        return None
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return None


def parts(moment: datetime | date) -> tuple[dict[str, str], float]:
    """Categories (weekday, month, and of a time its hour, as its own clock shows them), and days since 1970."""
    told = {"weekday": WEEKDAYS[moment.weekday()], "month": str(moment.month)}
    if not isinstance(moment, datetime):
        return told, float(moment.toordinal() - 719_163)
    told["hour"] = str(moment.hour)
    universal = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return told, universal.timestamp() / DAY
