"""Texts with their classes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen_papers.data import Texts, amazon, new_york_times, newsgroups, reuters


def stored(folder: Path, file: str, records: list[dict[str, Any]]) -> Path:
    (folder / "text").mkdir(exist_ok=True)
    lines = "\n".join(json.dumps(record) for record in records)
    (folder / "text" / file).write_bytes(gzip.compress(lines.encode()))
    return folder


def story(number: int, date: str, split: str, known: str, *topics: str) -> dict[str, Any]:
    marks = {"date": date, "lewissplit": split, "topics_attr": known}
    return {**marks, "topics": topics, "title": f"T{number}", "body": "b"}


def wire(folder: Path) -> Path:
    records = [
        story(1, "2-MAR-1987 09:00:00.00", "TRAIN", "YES", "grain", "wheat"),
        story(2, " 26-FEB-1987 15:01:01.79", "TEST", "YES", "grain"),
        story(3, "26-FEB-1987 15:01:01.78 E.D.", "TRAIN", "NO"),
        story(4, "19-OCT-1987 00:00:00.00", "NOT-USED", "YES", "trade"),
    ]
    return stored(folder, "reuters21578.jsonl.gz", records)


def test_stories_have_any_number_of_topics(tmp_path: Path) -> None:
    data = reuters(wire(tmp_path))
    assert data.classes == ("grain", "trade", "wheat")
    assert data.topics.tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert data.labels.tolist() == [-1, 0, -1, 1]
    assert data.split == ("train", "test", "unused", "unused")
    assert data.topic("grain").tolist() == [True, True, False, False]
    assert data.topics_between(0.25, 0.5) == ("grain", "trade", "wheat")
    assert data.topics_between(0.3, 0.5) == ("grain",)
    assert data.part("test").texts == ["T2\nb"]


def test_stories_in_the_order_of_time(tmp_path: Path) -> None:
    data = reuters(wire(tmp_path), order="time")
    assert [text[:2] for text in data.texts] == ["T2", "T3", "T1", "T4"]  # equal seconds keep their order
    assert data.split[2] == "train"
    with pytest.raises(InvalidArgument):
        reuters(tmp_path, order="random")


def test_reviews_by_either_label(tmp_path: Path) -> None:
    records = [
        {"domain": "dvd", "sentiment": "negative", "title": "Bad", "text": "no"},
        {"domain": "books", "sentiment": "negative", "title": "Dull", "text": "no"},
        {"domain": "dvd", "sentiment": "positive", "title": "Good", "text": "yes"},
    ]
    folder = stored(tmp_path, "amazon4_reviews.jsonl.gz", records)
    assert amazon(folder).classes == ("books", "dvd")
    assert amazon(folder).labels.tolist() == [1, 0, 1]
    assert amazon(folder, label="sentiment").labels.tolist() == [0, 0, 1]
    assert amazon(folder).texts[0] == "Bad\nno"


def test_broken_files_are_refused(tmp_path: Path) -> None:
    folder = stored(tmp_path, "20news_18828.jsonl.gz", [])
    (folder / "text" / "20news_18828.jsonl.gz").write_bytes(gzip.compress(b"not json\n"))
    with pytest.raises(InvalidRecord, match="JSON"):
        newsgroups(folder)
    (folder / "text" / "rtexttools_NYTimes.csv").write_text("a;b\n1;2\n")
    with pytest.raises(InvalidRecord, match="column"):
        new_york_times(folder)


def test_choosing_texts() -> None:
    data = Texts("t", ["a", "b", "c"], ("x", "y"), np.array([[1, 0], [0, 1], [1, 1]], bool), ("", "", ""))
    assert data.select([2, 0]).texts == ["c", "a"]
    assert data.select(np.array([False, True, False])).labels.tolist() == [1]
    with pytest.raises(InvalidArgument):
        data.topic("z")
    with pytest.raises(InvalidArgument):
        data.part("train")


@needs("newsgroups")
def test_20_newsgroups() -> None:
    data = newsgroups()
    counts = np.bincount(data.labels)
    assert (len(data), len(data.classes), counts.min(), counts.max()) == (18_828, 20, 628, 999)
    assert "rec.sport.hockey" in data.classes
    assert all(text.startswith(("From:", "Subject:")) for text in data.texts)


@needs("reuters")
def test_reuters_21578() -> None:
    data = reuters()
    assert len(data) == 21_578
    assert Counter(data.split) == {"train": 9_603, "test": 3_299, "unused": 8_676}
    topics = ("money-fx", "crude", "grain", "trade", "interest", "wheat", "ship", "corn", "dlr")
    assert data.topics_between(0.01, 0.05) == topics
    assert data.topic("money-fx").mean() == pytest.approx(0.037, abs=5e-4)
    assert sorted(reuters(order="time").texts) == sorted(data.texts)


@needs("amazon")
def test_amazon_reviews() -> None:
    assert np.bincount(amazon().labels).tolist() == [2000] * 4
    assert np.bincount(amazon(label="sentiment").labels).tolist() == [4000, 4000]
    assert amazon().classes == ("books", "dvd", "electronics", "kitchen")


@needs("new_york_times")
def test_headlines() -> None:
    data = new_york_times()
    assert (len(data), len(data.classes)) == (3_104, 27)
    assert (data.labels >= 0).all()
    assert len(new_york_times(subject=False).texts[0]) < len(data.texts[0])
