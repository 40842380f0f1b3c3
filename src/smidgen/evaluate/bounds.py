"""The older place of `smidgen.theory.bounds`: the same names."""

from __future__ import annotations

from typing import Any

from smidgen.theory import bounds as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)


def __dir__() -> list[str]:
    return dir(_now)
