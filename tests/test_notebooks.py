"""The notebooks are kept as they are written: without outputs, which the build of the pages makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def test_there_are_two_and_the_build_runs_them() -> None:
    assert len(NOTEBOOKS) >= 2
    settings = (DOCS.parent / "mkdocs.yml").read_text()
    assert "execute: true" in settings
    assert "allow_errors: false" in settings
    for path in NOTEBOOKS:
        assert f"notebooks/{path.name}" in settings


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_code_compiles_and_no_output_is_kept(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    for cell in code:
        assert not cell["outputs"]
        assert cell["execution_count"] is None
        compile("".join(cell["source"]), str(path), "exec")
