"""The taste into the prompt, the best of several answers out, without any network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen.drafts import best_of, rerank, with_taste
from smidgen.errors import InvalidArgument, SmidgenError

WARM = "Hello! Thank you for writing! It is ready on {day}, I think.\n\nBest regards"
PLAIN = "It is ready on {day}."


def taught(days: int = 4) -> Any:
    learner: Any = smidgen.recommended(loop="draft")
    for day in ("Monday", "Tuesday", "Friday", "Sunday")[:days]:
        decision = learner.decide(smidgen.Drafts([WARM.format(day=day)]))
        learner.learn(decision, smidgen.Edit(PLAIN.format(day=day)))
    return learner


def test_a_prompt_stays_as_it_is_while_nothing_is_known() -> None:
    assert with_taste("Reply.", smidgen.recommended(loop="draft")) == "Reply."
    assert with_taste("Reply.", []) == "Reply."


def test_the_taste_stands_below_the_prompt() -> None:
    found = with_taste("Reply.", taught(), most=3)
    first, *points = found.removeprefix("Reply.\n\n").split("\n")
    assert first == "Write it the way this person likes it:"
    assert points[0].startswith("- shorter: 0.4")
    assert len(points) == 3


def test_answers_are_ranked_and_the_edit_is_learnt() -> None:
    learner = taught()
    texts = [WARM.format(day="Thursday"), PLAIN.format(day="Thursday"), WARM.format(day="Thursday")]
    ranked, decision = rerank(learner, texts)
    assert ranked == [texts[1], texts[0]]
    assert decision.context.texts[decision.action] == ranked[0]
    before = learner.rounds
    learner.learn(decision, smidgen.Edit("Thursday."))
    assert learner.rounds == before + 1


def test_what_is_known_of_each_answer_counts() -> None:
    learner: Any = smidgen.recommended(loop="draft")
    for _ in range(3):
        ranked, decision = rerank(learner, ["same", "same"], features=[{"model": "a"}, {"model": "b"}])
        learner.learn(decision, smidgen.Edit("another"))
    assert decision.action == 1
    assert ranked == ["same", "same"]


def test_any_client_will_do() -> None:
    asked: list[str] = []

    def ask(prompt: str) -> list[str]:
        asked.append(prompt)
        return [WARM.format(day="Friday"), PLAIN.format(day="Friday")]

    learner: Any = smidgen.recommended(loop="draft")
    for _ in range(7):
        text, decision = best_of(learner, ask, "Reply.", context={"channel": "chat"})
        learner.learn(decision, smidgen.Edit(PLAIN.format(day="Friday")))
    assert text == PLAIN.format(day="Friday")
    assert asked[0] == "Reply."
    assert "no greeting" in asked[-1]


def test_what_cannot_rank_is_refused() -> None:
    with pytest.raises(SmidgenError):
        rerank(smidgen.PreferencePerceptron(dim=3), ["a"])
    with pytest.raises(InvalidArgument, match="does not rank"):
        rerank(smidgen.DuelingBandit(dim=smidgen.Drafts.dim), ["a", "b"])
    with pytest.raises(SmidgenError, match="0 drafts"):
        rerank(taught(), [])
    assert np.isfinite(taught().weights).all()
