"""Ratings, and reading them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.data import Ratings, rating_matrix
from smidgen.errors import DataMissing, InvalidRecord
from smidgen_papers.data import movielens, read_ratings


def test_numbers_without_gaps_and_titles(tmp_path: Path) -> None:
    (tmp_path / "r.dat").write_text("1::1193::5::978300760\n1::661::3::978302109\n7::661::4::978301968\n")
    (tmp_path / "m.dat").write_bytes("661::Amélie (2001)::Comedy\n".encode("latin-1"))
    data = read_ratings(tmp_path / "r.dat", tmp_path / "m.dat")
    assert data.users.tolist() == [0, 0, 1]
    assert data.items.tolist() == [1, 0, 0]
    assert data.ratings.tolist() == [5.0, 3.0, 4.0]
    assert data.titles == ("Amélie (2001)", "")
    assert data.of_user(0)[1].tolist() == [5.0, 3.0]
    assert data.matrix().toarray().tolist() == [[3.0, 5.0], [4.0, 0.0]]


@pytest.mark.parametrize("text", ["1,2,3\n", "1::2\n", "1::2::3\n1::2\n", "a::b::c\n", ""])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.dat").write_text(text)
    with pytest.raises(InvalidRecord):
        read_ratings(tmp_path / "r.dat")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataMissing):
        read_ratings(tmp_path / "r.dat")


def test_the_whole_original_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "movielens").mkdir()
    (tmp_path / "movielens" / "ml1m_movies.dat").write_text("2::A::B\n")
    (tmp_path / "movielens" / "ml1m_users1-2999_ratings.dat").write_text("1::2::3::0\n")
    assert movielens(tmp_path).name == "movielens"
    (tmp_path / "movielens" / "ratings.dat").write_text("1::2::3::0\n4000::2::5::0\n")
    assert (movielens(tmp_path).name, len(movielens(tmp_path))) == ("movielens-whole", 2)
    with pytest.raises(DataMissing, match="reconstructed"):
        movielens(tmp_path, exact=False)


def rows(data: Ratings) -> set[tuple[int, int, float]]:
    return set(zip(data.user_ids[data.users].tolist(), data.items.tolist(), data.ratings.tolist(), strict=True))


def test_halves_share_no_user_and_lose_no_rating() -> None:
    data = rating_matrix(users=31, items=40, seed=2)
    first, second = data.split(seed=4)
    assert (first.n_users, second.n_users) == (16, 15)
    assert first.n_items == second.n_items == 40
    assert not set(first.user_ids.tolist()) & set(second.user_ids.tolist())
    assert rows(first) | rows(second) == rows(data)
    assert rows(data.split(seed=4)[0]) == rows(first) != rows(data.split(seed=5)[0])


@needs("movielens")
def test_movielens_exact() -> None:
    data = movielens()
    if data.name == "movielens":
        assert (len(data), data.n_users, data.n_items) == (487_650, 2_999, 3_615)
        assert data.user_ids.tolist() == list(range(1, 3000))
    assert set(np.unique(data.ratings)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert data.titles[0] == "Toy Story (1995)"
    assert all(data.titles)
    assert len(data.matrix().data) == len(data)  # nobody rated anything twice


@needs("movielens-reconstructed")
@needs("movielens")
def test_movielens_reconstructed() -> None:
    data = movielens(exact=False)
    assert (len(data), data.n_users, data.n_items) == (1_000_209, 6_040, 3_706)
    exact = movielens()
    if exact.name == "movielens":  # the first half is the original
        both = data.only_users(np.arange(2999))
        assert len(both) == len(exact)
        ids = [np.stack((x.users, x.item_ids[x.items], x.ratings)) for x in (both, exact)]
        ordered = [x[:, np.lexsort(x[:2])] for x in ids]
        np.testing.assert_array_equal(*ordered)
