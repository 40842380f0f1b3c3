"""Python in a process of its own: for what must not be imported, and for what might take the process down."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

run = partial(subprocess.run, capture_output=True, text=True, timeout=120, check=False)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this very interpreter."""
    return run([sys.executable, *arguments])
