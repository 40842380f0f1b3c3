"""Compare what-if with naive computations, and with worlds whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import smidgen
from service.bodies import MODELS, engine_with, play, request
from service.bodies import model as settings
from smidgen.cli import app
from smidgen.errors import InvalidArgument, InvalidRecord, SmidgenError
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import LogSource, NdjsonSource, StoreSource
from smidgen.service.loops.estimates import Estimate, self_normalised, share
from smidgen.service.loops.registry import loops
from smidgen.service.ope.whatif import WhatIf, parse_learner_spec, what_if

Answer = Callable[[dict[str, Any], Any], dict[str, Any] | None]


def logged(folder: Path, body: dict[str, Any], contexts: list[dict[str, Any]], answer: Answer) -> Path:
    """A data folder with a log: each context decided on, and answered at once by the user's function."""
    engine = Engine(folder, synchronous="OFF")
    engine.begin()
    engine.create("m", settings(body))
    for i, context in enumerate(contexts):
        reply = engine.decide("m", loops.decision(**context))
        given = answer(reply, i)
        if given is not None:
            engine.feedback(reply["decision"], loops.feedback(**given))
    engine.commit()
    engine.close()
    return folder


def asked(folder: Path, *others: str, name: str = "m") -> WhatIf:
    with Inspection(folder) as seen:
        return what_if(StoreSource(seen, seen.model(name)), others)


def figure(found: WhatIf, learner: str, measure: str) -> Estimate:
    outcome = next(each for each in found.outcomes if each.learner == learner)
    return next(each for each in outcome.figures if each.measure == measure)


def steps(recording: LogSource) -> Iterator[tuple[smidgen.Decision, Any, dict[str, Any]]]:
    """Decision, reply, and the feedback as it was sent: the naive way."""
    decisions = {line.decision: line for line in recording.lines() if line.type == "decision"}
    for line in recording.lines():
        if line.is_learnt:
            yield decisions[line.decision].record_bytes(), line.learner_input(), line.feedback


class TestEstimates:
    def test_against_the_formulas(self) -> None:
        m, r = np.array([1, 0, 1, 1, 0, 1]), np.array([1, 1, 0, 1, 0, 1])
        p = np.array([0.5, 0.25, 0.5, 1.0, 0.5, 0.25])
        snips = self_normalised("x", m, r, p)
        assert snips.value == pytest.approx(7 / 9)
        assert snips.effective == pytest.approx(81 / (4 + 4 + 1 + 16))
        assert snips.of == 4

    def test_all_right_is_not_certainty(self) -> None:
        assert self_normalised("x", [1, 1, 1], [1, 1, 1], [0.5, 0.5, 0.5]).low == pytest.approx(share("x", 3, 3).low)

    def test_nothing_in_common_says_nothing(self) -> None:
        found = self_normalised("x", [0, 0], [1, 1], [0.5, 0.5])
        assert (found.value, found.low, found.high, found.of) == (None, None, None, 0)

    def test_intervals_cover_the_truth(self) -> None:
        rng, n, K, trials = np.random.default_rng(0), 1500, 4, 1000
        covered, values = 0, []
        for _ in range(trials):
            greedy, policy = rng.integers(K, size=n), np.zeros(n, np.int64)
            explore = rng.random(n) < 0.4
            shown = np.where(explore, rng.integers(K, size=n), greedy)
            p = np.where(shown == greedy, 0.6, 0.0) + 0.4 / K
            right = rng.random(n) < np.where(shown == 0, 0.7, 0.2)
            found = self_normalised("x", shown == policy, right, p)
            assert found.low is not None
            assert found.high is not None
            assert found.value is not None
            covered += found.low <= 0.7 <= found.high
            values.append(found.value)
        assert 0.93 <= covered / trials <= 0.98
        assert np.mean(values) == pytest.approx(0.7, abs=0.005)


def documents(n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    def one() -> dict[str, Any]:
        rows = rng.normal(size=(6, 3)).round(3).tolist()
        return {"candidates": [{"id": f"d{i}", "features": row} for i, row in enumerate(rows)], "top": 3}

    parsed = [request(one()) for _ in range(n)]
    return [{"candidates": each.candidates, "top": each.top} for each in parsed]


class TestCoactive:
    OTHERS = ("SecondOrderPreferencePerceptron:radius=2", "ConvexPreferencePerceptron:radius=1.0")

    @pytest.fixture
    def ranked(self, tmp_path: Path) -> Path:
        rng = np.random.default_rng(1)
        contexts = documents(150, rng)
        taste = np.array([1.0, -0.5, 0.25])

        def user(reply: dict[str, Any], i: int) -> dict[str, Any] | None:
            rows = {each.id: np.array(each.features) @ taste for each in contexts[i]["candidates"]}
            best = max(rows, key=lambda id: rows[id] + rng.normal() * 0.3)
            return {"clicked": [best]} if i % 7 else None

        return logged(tmp_path / "data", MODELS["second"], contexts, user)

    def test_is_the_naive_computation(self, ranked: Path) -> None:
        found = asked(ranked, *self.OTHERS)
        mirror = {
            "as logged": smidgen.SecondOrderPreferencePerceptron(dim=3),
            self.OTHERS[0]: smidgen.SecondOrderPreferencePerceptron(dim=3, radius=2),
            self.OTHERS[1]: smidgen.ConvexPreferencePerceptron(dim=3, radius=1.0),
        }
        with Inspection(ranked) as seen:
            pairs = list(steps(StoreSource(seen, seen.model("m"))))
        assert (found.decisions, found.answered) == (150, len(pairs))
        for name, learner in mirror.items():
            above = ties = count = 0
            curve = []
            for made, better, _ in pairs:
                context = made.context
                gain = learner.weights @ context.phi(better) - learner.weights @ context.phi(made.action)
                if not np.array_equal(context.phi(better), context.phi(made.action)):
                    count += 1
                    above += gain > 1e-12
                    ties += abs(gain) <= 1e-12
                    curve.append(above / count)
                mine = learner.decide(context)
                fields = {field: getattr(mine, field) for field in mine.__struct_fields__}
                learner.learn(smidgen.Decision(**{**fields, "action": made.action}), better)
            outcome = next(each for each in found.outcomes if each.learner == name)
            assert outcome.figures[0] == share("better above shown", above, count)
            assert outcome.figures[1] == share("tied", ties, count)
            assert [value for _, value in outcome.curve] == pytest.approx(curve)
        assert figure(found, "as logged", "better above shown").value == 0.0, "it showed what it thought best"
        assert any("compare other learners with one another" in note for note in found.notes)

    def test_a_learner_that_knows_the_taste_is_found_out(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(2)
        contexts = documents(300, rng)
        taste = np.array([1.0, -0.5, 0.25])

        def user(reply: dict[str, Any], i: int) -> dict[str, Any]:
            rows = {each.id: np.array(each.features) @ taste for each in contexts[i]["candidates"]}
            return {"better": sorted(rows, key=lambda id: -rows[id])[:3]}

        blind = {"loop": "rank", "learner": "DuelingBandit", "params": {"dim": 3, "explore": 10.0, "step": 1e-6}}
        found = asked(logged(tmp_path / "data", blind, contexts, user), "PreferencePerceptron")
        assert [each.learner for each in found.outcomes] == ["PreferencePerceptron"]
        assert any("is not among those compared" in note for note in found.notes)
        good = figure(found, "PreferencePerceptron", "better above shown")
        assert good.value is not None
        assert good.value > 0.9

    @pytest.mark.parametrize("name", ["choose", "duel"])
    def test_choices_and_duels(self, name: str, tmp_path: Path) -> None:
        engine = engine_with(tmp_path / "data", [name])
        play(engine, [name], 150, 4)
        engine.close()
        found = asked(tmp_path / "data", "PreferencePerceptron", name=name)
        w, above, count = np.zeros(3), 0, 0
        with Inspection(tmp_path / "data") as seen:
            for made, given, _ in steps(StoreSource(seen, seen.model(name))):
                pair = made.action if name == "duel" else (made.action, given)
                better, shown = (pair[given], pair[1 - given]) if name == "duel" else (given, made.action)
                delta = made.context.phi(better) - made.context.phi(shown)
                count += bool(delta.any())
                above += bool(w @ delta > 0)
                w += delta
        measure = "better above shown"
        assert count > 50
        assert figure(found, "PreferencePerceptron", measure) == share(measure, above, count)

    def test_keyed_models_have_one_learner_for_each_key(self, tmp_path: Path) -> None:
        engine = engine_with(tmp_path / "data", ["keyed"])
        play(engine, ["keyed"], 150, 4)
        engine.close()
        found = asked(tmp_path / "data", "PreferencePerceptron", name="keyed")
        assert found.outcomes[0].figures == found.outcomes[1].figures
        with Inspection(tmp_path / "data") as seen:
            recording = StoreSource(seen, seen.model("keyed"))
            keys = [line.key for line in recording.lines() if line.is_learnt]
            pairs = list(steps(recording))
        weights = {key: np.zeros(3) for key in keys}
        above = 0
        for key, (made, better, _) in zip(keys, pairs, strict=True):
            delta = made.context.difference(better, made.action)
            above += bool(weights[key] @ delta > 0)
            weights[key] += delta
        assert figure(found, "as logged", "better above shown").value == above / sum(
            bool(made.context.difference(better, made.action).any()) for made, better, _ in pairs
        )


class World:
    """Three classes along three directions, with noise; the truth of every example is known."""

    def __init__(self, seed: int, n: int = 250) -> None:
        rng = np.random.default_rng(seed)
        self.truth = rng.integers(3, size=n)
        self.rows = (np.eye(3)[self.truth] + 0.5 * rng.normal(size=(n, 3))).round(4)

    def log(self, folder: Path, learner: str = "Banditron", **params: Any) -> Path:
        body = {"loop": "label", "learner": learner, "params": {"dim": 3, **params}, "labels": ["x", "y", "z"]}
        contexts = [{"features": row} for row in self.rows.tolist()]
        return logged(folder, body, contexts, lambda reply, i: {"correct": reply["label"] == "xyz"[self.truth[i]]})

    def progressive(self, folder: Path, learner: smidgen.Learner) -> float:
        """The true accuracy, in expectation over its draws, of a learner that learns along the log."""
        right, gamma = 0.0, learner.params.get("gamma", 0.0)
        with Inspection(folder) as seen:
            for i, (made, found, _) in enumerate(steps(StoreSource(seen, seen.model("m")))):
                mine = learner.decide(self.rows[i])
                said = mine.greedy if gamma else mine.action
                right += (1.0 - gamma) * (said == self.truth[i]) + gamma / 3
                fields = {field: getattr(mine, field) for field in mine.__struct_fields__}
                fields |= {"action": made.action, "propensity": made.propensity}
                learner.learn(smidgen.Decision(**fields), found)
        return right / len(self.truth)


class TestLabel:
    def test_intervals_cover_the_true_accuracy_of_learning_policies(self, tmp_path: Path) -> None:
        others = {
            "Confidit:eta=0.1": lambda: smidgen.Confidit(dim=3, n_classes=3, eta=0.1),
            "Banditron:gamma=0.2": lambda: smidgen.Banditron(dim=3, n_classes=3, gamma=0.2),
        }
        measures = ("accuracy (IPS)", "accuracy (self-normalised)")
        covered = dict.fromkeys(measures, 0)
        worlds = 16
        for seed in range(worlds):
            world = World(seed)
            folder = world.log(tmp_path / str(seed), gamma=0.5, seed=seed)
            found = asked(folder, *others)
            for name, make in others.items():
                truth = world.progressive(folder, make())
                for measure in measures:
                    estimate = figure(found, name, measure)
                    assert estimate.low is not None
                    assert estimate.high is not None
                    covered[measure] += estimate.low <= truth <= estimate.high
                bounds = figure(found, name, "accuracy, sure bounds")
                assert bounds.low is not None
                assert bounds.high is not None
                assert bounds.low <= truth <= bounds.high, "these are sure"
        for measure in measures:
            assert covered[measure] >= 0.88 * worlds * len(others), measure

    def test_is_the_naive_computation(self, tmp_path: Path) -> None:
        world = World(3)
        folder = world.log(tmp_path, gamma=0.4)
        found = asked(folder, "Confidit:eta=0.5")
        learner = smidgen.Confidit(dim=3, n_classes=3, eta=0.5)
        z, weights, curve = [], [], []
        with Inspection(folder) as seen:
            for made, given, _ in steps(StoreSource(seen, seen.model("m"))):
                mine = learner.decide(made.context)
                p = mine.propensities  # where labels were tied
                target = float(mine.action == made.action) if p is None else p[made.action]
                weight = target / made.propensity
                z.append(weight * given)
                weights.append(weight)
                curve.append(sum(z) / len(z))
                fields = {field: getattr(mine, field) for field in made.__struct_fields__}
                learner.learn(smidgen.Decision(**{**fields, "action": made.action}), given)
        assert figure(found, "Confidit:eta=0.5", "accuracy (IPS)").value == pytest.approx(np.mean(z))
        snips = figure(found, "Confidit:eta=0.5", "accuracy (self-normalised)")
        assert snips.value == pytest.approx(sum(z) / sum(weights))
        assert [value for _, value in found.outcomes[1].curve] == pytest.approx(curve)
        assert found.logged.value == pytest.approx(np.mean([found for _, found, _ in naive(folder)]))

    def test_without_randomisation_only_bounds_are_known(self, tmp_path: Path) -> None:
        world = World(4)
        folder = world.log(tmp_path, "Confidit")
        found = asked(folder, "Banditron:gamma=0.1")
        other = found.outcomes[1]
        assert not any("IPS" in each.measure or "normalised" in each.measure for each in other.figures)
        assert any("not drawn at random" in note for note in other.notes)
        assert any("unit length" in note for note in found.notes)
        bounds = figure(found, "Banditron:gamma=0.1", "accuracy, sure bounds")
        assert bounds.low is not None
        assert bounds.high is not None
        assert 0 <= bounds.low < bounds.high <= 1

    def test_where_the_labels_are_known_the_accuracy_is(self, tmp_path: Path) -> None:
        world = World(5)
        body = {"loop": "label", "learner": "AROW", "params": {"dim": 3}, "labels": ["x", "y", "z"]}
        contexts = [{"features": row} for row in world.rows.tolist()]
        folder = logged(tmp_path, body, contexts, lambda reply, i: {"label": "xyz"[world.truth[i]]})
        found = asked(folder, "MulticlassPerceptron")
        learner = smidgen.MulticlassPerceptron(dim=3, n_classes=3)
        right = 0
        for row, true in zip(world.rows, world.truth, strict=True):
            right += learner.predict(row) == true
            learner.learn(learner.decide(row), int(true))
        accuracy, error = (figure(found, "MulticlassPerceptron", each) for each in ("accuracy", "progressive error"))
        naive_rate = right / len(world.truth)
        assert (accuracy.value, error.value) == pytest.approx((naive_rate, 1.0 - naive_rate))
        assert accuracy.low is not None
        assert accuracy.high is not None
        assert accuracy.low < naive_rate < accuracy.high
        assert figure(found, "as logged", "accuracy").value == found.logged.value

    def test_a_learner_of_labels_cannot_learn_from_wrong(self, tmp_path: Path) -> None:
        world = World(6, n=120)
        found = asked(world.log(tmp_path, gamma=0.5), "AROW")
        assert any("it did not learn from them" in note for note in found.outcomes[1].notes)

    def test_of_two_labels_wrong_says_which_is_right(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        truth = rng.integers(2, size=80)
        rows = (np.eye(2)[truth] + 0.3 * rng.normal(size=(80, 2))).round(3)
        body = {"loop": "label", "learner": "Confidit", "params": {"dim": 2}, "labels": ["n", "y"]}
        contexts = [{"features": row} for row in rows.tolist()]
        folder = logged(tmp_path, body, contexts, lambda reply, i: {"correct": reply["label"] == "ny"[truth[i]]})
        found = asked(folder, "AROW", "Banditron")
        assert [[one.measure for one in each.figures] for each in found.outcomes] == [
            ["accuracy", "progressive error"]
        ] * 3
        arow = smidgen.AROW(dim=2, n_classes=2)
        right = 0
        for made, given, _ in naive(folder):
            true = made.action if given else 1 - made.action
            right += arow.predict(made.context) == true
            arow.learn(arow.decide(made.context), true)
        assert figure(found, "AROW", "accuracy").value == pytest.approx(right / 80)


def naive(folder: Path) -> list[tuple[smidgen.Decision, Any, dict[str, Any]]]:
    with Inspection(folder) as seen:
        return list(steps(StoreSource(seen, seen.model("m"))))


class TestFilter:
    def stream(self, n: int = 200) -> tuple[Any, Any]:
        rng = np.random.default_rng(7)
        rows = rng.normal(size=(n, 3)).round(3)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows, rows[:, 0] + 0.2 * rng.normal(size=n) > 0

    def log(self, folder: Path, learner: str, **params: Any) -> Path:
        rows, relevant = self.stream()
        body = {"loop": "filter", "learner": learner, "params": {"dim": 3, **params}}
        contexts = [{"features": row} for row in rows.tolist()]
        return logged(
            folder, body, contexts, lambda reply, i: {"relevant": bool(relevant[i])} if reply["forward"] else None
        )

    def test_what_is_known_and_what_is_not(self, tmp_path: Path) -> None:
        folder = self.log(tmp_path, "RidgeFil", c=0.5)
        found = asked(folder, "RidgeFil:c=5")
        rows, relevant = self.stream()
        other, mine = smidgen.RidgeFil(dim=3, c=5), smidgen.RidgeFil(dim=3, c=0.5)
        forwards = heard = hits = 0
        for row, true in zip(rows, relevant, strict=True):
            d, shown = other.decide(row), mine.decide(row)
            forwards += d.action
            if shown.action:
                heard += d.action
                hits += d.action and true
                mine.learn(shown, bool(true))
                fields = {field: getattr(d, field) for field in d.__struct_fields__}
                other.learn(smidgen.Decision(**{**fields, "action": True}), bool(true))
        name = "RidgeFil:c=5"
        assert figure(found, name, "would forward") == share("would forward", forwards, 200)
        known = "precision on what is known"
        assert figure(found, name, known) == share(known, hits, heard)
        bounds = figure(found, name, "precision, sure bounds")
        assert (bounds.low, bounds.high) == (hits / forwards, (hits + forwards - heard) / forwards)
        assert forwards > heard
        assert any("does not contain their relevance" in note for note in found.outcomes[1].notes)
        assert figure(found, "as logged", known).value == found.logged.value

    def test_a_randomised_log_knows_more(self, tmp_path: Path) -> None:
        folder = self.log(tmp_path, "PRidgeFil", p=0.5)
        found = asked(folder, "RidgeFil:c=5")
        rows, relevant = self.stream()
        estimate = figure(found, "RidgeFil:c=5", "precision (self-normalised)")
        weighted = total = 0.0
        other, mine = smidgen.RidgeFil(dim=3, c=5), smidgen.PRidgeFil(dim=3, p=0.5)
        for row, true in zip(rows, relevant, strict=True):
            d, shown = other.decide(row), mine.decide(row)
            if shown.action:
                if d.action:
                    assert shown.propensity is not None
                    weighted += true / shown.propensity
                    total += 1 / shown.propensity
                mine.learn(shown, bool(true))
                fields = {field: getattr(d, field) for field in d.__struct_fields__}
                other.learn(smidgen.Decision(**{**fields, "action": True}), bool(true))
        assert estimate.value == pytest.approx(weighted / total)

    def test_full_information_logs_know_it_all(self, tmp_path: Path) -> None:
        rows, relevant = self.stream()
        body = {"loop": "filter", "learner": "RidgeFull", "params": {"dim": 3}}
        contexts = [{"features": row} for row in rows.tolist()]
        folder = logged(tmp_path, body, contexts, lambda reply, i: {"relevant": bool(relevant[i])})
        found = asked(folder, "RidgeFil:c=5")
        bounds = figure(found, "RidgeFil:c=5", "precision, sure bounds")
        assert bounds.low == bounds.high
        assert not found.outcomes[1].notes


def test_tune_logs_say_nothing_of_others(tmp_path: Path) -> None:
    folder = logged(tmp_path, MODELS["tune"], [{}] * 30, lambda reply, i: {"loss": i / 30})
    found = asked(folder, "OGDEG:delta=0.1,gamma=0.2")
    assert found.outcomes == []
    assert found.logged.value == pytest.approx(np.mean(np.arange(30) / 30))
    assert "the log has no losses" in found.notes[0]


class TestSpecs:
    def test_arguments(self) -> None:
        body = settings({"loop": "filter", "learner": "RidgeFil", "params": {"dim": 3, "c": 1.0}})
        spec = 'AppleTasting:learner={"type": "RidgeFull", "dim": 3},seed=4'
        params = parse_learner_spec(body, spec).params
        assert params == {"dim": 3, "learner": {"type": "RidgeFull", "dim": 3}, "seed": 4}
        assert parse_learner_spec(body, "X: a=[1,2], b=word ,c=True").params == {
            "dim": 3,
            "a": [1, 2],
            "b": "word",
            "c": True,
        }

    @pytest.mark.parametrize("spec", ["PreferencePerceptron:radius", "PreferencePerceptron:=3", "X:a b=3"])
    def test_that_cannot_be_read(self, spec: str) -> None:
        with pytest.raises(InvalidArgument):
            parse_learner_spec(settings(MODELS["rank"]), spec)

    @pytest.mark.parametrize("spec", ["Confidit", "Nobody", "PreferencePerceptron:radius=3", "DuelingBandit"])
    def test_of_learners_that_cannot_be_here(self, spec: str, tmp_path: Path) -> None:
        engine_with(tmp_path, ["rank"]).close()
        with pytest.raises(SmidgenError):
            asked(tmp_path, spec, name="rank")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everything")
    engine = engine_with(folder, list(MODELS))
    play(engine, list(MODELS), 300, 1)
    engine.close()
    return folder


class TestCommand:
    def invoke(self, *arguments: str | Path) -> Result:
        environment = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}
        return CliRunner().invoke(app, [str(each) for each in arguments], env=environment, catch_exceptions=False)

    def test_a_file_and_the_database_say_the_same(self, data: Path, tmp_path: Path) -> None:
        path = tmp_path / "log.ndjson"
        self.invoke("log", "export", "banditron", "--data", data, "--out", path)
        options = ("--learner", "Confidit:eta=0.1", "--learner", "AROW", "--json")
        by_file = json.loads(self.invoke("replay", path, *options).output)
        by_database = json.loads(self.invoke("replay", "--model", "banditron", "--data", data, *options).output)
        assert by_file.pop("log") == str(path)
        assert by_database.pop("log") == "banditron"
        assert by_file == by_database
        assert [each["learner"] for each in by_file["outcomes"]] == ["as logged", "Confidit:eta=0.1", "AROW"]

    @pytest.mark.parametrize("name", list(MODELS))
    def test_every_loop(self, name: str, data: Path, tmp_path: Path) -> None:
        picture = tmp_path / "what.png"
        result = self.invoke("replay", name, "--data", data, "--plot", picture)
        assert result.exit_code == 0
        assert "as logged: " in result.output
        assert "note: " in result.output
        assert picture.read_bytes().startswith(b"\x89PNG")

    def test_the_table_names_the_learners_and_their_figures(self, data: Path) -> None:
        output = self.invoke("replay", "second", "--data", data, "--learner", "PreferencePerceptron").output
        (line,) = (line for line in output.splitlines() if line.split()[0] == "PreferencePerceptron")
        assert "better above shown" in line

    def test_refusals(self, data: Path, tmp_path: Path) -> None:
        assert self.invoke("replay").exit_code == 2
        assert self.invoke("replay", "rank", "--model", "rank", "--data", data).exit_code == 2
        empty = tmp_path / "empty.ndjson"
        empty.write_text("")
        with pytest.raises(InvalidRecord, match="does not hold the model"):
            self.invoke("replay", empty)


def test_a_file_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    engine = engine_with(tmp_path / "data", ["rank"])
    play(engine, ["rank"], 30, 1)
    lines = list(engine.events.all_lines(engine.models["rank"]))
    engine.close()
    path = tmp_path / "log.ndjson"
    path.write_bytes(b"\n".join(lines) + b"\n\n")
    recording = NdjsonSource(path)
    first = next(line.decision for line in recording.lines() if line.type == "decision")
    found = recording.decision(first or "")
    assert found is not None
    assert found.decision == first
    assert recording.decision("nobody") is None
