"""Silence where several engines share a store: late feedback that another one hears does not swallow it."""

from __future__ import annotations

from service.bodies import Clock, model, request
from service.shared_memory import Exchange, SharedMemoryStore
from smidgen.service.loops.registry import loops
from smidgen.service.models.engine import Engine

BANNER = {"loop": "choose", "default_reward": 0.25, "window_s": 30}


def test_late_feedback_before_the_owner_sweeps() -> None:
    clock, exchange = Clock(), Exchange()
    owner, other = (Engine(SharedMemoryStore(exchange), clock=clock) for _ in range(2))
    owner.create("banner", model(BANNER))
    assert owner.owning is not None
    owner.owned(owner.owning.renew())
    made = []
    for _ in range(3):
        clock.now += 0.01
        made.append(owner.decide("banner", request({"candidates": [{"id": "a"}, {"id": "b"}]}))["decision"])
    other.look()
    clock.now += 31
    told = other.feedback(made[1], loops.feedback(reward=1.0))
    assert (told.status, told.model_version) == ("late", 2)
    owner.sweep_all()
    events = list(owner.events.all_events(owner.model("banner")))
    assert [each.decision for each in events if each.type == "expired"] == made
    assert [each.type for each in events][-4:] == ["expired", "expired", "feedback", "expired"]
    owner.close()
    other.close()
