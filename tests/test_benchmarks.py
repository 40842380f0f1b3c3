"""The benchmarks' own arithmetic: ratios, aims, pages, pictures, slopes; and tiny runs of the workloads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

pytest.importorskip("benchmarks", reason="the benchmarks are in the checkout only")
pytest.importorskip("threadpoolctl", reason="comes with scikit-learn, extra svm")

from benchmarks import choices, clicks, interleave, rankings, report, rewards, scaling, second_order, tune, twins, verbs
from benchmarks.aims import AIMS, Aim, verdicts
from benchmarks.chart import charts
from benchmarks.interleave import Measured, Workload, measure
from benchmarks.scaling_cases import CASES, PLAINLY, Scale

from smidgen.learners import learners


def made_up() -> Measured:
    times = {"ours": [2.0, 4.0, 2.0], "C++": [1.0, 2.0, 2.0], "peer": [20.0, 60.0, 40.0], "peer, slower": [90.0] * 3}
    return Measured("W0", "a job, d = 8", "to do it", "round", {"peer": "by hand"}, times)


def test_the_median_and_the_quartiles_are_those_of_ratios_within_rounds() -> None:
    low, middle, high = made_up().spread("peer")
    assert (low, middle, high) == (12.5, 15.0, 17.5)
    assert made_up().spread("ours", "C++")[1] == 2.0
    assert made_up().microseconds("peer") == 40.0


def test_times_are_per_unit_and_repeated_until_they_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls = [0.0], {"quick": 0, "slow": 0, "half": 0}

    def takes(name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            now[0] += seconds
            calls[name] += 1

        return run

    monkeypatch.setattr(interleave.time, "perf_counter", lambda: now[0])
    half = (takes("half", 0.002), 1)
    workload = Workload(
        "W0", "naps", "to sleep", "nap", 2, {"quick": takes("quick", 0.002), "slow": takes("slow", 0.08), "half": half}
    )
    measured = measure(workload, rounds=3, seconds=0.02)
    assert calls == {"quick": 2 + 3 * 10, "slow": 2 + 3, "half": 2 + 3 * 10}  # once to warm up, once to see how long
    assert measured.times["quick"] == pytest.approx([1000.0] * 3)
    assert measured.spread("slow")[1] == pytest.approx(40.0)
    assert measured.spread("half")[1] == pytest.approx(2.0)


def test_aims_are_judged_by_the_quickest_of_those_named() -> None:
    aims = [
        Aim("a job", "ours", 3.0),
        Aim("a job", "ours", 1.5, of="C++"),
        Aim("a job", "ours", 15.0, faster_than="peer"),
        Aim("a job", "ours", 16.0, faster_than="peer"),
        Aim("a job", "ours", 1.0, of="Fortran"),
        Aim("another job", "ours", 1.0),
    ]
    judged = list(verdicts([made_up()], aims))
    assert [verdict.reached for verdict in judged] == [True, False, True, False, None]
    assert judged[2].measured == "15.0 (12.5 – 17.5)"


def test_a_time_is_judged_by_the_best_round_and_reported_with_the_median() -> None:
    measured = Measured("W0", "a job", "to do it", "round", {}, {"ours": [2.0, 4.0, 3.0]})
    (reached,), (missed,) = (list(verdicts([measured], [Aim("a job", "ours", limit)])) for limit in (2.5, 1.9))
    assert (reached.reached, missed.reached) == (True, False)
    assert reached.measured == "2.00 µs (median 3.00 µs)"


def test_a_page_takes_new_results_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n")
    where = {"date": "2026-01-01", "cpu": "a CPU", "load": [0.0, 0.0, 0.1], "versions": {"python": "3"}}
    report.insert(page, "results", report.as_markdown(where, [made_up()], {"W0": "images/speed-w0.svg"}))
    text = page.read_text()
    assert text.startswith("before\n<!-- results -->\n")
    assert text.endswith("<!-- /results -->\nafter\n")
    assert "old" not in text
    assert "| a job, d = 8 | peer | 40.00 / round | 15.00 | 12.50 – 17.50 |" in text
    assert "(images/speed-w0.svg)" in text
    with pytest.raises(SystemExit, match="scaling"):
        report.insert(page, "scaling", "text")


def test_the_page_in_the_docs_has_room_for_both() -> None:
    text = (Path(__file__).parents[1] / "docs" / "speed.md").read_text()
    assert all(text.count(f"<!-- {mark}{name} -->") == 1 for name in ("results", "scaling") for mark in ("", "/"))


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    report.write(tmp_path / "results.json", {"date": "2026-01-01"}, [made_up()])
    assert report.read(tmp_path / "results.json") == ({"date": "2026-01-01"}, [made_up()])


def test_there_is_a_picture_per_group(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="extra plots")
    paths = charts([made_up()], tmp_path)
    assert "peer, slower" in paths["W0"].read_text()


@pytest.mark.parametrize(
    "make",
    [
        lambda: rankings.rankings(True, queries=40, docs=8, dim=12),
        lambda: second_order.step(True, dim=12),
        lambda: second_order.projection(True, dim=12),
        lambda: choices.choices(True, dim=4, items=60, rounds=20, users=2),
        lambda: tune.ons(True, dim=3),
        lambda: tune.onseg(True, dim=3),
        lambda: clicks.clicks("PDGD", True, queries=10, rounds=200, docs=12, dim=5),
        lambda: clicks.clicks("FairPairs", True, queries=10, rounds=200, docs=12, dim=5),
        lambda: clicks.clicks("3PR", True, queries=10, rounds=200, docs=12, dim=5),
        lambda: verbs.ranking(True, queries=20, docs=8, dim=4),
        lambda: verbs.choice(True, rounds=20, items=30, dim=4),
        lambda: rewards.full(True, candidates=3, dim=4),
    ],
    ids=[
        "rankings",
        "step",
        "projection",
        "choices",
        "ONS",
        "ONSEG",
        "PDGD",
        "FairPairs",
        "3PR",
        "verbs on rankings",
        "verbs on choices",
        "rewards",
    ],
)
def test_workloads_do_their_job(make: Callable[[], Workload], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "ROUNDS", 1_000)
    monkeypatch.setattr(tune, "SOME", 100)
    workload = make()  # each holds its contenders' answers equal
    measured = measure(workload, rounds=1, seconds=0.0)
    assert set(measured.times) == set(workload.contenders)
    assert all(np.isfinite(times).all() for times in measured.times.values())


def test_aims_name_workloads_that_exist() -> None:
    names = [*(f"{name}, d = {dim}" for name in ("ONS", "ONSEG") for dim in (8, 20, 100))]
    names += [f"choice, {choices.ITEMS:,} items x {dim} features" for dim in (20, 50)]
    names += [f"{name}, 20 docs x 46 features" for name in clicks.CASES]
    names += ["sparse text", "ranking", "full covariance", "drafts", "start-up"]
    names += ["records: one by one", "records: in bulk", "candidates: 50 x 20 fields"]
    names += [f"choosing by reward, {many} candidates" for many in (10, 100)]
    names += [f"tuning, d = {dim}" for dim in (3, 5)]
    names += [
        "records with a vector",
        "decisions with a vector",
        "the recommended chooser",
        "budgets",
        "knobs with a context",
    ]
    names += ["second-order step, N = 700", "projection on the ball in the norm of A, N = 700"]
    assert {aim.workload for aim in AIMS if not aim.workload.startswith("two verbs")} <= set(names)


def test_twins_that_are_missing_say_so() -> None:
    with pytest.raises(twins.NoTwin, match=r"no nothing\.cpp|no g\+\+"):
        twins.twin("nothing.cpp", "nothing")


def test_slopes_are_exponents() -> None:
    sizes = [10, 20, 40, 80]
    assert scaling.slope(sizes, [3.0 * n**2 for n in sizes]) == pytest.approx(2.0)
    assert scaling.slope(sizes, [7.0] * 4) == pytest.approx(0.0)


def test_every_learner_is_scaled() -> None:
    cases = [case for _, group in CASES.values() for case in group]
    ours = {name for name in learners if learners[name].__module__.startswith("smidgen.")}
    assert {case.learner for case in cases} == ours - {"Pipeline"}  # W6 measures what it adds to its inner learner
    assert all(scaling.cost(case) for case in cases)


@pytest.mark.parametrize("loop", CASES)
def test_a_small_learner_runs_in_every_size(loop: str) -> None:
    run, (case, *_) = CASES[loop]
    small = Scale(dict.fromkeys(PLAINLY.base, 8), {})
    for parameter in case.time:
        size = 210 if parameter == "items" else 8
        seconds, state, peak = scaling.observed(run(case, {**small.base, parameter: size}), often=1)
        assert seconds > 0.0
        assert peak > 0
        assert state > 0


def test_scaling_writes_tables_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="extra plots")
    sweep = scaling.Sweep("Banditron", "features", [1, 2, 4], [1.0, 2.0, 4.0], [1, 2, 4], [1, 1, 1], 1, 1)
    monkeypatch.setattr(scaling, "sweeps", lambda only, quick: iter([sweep]))
    given = argparse.Namespace(out=tmp_path, page=None, again=False, only="", quick=True)
    scaling.main(given, Console(quiet=True))
    assert "| Banditron | 1.00 (1) |" in (tmp_path / "scaling.md").read_text()
    assert json.loads((tmp_path / "scaling.json").read_text())["results"][0]["sizes"] == [1, 2, 4]
    assert (tmp_path / "speed-scaling.svg").exists()
