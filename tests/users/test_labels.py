"""Labels in their three forms, as the users that go by them take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smidgen import Ranking
from smidgen.errors import InvalidArgument
from smidgen.users import ClickModel, NoisyDepth

QUERY = Ranking(np.eye(3), top=1)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "noisy": lambda labels: NoisyDepth(labels=labels, depth=3),
    "clicks": lambda labels: ClickModel(labels=labels, model="perfect", grades=2),
}
both = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
SHOWN = [0, 1, 2]


def first(user: Any, query: Ranking = QUERY) -> int:
    """The document that a user who finds one relevant document moves to the top."""
    return int(user(query, SHOWN)[0])


@both
@pytest.mark.parametrize("labels", [[0, 0, 1], (0, 0, 1), np.array([0, 0, 1]), np.array([0.0, 0.0, 1.0])], ids=repr)
def test_one_array_holds_for_every_round(make: Any, labels: Any) -> None:
    user = make(labels)
    assert [first(user) for _ in range(4)] == [2, 2, 2, 2]


@both
@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_a_sequence_is_used_up_in_the_order_of_the_calls(make: Any, form: Any) -> None:
    user = make(form([[0, 0, 1], [1, 0, 0], [0, 1, 0]]))
    assert [first(user) for _ in range(3)] == [2, 0, 1]
    with pytest.raises(InvalidArgument, match="no labels left"):
        first(user)


@both
def test_rounds_may_have_different_numbers_of_documents(make: Any) -> None:
    user = make([np.array([0, 0, 1]), np.array([0, 1])])
    assert first(user) == 2
    assert user(Ranking(np.eye(2)), [0, 1]).tolist() == [1, 0]


@both
def test_a_function_of_the_context_is_asked_every_time(make: Any) -> None:
    asked: list[Ranking] = []

    def labels(context: Ranking) -> Any:
        asked.append(context)
        return (context.docs[:, 1] > 0).astype(int)

    user = make(labels)
    other = Ranking(np.eye(3)[::-1], top=1)
    assert [first(user), first(user, Ranking(np.roll(np.eye(3), 1, axis=0), top=1)), first(user, other)] == [1, 2, 1]
    assert asked[-1] is other
    assert len(asked) == 3


@both
def test_no_labels_at_all(make: Any) -> None:
    with pytest.raises(InvalidArgument, match="no labels left"):
        first(make([]))


@both
@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([0, 1], id="too few"),
        pytest.param([0, 1, 0, 1], id="too many"),
        pytest.param([0.0, np.nan, 1.0], id="nan"),
        pytest.param(["a", "b", "c"], id="strings"),
        pytest.param([1j, 0, 0], id="complex"),
        pytest.param(lambda context: None, id="a function without an answer"),
        pytest.param(lambda context: np.ones((3, 1)), id="a function with a matrix"),
    ],
)
def test_refused(make: Any, labels: Any) -> None:
    with pytest.raises(InvalidArgument, match="labels"):
        first(make(labels))
