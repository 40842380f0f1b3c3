"""`play` for every kind of stream, compiled or by the two verbs, and its errors.

That it is what the two verbs do, for every registered learner, is a law.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import smidgen
from smidgen import (
    AROW,
    Banditron,
    Candidates,
    Choice,
    Confidit,
    LinUCB,
    Pipeline,
    PreferencePerceptron,
    Ranking,
    RidgeFil,
    SquareCB,
    Vectorizer,
    play,
    users,
)
from smidgen.errors import InvalidArgument, InvalidFeedback, SmidgenError
from smidgen.evaluate import QueryTable
from smidgen.evaluate.play import as_compiled

PLAY = importlib.import_module("smidgen.evaluate.play")  # the package has the function by that name
LABELS = smidgen.data.label_stream(rounds=80)
ITEMS = smidgen.data.filter_stream(rounds=80)
QUERIES = smidgen.data.ranking_stream(queries=40, docs=8, dim=5)
TASTE = users.StrictAlpha(w_star=QUERIES.w_star, alpha=0.5)


def same(one: smidgen.History, other: smidgen.History) -> None:
    assert one.columns.keys() == other.columns.keys()
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


class TestLabelled:
    def test_a_pair_or_what_has_both(self) -> None:
        pair = play(Confidit(dim=6, n_classes=3), (LABELS.X, LABELS.y))
        same(pair, play(Confidit(dim=6, n_classes=3), LABELS))
        same(pair, Confidit(dim=6, n_classes=3).run(LABELS.X, LABELS.y))
        same(pair, play(Confidit(dim=6, n_classes=3), (sparse.csr_array(LABELS.X), LABELS.y.tolist())))

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_with_the_labels_separate_or_within(self, library: str) -> None:
        module = pytest.importorskip(library)
        pair = play(Confidit(dim=6, n_classes=3), LABELS)
        columns = {f"x{i}": LABELS.X[:, i] for i in range(6)}
        frame = module.DataFrame(columns)
        same(pair, play(Confidit(dim=6, n_classes=3), (frame, module.Series(LABELS.y))))
        whole = module.DataFrame({**columns, "kind": LABELS.y})
        same(pair, play(Confidit(dim=6, n_classes=3), (whole, "kind")))
        with pytest.raises(InvalidArgument, match="no column 'sort'"):
            play(Confidit(dim=6, n_classes=3), (whole, "sort"))

    @pytest.mark.parametrize("library", [None, "pandas", "polars"])
    def test_records_through_a_pipeline(self, library: str | None) -> None:
        records = [{"word": word, "size": size} for size in range(20) for word in ("bug", "bill")]
        truth = [record["word"] == "bug" for record in records]

        def triage() -> Pipeline:
            return Pipeline(features=Vectorizer(dim=32), learner=Confidit(dim=32, labels=[False, True]))

        history = play(triage(), (records, truth))
        assert (history.learner, history.loop) == ("Confidit", "label")
        assert history.mistakes[-10:].sum() == 0
        if library is not None:
            frame = pytest.importorskip(library).DataFrame(
                [{**r, "ours": t} for r, t in zip(records, truth, strict=True)]
            )
            same(history, play(triage(), (frame, "ours")))
            reply = play(triage(), frame[["word", "size"]], lambda record, action: action == (record["word"] == "bug"))
            assert reply.columns["mistake"].tolist() == history.columns["mistake"].tolist()

    def test_classes_of_others_are_played_as_they_learn(self) -> None:
        """A subclass that changes `learn` must not be played by the compiled stream of its base."""

        class Contrary(Banditron):
            def _learn(self, decision: Any, feedback: Any) -> None:
                super()._learn(decision, not feedback)

        class Renamed(Banditron):
            pass

        assert not as_compiled(Contrary(dim=6, n_classes=3))
        assert as_compiled(Renamed(dim=6, n_classes=3))
        played, by_hand = Contrary(dim=6, n_classes=3), Contrary(dim=6, n_classes=3)
        history = play(played, LABELS)
        for x, y, shown in zip(LABELS.X, LABELS.y, history.actions, strict=True):
            decision = by_hand.decide(x)
            assert decision.action == shown
            by_hand.learn(decision, decision.action == y)
        assert played.to_bytes() == by_hand.to_bytes()

    @pytest.mark.parametrize(
        ("make", "stream"),
        [
            (lambda: Confidit(dim=6, n_classes=3, normalize=False), LABELS),
            (lambda: AROW(dim=6, labels=["a", "b", "c"]), (LABELS.X, np.array(["a", "b", "c"])[LABELS.y])),
            (lambda: RidgeFil(dim=6), ITEMS),
            (lambda: smidgen.RidgeFull(dim=6), (ITEMS.X, np.where(ITEMS.y, 1, -1))),
            (lambda: LinUCB(dim=6), (LABELS.X.reshape(20, 4, 6), np.abs(LABELS.X.reshape(20, 4, 6)[:, :, 0]))),
        ],
    )
    def test_a_guarded_learner_is_played_by_its_verbs(self, make: Any, stream: Any) -> None:
        """The guard stands in `learn`, so the compiled stream does not speak for it."""
        guarded, plain = make().guard(), make()
        played = play(guarded, stream)
        same(played, play(plain, stream))
        assert guarded.guarded == 0
        assert guarded.rounds == plain.rounds
        np.testing.assert_allclose(guarded.weights, plain.weights, rtol=1e-9, atol=1e-12)

    def test_a_filter_whose_stream_rounds_is_played_by_its_verbs(self) -> None:
        """In the dual form `run` takes blocks from 200 examples on, which is not the two verbs to the last bit."""
        stream = smidgen.data.filter_stream(rounds=260)
        played, by_hand = (smidgen.RidgeFull(dim=6, covariance="dual") for _ in range(2))
        assert not as_compiled(played)
        assert as_compiled(smidgen.RidgeFull(dim=6, covariance="full"))
        history = play(played, stream)
        for x, relevant in zip(stream.X, stream.y, strict=True):
            by_hand.learn(by_hand.decide(x), bool(relevant))
        assert played.to_bytes() == by_hand.to_bytes()
        assert len(history) == 260


class TestRewards:
    X, R = np.random.default_rng(3).normal(size=(30, 4, 5)), np.random.default_rng(4).random((30, 4))

    def test_is_run(self) -> None:
        masks = np.random.default_rng(5).random((30, 4)) < 0.7
        masks[:, 0] = True
        same(play(SquareCB(dim=5), (self.X, self.R)), SquareCB(dim=5).run(self.X, self.R))
        played = play(SquareCB(dim=5), (self.X, self.R, masks))
        same(played, SquareCB(dim=5).run(self.X, self.R, available=masks))
        assert masks[np.arange(30), played.actions].all()
        assert played.regret.min() >= 0.0

    @pytest.mark.parametrize("form", ["rounds", "shared", "csr", "csr shared"])
    @pytest.mark.parametrize("masked", [False, True])
    def test_by_the_verbs_it_is_the_same(self, form: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        shared = "shared" in form
        items: Any = self.X[0] if shared else self.X
        if "csr" in form:
            items = sparse.csr_array(items.reshape(-1, 5))
        stream = (items, self.R, [True, False, True, True]) if masked else (items, self.R)
        fast, slow = LinUCB(dim=5, seed=2), LinUCB(dim=5, seed=2)
        compiled = play(fast, stream)
        monkeypatch.setattr(PLAY, "as_compiled", lambda _: False)
        same(compiled, play(slow, stream))
        assert fast.to_bytes() == slow.to_bytes()

    def test_candidates_of_records(self) -> None:
        menus = [
            Candidates({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"hour": t % 2}) for t in range(60)
        ]
        rewards = np.array([[1.0, 0.0] if t % 2 else [0.0, 1.0] for t in range(60)])
        chooser = Pipeline(features=Vectorizer(dim=64), learner=SquareCB(dim=64))
        history = play(chooser, (menus, rewards))
        assert (history.learner, history.loop) == ("SquareCB", "choose")
        assert history.average_reward > 0.6
        assert history.best.tolist() == [1.0] * 60

    def test_a_user_with_rewards(self) -> None:
        contexts = [Choice(x) for x in self.X]
        history = play(SquareCB(dim=5), contexts, lambda context, item: 0.25 * item)
        np.testing.assert_array_equal(history.rewards, 0.25 * np.array(history.actions))
        assert history.propensities is not None
        assert (history.propensities > 0).all()


class TestContexts:
    def test_a_stream_a_list_or_a_generator(self) -> None:
        given = play(PreferencePerceptron(dim=5), QUERIES, TASTE)
        same(given, play(PreferencePerceptron(dim=5), QUERIES.contexts, TASTE))
        same(given, play(PreferencePerceptron(dim=5), iter(QUERIES.contexts), TASTE))
        same(given, smidgen.simulate(PreferencePerceptron(dim=5), QUERIES.contexts, TASTE))
        assert (given.loop, given.learner) == ("rank", "PreferencePerceptron")

    def test_the_stream_knows_the_utility_where_the_user_does_not(self) -> None:
        noisy = users.NoisyDepth(labels=QUERIES.labels, depth=5)
        assert play(PreferencePerceptron(dim=5), QUERIES, noisy).has_utility
        noisy = users.NoisyDepth(labels=QUERIES.labels, depth=5)
        assert not play(PreferencePerceptron(dim=5), QUERIES.contexts, noisy).has_utility

    def test_as_many_rounds_as_asked_for(self) -> None:
        history = play(PreferencePerceptron(dim=5), QUERIES, TASTE, rounds=7)
        assert len(history) == 7
        assert history.bound is not None

        def endless() -> Any:
            while True:
                yield QUERIES.contexts[0]

        assert len(play(PreferencePerceptron(dim=5), endless(), TASTE, rounds=9)) == 9

    def test_rows_of_a_matrix(self) -> None:
        truth = {x.tobytes(): y for x, y in zip(LABELS.X, LABELS.y, strict=True)}
        dense = play(AROW(dim=6, n_classes=3), LABELS.X, lambda x, _: int(truth[x.tobytes()]))
        rows = sparse.csr_array(LABELS.X)
        csr = play(AROW(dim=6, n_classes=3), rows, lambda x, _: int(truth[x.toarray()[0].tobytes()]))
        same(dense, csr)
        np.testing.assert_array_equal(dense.mistakes, play(AROW(dim=6, n_classes=3), LABELS).mistakes)

    def test_a_choice_is_the_choose_loop(self) -> None:
        user = users.StrictAlpha(w_star=[1.0, 2.0], alpha=1.0)
        assert play(PreferencePerceptron(dim=2), [Choice(np.eye(2))] * 3, user).loop == "choose"

    def test_silence_teaches_nothing_and_is_nothing_better(self) -> None:
        """A user who now and then says nothing: rounds go on, the learner does not."""

        def moody(context: Any, action: Any) -> Any:
            return None if context is QUERIES.contexts[3] else TASTE(context, action)

        learner = PreferencePerceptron(dim=5)
        history = play(learner, QUERIES, moody)
        assert (len(history), learner.rounds) == (40, 39)
        assert history.feedback[3] is None
        assert history.better_utility[3] == history.utility[3]

    def test_what_is_learnt_before_a_refusal_is_kept(self) -> None:
        learner = PreferencePerceptron(dim=5)
        with pytest.raises(InvalidFeedback):
            play(learner, QUERIES, lambda context, action: action if context is not QUERIES.contexts[2] else "no")
        assert learner.rounds == 2

    def test_weights_after_the_last_round(self) -> None:
        learner = PreferencePerceptron(dim=5)
        history = play(learner, QUERIES, TASTE)
        np.testing.assert_array_equal(history.weights, learner.weights)
        assert len(play(smidgen.SimpleFil(), ITEMS).weights) == 0

    def test_only_the_user_draws(self) -> None:
        """Clicks are drawn by the user's own generator, which goes on."""
        user = users.PositionBased(labels=lambda context: np.arange(8) % 3, click=[0.1, 0.5, 0.9], seed=3)
        learner = smidgen.PDGD(dim=5)
        one, two = play(learner, QUERIES, user), play(learner, QUERIES, user)
        assert one.feedback != two.feedback
        assert one.clicks.sum() > 0


class TestTables:
    """A table of queries is played in compiled code wherever that is exact; what is kept does not depend on it."""

    X, STARTS = np.random.default_rng(1).normal(size=(200, 5)), np.sort(np.random.default_rng(2).choice(200, 21, False))

    def table(self) -> QueryTable:
        starts = np.concatenate([[0], self.STARTS[1:-1], [200]])
        return QueryTable(self.X, np.unique(starts), labels=np.arange(200) % 4, top=3)

    @pytest.mark.parametrize("name", sorted(n for n, c in smidgen.learners.cards.items() if "rank" in c.loops))
    @pytest.mark.parametrize("who", ["strict", "clicks"])
    def test_either_road(self, name: str, who: str) -> None:
        make = smidgen.learners.learners[name]
        example = {**smidgen.learners.cards[name].example}
        if "dim" not in example or name == "Pipeline":
            return
        if name == "RankingSVM":
            pytest.importorskip("sklearn")
        table = self.table()

        def someone() -> Any:
            if who == "strict":
                return users.StrictAlpha(w_star=np.arange(5.0), alpha=0.6)
            return users.PositionBased(labels=table.labels_of, click=[0.1, 0.3, 0.6, 0.9], seed=4)

        fast, slow = make(**{**example, "dim": 5}), make(**{**example, "dim": 5})
        listed: list[int] = []
        compiled = play(fast, table, someone(), utility=np.arange(5.0))
        verbs = play(slow, table, someone(), utility=np.arange(5.0), progress=listed.append)
        assert listed == list(range(1, len(table) + 1))
        assert fast.to_bytes() == slow.to_bytes()
        assert list(compiled.columns) == list(verbs.columns)
        assert compiled.columns["action"] == verbs.columns["action"]
        for key in compiled.columns.keys() - {"action"}:
            np.testing.assert_allclose(compiled.columns[key], verbs.columns[key], rtol=1e-11, atol=1e-11)

    def test_the_compiled_road_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def never(*_: Any, **__: Any) -> None:
            raise AssertionError("played by the verbs")

        monkeypatch.setattr(PLAY, "_presented", never)
        history = play(PreferencePerceptron(dim=5), self.table(), TASTE, rounds=4)
        assert len(history) == 4
        with pytest.raises(AssertionError, match="by the verbs"):
            play(PreferencePerceptron(dim=5).guard(), self.table(), TASTE)
        with pytest.raises(AssertionError, match="by the verbs"):
            play(PreferencePerceptron(dim=5), self.table(), lambda context, action: action)

    def test_labels_that_are_used_up_need_the_verbs(self) -> None:
        table = self.table()
        labels = [table.labels_of(context) for context in table.contexts]
        history = play(PreferencePerceptron(dim=5), table, users.NoisyDepth(labels=labels, depth=3))
        assert len(history) == len(table)


class TestTune:
    def test_losses(self) -> None:
        Z = np.random.default_rng(0).normal(size=(30, 2))
        loss = smidgen.losses.LeastSquares(Z=Z, y=Z @ [0.3, -0.2])
        learners = [smidgen.OGD(space=smidgen.Ball(dim=2), gradient_bound=5.0) for _ in range(2)]
        same(play(learners[0], loss, rounds=20), smidgen.tune(learners[1], loss, 20))
        assert learners[0].rounds == 20

    def test_a_user_who_says_what_it_costs(self) -> None:
        tuner = smidgen.OGDEG(space=smidgen.Ball(dim=2), loss_bound=1.0, delta=0.1)
        history = play(tuner, [None] * 10, lambda _, x: float(x @ x))
        np.testing.assert_allclose(history.losses, (history.points**2).sum(axis=1))
        assert history.base_losses is None
        assert history.loop == "tune"


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            (("learner", QUERIES, TASTE), "first argument of play"),
            ((PreferencePerceptron(dim=5), QUERIES), "no user was given"),
            ((PreferencePerceptron(dim=5), QUERIES, "user"), "callable"),
            ((PreferencePerceptron(dim=5), "stream", TASTE), "one per round"),
            ((PreferencePerceptron(dim=5), 3, TASTE), "one per round"),
            ((Confidit(dim=6, n_classes=3), LABELS.X), r"\(X, y\)"),
            ((Confidit(dim=6, n_classes=3), (LABELS.X, LABELS.y, 3)), r"\(X, y\)"),
            ((Confidit(dim=6, n_classes=3), (LABELS.X, LABELS.y[:3])), "one label per row"),
            ((SquareCB(dim=3), (np.eye(3),)), r"\(items, rewards\)"),
            ((Confidit(dim=6, n_classes=3), smidgen.losses.Repeated(sum, rounds=3)), "tune loop"),
        ],
    )
    def test_what_cannot_be_played(self, arguments: Any, match: str) -> None:
        with pytest.raises(InvalidArgument, match=match):
            play(*arguments)

    @pytest.mark.parametrize("extra", [{"utility": np.ones(6)}, {"alpha": 0.5}, {"loss": smidgen.losses.Linear()}])
    def test_measures_of_another_loop(self, extra: Any) -> None:
        learner = Confidit(dim=6, n_classes=3)
        for arguments in ((LABELS,), (LABELS.X, lambda x, a: True)):
            with pytest.raises(InvalidArgument, match="coactive"):
                play(learner, *arguments, **extra)
        assert learner.decisions == 0

    def test_rounds_of_a_labelled_stream_and_a_user_of_losses(self) -> None:
        with pytest.raises(InvalidArgument, match="cut the stream"):
            play(Confidit(dim=6, n_classes=3), LABELS, rounds=3)
        loss = smidgen.losses.Repeated(lambda x: 0.0, rounds=3)
        with pytest.raises(InvalidArgument, match="omit it"):
            play(smidgen.OGD(space=smidgen.Ball(dim=2), gradient_bound=1.0), loss, lambda c, a: 0.0)
        with pytest.raises(SmidgenError, match="rounds"):
            play(PreferencePerceptron(dim=5), QUERIES, TASTE, rounds=0)

    def test_simulate_needs_its_user(self) -> None:
        with pytest.raises(InvalidArgument, match="no user"):
            smidgen.simulate(PreferencePerceptron(dim=5), QUERIES.contexts, None)


def test_progress_of_a_compiled_stream_is_reported_once() -> None:
    listed: list[int] = []
    play(Confidit(dim=6, n_classes=3), LABELS, progress=listed.append)
    assert listed == [80]


def test_structures_of_ones_own_are_measured_too() -> None:
    class Plans:
        rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.6]])

        def phi(self, y: int) -> Any:
            return self.rows[y]

        def argmax(self, w: Any) -> int:
            return int(np.argmax(self.rows @ w))

    history = play(PreferencePerceptron(dim=2), [Plans()] * 5, users.StrictAlpha(w_star=[1.0, 0.5], alpha=1.0))
    assert history.regret[-1] == 0.0
    assert isinstance(Ranking(np.eye(2)), Ranking)
