"""The page about data names every set, every file and every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smidgen import data
from smidgen.data import sets

PAGE = (Path(__file__).parents[2] / "docs" / "api" / "data.md").read_text()


@pytest.mark.parametrize("name", sets)
def test_every_set_is_in_the_table_with_its_files(name: str) -> None:
    row = re.search(rf"^\| `{re.escape(name)}` \|.*$", PAGE, re.MULTILINE)
    assert row is not None
    listed = re.findall(r"`(\S+/\S+)`", row[0])
    files = sets[name].files
    assert listed == ([files[0], files[-1]] if "…" in row[0] else list(files))


def test_every_public_name_has_its_place() -> None:
    members = [name for listed in re.findall(r"members: \[(.*)\]", PAGE) for name in listed.split(", ")]
    assert sorted(members) == sorted(data.__all__)
