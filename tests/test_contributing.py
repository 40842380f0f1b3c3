"""The guide for contributors: its map names files that exist, and answers what newcomers ask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "smidgen"
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
MAP = GUIDE.partition("## Where is …?")[2].partition("\nTen questions")[0]
QUESTIONS = GUIDE.partition("Ten questions")[2].partition("\n### ")[0]
LIFE = GUIDE.partition("## The life of a request")[2].partition("\n## ")[0]
#: Placeholders that a reader fills in, and what is built.
INVENTED = re.compile(r"NAME|LOOP|PACKAGE|FILE|FOLDER|^site/")


def linked(text: str) -> list[str]:
    """The files below the source that a part of the guide links to."""
    return re.findall(r"\]\(src/smidgen/([^)]+)\)", text)


def paths(text: str) -> list[str]:
    """Words that look like paths of the project: with a slash and an ending, or below one of its folders."""
    words = [word for words in re.findall(r"`([^`\n]+)`", text) for word in words.split()]
    looks = re.compile(r"^[\w.*-]+(/[\w.*-]+)+\.(py|md|json|cpp)$|^(src|tests|docs|papers|clients)/[\w./*-]*$")
    return sorted({word for word in words if looks.match(word) and not INVENTED.search(word)})


def test_the_map_covers_the_package() -> None:
    rows = [line for line in MAP.splitlines() if line.startswith("| ") and "](src/" in line]
    assert len(rows) >= 60
    named = set(linked(MAP))
    layers = {path.name for path in (SRC / "service").iterdir() if (path / "__init__.py").exists()}
    assert layers <= {name.split("/")[1] for name in named if name.startswith("service/")}


@pytest.mark.parametrize("part", [MAP, QUESTIONS, LIFE], ids=["map", "questions", "life"])
def test_links_lead_to_files(part: str) -> None:
    assert linked(part)
    assert [name for name in linked(part) if not (SRC / name).is_file()] == []


@pytest.mark.parametrize("path", paths(GUIDE))
def test_paths_exist(path: str) -> None:
    below = (ROOT, SRC, SRC / "service")
    assert any(list(base.glob(path.rstrip("/"))) for base in below), f"CONTRIBUTING.md names {path}, which is not there"


def test_ten_questions_are_answered_by_the_map() -> None:
    rows = [line for line in QUESTIONS.splitlines() if "?" in line and "](src/" in line]
    assert len(rows) == 10
    assert set(linked(QUESTIONS)) <= set(linked(MAP)) | {"learners/choose/lin_ucb.py"}


def test_every_how_to_is_there() -> None:
    for what in ("learner", "feature kind", "loop", "store", "endpoint", "health check", "integration"):
        assert re.search(rf"^## Add an? {what}$", GUIDE, re.M), what
