"""The claims that compare web search with movies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers import coactive
from smidgen_papers.catalogue import claims, study
from smidgen_papers.part import Answer, Answers, Place, Run

assert coactive.__doc__  # importing it fills the catalogue
RUN = Run(Place(None, Path("/nowhere")))


def answers(need: str, *, alpha: float = 2.0, curve: float = 1.5, svm: float = 1.2) -> Answers:
    """A study in which α = 0.1 has ``alpha`` times the regret, a decade of γ ``curve`` times, the SVM ``svm`` times."""

    def values(settings: dict[str, Any]) -> dict[str, Any]:
        t = np.unique(np.append(np.geomspace(1, settings["rounds"], 20).astype(int), [settings["rounds"] // 2]))
        learner, user = settings["learner"], settings["user"]
        level = alpha ** -np.log10(user.get("strict", 1.0))
        level *= curve ** abs(np.log10(learner.get("gamma", 1.0)))
        level *= svm if learner["name"] == "RankingSVM" else 1.0
        people = 1.0 + 0.05 * np.sin(np.arange(settings["first"], settings["first"] + settings["count"]))
        regret = level * people[:, None] * t**-0.5
        return {
            "t": t,
            **dict.fromkeys(("regret", "loss", "slack"), regret),
            "norm": people,
            "random": people if need.endswith("movies") else 1.0,
            "seconds": 1.0 if need.endswith("movies") else people,
        }

    parts = [part for part in study(need).plan(RUN) if "learner" in part.settings]
    return Answers(Answer(part.settings, values(part.settings)) for part in parts)


@pytest.mark.parametrize(
    ("name", "on_web", "on_movies", "verdict"),
    [
        ("alpha-matters-less-on-web", {"alpha": 1.2}, {"alpha": 3.0}, "holds"),
        ("alpha-matters-less-on-web", {"alpha": 3.0}, {"alpha": 1.2}, "does not hold here"),
        ("gamma-broader-on-web", {"curve": 1.5}, {"curve": 4.0}, "holds"),
        ("gamma-broader-on-web", {"curve": 4.0}, {"curve": 1.5}, "does not hold here"),
        ("gamma-broader-on-web", {"curve": 4.0}, {"curve": 4.0}, "cannot be tested here"),
        ("on-par-with-svm", {"svm": 1.0}, {"svm": 2.0}, "holds"),
        ("on-par-with-svm", {"svm": 1.0}, {"svm": 0.5}, "does not hold here"),
    ],
)
def test_claims_compare_the_two_tasks(
    name: str, on_web: dict[str, float], on_movies: dict[str, float], verdict: str
) -> None:
    claim = claims[f"coactive/{name}"]
    listed = [answers(need, **(on_web if need.endswith(":web") else on_movies)) for need in claim.needs]
    found = claim.check(RUN, *listed)
    assert found.verdict == verdict, found
