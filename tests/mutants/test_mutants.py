"""Every mutant dies: put into a copy of the source, it makes the test fail that is there for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.mutants import MUTANTS, Mutant

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src"


def run(source: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests of the project on this source."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not long", "--tb=line"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def mutated(mutant: Mutant, folder: Path) -> Path:
    """A copy of the source with the mutant in it, compiled kernels included."""
    source = Path(shutil.copytree(SOURCE, folder / "src"))
    file = source / "smidgen" / mutant.file
    text = file.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.file} does not have this once: {mutant.old}"
    file.write_text(text.replace(mutant.old, mutant.new))
    return source


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_mutant_can_be_put_in(mutant: Mutant) -> None:
    """The source has the place, the change is one, and what is left can be compiled."""
    text = (SOURCE / "smidgen" / mutant.file).read_text()
    assert text.count(mutant.old) == 1, (
        f"the source has moved on: bring tests/mutants/mutants.py after it ({mutant.name})"
    )
    assert mutant.old != mutant.new
    # A mutant that fails on a name of its own proves nothing about the test that it fails.
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--no-cache", "--quiet", "-"]
    done = subprocess.run(ruff, input=text.replace(mutant.old, mutant.new), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    path, _, name = mutant.killer.partition("::")
    assert f"def {name.rpartition('::')[2]}(" in (PROJECT / path).read_text()


@pytest.mark.long
def test_without_mutants_the_killers_pass() -> None:
    done = run(SOURCE, *sorted({mutant.killer for mutant in MUTANTS}))
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_mutant_dies(mutant: Mutant, tmp_path: Path) -> None:
    done = run(mutated(mutant, tmp_path), mutant.killer)
    assert done.returncode == 1, f"the mutant survives: {done.stdout}{done.stderr}"
    assert "1 failed" in done.stdout, done.stdout
