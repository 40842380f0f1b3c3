"""Parquet: the same rows, and each event in full beside them, so that a log can be played again from the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smidgen.errors import MissingExtra
from smidgen.service.exports import Format, Span
from smidgen.service.exports.rows import columns, rows
from smidgen.service.store.recording import Recording

#: How many events are held at once, and how many bytes of them at most.
GROUP, GROUP_BYTES = 10_000, 64 << 20


def write(recording: Recording, span: Span, path: Path) -> int:
    """The columns of `rows` and ``line``, the event as NDJSON says it; compressed, a group of rows at a time."""
    arrow, parquet = _arrow()
    whole, real, flag, text = arrow.int64(), arrow.float64(), arrow.bool_(), arrow.string()
    kinds = {"slot": whole, "seq": whole, "model_version": whole, "propensity": real, "explored": flag}
    schema = arrow.schema([*((name, kinds.get(name, text)) for name in columns(recording)), ("line", arrow.binary())])
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        held: list[dict[str, Any]] = []
        size = 0
        for event, found in rows(recording, span):
            found["line"] = recording.text(event)
            held.append(found)
            size += len(found["line"])
            if len(held) >= GROUP or size >= GROUP_BYTES:
                file.write_table(arrow.Table.from_pylist(held, schema))
                count, held, size = count + len(held), [], 0
        if held or not count:
            file.write_table(arrow.Table.from_pylist(held, schema))
    return count + len(held)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("Parquet needs pyarrow", 'pip install "smidgen[parquet]"') from error
    return pyarrow, pyarrow.parquet


FORMAT = Format("parquet", "the rows of csv and each event in full, compressed; smidgen replay reads it", write)
