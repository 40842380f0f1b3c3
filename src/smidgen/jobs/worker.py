"""Worker process: runs one task after the other, reading them from standard input and answering on standard output.

A task comes as a line of JSON. While it is done, lines of JSON say how far it is; then one says how long the answer
is, and the answer's bytes follow. The process ends when its input does, so it never outlives the one who started it.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
from typing import BinaryIO

import msgspec

from smidgen.jobs.task import Task, dump_error


def main() -> None:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts the whole group ends us as well
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a task prints does not come between the answers
    given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(given,), daemon=True).start()
    while True:
        _work(given.get(), out)


def _listen(given: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        given.put(line)
    os._exit(0)


def _work(line: bytes, out: BinaryIO) -> None:
    answer = b""
    try:
        task = msgspec.json.decode(line)
        for each in Task(task["work"], task["settings"]).run():
            if isinstance(each, bytes):
                answer = each
            else:
                _say(out, {"at": each})
    except Exception as error:  # any exception is reported to the caller
        if not dump_error(error)["error"]:
            traceback.print_exc()
        _say(out, dump_error(error))
        return
    _say(out, {"answer": len(answer)}, answer)


def _say(out: BinaryIO, said: object, more: bytes = b"") -> None:
    out.write(msgspec.json.encode(said) + b"\n" + more)
    out.flush()


if __name__ == "__main__":
    main()
