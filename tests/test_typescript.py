"""The TypeScript client keeps up with the service; that it works, its own tests show (`make test-typescript`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from smidgen import __version__
from smidgen.service.http.openapi import document

FOLDER = Path(__file__).parents[1] / "clients" / "typescript"
CLIENT = (FOLDER / "src" / "client.ts").read_text()
PACKAGE = json.loads((FOLDER / "package.json").read_text())
#: For those who watch over the service, not for apps.
PROBES = {"/healthz", "/metrics"}
#: Calls of other systems, which have clients of their own.
OTHERS = ("/personalizer/", "/ofrep/")
CALLS = [
    (method.upper(), path)
    for path, entry in document()["paths"].items()
    for method in entry.keys() - {"parameters"}
    if path not in PROBES and not path.startswith(OTHERS)
]


@pytest.mark.parametrize(("method", "path"), sorted(CALLS), ids=lambda it: it)
def test_every_call_has_a_method(method: str, path: str) -> None:
    written = path.replace("/v1/models/{name}", "${model(name)}").replace("/v1/decisions/{id}", "${decision(decided)}")
    written = written.replace("{key}", "${encodeURIComponent(key)}").replace("{id}", "${encodeURIComponent(id)}")
    forms = (
        f"`{written}",
        f'"{written}"',
        f"{written[2:-1]}," if written.startswith("${") else "",
        f"{written[2:-1]})",
    )
    sent = [line for line in CLIENT.splitlines() if f'("{method}", ' in line]
    assert any(form and form in line for line in sent for form in forms), f"{method} {path} is missing in client.ts"


def test_it_needs_no_other_package_and_names_no_host() -> None:
    assert "dependencies" not in PACKAGE
    assert {"build", "test"} <= PACKAGE["scripts"].keys()
    assert PACKAGE["version"] == __version__
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in PACKAGE["devDependencies"].values())
    assert not (FOLDER / "package-lock.json").exists() or "http" not in (FOLDER / "package-lock.json").read_text()
