"""Readers next to writers: every answer is that of some prefix of the log, and no reader ever goes back."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.bodies import MODELS, decision_body, engine_with, feedback_body, model, request
from service.killable_services import NAMES, OPTIONS, Line, Nursery, Writer, all_work
from service.memory import CommittedTables, MemoryStore
from smidgen import serialization
from smidgen.decision import Decision
from smidgen.learners import Learner
from smidgen.service.engine.description import LAST, summarize_model
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.registry import recorded_blueprint
from smidgen.service.schemas import ModelBody


class Reader:
    """A reader that asks again and again, and keeps the replies."""

    def __init__(self, url: str, seed: int, writers: list[Writer]) -> None:
        self._line = Line(url)
        self._rng = random.Random(seed)
        self._writers = writers
        self.glances: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
        self.logs: dict[str, list[tuple[int, list[bytes]]]] = {name: [] for name in NAMES}
        self.weights: list[dict[str, Any]] = []
        self.stories: list[tuple[dict[str, Any], bool, dict[str, Any]]] = []  # the reply, was it answered, the story

    def read(self, stop: threading.Event) -> None:
        asks: list[Callable[[], None]] = [self._glance, self._log, self._story, self._weigh]
        while not stop.is_set():
            self._rng.choice(asks)()
        self._line.close()

    def _get(self, path: str) -> Any:
        status, reply = self._line("GET", path)
        assert status == 200, (path, reply)
        return reply

    def _glance(self) -> None:
        name = self._rng.choice(NAMES)
        self.glances[name].append(self._get(f"/v1/models/{name}"))

    def _log(self) -> None:
        name = self._rng.choice(NAMES)
        known = max((after + len(lines) for after, lines in self.logs[name]), default=0)
        after = self._rng.choice([0, known // 2, known])
        lines = self._get(f"/v1/models/{name}/log?after={after}").splitlines()
        self.logs[name].append((after, lines))

    def _story(self) -> None:
        """A decision that was acknowledged to its writer is there, and so is feedback that was acknowledged."""
        writer = self._rng.choice(self._writers)
        made = list(writer.made.items())[-20:]
        if made:
            id, (_, reply) = self._rng.choice(made)
            learnt = id in writer.learnt  # before the question
            self.stories.append((reply, learnt, self._get(f"/v1/decisions/{id}")))

    def _weigh(self) -> None:
        self.weights.append(self._get("/v1/models/rank/weights"))


class Prefixes:
    """A log, and what it says of every prefix."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.events = [json.loads(line) for line in lines]
        self.counts = {(0, 0)}  # of decisions and of versions
        self.versions: dict[int, dict[str, float]] = {}
        decisions = version = 0
        shown: dict[str, Decision] = {}
        learner = self._learner()
        for event in self.events:
            if event["type"] == "decision":
                decisions += 1
                assert event["reply"]["model_version"] == version  # what was answered is in the next decision
                if learner is not None:
                    learner.reserve(event["number"])
                    shown[event["decision"]] = Decision.from_json(json.dumps(event["record"]).encode())
            elif event["type"] == "feedback":
                version += 1
                if learner is not None:
                    learner.learn(shown[event["decision"]], serialization.unpack(event["learn"]))
            self.counts.add((decisions, version))
            if learner is not None:
                self.versions[version] = dict(zip("abc", learner.weights.tolist(), strict=True))

    def _learner(self) -> Learner | None:
        body = msgspec.convert(self.events[0]["model"], ModelBody)
        made = recorded_blueprint(body, self.events[0]["resolved"])
        return made.learner(None) if body.features is not None and not body.keyed else None


def observed(nursery: Nursery, folder: Path, seconds: float) -> tuple[list[Reader], dict[str, Prefixes]]:
    """Writers and readers for a while; the replies to the readers, and the log in the end."""
    data = folder / "data"
    engine_with(data, list(NAMES)).store.close()
    victim = nursery.start(data, **OPTIONS)
    assert victim is not None
    writers = [Writer(number, 21) for number in range(3)]
    readers = [Reader(victim.url, number, writers) for number in range(4)]
    stop, failed = threading.Event(), list[BaseException]()

    def read(reader: Reader) -> None:
        try:
            reader.read(stop)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
    logs: dict[str, Prefixes] = {}

    def meanwhile() -> None:
        for thread in threads:
            thread.start()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends or (time.monotonic() < ends + 60 and not enough(readers)):
            time.sleep(0.05)
        stop.set()
        for thread in threads:
            thread.join(60)
        victim.kill()

    all_work(writers, victim.url, meanwhile)
    assert victim.end(None) == -signal.SIGKILL
    assert not failed, failed[0]
    again = nursery.start(data, **OPTIONS)
    assert again is not None
    line = Line(again.url)
    for name in NAMES:
        logs[name] = Prefixes(line("GET", f"/v1/models/{name}/log")[1].splitlines())
    line.close()
    assert again.end(signal.SIGTERM) == 0
    return readers, logs


def enough(readers: list[Reader]) -> bool:
    """True if enough was read for the test to be meaningful."""
    lines = sum(len(lines) for reader in readers for log in reader.logs.values() for _, lines in log)
    versions = {seen["model_version"] for reader in readers for seen in reader.weights}
    return min(len(reader.stories) for reader in readers) > 0 and lines > 100 and len(versions) > 3


def check(readers: list[Reader], logs: dict[str, Prefixes]) -> None:
    for reader in readers:
        for name, log in logs.items():
            counts = [(glance["decisions"], glance["model_version"]) for glance in reader.glances[name]]
            assert set(counts) <= log.counts, "a count that the log never had"
            assert counts == sorted(counts), "a reader has gone back"
            figures = [(glance["quality"]["of"], glance["model_version"]) for glance in reader.glances[name]]
            assert all(of == min(version, LAST) for of, version in figures), "figures of other events than the counts"
            for after, lines in reader.logs[name]:
                assert lines == log.lines[after : after + len(lines)], "the log is not a piece of the log"
            longest = [after + len(lines) for after, lines in reader.logs[name]]
            assert longest == sorted(longest), "the log has become shorter"
        for seen in reader.weights:
            found = {each["name"]: each["weight"] for each in seen["weights"]}
            expected = {name: weight for name, weight in logs["rank"].versions[seen["model_version"]].items() if weight}
            assert found == expected, "weights that are not those of their version"
        versions = [seen["model_version"] for seen in reader.weights]
        assert versions == sorted(versions)
        for reply, learnt, story in reader.stories:
            _check_story(reply, learnt, story, logs[story["model"]])


def _check_story(reply: dict[str, Any], learnt: bool, story: dict[str, Any], log: Prefixes) -> None:
    assert story["shown"] == reply
    answered = {event["decision"]: event for event in log.events if event["type"] == "feedback"}
    if story["learnt_version"] is None:
        assert not learnt, "feedback that was acknowledged is not in the story"
        assert (story["feedback"], story["why_not"]) == (None, "no feedback has come yet")
        return
    event = answered[story["decision"]]
    assert (story["feedback"], story["learnt_version"]) == (event["feedback"], event["model_version"])
    assert (story["why_not"], story["feedback_at"]) == (None, event["at"])


def test_every_answer_is_that_of_a_prefix(nursery: Nursery, tmp_path: Path) -> None:
    readers, logs = observed(nursery, tmp_path, 1.0)
    check(readers, logs)
    assert enough(readers)


@pytest.mark.parametrize("store", ["disk", "memory"])
def test_an_answer_of_several_questions_is_of_one_moment(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feedback that is committed between two questions of one answer is in both, or in neither."""
    engine = Engine(tmp_path if store == "disk" else MemoryStore(CommittedTables()), synchronous="OFF")
    engine.create("rank", model(MODELS["rank"]))
    rng = random.Random(1)
    made = [engine.decide("rank", request(decision_body("rank", rng)))["decision"] for _ in range(6)]
    reading = engine.store.reader()
    ask, threads = reading.query, list[threading.Thread]()

    def look(*given: Any, **named: Any) -> Any:
        if made:
            feedback = feedback_body(clicked=["d3"])
            threads.append(threading.Thread(target=engine.feedback, args=(made.pop(), feedback)))
            threads[-1].start()
            threads[-1].join(0.3)
        return ask(*given, **named)

    monkeypatch.setattr(reading, "query", look)
    while made:
        found = summarize_model(reading, engine.models["rank"], engine.clock())
        assert found.quality.of == found.model_version
        for thread in threads:
            thread.join(30)
    assert summarize_model(reading, engine.models["rank"], engine.clock()).quality.of == 6
    reading.close()
    engine.store.close()


@pytest.mark.long
def test_for_a_minute(nursery: Nursery, tmp_path: Path) -> None:
    check(*observed(nursery, tmp_path, 60.0))
