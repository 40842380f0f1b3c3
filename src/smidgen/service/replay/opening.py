"""What people give to be replayed: a file, a folder of files, or a model's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from smidgen.errors import InvalidRecord
from smidgen.service.replay.parquet import LINE, ParquetLog, opened
from smidgen.service.replay.recordings import FilesRecording
from smidgen.service.replay.texts import LogFile, NdjsonLog
from smidgen.service.store.database_recording import recording_of
from smidgen.service.store.inspection import Inspection
from smidgen.service.store.places import Place
from smidgen.service.store.recording import Recording

#: Files of a folder that are read as a log.
ENDINGS = (".parquet", ".ndjson", ".jsonl", ".dsjson", ".json")


def files_of(path: Path) -> list[Path]:
    """The files of a log: one, or those of a folder; none if there is nothing of that name."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(each for each in path.iterdir() if each.suffix in ENDINGS and each.is_file())
    return []


def kind_of(path: Path) -> str:
    """What a file holds: ``log``, ``dsjson`` or ``table``."""
    if _is_parquet(path):
        file = opened(path)
        with file:
            return "log" if LINE in file.schema_arrow.names else "table"
    with path.open("rb") as content:
        first = next((line for line in content if line.strip()), b"")
    try:
        told = msgspec.json.decode(first) if first else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "log"  # whose reader says what is wrong with it
    return "dsjson" if isinstance(told, dict) and "seq" not in told and "c" in told else "log"


@contextmanager
def recorded(name: str, data: Place) -> Iterator[Recording]:
    """The log of that name: files if there are any, else that of a model."""
    if not (files := files_of(Path(name))):
        with Inspection(data) as seen:
            yield recording_of(seen, seen.model(name))
        return
    kinds = {kind_of(each) for each in files}
    if kinds == {"dsjson"}:
        from smidgen.service.replay.foreign import DsjsonRecording

        yield DsjsonRecording(name, files)
        return
    if kinds != {"log"}:
        raise InvalidRecord(f"{name} holds {' and '.join(sorted(kinds))}", "give files of one kind")
    recording = FilesRecording(name, [_texts(each) for each in files])
    try:
        yield recording
    finally:
        recording.close()


def _texts(path: Path) -> LogFile:
    return ParquetLog(path) if _is_parquet(path) else NdjsonLog(path)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"
