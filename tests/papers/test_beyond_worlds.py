"""Change, delay, weak context and peeking: their worlds, a few quick parts of each, and their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers.beyond import change, one_number, peeking, slots, weak_context
from smidgen_papers.catalogue import chosen
from smidgen_papers.part import Answer, Answers, Place, Run

PLACE = Place(None, Path())
RUN = Run(PLACE, quick=True)


def answered(parts: Any) -> Answers:
    return Answers(Answer(one.settings, one.run(PLACE)) for one in parts)


def test_a_jump_changes_the_second_half_only() -> None:
    still, jump = (change._labels(world, 400, 1) for world in ("still", "jump"))
    np.testing.assert_array_equal(still[0][:200], jump[0][:200])
    assert not np.array_equal(still[0][200:], jump[0][200:])
    _, means = change._arms("another", 300, 1)
    assert means[99].argmax() == 0
    assert means[101].argmax() == 2


@pytest.mark.parametrize("loop", ["label", "filter"])
def test_the_tables_of_change(loop: str) -> None:
    parts = [one for one in change.plan(RUN) if one.settings["loop"] == loop]
    tables = {table.columns[0]: table for table in change.gather(RUN, answered(parts)).tables}
    assert [row[0] for row in tables[loop].rows] == list(change.CONTENDERS[loop])
    assert len(tables[loop].rows[0]) == 1 + len(change.WORLDS[loop])


def test_regret_of_choices() -> None:
    answer = change.play(PLACE, loop="choose", world="still", contender="recommended, records", rounds=120, seed=2)
    assert 0.0 < answer["first"] < 0.6


def test_late_answers_cost_more() -> None:
    parts = [one for one in change.plan_delay(RUN) if one.settings["contender"] == "recommended"]
    answers = answered(parts)
    at_once, late = (answers.where(delay=delay) for delay in (0, 100))
    assert [each["all"] for each in at_once] < [each["all"] for each in late]


def test_honest_intervals_miss_less_than_normal_ones() -> None:
    [row, *_] = peeking.gather(RUN, answered(peeking.plan(RUN)[:1] * len(peeking.SCENARIOS))).tables[0].rows
    assert row[1].endswith("of 30")
    assert int(row[4].split()[0]) > int(row[1].split()[0])


def test_visitors_are_shown_films() -> None:
    answers = answered(one for one in weak_context.plan(RUN) if not one.settings["contender"].startswith("Vowpal"))
    [table] = weak_context.gather(RUN, answers).tables
    assert len(table.rows) == 4
    assert all(0.2 < float(row[1]) < 0.7 for row in table.rows)


def test_one_number_follows_its_context() -> None:
    parts = [one for one in one_number.plan(RUN) if one.settings["contender"] == one_number.OURS]
    [table] = one_number.gather(RUN, answered(parts)).tables
    assert len(table.rows[0]) == 1 + len(one_number.WORLDS)
    low = np.array([-9.0, 0.0])
    assert one_number.loss("quadratic", 0.15, low) < 1e-6
    assert one_number.loss("price", 0.6, low) > one_number.loss("price", 0.15, low)
    assert one_number.loss("threshold", 0.14, low) == 0.9


def test_they_are_experiments() -> None:
    names = ["beyond/change", "beyond/delay", "beyond/one-number", "beyond/peeking", "beyond/weak-context"]
    assert [figure.id for figure in chosen(names)] == names


def test_one_page_or_a_model_per_slot() -> None:
    shared, less, other, apart = (slots.tastes(world, 5, 3, 1) for world in slots.WORLDS)
    assert (shared[0] == shared[2]).all()
    np.testing.assert_allclose(less[1], slots.SEEN[1] * less[0])
    np.testing.assert_allclose(other[0] - other[1], np.broadcast_to((other[0] - other[1])[:1], (3, 5)))
    assert not np.allclose(apart[0], apart[1])
    parts = [one for one in slots.plan(RUN) if one.settings["world"] == "shared" and one.settings["items"] == 6]
    assert all(0.2 < one.run(PLACE)["all"] < 0.9 for one in parts)
