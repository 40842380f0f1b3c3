"""Ratings of movies by users: MovieLens 1M."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from smidgen import checks
from smidgen.data.datasets import Ratings
from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen_papers.data.folder import available, contents, require


def movielens(folder: str | Path | None = None, *, exact: bool = True) -> Ratings:
    """Load MovieLens 1M.

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    exact
        If True, the original ratings only: the whole set if ``movielens/ratings.dat`` is in the folder, otherwise those
        of users 1 to 2999 (487,650 ratings of 3,615 movies). If False, the reconstructed set: all 1,000,209 pairs of
        user and movie are right, but for users 3000 to 6040 the ratings 1 and 2 are both given as 2 (a third of them
        are really 1), and some 0.2 % of the other ratings are wrong.

    Notes
    -----
    ``Ratings.name`` tells which of the three it is: ``"movielens-whole"``, ``"movielens"`` or
    ``"movielens-reconstructed"``, as in the catalogue `sets`.
    """
    whole = "movielens-whole" if available("movielens-whole", folder) else "movielens"
    name = whole if checks.flag("exact", exact, "True for original ratings only") else "movielens-reconstructed"
    ratings, movies = require(name, folder)
    return replace(read_ratings(ratings, movies), name=name)


def read_ratings(path: str | Path, movies: str | Path | None = None) -> Ratings:
    r"""Read ratings in the MovieLens format: lines ``user::item::rating`` and perhaps more, which is not read.

    Parameters
    ----------
    path
        The file, plain or ``.gz``.
    movies
        A file of lines ``item::title::…`` (Latin-1), for the titles.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from smidgen_papers.data import read_ratings
    >>> file = pathlib.Path(tempfile.mkdtemp(), "ratings.dat")
    >>> _ = file.write_text("1::1193::5::978300760\n1::661::3::978302109\n7::661::4::978301968\n")
    >>> data = read_ratings(file)
    >>> data
    Ratings('ratings.dat', 3 ratings, 2 users x 2 items)
    >>> data.item_ids, data.items
    (array([ 661, 1193]), array([1, 0, 0]))
    """
    path = Path(path)
    numbers = _numbers(contents(path), path)
    user_ids, users = np.unique(numbers[:, 0].astype(np.int64), return_inverse=True)
    item_ids, items = np.unique(numbers[:, 1].astype(np.int64), return_inverse=True)
    names = {} if movies is None else _titles(contents(movies), Path(movies))
    titles = tuple(names.get(item, "") for item in item_ids.tolist())
    return Ratings(path.name, users, items, numbers[:, 2].copy(), user_ids, item_ids, titles)


def _numbers(text: bytes, path: Path) -> FloatArray:
    """The first three fields of every line."""
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Flags (x: original, r: reconstructed) in the fourth field become numbers, so that all lines look alike.
            flat = text.replace(b"::x", b"::0").replace(b"::r", b"::1").replace(b"::", b" ")
            table = np.fromstring(flat.decode("latin-1"), sep=" ").reshape(lines, -1)
    except (DeprecationWarning, ValueError):
        table = np.empty((0, 0))
    if table.shape[1] < 3:
        raise InvalidRecord(f"{path} is not a file of lines like '1::1193::5::978300760'", "check the file")
    return table


def _titles(text: bytes, path: Path) -> dict[int, str]:
    fields = [line.split("::") for line in text.decode("latin-1").splitlines() if line]
    try:
        return {int(field[0]): field[1] for field in fields}
    except (ValueError, IndexError):
        raise InvalidRecord(f"{path} is not a file of lines like '1::Toy Story (1995)::Comedy'", "check it") from None
