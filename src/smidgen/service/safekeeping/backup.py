"""A backup: one consistent moment of a data folder, beside a running service or without, in one file."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from smidgen import __version__
from smidgen.service.clock import stamp
from smidgen.service.models.spreading import count_of_models
from smidgen.service.models.states import state_problem
from smidgen.service.refusals import StorageFailed
from smidgen.service.safekeeping import archive
from smidgen.service.safekeeping.aside import aside
from smidgen.service.safekeeping.fsck import FsckReport, Progress, fsck
from smidgen.service.store import modes
from smidgen.service.store.crash_points import reach
from smidgen.service.store.head import NAME, Head, Heads
from smidgen.service.store.inspection import Inspection, existing
from smidgen.service.store.places import Place
from smidgen.service.store.schema import FILE
from smidgen.service.store.snapshots import Snapshots
from smidgen.service.store.still import look


def backup(path: Path, folder: Place, *, progress: Progress = lambda what, done, of: None) -> archive.Manifest:
    """Write a backup of a data folder; it is there when it is whole, synced and read back, or not at all.

    A file that is a backup itself is replaced, any other is not.

    Parameters
    ----------
    path
        The file.
    folder
        The data folder; nothing in it is changed.
    progress
        Told how far it is.
    """
    if path.exists() and not archive.is_backup(path):
        raise StorageFailed(f"{path} is there, and it is no backup", "choose another name")
    if not isinstance(folder, Path):
        raise StorageFailed(
            f"{folder} is a database, and a copy of it is its server's matter",
            "pg_dump --format=custom --schema=SCHEMA makes one of one moment; or smidgen store copy into a data folder",
        )
    existing(folder)
    path = path.absolute()
    with aside(path.parent, path.name) as place:
        try:
            copy = place / "data"
            manifest = look(folder, lambda seen: _copy(seen, copy, progress))
            reach("backup-copied")
            _refuse_unsound(fsck(copy, progress=progress), folder)
            _pack(place / "archive", manifest, copy, progress)
            reach("backup-written")
            (place / "archive").replace(path)
            reach("backup-renamed")
            modes.sync_folder(path.parent)
        except OSError as error:
            raise StorageFailed(
                f"the backup cannot be written: {error}", "free some space: twice the size of the data is needed"
            ) from error
    return manifest


def _copy(seen: Inspection, to: Path, progress: Progress) -> archive.Manifest:
    """Database, heads and the newest snapshots of one moment, as a data folder of their own; what it holds."""
    shutil.rmtree(to, ignore_errors=True)  # if somebody began to write meanwhile, it is looked at anew
    modes.make_folder(to)
    seen.file.copy(to / FILE, lambda done, of: progress("copying", done, of))
    names, heads, events = [FILE], {}, 0
    rows = seen.reading.models()
    for row in rows:
        counts = seen.reading.counts(row.slot)
        if counts is None or not counts.seq:
            continue
        events += counts.seq
        heads[row.slot] = Head(counts.seq, counts.chain)
        names += _snapshot(seen, row.slot, to)
    if heads:
        written = Heads(to)
        written.write(heads)
        written.close()
        names.append(NAME)
    files = [archive.entry(to, name) for name in names]
    return archive.Manifest(
        smidgen_backup=archive.FORMAT,
        version=__version__,
        made_at=stamp(time.time()),
        models=count_of_models(row.name for row in rows),
        events=events,
        files=files,
    )


def _snapshot(seen: Inspection, slot: int, to: Path) -> list[str]:
    """Take the newest good snapshot along: it makes the first start quick."""
    for state in seen.reading.states(slot):
        name = f"{Snapshots.NAME}/{slot}/{Path(state.place).name}"
        if state.own and state_problem(state) is None and archive.NAMES.fullmatch(name) is not None:
            modes.make_folder(to / Snapshots.NAME)
            modes.make_folder((to / name).parent)
            with modes.create(to / name) as file:
                file.write(state.content)
            return [name]
    return []


def _pack(path: Path, manifest: archive.Manifest, folder: Path, progress: Progress) -> None:
    """Write the archive, and read it back."""
    total = sum(each.size for each in manifest.files)
    for what in ("writing", "reading back"):
        done = 0

        def passed(count: int, what: str = what) -> None:
            nonlocal done
            done += count
            progress(what, done, total)

        if what == "writing":
            archive.write(path, manifest, folder, passed)
        else:
            with path.open("rb") as file:
                archive.Archive(file, str(path)).verify(passed)


def _refuse_unsound(report: FsckReport, folder: Path) -> None:
    if report.broken:
        first = report.broken[0]
        raise StorageFailed(
            f"{folder} is not sound, and an older backup may be better than this one: {first.where}: {first.problem}",
            f"smidgen fsck --data {folder} says everything; {first.hint}",
        )
