"""The experiments of the Confidit paper: the work of their parts, on generated data, against slow computations."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from reference_label import settled
from smidgen.randomness import COIN, uniforms
from smidgen_papers.catalogue import chosen, figures
from smidgen_papers.claims import Finding
from smidgen_papers.confidit import five_versions, online, tables
from smidgen_papers.confidit.algorithms import NAMES, build, grid
from smidgen_papers.confidit.cells import MAIN, OTHER, cell, distance
from smidgen_papers.confidit.corpora import TASKS, documents, matrix
from smidgen_papers.confidit.folds import corrupted, cross_validate, final_errors, marks, mcnemar, unpacked
from smidgen_papers.confidit.spoken import SPEECH, load, middle, softmax_regression, speaker_splits
from smidgen_papers.confidit.versions import KNOBS, VERSIONS, examples, play
from smidgen_papers.part import Answer, Answers, Place, Run

SMALL = {**MAIN, "source": "generated", "documents": 300, "folds": 3, "coarse": True, "seed": 4}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(None, tmp_path)


@pytest.fixture
def run(place: Place) -> Run:
    return Run(place, quick=True)


def test_every_figure_and_table_is_entered() -> None:
    wanted = {*(f"confidit/fig{k}" for k in range(2, 9)), *(f"confidit/table{k}" for k in range(3, 7))}
    assert {figure.id for figure in chosen(["confidit"])} == wanted
    assert all(figures[name].shows and figures[name].studies for name in wanted)


def test_every_printed_row_has_five_errors_for_four_noises() -> None:
    for task in TASKS.values():
        assert np.array(task.printed).shape == (4, 5)
        assert np.all(np.array(task.printed) > 0)


def test_grids_fit_their_learners() -> None:
    for name in NAMES:
        for value in (*grid(name), *grid(name, coarse=True)):
            assert build(name, value, dim=3, classes=2).n_classes == 2
        assert set(grid(name, coarse=True)) <= set(grid(name))


def test_noise_replaces_the_announced_share_of_labels() -> None:
    y = np.zeros(20_000, dtype=np.int64)
    noisy = corrupted(y, 4, 0.2, 0)
    assert np.mean(noisy != y) == pytest.approx(0.2 * 3 / 4, abs=0.01)  # a quarter of the new labels is the old one
    assert np.array_equal(corrupted(y, 4, 0.0, 0), y)
    assert not np.array_equal(corrupted(y, 4, 0.2, 1), noisy)


def test_documents_have_length_one_if_asked(place: Place) -> None:
    common = {
        "task": "reuters4",
        "source": "generated",
        "words": "words",
        "counts": "paper",
        "documents": 40,
        "seed": 0,
    }
    raw, unit = (matrix(documents(place, scale=scale, **common)) for scale in ("raw", "unit"))
    assert raw.shape == unit.shape == (40, 20_000)
    assert np.allclose(np.sqrt(unit.multiply(unit).sum(axis=1)), 1.0, atol=1e-5)
    assert raw.max() > 1.0
    binary = matrix(documents(place, scale="raw", **{**common, "counts": "binary"}))
    assert set(binary.data.tolist()) == {1.0}


def test_cross_validation_is_what_a_plain_loop_gives(place: Place) -> None:
    settings = {**SMALL, "task": "headlines", "learner": "Perceptron", "noise": 0.3, "epochs": 2, "tested": 2}
    found = cross_validate(place, **settings)
    data = documents(
        place, task="headlines", source="generated", words="words", counts="count", scale="raw", documents=300, seed=4
    )
    X, y = matrix(data).toarray(), data["y"]
    K = int(y.max()) + 1
    noisy = corrupted(y, K, 0.3, 4)
    for fold in range(3):
        fit = [i for i in range(300) if i % 3 != fold]
        W, counts = np.zeros((K, X.shape[1])), []
        for _ in range(2):
            wrong = 0
            for i in fit:
                shown = int((W @ X[i]).argmax())
                wrong += shown != y[i]
                if shown != noisy[i]:
                    W[noisy[i]] += X[i]
                    W[shown] -= X[i]
            counts.append(wrong)
        test = np.arange(fold, 300, 3)
        errors = (X[test] @ W.T).argmax(axis=1) != y[test]
        assert found["epoch_mistakes"][fold].tolist() == counts
        assert found["errors"][fold, -1] == pytest.approx(errors.mean())
        assert np.array_equal(unpacked(found["right"], 300)[test], ~errors)
    assert found["mistakes"][:, -1].tolist() == found["epoch_mistakes"].sum(axis=1).tolist()
    assert final_errors(Answer(settings, found)).tolist() == (100.0 * found["errors"][:, 1]).tolist()


def test_the_tuned_value_has_the_lowest_error_on_the_split(place: Place) -> None:
    for name in ("Banditron", "Confidit"):
        found = cross_validate(place, task="amazon3", learner=name, noise=0.0, **{**SMALL, "epochs": 2, "tested": 2})
        assert found["value"] == found["grid"][found["tuning"].argmin()]
        assert found["grid"].tolist() == grid(name, coarse=True)
        assert np.all(found["epoch_explored"] <= 200)


def test_marks_reach_the_end_of_both_stretches() -> None:
    rounds = marks(100, 10)
    assert rounds[0] == 1
    assert rounds[-1] == 1000
    assert 100 in rounds
    assert np.all(np.diff(rounds) > 0)


def test_mcnemar_counts_only_disagreements() -> None:
    first, second = np.array([True] * 20 + [False] * 5), np.array([False] * 10 + [True] * 10 + [False] * 5)
    assert mcnemar(first, second) == pytest.approx(2 * 0.5**10)
    assert mcnemar(first, first) == 1.0
    assert mcnemar(first, second) == mcnemar(second, first)


def test_versions_play_as_their_learner_does(place: Place) -> None:
    found = play(
        place, version=5, features="normal", normalize=False, update="residual", knob="‖U‖²", rounds=60, runs=2, seed=3
    )
    X, y, _ = examples("normal", 60, [3, 1])
    for column, eta in ((0, KNOBS[0]), (6, KNOBS[6])):
        W, A, mistakes = np.zeros((5, 9)), np.full((5, 9), 4.0), 0
        for t, (x, true) in enumerate(zip(X, y, strict=True), 1):
            bounds = (W @ x + np.sqrt(eta * (x**2 / A).sum(axis=1))).tolist()
            shown, _ = settled(bounds, bounds, uniforms(0, t, 2, stream=COIN)[1])  # ties are drawn
            mistakes += shown != true
            u = x / A[shown]
            W[shown] += ((1.0 if shown == true else -1.0) - W[shown] @ x) * u / (1.0 + x @ u)
            A[shown] += x**2
        assert found["mistakes"][1, column] == mistakes


def test_generated_labels_depend_on_five_features_only() -> None:
    for features in ("normal", "correlated", "positive"):
        X, y, norm = examples(features, 400, [0, 0])
        assert X.shape == (400, 9)
        assert norm > 0
        assert set(y.tolist()) <= set(range(5))
    assert np.all(examples("positive", 50, [0])[0][:, :5] >= 0)


def test_the_middle_half_of_a_recording() -> None:
    recording = np.array([0] * 8 + [1] * 2 + [2] * 4)
    assert np.flatnonzero(middle(recording)).tolist() == [2, 3, 4, 5, 8, 9, 11, 12]


def test_no_speaker_is_in_both_halves(place: Place) -> None:
    data = load(place, "v4.w1", "generated", "unit", 0)
    assert np.allclose(np.linalg.norm(data.X, axis=1), 1.0, atol=1e-5)
    for fit, test in speaker_splits(data, 3, 200, 0):
        assert len(fit) == 200
        assert not set(data.speaker[fit]) & set(data.speaker[test])
    assert load(place, "v4.w7", "generated", "raw", 0).X.shape[1] == 365
    assert {len(about.classes) for name, about in SPEECH.items() if name.startswith("v")} == {4, 8}


def test_softmax_regression_finds_the_minimum() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 3, 500)
    y[X[:, 0] > 0.5] = 2
    W = softmax_regression(X, y, 3)
    scores = X @ W.T
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gradient = (P - np.eye(3)[y]).T @ X / 500 + 1e-4 * W
    assert np.abs(gradient).max() < 1e-4


def test_readings_share_the_parts_of_the_tables(run: Run) -> None:
    planned = {repr(part.settings) for part in figures["confidit/table3"].studies[2].plan(run)}
    for name, reading in product(NAMES, ({}, OTHER)):
        assert repr(cell(run, "newsgroups", name, **reading).settings) in planned
    assert distance([1.0, 2.0], (1.0, 2.0)) == 0.0
    assert distance([np.e, 1.0], (1.0, 1.0)) == pytest.approx(0.5)


def test_a_small_table_and_its_curves(run: Run, place: Place) -> None:
    parts = [cell(run, task, name) for task in ("headlines", "reuters4") for name in NAMES]
    answers = Answers(
        Answer(settings, cross_validate(place, **settings))
        for settings in (
            {**part.settings, "documents": 240, "epochs": 2, "tested": 2, "coarse": True} for part in parts
        )
    )
    outcome = figures["confidit/table3"].studies[0].gather(run, answers)
    errors, printed, tuned = outcome.tables
    assert [row[0] for row in errors.rows] == ["NYT headlines (generated)", "Reuters-21578, 4 topics (generated)"]
    assert printed.rows[1][1:] == [4.29, 3.96, 2.92, 4.59, 3.55]
    assert len(tuned.rows[0]) == 5
    assert sum("*" in cell for cell in errors.rows[0][1:6]) == 1
    panel = online.panel(answers, "reuters4", 0.0, "first")
    assert [curve.name for curve in panel.curves] == list(NAMES)
    assert "generated" in panel.title
    assert panel.curves[0].x.max() == 160
    assert len(online.counts(answers, ["reuters4"], (0.0,))[0].rows) == 5
    here = {name: answers.one(task="headlines", learner=name) for name in NAMES}
    assert tables.stars(here, "AROW", ["AROW"]) == ""


def test_the_figure_of_the_versions(run: Run) -> None:
    study = figures["confidit/fig2"].studies[0]
    counts = {1: 650.0, 2: 300.0, 3: 500.0, 4: 590.0, 5: 400.0}
    answers = Answers(
        Answer(part.settings, {"mistakes": np.full((3, 7), counts[part.settings["version"]])})
        for part in study.plan(run)
    )
    outcome = study.gather(run, answers)
    assert [curve.name for curve in outcome.panels[0].curves] == list(VERSIONS.values())
    assert outcome.tables[0].rows[0][-1] == 0
    assert isinstance(five_versions.fewer(answers, 2, 5), Finding)
