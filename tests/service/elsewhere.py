"""The tests of the service over PostgreSQL: what would be a data folder is a schema of a database.

``SMIDGEN_TEST_STORE=postgresql`` (`make test-postgresql`) turns it on. Tests that are about SQLite's files skip.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from inspect import getsource
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster
from service import live
from smidgen.service.store import inspection, places
from smidgen.service.store.places import Database
from smidgen.service.store.postgres import PostgresStore
from smidgen.service.store.postgres_address import Address
from smidgen.service.store.postgres_reads import PostgresReader

ON = os.environ.get("SMIDGEN_TEST_STORE") == "postgresql"
#: Files of tests that are about a data folder, its files, or another store.
ABOUT_FILES = {
    "test_backup": "backups are of data folders",
    "test_crashes": "kills a process at points of SQLite's writing; PostgreSQL has its own in test_postgres_lost",
    "test_crashes_of_trials": "kills a process at points of SQLite's writing",
    "test_disk_full": "fills the disk under SQLite",
    "test_fsck": "damages SQLite's files",
    "test_fsync": "traces SQLite's syncs",
    "test_guard": "a data folder has one service",
    "test_heads": "heads are files beside SQLite",
    "test_kill_mix": "kills a process and opens its data folder",
    "test_modes": "modes of files",
    "test_snapshots": "snapshots are files beside SQLite",
    "test_start": "starts that find damaged files",
    "test_store_edges": "edges of SQLite and its files",
    "test_stores": "the stores themselves",
    "test_survivors": "damages SQLite's files",
    "test_upgrade": "converts the format of 0.1",
    "test_schema": "a check of the API's schema over many services",
    "test_steady": "memory and files of one process",
    "test_postgres": "is about PostgreSQL already",
    "test_postgres_lost": "is about PostgreSQL already",
    "test_store_copy": "is about both",
    "test_many_stores": "is about all",
}
#: Single tests, by file and name.
ABOUT_FILES_TOO: dict[tuple[str, str], str] = {
    ("test_engine", "test_snapshots_are_taken_and_only_three_are_kept"): "snapshots are files beside SQLite",
    ("test_engine", "test_a_newer_database_is_not_touched"): "writes to SQLite's file",
    ("test_forgetting", "test_it_is_as_if_the_person_had_never_been"): "looks for bytes in files",
    ("test_forgetting", "test_a_crash_before_the_files_are_clean_is_made_good"): "looks for bytes in files",
    ("test_retention", "test_the_folder_is_sound_and_the_file_holds_nothing_old"): "looks for bytes in files",
    ("test_retention", "test_damage_is_found"): "damages SQLite's file",
    ("test_retention", "test_snapshots_of_before_the_base_are_no_witnesses"): "snapshots are files beside SQLite",
    ("test_retention", "test_a_base_without_its_state_is_refused"): "damages SQLite's file",
    ("test_retention", "test_shared_memory_that_a_kill_left_in_disorder"): "SQLite's shared memory",
    ("test_promoting", "test_a_promotion_replays_and_is_returned_from"): "copies the data folder",
    ("test_promoting", "test_a_key_is_forgotten_in_what_was_promoted"): "copies the data folder",
    ("test_tokens", "test_a_token_from_its_making_to_its_end"): "a token of another process is seen a moment later",
    ("test_http", "test_tokens_are_needed_once_one_exists"): "a token of another process is seen a moment later",
    ("test_http", "test_without_a_token_only_this_machine_is_served"): "a token is seen a moment later",
    ("test_http", "test_health_metrics_and_the_document"): "a worker tells its number, too",
    ("test_client", "test_a_token"): "a token of another process is seen a moment later",
    ("test_client", "test_the_clients_log_is_what_the_command_exports"): "asks a command in a process of its own",
    ("test_examples", "test_the_log_is_sound_and_rebuilds"): "snapshots are the owner's, who is not known yet",
    ("test_rewards", "test_over_http"): "a slot's owner learns its silences, within a second, not before each answer",
}


def place(cluster: Cluster, folder: Path) -> str:
    """Where a folder is then."""
    return cluster.url(idle_s="60", schema=f"t{blake2b(str(folder.resolve()).encode(), digest_size=8).hexdigest()}")


def about_files(request: pytest.FixtureRequest) -> str | None:
    """Why a test has nothing to say of PostgreSQL, or None."""
    if "faults" in request.path.parts:
        return "faults below SQLite"
    if "fsck(" in getsource(request.function):
        return "has a data folder checked; of a database test_store_copy does"
    file, name = request.path.stem, request.node.name.partition("[")[0]
    return ABOUT_FILES.get(file) or ABOUT_FILES_TOO.get((file, name))


def move(cluster: Cluster, patch: pytest.MonkeyPatch) -> None:
    """Let the tests find their stores in PostgreSQL."""
    there = inspection.existing

    def opened(folder: Path, synchronous: str = "FULL") -> PostgresStore:
        return PostgresStore(place(cluster, folder), readers=4)

    def reading(where: Any, access: str, database: Path | None) -> PostgresReader:
        return PostgresReader(Address.of(place(cluster, where) if isinstance(where, Path) else where.url))

    def existing(where: Any) -> Any:
        return there(Database(place(cluster, where)) if isinstance(where, Path) else where)

    patch.setattr(places, "SQLiteStore", opened)
    patch.setattr(inspection, "_reading", reading)
    patch.setattr(inspection, "existing", existing)
    patch.setattr(live, "where", lambda folder: place(cluster, folder))
