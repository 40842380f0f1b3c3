"""The simulated user study of Figure 1, and the adversary of Lemma 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers.catalogue import claims
from smidgen_papers.coactive import clicks_play, lower_bound
from smidgen_papers.coactive.clicks import MODELS, shares
from smidgen_papers.coactive.clicks_play import ASSESSORS, DISCOUNTS, clicks, position_effect
from smidgen_papers.data.clicks import Impressions
from smidgen_papers.part import Answer, Answers, Place, Run

RUN = Run(Place(None, Path("/nowhere")), quick=True)
SETTINGS: dict[str, Any] = {"source": "yahoo-like", "size": [40, 24, 5], "read": "default", "studies": 1, "seed": 0}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    settings = SETTINGS | {"model": "mixed"}
    return Answer(settings, clicks(Place(None, tmp_path_factory.mktemp("kept")), **settings))


def test_a_chain_gains_what_dcg_says() -> None:
    """Documents 0 to 9 were shown, 12 came with the second query; 3 and 12 were clicked."""
    grades = np.zeros(20, np.int64)
    grades[[3, 12]] = 1, 2
    lists = [np.arange(10), np.array([12, *range(9)])]
    chain = clicks_play._Chain(lists, [[3], [12]], grades)
    changed, gains = clicks_play._gains(chain, np.random.default_rng(0))
    relevance = {3: 2.5, 12: 5.0}  # three grades were met: 0, 2.5 and 5
    after = [3, 12, 0, 1, 2, 4, 5, 6, 7, 8]
    for gain, discount in zip(gains, DISCOUNTS.values(), strict=False):
        before, now = (
            sum(relevance.get(document, 0.0) * d for document, d in zip(order, discount, strict=True))
            for order in (range(10), after)
        )
        assert gain == pytest.approx(now - before)
    assert changed
    assert len(gains) == len(DISCOUNTS) * len(ASSESSORS)


def test_a_click_on_the_first_result_changes_nothing() -> None:
    chain = clicks_play._Chain([np.arange(10)], [[0]], np.arange(10))
    changed, gains = clicks_play._gains(chain, np.random.default_rng(0))
    assert not changed
    assert set(gains) == {0.0}


def test_assessors_rank_from_zero_to_five() -> None:
    rng = np.random.default_rng(0)
    grades = np.array([2, 0, 0, 1])
    assert clicks_play._relevance(grades, "ties", rng).tolist() == [5.0, 0.0, 0.0, 2.5]
    five = clicks_play._relevance(10 * np.arange(4), "five", rng)  # too far apart to err
    assert five == pytest.approx([0.0, 5 / 3, 10 / 3, 5.0])


def test_chains_meet_the_printed_averages(answer: Answer) -> None:
    assert len(answer["gain"]) == 160
    assert answer["queries"].mean() == pytest.approx(2.2, abs=0.4)
    assert answer["clicks"].mean() == pytest.approx(1.8, abs=0.5)
    assert sorted(set(answer["condition"].tolist())) == [0, 1, 2]
    assert (answer["gain"][~answer["changed"]] == 0.0).all()


def test_shares_add_up(answer: Answer) -> None:
    found = shares(answer)
    assert found[:, :3].sum(axis=1) == pytest.approx(100.0)
    gain = answer["gain"][:, 0]
    assert found[0, 0] == pytest.approx(100.0 * (gain > 0).mean())


def test_position_effect_is_found_again() -> None:
    rng = np.random.default_rng(0)
    read, pages = np.array([1.0, 0.6, 0.3]), 20_000
    docs = np.argsort(rng.random((pages, 3)), axis=1)
    attract = np.array([0.7, 0.5, 0.3])
    clicked = rng.random((pages, 3)) < read * attract[docs]
    zeros = np.zeros(pages, np.int64)
    shown = Impressions(
        name="made",
        query=zeros,
        queries=("q",),
        docs=docs,
        clicked=clicked,
        sequences=((),) * pages,
        elsewhere=zeros,
        split=("train",) * pages,
    )
    assert position_effect(shown) == pytest.approx(read, abs=0.05)


def answers_with(up: float, down: float, reversed_gain: float = 1.0) -> Answers:
    """Studies with these shares of gains and losses."""
    rng = np.random.default_rng(0)
    rows = []
    for study in range(10):
        for i in range(160):
            draw, condition = rng.random(), i % 3
            gain = 1.0 if draw < up else -1.0 if draw < up + down else 0.0
            rows.append((study, condition, gain * reversed_gain if condition == 1 and gain > 0 else gain))
    study, condition, gain = (np.array(column) for column in zip(*rows, strict=True))
    values = {"study": study, "condition": condition, "gain": gain[:, None], "changed": gain != 0}
    return Answers(Answer({"source": "mq2008", "model": model}, values) for model in MODELS)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("click-imbalance", answers_with(0.6, 0.1), answers_with(0.35, 0.35)),
        ("clicks-in-every-condition", answers_with(0.6, 0.1), answers_with(0.1, 0.6)),
        ("worse-rankings-easier-to-improve", answers_with(0.6, 0.1, 2.0), answers_with(0.6, 0.1, 0.1)),
    ],
)
def test_claims_can_hold_and_fail(name: str, good: Answers, bad: Answers) -> None:
    check = claims[f"coactive/{name}"].check
    assert check(RUN, good).verdict == "holds"
    assert check(RUN, bad).verdict == "does not hold here"


def test_shares_of_people_cannot_be_tested() -> None:
    found = claims["coactive/click-shares"].check(RUN, answers_with(0.6, 0.1))
    assert found.verdict == "cannot be tested here"
    assert "positive 59" in found.effect


@pytest.mark.parametrize("learner", lower_bound.LEARNERS)
def test_no_learner_escapes_the_adversary(learner: str) -> None:
    settings = lower_bound.LEARNERS[learner]
    answer = lower_bound.adversary(RUN.place, learner=learner, settings=settings, horizon=20, seed=0)
    assert answer["regret"] == pytest.approx(2.0 / np.sqrt(20))
    assert answer["slack"] == pytest.approx(0.0, abs=1e-12)


def test_lower_bound_claim_can_hold_and_fail() -> None:
    check = claims["coactive/lower-bound"].check

    def answers(regret: float) -> Answers:
        return Answers([Answer({}, {"regret": regret, "bound": 0.2, "slack": 0.0, "w_norm": 1.0})])

    assert check(RUN, answers(0.2)).verdict == "holds"
    assert check(RUN, answers(0.1)).verdict == "does not hold here"
