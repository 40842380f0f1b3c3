"""Features in the sparse forms that people hand over: scipy's where it is installed, and our own where it is not."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from smidgen._scipy import scipy
from smidgen.decision import FloatArray
from smidgen.features import Row
from smidgen.features.rows import compressed, sparse_rows


def as_sparse(rows: FloatArray) -> Any:
    """A matrix."""
    if find_spec("scipy") is not None:
        return scipy("sparse", "a CSR matrix").csr_array(rows)
    return sparse_rows(*compressed(rows), rows.shape[1])


def as_sparse_row(x: FloatArray) -> Any:
    """One row."""
    if find_spec("scipy") is not None:
        return as_sparse(x[None, :])
    places = np.flatnonzero(x).astype(np.uint32)
    return Row.from_record({"indices": places, "values": x[places], "dim": len(x)})
