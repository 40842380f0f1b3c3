"""The learner to begin with: chosen by what the cards say, so that a better one takes over by its own file."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smidgen import checks
from smidgen.errors import InvalidArgument
from smidgen.geometry import Box
from smidgen.knobs import Knobs
from smidgen.learners.base import cards, learners
from smidgen.learners.card import Feedback, Loop, Recommended
from smidgen.learners.plugins import discover

if TYPE_CHECKING:
    from smidgen.geometry.space import Space
    from smidgen.learners.base import Learner

#: Default feedback: the first of these that any learner is recommended for.
USUAL: dict[str, tuple[Feedback, ...]] = {
    Loop.RANK: (Feedback.CLICKS, Feedback.BETTER),
    Loop.CHOOSE: (Feedback.REWARD, Feedback.BETTER),
    Loop.LABEL: (Feedback.BIT, Feedback.LABEL),
    Loop.FILTER: (Feedback.RELEVANCE,),
    Loop.TUNE: (Feedback.LOSS, Feedback.GRADIENT),
    Loop.DRAFT: (Feedback.EDIT,),
}


def recommended(
    loop: str,
    *,
    feedback: str | None = None,
    dim: int | None = None,
    labels: Sequence[Hashable] | None = None,
    n_classes: int | None = None,
    space: Space | Knobs | None = None,
    **settings: Any,
) -> Learner:
    """A fresh learner of the kind to begin with, with the settings to begin with.

    Parameters
    ----------
    loop
        Kind of decision: ``"rank"``, ``"choose"``, ``"label"``, ``"filter"``, ``"tune"``.
    feedback
        Kind of feedback; by default the usual one of the loop: clicks, a preferred choice, one bit, the relevance, the
        loss.
    dim
        The number of features; of tune, where ``space`` is left out, of knobs from 0 to 1, else of the columns
        of a context.
    labels, n_classes
        Of label: the labels, or only how many there are.
    space
        Of tune: where the points lie, or `Knobs`.
    **settings
        Other arguments of the learner.

    Examples
    --------
    >>> import smidgen
    >>> smidgen.recommended(loop="rank", feedback="better", dim=20)
    SecondOrderPreferencePerceptron(dim=20, radius=100.0, gamma=1.0, epsilon=1.0, seed=0)
    >>> smidgen.recommended(loop="rank", feedback="better", dim=100_000)
    PreferencePerceptron(dim=100000, seed=0)
    """
    size = dim
    if loop == Loop.TUNE:
        if space is None and dim:
            space, dim = Box(low=np.zeros(dim), high=np.ones(dim)), None
        size = space.dim if isinstance(space, (Box, Knobs)) else None
    cls, case = find(loop, feedback, size)
    given = {"dim": dim, "labels": labels, "n_classes": n_classes, "space": space}
    asked = {name: value for name, value in given.items() if value is not None} | settings
    accepted = inspect.signature(cls).parameters
    if unknown := sorted(asked.keys() - accepted.keys()):
        raise InvalidArgument(
            f'{cls.__name__}, the recommended learner, has no argument "{unknown[0]}"',
            checks.suggest(unknown[0], accepted),
        )
    first = {name: value for name, value in cls.card.first.items() if name not in given}
    arguments = {**first, **case.settings, **asked}
    for name, parameter in accepted.items():
        if name not in arguments and parameter.default is inspect.Parameter.empty:
            raise InvalidArgument(
                f'{cls.__name__}, the recommended learner, needs the argument "{name}"', f"give {name}=…"
            )
    return cls(**arguments)


def find(loop: str, feedback: str | None = None, dim: int | None = None) -> tuple[type[Learner], Recommended]:
    """The class to begin with, and the case of its card that says so."""
    discover()
    fitting = {name: card for name, card in cards.items() if loop in card.loops}
    if not fitting:
        known = sorted({each for card in cards.values() for each in card.loops})
        raise InvalidArgument(f"there is no loop {checks.shown(loop)}", checks.suggest(loop, known))
    if feedback is not None and feedback not in set(Feedback):
        raise InvalidArgument(
            f"feedback is {checks.shown(feedback)}, which is not known", checks.suggest(feedback, Feedback)
        )
    wanted = (feedback,) if feedback is not None else USUAL.get(loop, tuple(Feedback))
    for kind in wanted:
        found = [
            (case.strength, name, case)
            for name, card in fitting.items()
            for case in card.recommended
            if case.suits(kind, dim)
        ]
        if found:
            _, name, case = max(found, key=lambda each: each[0])
            return learners[name], case
    kinds = sorted({case.feedback for card in fitting.values() for case in card.recommended})
    raise InvalidArgument(
        f"no learner is recommended for the loop {loop!r} and the feedback {feedback!r}",
        checks.suggest(feedback, kinds, "name a learner"),
    )
