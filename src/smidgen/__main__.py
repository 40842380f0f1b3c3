"""``python -m smidgen`` and the ``smidgen`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from smidgen.cli import run
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "click"}:
            raise
        sys.exit(f'the smidgen command needs {error.name}; pip install "smidgen[cli]"')
    run()


if __name__ == "__main__":
    main()
