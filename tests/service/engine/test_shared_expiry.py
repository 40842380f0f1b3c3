"""Silence where several engines share a store: nobody waits for an owner that is gone, and feedback swallows none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from service.bodies import Clock, model, request
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.feedback import PATIENCE_S
from smidgen.service.loops.registry import loops

BANNER = {"loop": "choose", "default_reward": 0.25, "window_s": 30}
ASKED = {"candidates": [{"id": "a"}, {"id": "b"}]}


class Two:
    """An engine that owns the shards, another one next to it, and three decisions of a model."""

    def __init__(self) -> None:
        self.clock, self.exchange = Clock(), Exchange()
        self.owner, self.other = self.engine(), self.engine()
        self.owner.create("banner", model(BANNER))
        assert self.owner.leases is not None
        self.owner.leases._seconds = 3600.0
        self.owner.take_over(self.owner.leases.renew())
        self.made = []
        for _ in range(3):
            self.clock.now += 0.01
            self.made.append(self.owner.decide("banner", request(ASKED))["decision"])
        self.other.refresh()

    def engine(self) -> Engine:
        return Engine(SharedMemoryStore(self.exchange), clock=self.clock)

    def swept(self, engine: Engine) -> int:
        """Number of windows that the engine expires now."""
        if not engine.has_expired():
            return 0
        return engine.run(engine.sweep)

    def reported(self) -> list[str]:
        """The decisions whose silence is in the log, in its order."""
        events = self.other.events.all_events(self.other.run(lambda: self.other.locked_model("banner")))
        return [str(each.decision) for each in events if each.type == "expired"]


@pytest.fixture
def two() -> Iterator[Two]:
    made = Two()
    yield made
    made.owner.close()
    made.other.close()


def test_late_feedback_before_the_owner_sweeps(two: Two) -> None:
    two.clock.now += 31
    given = two.other.feedback(two.made[1], loops.feedback(reward=1.0))
    assert (given.status, given.model_version) == ("late", 2)
    two.owner.sweep_all()
    assert two.reported() == two.made
    events = two.owner.events.all_events(two.owner.model("banner"))
    assert [each.type for each in events][-4:] == ["expired", "expired", "feedback", "expired"]


def test_others_leave_it_to_the_owner_and_take_what_it_leaves(two: Two) -> None:
    two.clock.now += 30 - 0.005  # the first two windows are over
    assert two.swept(two.other) == 0
    two.clock.now += PATIENCE_S
    assert two.swept(two.other) == 2  # the owner may be dead, paused or busy
    assert two.reported() == two.made[:2]
    assert two.swept(two.owner) == 1
    two.clock.now += 10
    assert (two.swept(two.other), two.swept(two.owner)) == (0, 0)
    assert two.reported() == two.made


def test_two_who_find_the_same_learn_it_once(two: Two) -> None:
    two.clock.now += 40
    rows = two.other.store.due_decisions(two.clock())
    assert two.swept(two.owner) == 3
    two.other.begin()
    for row in rows:  # found before the owner's commit, taken after it
        two.other.run_in_savepoint(partial(two.other._expiry.handle, row))
    two.other.commit()
    assert two.reported() == two.made


def test_a_start_within_the_lease_of_one_that_is_dead_learns_silence_first(two: Two) -> None:
    two.clock.now += 30 + 0.02  # it dies, and its lease lasts
    started = two.engine()
    assert started.sweep_all() == 3
    assert two.reported() == two.made
    started.close()
