"""Laws of a structure, which every coactive learner and the service rely on, to be held against one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen import serialization
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidFeedback, NotSaveable, SmidgenError
from smidgen.learners import Learner, cards, learners
from smidgen.serialization import same
from smidgen.structures.base import STRANGE, Structure, structured, vector
from smidgen.testing.laws import hold, kept, picture, refused

#: What is an object of no structure.
NOTHING: tuple[Any, ...] = (object(), lambda: None)


@dataclass(frozen=True)
class Specimen:
    """A structure with what is known of it.

    Attributes
    ----------
    given, dim
        The structure, and its number of features.
    offered, edits
        Objects that may go out, and others that may only come back.
    impossible
        Objects that may do neither.
    """

    given: Any
    dim: int
    offered: tuple[Any, ...]
    edits: tuple[Any, ...]
    impossible: tuple[Any, ...]

    @property
    def objects(self) -> tuple[Any, ...]:
        """All that may come back."""
        return (*self.offered, *self.edits)

    @property
    def known(self) -> Structure:
        """With the whole protocol."""
        found = structured(self.given)
        if found is None:
            raise AssertionError(f"a {type(self.given).__name__} has no methods phi(y) and argmax(w)")
        return found

    def weights(self) -> list[FloatArray]:
        """Read-only weights of several kinds."""
        rng = np.random.default_rng(5)
        made = [np.zeros(self.dim), *rng.normal(size=(6, self.dim)), -np.ones(self.dim)]
        for w in made:
            w.flags.writeable = False
        return made

    def pairs(self) -> list[tuple[Any, Any]]:
        """Some objects, two by two."""
        few = (*self.offered[:4], *self.edits[:2])
        return [(a, b) for a in few for b in few]


def it_has_phi_and_argmax(it: Specimen) -> None:
    """The two methods that it cannot do without."""
    hold(
        isinstance(it.given, Structure),
        f"a {type(it.given).__name__} is no smidgen.Structure: phi or argmax is missing",
    )
    hold(it.known.dim in (None, it.dim), f"dim is {it.known.dim} and phi has {it.dim} numbers")


def phi_returns_dim_finite_numbers(it: Specimen) -> None:
    """φ has one length for every object, and returns equal values for equal objects."""
    for y in it.objects:
        first, second = vector(it.known.phi(y)), vector(it.known.phi(y))
        hold(first.shape == (it.dim,), f"phi({y!r}) has {first.size} numbers, and {it.dim} are needed")
        hold(np.array_equal(first, second), f"phi({y!r}), asked for twice, differs")


def argmax_repeats(it: Specimen) -> None:
    """Equal weights lead to equal objects."""
    for w in it.weights():
        hold(same(it.known.argmax(w), it.known.argmax(w)), "argmax of the same weights, asked for twice, differs")


def argmax_is_the_best(it: Specimen) -> None:
    """No object that may go out has a higher utility."""
    for w in it.weights():
        best = it.known.argmax(w)
        top = float(w @ vector(it.known.phi(best)))
        for y in it.offered:
            utility = float(w @ vector(it.known.phi(y)))
            near = 1e-9 * (1.0 + abs(top) + abs(utility))
            hold(
                utility <= top + near,
                f"{y!r} has a higher utility ({utility:.6g}) than the argmax {best!r} ({top:.6g})",
            )


def what_it_is_given_stays_as_it_was(it: Specimen) -> None:
    """No method changes the structure or its objects."""
    before, objects = _picture(it.given), picture(list(it.objects))
    for w in it.weights()[:3]:
        it.known.present(w)
    for a, b in it.pairs():
        it.known.difference(a, b)
        it.known.check(a)
    hold(_picture(it.given) == before, "asking for phi, argmax, a check or a difference has changed the structure")
    hold(picture(list(it.objects)) == objects, "it has written to the objects that it was given")


def present_is_argmax_with_scores(it: Specimen) -> None:
    """`present` gives the argmax; scores, if there are any, are finite numbers."""
    for w in it.weights():
        action, given = it.known.present(w)
        hold(same(action, it.known.argmax(w)), f"present gives {action!r}, and argmax {it.known.argmax(w)!r}")
        scores = it.known.scores(w)
        hold((given is None) == (scores is None), "present gives scores where scores has none, or the other way round")
        if given is None or scores is None:
            continue
        hold(np.array_equal(given, scores), "present gives other scores than scores does")
        shown = np.asarray(scores)
        hold(
            shown.ndim == 1 and shown.dtype.kind == "f", f"the scores have shape {shown.shape} and dtype {shown.dtype}"
        )
        hold(np.isfinite(shown).all(), "finite weights lead to scores that are not finite")


def objects_are_distinguished(it: Specimen) -> None:
    """`check` takes its own objects, and refuses the rest in our words."""
    for y in (*it.objects, *(it.known.argmax(w) for w in it.weights())):
        checked = it.known.check(y)
        hold(
            np.array_equal(vector(it.known.phi(checked)), vector(it.known.phi(y))),
            f"check turns {y!r} into {checked!r}, which has other features",
        )
    for y in (*NOTHING, *it.impossible):
        refused(f"the object {y!r}", it.known.check, y, kind=InvalidFeedback)
        shown = it.objects[0]
        refused(f"the better object {y!r}", it.known.difference, y, shown, kind=InvalidFeedback)


def strange_objects_raise_library_errors(it: Specimen) -> None:
    """For what it does not know, ``phi`` raises an error that means just that."""
    for y in (*NOTHING, *it.impossible):
        try:
            it.known.phi(y)
        except (SmidgenError, *STRANGE):
            continue
        except Exception as error:
            raise AssertionError(f"phi({y!r}) raises a {type(error).__name__}; let it be a ValueError") from error


def difference_is_that_of_phi(it: Specimen) -> None:
    """φ(better) − φ(shown), and zero for the same object."""
    for a, b in it.pairs():
        delta = np.asarray(it.known.difference(a, b))
        wanted = vector(it.known.phi(a)) - vector(it.known.phi(b))
        scale = 1e-12 * (1.0 + np.abs(wanted))
        hold(delta.shape == (it.dim,), f"the difference has shape {delta.shape}")
        hold((np.abs(delta - wanted) <= scale).all(), f"difference({a!r}, {b!r}) is not phi of the one minus the other")
    first = it.objects[0]
    hold(not np.any(it.known.difference(first, first)), "the difference of an object and itself is not zero")


def other_dimensions_are_refused(it: Specimen) -> None:
    """A structure that knows its dimension refuses a learner of another one."""
    it.known.check_dim(it.dim)
    if it.known.dim is not None:
        refused("a learner of another dimension", it.known.check_dim, it.dim + 1)


def a_record_brings_it_back(it: Specimen) -> None:
    """Written as JSON or as bytes and read back, it says the same of everything."""
    try:
        forms = [
            serialization.from_json(serialization.to_json(it.given)),
            serialization.decode(serialization.encode(it.given)),
        ]
    except NotSaveable as error:
        raise AssertionError(f"it cannot be written: {error.problem}; {error.hint}") from error
    for again in forms:
        twin = structured(again)
        hold(type(again) is type(it.given) and twin is not None, f"what is read back is a {type(again).__name__}")
        if twin is None:
            return
        hold(same(again, it.given), "what is read back has other fields")
        for w in it.weights():
            hold(same(twin.argmax(w), it.known.argmax(w)), "what is read back has another argmax")
        for y in it.objects:
            hold(
                np.array_equal(vector(twin.phi(y)), vector(it.known.phi(y))),
                f"what is read back has another phi({y!r})",
            )
    written = [serialization.decode(serialization.encode(y)) for y in it.objects]
    phis = zip(written, it.objects, strict=True)
    hold(
        all(np.array_equal(vector(it.known.phi(a)), vector(it.known.phi(b))) for a, b in phis),
        "an object that was written and read back has another phi",
    )


def scaling_scales(it: Specimen) -> None:
    """If a structure states the length of its rows, half the features have half the length, and so has phi."""
    length = it.known.longest()
    hold(np.isfinite(length) and length >= 0.0, f"longest() is {length}")
    if length == 0.0:
        return
    half = it.known.scaled(0.5)
    hold(np.isclose(half.longest(), length / 2), f"scaled by a half it is {half.longest()} long, and {length} before")
    for y in it.offered:
        hold(
            np.allclose(vector(half.phi(y)), vector(it.known.phi(y)) / 2), f"scaled by a half, phi({y!r}) is not halved"
        )


def every_coactive_learner_takes_it(it: Specimen) -> None:
    """Decide, learn, predict, save, load, brief, recall and replay."""
    for name, card in cards.items():
        if "rank" in card.loops and card.kinds[0] == "better" and not card.not_served:
            _learnt(it, learners[name], name)


def _learnt(it: Specimen, cls: type[Learner], name: str) -> None:
    arguments = {**cls.card.example, "dim": it.dim}
    live: Any = cls(**arguments)
    twin: Any = cls(**arguments)
    for t in range(6):
        if t == 3:
            live = Learner.from_bytes(live.to_bytes())
        decision = live.decide(it.given)
        hold(Decision.from_json(decision.to_json()) == decision, f"a decision of {name} read back is another")
        again = live.from_compact(live.to_compact(decision))
        pair = cls.card.shows_pairs and decision.teams is None
        feedback = t % 2 if pair else it.objects[t % len(it.objects)]
        live.learn(again, feedback)
        twin.learn(decision, feedback)
    live.predict(it.given)
    hold(np.array_equal(live.weights, twin.weights), f"{name} learns something else from the same log")
    for y in it.impossible:
        decision, before = live.decide(it.given), live.to_bytes()
        if not cls.card.shows_pairs or decision.teams is not None:
            refused(f"the feedback {y!r}, by {name},", live.learn, decision, y)
        hold(live.to_bytes() == before, f"refused feedback has changed a {name}")


def _picture(given: Any) -> Any:
    return picture(given) if serialization.registered_name(type(given)) is not None else picture(dict(vars(given)))


Law = Callable[[Specimen], None]

LAWS: tuple[Law, ...] = (
    it_has_phi_and_argmax,
    phi_returns_dim_finite_numbers,
    argmax_repeats,
    what_it_is_given_stays_as_it_was,
    argmax_is_the_best,
    present_is_argmax_with_scores,
    strange_objects_raise_library_errors,
    objects_are_distinguished,
    difference_is_that_of_phi,
    other_dimensions_are_refused,
    a_record_brings_it_back,
    scaling_scales,
    every_coactive_learner_takes_it,
)


def check_structure(
    structure: Any,
    *,
    dim: int | None = None,
    objects: Iterable[Any] = (),
    edits: Iterable[Any] = (),
    impossible: Iterable[Any] = (),
) -> None:
    """Hold a structure against the laws that learners and the service rely on.

    Parameters
    ----------
    structure
        An instance: with ``phi`` and ``argmax``, and whatever more of `smidgen.Structure` it has. Call it for several
        instances: a small one, a large one, one with a single object.
    dim
        Number of features; by default the object's own ``dim``, or the length of ``phi`` of one of the objects.
    objects
        Objects that may go out, beyond those that its ``candidates()`` lists.
    edits
        Objects that never go out, and yet may come back as better: an edited text, say.
    impossible
        Objects that may not come back, which it must refuse.

    Raises
    ------
    AssertionError
        At the first law that does not hold, with the law's name and a sentence.

    Examples
    --------
    >>> import numpy as np, smidgen
    >>> from smidgen.testing import check_structure
    >>> check_structure(smidgen.Choice(np.eye(3)), objects=[0, 1, 2], impossible=[3, -1])
    """
    name = type(structure).__name__
    known = structured(structure)
    if known is None:
        raise AssertionError(f"{name}: the law 'it has phi and argmax' does not hold: one of the methods is missing")
    listed = getattr(structure, "candidates", None)
    found = (*objects, *(listed() if callable(listed) else ()))
    size = _dim(known, name, found) if dim is None else dim
    it = Specimen(structure, size, found or (known.argmax(np.zeros(size)),), tuple(edits), tuple(impossible))
    for law in LAWS:
        kept(law, it, name)


def _dim(known: Structure, name: str, objects: tuple[Any, ...]) -> int:
    if known.dim is not None:
        return known.dim
    if not objects:
        raise AssertionError(f"{name}: nobody knows how many features it has; give dim=…, or objects=[…]")
    try:
        return len(vector(known.phi(objects[0])))
    except (SmidgenError, *STRANGE) as error:
        raise AssertionError(
            f"{name}: the law 'phi returns dim finite numbers' does not hold: phi({objects[0]!r}): {error}"
        ) from error
