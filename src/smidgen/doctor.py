"""``smidgen doctor``: check that this machine has what smidgen needs, and say how to fix what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from smidgen import __version__

State = Literal["ok", "note", "problem"]
#: Free bytes below which a disk is reported as nearly full.
FREE = 1 << 30
#: Recommended limit of open files: each connection needs one.
FILES = 4_096


@dataclass(frozen=True)
class Diagnosis:
    """Result of one check.

    Attributes
    ----------
    what, found
        Name of the check, and its finding.
    state
        ``"problem"`` if smidgen cannot run, ``"note"`` if something optional is missing.
    hint
        How to fix it.
    """

    what: str
    found: str
    state: State = "ok"
    hint: str = ""


def examine(data: Path, host: str = "127.0.0.1", port: int = 8470) -> Iterator[Diagnosis]:
    """Run all checks in order; changes nothing.

    Parameters
    ----------
    data
        Data folder of the service; it does not have to exist.
    host, port
        Address and port on which the service would listen.
    """
    looks: list[Callable[[], Diagnosis]] = [
        _python,
        lambda: _package("numpy"),
        _core,
        *(_extra(name, packages) for name, packages in _extras().items()),
        _sqlite,
        lambda: _folder(data),
        lambda: _disk(data),
        lambda: _port(host, port),
        _open_files,
    ]
    for look in looks:
        yield look()


def _python() -> Diagnosis:
    version = ".".join(map(str, sys.version_info[:3]))
    versions = f"Python {version}, smidgen {__version__}"
    good = sys.version_info >= (3, 11)
    return (
        Diagnosis("versions", versions)
        if good
        else Diagnosis("versions", versions, "problem", "install Python 3.11 or newer")
    )


def _package(name: str) -> Diagnosis:
    try:
        return Diagnosis(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Diagnosis(name, "not installed", "problem", "pip install smidgen")


def _core() -> Diagnosis:
    """The compiled core, and the instruction-set level that it uses here."""
    try:
        from smidgen import _core as core
    except ImportError as error:
        return Diagnosis("core", "not usable", "problem", str(error))
    return Diagnosis("core", f"compiled, for {core.LEVEL}")


def _extras() -> dict[str, list[str]]:
    """Return the optional extras, and the packages of each."""
    wanted: dict[str, list[str]] = {}
    for line in importlib.metadata.requires("smidgen") or []:
        found = re.match(r"([A-Za-z0-9_-]+).*extra == ['\"](\w+)['\"]", line)
        if found and found[2] in ("service", "client", "scipy", "plots", "svm", "parquet", "postgresql"):
            wanted.setdefault(found[2], []).append(found[1])
    return {name: [each for each in packages if each != "smidgen"] for name, packages in wanted.items()}


def _extra(name: str, packages: list[str]) -> Callable[[], Diagnosis]:
    def look() -> Diagnosis:
        missing = [package for package in packages if not _installed(package)]
        if not missing:
            return Diagnosis(f"smidgen[{name}]", "installed")
        return Diagnosis(
            f"smidgen[{name}]", f"missing {', '.join(missing)}", "note", f'pip install "smidgen[{name}]" if you need it'
        )

    return look


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _sqlite() -> Diagnosis:
    from smidgen.service.storage.sqlite_schema import sqlite_version

    version = ".".join(map(str, sqlite_version()))
    if sqlite_version() < (3, 37):
        return Diagnosis("SQLite", version, "problem", "use a Python with SQLite 3.37 or newer")
    return Diagnosis("SQLite", version)


def _folder(data: Path) -> Diagnosis:
    if not data.exists():
        parent = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
        if os.access(parent, os.W_OK):
            return Diagnosis("data", f"{data} does not exist yet; smidgen serve creates it")
        return Diagnosis("data", f"{parent} is not writable", "problem", "give another folder with --data")
    if not data.is_dir() or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        return Diagnosis("data", f"{data} is not a writable folder", "problem", "give another folder with --data")
    if data.stat().st_mode & 0o077:
        return Diagnosis("data", f"{data} is readable by other users", "note", f"chmod -R go= {data}")
    return Diagnosis("data", f"{data}; check it with smidgen fsck --data {data}")


def _disk(data: Path) -> Diagnosis:
    place = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    space = f"{free / (1 << 30):.1f} GiB free"
    return (
        Diagnosis("disk", space)
        if free > FREE
        else Diagnosis("disk", space, "note", "free disk space: the service refuses decisions when the disk is full")
    )


def _port(host: str, port: int) -> Diagnosis:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            hint = "a service may already be running there; choose another port with --port"
            return Diagnosis("port", f"{host}:{port}: {error.strerror}", "note", hint)
    return Diagnosis("port", f"{host}:{port} is free")


def _open_files() -> Diagnosis:
    if importlib.util.find_spec("resource") is None:
        return Diagnosis("open files", "unlimited")
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < FILES:
        return Diagnosis("open files", f"at most {soft}", "note", f"ulimit -n {FILES}: each connection needs one")
    return Diagnosis("open files", "unlimited" if soft < 0 else f"at most {soft}")
