"""Compiles the core when the package is built or installed; `build_core.py` does the work."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CoreBuildHook(BuildHookInterface[Any]):
    """A wheel holds the extension modules of every level; an editable install has that of this machine in its tree.

    With ``SMIDGEN_CORE=later`` an editable install leaves it to its caller, who compiles while pip gets other packages.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what was compiled."""
        if version == "editable" and os.environ.get("SMIDGEN_CORE") == "later":
            return
        root = Path(self.root)
        spec = importlib.util.spec_from_file_location("build", root / "build_core.py")
        if spec is None or spec.loader is None:
            raise FileNotFoundError("build_core.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made_here = module.build(module.native_levels() if version == "editable" else None)
        build_data["artifacts"] += [str(made.relative_to(root)) for made in made_here]
        build_data["pure_python"], build_data["infer_tag"] = False, True
