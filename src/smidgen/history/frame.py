"""Columns as a frame of pandas or polars. Neither is needed unless it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from smidgen.errors import InvalidArgument, MissingExtra

LIBRARIES = ("pandas", "polars")


def as_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """A frame with these columns: of the library asked for, or of pandas if it is there, else of polars."""
    if library is not None and library not in LIBRARIES:
        raise InvalidArgument(f"library is {library!r}", 'say "pandas" or "polars", or leave it out')
    for name in LIBRARIES if library is None else (library,):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.DataFrame(dict(columns)) if name == "pandas" else module.DataFrame(dict(columns), strict=False)
    wanted = "pandas or polars" if library is None else library
    raise MissingExtra(
        f"a frame needs {wanted}", f"pip install {library or 'pandas'}, or take history.columns, which are arrays"
    )
