"""Replay a long log and say how long it took and how much memory all its processes held at once.

``python -m benchmarks.replay LOG [options of smidgen replay]``; write a log with ``python -m benchmarks.long_log``.
Memory is the largest sum over all processes of their own pages and their share of common ones (PSS), looked at ten
times a second.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from smidgen.jobs.ray import family


def held(pid: int) -> int:
    """The bytes that a process and all that it started hold now."""
    total = 0
    for each in family(pid):
        try:
            rows = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:  # gone meanwhile
            continue
        total += sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total


def main() -> None:
    start, most = time.perf_counter(), 0
    command = [sys.executable, "-m", "smidgen", "replay", *sys.argv[1:]]
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            most = max(most, held(process.pid))
            time.sleep(0.1)
    children = time.perf_counter() - start
    print(f"{children:.1f} s, at most {most / 1e6:.0f} MB in all processes", file=sys.stderr)
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
