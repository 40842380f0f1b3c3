"""``make simulate``: play many histories, or replay one step by step.

``python -m simulation --seed 7`` prints every step of one history, and every command with its reply.
``python -m simulation --histories 5000`` plays that many, from ``--first`` on, and says how many per second.
"""

from __future__ import annotations

import argparse
import sys
import time

from simulation.laws import check_all
from simulation.oracle import Wrong
from simulation.runner import fail
from simulation.scheduler import history
from simulation.world import World


def replay(seed: int, store: str | None, *, shrunk: bool) -> int:
    """Play one history and print it; the exit status says whether it keeps the rules."""
    found = history(seed, store=store)
    if shrunk and (failure := fail(seed, store)) is not None:
        found = failure.shrunk
        print(failure)
    print(f"set-up: {found.setup}")
    try:
        World(found, print).play(check_all)
    except Wrong as error:
        print(f"WRONG: {error}")
        return 1
    print("all rules are kept")
    return 0


def main() -> int:
    """Read the arguments, and play."""
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay the history of this seed step by step")
    parser.add_argument("--shrunk", action="store_true", help="shrink it first, if it fails")
    parser.add_argument("--first", type=int, default=0, help="the first seed of many")
    parser.add_argument("--histories", type=int, default=1000, help="how many histories to play")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this number of seconds")
    parser.add_argument("--store", choices=["memory", "shared", "sqlite"], help="play all of them on this store")
    given = parser.parse_args()
    if given.seed is not None:
        return replay(given.seed, given.store, shrunk=given.shrunk)
    begun, cpu, failures, count = time.monotonic(), time.process_time(), 0, 0
    for seed in range(given.first, given.first + given.histories):
        if given.seconds is not None and time.monotonic() - begun > given.seconds:
            break
        if (failure := fail(seed, given.store)) is not None:
            print(failure, flush=True)
            failures += 1
        count += 1
    used = time.process_time() - cpu
    print(f"{count} histories, {failures} failed, {count / max(used, 1e-9):.0f} a second of processor time")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
