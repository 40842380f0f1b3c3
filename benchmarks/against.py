"""Another version against the one here, in one interleaved run: how many times as long each of our rows takes.

    python -m benchmarks.against FOLDER PYTHON [--only W5] [--rounds 9]

FOLDER is another checkout, PYTHON the interpreter of its environment. A process of each version makes the same
workload; they take turns, contender by contender and round by round. CPU time of the process counts, since others may
use the machine; ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: How long a measurement takes at least, in seconds.
SECONDS = 0.02
#: The environment of both: one thread of BLAS.
ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def work() -> None:
    """Make the workloads of the checkout in the current folder; time what the lines of standard input name."""
    sys.path.insert(0, os.getcwd())
    from benchmarks.__main__ import WORKLOADS

    contenders: dict[str, tuple[Callable[[], object], int]] = {}
    often: dict[str, int] = {}
    for line in sys.stdin:
        order, name = json.loads(line)
        answer: Any = None
        if order == "make":
            workload = WORKLOADS[name](quick=True) if name in WORKLOADS else None
            given = workload.contenders if workload else {}
            contenders = {
                each: run if isinstance(run, tuple) else (run, workload.count)
                for each, run in given.items()
                if each.startswith("smidgen")
            }
            answer = list(contenders)
        elif order == "warm":
            contenders[name][0]()
            often[name] = math.ceil(SECONDS / max(timed(contenders[name][0], 1), 1e-6))
        else:
            run, count = contenders[name]
            answer = timed(run, often[name]) / (often[name] * count) * 1e6
        print(json.dumps(answer), flush=True)


def timed(run: Callable[[], object], often: int) -> float:
    """CPU seconds of so many runs."""
    start = time.process_time()
    for _ in range(often):
        run()
    return time.process_time() - start


class Version:
    """A process that plays the workloads of one checkout."""

    def __init__(self, folder: Path, python: str) -> None:
        sources = os.pathsep.join([str(folder / "src"), str(folder / "papers" / "src")])
        self.process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), "--work"],
            cwd=folder,
            env={**os.environ, **ALONE, "PYTHONPATH": sources},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, order: str, name: str) -> Any:
        """Give an order, and wait for the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([order, name]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def compare(key: str, ours: Version, theirs: Version, rounds: int) -> list[tuple[str, float, float, float]]:
    """For each contender that both have: their time, our time, and the ratio of a round."""
    names = ours.ask("make", key)
    both = [name for name in theirs.ask("make", key) if name in names]
    found = []
    for name in both:
        for each in (ours, theirs):
            each.ask("warm", name)
        pairs = []
        for turn in range(rounds):
            order = (ours, theirs) if turn % 2 else (theirs, ours)
            times = {each: each.ask("time", name) for each in order}
            pairs.append((times[theirs], times[ours]))
        before, after = (statistics.median(each) for each in zip(*pairs, strict=True))
        found.append((name, before, after, statistics.median(b / a for a, b in pairs)))
    return found


def main() -> None:
    """Print a line for each row."""
    if sys.argv[1:] == ["--work"]:
        return work()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("python")
    parser.add_argument("--only", default="", help="only workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    from benchmarks.__main__ import WORKLOADS

    ours, theirs = Version(Path.cwd(), sys.executable), Version(given.folder.resolve(), given.python)
    for key in (name for name in WORKLOADS if given.only in name):
        for name, before, after, ratio in compare(key, ours, theirs, given.rounds):
            print(f"| {key} | {name} | {before:.2f} | {after:.2f} | {ratio:.2f} |", flush=True)
    return None


if __name__ == "__main__":
    main()
