"""The two papers on coactive learning share studies: either may be imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["coactive", "coactive2012"])
def test_either_paper_can_come_first(module: str) -> None:
    code = (
        f"import smidgen_papers.{module}; from smidgen_papers.catalogue import figures; "
        "print(len(figures), sum(not figure.studies for figure in figures.values()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["23", "0"]  # 18 figures, Lemma 3 and four figures of 2012, each with a study
