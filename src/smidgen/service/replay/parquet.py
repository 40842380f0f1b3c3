"""A Parquet file of a log: read a group of rows at a time, the latest groups kept for those who look back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smidgen.errors import InvalidRecord, MissingExtra
from smidgen.service.replay.texts import LogFile

#: The column that holds each event in full.
LINE = "line"
#: So many bytes of lines are kept, of the groups that were read last.
KEPT = 128 << 20


class ParquetLog(LogFile):
    """A Parquet file as ``smidgen log export --format parquet`` writes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = opened(path)
        if LINE not in self._file.schema_arrow.names:
            raise InvalidRecord(
                f"{path} has no column {LINE!r}", "give what smidgen log export --format parquet wrote, or a table"
            )
        about = self._file.metadata
        self._sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._bytes = 0

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The row of each line, and the line."""
        row = 0
        for group, size in enumerate(self._sizes):
            for text in self._group(group):
                yield row, text.as_py()
                row += 1
            if row != sum(self._sizes[: group + 1]):
                raise InvalidRecord(f"{self.path} has {row} rows where {size} more are said", "export it again")

    def line(self, place: int) -> bytes:
        """The line of a row."""
        group = 0
        while place >= self._sizes[group]:
            place -= self._sizes[group]
            group += 1
        text: bytes = self._group(group)[place].as_py()
        return text

    def count(self) -> int:
        """How many rows there are."""
        return sum(self._sizes)

    def holding(self, *words: bytes) -> Iterator[bytes]:
        """The lines whose type is one of these words; of other files of events, those that hold one."""
        names = self._file.schema_arrow.names
        wanted = {word.decode() for word in words}
        for group in range(len(self._sizes)):
            if "type" in names:
                types = self._file.read_row_group(group, columns=["type"])["type"].unique().to_pylist()
                if not wanted & set(types):
                    continue
            for text in self._group(group):
                if any(word in text.as_py() for word in words):
                    yield text.as_py()

    def close(self) -> None:
        """Close the file."""
        self._kept.clear()
        self._file.close()

    def _group(self, group: int) -> Any:
        """The lines of a group of rows."""
        if group in self._kept:
            self._kept.move_to_end(group)
            return self._kept[group]
        column = self._file.read_row_group(group, columns=[LINE], use_threads=False)[LINE].combine_chunks()
        self._kept[group] = column
        self._bytes += column.nbytes
        while self._bytes > KEPT and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return column


def opened(path: Path) -> Any:
    """A Parquet file, open."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("Parquet needs pyarrow", 'pip install "smidgen[parquet]"') from error
    try:
        return pyarrow.parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InvalidRecord(f"{path} is no Parquet file: {error}", "export it again") from error
