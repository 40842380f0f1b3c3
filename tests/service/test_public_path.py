"""`smidgen.service` exports the names that others may import, and imports none of them by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from service.bodies import model
from smidgen import service


@pytest.mark.parametrize("name", service.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(service, name).__name__ == name
    assert name in dir(service)


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = service.nothing


def test_every_name_has_a_home() -> None:
    assert sorted(service._HOME) == sorted(service.__all__)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, smidgen.service; print([m for m in sys.modules if m.startswith('smidgen.service.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_places_are_paths_or_text(tmp_path: Path) -> None:
    data, file, copy = str(tmp_path / "data"), str(tmp_path / "backup"), str(tmp_path / "copy")
    engine = service.Engine(data)
    engine.create("m", model({"loop": "filter", "learner": "SimpleFil"}))
    engine.close()
    assert service.fsck(data).sound
    assert service.backup(file, data).models == 1
    service.restore(file, copy)
    with service.Inspection(f"sqlite:{copy}") as seen:
        assert [each.name for each in seen.models()] == ["m"]
