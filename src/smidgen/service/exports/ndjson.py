"""NDJSON: one event per line, as ``GET …/log`` tells them; enough to rebuild the weights bit for bit."""

from __future__ import annotations

from pathlib import Path

from smidgen.service.exports import Format, Span, wanted
from smidgen.service.store.recording import Recording


def write(recording: Recording, span: Span, path: Path) -> int:
    """One line each."""
    count = 0
    with path.open("wb") as file:
        for event in wanted(recording, span):
            file.write(recording.text(event).rstrip(b"\n") + b"\n")
            count += 1
    return count


FORMAT = Format("ndjson", "every event in full, one per line", write)
