"""Parts are done once, kept whole, and an interrupted run goes on where it stopped."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from papers import made_up
from smidgen.errors import InvalidArgument, MissingExtra
from smidgen_papers.catalogue import Figure
from smidgen_papers.part import Answer, Answers, Part, Place, Run, part
from smidgen_papers.runner import Work, complete, compute, show, work_of
from smidgen_papers.store import Store


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Place(None, tmp_path))


@pytest.fixture
def figure() -> Iterator[Figure]:
    yield made_up.enter()
    made_up.leave()


def test_parts_are_computed_once_and_shown_from_the_store(run: Run, figure: Figure) -> None:
    work = work_of([figure], run)
    assert (len(work.parts), len(work.missing)) == (5, 5)
    assert not complete(figure, run)
    seen: list[float] = []
    compute(work, run, report=lambda part, seconds: seen.append(seconds))
    assert len(seen) == 5
    assert complete(figure, run)
    compute(work_of([figure], run), run)
    assert made_up.calls(run.place).count("double 4 0") == 1
    shown = show(figure, run)
    np.testing.assert_allclose(shown.outcome.panels[0].curves[0].y, 2.0 * np.arange(4) + 2.0)
    ((claim, finding),) = shown.findings
    assert (claim.id, finding.verdict) == ("made/rises", "holds")


def test_a_preparation_is_kept_in_memory_and_on_disk(run: Run) -> None:
    first = made_up.numbers(run.place, n=17)
    for n in (18, 19, 20, 21, 17):  # more than memory holds: 17 comes back from disk
        made_up.numbers(run.place, n=n)
    np.testing.assert_array_equal(made_up.numbers(run.place, n=17)["x"], first["x"])
    assert made_up.calls(run.place).count("numbers 17") == 1


def test_another_seed_or_size_is_other_work(run: Run, figure: Figure) -> None:
    compute(work_of([figure], run), run)
    other = Run(run.place, seed=3)
    assert len(work_of([figure], other).missing) == 3  # seeds 3 and 4 were done already
    quick = Run(run.place, quick=True)
    assert work_of([figure], quick).missing == []


def test_processes_give_the_same_answers(run: Run, figure: Figure, tmp_path: Path) -> None:
    compute(work_of([figure], run), run)
    there = Run(Place(None, tmp_path / "processes"))
    compute(work_of([figure], there), there, jobs=2)
    assert len(made_up.calls(there.place)) >= 6
    for one in made_up.plan(run):
        np.testing.assert_array_equal(Store(run.place).get(one)["y"], Store(there.place).get(one)["y"])


def test_a_failing_part_loses_nothing_that_was_done(run: Run) -> None:
    good, bad = part(made_up.double, n=4, seed=0, seconds=2.0), part(made_up.broken, n=1)
    with pytest.raises(ArithmeticError, match="not to be had"):
        compute(Work((good, bad), ()), run)
    assert Store(run.place).get(good) is not None
    assert Store(run.place).get(bad) is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"values": 1}', b'{"values": {"$": "array"}}'])
def test_a_damaged_part_counts_as_absent(run: Run, damage: bytes) -> None:
    one = part(made_up.double, n=4, seed=0)
    compute(Work((one,), ()), run)
    Store(run.place).path(one).write_bytes(damage)
    assert Store(run.place).get(one) is None


def test_an_interrupted_run_goes_on_where_it_stopped(run: Run) -> None:
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "papers.made_up", str(run.place.kept)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])},
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    parts = made_up.slow_plan(run)
    store = Store(run.place)
    limit = time.monotonic() + 60
    while sum(store.get(one) is not None for one in parts) < 2:
        assert time.monotonic() < limit, "no part was finished in a minute"
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = [one for one in parts if store.get(one) is not None]
    assert 2 <= len(kept) < len(parts)
    before = len(made_up.calls(run.place))
    compute(Work((*kept, *parts[-2:]), tuple(kept)), run)
    assert len(made_up.calls(run.place)) <= before + 3  # the two new ones, and a preparation at most


def test_a_part_needs_a_function_that_can_be_found() -> None:
    with pytest.raises(InvalidArgument, match="must stand in its module"):
        part(lambda place: {})
    with pytest.raises(InvalidArgument, match="no function"):
        Part("papers.made_up:nothing", {}).run(Place(None, Path()))


def test_the_backend_is_checked(run: Run) -> None:
    with pytest.raises(InvalidArgument, match="processes or ray"):
        compute(Work((part(made_up.double, n=4, seed=0),), ()), run, backend="threads")


def test_ray_is_an_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"smidgen\[ray\]"):
        compute(Work((part(made_up.double, n=4, seed=0),), ()), run, jobs=2, backend="ray")


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed: make test-ray")
def test_ray_gives_the_same_answers(run: Run, tmp_path: Path) -> None:
    """In a process of its own, since Ray reads its settings when it is imported."""
    one = part(made_up.double, n=4, seed=0)
    compute(Work((one,), ()), run)
    code = (
        "from pathlib import Path\n"
        "from papers import made_up\n"
        "from smidgen_papers.part import Place, Run, part\n"
        "from smidgen_papers.runner import Work, compute\n"
        f"run = Run(Place(None, Path({str(tmp_path / 'ray')!r})))\n"
        "compute(Work((part(made_up.double, n=4, seed=0),), ()), run, jobs=1, backend='ray')\n"
    )
    there = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **there}, check=True, timeout=180)
    np.testing.assert_array_equal(Store(run.place).get(one)["y"], Store(Place(None, tmp_path / "ray")).get(one)["y"])


def test_answers_are_found_by_their_settings() -> None:
    answers = Answers(Answer({"a": i % 2, "b": i}, {"v": i}) for i in range(4))
    assert [answer["v"] for answer in answers.where(a=1)] == [1, 3]
    assert answers.one(b=2)["v"] == 2
    with pytest.raises(InvalidArgument, match="2 parts"):
        answers.one(a=0)
