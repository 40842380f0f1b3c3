"""The page about data names every set, every file and every public name."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from smidgen import data as made_up
from smidgen_papers import data
from smidgen_papers.data import sets

API = Path(__file__).parents[3] / "docs" / "api"
PAGE = (API / "data-sets.md").read_text()


@pytest.mark.parametrize("name", sets)
def test_every_set_is_in_the_table_with_its_files(name: str) -> None:
    row = re.search(rf"^\| `{re.escape(name)}` \|.*$", PAGE, re.MULTILINE)
    assert row is not None
    listed = re.findall(r"`(\S+/\S+)`", row[0])
    files = sets[name].files
    assert listed == ([files[0], files[-1]] if "…" in row[0] else list(files))


@pytest.mark.parametrize(("page", "package"), [("data-sets.md", data), ("data.md", made_up)])
def test_every_public_name_has_its_place(page: str, package: ModuleType) -> None:
    members = [
        name for listed in re.findall(r"members: \[(.*)\]", (API / page).read_text()) for name in listed.split(", ")
    ]
    assert sorted(members) == sorted(package.__all__)
