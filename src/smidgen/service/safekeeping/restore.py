"""The way back: from a backup to a data folder that a service starts on."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from smidgen.service.refusals import StorageFailed
from smidgen.service.safekeeping.archive import Archive, Manifest
from smidgen.service.safekeeping.aside import aside, exchange
from smidgen.service.safekeeping.fsck import FsckReport, Progress, fsck
from smidgen.service.store import modes
from smidgen.service.store.crash_points import reach
from smidgen.service.store.head import NAME as HEADS
from smidgen.service.store.lock import only_one
from smidgen.service.store.schema import FILE
from smidgen.service.store.snapshots import Snapshots

#: What an empty disk has in it.
_NOTHING = frozenset({"lost+found"})


class Restored(NamedTuple):
    """What was put back.

    Attributes
    ----------
    manifest
        What the backup held.
    report
        What the check of the new folder said.
    moved
        Where the old folder is now, if there was one.
    """

    manifest: Manifest
    report: FsckReport
    moved: Path | None


def restore(
    path: Path,
    folder: Path,
    *,
    force: bool = False,
    deep: bool = False,
    progress: Progress = lambda what, done, of: None,
) -> Restored:
    """Make a data folder of a backup. It is put in its place when it is whole, synced and sound, or not at all.

    The folder gets the heads that belong to the backup, so that it starts although an older log has taken the place of
    a newer one.

    Parameters
    ----------
    path
        The backup.
    folder
        The data folder: not there, or empty.
    force
        Move an old folder aside. No service may be using it.
    deep
        Learn the logs again, too, before it is put in its place.
    progress
        Told how far it is.
    """
    folder = folder.resolve()
    filled, disk = _filled(folder), folder.is_mount()
    if filled and not force:
        raise StorageFailed(
            f"{folder} is not empty", "choose another --data, or say --force, which moves the old folder aside"
        )
    if filled and disk:
        raise StorageFailed(
            f"{folder} is a disk of its own and not empty", "move what is in it away, then restore without --force"
        )
    try:
        with path.open("rb") as file:
            archive = Archive(file, str(path))
            parent, name = (folder, "restore") if disk else (folder.parent, folder.name)
            parent.mkdir(parents=True, exist_ok=True)
            _refuse_small(parent, archive.manifest)
            with aside(parent, name) as place, only_one(folder) if filled else nullcontext():
                new = place / "data"
                _unpack(archive, new, progress)
                report = fsck(new, deep=deep, progress=progress)
                _refuse_unsound(report, path)
                reach("restore-checked")
                moved = _put(new, folder, filled=filled, disk=disk)
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be restored: {error}", "nothing was changed; see that the folder can be written to"
        ) from error
    return Restored(archive.manifest, report, moved)


def _filled(folder: Path) -> bool:
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise StorageFailed(f"{folder} is no folder", "choose another --data")
    return any(path.name not in _NOTHING and not path.name.endswith(".aside") for path in folder.iterdir())


def _refuse_small(parent: Path, manifest: Manifest) -> None:
    needed, free = sum(each.size for each in manifest.files), shutil.disk_usage(parent).free
    if needed > free:
        raise StorageFailed(f"the backup needs {needed:,} bytes and {parent} has {free:,}", "free some space")


def _unpack(archive: Archive, to: Path, progress: Progress) -> None:
    """Write the files of a backup and sync them; names were held against those of a data folder."""
    modes.make_folder(to)
    total, done = sum(each.size for each in archive.manifest.files), 0
    for each, content in archive.parts():
        for above in reversed((to / each.name).relative_to(to).parents[:-1]):
            modes.make_folder(to / above)
        with modes.create(to / each.name) as out:
            for part in content:
                out.write(part)
                done += len(part)
                progress("unpacking", done, total)
            out.flush()
            os.fsync(out.fileno())
        modes.sync_folder((to / each.name).parent)
        reach("restore-part")
    modes.sync_folder(to)


def _put(new: Path, folder: Path, *, filled: bool, disk: bool) -> Path | None:
    """Let the new folder take its place; where the old one went."""
    if disk:  # a disk cannot be renamed: its files come one by one, the database last, without which nothing starts
        for name in (HEADS, Snapshots.NAME, FILE):
            if (new / name).exists():
                (new / name).rename(folder / name)
                reach("restore-moved")
        modes.tighten(folder)
        modes.sync_folder(folder)
        return None
    if not filled:
        new.rename(folder)  # in the place of an empty one, too
        reach("restore-put")
        modes.sync_folder(folder.parent)
        return None
    kept = _free(folder.with_name(f"{folder.name}.replaced-{time.strftime('%Y%m%d-%H%M%S')}"))
    new.rename(kept)
    if not exchange(kept, folder):
        swap = _free(kept.with_name(f"{kept.name}.new"))
        kept.rename(swap)
        folder.rename(kept)
        swap.rename(folder)
    reach("restore-put")
    modes.sync_folder(folder.parent)
    return kept


def _free(path: Path) -> Path:
    """A name that nobody has."""
    found, count = path, 1
    while found.exists():
        count += 1
        found = path.with_name(f"{path.name}-{count}")
    return found


def _refuse_unsound(report: FsckReport, path: Path) -> None:
    if report.broken:
        first = report.broken[0]
        raise StorageFailed(
            f"what {path} holds is not sound, and nothing was put back: {first.where}: {first.problem}",
            "use an older backup",
        )
