"""The papers compile kernels of their own: none of their files imports the library's compiled core.

The modules of the core are made when it is imported and have no files, so import-linter does not see imports of them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import smidgen_papers

FILES = sorted(Path(str(smidgen_papers.__file__)).parent.rglob("*.py"))


def imported(tree: ast.AST) -> set[str]:
    """Every module that is imported, and every name that may be one."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def is_core(module: str) -> bool:
    return module == "smidgen._core" or module.startswith("smidgen._core.")


@pytest.mark.parametrize(
    "line", ["import smidgen._core", "from smidgen import _core", "from smidgen._core.random import perturb"]
)
def test_every_way_to_import_the_core_is_seen(line: str) -> None:
    assert any(map(is_core, imported(ast.parse(line))))


def test_no_file_imports_the_core() -> None:
    assert FILES
    found = {path.name for path in FILES if any(map(is_core, imported(ast.parse(path.read_text()))))}
    assert found == set()
