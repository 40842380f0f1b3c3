"""The tables in PostgreSQL: migrations, each committed with its own record, run by one worker for all."""

from __future__ import annotations

import time

import psycopg

from smidgen.service.errors import DatabaseFailed
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.postgres_connection import BoundStatement, Connection

#: The number of the advisory lock under which migrations run: workers that start at once run them once.
_LOCK = 0x736D6964
#: Schema by number.
MIGRATIONS: dict[int, tuple[str, str]] = {
    1: (
        "models, slots, events in a chain, decisions, states, tokens, bases, leases, the catalogue",
        """
        CREATE TABLE models (
            id BIGINT PRIMARY KEY, name TEXT COLLATE "C" NOT NULL UNIQUE, body BYTEA NOT NULL, resolved BYTEA NOT NULL,
            created_at DOUBLE PRECISION NOT NULL, archived_at DOUBLE PRECISION
        );
        CREATE TABLE slots (
            id BIGINT PRIMARY KEY, model BIGINT NOT NULL REFERENCES models, place BIGINT NOT NULL DEFAULT 0,
            seq BIGINT NOT NULL, version BIGINT NOT NULL, decisions BIGINT NOT NULL, late BIGINT NOT NULL,
            keys BIGINT NOT NULL, number BIGINT NOT NULL, chain BYTEA NOT NULL, answered BIGINT NOT NULL DEFAULT 0,
            UNIQUE (model, place)
        ) WITH (fillfactor = 20);
        CREATE TABLE events (
            slot BIGINT NOT NULL, seq BIGINT NOT NULL, type TEXT COLLATE "C" NOT NULL, version BIGINT NOT NULL,
            at DOUBLE PRECISION NOT NULL, decision BYTEA, key TEXT COLLATE "C", made BIGINT, salt BYTEA,
            chain BYTEA NOT NULL, body BYTEA
        );
        CREATE UNIQUE INDEX event_order ON events (slot, seq);
        CREATE INDEX event_keys ON events (slot, key, seq) WHERE key IS NOT NULL;
        CREATE INDEX event_wide ON events (slot, seq) WHERE decision IS NULL;
        CREATE INDEX event_rewinds ON events (slot, seq) WHERE type IN ('retracted', 'rolled_back');
        CREATE TABLE decisions (
            id BYTEA PRIMARY KEY, slot BIGINT NOT NULL, seq BIGINT NOT NULL, number BIGINT NOT NULL,
            expires_at DOUBLE PRECISION NOT NULL, request TEXT COLLATE "C", request_hash BYTEA,
            explored SMALLINT NOT NULL, forwarded SMALLINT, feedback_seq BIGINT, feedback_hash BYTEA, version BIGINT,
            measure DOUBLE PRECISION, position DOUBLE PRECISION, waits SMALLINT NOT NULL DEFAULT 0,
            shown SMALLINT NOT NULL DEFAULT 1, late_hash BYTEA, beside BYTEA, agreed SMALLINT,
            target DOUBLE PRECISION, chance DOUBLE PRECISION
        ) WITH (fillfactor = 80);
        CREATE UNIQUE INDEX decision_requests ON decisions (slot, request) WHERE request IS NOT NULL;
        CREATE INDEX decision_order ON decisions (slot, seq);
        CREATE INDEX decision_versions ON decisions (slot, version) WHERE version IS NOT NULL;
        CREATE INDEX decision_due ON decisions (expires_at, slot, seq)
            WHERE waits = 1 AND shown = 1 AND feedback_seq IS NULL;
        CREATE INDEX decision_beside ON decisions (beside) WHERE beside IS NOT NULL;
        CREATE INDEX decision_agreed ON decisions (slot, seq, agreed) WHERE agreed IS NOT NULL;
        CREATE TABLE calls (
            slot BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL, hash BYTEA NOT NULL, seq BIGINT NOT NULL,
            PRIMARY KEY (slot, id)
        );
        CREATE TABLE states (
            slot BIGINT NOT NULL REFERENCES slots, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            mark BYTEA NOT NULL, state BYTEA NOT NULL, PRIMARY KEY (slot, seq)
        );
        CREATE TABLE key_states (
            slot BIGINT NOT NULL, key TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL,
            state BYTEA NOT NULL, PRIMARY KEY (slot, key)
        );
        CREATE TABLE tokens (
            id TEXT COLLATE "C" PRIMARY KEY, hash BYTEA NOT NULL UNIQUE, scopes TEXT NOT NULL, model TEXT,
            created_at DOUBLE PRECISION NOT NULL, revoked_at DOUBLE PRECISION
        );
        CREATE TABLE lineage (
            slot BIGINT NOT NULL REFERENCES slots, source BIGINT NOT NULL REFERENCES slots, seq BIGINT NOT NULL,
            PRIMARY KEY (slot, source)
        );
        CREATE TABLE bases (
            slot BIGINT PRIMARY KEY REFERENCES slots, seq BIGINT NOT NULL, version BIGINT NOT NULL,
            chain BYTEA NOT NULL, at DOUBLE PRECISION NOT NULL, decisions BIGINT NOT NULL, late BIGINT NOT NULL,
            floor BIGINT NOT NULL, body BYTEA NOT NULL, erased BIGINT NOT NULL
        );
        CREATE TABLE base_states (
            slot BIGINT NOT NULL, key TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, number BIGINT NOT NULL,
            digest BYTEA NOT NULL, state BYTEA NOT NULL
        );
        CREATE UNIQUE INDEX base_state_order ON base_states (slot, key, seq, digest);
        CREATE TABLE carried (
            slot BIGINT NOT NULL, seq BIGINT NOT NULL, digest BYTEA NOT NULL, PRIMARY KEY (slot, seq)
        );
        CREATE TABLE gone (id BYTEA PRIMARY KEY, slot BIGINT NOT NULL);
        CREATE TABLE leases (
            slot BIGINT PRIMARY KEY, owner TEXT NOT NULL, epoch BIGINT NOT NULL, until DOUBLE PRECISION NOT NULL
        );
        CREATE TABLE catalogue (
            id BIGINT PRIMARY KEY CHECK (id = 1), number BIGINT NOT NULL, unclean BIGINT NOT NULL
        );
        INSERT INTO catalogue VALUES (1, 0, 0);
        CREATE TABLE probe (id BIGINT PRIMARY KEY, content BYTEA NOT NULL)
        """,
    ),
    2: (
        "names, expiry and last use of tokens",
        """
        ALTER TABLE tokens ADD COLUMN name TEXT;
        ALTER TABLE tokens ADD COLUMN expires_at DOUBLE PRECISION;
        ALTER TABLE tokens ADD COLUMN used_at DOUBLE PRECISION
        """,
    ),
    3: (
        "shards: what was called slots",
        """
        ALTER TABLE slots RENAME TO shards;
        ALTER TABLE events RENAME COLUMN slot TO shard;
        ALTER TABLE decisions RENAME COLUMN slot TO shard;
        ALTER TABLE calls RENAME COLUMN slot TO shard;
        ALTER TABLE states RENAME COLUMN slot TO shard;
        ALTER TABLE key_states RENAME COLUMN slot TO shard;
        ALTER TABLE lineage RENAME COLUMN slot TO shard;
        ALTER TABLE bases RENAME COLUMN slot TO shard;
        ALTER TABLE base_states RENAME COLUMN slot TO shard;
        ALTER TABLE carried RENAME COLUMN slot TO shard;
        ALTER TABLE gone RENAME COLUMN slot TO shard;
        ALTER TABLE leases RENAME COLUMN slot TO shard
        """,
    ),
    4: (
        "holdouts: units, the group of each decision, the share of the holdout then",
        """
        ALTER TABLE decisions ADD COLUMN unit TEXT;
        ALTER TABLE decisions ADD COLUMN holdout SMALLINT;
        ALTER TABLE decisions ADD COLUMN share DOUBLE PRECISION;
        CREATE INDEX decision_holdout ON decisions (shard, seq) WHERE holdout IS NOT NULL
        """,
    ),
    5: (
        "reports that are learned together",
        """
        ALTER TABLE decisions ADD COLUMN reported SMALLINT NOT NULL DEFAULT 0;
        ALTER TABLE decisions ADD COLUMN reports BYTEA;
        DROP INDEX decision_due;
        CREATE INDEX decision_due ON decisions (expires_at, shard, seq)
            WHERE (waits = 1 OR reported = 1) AND shown = 1 AND feedback_seq IS NULL
        """,
    ),
    6: (
        "workers, among whom shards are divided; the secret of forwarding between machines",
        """
        CREATE TABLE workers (
            name TEXT COLLATE "C" PRIMARY KEY, addresses TEXT NOT NULL, until DOUBLE PRECISION NOT NULL
        ) WITH (fillfactor = 20);
        CREATE TABLE secrets (name TEXT COLLATE "C" PRIMARY KEY, content BYTEA NOT NULL)
        """,
    ),
}
NEWEST = max(MIGRATIONS)
# A query sees a table that another session has just created; a function that looks up names may not.
_THERE = """
    SELECT EXISTS (
        SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = $2
    )
"""


def schema_number(wire: Connection) -> int:
    """The number of the schema, 0 if there are no tables."""
    asked = BoundStatement(_THERE, [wire.address.schema.encode(), b"migrations"], [1, 1], plain=True)
    ((found,),) = wire.ask([asked])[0]
    if not found:
        return 0
    try:
        ((number,),) = wire.ask([_plain("SELECT coalesce(max(version), 0) FROM migrations")])[0]
    except psycopg.Error as error:
        raise DatabaseFailed(
            f"{wire.address} has tables of another application: {error}", "choose another ?schema="
        ) from error
    return int(number)


def prepare(wire: Connection) -> None:
    """Bring the tables up to date, under a lock; refuses tables of a newer version and roles that may only read."""
    if (number := schema_number(wire)) == NEWEST:
        wire.ask([_plain("DELETE FROM probe WHERE FALSE")])
        return
    _refuse_newer(number, wire.address)
    schema = wire.address.schema
    try:
        wire.ask([_plain("BEGIN"), _plain(f"SELECT pg_advisory_xact_lock({_LOCK}, hashtext('{schema}'))")])
        number = schema_number(wire)  # another worker may have run them
        _refuse_newer(number, wire.address)
        if number == 0:
            _make_schema(wire)
        for version, (what, script) in MIGRATIONS.items():
            if version > number:
                wire.ask([_plain(statement) for statement in script.split(";") if statement.strip()])
                record: list[bytes | None] = [b"%d" % version, what.encode(), b"%f" % time.time()]
                wire.ask([BoundStatement("INSERT INTO migrations VALUES ($1, $2, $3)", record, [0, 1, 0], plain=True)])
        wire.ask([_plain("COMMIT")])
    except psycopg.Error as error:
        wire.close()
        raise DatabaseFailed(
            f"the tables in {wire.address} could not be created: {error}",
            "check that the user may create tables and that no other application uses the schema",
        ) from error


def refuse_other(wire: Connection) -> None:
    """Refuse missing tables, and tables of another version of smidgen; for readers, which create none."""
    number = schema_number(wire)
    _refuse_newer(number, wire.address)
    if number == 0:
        raise DatabaseFailed(f"there is no store in {wire.address}", "give the store of a service with --store")
    if number < NEWEST:
        raise DatabaseFailed(
            f"the store in {wire.address} has the older schema {number}", "start the service once to migrate it"
        )


def _make_schema(wire: Connection) -> None:
    """Create the schema and the table of migrations."""
    asked = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)"
    ((there,),) = wire.ask([BoundStatement(asked, [wire.address.schema.encode()], [1], plain=True)])[0]
    if not there:
        wire.ask([_plain(f"CREATE SCHEMA {wire.address.schema}")])
    wire.ask(
        [
            _plain(
                "CREATE TABLE migrations (version BIGINT PRIMARY KEY, what TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)"
            )
        ]
    )


def _refuse_newer(number: int, address: Address) -> None:
    if number > NEWEST:
        raise DatabaseFailed(
            f"the store in {address} has schema {number}, and this version of smidgen reads up to {NEWEST}",
            "upgrade smidgen",
        )


def _plain(sql: str) -> BoundStatement:
    return BoundStatement(sql, [], [], plain=True)
