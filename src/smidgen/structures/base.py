"""A problem instance: what may go out, how it is described, and which is best under given weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidFeatures, InvalidFeedback, SmidgenError

#: What ``phi`` may raise for an object that it cannot describe.
STRANGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


class Structure(ABC):
    """A problem instance: what may go out, how it is described, and which is best under given weights.

    `Ranking` and `Choice` are two. Any object with the methods `phi` and `argmax` is another, whatever its class
    (``isinstance`` says so), and every coactive learner takes it. Derive from this class to say more; what you leave
    out has a default that follows from the two.

    Put `smidgen.structure` on the class, so that decisions which hold it can be written and read back: it is then a
    dataclass, or has ``to_record() -> dict`` and a class method ``from_record(dict)``. A method ``candidates()`` that
    lists the objects is for simulated users and for `smidgen.testing.check_structure`, which holds a structure against
    the laws.

    Notes
    -----
    An instance is never changed: it stands in decisions that are learnt from weeks later. All methods give the same
    answer each time.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, smidgen
    >>> @smidgen.structure("menu of two")
    ... @dataclass(frozen=True)
    ... class Two(smidgen.Structure):
    ...     '''Two courses of several: the sum of their features.'''
    ...     courses: np.ndarray
    ...     def phi(self, y):
    ...         first, second = y
    ...         return self.courses[first] + self.courses[second]
    ...     def scores(self, w):
    ...         return self.courses @ w
    ...     def argmax(self, w):
    ...         return tuple(sorted(np.argsort(-self.scores(w), kind="stable")[:2].tolist()))
    >>> menu = Two(np.eye(3))
    >>> learner = smidgen.PreferencePerceptron(dim=3)
    >>> d = learner.decide(menu)
    >>> d.action, d.scores
    ((0, 1), array([0., 0., 0.]))
    >>> learner.learn(d, (1, 2))
    >>> learner.predict(menu)
    (1, 2)
    """

    __slots__ = ()

    @abstractmethod
    def phi(self, y: Any, /) -> FloatArray:
        """The joint feature vector of the object ``y`` in this context.

        For what is no such object it raises a `ValueError`, `TypeError`, `LookupError` or `InvalidFeedback`.
        """

    @abstractmethod
    def argmax(self, w: FloatArray, /) -> Any:
        """The object with the highest utility ``w · phi(y)``; of equals always the same. ``w`` is read only."""

    @property
    def dim(self) -> int | None:
        """The number of features; None if only `phi` knows."""
        return None

    def check_dim(self, dim: int) -> None:
        """Refuse a learner of another dimension."""
        if self.dim is not None and self.dim != dim:
            raise InvalidFeatures(
                f"the {type(self).__name__} has {self.dim} features and {dim} are required",
                f"use a learner with dim={self.dim}",
            )

    def scores(self, w: FloatArray, /) -> FloatArray | None:
        """The scores that the argmax goes by, one for each part that it is put together from; None without such."""
        return None

    def present(self, w: FloatArray, /) -> tuple[Any, FloatArray | None]:
        """The argmax and the scores; for those who can have both at the price of one."""
        return self.argmax(w), self.scores(w)

    def check(self, y: Any, /) -> Any:
        """Return ``y`` as it is learnt, if it can be such an object; else refuse it with `InvalidFeedback`."""
        _described(self, y, type(self).__name__)
        return y

    def difference(self, better: Any, shown: Any, /) -> FloatArray:
        """φ(better) − φ(shown), checked."""
        improved, before = (self._checked_phi(y) for y in (better, shown))
        if improved.shape != before.shape:
            raise InvalidFeatures(
                f"phi gave {improved.shape[0]} numbers for one object and {before.shape[0]} for another",
                "return the same number for every object",
            )
        with np.errstate(over="ignore"):
            delta: FloatArray = improved - before
        return delta

    def weight(self, better: Any, shown: Any, /) -> float:
        """Weight of a step from one object to the other, from 0 to 1."""
        return 1.0

    def traits(self, y: Any, /) -> dict[str, float]:
        """Named traits of an object that people understand, used by `Coactive.in_words`; empty by default."""
        return {}

    def _checked_phi(self, y: Any) -> FloatArray:
        """φ of a checked object; the default check is φ itself, so that it need not be computed twice."""
        name = type(self).__name__
        return vector(_described(self, y if type(self).check is Structure.check else self.check(y), name))

    def longest(self) -> float:
        """Length of its longest row of features, with which a guard detects outliers; 0 if unknown."""
        return 0.0

    def scaled(self, factor: float, /) -> Self:
        """Copy with all features multiplied by a factor; called only where `longest` is known."""
        raise InvalidFeatures(f"a {type(self).__name__} cannot be scaled", "give it a method scaled(factor)")

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        """Any class with the two methods is one."""
        two = cls is Structure and all(callable(getattr(other, name, None)) for name in ("phi", "argmax"))
        return True if two else NotImplemented


class _Two(Structure):
    """Wrapper of a user's object that has only ``phi`` and ``argmax``: everything else has its default."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def phi(self, y: Any, /) -> FloatArray:
        found: FloatArray = self._inner.phi(y)
        return found

    def argmax(self, w: FloatArray, /) -> Any:
        return self._inner.argmax(w)

    def check(self, y: Any, /) -> Any:
        _described(self, y, type(self._inner).__name__)
        return y

    def _checked_phi(self, y: Any) -> FloatArray:
        return vector(_described(self, y, type(self._inner).__name__))


def structured(context: Any) -> Structure | None:
    """The context with the whole protocol, defaults where it has only ``phi`` and ``argmax``; None if it lacks them."""
    if Structure in type(context).__mro__:
        known: Structure = context
        return known
    two = all(callable(getattr(context, name, None)) for name in ("phi", "argmax"))
    return _Two(context) if two else None


def vector(value: Any) -> FloatArray:
    """A feature vector that user code computed, as finite numbers; a sparse one is made dense."""
    hint = "return finite real numbers as a 1-D array"
    try:
        given = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    except (ValueError, TypeError) as error:
        raise InvalidFeatures(f"the feature vector is a {type(value).__name__}: {error}", hint) from error
    if given.dtype.kind not in "fiub" or given.ndim == 0 or given.shape[:-1] not in ((), (1,)):
        raise InvalidFeatures(f"the feature vector has shape {given.shape} and dtype {given.dtype}", hint)
    if not np.isfinite(given).all():
        raise InvalidFeatures("the feature vector holds values that are not finite", hint)
    return given.astype(np.float64, copy=False).reshape(-1)


def _described(structure: Structure, y: Any, name: str) -> Any:
    """φ(y), or a refusal of what it does not know."""
    try:
        return structure.phi(y)
    except SmidgenError:
        raise
    except STRANGE as error:
        raise InvalidFeedback(
            f"{name}.phi does not accept the feedback {y!r} ({error})",
            "give an object of the form that its argmax returns",
        ) from error
