"""The tests of the service over PostgreSQL: what would be a data folder is a schema of a database.

``SMIDGEN_TEST_STORE=postgresql`` (`make test-postgresql`) turns it on. Tests that are about SQLite's files skip.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from inspect import getsource
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from cluster import Cluster
from service import live
from smidgen.service.engine import inspection
from smidgen.service.engine.leases import LEASE_S, ShardLeases
from smidgen.service.storage import address
from smidgen.service.storage.address import Database
from smidgen.service.storage.postgres import PostgresStore, open_snapshot_reader
from smidgen.service.storage.postgres_address import Address
from smidgen.service.storage.reader import SqlStoreReader

ON = os.environ.get("SMIDGEN_TEST_STORE") == "postgresql"
#: Stores that were opened in this process: connections are limited, and a test may leave a store open.
stores: list[PostgresStore] = []
#: Files of tests that are about a data folder, its files, or another store.
ABOUT_FILES = {
    "test_backup": "backups are of data folders",
    "test_batches": "pauses of large batches; where other workers write too, a batch is answered at once",
    "test_crashes": "kills a process at points of SQLite's writing; PostgreSQL has its own in test_postgres_lost",
    "test_crashes_of_trials": "kills a process at points of SQLite's writing",
    "test_damaged_files": "damages SQLite's files and backups of data folders",
    "test_disk_full": "fills the disk under SQLite",
    "test_fsck": "damages SQLite's files",
    "test_fsync": "traces SQLite's syncs",
    "test_heads": "heads are files next to SQLite",
    "test_kill_mix": "kills a process and opens its data folder",
    "test_permissions": "modes of files",
    "test_snapshots": "snapshots are files next to SQLite",
    "test_start": "starts that find damaged files",
    "test_store_edges": "edges of SQLite and its files",
    "test_stores": "the stores themselves",
    "test_survivors": "damages SQLite's files",
    "test_service_commands": "commands on a data folder and its files; test_copy_store has them on a database",
    "test_openapi": "a check of the API's schema over many services",
    "test_steady": "memory and files of one process",
    "test_postgres": "is about PostgreSQL already",
    "test_postgres_lost": "is about PostgreSQL already",
    "test_copy_store": "is about both",
    "test_many_stores": "is about all",
}
#: Single tests, by file and name.
ABOUT_FILES_TOO: dict[tuple[str, str], str] = {
    ("test_engine", "test_snapshots_are_taken_and_only_three_are_kept"): "snapshots are files next to SQLite",
    ("test_engine", "test_a_newer_database_is_not_touched"): "writes to SQLite's file",
    ("test_engine", "test_a_database_of_a_build_before_the_first_release_is_not_touched"): "writes SQLite's file",
    ("test_forgetting", "test_a_crash_before_the_files_are_clean_is_made_good"): "looks for bytes in files",
    ("test_retention", "test_the_folder_is_sound_and_the_file_holds_nothing_old"): "looks for bytes in files",
    ("test_retention", "test_damage_is_found"): "damages SQLite's file",
    (
        "test_retention",
        "test_snapshots_before_the_retention_checkpoint_prove_nothing",
    ): "snapshots are files next to SQLite",
    ("test_retention", "test_a_base_without_its_state_is_refused"): "damages SQLite's file",
    ("test_retention", "test_shared_memory_that_a_kill_left_in_disorder"): "SQLite's shared memory",
    ("test_promotion", "test_a_promotion_replays_and_is_returned_from"): "copies the data folder",
    ("test_promotion", "test_a_key_is_forgotten_in_what_was_promoted"): "copies the data folder",
    (
        "test_fast_path",
        "test_a_batch_costs_two_statements_for_each_event_and_five_in_all",
    ): "counts statements of SQLite",
    ("test_tokens", "test_tokens_of_an_older_schema_are_kept"): "SQLite's tables; test_postgres has its own",
    ("test_unlearning", "test_a_large_file_is_written_again_when_nobody_asks"): "unused parts of SQLite's file",
    ("test_ready", "test_a_disk_that_became_read_only"): "SQLite's switch; test_workers stops the database",
    ("test_ready", "test_a_probe_takes_as_much_as_a_decision_and_leaves_nothing_behind"): "SQLite's files",
    ("test_refused_connections", "test_readiness_is_proved_by_a_write_once_in_a_minute"): "SQLite's files",
    ("test_shards_http", "test_a_replay_is_that_of_the_keys"): "other processes read the data folder",
    ("test_shards_http", "test_back_to_a_moment"): "commands on a data folder",
    ("test_exports", "test_a_log_that_begins_with_a_base_goes_out_too"): "copies the data folder",
    ("test_learner_cache", "test_a_state_of_an_event_that_is_missing_is_not_of_this_log"): "damages SQLite's file",
}


def place(cluster: Cluster, folder: Path) -> str:
    """Place of a folder."""
    return cluster.url(idle_s="60", schema=f"t{blake2b(str(folder.resolve()).encode(), digest_size=8).hexdigest()}")


def about_files(test: pytest.Function) -> str | None:
    """Why a test has nothing to say of PostgreSQL, or None."""
    if "faults" in test.path.parts:
        return "faults below SQLite"
    if "fsck(" in getsource(test.function):
        return "has a data folder checked; of a database test_copy_store does"
    file, name = test.path.stem, test.originalname
    return ABOUT_FILES.get(file) or ABOUT_FILES_TOO.get((file, name))


def tables(cluster: Cluster, folder: Path) -> dict[str, bytes]:
    """All that the tables of a store hold, as they are seen."""
    found, schema = dict[str, bytes](), Address.of(place(cluster, folder)).schema
    with psycopg.connect(cluster.url()) as asking:
        names = asking.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        for (name,) in names:
            with asking.cursor().copy(
                SQL("COPY {} TO STDOUT (FORMAT binary)").format(Identifier(schema, name))
            ) as copy:
                found[name] = b"".join(copy)
    return found


def move(cluster: Cluster, patch: pytest.MonkeyPatch) -> None:
    """Let the tests find their stores in PostgreSQL; who is alone there owns what he asks for, however new."""
    there = inspection.require_existing

    def opened(folder: Path, synchronous: str = "FULL") -> PostgresStore:
        stores.append(PostgresStore(place(cluster, folder), readers=4))
        return stores[-1]

    epoch = ShardLeases.epoch

    def asked(self: ShardLeases, shard: int) -> int | None:
        if not isinstance(self._store, PostgresStore):
            return epoch(self, shard)
        return self._store.lease(self.name, LEASE_S, shard).get(shard)

    def reading(where: Any, access: str, database: Path | None) -> SqlStoreReader:
        return open_snapshot_reader(Address.of(place(cluster, where) if isinstance(where, Path) else where.url))

    def existing(where: Any) -> Any:
        return there(Database(place(cluster, where)) if isinstance(where, Path) else where)

    patch.setattr(address, "SQLiteStore", opened)
    patch.setattr(inspection, "_reading", reading)
    patch.setattr(inspection, "require_existing", existing)
    patch.setattr(live, "where", lambda folder: place(cluster, folder))
    patch.setattr(live, "kept", lambda folder: tables(cluster, folder))
    patch.setattr(ShardLeases, "epoch", asked)
