"""Editors with hidden styles: what the experiment is made of, small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers.beyond import draft_play, drafts
from smidgen_papers.beyond.draft_play import CONTESTANTS, play, rounds_of
from smidgen_papers.beyond.draft_styles import NAMED, TRAITS, UNNAMED, rendered, sentences_of
from smidgen_papers.part import Answer, Answers, Place, Run

TEXT = "I bought this book and it's good. But I do not like the story which is long. The end was great! Buy it."
PLACE = Place(None, Path())


def test_half_of_the_traits_have_no_name_among_the_features() -> None:
    assert len(UNNAMED) >= len(NAMED)
    assert {*NAMED, *UNNAMED} == set(TRAITS)


@pytest.mark.parametrize("trait", TRAITS)
def test_every_trait_has_two_renderings(trait: str) -> None:
    sentences = TEXT.replace("! ", "!\n").replace(". ", ".\n").split("\n")
    assert rendered(sentences, {trait}) != rendered(sentences, set())
    assert rendered(sentences, {trait}) == rendered(sentences, [trait])


def test_short_texts_are_left_out() -> None:
    assert sentences_of("Too short. Really.") is None
    assert len(sentences_of("This is one sentence here. " * 20) or []) == 8


def some() -> list[list[str]]:
    rng = np.random.default_rng(0)
    words = ["book", "good", "but", "which", "and", "people", "buy", "time", "story", "the", "of", "that", "long"]
    return [[" ".join(rng.choice(words, size=9)).capitalize() + "." for _ in range(6)] for _ in range(40)]


def test_the_stream_is_the_same_for_all_and_the_best_draft_is_known() -> None:
    one, again = (rounds_of(some(), {"ampersand": True}, 0.3, 5, 7) for _ in range(2))
    assert one == again
    assert all(min(each.distance) >= 0 and len(each.drafts) == 8 for each in one)


def test_learners_avoid_what_can_be_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_play, "material", lambda folder, source: some())
    names = [name for name in CONTESTANTS if name != "RankingSVM"]
    found: dict[str, Any] = play(
        PLACE, source="amazon", traits=["greeting"], contestants=names, slips=0.0, rounds=30, seed=3
    )
    late = {name: found[f"{name}: avoidable"][10:].mean() for name in names}
    assert late["SoftPreferencePerceptron"] == 0.0 < late["no learning"]
    assert found["SoftPreferencePerceptron: edits"] < found["no learning: edits"]


def test_a_gathered_table_says_when_half_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_play, "material", lambda folder, source: some())
    settings: dict[str, Any] = {"source": "amazon", "traits": ["greeting"], "slips": 0.0, "rounds": 30}
    settings["contestants"] = list(CONTESTANTS)
    answers = Answers([Answer(settings | {"seed": s}, play(PLACE, **settings, seed=s)) for s in (1, 2)])
    table = drafts.gather(Run(PLACE, quick=True), answers).tables[0]
    rows = {row[1]: row for row in table.rows if row[0] == "one trait, all"}
    assert rows["no learning"][-1] == "–"
    assert rows["SoftPreferencePerceptron"][-1] == "1"
    assert drafts.plan(Run(PLACE, quick=True)) == []
