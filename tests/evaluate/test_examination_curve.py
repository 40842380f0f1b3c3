"""The examination curve against users whose curve is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_clicks as slow
import smidgen
from smidgen import Clicks, Ranking, users
from smidgen.errors import InvalidArgument
from smidgen.evaluate import examination

READ = np.array([1.0, 0.7, 0.45, 0.3, 0.25])
DOCS = np.random.default_rng(0).normal(size=(60, 6, 4))
GRADES = (DOCS[:, :, 0] > 0).astype(int)
QUERIES = [Ranking(docs) for docs in DOCS]
LABELS = {id(query): grades for query, grades in zip(QUERIES, GRADES, strict=True)}

LEARNERS: dict[str, Any] = {
    "3PR": lambda: smidgen.PerturbedPreferencePerceptron(dim=4),
    "3PR, seldom": lambda: smidgen.PerturbedPreferencePerceptron(dim=4, swap=0.2),
    "FairPairs": lambda: smidgen.FairPairs(dim=4, alternate=True),
    "PDGD": lambda: smidgen.PDGD(dim=4),
}


def played(learner: Any, rounds: int, seed: int = 0) -> list[tuple[Any, Clicks]]:
    user = users.PositionBased(labels=lambda query: LABELS[id(query)], read=READ, click=[0.3, 0.9], seed=seed)
    log = []
    for t in range(rounds):
        decision = learner.decide(QUERIES[t % len(QUERIES)])
        log.append((decision, user(decision.context, decision.action)))
        learner.learn(*log[-1])
    return log


@pytest.mark.parametrize("name", LEARNERS)
def test_the_true_curve_lies_in_the_interval(name: str) -> None:
    found = examination(played(LEARNERS[name](), 8_000), places=5, swap=0.2 if "seldom" in name else 0.5)
    assert found.rounds == 8_000
    assert found.read[0] == found.low[0] == found.high[0] == 1.0
    assert (found.low[1:] < found.read[1:]).all()
    assert (found.high[1:] < 1.8 * found.low[1:]).all(), "the interval says something"
    wide = 1.5 * (found.high - found.low) / 2
    assert (np.abs(found.read - READ) <= wide + 1e-12).all()


def test_intervals_cover_as_often_as_they_say() -> None:
    held = []
    for seed in range(15):
        learner = smidgen.PDGD(dim=4, seed=seed)
        found = examination(played(learner, 1000, seed), places=4)
        held += ((found.low <= READ[:4]) & (found.high >= READ[:4]))[1:].tolist()
    assert np.mean(held) > 0.85


def test_a_learner_that_shows_its_best_list_would_be_misled() -> None:
    """The trap: plain click rates by place take merit for looks."""
    log = played(smidgen.PDGD(dim=4), 6000)
    rates = np.array([np.mean([d.action[k] in list(c) for d, c in log]) for k in range(5)])
    naive = rates / rates[0]
    found = examination(log, places=5)
    assert np.abs(found.read - READ).max() < 0.5 * np.abs(naive - READ).max()


@pytest.mark.parametrize(("name", "weights"), [("3PR", "overlap"), ("PDGD", "overlap"), ("PDGD", "inverse")])
def test_ratios_are_those_of_the_twin(name: str, weights: str) -> None:
    log = played(LEARNERS[name](), 300)
    found = examination(log, places=4, weights=weights)
    for k in range(3):
        weighed = []
        for decision, clicks in log:
            order = decision.action.tolist()
            if name == "3PR":
                weight = 1.0 if decision.teams[k] == decision.teams[k + 1] >= 0 else 0.0
            else:
                scores = decision.scores.tolist()
                here = slow.probability(scores, order, len(order))
                there = slow.probability(scores, slow.exchanged(order, order[k], order[k + 1]), len(order))
                weight = there / (here + there) if weights == "overlap" else (here + there) / (2.0 * here)
            weighed.append((order, list(clicks), weight))
        assert found.read[k + 1] / found.read[k] == pytest.approx(slow.neighbour_ratio(weighed, k))


def test_places_without_clicks_are_not_known() -> None:
    learner = smidgen.PerturbedPreferencePerceptron(dim=4)
    log = [(decision, Clicks([decision.action[0]])) for decision in map(learner.decide, QUERIES)]
    found = examination(log, places=3)
    assert found.read[0] == 1.0
    assert np.isnan(found.read[1:]).all()
    assert np.isnan(found.high[1:]).all()
    assert "nan" in repr(found)


def test_fixed_pairs_cannot_relate_the_second_place_and_the_third() -> None:
    found = examination(played(smidgen.FairPairs(dim=4), 2000), places=4)
    assert np.isfinite(found.read[:2]).all()
    assert np.isnan(found.read[2:]).all()


def test_other_feedback_is_passed_over_and_other_learners_are_refused() -> None:
    learner = smidgen.PDGD(dim=4)
    log: list[Any] = [(learner.decide(QUERIES[0]), np.arange(6))]
    assert examination(log).rounds == 0
    plain = smidgen.PreferencePerceptron(dim=4).decide(QUERIES[0])
    with pytest.raises(InvalidArgument, match="were not randomized"):
        examination([(plain, Clicks([1]))])
    perturbed = smidgen.PerturbedPreferencePerceptron(dim=4, swap=1.0)
    with pytest.raises(InvalidArgument, match="every pair was swapped"):
        examination([(perturbed.decide(QUERIES[0]), Clicks([1]))], swap=1.0)
    for bad in ({"places": 1}, {"swap": 0.0}, {"confidence": 1.5}, {"weights": "even"}):
        with pytest.raises(InvalidArgument):
            examination([], **bad)
