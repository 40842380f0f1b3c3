"""The blocks of vectors: the slow twin, who holds a block, what is saved, what is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from reference_bank import SlowChoiceBank
from smidgen.errors import InvalidRecord
from smidgen.features.rows import DenseRows, Direction, arm_names
from smidgen.learners.base import Learner

DIM = 12


def offer(rows: Any, ids: tuple[str, ...], z: Any, groups: Any) -> smidgen.Choice:
    """Candidates with ids and groups, and the vector of their context in the last columns."""
    given = DenseRows(np.ascontiguousarray(rows))
    given.arms = arm_names(ids)
    columns = np.arange(DIM - len(z), DIM, dtype=np.uint32)
    given.direction = Direction(columns, z, np.array(groups, np.uint32).reshape(len(ids), -1), given.arms)
    return smidgen.Choice(given)


@pytest.mark.parametrize(("columns", "ids", "grouped"), [(3, 4, True), (300, 6, False), (300, 2, True)])
def test_decisions_are_those_of_the_slow_twin(
    columns: int, ids: int, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "DIM", columns + 4)
    rng = np.random.default_rng(columns + ids)
    learner, slow = smidgen.ChoiceBank(dim=DIM), SlowChoiceBank(DIM, columns=columns)
    names = tuple(f"c{k}" for k in range(ids))
    for t in range(60 if columns > 9 else 300):
        z = rng.normal(size=columns)
        z /= np.linalg.norm(z)
        rows = np.zeros((ids, DIM))
        rows[:, :3] = rng.normal(size=(ids, 3))
        groups = [[1 + k % 2] for k in range(ids)] if grouped else [[] for _ in range(ids)]
        made = learner.decide(offer(rows, names, z, groups))
        keys = [tuple(each) for each in groups]
        scores, widths = slow.estimates(rows, names, z, keys)
        np.testing.assert_allclose(made.scores, scores, atol=1e-7)
        np.testing.assert_allclose(made.widths, widths, atol=1e-7)
        reward = float(np.clip(0.5 + (z[0] if made.action == 0 else -z[1]) * (1 + t % 2), 0, 1))
        learner.learn(made, reward)
        slow.learn(rows[made.action], reward, names[made.action], z, keys[made.action])
    held = [f"c{k}" for k in range(ids) if ("id", f"c{k}") in slow.blocks.held]
    assert [name for name in names if arm_names((name,)).item() in [key for _, key in learner.blocks.holders]] == held


def pipeline(dim: int = 256, **settings: Any) -> smidgen.Pipeline:
    return smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=dim, **settings), learner=smidgen.ChoiceBank(dim=dim, floor=0.0)
    )


def test_each_candidate_learns_its_own_direction() -> None:
    rng, learner, right = np.random.default_rng(0), pipeline(vectors=16), 0
    centres = rng.normal(size=(4, 64))
    for t in range(300):
        kind = int(rng.integers(4))
        about = {"emb": centres[kind] + 0.1 * rng.normal(size=64)}
        made = learner.decide(smidgen.Candidates({key: {} for key in "abcd"}, context=about))
        learner.learn(made, float(made.action == kind))
        right += made.action == kind and t >= 200
    assert right >= 95
    lines = dict(learner.weights_by_name())
    assert {"context.emb", "context.emb × id=a"} <= lines.keys()
    assert not any("~" in name for name in lines)
    assert sum("context.emb~" in name for name, _ in learner.weights_by_name(expand=("emb",))) == 5 * 16
    contributions = dict(learner.explain(made).contributions)
    assert contributions["context.emb × id=" + "abcd"[made.action]] > 0.1


def test_it_is_saved_and_goes_on_with_the_same_bits() -> None:
    rng, learner = np.random.default_rng(1), pipeline(vectors=8)
    offers = [
        smidgen.Candidates({k: {"kind": k} for k in "abc"}, context={"emb": rng.normal(size=20).tolist()})
        for _ in range(40)
    ]
    for each in offers[:20]:
        learner.learn(learner.decide(each), float(rng.random()))
    other = Learner.from_bytes(learner.to_bytes())
    for each in offers[20:]:
        mine, theirs = learner.decide(each), other.decide(each)
        assert mine.to_bytes() == theirs.to_bytes()
        again = smidgen.Decision.from_bytes(mine.to_bytes())
        learner.learn(mine, 0.5)
        other.learn(again, 0.5)
    assert learner.to_bytes() == other.to_bytes()
    state = dict(learner.learner._state())
    for name, array in (
        ("block_slots", state["block_slots"][::-1].copy()[:-1]),
        ("block_slots", np.full_like(state["block_slots"], 5)),
        ("block_kinds", np.full_like(state["block_kinds"], 9)),
        ("block_R", np.full_like(state["block_R"], np.nan)),
        ("block_used", np.array([99])),
    ):
        with pytest.raises(InvalidRecord):
            learner.learner._check_state(state | {name: array})


def test_a_candidate_that_is_shown_more_often_takes_over_a_block() -> None:
    learner = pipeline(1024, vectors=400)  # space for two blocks
    offer = {name: smidgen.Candidates({name: {}}, context={"emb": [1.0] * 400}) for name in "abc"}
    for name in "aabbbcc":
        learner.teach(offer[name], (0, 1.0))
    keys = dict(zip("abc", arm_names(("a", "b", "c")).tolist(), strict=True))
    assert {key for _, key in learner.learner.blocks.holders} == {keys["a"], keys["b"]}
    assert learner.learner.blocks.without_blocks() == 1
    learner.teach(offer["c"], (0, 1.0))
    assert {key for _, key in learner.learner.blocks.holders} == {keys["b"], keys["c"]}


def test_full_covariance_stays_with_many_blocks() -> None:
    rng, learner = np.random.default_rng(2), pipeline(vectors=32)
    for k in range(40):
        given = smidgen.Candidates({f"c{k}": {} for k in range(40)}, context={"emb": rng.normal(size=64)})
        learner.teach(given, (k, float(rng.random())))
    assert learner.learner.covariance == "full"
    assert len(learner.learner.blocks.holders) == 32
    assert learner.learner.blocks.without_blocks() == 8


def test_features_of_vectors_that_share_a_column_are_added_up() -> None:
    learner = pipeline(8, vectors=12)
    given = smidgen.Candidates({"a": {}, "b": {}}, context={"emb": np.arange(12.0)})
    for _ in range(3):
        learner.learn(learner.decide(given), 1.0)
    assert 0 < learner.learner.blocks.used[0] <= 8
