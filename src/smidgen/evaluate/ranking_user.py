"""Between simulated users and compiled rounds of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.decision import FloatArray
from smidgen.errors import InvalidArgument
from smidgen.evaluate.ranking_round import CLICKING, EXPECTED, NOISY, STRICT, Person
from smidgen.evaluate.ranking_table import QueryTable
from smidgen.users import ClickUser, ExpectedAlpha, NoisyDepth, StrictAlpha


def person_of(user: Any) -> tuple[Person, np.random.Generator]:
    """What a user is set to, and the generator that it draws from (any, if it does not draw)."""
    nobody = np.random.default_rng(0)
    if isinstance(user, StrictAlpha):
        return Person(STRICT, alpha=user.alpha), nobody
    if isinstance(user, NoisyDepth):
        return Person(NOISY, depth=user.depth), nobody
    if isinstance(user, ExpectedAlpha):
        return Person(EXPECTED, alpha=user.alpha, strict=user.strict.alpha, randoms=user._randoms), user._rng
    if isinstance(user, ClickUser):
        depth, tells = user.depth or np.iinfo(np.int64).max, user.feedback == "clicks"
        return Person(CLICKING, depth=depth, attract=user.attract, stop=user.stopping, tells=tells), user._rng
    raise InvalidArgument(
        f"the user is a {type(user).__name__}",
        "give a StrictAlpha, NoisyDepth, ExpectedAlpha or one who clicks, or use smidgen.simulate",
    )


def labels_for(user: Any, queries: QueryTable) -> FloatArray:
    """The label that a user gives to each document of the table; none, if it does not go by labels."""
    if not isinstance(user, (NoisyDepth, ClickUser)):
        return np.empty(0)
    labels = user._labels
    if labels._find == queries.labels_of and queries.labels is not None:
        found = queries.labels
    elif labels._find is None and labels._fixed is None:
        raise InvalidArgument("the user's labels are used up in order", "make it with labels=queries.labels_of")
    else:
        found = np.concatenate([labels(context) for context in queries.contexts]).astype(np.float64)
    if isinstance(user, ClickUser):
        user.grades(found, slice(None))  # refuses labels that its tables do not know
    return found
