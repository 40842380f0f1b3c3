"""Queries with graded documents, in the format of the LETOR and MSLR sets (svmlight with query numbers)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from smidgen import checks
from smidgen.data.synthetic import RankedQueries, frozen
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen_papers.data.folder import contents, require

_COMMENT = re.compile(rb"#[^\n]*")
_RANKS = {"log": "1/log2(1 + rank)", "reciprocal": "1/rank", "linear": "1 - (rank - 1)/longest", "raw": "as it is"}


def letor(
    name: str = "mq2008",
    folder: str | Path | None = None,
    *,
    normalize: bool | None = None,
    ranks: str = "log",
    drop_flat: bool = False,
) -> RankedQueries:
    """Load one of the LETOR and MSLR sets.

    Parameters
    ----------
    name
        ``"mq2008"`` (784 queries, 46 features that the makers scaled to [0, 1] per query), ``"mslr"`` (86 queries, 136
        raw features) or ``"mq2007agg"`` (1,692 queries, 21 features, each the rank that a search system gave).
    folder
        The data folder, see `data_folder`.
    normalize
        Scale every feature to [0, 1] over the whole set; a constant feature becomes 0. By default only ``"mslr"`` is
        scaled: its raw features reach from fractions to hundreds of millions.
    ranks
        What becomes of the ranks of ``"mq2007agg"``: ``"log"``: 1/log2(1 + rank), the discount of DCG, 1 for the first;
        ``"reciprocal"``: 1/rank; ``"linear"``: 1 − (rank − 1)/m with m the longest list of any system for the
        query; each gives 0 where the system did not return the document. ``"raw"`` keeps the ranks, with NaN there.
    drop_flat
        Drop the queries whose documents are all equally relevant: no order of them is better than another.

    Notes
    -----
    We take rank 1 of MQ2007-agg for the best, because of the data: for 16 of the 21 systems the documents at ranks 1 to
    5 are more relevant on average than those beyond 150. A third of the ranks (35 %) is missing.
    """
    data = read_letor(require(checks.one_of("name", name, ("mq2008", "mslr", "mq2007agg")), folder), name=name)
    if name == "mq2007agg":
        data = replace(data, X=frozen(_scores(data.X, data.starts, checks.one_of("ranks", ranks, _RANKS))))
    if normalize if normalize is not None else name == "mslr":
        data = replace(data, X=frozen(_scaled(data.X)))
    return data.informative() if drop_flat else data


def read_letor(paths: str | Path | Sequence[str | Path], *, dim: int | None = None, name: str = "") -> RankedQueries:
    r"""Read files of lines ``label qid:q 1:x 2:x … # comment``.

    Consecutive lines with the same ``qid`` are one query. Features that a line leaves out are 0; ``NULL`` becomes NaN.

    Parameters
    ----------
    paths
        One file or several, plain or ``.gz``.
    dim
        The number of features; by default the largest that occurs.
    name
        What to call the set; by default the name of the first file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from smidgen_papers.data import read_letor
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tiny.txt")
    >>> _ = file.write_text("2 qid:7 1:0.5 2:1 # best\n0 qid:7 2:0.25\n1 qid:9 1:NULL\n")
    >>> data = read_letor(file)
    >>> data
    RankedQueries('tiny.txt', 2 queries, 3 docs x 2 features)
    >>> data.docs(0)
    array([[0.5 , 1.  ],
           [0.  , 0.25]])
    >>> data.relevance(0)
    array([2, 0])
    """
    files = [Path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    pieces = [_parse(contents(path), path) for path in files]
    width = max((int(piece.columns.max(initial=0)) for piece in pieces), default=0)
    if dim is not None:
        width = checks.whole("dim", dim, "leave it out for the largest feature number", at_least=max(width, 1))
    X = np.zeros((sum(len(piece.labels) for piece in pieces), width))
    row = 0
    for piece in pieces:
        X[row + piece.rows, piece.columns - 1] = piece.values
        row += len(piece.labels)
    labels, numbers = (_joined(getattr(piece, field) for piece in pieces) for field in ("labels", "numbers"))
    parts = _joined(np.full(len(piece.labels), i) for i, piece in enumerate(pieces))
    new = np.flatnonzero(np.diff(numbers, prepend=-1) | np.diff(parts, prepend=-1))
    starts = np.append(new, len(labels))
    return RankedQueries(name or files[0].name, frozen(X), labels, starts, numbers[new], parts[new])


@dataclass(frozen=True)
class _Piece:
    """One file: its labels and query numbers by line, and the features as (line, feature number, value)."""

    labels: IntArray
    numbers: IntArray
    rows: IntArray
    columns: IntArray
    values: FloatArray


def _parse(text: bytes, path: Path) -> _Piece:
    """Turn a file into numbers: the colons tell how many there are in each line, numpy reads all of them at once."""
    text = _COMMENT.sub(b"", text).replace(b"\r", b"")
    text = re.sub(rb"\n\s*\n", b"\n", text.strip() + b"\n")
    symbols = np.frombuffer(text, np.uint8)
    colons = np.searchsorted(np.flatnonzero(symbols == ord(":")), np.flatnonzero(symbols == ord("\n")))
    pairs = np.diff(colons, prepend=0) - 1  # of each line, without qid:…
    plain = text.replace(b"qid:", b" ").replace(b":", b" ").replace(b"NULL", b"nan")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            numbers = np.fromstring(plain.decode("ascii"), sep=" ")
    except (DeprecationWarning, ValueError):
        numbers = np.empty(0)
    lengths = 2 + 2 * pairs
    if text.count(b"qid:") != len(pairs) or numbers.size != lengths.sum() or (pairs < 0).any():
        raise InvalidRecord(
            f"{path} is not a file of lines like '2 qid:10 1:0.5 2:0.25 # comment'", "check the file, or convert it"
        )
    first = np.cumsum(lengths) - lengths
    rest = np.ones(numbers.size, np.bool_)
    rest[first] = rest[first + 1] = False
    features = numbers[rest].reshape(-1, 2)
    columns = features[:, 0].astype(np.int64)
    if (columns != features[:, 0]).any() or columns.min(initial=1) < 1:
        raise InvalidRecord(f"{path} has a feature number that is not 1, 2, …", "number the features from 1")
    rows = np.repeat(np.arange(len(pairs)), pairs)
    return _Piece(
        numbers[first].astype(np.int64), numbers[first + 1].astype(np.int64), rows, columns, features[:, 1].copy()
    )


def _joined(arrays: Iterable[IntArray]) -> IntArray:
    return np.concatenate([*arrays, np.empty(0, np.int64)])


def _scores(X: FloatArray, starts: IntArray, ranks: str) -> FloatArray:
    """Turn ranks (1 is best, NaN is absent) into features that grow with quality."""
    if ranks == "raw":
        return X
    if ranks == "linear":
        longest = np.maximum.reduceat(np.nan_to_num(X.max(axis=1, initial=1.0, where=~np.isnan(X))), starts[:-1])
        scores = 1.0 - (X - 1.0) / np.repeat(longest, np.diff(starts))[:, None]
    else:
        scores = 1.0 / (np.log2(1.0 + X) if ranks == "log" else X)
    return np.asarray(np.nan_to_num(scores, nan=0.0))


def _scaled(X: FloatArray) -> FloatArray:
    """Every feature to [0, 1] over the whole set."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray((X - low) / np.where(high > low, high - low, 1.0))
