"""The lists of learners that people and type checkers read, from the register; the code itself needs none of them.

``python docs/extensions/listings.py`` (``make listings``) writes those that are kept: the imports that type checkers
follow, ``__all__``, the README's table; the front of the bounds; the table of all aims beyond the papers; and the
OpenAPI document that the TypeScript client's types are made from. As a hook of MkDocs this file puts the learners into
the API page when the page is built.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import smidgen
from smidgen.learners import Learner, cards, learners
from smidgen.service.http.openapi import document
from smidgen.tables import in_order, learner_markdown
from smidgen.theory import choose, filter, label, preferences, tune
from smidgen_papers.aims import aims_page

ROOT = Path(__file__).parents[2]
FRONT = ROOT / "src" / "smidgen" / "__init__.py"
FOLDERS = tuple(sorted(path.parent for path in (FRONT.parent / "learners").glob("*/__init__.py")))
BOUNDS = FRONT.parent / "theory" / "bounds.py"
README = ROOT / "README.md"
BEYOND = ROOT / "docs" / "beyond"
OPENAPI = ROOT / "clients" / "typescript" / "openapi.json"
#: The files that bounds stand in.
STATING = (choose, filter, label, preferences, tune)
#: In the API page: the learners of that folder, each with its documentation.
HERE = re.compile(r"^<!-- learners: (\w+) -->$", re.MULTILINE)
#: In the page of comparisons: the README's table of speed, which the benchmarks write.
SPEED = "<!-- speed -->"
_MEASURED = re.compile(r"<!-- speed:begin -->\n(.*?)<!-- speed:end -->", re.DOTALL)
_CHECKED = re.compile(r"^if TYPE_CHECKING:  # written by `make listings`\n(?: +.*\n)+", re.MULTILINE)
_ALL = re.compile(r"^__all__(?:: list\[str\])? = \[.*?\]$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- learners:begin -->\n).*?(?=<!-- learners:end -->)", re.DOTALL)


def ours(folder: str | None = None) -> dict[str, type[Learner]]:
    """Our own learners (of one folder) in the order of the table."""
    home = "smidgen." if folder is None else f"smidgen.learners.{folder}."
    found = {name: card for name, card in cards.items() if learners[name].__module__.startswith(home)}
    return {name: learners[name] for name in in_order(found)}


def written() -> Iterator[tuple[Path, str]]:
    """Every file that holds such a list, and what it should say."""
    named = {*smidgen._HOME, *smidgen._ROOMS}
    yield FRONT, _front(FRONT.read_text(), ours(), named)
    for folder in FOLDERS:
        text = (folder / "__init__.py").read_text()
        yield folder / "__init__.py", _front(text, ours(folder.name), _imported(text))
    yield BOUNDS, _bounds(BOUNDS.read_text())
    yield README, _TABLE.sub(lambda _: f"{learner_markdown({n: cards[n] for n in ours()})}\n", README.read_text())
    yield BEYOND / "index.md", aims_page(BEYOND)
    yield OPENAPI, json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def _imported(text: str) -> set[str]:
    """The names of ours that the front of a folder imports by hand: base classes, say."""
    hands = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    named = (alias for node in hands if str(node.module).startswith("smidgen.") for alias in node.names)
    return {alias.asname or alias.name for alias in named} - {"discover"}


def _bounds(text: str) -> str:
    """The front of the bounds: every public function of the files that state theorems."""
    lines, everything = [], []
    for home in sorted(STATING, key=lambda module: module.__name__):
        own = [name for name, it in inspect.getmembers(home, inspect.isfunction) if it.__module__ == home.__name__]
        names = _sorted(name for name in own if not name.startswith("_"))
        line = f"from {home.__name__} import {', '.join(names)}\n"
        if len(line) > 121:
            line = f"from {home.__name__} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"
        lines, everything = [*lines, line], [*everything, *names]
    listed = "__all__ = [\n" + "".join(f"    {_quoted(name)},\n" for name in _sorted(everything)) + "]\n"
    return text[: text.index("\nfrom ")] + "\n" + "".join(lines) + "\n" + listed


def _front(text: str, found: dict[str, type[Learner]], named: Iterable[str]) -> str:
    """The front of a package with these learners."""
    homes: dict[str, list[str]] = {}
    for name, cls in found.items():
        homes.setdefault(cls.__module__, []).append(name)
    lines = [f"    from {home} import {', '.join(_sorted(names))}\n" for home, names in sorted(homes.items())]
    text = _CHECKED.sub("if TYPE_CHECKING:  # written by `make listings`\n" + "".join(lines), text)
    everything = _sorted({*named, *found})
    short = f"__all__ = [{', '.join(map(_quoted, everything))}]"
    long = "__all__ = [\n" + "".join(f"    {_quoted(name)},\n" for name in everything) + "]"
    return _ALL.sub(short if len(short) <= 120 else long, text)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _sorted(names: Iterable[str]) -> list[str]:
    """Constants, classes, all else: the order that ruff keeps."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put learners and figures in their places."""

    def listed(found: re.Match[str]) -> str:
        return "\n\n".join(f"::: smidgen.{name}\n    options:\n      heading_level: 3" for name in ours(found[1]))

    return HERE.sub(listed, markdown).replace(SPEED, measured() if SPEED in markdown else SPEED)


def measured() -> str:
    """The README's table of speed, for a page of the documentation."""
    found = _MEASURED.search(README.read_text())
    return found[1].replace("](docs/", "](") if found else ""


if __name__ == "__main__":
    for path, text in written():
        path.write_text(text)
