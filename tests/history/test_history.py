"""One history class for every loop: contents, derived figures, errors."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Clicks, Confidit, History, Ranking, RidgeFil, SquareCB, users
from smidgen.errors import InvalidArgument, MissingExtra

LABELS = smidgen.data.label_stream(rounds=60)
ITEMS = smidgen.data.filter_stream(rounds=60)
QUERIES = smidgen.data.ranking_stream(queries=30, docs=6, dim=4)
TASTE = users.StrictAlpha(w_star=QUERIES.w_star, alpha=0.5)


@cache
def by_loop() -> dict[str, History]:
    """A run of each loop; made when a test asks for it, as kernels may have to be compiled."""
    rewards = np.random.default_rng(0).random((30, 3))
    bowl = smidgen.losses.Repeated(lambda x: float(x @ x), rounds=30)
    return {
        "rank": smidgen.play(smidgen.PreferencePerceptron(dim=4), QUERIES, TASTE),
        "label": smidgen.play(Confidit(dim=6, n_classes=3), LABELS),
        "filter": smidgen.play(RidgeFil(dim=6), ITEMS),
        "choose": smidgen.play(SquareCB(dim=3), (np.eye(3), rewards)),
        "tune": smidgen.play(smidgen.OGDEG(space=smidgen.Ball(dim=2), loss_bound=1.0, delta=0.1), bowl),
    }


every_loop = pytest.mark.parametrize("loop", ["rank", "label", "filter", "choose", "tune"])


def test_the_histories_of_all_loops_are_one_class() -> None:
    from smidgen.evaluate.compare import TuneHistory
    from smidgen.learners.filter import FilterHistory
    from smidgen.learners.label import LabelHistory

    old = (TuneHistory, FilterHistory, LabelHistory, smidgen.RewardHistory, smidgen.TuneHistory)
    assert all(name is History for name in old)


@every_loop
def test_every_column_has_an_entry_per_round(loop: str) -> None:
    history = by_loop()[loop]
    assert history.loop == loop
    assert {len(column) for column in history.columns.values()} == {len(history)}
    assert list(history.columns)[:4] in (["round", "action", "greedy", "explored"],)
    assert history.summary["rounds"] == len(history)
    assert f"{len(history)} rounds" in repr(history)


@every_loop
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(loop: str, library: str) -> None:
    pytest.importorskip(library)
    history = by_loop()[loop]
    frame = history.to_frame(library)
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == list(history.columns)
    assert len(frame) == len(history)
    assert list(frame["round"]) == list(range(1, len(history) + 1))


def test_the_frame_is_of_pandas_unless_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(by_loop()["label"].to_frame()).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(by_loop()["label"].to_frame()).__module__.startswith("polars")
    with pytest.raises(MissingExtra, match="pip install pandas"):
        by_loop()["label"].to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match="pandas or polars"):
        by_loop()["label"].to_frame()


@pytest.mark.parametrize("library", ["numpy", 3, ""])
def test_a_frame_of_another_library_is_refused(library: Any) -> None:
    with pytest.raises(InvalidArgument, match="library"):
        by_loop()["label"].to_frame(library)


@every_loop
def test_notebooks_show_numbers_and_a_curve(loop: str) -> None:
    found = by_loop()[loop]._repr_html_()
    assert "<svg" in found
    assert "<script" not in found
    assert by_loop()[loop].learner in found


class TestMistakes:
    def test_are_known_of_every_round_of_a_labelled_stream(self) -> None:
        for loop in ("label", "filter"):
            history = by_loop()[loop]
            np.testing.assert_array_equal(history.mistakes, history.actions != history.truth)
            assert history.error_rate == history.mistakes.mean() == history.columns["mistake"].mean()
            assert history.cumulative_mistakes[-1] == history.mistakes.sum()

    def test_of_answers_are_known_where_somebody_answered(self) -> None:
        assert History(["a", "b"], feedback=[True, False], loop="label").mistakes.tolist() == [False, True]
        assert History(["a", "b"], feedback=["a", "a"], loop="label").mistakes.tolist() == [False, True]
        shown = [True, True, False, False, False]
        heard = [True, False, None, True, False]
        assert History(shown, feedback=heard, loop="filter").mistakes.tolist() == [False, True, False, True, False]

    def test_of_rewards_are_those_below_one_half(self) -> None:
        found = iter([True, 0.2, None, 0.9, False])
        history = smidgen.play(smidgen.HingeConfidit(dim=2, n_classes=2), [np.ones(2)] * 5, lambda x, a: next(found))
        np.testing.assert_array_equal(history.rewards, [1.0, 0.2, np.nan, 0.9, 0.0])
        assert history.mistakes.tolist() == [False, True, False, False, True]
        assert history.average_reward == pytest.approx(2.1 / 4)
        assert history.curve is not None
        np.testing.assert_allclose(history.curve.values, [1.0, 0.6, 0.6, 0.7, 0.525])

    @pytest.mark.parametrize("loop", ["rank", "choose", "tune"])
    def test_belong_to_labels_and_filters(self, loop: str) -> None:
        with pytest.raises(InvalidArgument, match="no mistakes"):
            _ = by_loop()[loop].mistakes
        assert "mistake" not in by_loop()[loop].columns


class TestRegret:
    def test_is_what_was_missed_in_every_loop_that_knows_the_best(self) -> None:
        h = by_loop()["rank"]
        np.testing.assert_array_equal(h.regret, h.best_utility - h.utility)
        h = by_loop()["choose"]
        np.testing.assert_array_equal(h.regret, h.best - h.rewards)
        h = by_loop()["tune"]
        np.testing.assert_array_equal(h.regret, h.losses - h.best_losses)
        for loop in ("rank", "choose", "tune"):
            h = by_loop()[loop]
            np.testing.assert_allclose(h.average_regret, np.cumsum(h.regret) / np.arange(1, len(h) + 1))
            np.testing.assert_array_equal(h.columns["regret"], h.regret)

    @pytest.mark.parametrize("loop", ["label", "filter"])
    def test_is_refused_elsewhere(self, loop: str) -> None:
        with pytest.raises(InvalidArgument, match="without a utility"):
            _ = by_loop()[loop].regret

    @pytest.mark.parametrize(
        ("name", "loop"),
        [("precision", "rank"), ("greedy_mistakes", "tune"), ("average_loss", "label"), ("average_reward", "filter")],
    )
    def test_what_a_run_does_not_know_is_refused_with_the_columns_to_look_at(self, name: str, loop: str) -> None:
        with pytest.raises(InvalidArgument, match=r"has no .*history\.columns"):
            getattr(by_loop()[loop], name)


def test_names_of_labels_stand_in_the_frame_and_numbers_in_the_arrays() -> None:
    history = smidgen.play(Confidit(dim=6, labels=["x", "y", "z"]), (LABELS.X, np.array(["x", "y", "z"])[LABELS.y]))
    assert history.actions.dtype == np.int64
    assert set(history.columns["truth"]) == {"x", "y", "z"}
    shown = [["x", "y", "z"][i] for i in history.actions]
    assert history.to_frame()["action"].tolist() == shown


def test_knobs_have_a_column_each() -> None:
    space = smidgen.Knobs({"threads": smidgen.knobs.Integer(1, 8), "ratio": (0, 1)})
    tuner = smidgen.QuadraticTuner(space=space)
    history = smidgen.play(tuner, [None] * 12, lambda _, point: point["ratio"])
    assert {"action.threads", "action.ratio", "greedy.ratio", "loss"} <= history.columns.keys()
    assert history.columns["loss"].tolist() == history.columns["action.ratio"]
    assert history.average_loss[-1] == pytest.approx(np.mean(history.feedback))


def test_clicks_are_counted_and_drawn() -> None:
    contexts = [Ranking(np.eye(4)) for _ in range(20)]
    history = smidgen.play(smidgen.PDGD(dim=4), contexts, lambda context, ranking: Clicks(ranking[:2]))
    assert history.clicks.tolist() == [2] * 20
    assert history.to_frame()["feedback"].tolist() == [list(a[:2]) for a in history.actions]
    assert history.curve is not None
    assert history.curve.name == "clicks per round"
    with pytest.raises(InvalidArgument, match="clicks"):
        _ = by_loop()["rank"].clicks


def test_joined() -> None:
    learner = Confidit(dim=6, n_classes=3)
    parts = [learner.run(LABELS.X[a:b], LABELS.y[a:b]) for a, b in ((0, 10), (10, 60))]
    joined = History.joined(parts)
    whole = Confidit(dim=6, n_classes=3).run(LABELS.X, LABELS.y)
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(joined.columns[name], column)
    with pytest.raises(InvalidArgument, match="no histories"):
        History.joined([])


def test_explored_follows_from_what_would_have_gone_out() -> None:
    assert History(np.array([0, 1, 2]), np.array([0, 2, 2])).explored.tolist() == [False, True, False]
    assert History(np.array([True, False]), np.array([False, True])).explored.tolist() == [True, False]
    assert History(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.5]])).explored.tolist() == [0, 1]
    assert History([3, 4]).explored.tolist() == [], "not known"
    assert "explored" not in History([3, 4]).columns


def test_no_rounds_at_all() -> None:
    history = smidgen.play(smidgen.PreferencePerceptron(dim=4), [], TASTE)
    assert repr(history) == "History(PreferencePerceptron, 0 rounds)"
    assert len(history.to_frame()) == 0
    assert "<svg" not in history._repr_html_()
