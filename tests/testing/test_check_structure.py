"""Structures of ours and of others keep the shipped laws; broken ones fail, each the law that it breaks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from scipy import sparse

import smidgen
from smidgen import Choice, ExtendedRanking, Ranking, Structure
from smidgen.errors import InvalidFeatures, InvalidFeedback, NotFinite
from smidgen.structures import structured
from smidgen.testing import check_structure
from smidgen.testing.inputs import NBest
from smidgen.testing.structures import LAWS

ROWS = np.random.default_rng(3).normal(size=(5, 4))


@smidgen.structure("testing subset")
@dataclass(frozen=True, eq=False)
class Subset(Structure):
    """A number of several things, in no order: a basket, a team, a set of tags."""

    things: Any
    size: int = 2

    @property
    def dim(self) -> int:
        return int(np.shape(self.things)[1])

    def phi(self, y: Any) -> Any:
        return self.things[list(self.check(y))].sum(axis=0)

    def scores(self, w: Any) -> Any:
        return self.things @ w

    def argmax(self, w: Any) -> tuple[int, ...]:
        return tuple(sorted(np.argsort(-self.scores(w), kind="stable")[: self.size].tolist()))

    def check(self, y: Any) -> tuple[int, ...]:
        try:
            chosen = tuple(sorted({int(i) for i in y}))
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(f"the subset is {y!r}", "give indices") from error
        if len(chosen) != self.size or chosen[0] < 0 or chosen[-1] >= len(self.things):
            raise InvalidFeedback(f"the subset is {y!r}", f"give {self.size} of 0 … {len(self.things) - 1}")
        return chosen

    def candidates(self) -> list[tuple[int, ...]]:
        return list(itertools.combinations(range(len(self.things)), self.size))

    def longest(self) -> float:
        return float(np.linalg.norm(self.things, axis=1).max())

    def scaled(self, factor: float) -> Self:
        return type(self)(self.things * factor, self.size)


@smidgen.structure("testing two methods")
@dataclass(frozen=True, eq=False)
class Two(Structure):
    """Derived, and no more than it must have."""

    rows: Any

    def phi(self, y: int) -> Any:
        return self.rows[y]

    def argmax(self, w: Any) -> int:
        return int(np.argmax(self.rows @ w))

    def candidates(self) -> list[int]:
        return list(range(len(self.rows)))


GOOD: list[tuple[Any, dict[str, Any]]] = [
    (Ranking(ROWS, top=2), {"objects": list(map(list, itertools.permutations(range(5))))[:30], "impossible": [[0, 1]]}),
    (Ranking(sparse.csr_array(ROWS)), {"objects": [np.arange(5)], "impossible": ["abc", [0, 0, 1, 2, 3]]}),
    (Ranking(ROWS[:1]), {"objects": [[0]]}),
    (Ranking(ROWS[:2]), {"objects": [[0, 1]], "edits": [ExtendedRanking(np.array([2, 0, 1]), ROWS[2:3])]}),
    (Choice(ROWS), {"objects": range(5), "impossible": [5, -1, 0.5, None, "a"]}),
    (Choice(ROWS, [1, 3]), {"objects": [1, 3], "impossible": [0]}),
    (Choice(sparse.csr_array(ROWS)), {"objects": range(5)}),
    (Subset(ROWS), {"impossible": [(0,), (0, 1, 2), (0, 9), "ab", 3, None]}),
    (Subset(ROWS, size=5), {}),
    (NBest(ROWS), {"impossible": ["a", 9]}),
    (Two(ROWS), {"impossible": ["a", 9]}),
    (Two(ROWS[:1]), {"dim": 4}),
]


@pytest.mark.parametrize(("given", "known"), GOOD, ids=[f"{type(g).__name__}-{i}" for i, (g, _) in enumerate(GOOD)])
def test_good_ones_keep_all_laws(given: Any, known: dict[str, Any]) -> None:
    check_structure(given, **known)


class Crooked(Subset):
    """Base of the faulty structures: registered, and derived from a correct one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        smidgen.structure(f"testing {cls.__name__}")(dataclass(frozen=True, eq=False)(cls))


class NoNumbers(Crooked):
    def phi(self, y: Any) -> Any:
        return super().phi(y) * np.nan


class SomeNumbers(Crooked):
    def phi(self, y: Any) -> Any:
        return super().phi(y)[: 3 + sum(y) % 2]


class Fickle(Crooked):
    def argmax(self, w: Any) -> Any:
        return tuple(sorted(np.random.default_rng().permutation(len(self.things))[: self.size].tolist()))


class Worst(Crooked):
    def argmax(self, w: Any) -> Any:
        return super().argmax(-w)


class Vandal(Crooked):
    seen: list[Any] = field(default_factory=list)

    def phi(self, y: Any) -> Any:
        self.seen.append(y)
        return super().phi(y)


class OtherScores(Crooked):
    def present(self, w: Any) -> Any:
        return self.argmax(w), self.scores(w) + 1.0


class EndlessScores(Crooked):
    def scores(self, w: Any) -> Any:
        return self.things @ w / np.zeros(len(self.things)) if w.any() else self.things @ w

    def argmax(self, w: Any) -> Any:
        return tuple(sorted(np.argsort(-(self.things @ w), kind="stable")[: self.size].tolist()))


class OtherFirst(Crooked):
    def present(self, w: Any) -> Any:
        return self.argmax(-w), self.scores(w)


class TakesAnything(Crooked):
    def check(self, y: Any) -> Any:
        return tuple(y) if isinstance(y, tuple) and len(y) == self.size and max(y) < 5 else (0, 1)


class Shouts(Crooked):
    def check(self, y: Any) -> Any:
        if not isinstance(y, tuple):
            raise NotImplementedError("only tuples")
        return super().check(y)


class Undershoots(Crooked):
    def difference(self, better: Any, shown: Any) -> Any:
        return 0.5 * super().difference(better, shown)


class AnyDimension(Crooked):
    def check_dim(self, dim: int) -> None:
        return


class LosesItsSize(Crooked):
    def to_record(self) -> dict[str, Any]:
        return {"things": self.things}

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Any:
        return cls(**fields)


class NeverScales(Crooked):
    def scaled(self, factor: float) -> Self:
        return self


BROKEN: dict[type[Any], str] = {
    NoNumbers: "phi returns dim finite numbers",
    SomeNumbers: "phi returns dim finite numbers",
    Fickle: "argmax repeats",
    Vandal: "what it is given stays as it was",
    Worst: "argmax is the best",
    OtherFirst: "present is argmax with scores",
    OtherScores: "present is argmax with scores",
    EndlessScores: "present is argmax with scores",
    Shouts: "strange objects raise library errors",
    TakesAnything: "objects are distinguished",
    Undershoots: "difference is that of phi",
    AnyDimension: "other dimensions are refused",
    NeverScales: "scaling scales",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("cls", "law"), BROKEN.items(), ids=[cls.__name__ for cls in BROKEN])
def test_each_breaks_its_own_law(cls: type[Any], law: str) -> None:
    with pytest.raises(AssertionError, match=f"^{cls.__name__}: the law '{law}' "):
        check_structure(cls(ROWS.copy()), impossible=[(0, 9), (3,)])


def test_a_record_that_loses_something_is_found() -> None:
    smidgen.structure("testing LosesItsSize")(LosesItsSize)
    with pytest.raises(AssertionError, match="the law 'a record brings it back' "):
        check_structure(LosesItsSize(ROWS, size=3))


def test_one_that_is_not_registered_is_refused() -> None:
    @dataclass(frozen=True, eq=False)
    class Unknown(Two):
        pass

    with pytest.raises(AssertionError, match=r"it cannot be written: .*@smidgen\.structure"):
        check_structure(Unknown(ROWS))


def test_a_structure_without_phi_is_refused() -> None:
    with pytest.raises(AssertionError, match="the law 'it has phi and argmax' does not hold"):
        check_structure(SimpleNamespace(argmax=max))
    with pytest.raises(AssertionError, match="nobody knows how many features"):
        check_structure(SimpleNamespace(argmax=max, phi=len))


def test_every_law_has_a_structure_that_breaks_it() -> None:
    untested = {law.__name__.replace("_", " ") for law in LAWS} - set(BROKEN.values())
    assert untested == {"it has phi and argmax", "a record brings it back", "every coactive learner takes it"}


class TestProtocol:
    def test_any_class_with_the_two_methods_is_one(self) -> None:
        assert isinstance(NBest(ROWS), Structure)
        assert issubclass(NBest, Structure)
        assert not isinstance(ROWS, Structure)
        assert not isinstance(SimpleNamespace(phi=len), Structure)
        assert isinstance(Ranking(ROWS), Structure)
        assert not issubclass(NBest, Ranking)

    def test_the_two_methods_cannot_be_left_out(self) -> None:
        class Half(Structure):
            def phi(self, y: Any) -> Any:
                return ROWS[y]

        with pytest.raises(TypeError, match="argmax"):
            Half()  # it says which is missing

    def test_defaults_of_an_object_with_two_methods(self) -> None:
        known = structured(NBest(ROWS))
        assert known is not None
        w = np.ones(4)
        assert (known.dim, known.scores(w), known.longest()) == (None, None, 0.0)
        assert known.present(w) == (known.argmax(w), None)
        np.testing.assert_array_equal(known.difference(1, 0), ROWS[1] - ROWS[0])
        assert known.check(3) == 3
        with pytest.raises(InvalidFeedback, match=r"NBest\.phi does not accept the feedback 'x'"):
            known.check("x")
        with pytest.raises(InvalidFeatures, match="cannot be scaled"):
            known.scaled(0.5)
        assert structured(3) is None

    def test_an_object_whose_methods_are_its_own_attributes_is_taken(self) -> None:
        menu = SimpleNamespace(phi=lambda y: ROWS[y], argmax=lambda w: int(np.argmax(ROWS @ w)))
        learner = smidgen.PreferencePerceptron(dim=4)
        learner.learn(learner.decide(menu), 2)
        np.testing.assert_array_equal(learner.weights, ROWS[2] - ROWS[0])

    def test_attributes_of_other_meanings_do_no_harm(self) -> None:
        """A class that is not derived needs only the two methods."""

        class Decoder(NBest):
            scores = (0.3, 0.2)
            check = "done"
            dim = "narrow"

        learner = smidgen.PreferencePerceptron(dim=4)
        decision = learner.decide(Decoder(ROWS))
        learner.learn(decision, 1)
        assert decision.scores is None


class TestLearners:
    def test_scores_stand_in_the_decision(self) -> None:
        learner = smidgen.PreferencePerceptron(dim=4)
        learner.learn(learner.decide(Subset(ROWS)), (3, 4))
        decision = learner.decide(Subset(ROWS))
        np.testing.assert_allclose(decision.scores, ROWS @ learner.weights)

    def test_what_check_returns_is_what_is_learnt(self) -> None:
        one, two = smidgen.PreferencePerceptron(dim=4), smidgen.PreferencePerceptron(dim=4)
        one.learn(one.decide(Subset(ROWS)), (3, 4))
        two.learn(two.decide(Subset(ROWS)), [4, 3, 3])
        np.testing.assert_array_equal(one.weights, two.weights)

    def test_refusals(self) -> None:
        learner = smidgen.PreferencePerceptron(dim=4)
        decision = learner.decide(Subset(ROWS))
        with pytest.raises(InvalidFeedback, match="give 2 of 0 … 4"):
            learner.learn(decision, (1, 7))
        with pytest.raises(InvalidFeatures, match="has 4 features and 3 are required"):
            smidgen.PreferencePerceptron(dim=3).decide(Subset(ROWS))
        with pytest.raises(NotFinite, match="scores"):
            learner.decide(endless_subset())
        assert learner.rounds == 0

    @pytest.mark.parametrize("scores", ["abc", [[1.0]], object()])
    def test_scores_of_the_wrong_form_are_refused(self, scores: Any) -> None:
        class Wrong(Two):
            def scores(self, w: Any) -> Any:
                return scores

        with pytest.raises(InvalidFeatures, match=r"Wrong\.scores gave"):
            smidgen.PreferencePerceptron(dim=4).decide(Wrong(ROWS))

    def test_our_own_go_the_same_way_as_those_of_others(self) -> None:
        """The short way for rankings and choices gives what the protocol gives."""

        class MyRanking(Ranking):
            pass

        class MyChoice(Choice):
            pass

        for ours, theirs in ((Ranking, MyRanking), (Choice, MyChoice)):
            one, two = smidgen.PreferencePerceptron(dim=4), smidgen.PreferencePerceptron(dim=4)
            for _ in range(3):
                a, b = one.decide(ours(ROWS)), two.decide(theirs(ROWS))
                np.testing.assert_array_equal(a.action, b.action)
                np.testing.assert_array_equal(a.scores, b.scores)
                better = np.arange(5)[::-1] if ours is Ranking else 3
                one.learn(a, better)
                two.learn(b, better)
            np.testing.assert_array_equal(one.weights, two.weights)


def test_a_shown_ranking_with_later_documents_is_no_way_to_other_memory() -> None:
    """Two resolutions of one index were mixed up once, and what lay behind the rows was read."""
    query, extended = Ranking(ROWS[:2]), ExtendedRanking(np.array([2, 0, 1]), ROWS[2:3])
    np.testing.assert_allclose(query.difference([0, 1], extended), query.phi([0, 1]) - query.phi(extended))
    for better, shown in (([0, 1], [0, 2]), ([0, 2], [0, 1]), ([0, 1], np.array([5, 6]))):
        with pytest.raises(InvalidFeedback):
            query.difference(better, shown)


def endless_subset() -> Any:
    class Endless(Subset):
        def scores(self, w: Any) -> Any:
            return np.full(5, np.inf)

    return Endless(ROWS)


class TestGuard:
    def played(self, make: Any, better: Any) -> Any:
        learner = smidgen.PreferencePerceptron(dim=4).guard()
        for i in range(30):
            rows = ROWS * (1e9 if i == 25 else 1.0 + 0.01 * i)
            learner.learn(learner.decide(make(rows)), better[i % 2])
        return learner

    def test_a_structure_that_tells_its_length_is_bounded(self) -> None:
        learner = self.played(Subset, [(3, 4), (0, 2)])
        assert learner.guarded == 1
        assert np.abs(learner.weights).max() < 1e3
        again = smidgen.Learner.from_bytes(learner.to_bytes())
        np.testing.assert_array_equal(again.weights, learner.weights)

    def test_one_that_does_not_is_learnt_as_it_is_and_not_kept(self) -> None:
        learner = self.played(Two, [3, 1])
        assert learner.guarded == 0
        assert np.abs(learner.weights).max() > 1e6
        assert len(learner.to_bytes()) < 2_000

    def test_both_at_once_lose_nothing(self) -> None:
        guarded, plain = smidgen.PreferencePerceptron(dim=4).guard(), smidgen.PreferencePerceptron(dim=4)
        for learner in (guarded, plain):
            for i in range(12):
                context: Any = Subset(ROWS) if i % 3 else Two(ROWS)
                learner.learn(learner.decide(context), (3, 4) if i % 3 else 2)
        np.testing.assert_array_equal(guarded.weights, plain.weights)


@pytest.fixture(autouse=True)
def _numbers() -> Iterator[None]:
    with np.errstate(divide="ignore"):
        yield
