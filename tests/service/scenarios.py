"""Small worlds in which an app asks and reports, over a store in memory: what its health is judged by is a real log."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from service.bodies import Clock, feedback_body, model, request
from service.memory import MemoryStore
from smidgen.service.engine.engine import Engine
from smidgen.service.monitoring.health import Report, diagnose
from smidgen.service.schemas import Finding

Asks = Callable[[random.Random, int], dict[str, Any]]
Answers = Callable[[dict[str, Any], dict[str, Any], random.Random, int], dict[str, Any] | None]

COACTIVE = {"loop": "choose", "learner": "PreferencePerceptron", "params": {"dim": 3}}
REWARD = {"loop": "choose"}
TASTE = (1.0, -2.0, 0.5)
DAY = 86_400.0


class World:
    """A model and its users.

    Parameters
    ----------
    body
        The model's settings.
    ask
        The request of a round.
    answer
        What comes back: from the request, the reply and the round; None is silence.
    """

    def __init__(self, body: dict[str, Any], ask: Asks, answer: Answers, seed: int = 0) -> None:
        self.clock = Clock()
        self.engine = Engine(MemoryStore(), clock=self.clock)
        self.engine.create("m", model(body))
        self._ask, self._answer, self._rng, self._round = ask, answer, random.Random(seed), 0

    def play(self, rounds: int) -> World:
        """Play a number of rounds, a second each."""
        for _ in range(rounds):
            asked = self._ask(self._rng, self._round)
            reply = self.engine.decide("m", request(asked))
            self.clock.now += 1.0
            given = self._answer(asked, reply, self._rng, self._round)
            if given is not None:
                self.engine.feedback(reply["decision"], feedback_body(**given))
            self._round += 1
        return self

    def wait(self, seconds: float) -> World:
        """Let time pass."""
        self.clock.now += seconds
        return self

    def sweep(self) -> World:
        """Let the model learn the silence of windows that are over."""
        self.engine.sweep_all()
        return self

    def report(self) -> Report:
        """The present report."""
        reading = self.engine.store.reader()
        try:
            return diagnose(reading, self.engine.model("m"), self.clock.now)
        finally:
            reading.close()

    def found(self, code: str) -> Finding | None:
        """The finding of that code, if it is there."""
        return next((each for each in self.report().findings if each.code == code), None)

    def codes(self) -> list[str]:
        """All codes, the worst first."""
        return [each.code for each in self.report().findings]


def rows(rng: random.Random, round_: int, scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> dict[str, Any]:
    """Four candidates with features of these sizes."""
    return {
        "candidates": [{"id": str(k), "features": [rng.gauss(0.0, 1.0) * each for each in scale]} for k in range(4)]
    }


def items(rng: random.Random, round_: int) -> dict[str, Any]:
    """Three banners by their ids, for two devices."""
    return {"candidates": [{"id": each} for each in "abc"], "context": {"device": rng.choice(["ios", "web"])}}


def best(asked: dict[str, Any], reply: dict[str, Any], rng: random.Random, round_: int) -> dict[str, Any]:
    """The one that the taste likes most."""
    liked = max(asked["candidates"], key=lambda each: sum(map(lambda w, x: w * x, TASTE, each["features"])))
    return {"better": liked["id"]}


def clicked(asked: dict[str, Any], reply: dict[str, Any], rng: random.Random, round_: int) -> dict[str, Any] | None:
    """A click says that the shown one was right; silence says nothing."""
    return {"better": reply["choice"]} if rng.random() < (0.6 if reply["choice"] == "b" else 0.3) else None


def rewarded(asked: dict[str, Any], reply: dict[str, Any], rng: random.Random, round_: int) -> dict[str, Any]:
    """A reward of 0 or 1 for every decision."""
    return {"reward": float(rng.random() < (0.7 if reply["choice"] == "b" else 0.3))}
