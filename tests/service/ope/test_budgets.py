"""Replays with another budget: rewards and spend of the log's own learner under another limit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from service.bodies import feedback_body, request
from service.bodies import model as settings
from service.ope.test_whatif import asked, figure
from smidgen.cli import app
from smidgen.errors import InvalidArgument
from smidgen.service.engine.engine import Engine
from smidgen.service.ope.replay import replay

COSTS = {"a": 1.0, "b": 4.0, "c": 20.0}
QUALITY = {"a": 0.6, "b": 0.8, "c": 0.9}


def played(folder: Path, rounds: int, given: bool, **body: Any) -> Path:
    """A log of a model that explores; its candidates cost more the better they are."""
    rng, engine = random.Random(7), Engine(folder, synchronous="OFF")
    engine.begin()
    engine.create(
        "m", settings({"loop": "choose", "feedback": "reward", "explore": 0.4, "budget": {"usd": 50.0}} | body)
    )
    for i in range(rounds):
        items = [{"id": id, **({"costs": {"usd": cost}} if given else {})} for id, cost in COSTS.items()]
        key = {"key": f"k{i % 3}"} if body.get("keyed") else {}
        reply = engine.decide("m", request({"candidates": items, **key}))
        cost = {} if given else {"costs": {"usd": COSTS[reply["choice"]]}}
        alone = cost and "rewards" not in body and i % 2
        if alone:
            engine.feedback(reply["decision"], feedback_body(**cost))
        reward = float(rng.random() < QUALITY[reply["choice"]])
        engine.feedback(reply["decision"], feedback_body(reward=reward, **({} if alone else cost)))
    engine.commit()
    engine.close()
    return folder


@pytest.mark.parametrize(("given", "keyed"), [(True, False), (False, False), (False, True)])
def test_spend_keeps_to_the_limit_and_buys_less_when_it_is_lower(tmp_path: Path, given: bool, keyed: bool) -> None:
    folder = played(tmp_path / "data", 900, given, keyed=keyed)
    found = asked(folder, "budget usd=2.5", "budget usd=12")
    cheap, dear = (figure(found, f"budget usd={limit}", "mean cost (usd)") for limit in ("2.5", "12"))
    assert cheap.of == dear.of == 900
    assert cheap.value == pytest.approx(2.5, rel=0.2)
    assert dear.value is not None
    assert cheap.value is not None
    assert 2.0 * cheap.value < dear.value < 14.0
    names = [each.learner for each in found.outcomes]
    assert names == ["as logged", "budget usd=2.5", "budget usd=12"]
    worth = [figure(found, name, "mean reward (doubly robust)").value for name in names[1:]]
    assert worth[0] is not None
    assert worth[1] is not None
    assert 0.55 < worth[0] < worth[1] + 0.05 < 1.0


def test_the_budget_of_the_log_buys_what_it_bought(tmp_path: Path) -> None:
    found = asked(played(tmp_path / "data", 300, given=True), "budget usd=50")
    same = figure(found, "budget usd=50", "mean reward (self-normalised)")
    assert same.value == pytest.approx(found.logged.value)
    assert same.effective == pytest.approx(300)
    assert any("--budget" in note for note in found.notes)


@pytest.mark.parametrize("text", ["usd", "usd=x", "usd=0", "usd=-1", "usd=inf", "=3", "usd=nan"])
def test_budgets_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    folder = played(tmp_path / "data", 5, given=True)
    with pytest.raises(InvalidArgument):
        asked(folder, f"budget {text}")


def test_only_learners_of_rewards_keep_to_a_budget(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "data", synchronous="OFF")
    engine.begin()
    engine.create("m", settings({"loop": "filter", "learner": "RidgeFil", "params": {"dim": 2}}))
    engine.commit()
    engine.close()
    with pytest.raises(InvalidArgument, match="keeps to no budget"):
        asked(tmp_path / "data", "budget usd=1")


def test_the_command_and_its_pieces(tmp_path: Path) -> None:
    folder = played(tmp_path / "data", 200, given=False, keyed=True)
    found = replay("m", ["budget usd=3"], data=folder)
    assert found.outcomes == asked(folder, "budget usd=3").outcomes
    with pytest.raises(InvalidArgument, match="all keys share a budget"):
        replay("m", ["budget usd=3"], data=folder, split="key")
    done = CliRunner().invoke(
        app, ["replay", "--model", "m", "--data", str(folder), "--budget", "usd=3", "--jobs", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "mean cost (usd)" in done.output
