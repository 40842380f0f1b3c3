"""Every Python block of the README and of the documentation runs as a test.

The blocks of one page run in order and share one namespace, in a temporary working directory, so that a page may write
files. A block that is not meant to run is marked as ``text`` or ``console``, not as ``python``.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

collect_ignore = ["docs/extensions"]
# Two processes whose BLAS has two threads each spend most of their time waiting for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _build_core() -> None:
    """Compile what has changed of the core, before anything imports it; other levels: `tests/core`."""
    spec = importlib.util.spec_from_file_location("build", Path(__file__).parent / "build_core.py")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.build([os.environ.get("SMIDGEN_CPU", module.best_level())])


if "PYTEST_XDIST_WORKER" not in os.environ:  # here, as the conftests of folders import the package
    _build_core()


def _enter_folder(namespace: dict[str, Any]) -> None:
    namespace["_home"], namespace["_folder"] = os.getcwd(), tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def _leave_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    excludes=["docs/changelog.md"],
    setup=_enter_folder,
    teardown=_leave_folder,
).pytest()
