"""The older place of `smidgen.theory.theorems`: the same names."""

from __future__ import annotations

from typing import Any

from smidgen.theory import theorems as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)


def __dir__() -> list[str]:
    return dir(_now)
