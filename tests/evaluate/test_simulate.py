"""Whole runs: what History holds, by hand and by the book."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
import smidgen
from smidgen import Choice, DuelingBandit, PreferencePerceptron, Ranking, losses, simulate, users
from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.evaluate import regret_plot

MENU = Choice(np.array([[0.0], [0.4], [0.6], [1.0]]))
STREAM = smidgen.data.ranking_stream(queries=60, docs=12, dim=6, seed=2)
TASTE = users.StrictAlpha(w_star=STREAM.w_star, alpha=0.5)


def labels_user() -> users.NoisyDepth:
    return users.NoisyDepth(labels=STREAM.labels, depth=8)


class TestByHand:
    """Items worth 0, 0.4, 0.6 and 1, a user content with half of the possible gain.

    Round 1: w = 0 shows item 0; item 2 gains 0.6 of 1. Round 2: w = 0.6 shows item 3, which is the best.
    """

    @pytest.fixture
    def history(self) -> smidgen.History:
        user = users.StrictAlpha(w_star=[1.0], alpha=0.5)
        return simulate(PreferencePerceptron(dim=1), [MENU] * 3, user, loss=losses.Quadratic(peak=2.0))

    def test_what_went_out_and_what_came_back(self, history: smidgen.History) -> None:
        assert history.learner == "PreferencePerceptron"
        assert history.actions == [0, 3, 3]
        assert history.feedback == [2, 3, 3]
        assert history.explored.tolist() == [False, False, False]
        assert len(history) == 3

    def test_utilities_and_regret(self, history: smidgen.History) -> None:
        assert history.utility.tolist() == [0.0, 1.0, 1.0]
        assert history.better_utility.tolist() == [0.6, 1.0, 1.0]
        assert history.best_utility.tolist() == [1.0, 1.0, 1.0]
        assert history.regret.tolist() == [1.0, 0.0, 0.0]
        assert history.cumulative_regret.tolist() == [1.0, 1.0, 1.0]
        assert history.average_regret.tolist() == pytest.approx([1.0, 1 / 2, 1 / 3])

    def test_slacks(self, history: smidgen.History) -> None:
        """0.5·1 − 0.6, and 0 once nothing can be gained."""
        assert history.slacks.tolist() == pytest.approx([-0.1, 0.0, 0.0])

    def test_loss_regret(self, history: smidgen.History) -> None:
        """(−1 − 2)² − (0 − 2)² = 5."""
        assert history.loss_regret.tolist() == [5.0, 0.0, 0.0]
        assert history.average_loss_regret.tolist() == pytest.approx([5.0, 5 / 2, 5 / 3])

    def test_the_bound(self, history: smidgen.History) -> None:
        """R is 0.6 after the first round and 1 from the second on."""
        expected = [-0.1 / (0.5 * t) + 2 * r / (0.5 * np.sqrt(t)) for t, r in ((1, 0.6), (2, 1.0), (3, 1.0))]
        assert history.bound is not None
        assert history.bound.tolist() == pytest.approx(expected)

    def test_rounds_that_taught_nothing(self, history: smidgen.History) -> None:
        assert history.uninformative == 2

    def test_without_a_loss_loss_regret_is_regret(self) -> None:
        history = simulate(PreferencePerceptron(dim=1), [MENU] * 3, users.StrictAlpha(w_star=[2.0], alpha=0.5))
        assert history.loss_regret.tolist() == history.regret.tolist() == [2.0, 0.0, 0.0]


class TestWhoseUtility:
    def test_the_users_own(self) -> None:
        own = simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE)
        given = simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE, utility=STREAM.w_star)
        np.testing.assert_array_equal(own.regret, given.regret)
        assert own.regret.sum() > 0.0

    def test_another_one_is_measured_but_not_learnt(self) -> None:
        other = np.roll(STREAM.w_star, 1)
        own = PreferencePerceptron(dim=6)
        simulate(own, STREAM.contexts, TASTE)
        measured = PreferencePerceptron(dim=6)
        history = simulate(measured, STREAM.contexts, TASTE, utility=other)
        np.testing.assert_array_equal(own.weights, measured.weights)
        for context, action, best in zip(STREAM.contexts, history.actions, history.best_utility, strict=True):
            assert best == pytest.approx(other @ context.phi(context.argmax(other)))
            assert best >= other @ context.phi(action) - 1e-12

    def test_a_function_is_asked_after_the_last_round(self) -> None:
        asked: list[int] = []
        learner = PreferencePerceptron(dim=6)

        def utility() -> Any:
            asked.append(learner.rounds)
            return STREAM.w_star

        history = simulate(learner, STREAM.contexts, labels_user(), utility=utility)
        assert asked == [60]
        at_once = simulate(PreferencePerceptron(dim=6), STREAM.contexts, labels_user(), utility=STREAM.w_star)
        np.testing.assert_array_equal(history.regret, at_once.regret)
        np.testing.assert_array_equal(history.bound, at_once.bound)

    def test_none_at_all(self) -> None:
        history = simulate(PreferencePerceptron(dim=6), STREAM.contexts, labels_user())
        assert len(history) == 60
        for name in ("regret", "cumulative_regret", "average_regret", "loss_regret", "average_loss_regret", "slacks"):
            with pytest.raises(InvalidArgument, match="without a utility"):
                getattr(history, name)

    @pytest.mark.parametrize("utility", [np.ones(5), np.ones(7), [np.nan] * 6, np.ones((6, 1)), "w"], ids=str)
    def test_refused(self, utility: Any) -> None:
        with pytest.raises(SmidgenError):
            simulate(PreferencePerceptron(dim=6), STREAM.contexts, labels_user(), utility=utility)


class TestAlpha:
    def test_the_users_own_or_one_or_the_one_given(self) -> None:
        assert simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE).alpha == 0.5
        assert simulate(PreferencePerceptron(dim=6), STREAM.contexts, labels_user()).alpha == 1.0
        given = simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE, alpha=0.25)
        gain = given.better_utility - given.utility
        np.testing.assert_array_equal(given.slacks, 0.25 * given.regret - gain)

    @pytest.mark.parametrize("alpha", [0.0, 1.5, "half"])
    def test_refused(self, alpha: Any) -> None:
        with pytest.raises(InvalidArgument, match="alpha"):
            simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE, alpha=alpha)


class TestTheRun:
    def test_is_the_two_verbs_in_turn(self) -> None:
        learner, twin = PreferencePerceptron(dim=6), PreferencePerceptron(dim=6)
        history = simulate(learner, STREAM.contexts, TASTE)
        for context, action in zip(STREAM.contexts, history.actions, strict=True):
            decision = twin.decide(context)
            np.testing.assert_array_equal(decision.action, action)
            twin.learn(decision, TASTE(context, decision.action))
        np.testing.assert_array_equal(learner.weights, twin.weights)
        assert learner.rounds == 60

    def test_contexts_may_come_one_by_one(self) -> None:
        history = simulate(PreferencePerceptron(dim=6), (context for context in STREAM.contexts), TASTE)
        assert len(history) == 60

    def test_no_rounds_at_all(self) -> None:
        history = simulate(PreferencePerceptron(dim=6), [], TASTE)
        assert len(history) == 0
        assert history.average_regret.tolist() == []
        assert history.bound is None
        assert "no theorem" not in history.bound_note, "the learner has one; the run has no rounds"

    def test_a_second_run_counts_its_own_rounds(self) -> None:
        learner = PreferencePerceptron(dim=1)
        user = users.StrictAlpha(w_star=[1.0], alpha=0.5)
        assert simulate(learner, [MENU] * 3, user).uninformative == 2
        assert simulate(learner, [MENU] * 3, user).uninformative == 3

    def test_progress_is_reported_after_each_round(self) -> None:
        listed: list[int] = []
        learner = PreferencePerceptron(dim=6)

        def tell(done: int) -> None:
            assert learner.rounds == done
            listed.append(done)

        simulate(learner, STREAM.contexts, TASTE, progress=tell)
        assert listed == list(range(1, 61))

    def test_progress_as_a_bar(self, capsys: pytest.CaptureFixture[str]) -> None:
        shown = simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE, progress=True)
        assert "learning" in capsys.readouterr().out
        np.testing.assert_array_equal(
            shown.regret, simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE).regret
        )

    def test_only_learners_take_part(self) -> None:
        with pytest.raises(InvalidArgument, match="give a learner"):
            simulate("PreferencePerceptron", STREAM.contexts, TASTE)

    def test_structures_of_ones_own(self) -> None:
        class Plans:
            rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.6]])

            def phi(self, y: int) -> Any:
                return self.rows[y]

            def argmax(self, w: Any) -> int:
                return int(np.argmax(self.rows @ w))

        user = users.StrictAlpha(w_star=[1.0, 0.5], alpha=1.0)
        history = simulate(PreferencePerceptron(dim=2), [Plans()] * 5, user)
        assert history.regret[0] == pytest.approx(0.5)
        assert history.regret[-1] == 0.0
        assert history.bound is not None
        assert (history.average_regret <= history.bound).all()


class TestDuels:
    def test_a_pair_is_worth_the_mean_of_its_utilities(self) -> None:
        stream = smidgen.data.choice_stream(rounds=80, items=30, dim=5, offered=10, seed=3)
        w = stream.w_star
        history = simulate(DuelingBandit(dim=5, seed=1), stream.contexts, users.BetterOfTwo(w_star=w))
        for t, (context, (first, second)) in enumerate(zip(stream.contexts, history.actions, strict=True)):
            worth = [float(w @ context.phi(item)) for item in (first, second)]
            assert history.utility[t] == pytest.approx(np.mean(worth))
            assert history.better_utility[t] == pytest.approx(max(worth))
            assert history.best_utility[t] == pytest.approx(w @ context.phi(context.argmax(w)))
            assert history.explored[t] == (first != second)
        assert history.explored.any()
        assert history.regret.min() >= -1e-12
        assert history.bound is None
        assert "no theorem" in history.bound_note

    def test_an_interleaved_ranking_is_worth_its_own_utility(self) -> None:
        """Four places count, so that duels can be drawn."""
        learner, twin = (DuelingBandit(dim=6, step=0.5, seed=4) for _ in range(2))
        contexts = [Ranking(context.docs, top=4) for context in STREAM.contexts]
        history = simulate(learner, contexts, TASTE)
        won = drawn = 0
        for t, context in enumerate(contexts):
            decision = twin.decide(context)
            np.testing.assert_array_equal(history.actions[t], decision.action)
            rival = context.argmax(twin.weights + 1.0 * decision.perturbation)
            assert reference.is_team_draft(
                decision.action.tolist(), decision.teams.tolist(), decision.greedy.tolist(), rival.tolist()
            )
            assert history.utility[t] == pytest.approx(STREAM.w_star @ context.phi(decision.action))
            before, better = twin.weights, history.feedback[t]
            twin.learn(decision, better)
            mine, theirs = reference.team_draft_credit(
                decision.action.tolist(), decision.teams.tolist(), better.tolist(), context.top
            )
            won, drawn = won + (theirs > mine), drawn + (theirs == mine)
            step = 0.5 * decision.perturbation if theirs > mine else np.zeros(6)
            np.testing.assert_allclose(twin.weights, before + step, rtol=1e-12)
        assert 5 < won < 55 - drawn, "both win now and then"
        assert drawn > 0
        np.testing.assert_array_equal(learner.weights, twin.weights)


@pytest.fixture(scope="module")
def histories() -> dict[str, smidgen.History]:
    second_order = smidgen.SecondOrderPreferencePerceptron(dim=6, radius=1.0)
    return {
        "with a bound": simulate(PreferencePerceptron(dim=6), STREAM.contexts, TASTE),
        "without": simulate(second_order, STREAM.contexts, TASTE),
        "a duel": simulate(DuelingBandit(dim=6), STREAM.contexts, TASTE),
    }


class TestPictures:
    def test_png_and_svg(self, histories: dict[str, smidgen.History], tmp_path: Path) -> None:
        history = histories["with a bound"]
        history.plot(tmp_path / "regret.png")
        history.plot(str(tmp_path / "regret.svg"))
        png = (tmp_path / "regret.png").read_bytes()
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(png) > 5000
        svg = (tmp_path / "regret.svg").read_text()
        assert svg.startswith("<?xml")
        assert "<svg" in svg

    def test_one_run(self, histories: dict[str, smidgen.History]) -> None:
        history = histories["with a bound"]
        axes = history.plot()
        measured, bound = axes.get_lines()
        np.testing.assert_array_equal(measured.get_ydata(), history.average_regret)
        np.testing.assert_array_equal(bound.get_ydata(), history.bound)
        assert (bound.get_linestyle(), axes.get_xscale(), axes.get_yscale()) == ("--", "log", "log")

    def test_several_runs(self, histories: dict[str, smidgen.History], tmp_path: Path) -> None:
        figure = regret_plot(histories, tmp_path / "all.png", title="three runs")
        (axes,) = figure.axes
        lines = axes.get_lines()
        assert [line.get_label() for line in lines] == [
            "with a bound",
            "Theorem 1: bound for with a bound",
            "without",
            "a duel",
        ]
        colours = [line.get_color() for line in lines]
        assert colours[0] == colours[1]
        assert len(set(colours)) == 3
        assert axes.get_title("left") == "three runs"
        assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")

    def test_a_run_without_any_regret(self, tmp_path: Path) -> None:
        """All regrets are zero, which a logarithmic axis cannot show."""
        history = simulate(DuelingBandit(dim=1), [Choice(np.ones((2, 1)))] * 5, users.BetterOfTwo(w_star=[1.0]))
        assert not history.regret.any()
        history.plot(tmp_path / "nothing.png")
        assert (tmp_path / "nothing.png").read_bytes().startswith(b"\x89PNG")

    def test_a_run_without_a_utility(self) -> None:
        history = simulate(PreferencePerceptron(dim=6), STREAM.contexts, labels_user())
        with pytest.raises(InvalidArgument, match="no utility"):
            history.plot()


def test_a_ranking_user_and_a_choice_learner_of_different_dimensions_are_refused() -> None:
    with pytest.raises(SmidgenError, match="dim=3"):
        simulate(PreferencePerceptron(dim=3), [Ranking(np.eye(4))], users.NoisyDepth(labels=[0, 1, 2, 3], depth=4))
