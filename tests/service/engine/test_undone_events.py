"""Events that count when some undo others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from smidgen.service.engine.replay import UndoneVersions

Steps = list[tuple[str, int]]


def slow(steps: Steps) -> list[frozenset[int]]:
    """Effective versions after each version, computed one by one; element 0 is the start."""
    effect = [frozenset[int]()]
    for version, (type, named) in enumerate(steps, 1):
        if type == "rolled_back":
            effect.append(effect[named])
        elif type == "retracted":
            effect.append(effect[-1] - {named})
        else:
            effect.append(effect[-1] | {version})
    return effect


@st.composite
def histories(draw: st.DrawFn) -> Steps:
    """Feedback, and now and then something that takes back what is in effect."""
    steps: Steps = []
    for version in range(1, draw(st.integers(1, 25)) + 1):
        live = sorted(slow(steps)[-1])
        kind = draw(st.sampled_from(["feedback", "feedback", "retracted", "rolled_back"]))
        if kind == "retracted" and live:
            steps.append((kind, draw(st.sampled_from(live))))
        elif kind == "rolled_back":
            steps.append((kind, draw(st.integers(0, version - 1))))
        else:
            steps.append(("feedback", 0))
    return steps


@given(histories())
def test_what_is_left_is_what_one_by_one_gives(steps: Steps) -> None:
    effect = slow(steps)
    undone = UndoneVersions([(type, made, named) for made, (type, named) in enumerate(steps, 1) if type != "feedback"])
    left = {made for made, (type, _) in enumerate(steps, 1) if type == "feedback" and made not in undone}
    assert left == effect[-1]


@given(histories())
def test_a_state_that_is_not_spoilt_is_a_good_beginning(steps: Steps) -> None:
    effect = slow(steps)
    undone = UndoneVersions([(type, made, named) for made, (type, named) in enumerate(steps, 1) if type != "feedback"])
    for version in range(len(effect)):
        if not undone.is_stale(version):
            later = {
                made
                for made, (type, _) in enumerate(steps, 1)
                if made > version and type == "feedback" and made not in undone
            }
            assert effect[version] | later == effect[-1]
