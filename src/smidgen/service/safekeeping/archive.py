"""A backup as one file: a plain tar, a manifest first, then the files that it lists, in that order, and nothing else.

Any tar can unpack it. This reader is stricter than a tar: only regular files of the names that a data folder has, with
the sizes and SHA-256 digests of the manifest; no links, no folders, no extended headers, no compression. So nothing is
read before it is known how large it is, and nothing can be written outside the folder.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec

from smidgen.errors import CorruptFile
from smidgen.service.store import modes
from smidgen.service.store.crash_points import reach

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
    """What a backup holds.

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
        Told of the bytes of files that are written, some at a time.
    """
    text = msgspec.json.encode(manifest)
    with modes.create(path) as out:
        _put(out, MANIFEST, io.BytesIO(text), len(text))
        for each in manifest.files:
            with (folder / each.name).open("rb") as file:
                _put(out, each.name, file, each.size, passed)
            reach("backup-part")
        out.write(bytes(2 * _BLOCK))
        out.flush()
        os.fsync(out.fileno())


def is_backup(path: Path) -> bool:
    """Whether a file begins as backups do."""
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
            raise self._refusal("something follows after its last file")

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
            raise self._refusal("it does not begin with a manifest")
        text = self._read(head.size)
        self._pad(head.size)
        try:
            found = _manifests.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._refusal(f"its manifest cannot be read: {error}") from error
        if found.smidgen_backup > FORMAT:
            raise self._refusal(f"it has the format {found.smidgen_backup} and this smidgen knows {FORMAT}")
        names = [each.name for each in found.files]
        if len(set(names)) < len(names) or "smidgen.db" not in names:
            raise self._refusal("its manifest lists a file twice, or no database")
        for name in names:
            if NAMES.fullmatch(name) is None:
                raise self._refusal(f"it holds {name[:200]!r}, which is no file of a data folder")
        if sum(each.size for each in found.files) > self._length:
            raise self._refusal("it is shorter than its manifest says")
        return found

    def _expect(self, name: str, size: int) -> None:
        try:
            head = _header(self._file)
        except CorruptFile as error:
            raise self._refusal(error.problem) from error
        if (head.name, head.size) != (name, size):
            raise self._refusal(f"where its manifest has {name}, it holds something else")

    def _content(self, each: BackupFile) -> Iterator[bytes]:
        digest, left = hashlib.sha256(), each.size
        while left:
            part = self._read(min(left, _AT_ONCE))
            digest.update(part)
            left -= len(part)
            yield part
        if digest.hexdigest() != each.sha256:
            raise self._refusal(f"{each.name} in it is damaged")
        self._pad(each.size)

    def _pad(self, size: int) -> None:
        if any(self._read(-size % _BLOCK)):
            raise self._refusal("something stands between its files")

    def _read(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) < size:
            raise self._refusal("it ends in the middle")
        return content

    def _refusal(self, problem: str) -> CorruptFile:
        return CorruptFile(f"{self._name} is no backup that can be used: {problem}", _HINT)


def _header(file: BinaryIO) -> tarfile.TarInfo:
    """The next header, of a regular file; nothing is followed and nothing is made of it."""
    block = file.read(_BLOCK)
    try:
        head = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.HeaderError, ValueError, OverflowError) as error:
        raise CorruptFile("a header in it cannot be read", _HINT) from error
    if head.type != tarfile.REGTYPE or head.linkname or head.size < 0:
        raise CorruptFile("it holds something that is no plain file", _HINT)
    return head


def _put(
    out: BinaryIO, name: str, file: BinaryIO, size: int, passed: Callable[[int], None] = lambda count: None
) -> None:
    head = tarfile.TarInfo(name)
    head.size, head.mode = size, modes.FILE
    out.write(head.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))
    left = size
    while left:
        part = file.read(min(left, _AT_ONCE))
        if not part:
            raise CorruptFile(f"{name} became shorter while it was copied", "try again")
        out.write(part)
        left -= len(part)
        passed(len(part))
    out.write(bytes(-size % _BLOCK))
