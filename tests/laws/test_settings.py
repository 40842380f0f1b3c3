"""Settings at the ends of what numbers can say are refused at once, or make a learner that works.

A learner that is made and then refuses every row is deaf, and one whose state is infinite is lost: both are found in
production. A number of features that is made first and refused later is memory and time for nothing.
"""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from laws.loops import CASES
from smidgen import Ball, Box, Knobs, L1Ball, Simplex, Vectorizer, knobs, optim
from smidgen.errors import SmidgenError
from smidgen.learners import cards, learners
from smidgen.testing import Case
from smidgen.testing.refusal_laws import check_finite

#: Numbers from the least to the largest, and the neighbors of round ones.
FLOATS = (
    *(5e-324, 1e-320, 2.3e-308, 1e-301, 1e-300, 1e-200, 1e-154, 1e-101, 1e-100, 1e-50, 1e-30, 1e-12),
    *(1e12, 1e30, 1e50, 1e100, 1.1e100, 1e154, 1e200, 1e300, 1.7e308),
    *(math.nextafter(-1.0, 0.0), math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)),
)
#: Whole numbers that are sizes nobody has, or that overflow what holds numbers.
INTS = (10**9, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63, 2**64, 2**200, -1, -(2**63), 10**5000)
#: Seconds of a processor for one constructor, and rounds that are played.
TIME, ROUNDS = 1.0, 10
TARGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (cls, dict(cards[name].example)) for name, cls in learners.items()},
    "Ball": (Ball, {"dim": 2, "radius": 1.0}),
    "Box": (Box, {"low": [0.0, 0.0], "high": [1.0, 1.0]}),
    "Simplex": (Simplex, {"dim": 3}),
    "L1Ball": (L1Ball, {"dim": 2, "radius": 1.0}),
    "Vectorizer": (Vectorizer, {"dim": 16}),
    "Additive": (optim.Additive, {"dim": 2}),
    "Batched": (optim.Batched, {"rule": optim.Additive(dim=2), "size": 2}),
    "Exponentiated": (optim.Exponentiated, {"dim": 2, "bound": 1.0}),
    "Gradient": (optim.Gradient, {"space": Ball(dim=2), "scale": 1.0}),
    "Newton": (optim.Newton, {"space": Ball(dim=2)}),
    "Integer": (knobs.Integer, {"low": 1, "high": 9}),
    "Linear": (knobs.Linear, {"low": 1.0, "high": 9.0}),
    "Log": (knobs.Log, {"low": 1.0, "high": 9.0}),
}
#: Arguments of which the size is judged elsewhere, and the least share, which must fit the number of candidates.
NOT_ALONE = ("dim", "n_classes", "seed", "min_share")
#: The spaces that have a number of dimensions.
SPACES: tuple[Any, ...] = (Ball, Simplex, L1Ball)


def numbers_of(case: Case) -> Iterator[tuple[str, Any]]:
    """The arguments of a learner that are numbers, or may be."""
    given = {**case.cls.card.example, **case.settings}
    for name, parameter in inspect.signature(case.cls).parameters.items():
        value = given.get(name, parameter.default)
        number = value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        if (number or name in ("eta", "beta")) and name not in NOT_ALONE:
            yield name, value


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_learner_of_extreme_numbers_is_refused_or_hears(case: Case) -> None:
    given, contexts = {**case.cls.card.example, **case.settings}, case.form.contexts(1, ROUNDS)
    for name, _ in numbers_of(case):
        for value in FLOATS:
            try:
                learner = case.cls(**{**given, name: value})
            except SmidgenError:
                continue
            what = f"{name}={value!r}"
            check_finite(learner, None, what)
            for context in contexts:
                try:
                    decision = learner.decide(context)
                    check_finite(learner, decision, what)
                    if case.form.may_learn(learner, decision):
                        learner.learn(decision, case.form.feedback(learner, decision, 1))
                except SmidgenError as error:
                    raise AssertionError(f"{what} is accepted, and then an ordinary row is refused: {error}") from error
                check_finite(learner, None, what)


@pytest.mark.parametrize("name", TARGETS)
def test_extreme_numbers_are_refused_in_our_words(name: str) -> None:
    make, usual = TARGETS[name]
    for argument in inspect.signature(make).parameters:
        for value in (*FLOATS, *INTS, float(2**60)):
            began, said = time.process_time(), "argument"
            try:
                make(**{**usual, argument: value})
            except SmidgenError as error:
                said += str(error)
            except TypeError as error:
                said = str(error)
            assert "argument" in said, (argument, value)
            assert len(said) < 1_000
            assert time.process_time() - began < TIME, (argument, value)


def test_tuners_of_spaces_that_nobody_holds_are_refused() -> None:
    for name in (name for name, card in cards.items() if "space" in card.example):
        for make in SPACES:
            for dim in INTS:
                with pytest.raises(SmidgenError, match="dim"):
                    learners[name](**{**cards[name].example, "space": make(dim=dim)})


def test_knobs_of_every_size_are_refused_or_give_values() -> None:
    pairs = ((5e-324, 1.7e308), (-1.7e308, 1.7e308), (0.0, 5e-324), (0, 2**70), (1e-320, 1e-310))
    for low, high in (*pairs, (1e-320, 1.0), (1e-200, 1e200), (1e-300, 1.0), (1e-100, 1e100)):
        for kind in (knobs.Linear, knobs.Log, knobs.Integer):
            try:
                space = Knobs({"one": kind(low, high)})
            except SmidgenError:
                continue
            for share in (0.0, 0.3, 1.0):
                value = space.point([share])["one"]
                assert low <= value <= high
                again = space.shares({"one": value})[0]
                assert 0.0 <= again <= 1.0, "a tuner finds the point that it played"


#: Makes everything of every size in a process that may have 256 MB more than it has.
PROGRAM = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from laws.test_settings import INTS, TARGETS
import inspect
from smidgen.errors import SmidgenError
now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (256 << 20), now + (256 << 20)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ran_out = []
for name, (make, usual) in TARGETS.items():
    for argument in inspect.signature(make).parameters:
        for value in INTS:
            try:
                make(**{**usual, argument: value})
            except SmidgenError as error:
                if "cannot hold" in str(error) and "emory" in str(error):
                    ran_out.append((name, argument, value))
            except TypeError:
                pass
print(ran_out, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_sizes_are_judged_without_memory() -> None:
    tests = str(next(path for path in sys.path if path.endswith("tests")))
    done = subprocess.run([sys.executable, "-c", PROGRAM, tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    ran_out, megabytes = done.stdout.rsplit(" ", 1)
    assert ran_out == "[]"
    assert int(megabytes) < 64
