"""Queries with graded documents, in the format of the LETOR and MSLR sets (svmlight with query numbers)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from smidgen import checks
from smidgen.data.folder import contents, require
from smidgen.decision import FloatArray, IntArray
from smidgen.errors import InvalidRecord
from smidgen.structures import Ranking

_COMMENT = re.compile(rb"#[^\n]*")
_RANKS = {"log": "1/log2(1 + rank)", "reciprocal": "1/rank", "linear": "1 - (rank - 1)/longest", "raw": "as it is"}


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Queries, their documents, and how relevant each document is.

    Attributes
    ----------
    name
        What this is.
    X
        One row of features per document, the documents of a query one after the other (read-only).
    labels
        The relevance of each document: 0, 1, …
    starts
        The documents of query i are the rows ``starts[i]`` to ``starts[i + 1]``.
    queries
        The number of each query in its file.
    parts
        The file of each query, counted from 0: the LETOR sets come in five parts, from which their folds are made.
    """

    name: str
    X: FloatArray
    labels: IntArray
    starts: IntArray
    queries: IntArray
    parts: IntArray

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"RankedQueries({self.name!r}, {len(self)} queries, {self.X.shape[0]} docs x {self.dim} features)"

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def docs(self, i: int) -> FloatArray:
        """The features of query i's documents."""
        return self.X[self.starts[i] : self.starts[i + 1]]

    def relevance(self, i: int) -> IntArray:
        """The relevance of query i's documents."""
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def contexts(self, top: int = 5) -> list[Ranking]:
        """Every query as a `Ranking` whose first ``top`` positions count."""
        return [Ranking(self.docs(i), top) for i in range(len(self))]

    def utility(self, ridge: float = 0.0) -> FloatArray:
        """The least-squares fit w* of the labels by the features, over all documents, without an intercept.

        With ``ridge`` > 0 that much is added to the diagonal of XᵀX. With 0 the shortest of all best fits is taken.
        """
        penalty = checks.number("ridge", ridge, "leave it out for plain least squares", at_least=0.0)
        if penalty == 0.0:
            return np.asarray(np.linalg.lstsq(self.X, self.labels.astype(np.float64), rcond=None)[0])
        gram = self.X.T @ self.X + penalty * np.eye(self.dim)
        return np.asarray(np.linalg.solve(gram, self.X.T @ self.labels.astype(np.float64)))

    def select(self, order: Any) -> RankedQueries:
        """Only these queries (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        sizes = np.diff(self.starts)[picked]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[picked], sizes)
        return replace(
            self,
            X=_frozen(self.X[rows]),
            labels=self.labels[rows],
            starts=starts,
            queries=self.queries[picked],
            parts=self.parts[picked],
        )

    def informative(self) -> RankedQueries:
        """Only the queries whose documents are not all equally relevant."""
        first, last = self.starts[:-1], self.starts[1:]
        return self.select([len(set(self.labels[a:b].tolist())) > 1 for a, b in zip(first, last, strict=True)])


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
    data = read_letor(require(checks.one_of("name", name, {"mq2008": 0, "mslr": 0, "mq2007agg": 0}), folder), name=name)
    if name == "mq2007agg":
        data = replace(data, X=_frozen(_scores(data.X, data.starts, checks.one_of("ranks", ranks, _RANKS))))
    if normalize if normalize is not None else name == "mslr":
        data = replace(data, X=_frozen(_scaled(data.X)))
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
    >>> from smidgen.data import read_letor
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
    return RankedQueries(name or files[0].name, _frozen(X), labels, starts, numbers[new], parts[new])


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


def _frozen(X: FloatArray) -> FloatArray:
    X = np.ascontiguousarray(X)
    X.flags.writeable = False
    return X


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
