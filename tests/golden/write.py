"""Write the golden files of a format: ``python tests/golden/write.py 1.0``, or ``make golden FORMAT=1.0``.

A folder that is there is never overwritten: a format that was released stays as it is for ever. Learners that are new
are added to it. ``--force`` is for the time before a release.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    tests = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(tests), str(tests.parent / "src")]
    from golden.writing import main

    main(sys.argv[1:])
