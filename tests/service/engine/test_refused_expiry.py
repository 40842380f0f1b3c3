"""Silence that a learner refuses is settled once, in its turn, and keeps nobody waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.bodies import Clock, feedback_body, model, request
from service.memory import CommittedTables, MemoryStore
from service.memory.shared import Exchange, SharedMemoryStore
from smidgen.errors import InvalidFeedback, SmidgenError
from smidgen.service.admin.fsck import fsck
from smidgen.service.admin.verify import audit_file
from smidgen.service.engine.engine import SWEPT, Engine
from smidgen.service.engine.learner_cache import CachedLearner, LearnerCache
from smidgen.service.engine.log_sources import NdjsonSource
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import LearningEvent

SONGS = {"loop": "choose", "keyed": True, "default_reward": 0.0, "window_s": 50}
MANY = 2 * SWEPT + 90
REFUSED, FAILED = InvalidFeedback("it is no reward", "give one"), RuntimeError("a plugin's own")


class Harness:
    """A service whose learners refuse silence of some people, and one decision after the other."""

    def __init__(self, store: str, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        self.clock, self.tried, self.error = Clock(), Counter[str](), error
        shelf, exchange = CommittedTables(), Exchange()
        self._open: Callable[[], Engine] = {
            "sqlite": lambda: Engine(folder, clock=self.clock, synchronous="OFF"),
            "memory": lambda: Engine(MemoryStore(shelf), clock=self.clock),
            "workers": lambda: Engine(SharedMemoryStore(exchange), clock=self.clock),
        }[store]
        self.engines = [self._open() for _ in range(2 if store == "workers" else 1)]
        self.engine.create("songs", model(SONGS))
        learn = LearnerCache.learn

        def refuse(
            cache: LearnerCache, served: ServedModel, key: str | None, held: CachedLearner, change: LearningEvent
        ) -> None:
            if change.type == "expired":
                self.tried[str(key)] += 1
                if str(key).startswith("bad"):
                    raise self.error
            learn(cache, served, key, held, change)

        monkeypatch.setattr(LearnerCache, "learn", refuse)

    @property
    def engine(self) -> Engine:
        """The worker whose turn it is."""
        self.engines.append(self.engines.pop(0))
        return self.engines[0]

    def restart(self) -> None:
        for engine in self.engines:
            engine.store.close()
        self.engines = [self._open() for _ in self.engines]

    def ask(self, key: str) -> str:
        self.clock.now += 0.01
        asked = request({"key": key, "candidates": [{"id": "a"}, {"id": "b"}]})
        return str(self.engine.decide("songs", asked)["decision"])

    def sweep(self) -> None:
        """Expire windows as the writer does, batch by batch."""
        for _ in range(20):
            engine = self.engine
            engine.begin()
            more = engine.sweep()
            engine.commit()
            if not more:
                return
        pytest.fail("it never ends")

    def silences(self) -> list[tuple[str, int | None]]:
        """The decisions whose silence is in the log, in its order, and the versions that they made."""
        engine = self.engine
        events = engine.events.all_events(engine.run(lambda: engine.locked_model("songs")))
        return [(str(each.decision), each.made) for each in events if each.type == "expired"]


@pytest.mark.parametrize(
    ("store", "error"),
    [
        ("sqlite", REFUSED),
        ("memory", FAILED),
        ("workers", REFUSED),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (("sqlite", FAILED), ("memory", REFUSED), ("workers", FAILED))
        ),
    ],
)
def test_many_that_are_refused_keep_nobody_waiting(
    store: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(store, tmp_path, monkeypatch, error)
    made = [harness.ask(f"bad{n % 3}") for n in range(MANY)] + [harness.ask(f"good{n % 3}") for n in range(5)]
    made.append(harness.ask("bad0"))
    harness.clock.now += 60
    harness.sweep()
    found = harness.silences()
    assert [id for id, _ in found] == made, "in the order of their ends"
    assert [version for _, version in found] == [None] * MANY + [1, 2, 3, 4, 5] + [None]
    assert harness.tried.total() == len(made)
    harness.restart()
    harness.ask("good0")
    assert not any(engine.has_expired(patience=0.0) for engine in harness.engines)
    harness.clock.now += 60
    harness.sweep()
    assert harness.tried.total() == len(made) + 1, "what was refused is not tried again"
    assert harness.silences()[-1][1] == 6


def test_what_is_said_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness("sqlite", tmp_path / "data", monkeypatch, InvalidFeedback("it is no reward", "give one"))
    bad, good = harness.ask("bad"), harness.ask("good")
    harness.clock.now += 60
    harness.sweep()
    engine = harness.engine
    story = engine.story(bad)
    assert story.learnt_version is None
    assert story.feedback == {"default_reward": 0.0}
    assert story.why_not == "nobody answered, and the learner refused what silence is worth: it is no reward"
    assert engine.story(good).learnt_version == 1
    with pytest.raises(SmidgenError, match="learned nothing"):
        engine.retract(bad)
    assert engine.feedback(bad, feedback_body(reward=1.0)).status == "late"
    assert engine.feedback(bad, feedback_body(reward=1.0)).status == "late"
    counts = engine.store.counts(engine.model("songs").shard)
    assert counts is not None
    assert (counts.version, counts.answered, counts.late) == (1, 1, 1)
    path = tmp_path / "log.ndjson"
    path.write_bytes(b"\n".join(engine.events.all_lines(engine.model("songs"))) + b"\n")
    assert audit_file(NdjsonSource(path)).problems == []
    (line,) = [each for each in NdjsonSource(path).lines() if each.decision == bad and each.type == "expired"]
    assert (line.status, line.model_version, line.unknown_fields["problem"]) == ("refused", None, "it is no reward")
    engine.close()
    assert fsck(tmp_path / "data", deep=True).findings == []


def test_late_feedback_after_it_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness("memory", tmp_path, monkeypatch, InvalidFeedback("it is no reward", "give one"))
    made = [*(harness.ask("bad") for _ in range(3)), harness.ask("good"), harness.ask("good")]
    harness.clock.now += 60
    assert harness.engine.feedback(made[3], feedback_body(reward=1.0)).status == "late"
    assert harness.silences() == [*((id, None) for id in made[:3]), (made[3], 1)]


def test_those_of_a_model_that_cannot_be_read_keep_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness("sqlite", tmp_path, monkeypatch, InvalidFeedback("it is no reward", "give one"))
    get = LearnerCache.get

    def broken(cache: LearnerCache, served: ServedModel, key: str | None) -> Any:
        if key == "lost":
            raise RuntimeError("its state is gone")
        return get(cache, served, key)

    lost = [harness.ask("lost") for _ in range(MANY)]
    good = harness.ask("good")
    monkeypatch.setattr(LearnerCache, "get", broken)
    harness.clock.now += 60
    harness.sweep()
    assert harness.silences() == [(good, 1)]
    monkeypatch.setattr(LearnerCache, "get", get)
    harness.restart()
    harness.sweep()
    assert [id for id, _ in harness.silences()] == [good, *lost], "nothing is lost by that"
