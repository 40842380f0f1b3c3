"""The laws and contracts, shipped: for those who bring a learner, a structure or a store of their own.

`check_learner`, `check_structure` and `check_store` raise an `AssertionError` that names the law which does not hold.
They need nothing beyond what smidgen itself needs: no test framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smidgen.testing.inputs import Form
    from smidgen.testing.laws import Case
    from smidgen.testing.learners import check_learner
    from smidgen.testing.stores import check_store
    from smidgen.testing.structures import check_structure

_HOME = {
    "Case": "laws",
    "Form": "inputs",
    "check_learner": "learners",
    "check_store": "stores",
    "check_structure": "structures",
}

__all__ = ["Case", "Form", "check_learner", "check_store", "check_structure"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'smidgen.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"smidgen.testing.{_HOME[name]}"), name)
