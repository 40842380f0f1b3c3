"""Prices, read and made up."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from smidgen.data import price_stream
from smidgen.errors import InvalidArgument, InvalidRecord
from smidgen_papers.data import read_prices

TABLE = "date,A,B\n2005-02-04,10,4\n2005-02-07,11,5\n2005-02-11,12,2\n2005-02-25,6,8\n"


def test_relatives_and_weeks(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(TABLE)
    prices = read_prices(tmp_path / "p.csv")
    assert repr(prices) == "Prices('p.csv', 4 days x 2 stocks)"
    np.testing.assert_allclose(prices.relatives(), [[1.1, 1.25], [12 / 11, 0.4], [0.5, 4.0]])
    weekly = prices.weekly()  # 4 February 2005 is a Friday
    assert weekly.dates.astype(str).tolist() == ["2005-02-04", "2005-02-11", "2005-02-25"]
    np.testing.assert_allclose(weekly.returns(), [[0.2, -0.5], [-0.5, 3.0]])
    assert prices.select([1]).stocks == ("B",)
    assert prices.select([1]).prices.ravel().tolist() == [4.0, 5.0, 2.0, 8.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no table"),
        ("date,A\n", "no table"),
        ("date,A\n2005-02-04,\n", "line 2: the price of A is ''"),
        ("date,A\n2005-02-04,1\n2005-02-11,-3\n", "line 3: the price of A is '-3'"),
        ("date,A\n2005-02-04,nan\n", "must be a number > 0"),
        ("date,A,B\n2005-02-04,1\n", "2 cells under 3 headings"),
        ("date,A\nyesterday,1\n", "'yesterday' is no date"),
        ("date,A\n,1\n", "'' is no date"),
        ("date,A\n2005-02-04,1\n2005-02-04,2\n", "does not come after"),
    ],
)
def test_gaps_are_refused_by_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(InvalidRecord, match=problem):
        read_prices(io.StringIO(text))


def test_made_up_prices_follow_their_model() -> None:
    prices = price_stream(weeks=4000, stocks=40, seed=1)
    logs = np.log(prices.relatives())
    assert logs.shape == (4000, 40)
    yearly = logs.std(axis=0) * np.sqrt(52)
    assert np.sqrt(np.mean(yearly**2)) == pytest.approx(np.sqrt(0.25**2 * 1.09 + 0.30**2), rel=0.1)
    assert np.corrcoef(logs.T)[np.triu_indices(40, 1)].mean() == pytest.approx(0.4, abs=0.1)
    assert abs(np.corrcoef(logs[1:].mean(axis=1), logs[:-1].mean(axis=1))[0, 1]) < 0.05  # the past tells nothing
    assert prices.weekly().prices.shape == prices.prices.shape
    np.testing.assert_array_equal(prices.prices, price_stream(weeks=4000, stocks=40, seed=1).prices)


def test_no_noise_is_pure_growth() -> None:
    prices = price_stream(weeks=52, stocks=2, drift=0.1, market=0.0, own=0.0, spread=0.0)
    np.testing.assert_allclose(prices.prices[-1] / prices.prices[0], np.exp(0.1))
    with pytest.raises(InvalidArgument):
        price_stream(own=-1.0)
