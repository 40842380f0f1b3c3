"""Queries with graded documents, against a parser that goes token by token."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.data.real_data import needs
from smidgen.data import RankedQueries
from smidgen.errors import InvalidArgument, InvalidRecord, SmidgenError
from smidgen_papers.data import letor, read_letor, require

LINES = "2 qid:7 1:0.5 3:-1e-3 # docid = A inc = 1\n0 qid:7 2:NULL\n\n1 qid:9 1:3\r\n1 qid:7\n"


def slowly(text: str, dim: int) -> tuple[list[int], list[int], np.ndarray]:
    labels, numbers, rows = [], [], []
    for line in text.splitlines():
        if not (fields := line.split("#")[0].split()):
            continue
        row = np.zeros(dim)
        for pair in fields[2:]:
            j, value = pair.split(":")
            row[int(j) - 1] = np.nan if value == "NULL" else float(value)
        labels.append(int(fields[0]))
        numbers.append(int(fields[1].removeprefix("qid:")))
        rows.append(row)
    return labels, numbers, np.array(rows)


def written(folder: Path, text: str, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_lines_become_queries(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, LINES))
    labels, _, X = slowly(LINES, 3)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.labels, labels)
    assert data.queries.tolist() == [7, 9, 7]  # the second run of 7 is a query of its own
    assert data.starts.tolist() == [0, 2, 3, 4]
    assert data.X.flags.c_contiguous
    assert not data.X.flags.writeable


@given(st.integers(0, 10**6))
def test_the_fast_parser_agrees_with_the_slow_one(seed: int) -> None:
    import tempfile

    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rng.integers(1, 20)):
        features = np.flatnonzero(rng.random(6) < 0.7) + 1
        values = (
            rng.choice(["NULL", "0", f"{rng.normal():.6f}", repr(rng.normal()), "1e-300", "12345678901"])
            for _ in features
        )
        pairs = " ".join(f"{j}:{value}" for j, value in zip(features, values, strict=True))
        comment = rng.choice(["", " #docid = GX1-2 inc = 1 prob = 0.1", "#x:y qid:3"])
        lines.append(f"{rng.integers(5)} qid:{rng.integers(3)} {pairs}{comment}")
    text = "\n".join(lines) + str(rng.choice(["", "\n"]))
    with tempfile.TemporaryDirectory() as folder:
        data = read_letor(written(Path(folder), text), dim=6)
    labels, numbers, X = slowly(text, 6)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(np.repeat(data.queries, np.diff(data.starts)), numbers)


def test_several_files_keep_their_queries_apart(tmp_path: Path) -> None:
    first = written(tmp_path, "1 qid:1 1:1\n")
    second = tmp_path / "b.txt.gz"
    second.write_bytes(gzip.compress(b"0 qid:1 2:1\n"))
    data = read_letor([first, second], name="two")
    assert repr(data) == "RankedQueries('two', 2 queries, 2 docs x 2 features)"
    assert data.parts.tolist() == [0, 1]


@pytest.mark.parametrize(
    "text",
    ["1 1:0.5\n", "x qid:1 1:0.5\n", "1 qid:1 0:0.5\n", "1 qid:1 1.5:2\n", "1 qid:1 1:0.5:3\n", "{}", "1 qid:1 1:a"],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidRecord):
        read_letor(written(tmp_path, text))


def test_too_few_features_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="dim"):
        read_letor(written(tmp_path, LINES), dim=2)


def small() -> RankedQueries:
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(9, 2)), np.array([0, 0, 1, 2, 2, 0, 0, 1, 0])
    return RankedQueries("small", X, labels, np.array([0, 2, 5, 7, 9]), np.array([4, 5, 6, 7]), np.zeros(4, int))


def test_queries_can_be_chosen_and_reordered() -> None:
    data = small()
    chosen = data.select([3, 1])
    assert len(chosen) == 2
    assert chosen.queries.tolist() == [7, 5]
    np.testing.assert_array_equal(chosen.docs(0), data.docs(3))
    np.testing.assert_array_equal(chosen.relevance(1), data.relevance(1))
    assert data.informative().queries.tolist() == [5, 7]
    assert len(data.select(np.zeros(4, bool))) == 0


def test_contexts_and_utility() -> None:
    data = small()
    contexts = data.contexts(top=2)
    assert [len(context) for context in contexts] == [2, 3, 2, 2]
    np.testing.assert_array_equal(contexts[1].docs, data.docs(1))
    w = data.utility()
    np.testing.assert_allclose(data.X.T @ (data.labels - data.X @ w), 0.0, atol=1e-9)
    ridge = data.utility(ridge=2.0)
    np.testing.assert_allclose(data.X.T @ (data.labels - data.X @ ridge), 2.0 * ridge, atol=1e-9)


@needs("mq2008")
def test_mq2008() -> None:
    data = letor("mq2008")
    assert (len(data), *data.X.shape) == (784, 15_211, 46)
    assert np.bincount(data.labels).tolist() == [12_279, 2_001, 931]
    assert len(set(data.queries.tolist())) == 784
    assert set(data.parts.tolist()) == {0, 1, 2, 3, 4}
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    path = require("mq2008")[0]
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    _, _, X = slowly("\n".join(text.splitlines()[:50]), 46)
    np.testing.assert_array_equal(data.X[:50], X)
    assert len(letor("mq2008", drop_flat=True)) == 564


@needs("mslr")
def test_mslr() -> None:
    data = letor("mslr")
    assert (len(data), *data.X.shape) == (86, 10_000, 136)
    assert set(data.labels.tolist()) == {0, 1, 2, 3, 4}
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    assert letor("mslr", normalize=False).X.max() > 1e6


@needs("mq2007agg")
def test_mq2007agg() -> None:
    raw = letor("mq2007agg", ranks="raw")
    assert (len(raw), *raw.X.shape) == (1_692, 69_623, 21)
    assert np.bincount(raw.labels).tolist() == [51_632, 14_128, 3_863]
    missing = np.isnan(raw.X)
    assert missing.mean() == pytest.approx(0.3477, abs=1e-4)
    assert np.nanmin(raw.X) == 1.0
    for ranks in ("log", "reciprocal", "linear"):
        X = letor("mq2007agg", ranks=ranks).X
        assert (X[missing] == 0.0).all()
        assert (X[~missing] > 0.0).all()
        assert (X[raw.X == 1.0] == 1.0).all()
    # Rank 1 is the best: most systems put more relevant documents first than far down.
    falls = [raw.labels[rank <= 5].mean() > raw.labels[rank > 150].mean() for rank in raw.X.T]
    assert sum(falls) > len(falls) / 2


def test_unknown_sets_and_ranks_are_refused() -> None:
    with pytest.raises(SmidgenError, match="choose one of"):
        letor("yahoo")
