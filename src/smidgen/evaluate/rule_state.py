"""Between coactive learners and their compiled rules: what they are set to and remember, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.rule_steps import (
    ADDITIVE,
    COUNTS,
    DECIDED,
    DUEL,
    EXPONENTIATED,
    GRADIENT,
    NEWTON,
    RETRAINED,
    SILENT,
    STEPS,
    WAITING,
    Memory,
    Settings,
)
from smidgen.geometry import Ball
from smidgen.geometry.symmetric import mirror, shrink
from smidgen.learners.coactive import Coactive, DuelingBandit
from smidgen.learners.coactive.ranking_svm import Retrained
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule
from smidgen.randomness import COIN, DIRECTION, stream_key


def settings_of(learner: Any) -> Settings:
    """What a learner is set to, or a refusal if its rounds are not compiled."""
    if isinstance(learner, DuelingBandit):
        p = learner.params
        keys = [stream_key(p["seed"], stream) for stream in (DIRECTION, COIN)]
        return Settings(DUEL, scale=p["step"], explore=p["explore"], directions=keys[0], coins=keys[1])
    if not isinstance(learner, Coactive):
        raise InvalidArgument(f"the learner is a {type(learner).__name__}", "give one of the coactive loop")
    rule = learner.rule
    if isinstance(rule, Batched):
        return _rule_settings(rule.rule)._replace(batch=rule.size)
    return _rule_settings(rule)


def _rule_settings(rule: Rule) -> Settings:
    if type(rule) is Additive:
        return Settings(ADDITIVE)
    if type(rule) is Exponentiated:
        return Settings(EXPONENTIATED, scale=rule.bound, horizon=rule.horizon or 0, signed=rule.signed)
    if type(rule) is Gradient and type(rule.space) is Ball:
        return Settings(GRADIENT, scale=rule.scale, radius=rule.space.radius)
    if type(rule) is Newton and type(rule.space) is Ball:
        return Settings(NEWTON, scale=rule.scale, radius=rule.space.radius, gamma=rule.gamma)
    if isinstance(rule, Retrained):
        return Settings(RETRAINED)
    raise InvalidArgument(f"the rule {rule!r} is not compiled", "play it with smidgen.simulate")


def memory_of(learner: Coactive | DuelingBandit) -> Memory:
    """A copy of what a learner remembers."""
    state = learner._state()

    def copied(name: str, empty: tuple[int, ...] = (0,)) -> FloatArray:
        return np.array(state[name], order="C") if name in state else np.empty(empty)

    counts, inverse = np.zeros(COUNTS, np.int64), copied("inverse", (0, 0))
    counts[DECIDED] = learner.decisions
    for place, name in ((STEPS, "t"), (WAITING, "batch_waiting"), (SILENT, "uninformative")):
        counts[place] = int(state.get(name, 0))
    return Memory(
        w=learner.weights,
        theta=copied("theta"),
        inverse=inverse,
        waiting=np.zeros(len(inverse)),
        total=copied("batch_sum"),
        pairs=np.empty((0, learner.dim)),
        counts=counts,
    )


def hand_back(learner: Coactive | DuelingBandit, m: Memory) -> None:
    """Leave a learner as it would be if it had learnt the rounds by itself."""
    shrink(m.inverse, m.waiting)
    mirror(m.inverse)
    played = {
        "w": m.w,
        "theta": m.theta,
        "inverse": m.inverse,
        "batch_sum": m.total,
        "t": np.array(m.counts[STEPS]),
        "batch_waiting": np.array(m.counts[WAITING]),
        "uninformative": np.array(m.counts[SILENT]),
    }
    learner._restore({name: played.get(name, old) for name, old in learner._state().items()})
    learner._learnt.add_range(learner.decisions + 1, int(m.counts[DECIDED]) + 1)
    learner._decided = int(m.counts[DECIDED])


def is_finite(m: Memory) -> bool:
    """Whether sums have stayed finite: those that overflow once never come back."""
    return all(bool(np.isfinite(array).all()) for array in (m.w, m.theta, m.total))
