"""Laws of a learner's class: its arguments, its settings, its versions, its card."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from smidgen.errors import NoWeights, SmidgenError
from smidgen.learners import Learner, cards, learners
from smidgen.settings import defaults_at
from smidgen.testing.case import Case, decisions_of, snapshot
from smidgen.testing.laws import hold, refused


def the_class_is_registered(case: Case) -> None:
    """Under its name, with its card."""
    hold(learners.get(case.name) is case.cls, f"put @smidgen.register(Card(…)) on {case.name}")
    hold(cards.get(case.name) is case.cls.card, "its card is not the one that it was registered with")


def arguments_are_keywords(case: Case) -> None:
    """All arguments are keywords, and ``seed`` is one of them, 0 if it is left out."""
    parameters = list(inspect.signature(case.cls).parameters.values())
    stray = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    hold(not stray, f"the arguments {', '.join(stray)} can be given without their names: put a * before them")
    hold(any(p.name == "seed" and p.default == 0 for p in parameters), "there is no argument seed=0")


def a_bad_seed_is_refused(case: Case) -> None:
    """A seed is a whole number of at most 64 bits."""
    bad: tuple[Any, ...] = (-1, 2**64, 1.5, "0", True, None)
    for seed in bad:
        refused(f"the seed {seed!r}", partial(case.make, seed=seed))


def params_make_a_twin(case: Case) -> None:
    """``type(learner)(**learner.params)`` has the same settings."""
    learner = case.make(seed=3)
    twin = type(learner)(**learner.params)
    hold(repr(twin) == repr(learner), f"the twin is {twin!r} and the learner {learner!r}")
    hold(twin._settings == learner._settings, "the twin has other settings")


def settings_are_recorded(case: Case) -> None:
    """Learners of one fingerprint are twins: an argument that makes a difference is in ``params``, and is saved."""
    plain = case.make()
    for name, value in _others(case):
        try:
            changed = case.make(**{name: value})
        except SmidgenError:
            continue
        again = Learner.from_bytes(changed.to_bytes())
        hold(again._settings == changed._settings, f"{name}={value!r} is lost when the learner is saved")
        if changed._settings == plain._settings:
            contexts = case.form.contexts(20, 20)
            logs = [decisions_of(case.play(learner, contexts)) for learner in (case.make(), changed)]
            hold(
                logs[0] == logs[1] and snapshot(changed) == _after(case, contexts),
                f"{name}={value!r} makes a difference, and no setting says so: hand it on in params",
            )


def older_versions_can_be_read(case: Case) -> None:
    """Every older number of the settings has its defaults, every older form of the arrays a way to that of today."""
    cls = case.cls
    for number in range(1, cls.settings_version):
        hold(number in cls.older_settings, f"settings_version is {cls.settings_version} and {number} is not known")
        old = cls.at(number, **{**cls.card.example, **case.settings})
        again = Learner.from_bytes(old.to_bytes())
        kept = (again.built_at, again._settings) == (number, old._settings)
        hold(kept, f"a learner of the settings {number} is another after it was saved")
    for number in range(1, cls.state_version):
        hold(
            number in cls.older_state,
            f"state_version is {cls.state_version} and older_state does not say how to read {number}",
        )
    for name, parameter in inspect.signature(cls).parameters.items():
        known = name in defaults_at(cls, cls.settings_version) or parameter.default is inspect.Parameter.empty
        hold(known, f"the default of {name} is not known")


def weights_are_a_copy(case: Case) -> None:
    """Whoever writes to ``weights`` writes to his own copy; a learner without any says what to look at instead."""
    learner = case.make()
    case.play(learner, case.form.contexts(16, 5))
    try:
        before = learner.weights
    except NoWeights as error:
        hold(error.hint, "a learner without weights says what to look at instead")
        return
    kept, state = before.copy(), snapshot(learner)
    before[...] = 99.0
    hold(np.array_equal(learner.weights, kept), "writing to weights writes to the learner")
    hold(snapshot(learner) == state, "writing to weights has changed what the learner remembers")


def the_card_tells_the_size(case: Case) -> None:
    """`Card.size` is no less than what a fresh learner holds: the service goes by it."""
    learner = case.make()
    held = sum(array.nbytes for array in learner._state().values())
    told = case.cls.card.size({**defaults_at(case.cls, case.cls.settings_version), **learner.params})
    hold(told + 256 >= held, f"the card tells {told} bytes for {learner!r}, which holds {held}")


def _after(case: Case, contexts: list[Any]) -> dict[str, Any]:
    learner = case.make()
    case.play(learner, contexts)
    return snapshot(learner)


def _others(case: Case) -> list[tuple[str, Any]]:
    """Other values for the arguments that are numbers or flags and have a default."""
    found: list[tuple[str, Any]] = []
    given = {**case.cls.card.example, **case.settings}
    for name, parameter in inspect.signature(case.cls).parameters.items():
        value = given.get(name, parameter.default)
        if isinstance(value, bool):
            found.append((name, not value))
        elif isinstance(value, int):
            found.append((name, value + 1))
        elif isinstance(value, float):
            found += [(name, other) for other in (value / 2, value / 2 + 0.25) if other != value]
    return [(name, value) for name, value in found if name not in ("dim", "n_classes")]
