"""Kill -9 in the midst of every call that writes: what was answered is done, nothing is half done, sent again it is."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.endpoint_cases import CASES, COMMIT, SPREAD, SWEEP, EndpointCase, prepare, send, writing_calls
from service.killable_services import Nursery
from smidgen.service.admin.fsck import fsck
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.inspection import Inspection
from smidgen.service.engine.log_sources import source_of
from smidgen.service.engine.rebuild import rebuild_all
from smidgen.service.storage import crash_points

OPTIONS = {"snapshot_every": 5, "keyed_in_memory": 1}
#: Where each call can be killed: at its own points, and at those of every commit.
ALL = [(case, point) for case in (*CASES, *SPREAD) for point in (*case.points, *COMMIT)]


def quick() -> Iterator[tuple[EndpointCase, str]]:
    """Each call at its last point, when something is half done, and at each place that was not met before."""
    met: set[str] = set()
    for case in (*CASES, *SPREAD):
        for point in case.points:
            if point == case.points[-1] or point.partition(":")[0] not in met:
                yield case, point
            met.add(point.partition(":")[0])


QUICK = list(quick())
LONG = [case for case in ALL if case not in QUICK]
Weights = dict[tuple[str, str | None], bytes]


@dataclass
class Prepared:
    """A folder in which nothing is done yet, before and after silence was learnt; its stage, and its weights."""

    unswept: Path
    swept: Path
    stage: dict[str, Any]
    before: Weights


def ids(case: object) -> str:
    return case.name if isinstance(case, EndpointCase) else str(case)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Services that have met all models of the mix."""
    nursery = Nursery(prepare=["service.endpoint_cases"])
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("prepared")
    stage = prepare(folder / "unswept")
    shutil.copytree(folder / "unswept", folder / "swept")
    engine = Engine(folder / "swept", synchronous="OFF")
    engine.sweep_all()
    engine.close()
    for place, cases in (("unswept", CASES[-1:]), ("swept", [*CASES[:-1], *SPREAD])):
        _, before = state(folder / place, cases[0], stage)
        engine = Engine(folder / "copy", synchronous="OFF", clock=lambda: 0.0)
        assert not any(any(case.facts(engine, stage)) for case in cases), "something was done before"
        engine.store.close()
    return Prepared(folder / "unswept", folder / "swept", stage, before)


def test_every_call_that_writes_is_in_the_mix() -> None:
    assert {case.name for case in CASES} == writing_calls(), "a call that writes is never killed: give it a case"
    assert len({case.name for case in CASES}) == len(CASES)
    met = {point.partition(":")[0] for case in CASES for point in case.points}
    assert set(crash_points.LIFE) <= met, "a place in the code is never killed at"


def state(folder: Path, case: EndpointCase, stage: dict[str, Any]) -> tuple[bool, Weights]:
    """Check on a copy of the folder if the case is done, and rebuild the weights from the log."""
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    assert fsck(copy, deep=True).findings == []
    engine = Engine(copy, synchronous="OFF", clock=lambda: 0.0)  # at a time when no window is over
    try:
        facts = case.facts(engine, stage)
        assert len(set(facts)) == 1, f"{case.name} was half done: {facts}"
        weights: Weights = {}
        with Inspection(copy) as seen:
            for found in seen.models():
                name, model = found.name, engine.models[found.name]
                for rebuilt in rebuild_all(source_of(seen, found)).values():
                    for key in rebuilt.numbers.keys() | rebuilt.learners.keys():
                        weights[name, key] = engine.learners.get(model.shard_for(key), key).learner.to_bytes()
                        same = weights[name, key] == rebuilt.learner(key).to_bytes()
                        assert same, f"{name} is not what its log leads to"
        return facts[0], weights
    finally:
        engine.store.close()


def killed(nursery: Nursery, folder: Path, case: EndpointCase, point: str, prepared: Prepared) -> None:
    data, stage, status = folder / "data", prepared.stage, None
    shutil.copytree(prepared.unswept if case.name == SWEEP else prepared.swept, data)
    victim = nursery.start(data, point, **OPTIONS)
    if victim is not None:
        status = send(victim.url, case, stage)
        victim.end(signal.SIGKILL if status is not None else None)
    done, weights = state(data, case, stage)
    assert done or status is None, f"{case.name} was answered with {status} and is not done"
    if not done and case.name != SWEEP:
        assert weights == prepared.before, f"{case.name} was not done and has left something"
    again = nursery.start(data, **OPTIONS)
    assert again is not None
    answered = send(again.url, case, stage)
    assert answered in ((200, 201, *case.again) if done else (200, 201)), answered
    again.end(signal.SIGKILL)
    finished, after = state(data, case, stage)
    assert finished
    if case.name == "retain":
        assert after == prepared.before, "a base holds what was learnt"


@pytest.mark.parametrize(("case", "point"), QUICK, ids=ids)
def test_killed(case: EndpointCase, point: str, nursery: Nursery, tmp_path: Path, prepared: Prepared) -> None:
    killed(nursery, tmp_path, case, point, prepared)


@pytest.mark.long
@pytest.mark.parametrize(("case", "point"), LONG, ids=ids)
def test_killed_elsewhere(case: EndpointCase, point: str, nursery: Nursery, tmp_path: Path, prepared: Prepared) -> None:
    killed(nursery, tmp_path, case, point, prepared)
