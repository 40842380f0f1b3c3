"""Where and with what numbers are made."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "smidgen",
    "scikit-learn",
    "vowpalwabbit",
    "river",
    "mabwiser",
    "contextualbandits",
)


def machine() -> dict[str, Any]:
    """Date, CPU, load, versions."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "load": [round(value, 2) for value in os.getloadavg()],
        "versions": {"python": platform.python_version(), **_versions(), **_compiler()},
    }


def described(where: dict[str, Any]) -> str:
    """The same in a sentence; the load average is that of the last 15 minutes before."""
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    return (
        f"Measured on {where['date']}: {where['cpu']} (load average {where['load'][-1]} before the start); {versions}."
    )


def _versions() -> dict[str, str]:
    """The versions of those packages that are here."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _compiler() -> dict[str, str]:
    path = shutil.which("g++")
    if path is None:
        return {}
    return {
        "g++": subprocess.run([path, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []
