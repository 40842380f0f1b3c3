"""TF-IDF weights, for a whole collection or for a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import checks
from smidgen.arrays import scipy
from smidgen.decision import FloatArray

_IDF = {"all": "over all documents", "past": "over the documents so far", "first": "over the first documents"}


def tfidf_stream(counts: Any, *, idf: str = "all", first: int = 1000) -> Any:
    """Weigh words by (1 + ln TF)·ln(N/DF) and scale every row to length 1, as the filtering paper does.

    Parameters
    ----------
    counts
        A scipy sparse matrix of word counts, one row per document, in the order of the stream.
    idf
        Which documents N and DF count. ``"all"``: all of them, as the paper says: the filter then looks ahead.
        ``"past"``: those up to and including the document itself, with ln((N + 1)/DF), since ln(N/DF) is 0 for every
        word of the first document; what a real stream can know. ``"first"``: the first documents, which a service could
        have collected before it starts, with ln((N + 1)/(DF + 1)): words that they do not hold count as the rarest.
    first
        How many documents ``"first"`` takes.

    Returns
    -------
    CSR matrix
        Rows of length 1; a document without any weight stays a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from smidgen_papers.data import tfidf_stream
    >>> counts = sparse.csr_matrix(np.array([[1.0, 1.0, 0.0], [3.0, 0.0, 1.0]]))
    >>> tfidf_stream(counts).toarray()  # the first word is in every document: ln(2/2) = 0
    array([[0., 1., 0.],
           [0., 0., 1.]])
    >>> tfidf_stream(counts, idf="past").toarray().round(2)
    array([[0.71, 0.71, 0.  ],
           [0.61, 0.  , 0.79]])

    References
    ----------
    .. [1] N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based Algorithms for Information Filtering. NIPS 2002.
       Section 4.1.
    """
    checks.one_of("idf", idf, _IDF)
    X = scipy("sparse", "a matrix of weights").csr_matrix(counts, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    n = X.shape[0]
    if idf == "all":
        weights = np.log(n / np.maximum(_documents(X), 1.0))[X.indices]
    elif idf == "first":
        n = min(checks.whole("first", first, "give the number of documents to count"), n)
        weights = np.log((n + 1.0) / (_documents(X[:n]) + 1.0))[X.indices]
    else:
        row = np.repeat(np.arange(n), np.diff(X.indptr))
        by_word = np.argsort(X.indices, kind="stable")  # the entries of each word, in the order of the stream
        word = X.indices[by_word]
        seen = np.empty(X.nnz)
        seen[by_word] = np.arange(X.nnz) - np.searchsorted(word, word) + 1.0
        weights = np.log((row + 2.0) / seen)
    X.data = (1.0 + np.log(X.data)) * weights
    X.eliminate_zeros()
    return unit_rows(X)


def unit_rows(X: Any) -> Any:
    """Scale the rows of a CSR matrix to length 1; a row of zeros stays."""
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    scale = np.repeat(np.where(lengths > 0.0, lengths, 1.0), np.diff(X.indptr))
    return scipy("sparse", "a matrix of weights").csr_matrix((X.data / scale, X.indices, X.indptr), shape=X.shape)


def _documents(X: Any) -> FloatArray:
    """In how many rows each column occurs."""
    return np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
