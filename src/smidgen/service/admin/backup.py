"""Back up and restore a data folder.

A backup as one file: a plain tar, a manifest first, then the files that it lists, in that order, and nothing else.

Any tar can unpack it. This reader is stricter than a tar: only regular files of the names that a data folder has, with
the sizes and SHA-256 digests of the manifest; no links, no folders, no extended headers, no compression. So nothing is
read before it is known how large it is, and nothing can be written outside the folder.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import io
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from glob import escape
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import msgspec

from smidgen import __version__
from smidgen.errors import CorruptFile
from smidgen.serialization import UNREADABLE
from smidgen.service.admin.fsck import FsckReport, Progress, fsck
from smidgen.service.engine.inspection import Inspection, query_offline, require_existing
from smidgen.service.engine.model import count_of_models
from smidgen.service.engine.recovery import current_states, state_problem
from smidgen.service.errors import StorageFailed
from smidgen.service.log.events import stamp
from smidgen.service.storage import data_dir
from smidgen.service.storage.address import Place, parse_address
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.data_dir import lock_folder
from smidgen.service.storage.snapshots import NAME, Head, Heads, Snapshots
from smidgen.service.storage.snapshots import NAME as HEADS
from smidgen.service.storage.sqlite_schema import FILE

FORMAT = 1
MANIFEST = "manifest.json"
#: The largest manifest; that of a million models with snapshots is smaller.
MOST_MANIFEST = 256 << 20
#: The names that a data folder's files have.
NAMES = re.compile(r"smidgen\.db|smidgen\.db\.heads|snapshots/[1-9][0-9]{0,17}/[0-9]{15,18}-[0-9a-f]{16}\.smidgen")
_BLOCK = 512
_AT_ONCE = 1 << 20
_HINT = "give what smidgen backup wrote; if it was that, use an older backup"

Count = Annotated[int, msgspec.Meta(ge=0)]


class BackupFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a backup.

    Attributes
    ----------
    name
        Its place in the data folder.
    size
        Its bytes.
    sha256
        Its digest, in hexadecimal digits.
    """

    name: str
    size: Count
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of a backup.

    Attributes
    ----------
    smidgen_backup
        The number of the format.
    version
        The smidgen that made it.
    made_at
        When, in ISO 8601.
    models, events
        How many there are.
    files
        In the order of the archive.
    """

    smidgen_backup: Annotated[int, msgspec.Meta(ge=1)]
    version: str
    made_at: str
    models: Count
    events: Count
    files: list[BackupFile]


_manifests = msgspec.json.Decoder(Manifest)


def entry(folder: Path, name: str) -> BackupFile:
    """A file of a folder, with its size and digest."""
    digest, size = hashlib.sha256(), 0
    with (folder / name).open("rb") as file:
        while part := file.read(_AT_ONCE):
            digest.update(part)
            size += len(part)
    return BackupFile(name, size, digest.hexdigest())


def write(path: Path, manifest: Manifest, folder: Path, passed: Callable[[int], None]) -> None:
    """Write an archive of a folder's files and sync it.

    Parameters
    ----------
    path
        The file, which only its owner can read.
    manifest
        What it holds.
    folder
        Where the files are.
    passed
        Called with the number of bytes written, several times per file.
    """
    text = msgspec.json.encode(manifest)
    with data_dir.create(path) as out:
        _put(out, MANIFEST, io.BytesIO(text), len(text))
        for each in manifest.files:
            with (folder / each.name).open("rb") as file:
                _put(out, each.name, file, each.size, passed)
            crash_point("backup-part")
        out.write(bytes(2 * _BLOCK))
        out.flush()
        os.fsync(out.fileno())


def is_backup(path: Path) -> bool:
    """Return True if a file begins like a backup."""
    try:
        with path.open("rb") as file:
            return _header(file).name == MANIFEST
    except (OSError, CorruptFile):
        return False


class Archive:
    """A backup that is being read; every refusal is a `CorruptFile`.

    Parameters
    ----------
    file
        The opened file.
    name
        What it is called in refusals.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._length = os.fstat(file.fileno()).st_size
        self.manifest = self._manifest()

    def parts(self) -> Iterator[tuple[BackupFile, Iterator[bytes]]]:
        """The files in order, each with its content in pieces; take all of a piece before the next file.

        A content whose digest is wrong is refused at its end.
        """
        for each in self.manifest.files:
            self._expect(each.name, each.size)
            yield each, self._content(each)
        if any(self._read(2 * _BLOCK)) or self._file.read(1):
            raise self._refusal("it has data after its last file")

    def verify(self, passed: Callable[[int], None]) -> None:
        """Read all of it."""
        for _, content in self.parts():
            for part in content:
                passed(len(part))

    def _manifest(self) -> Manifest:
        try:
            head = _header(self._file)
        except CorruptFile as error:
            raise self._refusal(error.problem) from error
        if head.name != MANIFEST or head.size > min(MOST_MANIFEST, self._length):
            raise self._refusal("its first entry is not a manifest")
        text = self._read(head.size)
        self._pad(head.size)
        try:
            found = _manifests.decode(text)
        except UNREADABLE as error:
            raise self._refusal(f"its manifest cannot be read: {error}") from error
        if found.smidgen_backup > FORMAT:
            raise self._refusal(
                f"it has format {found.smidgen_backup}, and this version of smidgen reads format {FORMAT}"
            )
        names = [each.name for each in found.files]
        if len(set(names)) < len(names) or "smidgen.db" not in names:
            raise self._refusal("its manifest lists a file twice or lists no database")
        for name in names:
            if NAMES.fullmatch(name) is None:
                raise self._refusal(f"it holds {name[:200]!r}, which is not a file of a data folder")
        if sum(each.size for each in found.files) > self._length:
            raise self._refusal("it is shorter than its manifest states")
        return found

    def _expect(self, name: str, size: int) -> None:
        try:
            head = _header(self._file)
        except CorruptFile as error:
            raise self._refusal(error.problem) from error
        if (head.name, head.size) != (name, size):
            raise self._refusal(f"it holds another file where its manifest lists {name}")

    def _content(self, each: BackupFile) -> Iterator[bytes]:
        digest, left = hashlib.sha256(), each.size
        while left:
            part = self._read(min(left, _AT_ONCE))
            digest.update(part)
            left -= len(part)
            yield part
        if digest.hexdigest() != each.sha256:
            raise self._refusal(f"the file {each.name} in it is damaged")
        self._pad(each.size)

    def _pad(self, size: int) -> None:
        if any(self._read(-size % _BLOCK)):
            raise self._refusal("it has data between its files")

    def _read(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) < size:
            raise self._refusal("it is truncated")
        return content

    def _refusal(self, problem: str) -> CorruptFile:
        return CorruptFile(f"{self._name} is not a usable backup: {problem}", _HINT)


def _header(file: BinaryIO) -> tarfile.TarInfo:
    """The next header, of a regular file; nothing is followed and nothing is made of it."""
    block = file.read(_BLOCK)
    try:
        head = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, ValueError, OverflowError) as error:
        raise CorruptFile("a header in it cannot be read", _HINT) from error
    if head.type != tarfile.REGTYPE or head.linkname or head.size < 0:
        raise CorruptFile("it holds an entry that is not a regular file", _HINT)
    return head


def _put(
    out: BinaryIO, name: str, file: BinaryIO, size: int, passed: Callable[[int], None] = lambda count: None
) -> None:
    head = tarfile.TarInfo(name)
    head.size, head.mode = size, data_dir.FILE
    out.write(head.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))
    left = size
    while left:
        part = file.read(min(left, _AT_ONCE))
        if not part:
            raise CorruptFile(f"{name} became shorter while it was being copied", "run the backup again")
        out.write(part)
        left -= len(part)
        passed(len(part))
    out.write(bytes(-size % _BLOCK))


# The result is written to a temporary folder and moved into place by a single rename, so a kill leaves nothing partial.

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def staging_dir(parent: Path, name: str) -> Iterator[Path]:
    """A hidden folder for work on something; gone at the end. What a kill left of it is removed by the next one.

    Parameters
    ----------
    parent
        Where it is made.
    name
        What is worked on.
    """
    try:
        _sweep(parent, name)
        place = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".aside", dir=parent))
        place.chmod(data_dir.FOLDER)
        handle = os.open(place, os.O_RDONLY)
    except OSError as error:
        raise StorageFailed(f"{parent} cannot be written to: {error.strerror}", "choose another place") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


def swap_dirs(one: Path, other: Path) -> bool:
    """Let two folders take each other's place at once; False, and nothing is done, where that cannot be."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another system than Linux
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _sweep(parent: Path, name: str) -> None:
    """Remove folders of processes that were killed; a live process holds a lock on its folder."""
    for place in parent.glob(f".{escape(name)}.*.aside"):
        if place.is_symlink() or not place.is_dir():
            continue
        handle = os.open(place, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)


# A backup: one consistent moment of a data folder, next to a running service or without, in one file.


def backup(path: Path | str, folder: Place | str, *, progress: Progress = lambda what, done, of: None) -> Manifest:
    """Write a backup of a data folder; it is there when it is whole, synced and read back, or not at all.

    A file that is a backup itself is replaced, any other is not.

    Parameters
    ----------
    path
        The file.
    folder
        The data folder; nothing in it is changed.
    progress
        Called with the progress.
    """
    path, folder = Path(path), parse_address(folder)
    if path.exists() and not is_backup(path):
        raise StorageFailed(f"{path} exists and is not a backup", "choose another name")
    if not isinstance(folder, Path):
        raise StorageFailed(
            f"{folder} is a database, and smidgen backup copies data folders only",
            "run pg_dump --format=custom --schema=SCHEMA, or copy it to a data folder: smidgen store copy",
        )
    require_existing(folder)
    path = path.absolute()
    with staging_dir(path.parent, path.name) as place:
        try:
            copy = place / "data"
            manifest = query_offline(folder, lambda seen: _copy(seen, copy, progress))
            crash_point("backup-copied")
            _refuse_unsound(fsck(copy, progress=progress), folder)
            _pack(place / "archive", manifest, copy, progress)
            crash_point("backup-written")
            (place / "archive").replace(path)
            crash_point("backup-renamed")
            data_dir.sync_folder(path.parent)
        except OSError as error:
            raise StorageFailed(
                f"the backup cannot be written: {error}", "free disk space: a backup needs twice the size of the data"
            ) from error
    return manifest


def _copy(seen: Inspection, to: Path, progress: Progress) -> Manifest:
    """Database, heads and the newest snapshots of one moment, as a data folder of their own; what it holds."""
    shutil.rmtree(to, ignore_errors=True)  # if a writer started meanwhile, it is checked again
    data_dir.make_folder(to)
    seen.file.copy(to / FILE, lambda done, of: progress("copying", done, of))
    names, heads, events = [FILE], {}, 0
    rows = seen.reading.models()
    for row in rows:
        counts = seen.reading.counts(row.shard)
        if counts is None or not counts.seq:
            continue
        events += counts.seq
        heads[row.shard] = Head(counts.seq, counts.chain)
        names += _snapshot(seen, row.shard, to)
    if heads:
        written = Heads(to)
        written.write(heads)
        written.close()
        names.append(NAME)
    files = [entry(to, name) for name in names]
    return Manifest(
        smidgen_backup=FORMAT,
        version=__version__,
        made_at=stamp(time.time()),
        models=count_of_models(row.name for row in rows),
        events=events,
        files=files,
    )


def _snapshot(seen: Inspection, shard: int, to: Path) -> list[str]:
    """Take the newest good snapshot along: it makes the first start quick."""
    for state in current_states(seen.reading, shard):
        name = f"{Snapshots.NAME}/{shard}/{Path(state.place).name}"
        if state.own and state_problem(state) is None and NAMES.fullmatch(name) is not None:
            data_dir.make_folder(to / Snapshots.NAME)
            data_dir.make_folder((to / name).parent)
            with data_dir.create(to / name) as file:
                file.write(state.content)
            return [name]
    return []


def _pack(path: Path, manifest: Manifest, folder: Path, progress: Progress) -> None:
    """Write the archive, and read it back."""
    total = sum(each.size for each in manifest.files)
    for what in ("writing", "reading back"):
        done = 0

        def passed(count: int, what: str = what) -> None:
            nonlocal done
            done += count
            progress(what, done, total)

        if what == "writing":
            write(path, manifest, folder, passed)
        else:
            with path.open("rb") as file:
                Archive(file, str(path)).verify(passed)


def _refuse_unsound(report: FsckReport, folder: Path) -> None:
    if report.blocking_findings:
        first = report.blocking_findings[0]
        raise StorageFailed(
            f"{folder} has errors, so no backup was written: {first.where}: {first.problem}",
            f"run smidgen fsck --data {folder} for all findings; {first.hint}",
        )


# The way back: from a backup to a data folder that a service starts on.

#: What an empty disk has in it.
_NOTHING = frozenset({"lost+found"})


class Restored(NamedTuple):
    """Contents that were restored.

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
    path: Path | str,
    folder: Path | str,
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
        Rename an old folder. No service may be using it.
    deep
        Learn the logs again, too, before it is put in its place.
    progress
        Called with the progress.
    """
    path, folder = Path(path), Path(folder).resolve()
    filled, disk = _is_nonempty(folder), folder.is_mount()
    if filled and not force:
        raise StorageFailed(
            f"{folder} is not empty", "choose another --data, or add --force, which renames the old folder first"
        )
    if filled and disk:
        raise StorageFailed(
            f"{folder} is a mount point and not empty", "move its contents elsewhere, then restore without --force"
        )
    try:
        with path.open("rb") as file:
            archive = Archive(file, str(path))
            parent, name = (folder, "restore") if disk else (folder.parent, folder.name)
            parent.mkdir(parents=True, exist_ok=True)
            _refuse_small(parent, archive.manifest)
            with staging_dir(parent, name) as place, lock_folder(folder) if filled else nullcontext():
                new = place / "data"
                _unpack(archive, new, progress)
                report = fsck(new, deep=deep, progress=progress)
                _refuse_unsound_backup(report, path)
                crash_point("restore-checked")
                moved = _install(new, folder, filled=filled, disk=disk)
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be restored: {error}", "nothing was changed; check that the folder is writable"
        ) from error
    return Restored(archive.manifest, report, moved)


def _is_nonempty(folder: Path) -> bool:
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise StorageFailed(f"{folder} is not a folder", "choose another --data")
    return any(path.name not in _NOTHING and not path.name.endswith(".aside") for path in folder.iterdir())


def _refuse_small(parent: Path, manifest: Manifest) -> None:
    needed, free = sum(each.size for each in manifest.files), shutil.disk_usage(parent).free
    if needed > free:
        raise StorageFailed(f"the backup needs {needed:,} bytes and {parent} has {free:,}", "free some space")


def _unpack(archive: Archive, to: Path, progress: Progress) -> None:
    """Write the files of a backup and sync them; names were held against those of a data folder."""
    data_dir.make_folder(to)
    total, done = sum(each.size for each in archive.manifest.files), 0
    for each, content in archive.parts():
        for above in reversed((to / each.name).relative_to(to).parents[:-1]):
            data_dir.make_folder(to / above)
        with data_dir.create(to / each.name) as out:
            for part in content:
                out.write(part)
                done += len(part)
                progress("unpacking", done, total)
            out.flush()
            os.fsync(out.fileno())
        data_dir.sync_folder((to / each.name).parent)
        crash_point("restore-part")
    data_dir.sync_folder(to)


def _install(new: Path, folder: Path, *, filled: bool, disk: bool) -> Path | None:
    """Let the new folder take its place; where the old one went."""
    if disk:  # a disk cannot be renamed: its files come one by one, the database last, without which nothing starts
        for name in (HEADS, Snapshots.NAME, FILE):
            if (new / name).exists():
                (new / name).rename(folder / name)
                crash_point("restore-moved")
        data_dir.restrict(folder)
        data_dir.sync_folder(folder)
        return None
    if not filled:
        new.rename(folder)  # instead of an empty one, too
        crash_point("restore-put")
        data_dir.sync_folder(folder.parent)
        return None
    kept = _free(folder.with_name(f"{folder.name}.replaced-{time.strftime('%Y%m%d-%H%M%S')}"))
    new.rename(kept)
    if not swap_dirs(kept, folder):
        swap = _free(kept.with_name(f"{kept.name}.new"))
        kept.rename(swap)
        folder.rename(kept)
        swap.rename(folder)
    crash_point("restore-put")
    data_dir.sync_folder(folder.parent)
    return kept


def _free(path: Path) -> Path:
    """An unused name."""
    found, count = path, 1
    while found.exists():
        count += 1
        found = path.with_name(f"{path.name}-{count}")
    return found


def _refuse_unsound_backup(report: FsckReport, path: Path) -> None:
    if report.blocking_findings:
        first = report.blocking_findings[0]
        raise StorageFailed(
            f"the data in {path} has errors, so nothing was restored: {first.where}: {first.problem}",
            "use an older backup",
        )
