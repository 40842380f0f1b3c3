"""Laws of growth: a class may gain arguments, change defaults and arrays, and what was written before still holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import smidgen
from laws.loops import CASES
from smidgen import Decision, Learner
from smidgen.errors import InvalidArgument, NotSaveable
from smidgen.learners import cards, learners
from smidgen.learners.base import State
from smidgen.settings import REQUIRED, VersionedSettings
from smidgen.testing import Case
from smidgen.testing.laws import snapshot

every_writable = pytest.mark.parametrize("case", CASES, ids=str)
every_learner = pytest.mark.parametrize("name", sorted(cards))
Log = list[tuple[bytes, Any]]


class Old:
    """Data of a former version of a learner: a log, its result, and a saved learner from the middle."""

    def __init__(self, case: Case, **changes: Any) -> None:
        self.case, self.contexts = case, case.form.contexts(21, 14)
        learner = case.make(**changes)
        first = case.play(learner, self.contexts[:7])
        self.saved = learner.to_bytes()
        self.log: Log = [(d.to_bytes(), feedback) for d, feedback in first + case.play(learner, self.contexts[7:])]
        self.settings, self.end = learner._settings, snapshot(learner)
        self.briefs = [learner.to_compact(Decision.from_bytes(content)) for content, _ in self.log]

    def assert_replayed_by(self, learner: Learner) -> None:
        assert learner._settings == self.settings
        for (content, feedback), brief in zip(self.log, self.briefs, strict=True):
            decision = Decision.from_bytes(content)
            assert learner.from_compact(brief) == decision
            learner.learn(decision, feedback)
        assert {**snapshot(learner), "decided": 14} == self.end

    def assert_continued_by(self, learner: Learner) -> None:
        assert learner._settings == self.settings
        self.case.play(learner, self.contexts[7:])
        assert snapshot(learner) == self.end


def with_init(monkeypatch: pytest.MonkeyPatch, cls: type, defaults: Mapping[str, Any], added: bool) -> None:
    """Give a class's constructor other defaults, or more arguments, which it then lists among its own."""
    init, base = cls.__init__, Learner.__init__
    parameters = dict(inspect.signature(init).parameters)
    for name, default in defaults.items():
        parameters[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)

    def grown(self: Any, **arguments: Any) -> None:
        given = {**defaults, **arguments}
        self.options = {name: given.pop(name) for name in defaults} if added else {}
        init(self, **given)

    def listing(self: Learner, *, params: Mapping[str, Any], seed: int) -> None:
        options = self.options if type(self) is cls and added else {}
        base(self, params={**params, **options}, seed=seed)

    monkeypatch.setattr(grown, "__signature__", inspect.Signature(list(parameters.values())), raising=False)
    monkeypatch.setattr(cls, "__init__", grown)
    monkeypatch.setattr(Learner, "__init__", listing)
    if not issubclass(cls, Learner):
        record: Callable[[Any], dict[str, Any]] = cls.to_record
        monkeypatch.setattr(cls, "to_record", lambda self: {**record(self), **self.options})


@every_writable
def test_an_argument_added_later_changes_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Old(case)
    with_init(monkeypatch, learners[case.name], {"courage": 0.25}, added=True)
    assert case.make().params["courage"] == 0.25
    old.assert_replayed_by(case.make())
    old.assert_replayed_by(case.make(courage=0.25))
    old.assert_continued_by(Learner.from_bytes(old.saved))
    asked = case.make(courage=1)
    assert asked._settings == case.make(courage=1.0)._settings != old.settings
    assert Learner.from_bytes(asked.to_bytes())._settings == asked._settings


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if any(isinstance(v, VersionedSettings) for v in case.make().params.values())],
    ids=str,
)
def test_an_argument_added_to_an_inner_class_changes_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Old(case)
    name, inner = next(
        (name, value) for name, value in case.make().params.items() if isinstance(value, VersionedSettings)
    )
    fields = inner.to_record()
    with_init(monkeypatch, type(inner), {"courage": 0.25}, added=True)
    again = type(inner)(**fields)
    assert again.to_record()["courage"] == 0.25
    old.assert_replayed_by(case.make(**{name: again}))
    old.assert_continued_by(Learner.from_bytes(old.saved))
    assert case.make(**{name: type(inner)(**fields, courage=0.5)})._settings != old.settings


@every_writable
def test_a_default_that_changes_leaves_the_old_ones_as_they_were(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    old, asked, cls = Old(case), Old(case, seed=5), learners[case.name]
    then = cls.settings_version
    with_init(monkeypatch, cls, {"seed": 5}, added=False)
    older = {number: {**defaults, "seed": 0} for number, defaults in {**cls.older_settings, then: {}}.items()}
    monkeypatch.setattr(cls, "settings_version", then + 1)
    monkeypatch.setattr(cls, "older_settings", older)
    saved = Learner.from_bytes(old.saved)
    assert (saved.built_at, saved.params["seed"]) == (then, 0)
    assert repr(saved).startswith(f"{case.name}.at({then}, ")
    again = Learner.from_bytes(saved.to_bytes())
    assert (again.built_at, again._settings, again.asked.keys()) == (then, saved._settings, saved.asked.keys())
    old.assert_continued_by(again)
    old.assert_replayed_by(saved.fresh())
    settings = {name: value for name, value in saved.asked.items() if name != "seed"}
    old.assert_replayed_by(cls.at(then, **settings))
    asked.assert_replayed_by(cls.at(then, **settings, seed=5))
    asked.assert_continued_by(Learner.from_bytes(asked.saved))
    new = case.make()
    assert (new.built_at, new.params["seed"]) == (then + 1, 5)
    assert new._settings not in (old.settings, asked.settings)
    assert Learner.from_bytes(new.to_bytes()).params["seed"] == 5


@every_writable
def test_older_arrays_are_read(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    old, cls = Old(case), learners[case.name]
    state, restore = cls._state, cls._restore

    def renamed(arrays: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        return {f"my_{name}": array for name, array in arrays.items()}, notes

    def doubled(arrays: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        return {name: np.stack([array, array]) for name, array in arrays.items()}, notes

    def take(self: Learner, arrays: Mapping[str, Any]) -> None:
        restore(self, {name.removeprefix("my_"): array[0].copy() for name, array in arrays.items()})

    monkeypatch.setattr(cls, "_state", lambda self: doubled(renamed(state(self), {})[0], {})[0])
    monkeypatch.setattr(cls, "_restore", take)
    monkeypatch.setattr(cls, "state_version", 3)
    if cls._check_state is not Learner._check_state:  # one that knows its arrays by their names
        monkeypatch.setattr(cls, "_check_state", lambda self, state: None)
    with pytest.raises(NotSaveable, match="version 1, which is no longer supported"):
        Learner.from_bytes(old.saved)
    monkeypatch.setattr(cls, "older_state", {1: renamed, 2: doubled})
    revived = Learner.from_bytes(old.saved)
    again = Learner.from_bytes(revived.to_bytes())
    assert snapshot(again) == snapshot(revived)
    case.play(again, old.contexts[7:])
    monkeypatch.setattr(cls, "_state", state)
    assert snapshot(again) == old.end


def test_the_arrays_of_an_inner_learner_have_their_own_version(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in CASES if case.name == "AppleTasting")
    old, cls = Old(case), smidgen.PerceptronFilter
    state, restore = cls._state, cls._restore

    def turned(arrays: State, notes: Mapping[str, Any]) -> tuple[State, Mapping[str, Any]]:
        return {"minus": -arrays["w"]}, notes

    monkeypatch.setattr(cls, "_state", lambda self: {"minus": -self._w})
    monkeypatch.setattr(cls, "_restore", lambda self, arrays: restore(self, {"w": -arrays["minus"]}))
    monkeypatch.setattr(cls, "state_version", 2)
    monkeypatch.setattr(cls, "older_state", {1: turned})
    revived = Learner.from_bytes(old.saved)
    again = Learner.from_bytes(revived.to_bytes())
    monkeypatch.setattr(cls, "_state", state)
    old.assert_continued_by(again)


@every_learner
def test_numbers_of_settings_that_are_not_known_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls, example = learners[name], cards[name].example
    now = cls.settings_version
    for version in (0, now + 1, -1, "1", 1.5, None):
        with pytest.raises(InvalidArgument, match="settings version"):
            cls.at(version, **example)  # the first of them are of the right type, at least
    assert cls.at(now, **example)._settings == cls(**example)._settings
    saved = cls(**example)
    with monkeypatch.context() as later:
        later.setattr(cls, "settings_version", now + 1)
        newer = cls(**example).to_bytes()
    with monkeypatch.context() as later:
        later.setattr(cls, "state_version", 2)
        other = cls(**example).to_bytes()
    for content in (newer, other):
        with pytest.raises(NotSaveable, match="newer version of smidgen"):
            Learner.from_bytes(content)
    assert Learner.from_bytes(saved.to_bytes())._settings == saved._settings


def test_an_argument_that_had_no_default_was_always_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = smidgen.ConvexPreferencePerceptron
    old = cls(dim=3, radius=2.0)
    content = old.to_bytes()
    with_init(monkeypatch, cls, {"radius": 2.0}, added=False)
    monkeypatch.setattr(cls, "settings_version", 2)
    monkeypatch.setattr(cls, "older_settings", {1: {"radius": REQUIRED}})
    assert Learner.from_bytes(content)._settings == old._settings
    assert "radius" not in cls(dim=3).asked


def test_what_a_constructor_leaves_unsaid_is_kept_at_an_older_number(monkeypatch: pytest.MonkeyPatch) -> None:
    cls, space = smidgen.OGDEG, smidgen.Ball(dim=2)
    monkeypatch.setattr(cls, "settings_version", 2)
    monkeypatch.setattr(cls, "older_settings", {1: {"gamma": 0.5}})
    without = cls.at(1, space=space, loss_bound=1.0, delta=0.1, gamma=None)
    assert "gamma" not in without.params
    assert without.asked["gamma"] is None
    again = Learner.from_bytes(without.to_bytes())
    assert (again._settings, again.gamma) == (without._settings, without.gamma)
    assert cls.at(1, space=space, loss_bound=1.0, delta=0.1).gamma == 0.5


def test_arguments_are_recorded_from_the_signature() -> None:
    class Mine(smidgen.SimpleFil):
        def __init__(self, *, courage: float = 0.25, seed: int = 0) -> None:
            super(smidgen.SimpleFil, self).__init__(seed=seed)
            self._memory = np.zeros(2)
            self.courage = courage

    assert Mine().params == {"courage": 0.25, "seed": 0}
    assert Mine(courage=1.0).asked == {"courage": 1.0}
    assert Mine(courage=1)._settings == Mine(courage=1.0)._settings != Mine()._settings
    assert Mine(**Mine(courage=2.0, seed=3).params)._settings == Mine(courage=2.0, seed=3)._settings


def test_one_and_one_point_nought_are_one_setting() -> None:
    space = smidgen.Ball(dim=2, radius=3)
    made = [
        smidgen.OGDEG(space=space, loss_bound=bound, delta=delta)
        for bound, delta in ((1, 1), (1.0, 1.0), (np.float64(1), np.int64(1)))
    ]
    assert len({learner._settings for learner in made}) == 1
    on = smidgen.Confidit(dim=2, n_classes=2, eta=1)
    assert on._settings == smidgen.Confidit(dim=2, n_classes=2)._settings
    assert on._settings != smidgen.Confidit(dim=2, n_classes=2, normalize=False)._settings
