"""Notebook output: foreign text stays text, there is no script, and the size is bounded."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import markup

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\"&"


def assert_harmless(found: str) -> None:
    assert "<script" not in found.lower()
    assert "<img" not in found.lower()
    for tag in re.findall(r"<[^>]*>", found):
        assert re.fullmatch(
            r"</?(div|strong|table|thead|tbody|tr|th|td|code|svg|polyline)( [a-z-]+=(\"[^\"<>]*\"|'[^'<>]*'))* ?/?>",
            tag,
        ), tag


@pytest.mark.parametrize(
    "found",
    [
        markup.pairs(EVIL, {EVIL: EVIL, "list": [EVIL], "array": np.array([EVIL])}),
        markup.table(EVIL, [EVIL, "b"], [[EVIL, EVIL]]),
        markup.sparkline([1.0, 2.0], EVIL),
    ],
    ids=["pairs", "table", "sparkline"],
)
def test_text_of_others_is_never_markup(found: str) -> None:
    assert_harmless(found)
    assert "&lt;script&gt;" in found


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, list(range(10**6)), np.zeros((1000, 1000)), {i: i for i in range(10**5)}, 10**3000, object()],
    ids=["text", "list", "array", "mapping", "number", "object"],
)
def test_a_value_is_shown_in_few_characters(value: Any) -> None:
    assert 0 < len(markup.short(value)) <= markup.LONGEST


def test_a_curve_is_drawn_where_it_is_finite() -> None:
    drawn = markup.sparkline([np.nan, 1.0, 3.0, np.inf, 2.0], "a curve")
    (points,) = re.findall(r'points="([^"]*)"', drawn)
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert heights[1] < heights[2] < heights[0]
    assert markup.sparkline([1.0], "a point") == markup.sparkline([], "nothing") == ""
    assert len(markup.sparkline(np.arange(10**6), "long")) < 10_000
    assert "nan" not in markup.sparkline([2.0] * 5, "flat")


def test_learners_and_decisions_show_themselves() -> None:
    learner = smidgen.Confidit(dim=3, labels=[EVIL, "b"])
    decision = learner.decide(np.ones(3))
    learner.learn(decision, True)
    found = learner._repr_html_()
    assert_harmless(found)
    assert "Confidit" in found
    assert "rounds learnt" in found
    found = decision._repr_html_()
    assert_harmless(found)
    assert "Decision 1 of Confidit" in found
    assert decision.id in found
    assert "perturbation" not in found, "what is not known is left out"


def test_a_large_decision_is_shown_shortly() -> None:
    learner = smidgen.PreferencePerceptron(dim=50)
    decision = learner.decide(smidgen.Ranking(np.random.default_rng(0).normal(size=(5000, 50))))
    assert len(decision._repr_html_()) < 5000
