"""Texts with their classes: newsgroups, newswire, reviews, headlines."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import checks
from smidgen.decision import IntArray
from smidgen.errors import InvalidRecord
from smidgen.serialization import UNREADABLE
from smidgen_papers.data.folder import contents, require

_DATE = re.compile(r"(\d+)-([A-Z]{3})-(\d{4})\s+(\d+):(\d+):(\d+)")
_MONTHS = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts, each in one class or in several.

    Attributes
    ----------
    name
        What this is.
    texts
        The texts.
    classes
        The names of the classes.
    topics
        One row per text, one column per class: whether the text belongs to the class.
    split
        What each text is for: "train", "test", "unused", or "" where the set has no official split.
    """

    name: str
    texts: list[str]
    classes: tuple[str, ...]
    topics: NDArray[np.bool_]
    split: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Texts({self.name!r}, {len(self)} texts, {len(self.classes)} classes)"

    @property
    def labels(self) -> IntArray:
        """The class of each text, counted from 0; −1 where it has none or several."""
        first = self.topics.argmax(axis=1).astype(np.int64)
        return np.where(self.topics.sum(axis=1) == 1, first, -1)

    def topic(self, name: str) -> NDArray[np.bool_]:
        """Check whether each text belongs to this class."""
        return self.topics[:, self.classes.index(checks.one_of("name", name, self.classes))]

    def topics_between(self, low: float = 0.01, high: float = 0.05) -> tuple[str, ...]:
        """The classes with a share of the texts between these two (the limits included), the most frequent first."""
        share = self.topics.mean(axis=0)
        order = np.argsort(-share, kind="stable")
        return tuple(self.classes[k] for k in order if low <= share[k] <= high)

    def select(self, order: Any) -> Texts:
        """Only these texts (indices or a mask), in this order."""
        picked = np.arange(len(self))[np.asarray(order)]
        return replace(
            self,
            texts=[self.texts[i] for i in picked],
            topics=self.topics[picked],
            split=tuple(self.split[i] for i in picked),
        )

    def part(self, split: str) -> Texts:
        """Only the texts of one part of the split: "train", "test" or "unused"."""
        checks.one_of("split", split, self.split)
        return self.select([part == split for part in self.split])


def newsgroups(folder: str | Path | None = None) -> Texts:
    """Load 20 Newsgroups, the version of 18,828 posts (From, Subject and body, no duplicates), sorted by class.

    A text holds the lines From and Subject and the body. Shuffle the posts before you learn from them in a row.
    """
    records = _records("newsgroups", folder)
    return _single("newsgroups", [r["text"] for r in records], [r["label"] for r in records])


def reuters(folder: str | Path | None = None, *, order: str = "file") -> Texts:
    """Load Reuters-21578: title and body of 21,578 newswire stories of 1987, with any number of topics each.

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    order
        ``"file"``: as numbered by its makers; ``"time"``: by date and hour, as a filter would see them.

    Notes
    -----
    ``split`` is the "ModApte" split: 9,603 stories to train, 3,299 to test, the others unused.
    """
    records = _records("reuters", folder)
    if checks.one_of("order", order, ("file", "time")) == "time":
        records.sort(key=lambda r: _moment(r["date"]))
    classes = tuple(sorted({topic for r in records for topic in r["topics"]}))
    column = {name: k for k, name in enumerate(classes)}
    topics = np.zeros((len(records), len(classes)), np.bool_)
    for row, record in zip(topics, records, strict=True):
        row[[column[topic] for topic in record["topics"]]] = True
    uses = {("TRAIN", "YES"): "train", ("TEST", "YES"): "test"}
    split = tuple(uses.get((r["lewissplit"], r["topics_attr"]), "unused") for r in records)
    return Texts("reuters", [f"{r['title']}\n{r['body']}" for r in records], classes, topics, split)


def amazon(folder: str | Path | None = None, *, label: str = "domain") -> Texts:
    """Load 8,000 Amazon reviews: 1,000 positive and 1,000 negative ones of each of four kinds of product.

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    label
        ``"domain"``: the kind of product (books, dvd, electronics, kitchen); ``"sentiment"``: negative or positive.
    """
    checks.one_of("label", label, ("domain", "sentiment"))
    records = _records("amazon", folder)
    return _single("amazon", [f"{r['title']}\n{r['text']}" for r in records], [r[label] for r in records])


def new_york_times(folder: str | Path | None = None, *, subject: bool = True) -> Texts:
    """Load 3,104 headlines of the New York Times with their topic (27 codes of the Policy Agendas project).

    Parameters
    ----------
    folder
        The data folder, see `data_folder`.
    subject
        Add the coders' line about the subject to the headline.
    """
    checks.flag("subject", subject, "True to add the line about the subject")
    [path] = require("new_york_times", folder)
    rows = list(csv.DictReader(io.StringIO(contents(path).decode("latin-1")), delimiter=";"))
    try:
        texts = [f"{row['Title']}\n{row['Subject']}" if subject else row["Title"] for row in rows]
        return _single("new_york_times", texts, [row["Topic.Code"].zfill(2) for row in rows])
    except KeyError as error:
        raise InvalidRecord(f"{path} has no column {error}", "get the file again") from None


def _records(name: str, folder: str | Path | None) -> list[dict[str, Any]]:
    [path] = require(name, folder)
    try:
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(contents(path))
    except UNREADABLE as error:
        raise InvalidRecord(f"{path} does not hold one JSON object per line: {error}", "get the file again") from None


def _moment(date: str) -> tuple[int, ...]:
    """Turn 26-FEB-1987 15:01:01.79 into (1987, 1, 26, 15, 1, 1); some dates have other words around them."""
    found = _DATE.search(date)
    if found is None:
        raise InvalidRecord(f"the date {date!r} is not like '26-FEB-1987 15:01:01.79'", "use order='file'")
    day, month, year, *clock = found.groups()
    return int(year), _MONTHS.index(month) // 3, int(day), *map(int, clock)


def _single(name: str, texts: list[str], labels: list[str]) -> Texts:
    classes, numbers = np.unique(np.array(labels), return_inverse=True)
    topics = np.zeros((len(texts), len(classes)), np.bool_)
    topics[np.arange(len(texts)), numbers] = True
    return Texts(name, texts, tuple(classes.tolist()), topics, ("",) * len(texts))
