"""``python -m smidgen`` and the ``smidgen`` command."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    gc.set_threshold(20_000)  # what is imported stays: to look through it again and again takes longer than most of it
    try:
        from smidgen.cli import run
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.exit(f'the smidgen command needs {error.name}; pip install "smidgen[cli]"')
    run()


if __name__ == "__main__":
    main()
