"""Features at the entrance: checked once, then only read."""

from smidgen.features.encoded import Encoded
from smidgen.features.row import Row, as_row, as_stream
from smidgen.features.rows import LONGEST, DenseRows, Rows, SparseRows, all_rows, as_rows, check_dim, dense_scores
from smidgen.features.vectorizer import Vectorizer

__all__ = [
    "LONGEST",
    "DenseRows",
    "Encoded",
    "Row",
    "Rows",
    "SparseRows",
    "Vectorizer",
    "all_rows",
    "as_row",
    "as_rows",
    "as_stream",
    "check_dim",
    "dense_scores",
]
