"""Tests on real data run where it is, and are skipped with a reason elsewhere."""

from __future__ import annotations

import pytest

from smidgen_papers.data import available, sets


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not available(name), reason=f"the data set {name!r} is not here ({sets[name].source})")
