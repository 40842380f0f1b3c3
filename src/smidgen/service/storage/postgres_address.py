"""Address of a PostgreSQL store: a URL with options of our own."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from smidgen.errors import InvalidArgument

#: How such an address begins.
SCHEMES = ("postgresql://", "postgres://")
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
#: Defaults of libpq's options: a lost peer is noticed.
_DEFAULTS = {
    "application_name": "smidgen",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


class Address(NamedTuple):
    """A database and a schema in it.

    Attributes
    ----------
    url
        What libpq takes.
    schema
        Where the tables are; ``?schema=…`` in the URL, else ``smidgen``.
    idle_s
        After how many seconds without a word the database ends a batch whose worker is paused or cut off: ``?idle_s=``.
    durable
        Whether a server that can lose what it acknowledged is refused; ``?durable=no`` takes it all the same.
    """

    url: str
    schema: str = "smidgen"
    idle_s: float = 2.0
    durable: bool = True

    @classmethod
    def of(cls, url: str) -> Address:
        """Take a URL apart; options that are not ours go to libpq."""
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema = given.pop("schema", "smidgen")
        if _NAME.fullmatch(schema) is None or schema.startswith("pg_"):
            raise InvalidArgument(
                f"schema is {schema!r} and must be lower-case letters, digits and underscores",
                "use e.g. ?schema=smidgen",
            )
        idle, durable = given.pop("idle_s", "2"), given.pop("durable", "yes")
        try:
            idle_s = float(idle)
        except ValueError:
            idle_s = 0.0
        if not 0.1 <= idle_s <= 3600.0:
            raise InvalidArgument(
                f"idle_s is {idle!r} and must be from 0.1 to 3600 seconds", "remove it for the default of 2 s"
            )
        if durable not in ("yes", "no"):
            raise InvalidArgument(f"durable is {durable!r} and must be yes or no", "remove it for the default, yes")
        query = urlencode({**_DEFAULTS, **given}, quote_via=quote)  # libpq knows no plus for a space
        whole = urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
        if not whole.startswith(SCHEMES):  # urlunsplit drops the slashes of an empty host
            whole = whole.replace(":", "://", 1)
        return cls(whole, schema, idle_s, durable == "yes")

    def __str__(self) -> str:
        """For people: without the password."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        place = host or dict(parse_qsl(parts.query)).get("host", "the local server")
        return f"postgresql://{place}{parts.path} (schema {self.schema})"
