"""Tables of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.data import Table
from smidgen.errors import InvalidArgument, InvalidRecord, SmidgenError
from smidgen_papers.data import table


def stored(folder: Path, file: str, text: str) -> Path:
    (folder / "uci").mkdir(exist_ok=True)
    (folder / "uci" / file).write_text(text)
    return folder


def test_abalone_codes_sex(tmp_path: Path) -> None:
    data = table("abalone", stored(tmp_path, "abalone.csv", "Sex,Length,Rings\nM,0.5,15\nI,0.25,7\nF,0.75,9\n"))
    np.testing.assert_array_equal(data.X, [[1.0, 0.5], [3.0, 0.25], [2.0, 0.75]])
    assert data.y.tolist() == [15.0, 7.0, 9.0]
    assert data.columns == ("Sex", "Length")
    assert data.without("Sex").X.tolist() == [[0.5], [0.25], [0.75]]


def test_cancer_drops_incomplete_rows(tmp_path: Path) -> None:
    rows = "1,5,1,1,1,2,1,3,1,1,2\n2,5,1,1,1,2,?,3,1,1,2\n3,8,9,9,9,9,9,9,9,9,4\n"
    data = table("cancer", stored(tmp_path, "breast_cancer_wisconsin.csv", rows))
    assert data.X.shape == (2, 9)
    assert data.y.tolist() == [-1.0, 1.0]


def test_broken_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="abalone"):
        table("abalone", stored(tmp_path, "abalone.csv", "Sex,Length,Rings\nX,0.5,15\n"))


def made_up() -> Table:
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 5.0, 0.0]
    return Table("t", X, X @ [1.0, 2.0, 0.0] + 4.0, ("a", "b", "c"), "regression")


def test_scales() -> None:
    data = made_up()
    standard = data.scaled("standard", "standard")
    np.testing.assert_allclose(standard.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(standard.X.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    assert standard.y.std() == pytest.approx(1.0)
    ranged = data.scaled("range", "range")
    assert ranged.X.min(axis=0).tolist() == [-1.0, -1.0, 0.0]
    assert ranged.X.max(axis=0).tolist() == [1.0, 1.0, 0.0]
    assert (ranged.y.min(), ranged.y.max()) == (-1.0, 1.0)
    np.testing.assert_allclose(np.linalg.norm(data.scaled("unit").X, axis=1), 1.0)
    assert data.scaled().X is data.X


def test_labels_are_not_scaled() -> None:
    labels = Table("t", np.eye(2), np.array([1.0, -1.0]), ("a", "b"), "classification")
    with pytest.raises(InvalidArgument, match="±1"):
        labels.scaled(target="range")
    with pytest.raises(SmidgenError):
        labels.scaled("minmax")


def test_samples_are_drawn_without_replacement() -> None:
    data = made_up()
    drawn = data.sample(20, seed=5)
    assert len({tuple(row) for row in drawn.X.tolist()}) == 20
    np.testing.assert_allclose(drawn.y, drawn.X @ [1.0, 2.0, 0.0] + 4.0)
    assert (data.sample(20, seed=5).y == drawn.y).all()
    with pytest.raises(InvalidArgument):
        data.sample(31)
    with pytest.raises(InvalidArgument):
        data.without("d")


@pytest.mark.parametrize(
    ("name", "shape", "positive"),
    [
        pytest.param("abalone", (4177, 8), None, marks=needs("abalone")),
        pytest.param("kin8nm", (8192, 8), None, marks=needs("kin8nm")),
        pytest.param("ionosphere", (351, 33), 225, marks=needs("ionosphere")),
        pytest.param("cancer", (683, 9), 239, marks=needs("cancer")),
    ],
)
def test_real_tables(name: str, shape: tuple[int, int], positive: int | None) -> None:
    data = table(name, scale="standard")
    assert data.X.shape == shape == (len(data), len(data.columns))
    assert np.isfinite(data.X).all()
    np.testing.assert_allclose(data.X.std(axis=0), 1.0)  # no column is constant
    if positive is None:
        assert data.task == "regression"
    else:
        assert data.task == "classification"
        assert (data.y == 1.0).sum() == positive
        assert (data.y == -1.0).sum() == len(data) - positive
