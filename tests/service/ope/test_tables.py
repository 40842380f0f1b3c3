"""Tables of examples: played by compiled streams, batch after batch, as the two verbs would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import smidgen
from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.jobs import answers
from smidgen.jobs.processes import InProcess
from smidgen.service.ope import tables
from smidgen.service.ope.replay import replay

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet", reason="pyarrow was built without Parquet")
NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS", 32)
    monkeypatch.setattr(tables, "WORTH", 1)
    monkeypatch.setattr(tables, "place_of_work", lambda backend, jobs: InProcess())


def examples(rows: int = 150) -> tuple[Any, Any, list[str]]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(rows, 3))
    return X, X.argmax(axis=1), [f"user {each}" for each in rng.integers(5, size=rows)]


def write(path: Path, **columns: Any) -> str:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def accuracy(found: Any, learner: str) -> float:
    (outcome,) = (each for each in found.outcomes if each.learner == learner)
    return float(outcome.figures[0].value)


def by_verbs(learner: Any, X: Any, y: Any) -> float:
    right = 0
    for x, true in zip(X, y.tolist(), strict=True):
        decision = learner.decide(x)
        right += decision.action == true
        learner.learn(decision, bool(decision.action == true) if "bit" in learner.card.kinds else true)
    return right / len(y)


@pytest.mark.parametrize("form", ["list", "columns"])
def test_labels_as_by_the_two_verbs(tmp_path: Path, form: str) -> None:
    X, y, _ = examples()
    names = np.array(["a", "b", "c"])[y].tolist()
    features = {"features": X.tolist()} if form == "list" else {f"x{i}": X[:, i] for i in range(3)}
    log = write(tmp_path / "t.parquet", **features, label=names)
    found = replay(log, ["Confidit:eta=0.5", "AROW"], data=NOWHERE)
    first = {name: place for place, name in enumerate(dict.fromkeys(names))}
    numbers = np.array([first[name] for name in names])
    assert accuracy(found, "Confidit:eta=0.5") == by_verbs(smidgen.Confidit(dim=3, n_classes=3, eta=0.5), X, numbers)
    assert accuracy(found, "AROW") == by_verbs(smidgen.AROW(dim=3, n_classes=3), X, numbers)
    assert found.outcomes[0].curve[-1] == (150, accuracy(found, "Confidit:eta=0.5"))
    assert found.logged.value == max(names.count(name) for name in "abc") / 150


def test_filters_as_by_the_two_verbs(tmp_path: Path) -> None:
    X, y, _ = examples()
    log = write(tmp_path / "t.parquet", features=X.tolist(), relevant=(y == 0).tolist())
    found = replay(log, ["RidgeFil:c=1"], data=NOWHERE)
    learner, forwarded = smidgen.RidgeFil(dim=3, c=1), []
    for x, relevant in zip(X, (y == 0).tolist(), strict=True):
        decision = learner.decide(x)
        if decision.action:
            learner.learn(decision, relevant)
            forwarded.append(relevant)
    would, precision, _ = found.outcomes[0].figures
    assert would.value == len(forwarded) / 150
    assert precision.value == sum(forwarded) / len(forwarded)


@pytest.mark.parametrize(("jobs", "split"), [(2, "learner"), (1, "key"), (3, "key"), (4, "auto")])
def test_pieces_say_what_the_whole_says(tmp_path: Path, jobs: int, split: str) -> None:
    X, y, keys = examples()
    log = write(tmp_path / "t.parquet", features=X.tolist(), label=y, key=keys)
    learners = ["Banditron", "Confidit"]
    whole = msgspec.msgpack.encode(replay(log, learners, data=NOWHERE))
    assert msgspec.msgpack.encode(replay(log, learners, data=NOWHERE, jobs=jobs, split=split)) == whole


def test_every_key_has_a_learner_of_its_own(tmp_path: Path) -> None:
    X, y, keys = examples()
    log = write(tmp_path / "t.parquet", features=X.tolist(), label=y, key=keys)
    found = replay(log, ["AROW"], data=NOWHERE)
    order = list(dict.fromkeys(y.tolist()))
    numbers = np.array([order.index(each) for each in y.tolist()])
    right = 0.0
    for key in set(keys):
        rows = np.array([each == key for each in keys])
        right += by_verbs(smidgen.AROW(dim=3, n_classes=3), X[rows], numbers[rows]) * rows.sum()
    assert accuracy(found, "AROW") == pytest.approx(right / 150)


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    X, y, _ = examples()
    whole = write(tmp_path / "t.parquet", features=X.tolist(), label=y)
    (tmp_path / "days").mkdir()
    for day, rows in (("1", slice(0, 70)), ("2", slice(70, 150))):
        write(tmp_path / "days" / f"{day}.parquet", features=X[rows].tolist(), label=y[rows])
    apart = replay(str(tmp_path / "days"), ["Confidit"], data=NOWHERE)
    assert apart.outcomes == replay(whole, ["Confidit"], data=NOWHERE).outcomes


def test_the_recommended_one_plays_if_nobody_is_named(tmp_path: Path) -> None:
    X, y, _ = examples()
    assert replay(write(tmp_path / "t.parquet", features=X.tolist(), label=y), [], data=NOWHERE).outcomes


@pytest.mark.parametrize(
    "columns",
    [
        {"features": [[1.0, 2.0]]},
        {"features": [[1.0]], "label": ["a"], "relevant": [True]},
        {"label": ["a"]},
        {"features": [[1.0], [1.0, 2.0]], "label": ["a", "b"]},
        {"features": [[1.0, 2.0], [float("nan"), 1.0]], "label": ["a", "b"]},
        {"features": [[1.0], [2.0]], "label": ["a", None]},
        {"features": [[1.0]], "label": ["a"], "key": [None]},
        {"features": pyarrow.array([], pyarrow.list_(pyarrow.float64())), "label": pyarrow.array([], pyarrow.string())},
    ],
)
def test_what_cannot_be_played_is_refused(tmp_path: Path, columns: dict[str, Any]) -> None:
    with pytest.raises(SmidgenError):
        replay(write(tmp_path / "t.parquet", **columns), ["AROW"], data=NOWHERE)


@pytest.mark.parametrize("how", [{"split": "key"}, {"examined": [1.0]}])
def test_what_makes_no_sense_is_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    log = write(tmp_path / "t.parquet", features=[[1.0], [2.0]], label=["a", "b"])
    with pytest.raises(InvalidArgument):
        replay(log, [], data=NOWHERE, **how)


def test_dear_learners_are_shared_out_sooner_and_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    log = write(tmp_path / "t.parquet", features=rng.normal(size=(40, 60)).tolist(), label=["a", "b", "c", "d"] * 10)
    monkeypatch.setattr(tables, "WORTH", 100)
    seen: list[list[list[str]]] = []

    def noted(where: Any, tasks: list[Any], progress: Any) -> list[bytes]:
        seen.append([task.settings["learners"] for task in tasks])
        return answers(where, tasks, progress)

    monkeypatch.setattr(tables, "answers", noted)
    light, dear = ["Banditron", "Banditron:gamma=0.1", "MulticlassPerceptron"], "Confidit:covariance=full"
    replay(log, light, data=NOWHERE, jobs=2)
    replay(log, [dear], data=NOWHERE, jobs=2)
    replay(log, [*light, dear], data=NOWHERE, jobs=2)
    # 40 rows of three light learners are worth one process of 100, those of a dear one are worth several
    assert seen == [[light], [[dear]], [[dear], light]]
