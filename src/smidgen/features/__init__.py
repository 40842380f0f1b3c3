"""Features at the entrance: checked once, then only read."""

from smidgen.features.row import Row, as_row
from smidgen.features.rows import LONGEST, DenseRows, Rows, SparseRows, as_rows, check_dim, dense_scores
from smidgen.features.stream import as_stream

__all__ = [
    "LONGEST",
    "DenseRows",
    "Row",
    "Rows",
    "SparseRows",
    "as_row",
    "as_rows",
    "as_stream",
    "check_dim",
    "dense_scores",
]
