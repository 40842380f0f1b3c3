"""The learners of the papers' experiments, by name.

Parts name their learner in their settings. The list is here, and not that of all learners, so that a part's version
covers what it may run, and another learner changes none.
"""

from __future__ import annotations

from typing import Any

from smidgen.learners.coactive import (
    BatchPreferencePerceptron,
    ConvexPreferencePerceptron,
    DuelingBandit,
    ExponentiatedPreferencePerceptron,
    PreferencePerceptron,
    RankingSVM,
    SecondOrderPreferencePerceptron,
)

ALGORITHMS: dict[str, Any] = {
    "PreferencePerceptron": PreferencePerceptron,
    "BatchPreferencePerceptron": BatchPreferencePerceptron,
    "ExponentiatedPreferencePerceptron": ExponentiatedPreferencePerceptron,
    "ConvexPreferencePerceptron": ConvexPreferencePerceptron,
    "SecondOrderPreferencePerceptron": SecondOrderPreferencePerceptron,
    "RankingSVM": RankingSVM,
    "DuelingBandit": DuelingBandit,
}
