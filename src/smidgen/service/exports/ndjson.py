"""NDJSON: one event per line, as ``GET …/log`` tells them; enough to rebuild the weights bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from smidgen.service.exports import Format, Span, wanted
from smidgen.service.store.recording import Recording


def lines(recording: Recording, span: Span) -> Iterator[bytes]:
    """The wanted events, each with the end of its line."""
    return (recording.text(event).rstrip(b"\n") + b"\n" for event in wanted(recording, span))


def write(recording: Recording, span: Span, path: Path) -> int:
    """One line each."""
    count = 0
    with path.open("wb") as file:
        for line in lines(recording, span):
            file.write(line)
            count += 1
    return count


FORMAT = Format("ndjson", "every event in full, one per line", write)
