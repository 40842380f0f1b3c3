"""The comparison of choosing by reward: worlds of made-up and of real data, contenders, tables, claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from smidgen import LinUCB
from smidgen_papers import catalogue
from smidgen_papers.beyond import reward_peers, rewards
from smidgen_papers.beyond.reward_worlds import WORLDS, _blocks, matrix, world
from smidgen_papers.beyond.rewards_play import play
from smidgen_papers.data.folder import available
from smidgen_papers.part import Answer, Answers, Part, Place, Run

ROOMS = {"name": "linear", "source": "", "rounds": 60, "seed": 3}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(None, tmp_path)


def answers_of(parts: list[Part], place: Place) -> Answers:
    return Answers(Answer(one.settings, one.run(place)) for one in parts)


def test_a_label_has_a_block_of_its_own() -> None:
    X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    blocks = _blocks(X, 2).toarray()
    np.testing.assert_array_equal(blocks[0], [1, 0, 2, 0, 0, 0])
    np.testing.assert_array_equal(blocks[1], [0, 0, 0, 1, 0, 2])
    np.testing.assert_array_equal(blocks[3], [0, 0, 0, 0, 3, 0])


def test_a_made_up_world(place: Place) -> None:
    arrays = world(place, **ROOMS)
    X, C = matrix(arrays), matrix(arrays, "C")
    assert X.shape == (60 * 5, 5 * C.shape[1])
    assert arrays["rewards"].shape == (60, 5)
    np.testing.assert_array_equal(arrays["rewards"].sum(axis=1), 1.0)
    assert (C.toarray()[:, -1] == 1.0).all()
    other = world(place, **{**ROOMS, "seed": 4})
    assert not np.array_equal(other["rewards"], arrays["rewards"])


@pytest.mark.parametrize("name", ["cancer", "clicks"])
def test_a_world_of_real_data(name: str, tmp_path: Path) -> None:
    if not available(WORLDS[name].source):
        pytest.skip("the data set is not on this machine")
    from smidgen_papers.data.folder import data_folder

    arrays = world(Place(data_folder(), tmp_path), name=name, source=WORLDS[name].source, rounds=50, seed=0)
    assert arrays["rewards"].shape == (50, WORLDS[name].actions)
    assert matrix(arrays).shape[0] == 50 * WORLDS[name].actions


def test_ours_is_the_learner(place: Place) -> None:
    answer = play(place, **ROOMS, peer="smidgen", contender="LinUCB", settings={"ridge": 0.1})
    arrays = world(place, **ROOMS)
    X = matrix(arrays)
    history = LinUCB(dim=X.shape[1], seed=3, ridge=0.1).run(X, arrays["rewards"])
    assert answer["loss"] == pytest.approx(1.0 - history.average_reward)
    assert answer["best"] == 0.0
    assert answer["losses"][-1] == answer["loss"]
    assert answer["at"][-1] == 60


def test_the_plan_and_the_table(place: Place) -> None:
    run = Run(place, quick=True)
    parts = [one for one in rewards.plan(run) if one.settings["peer"] == "smidgen"]
    assert {one.settings["name"] for one in parts} == {"linear"}
    answers = answers_of(parts, place)
    outcome = rewards.gather(run, answers)
    [table] = outcome.tables
    names = [row[0] for row in table.rows]
    assert set(rewards.OURS) < set(names)
    assert any("Not on this machine" in note for note in outcome.notes)
    assert len(outcome.panels[0].curves) >= 2
    catalogue.chosen(["beyond/rewards"])
    claim = catalogue.claims["beyond/rewards-as-it-comes"]
    assert claim.check(run, answers).verdict == "cannot be tested here"


def test_the_best_in_hindsight_is_by_world_and_setting() -> None:
    def answer(rate: float, loss: float) -> Answer:
        settings = {"name": "linear", "peer": "Vowpal Wabbit", "contender": "squarecb", "settings": {"rate": rate}}
        return Answer(settings, {"loss": loss})

    answers = Answers([answer(0.5, 0.4), answer(0.5, 0.6), answer(5.0, 0.45), answer(5.0, 0.45)])
    assert rewards.best_of(answers, "linear", "Vowpal Wabbit").tolist() == [0.45, 0.45]
    assert not len(rewards.best_of(answers, "linear", "arms"))
    assert rewards.geometric([np.array([0.1, 0.3]), np.array([0.4, 0.4])]) == pytest.approx(np.sqrt(0.08))


@pytest.mark.parametrize("peer", ["Vowpal Wabbit", *reward_peers.ARMED])
def test_a_peer_plays_where_it_is_installed(peer: str, place: Place) -> None:
    if not reward_peers.installed(peer):
        pytest.skip("not installed here")
    kind = "Vowpal Wabbit" if peer == "Vowpal Wabbit" else "arms"
    contender, settings = ("squarecb", {"rate": 0.5}) if kind == "Vowpal Wabbit" else (peer, {})
    answer = play(place, **ROOMS, peer=kind, contender=contender, settings=settings)
    assert 0.0 < answer["loss"] <= 1.0


def test_the_claims_compare_set_by_set() -> None:
    """Made-up losses: ours half of the peer's on each of three sets."""
    answers = []
    for k, name in enumerate(("linear", "cancer", "vowels")):
        for kind, settings in rewards.OURS.values():
            what = {"name": name, "peer": "smidgen", "contender": kind, "settings": settings}
            answers.append(Answer(what, {"loss": 0.1 + 0.01 * k}))
        what = {"name": name, "peer": "Vowpal Wabbit", "contender": "squarecb", "settings": {"rate": 0.5}}
        answers.append(Answer(what, {"loss": 0.2 + 0.02 * k}))
    catalogue.chosen(["beyond/rewards"])
    for name in ("as-it-comes", "recommended"):
        finding = catalogue.claims[f"beyond/rewards-{name}"].check(Run(Place(None, Path())), Answers(answers))
        assert finding.verdict == "holds"
        assert "0.5" in finding.effect
