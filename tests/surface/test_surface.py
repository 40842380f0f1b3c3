"""The public surface changes by intent only."""

from __future__ import annotations

import sys
from difflib import unified_diff
from pathlib import Path

import pytest

from processes import run
from surface.snapshots import HERE, SNAPSHOTS


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshots as the code has them now, made by a process that no other test has changed."""
    folder = tmp_path_factory.mktemp("surface")
    done = run(
        [sys.executable, str(HERE / "snapshots.py"), str(folder)], timeout=600
    )  # kernels may have to be compiled
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_the_surface_is_the_one_on_file(captured: Path, name: str) -> None:
    kept, now = ((folder / name).read_text().splitlines() for folder in (HERE, captured))
    changes = list(unified_diff(kept, now, f"tests/surface/{name}", "now", n=2, lineterm=""))
    if changes:
        hint = "the public surface has changed; if you mean it, run `make surface` and commit what it writes"
        pytest.fail("\n".join([hint, *changes]), pytrace=False)


def test_every_file_is_compared() -> None:
    assert {path.name for path in HERE.iterdir() if path.suffix in (".txt", ".json")} == set(SNAPSHOTS)
