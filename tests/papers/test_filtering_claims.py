"""Every claim on information filtering can hold and can fail; the figures are made of the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen.theory.filter import p_ridge_fil, simple_fil
from smidgen_papers.catalogue import claims, figures
from smidgen_papers.claims import Finding
from smidgen_papers.filtering import forms, p_ridge, readings, ridge_model, simple, threshold, topics
from smidgen_papers.filtering.scores import Scores, difference
from smidgen_papers.part import Answer, Answers, Place, Run
from smidgen_papers.runner import compute, show, work_of

DOCUMENTS, TOPICS = 8000, 6
RUN = Run(Place(None, Path("/nowhere")))


def counted(learner: str, precision: float, recall: float, **more: Any) -> Answer:
    """A filter with this precision and recall, steady along the stream, a little different on each topic."""
    shift = np.linspace(-0.01, 0.01, TOPICS)[:, None]
    ends = np.linspace(0, DOCUMENTS, 41).astype(int)[1:]
    relevant = np.linspace(0.04, 0.012, TOPICS)[:, None] * ends
    found = (recall + shift) * relevant
    late = more.pop("late", 0.2)  # what part of the exploration falls in the second half
    explored = np.where(
        ends <= DOCUMENTS / 2, (1.0 - late) * ends, (1.0 - late) * DOCUMENTS / 2 + late * (ends - DOCUMENTS / 2)
    )
    settings = {"learner": learner, "source": "reuters", "settings": {}, "reading": "as printed", "seed": 0} | more
    values = {
        "topics": [f"topic {k}" for k in range(TOPICS)],
        "ends": ends,
        "dim": 100,
        "relevant": relevant,
        "found": found,
        "forwarded": found / (precision + shift),
        "explored": explored * np.linspace(0.9, 1.1, TOPICS)[:, None],
    }
    return Answer(settings, values)


def topic_answers(
    full: tuple[float, float], fil: tuple[float, float], others: tuple[float, float], **more: Any
) -> Answers:
    names = ("perceptron", "STAP on RIDGE-FULL", "STAP on perceptron")
    return Answers(
        [counted("RIDGE-FULL", *full), counted("RIDGE-FIL", *fil, **more), *(counted(name, *others) for name in names)]
    )


GOOD = topic_answers((0.7, 0.68), (0.6, 0.78), (0.3, 0.4))
GOOD_GAP = 2 * 0.59 * 0.77 / (0.59 + 0.77) - 2 * 0.69 * 0.67 / (0.69 + 0.67)  # of the first topic
POOR = topic_answers((0.9, 0.5), (0.5, 0.2), (0.8, 0.8), late=0.8)
BETTER = topic_answers((0.5, 0.5), (0.7, 0.7), (0.3, 0.4))


@pytest.mark.parametrize(
    ("name", "holds", "fails"),
    [
        ("near-full-information", GOOD, POOR),
        ("sometimes-better-than-full", BETTER, POOR),
        ("ridge-full-above-perceptron", GOOD, POOR),
        ("ridge-fil-above-apple-tasting", GOOD, POOR),
        ("ridge-full-balanced", GOOD, POOR),
        ("recall-above-precision", GOOD, POOR),
        ("confidence-grows", GOOD, POOR),
    ],
)
def test_claims_on_topics(name: str, holds: Answers, fails: Answers) -> None:
    claim = claims[f"filtering/{name}"]
    more = [holds] if len(claim.needs) == 3 else []

    def check(run: Run, *streams: Answers) -> Finding:
        return claim.check(run, *streams, *more)

    assert check(RUN, holds, holds).verdict == "holds"
    assert check(RUN, holds, Answers([])).verdict == "holds"  # without Reuters there is one stream only
    failed = check(RUN, holds, fails)
    assert failed.verdict == "does not hold here"
    assert failed.reason


def test_claim_on_looking_ahead() -> None:
    def answers(ahead: float) -> Answers:
        past = [counted(who, 0.6, 0.6, reading="idf of the past") for who in topics.PRINTED]
        return Answers([counted(who, 0.6 + ahead, 0.6 + ahead) for who in topics.PRINTED] + past)

    check = claims["filtering/looking-ahead"].check
    assert check(RUN, answers(0.0)).verdict == "holds"
    assert check(RUN, answers(0.2)).verdict == "does not hold here"


def test_claim_on_the_threshold() -> None:
    def answers(bare: float) -> Answers:
        full, paper = counted("RIDGE-FULL", 0.8, 0.8), counted("RIDGE-FIL", 0.6, 0.6)
        return Answers([full, paper, counted("RIDGE-FIL", bare, bare, settings={"c": 0.0})])

    check = claims["filtering/threshold-compensates"].check
    assert check(RUN, answers(0.3)).verdict == "holds"
    failed = check(RUN, answers(0.7))
    assert failed.verdict == "does not hold here"
    assert "c = 0, F 0.70" in failed.reason


def test_scores_are_those_of_the_definition() -> None:
    answer = counted("RIDGE-FIL", 0.6, 0.8)
    scores = Scores(Answers([answer]))
    p, r = scores.precision(), scores.recall()
    np.testing.assert_allclose(scores.f(), 2 * p * r / (p + r))
    np.testing.assert_allclose(scores.f(0.5), scores.f())  # steady
    np.testing.assert_allclose(scores.prolonged(70_000), scores.f())
    np.testing.assert_allclose(scores.by_stretch()[1], np.repeat(scores.f()[:, None], 8, axis=1))
    np.testing.assert_allclose(scores.explored(0.0, 0.5) / scores.explored(0.5, 1.0), 4.0)
    assert scores.relevant.tolist() == answer["relevant"][:, -1].tolist()
    same = difference(answer, answer, "topic 2")
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    twice = Scores(Answers([answer, counted("RIDGE-FIL", 0.4, 0.6)]))
    np.testing.assert_allclose(twice.recall(), scores.recall() - 0.1)


def simple_answers(power: float, size: float) -> Answers:
    """Regret that grows like (ln n)·n^power, as a share of the bound at the end."""
    n = np.array([1, 10, 100, 1000, 10_000, 100_000, 1_000_000])
    shape = np.log(n) * n**power
    wiggle = np.array([[0.9], [1.0], [1.1]])
    made = [
        Answer(
            {"delta": d, "c": 4.0},
            {"items": n, "regret": wiggle * shape / shape[-1] * size * simple_fil(n=1_000_000, delta=d)},
        )
        for d in (-0.2, -0.1)
    ]
    return Answers(made)


def test_claims_on_simple_fil() -> None:
    bound, log = claims["filtering/theorem-1"].check, claims["filtering/simple-fil-logarithmic"].check
    assert bound(RUN, simple_answers(0.0, 0.3)).verdict == "holds"
    assert bound(RUN, simple_answers(0.0, 2.0)).verdict == "does not hold here"
    assert log(RUN, simple_answers(0.0, 0.3)).verdict == "holds"
    assert log(RUN, simple_answers(0.5, 0.3)).verdict == "does not hold here"

    def stuck(bare: list[bool]) -> Answers:
        n = np.array([1, 10_000, 100_000])
        none = np.zeros((len(bare), 3))
        lost = np.array([0.2 * n * was for was in bare])
        given = [(0.0, lost), (4.0, none)]
        return Answers(Answer({"delta": 0.1, "c": c}, {"items": n, "regret": regret}) for c, regret in given)

    check = claims["filtering/estimate-alone-gets-stuck"].check
    assert check(RUN, stuck([True] * 6 + [False] * 2)).verdict == "holds"
    assert check(RUN, stuck([False] * 8)).verdict == "does not hold here"


def p_ridge_answers(power: float, size: float, mistakes: float) -> Answers:
    n = np.array(p_ridge.HORIZONS, np.float64)
    wiggle = np.array([[0.95], [1.0], [1.05]])
    top = p_ridge_fil(n=n[-1], dim=5, margin=0.2)
    values = {
        "regret": wiggle * size * top * (n / n[-1]) ** power,
        "best": np.repeat(0.3 * n[None], 3, axis=0),
        "mistakes": mistakes * wiggle**0.1 * 0.3 * n,
    }
    return Answers([Answer({"dim": 5, "margin": 0.2, "horizons": p_ridge.HORIZONS}, values)])


def test_claims_on_p_ridge_fil() -> None:
    names = ("theorem-3", "p-ridge-fil-root", "near-optimal-rule")
    for name in names:
        check = claims[f"filtering/{name}"].check
        assert check(RUN, p_ridge_answers(0.5, 0.1, 1.02)).verdict == "holds"
        assert check(RUN, p_ridge_answers(0.9, 3.0, 1.5)).verdict == "does not hold here"

    def steps(mended: float, printed: float) -> Answers:
        values = {"updates": np.array([10, 10])}
        return Answers(
            Answer(
                {"printed": p}, values | {"worst": np.array([w, w - 1.0]), "broken": np.array([w > 0, False], float)}
            )
            for p, w in ((False, mended), (True, printed))
        )

    mended, printed = (claims[f"filtering/{name}"].check for name in ("lemma-2", "lemma-2-as-printed"))
    assert mended(RUN, steps(-0.1, 0.2)).verdict == "holds"
    assert mended(RUN, steps(0.1, -0.2)).verdict == "does not hold here"
    assert printed(RUN, steps(-0.1, -0.2)).verdict == "holds"
    assert printed(RUN, steps(-0.1, 0.2)).verdict == "does not hold here"


def test_claims_on_ridge_fil_and_its_model() -> None:
    def answers(power: float, size: float) -> Answers:
        n = np.array([1, 10, 100, 1000, 10_000, 100_000])
        wiggle = np.array([[0.95], [1.0], [1.05]])
        fil = {"items": n, "regret": size * wiggle * (1.0 + np.log(n)) * n**power}
        tasting = {"items": n[:-1], "regret": 10.0 * wiggle * np.sqrt(n[:-1])}
        given: dict[str, Any] = {"margin": 0.2, "settings": {}}
        return Answers(
            [
                Answer({"learner": "RIDGE-FIL", **given}, fil),
                Answer({"learner": "STAP on RIDGE-FULL", **given}, tasting),
            ]
        )

    for name in ("ridge-fil-logarithmic", "model-above-apple-tasting"):
        check = claims[f"filtering/{name}"].check
        assert check(RUN, answers(0.0, 5.0)).verdict == "holds"
        assert check(RUN, answers(0.5, 10.0)).verdict == "does not hold here"
    flat = next(iter(answers(0.0, 5.0)))
    flat["regret"][:, -2:] = flat["regret"][:, -3:-2]
    still = claims["filtering/ridge-fil-logarithmic"].check(RUN, Answers([flat]))
    assert (still.verdict, still.effect) == ("holds", "γ = 0.2: no regret at all over the last decade")
    expected = claims["filtering/expected-margin"].check
    assert expected(RUN, Answers([Answer({}, {"scores": np.array([1.0, -2.0])})])).verdict == "holds"
    assert expected(RUN, Answers([Answer({}, {"scores": np.array([1.0, -9.0])})])).verdict == "does not hold here"


def test_claims_on_kernels_and_drift() -> None:
    def answers(differ: int, fading: float) -> Answers:
        wiggle = np.array([0.9, 1.0, 1.1])
        regrets = {(5.0, 1.0): 50.0, (0.5, 1.0): 40.0, (5.0, 0.99): 60.0, (0.5, 0.99): fading}
        turning = [Answer({"c": c, "forgetting": keep}, {"regret": r * wiggle}) for (c, keep), r in regrets.items()]
        return Answers([Answer({"items": 600}, {"differ": np.array([0, differ, 0])}), *turning])

    kernels, drift = (claims[f"filtering/{name}"].check for name in ("kernels", "drift"))
    good, poor = answers(0, 20.0), answers(1, 80.0)
    assert (kernels(RUN, good).verdict, drift(RUN, good).verdict) == ("holds", "holds")
    assert {kernels(RUN, poor).verdict, drift(RUN, poor).verdict} == {"does not hold here"}


def test_every_claim_is_tested_here() -> None:
    names = {id.removeprefix("filtering/") for id in claims if id.startswith("filtering/")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert names
    assert {name for name in names if f'"{name}"' not in text and f'"filtering/{name}"' not in text} == set()


def test_figures_show_the_answers() -> None:
    both = [figures["filtering/fig1"].studies[k].gather(RUN, GOOD) for k in (0, 1)]
    assert both[0].panels[0].title == "Reuters-21578, all stories"
    gap = both[0].panels[2].curves[0]
    np.testing.assert_allclose(gap.y, GOOD_GAP, atol=1e-9)
    assert both[0].panels[0].ticks == [f"topic {k}" for k in range(TOPICS)]
    averages = {row[0]: row for row in both[0].tables[0].rows}
    assert averages["RIDGE-FIL"][2] == 0.59
    np.testing.assert_allclose(averages["RIDGE-FULL"][3:6], [0.69, 0.7, 0.68], atol=0.002)
    assert topics.plan_indexed(RUN) == []
    assert figures["filtering/fig1"].studies[1].gather(RUN, Answers([])).notes
    table = readings.gather(RUN, Answers([counted(who, 0.65, 0.65) for who in topics.PRINTED])).tables[0]
    assert table.rows[1][2:5] == pytest.approx([0.65, 0.65, 0.65], abs=0.001)
    assert table.rows[1][-1] == pytest.approx((0.03 + 0.04 + 0.06) / 3, abs=0.002)


@pytest.mark.parametrize(
    "id",
    [pytest.param("filtering/simple-fil", marks=pytest.mark.long), "filtering/ridge-fil", "filtering/p-ridge-fil"],
)
def test_the_quick_theory_runs_and_is_shown(id: str, tmp_path: Path) -> None:
    run = Run(Place(None, tmp_path), quick=True)
    compute(work_of([figures[id]], run), run)
    shown = show(figures[id], run)
    assert shown.outcome.tables
    assert len(shown.findings) == len(figures[id].claims()) > 0
    verdicts = {claim.id: finding.verdict for claim, finding in shown.findings}
    for bound in ("filtering/theorem-1", "filtering/theorem-3", "filtering/kernels"):
        assert verdicts.get(bound, "holds") == "holds"


def test_plans_name_a_part_once_and_use_what_is_there() -> None:
    modules = (topics, readings, threshold, forms, simple, ridge_model, p_ridge)
    for module in modules:
        for quick in (True, False):
            parts = module.plan(Run(RUN.place, quick=quick))
            assert len({repr((p.work, p.settings)) for p in parts}) == len(parts) > 0
            assert all(p.settings.get("source", "generated") == "generated" for p in parts)
    assert {p.settings["reading"] for p in readings.plan(RUN)} == set(readings.COUNTED)
