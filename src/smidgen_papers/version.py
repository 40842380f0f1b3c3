"""The version of a piece of code: a hash over its source and everything of ours that it imports."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from functools import cache
from pathlib import Path

_ROOTS = ("smidgen", "smidgen_papers")
#: What computes nothing: lists of names, words of refusal, the machinery that calls the parts and keeps their answers.
_IDLE = frozenset(
    {
        *_ROOTS,
        "smidgen.errors",
        *(f"smidgen_papers.{name}" for name in ("part", "store", "version", "catalogue", "claims")),
    }
)


@cache
def code_version(module: str) -> str:
    """Hash the source of a module and, through its imports, of every module of ours below it.

    A kept result is good as long as nothing that computed it has changed. Imports within functions count, too. What
    computes nothing does not: the package's list of names, its errors, the machinery of parts and claims.
    """
    digest = hashlib.sha256()
    for path in sorted(_closure(module)):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[Path]:
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _source(name)
        if path is None or name in found or (name in _IDLE and name != module):
            continue
        found[name] = path
        waiting.extend(_imports(name, path))
    return set(found.values())


@cache
def _imports(module: str, path: Path) -> tuple[str, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # A name that is imported from a package may be a module of its own.
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(sorted(name for name in names if name.partition(".")[0] in _ROOTS and name != module))


@cache
def _source(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None
