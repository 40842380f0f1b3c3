"""Pages that mix two rankings: drafted fairly, counted for the better one, with a verdict after fewer pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.asgi import Caller
from service.bodies import feedback_body, model, request
from service.engine.test_champions import World, twin
from service.memory import CommittedTables
from smidgen.decision import Decision, FloatArray
from smidgen.errors import SmidgenError
from smidgen.evaluate.confidence import mean_between
from smidgen.evaluate.lift import lift
from smidgen.service.admin.verify import audit_model
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.log_sources import source_of
from smidgen.service.engine.stories import story_of
from smidgen.service.loops.features import Vectors
from smidgen.service.loops.registry import loops
from smidgen.service.monitoring.compare import PAGES, compare_arms
from smidgen.service.monitoring.interleaving import Page, difference_of, result
from smidgen.service.ope.whatif import what_if
from smidgen.service.schemas import AmendBody, CompareReply, ModelBody, Story
from smidgen.structures import Ranking

RANK = loops.find("rank")
LEARNS = {"loop": "rank", "learner": "PreferencePerceptron", "params": {"dim": 2}}
DRAWS = {"loop": "rank", "learner": "FairPairs", "params": {"dim": 2}}
DOCUMENTS = 8


def mixed(share: float = 0.5, **more: Any) -> dict[str, Any]:
    return {"challenger_of": {"model": "champion", "share": share, "compare": "interleave", **more}}


def look(world: World, name: str = "champion") -> CompareReply:
    return compare_arms(world.engine.store.reader(), world.engine.model(name), world.clock.now)


def stories(world: World, replies: list[dict[str, Any]]) -> list[Story]:
    log = EventLog(world.engine.store.reader())
    return [story_of(log, world.engine.shards, each["decision"], None, world.clock.now) for each in replies]


FORM = RANK(ModelBody(loop="rank"), Vectors(ModelBody(loop="rank"), None))


def draft(first: list[int], second: list[int], seed: int) -> tuple[Decision, bytes]:
    context = Ranking(np.eye(len(first)))
    made = [
        Decision(kind="x", settings="", number=1, action=np.array(order), greedy=np.array(order), context=context)
        for order in (first, second)
    ]
    return FORM.interleave(made[0], made[1], seed)


def test_a_draft_takes_the_best_that_is_left_of_either_in_turn() -> None:
    firsts = []
    for seed in range(400):
        page, teams = draft([0, 1, 2, 3], [3, 2, 1, 0], seed)
        rivals = np.unpackbits(np.frombuffer(teams, np.uint8))[:4]
        assert sorted(page.action.tolist()) == [0, 1, 2, 3]
        assert rivals.sum() == 2
        assert {0, 3} == set(page.action[:2].tolist())
        assert result(["3"], "0123", teams) == 1.0
        assert rivals[3] == 1
        assert (page.propensity, page.teams, page.log_propensity) == (None, None, None)
        firsts.append(int(page.action[0]))
    assert 160 < firsts.count(0) < 240


def test_what_both_would_take_next_says_nothing() -> None:
    page, teams = draft([0, 1, 2, 3], [0, 1, 3, 2], 1)
    assert page.action[:2].tolist() == [0, 1]
    third, last = (str(document) for document in page.action[2:])
    assert result(["0", "1", last], "0123", teams) == 0.5
    assert result(third, "0123", teams) == float(third == "3")


def test_clicks_on_mixed_pages_count_and_teach_both(tmp_path: Path) -> None:
    world = World(LEARNS, tmp_path / "data", challenger=twin(LEARNS, **mixed()))
    replies = world.play(80)
    assert {reply["model"] for reply in replies} == {"champion"}
    found = stories(world, replies)
    pages = [each for each in found if each.teams is not None]
    assert 25 < len(pages) < 55
    for each in pages:
        assert each.shown["propensity"] is None
        assert sorted(each.teams.champion + each.teams.challenger) == ["a", "b", "c", "d"]
        assert each.learnt_version is not None
        assert each.why_not is None
    models = world.engine.models
    assert models["champion"].version == models["challenger"].version == 80
    found = look(world)
    assert (found.measure, found.difference.n) == (PAGES, len(pages))
    assert {arm.of for arm in found.arms.values()} == {len(pages)}
    assert look(world, "challenger") == found
    before = world.states()
    world.engine.store.close()
    again = world.open()
    assert world.states(again) == before
    again.store.close()
    with Inspection(tmp_path / "data") as seen:
        assert [audit_model(seen, each).problems for each in seen.models()] == [[], []]


def test_a_learner_that_draws_its_lists_counts_and_does_not_learn(tmp_path: Path) -> None:
    world = World(DRAWS, CommittedTables(), challenger=twin(LEARNS, **mixed(1.0)))
    fresh = world.states()["champion", None]
    replies = world.play(20)
    found = stories(world, replies)
    assert all(each.teams is not None and str(each.why_not).startswith("interleaved") for each in found)
    now = world.states()
    learner = world.engine.learners.get(world.engine.models["champion"], None).learner
    assert learner.rounds == 0
    assert not learner.weights.any()
    assert now["champion", None] != fresh  # the numbers of its decisions are taken
    assert world.engine.models["champion"].version == 20
    assert world.engine.learners.get(world.engine.models["challenger"], None).learner.rounds == 20
    version = world.engine.models["champion"].version
    world.engine.retract(replies[3]["decision"])
    assert world.engine.models["champion"].version == version + 1
    assert look(world).difference.n == 19
    world.engine.roll_back("champion", 5)
    assert look(world).difference.n < 19


def test_the_pages_of_a_figure_are_the_models_own() -> None:
    world = World(LEARNS, CommittedTables(), challenger=twin(LEARNS, **mixed(1.0)))
    world.play(15)
    rows = world.engine.store.query("latest", world.engine.models["champion"].shard, before=1 << 40, limit=100)
    assert len(rows) == 15
    assert all(row.measure is None for row in rows)


def test_silence_is_half_for_each_when_the_window_is_over() -> None:
    world = World(LEARNS, CommittedTables(), challenger=twin(LEARNS, **mixed(1.0)))
    for _ in range(40):
        world.engine.decide("champion", request({"candidates": [{"id": each, "features": [1, 0]} for each in "ab"]}))
    found = look(world)
    assert (found.difference.n, found.arms["champion"].open) == (0, 40)
    assert found.decisions_to_go == 30
    world.clock.now += 86_401
    found = look(world)
    assert (found.difference.n, found.difference.value, found.verdict) == (40, 0.0, "not yet")
    assert "undecided" in found.in_words


def test_units_share_pages_always_or_never() -> None:
    world = World(LEARNS, CommittedTables(), challenger=twin(LEARNS, **mixed(0.5, by="unit")))
    seen: dict[str, set[bool]] = {}
    for turn in range(200):
        body = {"candidates": [{"id": each, "features": [turn % 3, 1]} for each in "ab"], "unit": f"u{turn % 40}"}
        reply = world.engine.decide("champion", request(body))
        world.engine.feedback(reply["decision"], feedback_body(clicked=["a"]))
        (story,) = stories(world, [reply])
        seen.setdefault(body["unit"], set()).add(story.teams is not None)
    assert all(len(each) == 1 for each in seen.values())
    assert 8 < sum(True in each for each in seen.values()) < 32
    found = look(world)
    assert found.difference.n == sum(5 for each in seen.values() if True in each)


def test_refusals_and_terms() -> None:
    world = World({"loop": "choose", "learner": "LinUCB"}, CommittedTables())
    with pytest.raises(SmidgenError, match="no rankings to mix"):
        world.engine.create("rival", model({"loop": "choose", "learner": "LinUCB", **mixed()}))
    world = World(LEARNS, CommittedTables(), challenger=twin(LEARNS, **mixed(0.0)))
    assert all(each.teams is None for each in stories(world, world.play(10)))
    world.engine.amend("challenger", AmendBody(share=1.0))
    assert all(each.teams is not None for each in stories(world, world.play(10)))
    world.engine.promote("challenger")
    assert all(each.teams is not None for each in stories(world, world.play(10)))


def test_what_if_reads_mixed_pages(tmp_path: Path) -> None:
    for name, body in (("learns", LEARNS), ("draws", DRAWS)):
        world = World(body, tmp_path / name, challenger=twin(LEARNS, **mixed()))
        world.play(60)
        world.engine.store.close()
        with Inspection(tmp_path / name) as seen:
            found = what_if(source_of(seen, seen.model("champion")), ["PreferencePerceptron"])
        assert (found.decisions, found.answered) == (60, 60)
        assert [each.learner for each in found.outcomes] == ["as logged", "PreferencePerceptron"]


def test_over_http(tmp_path: Path) -> None:
    with Caller(tmp_path) as call:
        call.put("/v1/models/champion", LEARNS)
        call.put("/v1/models/rival", twin(LEARNS, **mixed(1.0)))
        shown = call.get("/v1/models/rival").json()
        assert shown["challenger_of"] == {"model": "champion", "share": 1.0, "by": None, "compare": "interleave"}
        asked = {"candidates": [{"id": each, "features": [1, each]} for each in (1, 2, 3)]}
        reply = call.post("/v1/models/champion/decisions", asked).json()
        call.post(f"/v1/decisions/{reply['decision']}/feedback", {"clicked": [2]})
        story = call.get(f"/v1/decisions/{reply['decision']}").json()
        assert sorted(story["teams"]["champion"] + story["teams"]["challenger"]) == [1, 2, 3]
        assert reply["propensity"] is None
        assert call.get("/v1/models/rival/compare").json()["measure"] == PAGES
        refused = call.put("/v1/models/banner", {"loop": "choose"})
        refused = call.put(
            "/v1/models/other", {"loop": "choose", "challenger_of": {"model": "banner", "compare": "interleave"}}
        )
        assert refused.status_code == 422
        assert "no rankings to mix" in refused.text


class Visitors:
    """People who look at places 1, 2, … with probability 1, 1/2, … and click what is relevant."""

    def __init__(self, seed: int, noise: tuple[float, float]) -> None:
        self.rng, self._noise = np.random.default_rng(seed), noise
        self.seed = seed

    def rankings(self) -> tuple[FloatArray, list[list[int]]]:
        """The relevance of each document, and how both models rank them."""
        relevance = self.rng.random(DOCUMENTS) ** 2
        scores = (relevance + noise * self.rng.normal(size=DOCUMENTS) for noise in self._noise)
        return relevance, [np.argsort(-each).tolist() for each in scores]

    def clicks(self, relevance: FloatArray, order: list[int]) -> list[int]:
        looked = self.rng.random(DOCUMENTS) < 1.0 / np.arange(1, DOCUMENTS + 1)
        return [doc for doc, seen in zip(order, looked, strict=True) if seen and self.rng.random() < relevance[doc]]

    def split(self, pages: int) -> tuple[FloatArray, FloatArray]:
        """By page: whether it was left unchanged, which is what the service measures, and whose it was."""
        treated = self.rng.integers(2, size=pages)
        unchanged = np.empty(pages)
        for page in range(pages):
            relevance, orders = self.rankings()
            order = orders[treated[page]]
            clicked = self.clicks(relevance, order)
            unchanged[page] = bool(clicked) and order[: len(clicked)] == clicked
        return unchanged, treated.astype(float)

    def interleaved(self, pages: int) -> list[Page]:
        found = []
        for page in range(pages):
            relevance, orders = self.rankings()
            shown, teams = draft(*orders, self.seed * pages + page)
            clicked = self.clicks(relevance, shown.action.tolist())
            found.append(Page(None, result(clicked, range(DOCUMENTS), teams)))
        return found


def until_sure(pages: int, ends: Callable[[int], tuple[float, float]]) -> int:
    """Number of pages that a verdict takes; looked at on the way, a twentieth more pages each time."""
    for n in np.unique(np.geomspace(60, pages, 100).astype(int)).tolist():
        low, high = ends(n)
        if low > 0.0 or high < 0.0:
            return int(n)
    return pages


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(15), marks=pytest.mark.long)])
def test_mixed_pages_need_fewer_than_a_split(seeds: range) -> None:
    most, split, shared = 6_000, 0, 0
    for noise in ((0.6, 0.2), (0.4, 0.2), (0.3, 0.15), (1.0, 0.5)):
        for seed in seeds:
            unchanged, treated = Visitors(seed, noise).split(most)

            def of_split(n: int, y: FloatArray = unchanged, group: FloatArray = treated) -> tuple[float, float]:
                found = lift(y[:n], group[:n], share=0.5).difference
                return found.low, found.high

            won = np.array([page.won for page in Visitors(seed, noise).interleaved(most)])
            split += until_sure(most, of_split)
            shared += until_sure(most, lambda n, won=won: tuple(2 * end - 1 for end in mean_between(won[:n], 0.05)))
    assert shared < 0.4 * split, (shared, split)


def test_equal_rankings_have_no_winner() -> None:
    wrong = 0
    for seed in range(20):
        pages = Visitors(seed, (0.3, 0.3)).interleaved(400)
        found = [difference_of(pages[:n], by_unit=False) for n in range(40, 400, 40)]
        wrong += any(each.low > 0.0 or each.high < 0.0 for each in found)
    assert wrong <= 3
