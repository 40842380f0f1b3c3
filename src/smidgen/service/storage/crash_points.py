"""Named places where a test can kill the process, to see that nothing is lost. Without a test they do nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

#: Every place, in the order in which a feedback passes them. ``SMIDGEN_CRASH_AT=name:3`` kills at the third passing.
POINTS = (
    "migration",
    "before-begin",
    "after-begin",
    "decision-appended",
    "learnt",
    "feedback-appended",
    "key-state-written",
    "before-commit",
    "after-commit",
    "snapshot-aside",
    "snapshot-renamed",
    "snapshot-synced",
)
#: The places that the other calls pass which write; the tests have each of them in a call that is killed there.
LIFE = (
    "event-appended",
    "taught",
    "retraction-appended",
    "rollback-appended",
    "events-rewritten",
    "forgetting-appended",
    "states-dropped",
    "file-compacted",
    "base-staged",
    "base-made",
    "base-tidied",
)
#: Crash points of expiry, of showing, of shadows and challengers, and of promotion.
TRIALS = (
    "showing-appended",
    "lesson-appended",
    "passed-on",
    "expiry-appended",
    "silence-learnt",
    "promoted",
)
#: Every place that a backup passes, and then those of restoring it.
KEEPING = (
    "backup-copied",
    "backup-part",
    "backup-written",
    "backup-renamed",
    "restore-part",
    "restore-checked",
    "restore-moved",
    "restore-put",
)
VARIABLE = "SMIDGEN_CRASH_AT"

_wanted = ""
_left = 0
_observer: Callable[[str], None] | None = None


def arm(text: str) -> None:
    """Kill the process when it reaches ``name`` for the first time, or ``name:n`` for the n-th; '' disarms.

    Examples
    --------
    >>> from smidgen.service.storage.crash_points import arm, crash_point
    >>> arm("before-commit:2")
    >>> crash_point("before-commit")  # the next time would be the last
    >>> arm("")
    """
    global _wanted, _left
    _wanted, _, times = text.partition(":")
    _left = int(times or 1)


def watch(observer: Callable[[str], None] | None) -> None:
    """Call a function with the name of every place that is passed, in the thread that passes it; None ends that.

    A simulation interleaves other work there, or raises in the place of a disk that refuses.
    """
    global _observer
    _observer = observer


def crash_point(name: str) -> None:
    """Pass a place; the end, if a test wants it so."""
    global _left
    if _observer is not None:
        _observer(name)
    if name != _wanted:
        return
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


arm(os.environ.get(VARIABLE, ""))
