"""Folders whose names last: a new file or folder is sure to be found after a power failure once its folder is synced."""

from __future__ import annotations

import os
from pathlib import Path


def make(folder: Path) -> None:
    """Make a folder, and those above it, under names that last; one that is there stays as it is."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in new:
        sync(place.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
