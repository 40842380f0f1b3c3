"""The claims of the Confidit paper hold on answers like the paper's, and fail on answers that say the opposite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers.catalogue import claims
from smidgen_papers.claims import Finding
from smidgen_papers.confidit.algorithms import NAMES
from smidgen_papers.confidit.cells import MAIN, OTHER
from smidgen_papers.confidit.corpora import TASKS
from smidgen_papers.confidit.online import FIRST, SECOND
from smidgen_papers.confidit.readings import ALPHAS
from smidgen_papers.confidit.spoken import SPEECH
from smidgen_papers.confidit.versions import VERSIONS
from smidgen_papers.part import Answer, Answers, Place, Run

FOLDS, EPOCHS = 10, 10
JITTER = np.random.default_rng(0).normal(size=FOLDS)
RUN = Run(Place(None, Path("nowhere")))
NOISES = (0.0, 0.1, 0.2, 0.3)


def check(name: str, *answers: Answers) -> Finding:
    return claims[f"confidit/{name}"].check(RUN, *answers)


Error = Callable[[str, str, float], float]


def printed(task: str, learner: str, noise: float) -> float:
    return TASKS[task].printed[NOISES.index(noise)][NAMES.index(learner)]


def turned(task: str, learner: str, noise: float) -> float:
    """The opposite: what was low is high, and noise helps."""
    return 110.0 - TASKS[task].printed[NOISES.index(noise)][NAMES.index(learner)]


def table(error: Error, noise: float, **reading: Any) -> Answers:
    """A table in which every cell has this error, folds differ by 0.05 points, and as many test examples are wrong."""
    found = []
    for task in TASKS:
        for learner in NAMES:
            mean = error(task, learner, noise)
            rows = (mean + 0.05 * JITTER[:, None] * np.ones((1, EPOCHS))) / 100.0
            right = np.arange(10_000) >= 100 * mean
            settings = {**MAIN, **reading, "task": task, "learner": learner, "noise": noise, "source": "made up"}
            found.append(Answer(settings, {"errors": rows, "right": np.packbits(right), "documents": 10_000}))
    return Answers(found)


def tables(error: Error, *noises: float) -> list[Answers]:
    return [table(error, noise, **reading) for reading in ({}, OTHER) for noise in noises]


TABLE_CLAIMS = {
    "below-banditron": (0.0,),
    "below-banditron-in-noise": (0.1, 0.2, 0.3),
    "arow-lowest-error": (0.0,),
    "best-of-four-without-noise": (0.0,),
    "second-order-best-of-four": (0.0,),
    "noise-hurts": (0.0, 0.3),
    "banditron-degrades": NOISES,
    "suffers-least": (0.0, 0.3),
    "amazon3-in-noise": (0.0, 0.1),
    "best-of-four-at-10": (0.1,),
    "best-of-four-in-noise": (0.2, 0.3),
}


@pytest.mark.parametrize("name", TABLE_CLAIMS)
def test_claims_of_the_tables(name: str) -> None:
    good = check(name, *tables(printed, *TABLE_CLAIMS[name]))
    assert good.verdict == "holds"
    assert "length 1" in good.reason
    assert check(name, *tables(turned, *TABLE_CLAIMS[name])).verdict == "does not hold here"


def test_second_order_mostly_better() -> None:
    def better(task: str, learner: str, noise: float) -> float:
        return 12.0 if learner == "2nd-order" else 15.0

    assert check("second-order-mostly-better", *tables(better, 0.0)).verdict == "holds"
    assert check("second-order-mostly-better", *tables(turned, 0.0)).verdict == "does not hold here"


def test_one_bit_sometimes_beats_full_information() -> None:
    def worse(task: str, learner: str, noise: float) -> float:
        return 20.0 if learner == "Confidit" else 15.0

    found = check("beats-full-information", *tables(printed, 0.0))
    assert found.verdict == "holds"
    assert found.effect.startswith("on newsgroups, amazon4, reuters4")
    assert check("beats-full-information", *tables(worse, 0.0)).verdict == "does not hold here"


def test_significance_counts_the_weak_ones() -> None:
    def alike(task: str, learner: str, noise: float) -> float:
        return 10.0

    assert check("significant", *tables(printed, 0.0)).verdict == "holds"
    assert check("significant", *tables(alike, 0.0)).verdict == "does not hold here"


def test_alpha_near_one() -> None:
    def trials(worst: float) -> Answers:
        base = {**MAIN, "learner": "Confidit"}
        return Answers(
            Answer(
                {**base, "alpha": alpha}, {"errors": (10.0 + worst * alpha + JITTER[:, None] * np.ones(EPOCHS)) / 100.0}
            )
            for alpha in ALPHAS
        )

    assert check("alpha-near-one", trials(-5.0)).verdict == "holds"
    assert check("alpha-near-one", trials(5.0)).verdict == "does not hold here"


Counts = dict[str, tuple[float, float, float, float]]
#: Mistakes in the first epoch and per later one, explorations in the first and in the last epoch.
LIKE_THE_PAPER: Counts = {
    "Perceptron": (5000.0, 1000.0, 0.0, 0.0),
    "2nd-order": (4800.0, 900.0, 0.0, 0.0),
    "AROW": (3000.0, 100.0, 0.0, 0.0),
    "Banditron": (9000.0, 8800.0, 1000.0, 1000.0),
    "Confidit": (6000.0, 1500.0, 800.0, 100.0),
}
OPPOSITE: Counts = {
    "Perceptron": (5000.0, 6000.0, 0.0, 0.0),
    "2nd-order": (4800.0, 6000.0, 0.0, 0.0),
    "AROW": (9500.0, 9500.0, 0.0, 0.0),
    "Banditron": (4000.0, 400.0, 1000.0, 300.0),
    "Confidit": (6000.0, 6000.0, 800.0, 1500.0),
}


def played(counts: Counts, tasks: tuple[str, ...], noises: tuple[float, ...] = (0.0,), **more: Any) -> Answers:
    found = []
    for task in tasks:
        for noise in noises:
            for name, (start, later, explored, end) in counts.items():
                grow = more.get("grow", 0.0) * noise
                wrong = np.array([start, *[later] * (EPOCHS - 1)]) * (1.0 + grow)
                seen = np.linspace(explored, end, EPOCHS) * (1.0 + grow)
                if name == "Confidit" and task.startswith("amazon"):
                    seen = seen * more.get("amazon", 1.0)
                values = {
                    "epoch_mistakes": wrong + 5.0 * JITTER[:, None],
                    "epoch_greedy_mistakes": wrong + 5.0 * JITTER[:, None],
                    "epoch_explored": np.maximum(seen + 3.0 * (explored > 0) * JITTER[:, None], 0.0),
                    "value": 0.06,
                    "train": 16_000,
                    "classes": 20,
                    "documents": 18_828,
                }
                settings = {"task": task, "learner": name, "noise": noise, "source": "newsgroups"}
                found.append(Answer(settings, values))
    return Answers(found)


@pytest.mark.parametrize(
    "name",
    [
        "arow-fewest-mistakes",
        "banditron-most-mistakes",
        "banditron-same-rate",
        "banditron-explores-evenly",
        "explores-less",
        "explores-more-on-amazon",
        "exploration-falls",
    ],
)
def test_claims_of_the_clean_curves(name: str) -> None:
    good = played(LIKE_THE_PAPER, FIRST, amazon=5.0), played(LIKE_THE_PAPER, SECOND, amazon=5.0)
    bad = played(OPPOSITE, FIRST, amazon=0.1), played(OPPOSITE, SECOND, amazon=0.1)
    assert check(name, *good).verdict == "holds"
    assert check(name, *bad).verdict == "does not hold here"


def test_others_slow_down() -> None:
    assert check("others-slow-down", played(LIKE_THE_PAPER, FIRST)).verdict == "holds"
    assert check("others-slow-down", played(OPPOSITE, FIRST)).verdict == "does not hold here"


def test_no_clear_order() -> None:
    other = {**LIKE_THE_PAPER, "Confidit": (4000.0, 100.0, 0.0, 0.0)}
    mixed = played(LIKE_THE_PAPER, FIRST), played(other, SECOND)
    assert check("no-clear-order", *mixed).verdict == "holds"
    alike = played(LIKE_THE_PAPER, FIRST), played(LIKE_THE_PAPER, SECOND)
    assert check("no-clear-order", *alike).verdict == "does not hold here"


def test_claims_of_noise() -> None:
    rising = played(LIKE_THE_PAPER, FIRST, (0.1, 0.2, 0.3), grow=2.0)
    falling = played(OPPOSITE, FIRST, (0.1, 0.2, 0.3), grow=-2.0)
    assert check("noise-more-mistakes", rising).verdict == "holds"
    assert check("noise-more-mistakes", falling).verdict == "does not hold here"
    assert check("noise-explores-newsgroups", rising).verdict == "holds"
    assert check("noise-explores-newsgroups", falling).verdict == "does not hold here"
    clean = played(LIKE_THE_PAPER, FIRST)
    assert check("noise-explores-more", rising, clean).verdict == "holds"
    assert check("noise-explores-more", falling, played(OPPOSITE, FIRST, grow=0.0)).verdict == "does not hold here"


def test_noise_keeps_the_order_unless_two_change_places() -> None:
    same = played(LIKE_THE_PAPER, FIRST, (0.1, 0.2, 0.3), grow=1.0)
    assert check("noise-keeps-order", same).verdict == "holds"
    swapped = Answers([*played(LIKE_THE_PAPER, FIRST, (0.1, 0.2)), *played(OPPOSITE, FIRST, (0.3,))])
    found = check("noise-keeps-order", swapped)
    assert found.verdict == "does not hold here"
    assert "AROW and Banditron" in found.effect


def test_noise_mistakes_in_numbers() -> None:
    def counted(second: float, ours: float) -> Answers:
        made = []
        for noise, a, b in zip((0.1, 0.2, 0.3), (8000, 9000, 10_000), (10_000, 11_500, 12_000), strict=True):
            rows = {**LIKE_THE_PAPER, "2nd-order": (second * a, 1.0, 0.0, 0.0), "Confidit": (ours * b, 1.0, 0.0, 0.0)}
            made += list(played(rows, ("newsgroups",), (noise,)))
        return Answers(made)

    assert check("noise-mistakes-newsgroups", counted(1.0, 1.05)).verdict == "holds"
    assert check("noise-mistakes-newsgroups", counted(1.0, 0.7)).verdict == "does not hold here"
    few = Answers(Answer(a.settings, {**a.values, "documents": 1200}) for a in counted(1.0, 1.0))
    assert check("noise-mistakes-newsgroups", few).verdict == "cannot be tested here"


def test_flat_and_steady() -> None:
    noisy = {name: (first, 0.5 * first, a, b) for name, (first, _, a, b) in LIKE_THE_PAPER.items()}
    answers = Answers([*played(LIKE_THE_PAPER, FIRST), *played(noisy, FIRST, (0.2, 0.3))])
    assert check("flat-without-noise", answers).verdict == "holds"
    assert check("steady-in-noise", answers).verdict == "holds"
    opposite = Answers([*played(OPPOSITE, FIRST), *played(OPPOSITE, FIRST, (0.2, 0.3))])
    assert check("flat-without-noise", opposite).verdict == "does not hold here"
    for answer in opposite:
        answer["epoch_mistakes"][:, 7:] = 1.0
    assert check("steady-in-noise", opposite).verdict == "does not hold here"


def versions(counts: dict[int, float], spread: float = 10.0, **features: Any) -> Answers:
    rise = np.linspace(0.0, spread, 7)
    return Answers(
        Answer(
            {"version": v, "features": "normal", "normalize": False, **features},
            {"mistakes": counts[v] + JITTER[:, None] + rise},
        )
        for v in VERSIONS
    )


PAPER_VERSIONS = {1: 650.0, 2: 300.0, 3: 500.0, 4: 590.0, 5: 400.0}
OTHER_VERSIONS = {1: 300.0, 2: 620.0, 3: 590.0, 4: 400.0, 5: 500.0}


@pytest.mark.parametrize(
    "name",
    [
        "algorithm-1-worst",
        "algorithm-1-above-600",
        "simple-width-with-projection",
        "projection-hurts",
        "theory-too-pessimistic",
        "theory-without-projection",
        "full-simple-best",
    ],
)
def test_claims_of_the_versions(name: str) -> None:
    assert check(name, versions(PAPER_VERSIONS)).verdict == "holds"
    assert check(name, versions(OTHER_VERSIONS)).verdict == "does not hold here"


def test_diagonal_and_robust() -> None:
    correlated = versions(PAPER_VERSIONS, features="correlated")
    assert check("diagonal-costs-mistakes", versions(PAPER_VERSIONS), correlated).verdict == "holds"
    level = versions({**PAPER_VERSIONS, 5: 300.0})
    assert "level with" in check("full-simple-best", level).reason
    assert check("diagonal-costs-mistakes", level, correlated).verdict == "does not hold here"
    assert check("robust-to-parameters", versions(PAPER_VERSIONS)).verdict == "holds"
    assert check("robust-to-parameters", versions(PAPER_VERSIONS, spread=200.0)).verdict == "does not hold here"


def spoken(levels: dict[str, tuple[float, float]], top: float, *, peak: bool = False) -> Answers:
    """Accuracy from the first to the last size; with a peak, the last size is two points below the one before."""
    found = []
    for task, about in SPEECH.items():
        sizes = [*about.sizes, about.sizes[-1] * 2]
        for name, (start, end) in levels.items():
            line = np.linspace(start, end, len(sizes)) + (1.0 if task.endswith("w7") else 0.0)
            line[-1] -= 9.0 * (peak and name != "AROW")
            settings = {"task": task, "learner": name, "sizes": list(about.sizes)}
            found.append(Answer(settings, {"accuracy": line + 0.05 * JITTER[:6, None]}))
        rows = {"accuracy": top + 0.05 * JITTER[:6], "size": np.array([sizes[-1]])}
        found.append(Answer({"task": task}, rows))
    return Answers(found)


UP = {
    "AROW": (89.5, 90.0),
    "2nd-order": (87.0, 88.9),
    "Confidit": (89.0, 89.4),
    "Perceptron": (86.0, 87.0),
    "Banditron": (77.0, 85.0),
}
DOWN = {
    "AROW": (70.0, 60.0),
    "2nd-order": (71.0, 61.0),
    "Confidit": (72.0, 62.0),
    "Perceptron": (73.0, 64.0),
    "Banditron": (80.0, 65.0),
}
ORDERED = {**UP, "2nd-order": (89.2, 89.6)}


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("vowels-arow-best", UP),
        ("vowels-above-banditron", UP),
        ("vowels-1000-examples", UP),
        ("vowels-confidit-second", UP),
        ("vowels-more-data", UP),
        ("vowels-banditron-gains-most", UP),
        ("vowels-order-of-eight", ORDERED),
    ],
)
def test_claims_of_the_vowels(name: str, good: dict[str, tuple[float, float]]) -> None:
    assert check(name, spoken(good, 90.5)).verdict == "holds"
    assert check(name, spoken(DOWN, 90.5)).verdict == "does not hold here"


def test_skyline_frames_and_overfitting() -> None:
    assert check("vowels-skyline-of-eight", spoken(UP, 95.0)).verdict == "holds"
    assert check("vowels-skyline-of-eight", spoken(UP, 80.0)).verdict == "does not hold here"
    assert check("vowels-frames-help-banditron", spoken(UP, 90.5)).verdict == "holds"
    narrow = Answers(answer for answer in spoken(UP, 90.5) if not str(answer.settings["task"]).endswith("w7"))
    assert check("vowels-frames-help-banditron", narrow).verdict == "cannot be tested here"
    assert check("vowels-overfit", spoken(UP, 90.5, peak=True)).verdict == "holds"
    assert check("vowels-overfit", spoken(UP, 90.5)).verdict == "does not hold here"


def test_every_claim_is_checked_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    ours = [name.removeprefix("confidit/") for name in claims if name.startswith("confidit/")]
    assert len(ours) > 40
    assert [name for name in ours if f'"{name}"' not in text] == []
