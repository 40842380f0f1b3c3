"""Where the data lies: the data are not shipped, each has its own terms."""

from __future__ import annotations

import gzip
import hashlib
import os
from functools import lru_cache
from pathlib import Path

from smidgen import checks
from smidgen.errors import DataMissing
from smidgen_papers.data.catalogue import DataSet, sets

#: The environment variable that names the folder.
VARIABLE = "SMIDGEN_PAPERS_DATA"
#: What it was called before; it still counts where the new one is not set.
OLD_VARIABLE = "SMIDGEN_DATA"


def data_folder(path: str | Path | None = None) -> Path | None:
    """Find the folder of the data sets.

    Parameters
    ----------
    path
        The folder, if you know it. Otherwise the environment variable ``SMIDGEN_PAPERS_DATA`` counts (or
        its old name ``SMIDGEN_DATA``); otherwise a folder ``shared/data`` next to the current folder or next to the
        source tree, if there is one.

    Returns
    -------
    Path or None
        The folder, or None if no one named one and none was found. A folder that was named is returned even when it
        does not exist: `require` then says what is missing there.

    Examples
    --------
    >>> from smidgen_papers.data import data_folder
    >>> data_folder("my/data").as_posix()
    'my/data'
    """
    named = path if path is not None else os.environ.get(VARIABLE) or os.environ.get(OLD_VARIABLE)
    if named:
        return Path(named).expanduser()
    homes = (Path.cwd(), Path(__file__).resolve().parents[3])
    return next((beside for home in homes if (beside := home.parent / "shared" / "data").is_dir()), None)


def available(name: str, folder: str | Path | None = None) -> bool:
    """Check whether all files of a data set are there.

    Examples
    --------
    >>> from smidgen_papers.data import available
    >>> available("movielens", "/no/such/folder")
    False
    """
    data, home = _known(name), data_folder(folder)
    return home is not None and all(_found(home, file) is not None for file in data.files)


def require(name: str, folder: str | Path | None = None) -> list[Path]:
    """Return the paths of a data set's files, in the order of the catalogue.

    Raises
    ------
    DataMissing
        If a file is absent. The message says where the data set comes from, under which names its files are looked
        for, and how to name the folder.

    Examples
    --------
    >>> from smidgen_papers.data import require
    >>> try:
    ...     require("kin8nm", "/no/such/folder")
    ... except FileNotFoundError as error:
    ...     print(error.problem)
    the data set 'kin8nm' (Delve kin-8nm: 8,192 positions of a robot arm, 8 features) is not in /no/such/folder;
    missing: uci/kin8nm.csv.gz
    """
    data, home = _known(name), data_folder(folder)
    found = [None if home is None else _found(home, file) for file in data.files]
    missing = [file for file, path in zip(data.files, found, strict=True) if path is None]
    if missing:
        names = "this name" if len(missing) == 1 else "these names"
        where = f"in {home}" if home is not None else "here: no data folder is known"
        raise DataMissing(
            f"the data set {name!r} ({data.what}) is not {where}; missing: {', '.join(missing)}",
            f"get it from {data.source} (terms: {data.terms}), store it under {names} in a folder of your own "
            f"(packed by gzip, or plain without .gz), and set {VARIABLE} to that folder, or pass folder=",
        )
    return [path for path in found if path is not None]


def fingerprint(name: str, folder: str | Path | None = None) -> str:
    """Return a short name of the exact data: 16 hexadecimal digits of the SHA-256 over the files' bytes.

    Unpacked contents count, so a file has the same fingerprint with and without ``.gz``. The result is remembered per
    path, size and time of change.
    """
    digest = hashlib.sha256()
    for path in require(name, folder):
        stat = path.stat()
        digest.update(_digest(str(path.resolve()), stat.st_size, stat.st_mtime_ns))
    return digest.hexdigest()[:16]


def contents(path: str | Path) -> bytes:
    """Read a file whole; one that ends in ``.gz`` is unpacked."""
    path = Path(path)
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except FileNotFoundError:
        raise DataMissing(f"there is no file {path}", "check the path") from None


def _known(name: str) -> DataSet:
    return sets[checks.one_of("name", name, sets)]


def _found(home: Path, file: str) -> Path | None:
    names = (file, file.removesuffix(".gz")) if file.endswith(".gz") else (file,)
    return next((home / name for name in names if (home / name).is_file()), None)


@lru_cache(maxsize=256)
def _digest(path: str, size: int, changed: int) -> bytes:
    del size, changed  # part of the key only
    return hashlib.sha256(contents(path)).digest()
