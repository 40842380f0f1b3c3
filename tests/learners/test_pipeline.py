"""Pipelines: names read back, constant and scale, poison, late feedback, frames; the laws are elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Candidates, Choice, Decision, Learner, Pipeline, Vectorizer
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback

DIM = 64


def ranker(**settings: Any) -> Pipeline:
    return Pipeline(features=Vectorizer(dim=DIM, **settings), learner=smidgen.SecondOrderPreferencePerceptron(dim=DIM))


def labeller(**settings: Any) -> Pipeline:
    learner = smidgen.Confidit(dim=DIM, labels=["a", "b", "c"])
    return Pipeline(features=Vectorizer(dim=DIM, **settings), learner=learner)


def filterer(**settings: Any) -> Pipeline:
    return Pipeline(features=Vectorizer(dim=DIM, **settings), learner=smidgen.RidgeFil(dim=DIM))


Change = Callable[[dict[str, Any]], dict[str, Any]]


def items(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    return [
        {"price": float(rng.uniform(5, 500)), "rating": float(rng.uniform(1, 5)), "topic": str(rng.choice(["x", "y"]))}
        for _ in range(n)
    ]


def worth(record: dict[str, Any]) -> float:
    return float(record["rating"] - record["price"] / 200 + (record["topic"] == "x"))


def played(loop: str, change: Change, rounds: int = 300) -> list[Any]:
    """Answers of a pipeline to a stream whose records are changed first."""
    rng, answers = np.random.default_rng(1), []
    pipeline = {"rank": ranker, "label": labeller, "filter": filterer}[loop]()
    for _ in range(rounds):
        if loop == "rank":
            records = items(rng, 5)
            decision = pipeline.decide(Candidates([change(record) for record in records], top=3))
            pipeline.learn(decision, np.argsort([-worth(record) for record in records], kind="stable"))
            answers.append(int(decision.action[0]))
        else:
            (record,) = items(rng, 1)
            decision = pipeline.decide(change(record))
            high = worth(record) > 2.3
            if loop == "label":
                truth = "c" if record["topic"] == "y" else "a" if high else "b"
                pipeline.learn(decision, bool(decision.action == truth))
            elif decision.action:
                pipeline.learn(decision, high)
            answers.append(decision.action)
    return answers


@pytest.mark.parametrize("loop", ["rank", "label", "filter"])
@pytest.mark.parametrize(
    "change",
    [
        lambda record: {**record, "price": record["price"] * 1e6},
        lambda record: {**record, "price": record["price"] + 1e6},
        lambda record: {**record, "rating": record["rating"] * 1e-6 - 1e6},
    ],
    ids=["times 1e6", "plus 1e6", "times 1e-6 less 1e6"],
)
def test_units_do_not_matter(loop: str, change: Change) -> None:
    plain, changed = played(loop, lambda record: record), played(loop, change)
    differ = np.mean([a != b for a, b in zip(plain[100:], changed[100:], strict=True)])
    assert differ <= 0.03


@pytest.mark.parametrize("loop", ["rank", "label", "filter"])
@pytest.mark.parametrize("where", [0, 4, 60])
def test_two_hundred_ordinary_rows_heal_one_of_1e100(loop: str, where: int) -> None:
    count = iter(range(10**6))

    def poisoned(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "price": 1e100} if next(count) == where * (5 if loop == "rank" else 1) else record

    plain, spoilt = played(loop, lambda record: record, 500), played(loop, poisoned, 500)
    agree = np.mean([a == b for a, b in zip(plain[where + 200 :], spoilt[where + 200 :], strict=True)])
    assert agree >= 0.95


def test_without_features_the_majority_label_is_learnt() -> None:
    pipeline, rng = labeller(), np.random.default_rng(0)
    for _ in range(80):
        decision = pipeline.decide({})
        pipeline.learn(decision, bool(decision.action == rng.choice(["a", "b", "c"], p=[0.1, 0.8, 0.1])))
    assert pipeline.predict({}) == "b"
    assert pipeline.weights_by_name(1)[0][0] == "(constant)"


def test_a_filter_without_features_learns_to_drop() -> None:
    pipeline = filterer()
    history = pipeline.run([{}] * 200, np.zeros(200, bool))
    assert history.actions.sum() < 40


def test_what_a_context_is_crossed_with_can_be_learnt() -> None:
    pipeline, rng, hits = ranker(), np.random.default_rng(0), []
    for _ in range(120):
        device = str(rng.choice(["phone", "desk"]))
        offer = Candidates({"a": {"kind": "short"}, "b": {"kind": "long"}}, context={"device": device})
        decision = pipeline.decide(offer)
        best = "a" if device == "phone" else "b"
        hits.append(decision.ids[decision.action] == best)
        pipeline.learn(decision, best)
    assert np.mean(hits[40:]) > 0.95
    names = [name for name, _ in pipeline.weights_by_name()]
    assert "context.device=phone × kind=short" in names
    assert "context.device=phone × id=a" in names
    assert not any(name.startswith("context.") and "×" not in name for name in names), "it is the same for all"


def test_a_context_of_numbers_counts_too() -> None:
    pipeline, rng, hits = ranker(), np.random.default_rng(0), []
    for _ in range(200):
        age = float(rng.uniform(10, 90))
        offer = Candidates({"a": {}, "b": {}}, context={"age": age, "query": "cheap flights"})
        decision = pipeline.decide(offer)
        best = 0 if age > 50 else 1
        hits.append(decision.action == best)
        pipeline.learn(decision, best)
    assert np.mean(hits[100:]) > 0.9


def test_crosses_can_be_turned_off_or_narrowed() -> None:
    offer = Candidates({"a": {"kind": "x", "size": "s"}}, context={"device": "ios", "hour": "3"})
    for crosses, expected in (
        ((), set()),
        ([("device", "kind")], {"context.device=ios × kind=x"}),
        ([("context.device", "id")], {"context.device=ios × id=a"}),
    ):
        pipeline = ranker(crosses=crosses)
        pipeline.learn(pipeline.decide(offer), 0)
        assert {name for name in pipeline.features.names if "×" in name} == expected


def test_words_of_a_context_are_crossed_with_candidates() -> None:
    pipeline = ranker(text=("query",))
    pipeline.learn(pipeline.decide(Candidates({"a": {}, "b": {}}, context={"query": "cheap flights"})), "b")
    assert "context.query:cheap × id=b" in pipeline.features.names
    again = pipeline.decide(Candidates({"a": {}, "b": {}}, context={"query": "cheap"}))
    assert again.action == 1


def test_weights_by_name_are_strongest_first_and_an_array_per_label() -> None:
    pipeline = labeller()
    for _ in range(20):
        for country, truth in (("se", "a"), ("no", "b")):
            decision = pipeline.decide({"country": country})
            pipeline.learn(decision, decision.action == truth)
    named = pipeline.weights_by_name()
    strengths = [np.abs(weights).max() for _, weights in named]
    assert strengths == sorted(strengths, reverse=True)
    assert dict(named)["country=se"].shape == (3,)
    assert dict(named)["country=se"].argmax() == 0
    assert pipeline.weights_by_name(limit=2) is not named
    assert [name for name, _ in pipeline.weights_by_name(limit=2)] == [name for name, _ in named[:2]]


@pytest.mark.parametrize("make", [ranker, labeller, filterer])
def test_contributions_add_up_to_the_score(make: Callable[..., Pipeline]) -> None:
    rng, pipeline = np.random.default_rng(0), make()
    single = make is not ranker
    for _ in range(40):
        records = items(rng, 4)
        decision = pipeline.decide(records[0] if single else Candidates(records, context={"d": "x"}))
        feedback: Any = bool(rng.random() < 0.5) if single else int(rng.integers(4))
        if not single or decision.action or make is labeller:
            pipeline.learn(decision, feedback)
    decision = pipeline.decide(records[0] if single else Candidates(records, context={"d": "x"}))
    explanation = pipeline.explain(decision)
    total = sum(value for _, value in explanation.contributions)
    if make is labeller:
        assert decision.scores is not None
        assert total == pytest.approx(decision.scores["abc".index(decision.action)])
        assert explanation.rival != explanation.answer
        others = sum(value for _, value in explanation.rival_contributions or [])
        assert others == pytest.approx(max(decision.scores[k] for k in range(3) if "abc"[k] != decision.action))
    elif make is ranker:
        assert decision.scores is not None
        assert total == pytest.approx(decision.scores[explanation.answer])
        rest = [score for k, score in enumerate(decision.scores) if k != explanation.answer]
        assert sum(value for _, value in explanation.rival_contributions or []) == pytest.approx(max(rest))
    else:
        assert explanation.answer is decision.action
        assert explanation.rival is None
    strengths = [abs(value) for _, value in explanation.contributions]
    assert strengths == sorted(strengths, reverse=True)


def test_names_not_known_yet_are_explained_by_name() -> None:
    pipeline = ranker()
    found = pipeline.explain(pipeline.decide(Candidates([{"c": "new"}, {"c": "other"}])))
    assert found.contributions == [("c=new", 0.0)]


def test_feedback_may_name_candidates_by_id() -> None:
    by_name, by_place = ranker(), ranker()
    offer = Candidates({"a": {"n": 1.0}, "b": {"n": 2.0}, "c": {}}, top=2)
    by_name.learn(by_name.decide(offer), ["c", "a", "b"])
    by_place.learn(by_place.decide(offer), [2, 0, 1])
    assert by_name.to_bytes() == by_place.to_bytes()
    with pytest.raises(InvalidFeedback, match="'z' is not the id"):
        by_name.learn(by_name.decide(offer), ["z", "a", "b"])


def test_ids_are_those_of_the_candidates_by_position() -> None:
    pipeline = ranker()
    assert pipeline.decide(Candidates({"a": {}, 7: {}})).ids == ("a", 7)
    assert pipeline.decide(Candidates([{}, {}])).ids is None
    assert smidgen.PreferencePerceptron(dim=2).decide(Choice(np.eye(2))).ids is None


def test_late_feedback_on_new_names_finds_the_same_columns() -> None:
    pipeline = labeller()
    early = [pipeline.decide({"c": value}) for value in "xyxz"]
    for decision in reversed(early):
        pipeline.learn(Decision.from_json(decision.to_json()), True)
    assert pipeline.features.names == ["(constant)", "c=z", "c=x", "c=y"]
    twin = labeller()
    for decision in reversed(early):
        twin.learn(decision, True)
    assert twin._state().keys() == pipeline._state().keys()
    np.testing.assert_array_equal(twin.weights, pipeline.weights)


class Counting(smidgen.PreferencePerceptron):
    """A learner that receives the number of columns in use."""

    heard: list[int]

    def _columns_in_use(self, columns: int) -> None:
        self.heard = [*getattr(self, "heard", []), columns]


def test_the_inner_learner_hears_how_many_columns_are_in_use() -> None:
    pipeline = Pipeline(features=Vectorizer(dim=DIM), learner=Counting(dim=DIM))
    offer = Candidates([{"c": "x"}, {"c": "y"}])
    decision = pipeline.decide(offer)
    assert not hasattr(pipeline.learner, "heard"), "deciding tells nothing"
    with pytest.raises(InvalidFeedback):
        pipeline.learn(decision, 5)
    pipeline.learn(decision, 1)
    assert pipeline.learner.heard == [3, 1, 3]
    assert pipeline.features.columns_in_use == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": smidgen.SimpleFil()}, "uses no features"),
        ({"learner": smidgen.OGD(space=smidgen.Ball(dim=2), gradient_bound=1.0)}, "uses no features"),
        ({"learner": smidgen.RidgeFil(dim=5)}, "dim=5 and the vectorizer dim=64"),
        ({"learner": ranker()}, "learner is Pipeline"),
        ({"learner": "Confidit"}, "learner is 'Confidit'"),
        ({"learner": smidgen.RidgeFil(dim=64), "features": {"dim": 64}}, "features is"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Pipeline(**{"features": Vectorizer(dim=64), **settings})


def test_contexts_of_another_loop_are_refused() -> None:
    with pytest.raises(InvalidFeatures, match="compares candidates"):
        ranker().decide({"a": 1})
    with pytest.raises(InvalidArgument, match="supports label"):
        labeller().decide(Candidates([{"a": 1}]))
    with pytest.raises(DecisionMismatch):
        labeller().learn(filterer().decide({}), True)


def test_labelled_frames_play_like_their_records() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    records = items(rng, 120)
    y = ["a" if worth(record) > 2.3 else "b" for record in records]
    plain = labeller()
    history = plain.run(records, y)
    assert history.mistakes[60:].mean() < history.mistakes[:60].mean()
    for frame in (pandas.DataFrame(records), polars.DataFrame(records)):
        other = labeller()
        assert (other.run(frame, y).actions == history.actions).all()
        np.testing.assert_allclose(other.scores(frame), plain.scores(records), atol=1e-12)
    assert plain.scores(records).shape == (120, 3)
    assert plain.labels == ["a", "b", "c"]
    with pytest.raises(InvalidArgument, match="120 records and 3 labels"):
        plain.run(records, ["a"] * 3)
    with pytest.raises(InvalidArgument, match="no run method"):
        ranker().run(records, y)
    assert filterer().run(pandas.DataFrame(records), np.array([r["price"] > 200 for r in records])).precision > 0.5


def test_records_in_scikit_learn() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    from sklearn.model_selection import cross_val_score

    from smidgen.sklearn import FullInformationClassifier, OneBitClassifier

    records = items(np.random.default_rng(0), 240)
    y = np.array(["a" if worth(record) > 2.3 else "b" for record in records])
    for kind in (OneBitClassifier, FullInformationClassifier):
        classifier = kind(features=Vectorizer(dim=DIM), random_state=0)
        assert classifier.fit(records, y).score(records, y) > 0.8
        assert isinstance(classifier.learner_, Pipeline)
        assert len(classifier.history_) == 240
        assert cross_val_score(classifier, pandas.DataFrame(records), y, cv=3).mean() > 0.75
        classifier.partial_fit(records[:10], y[:10])
        assert isinstance(Learner.from_bytes(classifier.learner_.to_bytes()), Pipeline)


def _late(learner: Learner, contexts: Any, truth: Any, delay: int) -> float:
    """The share of errors of a stream whose answers come a number of rounds late."""
    waiting, wrong = deque(), 0
    for context, label in zip(contexts, truth, strict=True):
        decision = learner.decide(context)
        wrong += decision.action != label
        waiting.append((decision, bool(decision.action == label)))
        if len(waiting) > delay:
            learner.learn(*waiting.popleft())
    return wrong / len(truth)


@pytest.mark.parametrize("delay", [0, 10, 100, 1000])
def test_late_records_are_learnt_as_well_as_late_arrays(delay: int) -> None:
    arrays, records = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, W = rng.normal(size=(2000, 8)), rng.normal(size=(4, 8))
        y = (X @ W.T).argmax(axis=1)
        bare = smidgen.HingeConfidit(dim=9, n_classes=4, seed=seed)
        arrays.append(_late(bare, np.hstack([np.ones((len(X), 1)), X]), y, delay))
        pipeline = Pipeline(
            features=Vectorizer(dim=32), learner=smidgen.HingeConfidit(dim=32, n_classes=4, seed=seed), seed=seed
        )
        listed = [{f"x{place}": value for place, value in enumerate(row)} for row in X.tolist()]
        records.append(_late(pipeline, listed, y, delay))
    assert np.mean(records) < np.mean(arrays) + 0.02
    if delay == 1000:
        assert np.mean(arrays) < 0.6  # 0.75 is a guess: labels of which nothing is known are drawn


def test_a_late_record_is_encoded_again_and_decisions_carry_it() -> None:
    pipeline = labeller()
    late = pipeline.decide({"age": 30.0, "country": "se"})
    for age, country in ((20.0, "no"), (40.0, "dk"), (50.0, "se")):
        pipeline.learn(pipeline.decide({"age": age, "country": country}), True)
    twin = Learner.from_bytes(pipeline.to_bytes())
    assert isinstance(twin, Pipeline)
    again = pipeline.again(late).context
    assert again.source is None
    assert dict(zip(again.indices.tolist(), again.values.tolist(), strict=True))[pipeline.features.names.index("age")]
    pipeline.learn(late, False)
    twin.learn(Decision.from_json(late.to_json()), False)
    assert twin.to_bytes() == pipeline.to_bytes()
    ranking = Pipeline(features=Vectorizer(dim=DIM), learner=smidgen.PDGD(dim=DIM))
    kept = ranking.decide(Candidates([{"a": 1.0}, {"a": 2.0}], top=2))
    assert kept.context.source is None
    assert ranking.again(kept) == kept  # its step goes by the scores of the rows that decided


@pytest.mark.parametrize("kind", [smidgen.HingeConfidit, smidgen.Confidit], ids=lambda kind: kind.__name__)
def test_a_table_as_records_is_learnt_as_well_as_its_array(kind: Any) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    spread = X.std(axis=0)
    scaled = np.where(spread > 0.0, (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0), 0.0)
    array = kind(dim=65, n_classes=10).run(np.hstack([np.ones((len(y), 1)), scaled]), y)
    records = [{f"pixel{place}": value for place, value in enumerate(row)} for row in X.tolist()]
    pipeline = Pipeline(features=Vectorizer(dim=128), learner=kind(dim=128, n_classes=10))
    error = pipeline.run(records, y).mistakes.mean()
    assert error < 1.15 * array.mistakes.mean()


@pytest.mark.parametrize(
    ("learner", "context", "answer"),
    [
        (smidgen.Confidit(dim=2, n_classes=3), np.array([1.0, 0.0]), 2),
        (smidgen.Confidit(dim=2, n_classes=3, covariance="full", alpha=0.2), np.array([1.0, 0.0]), 2),
        (smidgen.Banditron(dim=2, n_classes=3), np.array([1.0, 0.0]), 2),
        (smidgen.AROW(dim=2, n_classes=3), np.array([1.0, 0.0]), 2),
        (smidgen.RidgeFil(dim=2), np.array([1.0, 0.0]), False),
        (smidgen.PreferencePerceptron(dim=2), Choice(np.eye(2)), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_taught_is_known(learner: Learner, context: Any, answer: Any) -> None:
    for _ in range(3):
        learner.teach(context, answer)
    assert learner.predict(context) == answer
    assert (learner.rounds, learner.decisions) == (3, 0)


def test_an_example_is_a_hit_without_a_draw() -> None:
    """An example counts as a correct guess of the true class; a filter's clock does not advance."""
    shown, taught = (smidgen.Confidit(dim=2, n_classes=2, alpha=0.1) for _ in range(2))
    x = np.array([0.6, 0.8])
    shown.learn(shown.decide(x), True)
    taught.teach(x, shown.decide(x).action)
    np.testing.assert_array_equal(shown.weights, taught.weights)
    alerts, twin = smidgen.RidgeFil(dim=2), smidgen.RidgeFil(dim=2)
    alerts.teach(x, False)
    assert alerts.decide(x).number == 1
    twin.learn(twin.decide(x), False)
    np.testing.assert_array_equal(alerts.weights, twin.weights)


@pytest.mark.parametrize("columns", [60, 400], ids=["in full", "left for the diagonal"])
@pytest.mark.parametrize("loop", ["choose", "label"])
def test_learners_that_count_columns_in_use_grow_and_come_back(loop: str, columns: int) -> None:
    learner: Learner = smidgen.LinUCB(dim=512) if loop == "choose" else smidgen.HingeConfidit(dim=512, n_classes=2)
    pipeline = Pipeline(features=Vectorizer(dim=512), learner=learner)
    for k in range(columns // 2):
        if loop == "choose":
            pipeline.learn(pipeline.decide(Candidates([{"c": f"a{k}"}, {"c": f"b{k}"}])), 0.5)
        else:
            pipeline.learn(pipeline.decide({"c": f"a{k}", "d": f"b{k}"}), bool(k % 2))
    twin = Learner.from_bytes(pipeline.to_bytes())
    context: Any = Candidates([{"c": "a3"}, {"c": "b9"}]) if loop == "choose" else {"c": "a3", "d": "b9"}
    assert twin.decide(context) == pipeline.decide(context)
    assert twin.to_bytes() == pipeline.to_bytes()


def test_a_filter_has_one_constant() -> None:
    bare = smidgen.RidgeFil(dim=DIM, explore="found")
    assert Pipeline(features=Vectorizer(dim=DIM), learner=bare).learner.params["constant"] is False
    assert "constant" not in Pipeline(features=Vectorizer(dim=DIM, constant=False), learner=bare).learner.asked


def test_a_reward_is_learnt_and_what_all_share_counts() -> None:
    pipeline, rng = Pipeline(features=Vectorizer(dim=128), learner=smidgen.LinUCB(dim=128)), np.random.default_rng(0)
    for _ in range(200):
        device = str(rng.choice(["ios", "web"]))
        offer = Candidates({"a": {}, "b": {}}, context={"device": device})
        decision = pipeline.decide(offer)
        pipeline.learn(decision, float((decision.ids[decision.action] == "a") == (device == "ios")))
    assert pipeline.predict(Candidates({"a": {}, "b": {}}, context={"device": "ios"})) == 0
    assert pipeline.predict(Candidates({"a": {}, "b": {}}, context={"device": "web"})) == 1
    assert {"(constant)", "context.device=ios"} <= set(pipeline.features.names)
    pipeline.teach(offer, ("a", 1.0))
