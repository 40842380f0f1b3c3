"""Result pages with clicks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from papers.data.real_data import needs
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen_papers.data import Impressions, yandex

PAGES = [
    {"split": "train", "query": "b", "docs": [7, 8, 9], "clicks": [9, 7], "click_pos": [2, 0]},
    {"split": "train", "query": "a", "docs": [8, 7, 9], "clicks": [5], "click_pos": []},
    {"split": "test", "query": "b", "docs": [7, 9, 8], "clicks": [9, 9], "click_pos": [1, 1]},
    {"split": "test", "query": "b", "docs": [7, 8, 9], "clicks": [7], "click_pos": [0]},
]


def pages(folder: Path, text: str) -> Impressions:
    (folder / "bandit").mkdir()
    (folder / "bandit" / "yandex_wscd_clicks.jsonl").write_text(text)
    return yandex(folder)


def test_rates(tmp_path: Path) -> None:
    data = pages(tmp_path, "\n".join(map(json.dumps, PAGES)))
    assert data.queries == ("a", "b")
    assert data.query.tolist() == [1, 0, 1, 1]
    assert data.clicked.astype(int).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert data.elsewhere.tolist() == [0, 1, 0, 0]
    assert data.click_rates().tolist() == [0.5, 0.25, 0.25]
    assert data.first_clicks().tolist() == [0.25, 0.25, 0.25]
    assert data.lowest_clicks().tolist() == [0.25, 0.25, 0.25]
    assert data.cascade_rates().tolist() == [0.5, 0.5, 0.0]
    rates = data.attractiveness()
    assert rates[1, 7] == pytest.approx(3 / 5)  # looked at three times, clicked twice
    assert rates[1, 9] == pytest.approx(2 / 3)
    assert (1, 8) not in rates  # never looked at
    assert rates[0, 8] == pytest.approx(1 / 3)


def test_parts(tmp_path: Path) -> None:
    data = pages(tmp_path, "\n".join(map(json.dumps, PAGES)))
    test = data.part("test")
    assert len(test) == 2
    assert test.sequences == ((1, 1), (0,))
    with pytest.raises(InvalidArgument):
        data.part("validation")


@pytest.mark.parametrize("text", ["nonsense", '{"query": "a"}'])
def test_broken_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidRecord, match="result page"):
        pages(tmp_path, text)


@needs("yandex")
def test_yandex() -> None:
    data = yandex()
    assert data.docs.shape == (56_477, 10)
    assert len(data.part("train")) == 35_064
    assert len(data.queries) == 20
    shown = data.clicked.any(axis=1)
    assert (~shown & (data.elsewhere == 0)).sum() == 17_898
    assert (~shown).sum() == 17_898 + 118
    rates = data.click_rates()
    assert rates[0] == rates.max()
    assert (np.diff(data.cascade_rates())[:5] < 0).all()
