"""Routing between language models with the published litellm package; its mock responses need no network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import smidgen
from service.live import Live
from smidgen.client import Client
from smidgen.errors import InvalidArgument
from smidgen.integrations.litellm import InProcess, Routing, describe_prompt

CHEAP, DEAR = "openai/gpt-4o-mini", "openai/gpt-4o"


@pytest.fixture(autouse=True)
def litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package, offline; imported here because that takes seconds, and every test process collects this file."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    found = pytest.importorskip("litellm", reason="the package litellm is not installed")
    before = list(found.callbacks)
    yield found
    found.callbacks[:] = before


def new_router(answers: dict[str, str] | None = None) -> Any:
    answers = answers or {CHEAP: "no", DEAR: "yes"}
    listed = [
        {"model_name": "chat", "litellm_params": {"model": model, "api_key": "none", "mock_response": answer}}
        for model, answer in answers.items()
    ]
    return pytest.importorskip("litellm").Router(model_list=listed, num_retries=0)


def new_learner(**budget: float) -> smidgen.Pipeline:
    return smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=128),
        learner=smidgen.ChoiceBank(dim=128, seed=3),
        budget=smidgen.Budget(budget) if budget else None,
    )


class Listening(InProcess):
    """Keeps what was reported."""

    def __init__(self, learner: smidgen.Pipeline) -> None:
        super().__init__(learner)
        self.feedback: list[dict[str, Any]] = []

    def report(self, decision: str, feedback: Mapping[str, Any]) -> None:
        super().report(decision, feedback)
        self.feedback.append(dict(feedback))


def ask(router: Any, text: str = "2 + 2?") -> Any:
    return router.completion(model="chat", messages=[{"role": "user", "content": text}])


def said(response: Any) -> str:
    return str(response.choices[0].message.content)


def test_it_learns_which_model_answers_well() -> None:
    router = new_router()
    routing = Routing(router, new_learner()).install()
    answers = []
    for _ in range(60):
        response = ask(router)
        answers.append(said(response))
        routing.reward(response, float(answers[-1] == "yes"))
    assert answers[-20:].count("yes") >= 18
    assert routing.fallbacks == 0


def test_a_served_model_decides_and_gets_feedback(tmp_path: Path) -> None:
    with Live(tmp_path) as service, Client(service.url) as client:
        model = client.create("router", loop="choose")
        router = new_router()
        routing = Routing(router, model).install()
        response = ask(router, "Why?")
        decision = routing.decision(response)
        assert decision is not None
        story = client.story(decision)
        assert story["asked"]["context"]["question"] is True
        assert story["shown"]["choice"] == (DEAR if said(response) == "yes" else CHEAP)
        routing.reward(response, 1.0)
        assert client.story(decision)["learnt_version"] == 1


def test_the_judge_and_the_cost_are_reported() -> None:
    learner = new_learner(usd=1.0)
    router = new_router({CHEAP: "yes, of course", DEAR: "yes, of course"})
    chooser = Listening(learner)
    Routing(router, chooser, judge=lambda messages, response: 1.0, currency="usd").install()
    feedback = chooser.feedback
    ask(router, "a longer question, which has some tokens")
    until = time.monotonic() + 20
    while not feedback and time.monotonic() < until:
        time.sleep(0.05)  # litellm calls back from a thread of its own
    assert feedback[0]["reward"] == 1.0
    assert feedback[0]["costs"]["usd"] > 0.0
    while not learner.rounds and time.monotonic() < until:
        time.sleep(0.05)
    assert learner.rounds == 1


def test_calls_that_fail_are_reported(litellm: Any) -> None:
    learner = new_learner()
    router = new_router({CHEAP: "litellm.InternalServerError", DEAR: "litellm.InternalServerError"})
    Routing(router, learner).install()
    with pytest.raises(litellm.exceptions.InternalServerError):
        ask(router)
    until = time.monotonic() + 20
    while not learner.rounds and time.monotonic() < until:
        time.sleep(0.05)
    assert learner.rounds == 1


def test_without_the_service_the_default_deployment_answers() -> None:
    client = Client("http://127.0.0.1:9", timeout=0.2, retries=0)
    router = new_router()
    routing = Routing(router, client.model("router")).install()
    response = ask(router)
    assert said(response) == "no"
    assert routing.fallbacks == 1
    assert routing.decision(response) is None
    with pytest.raises(InvalidArgument, match="no decision"):
        routing.reward(response, 1.0)


def test_asynchronous_calls_are_routed_too() -> None:
    router = new_router()
    routing = Routing(router, new_learner()).install()

    async def play() -> Any:
        return await router.acompletion(model="chat", messages=[{"role": "user", "content": "hi"}])

    assert routing.decision(asyncio.run(play())) is not None


def test_a_restart_in_the_middle_changes_no_decision(tmp_path: Path) -> None:
    def play(restart: bool) -> list[str]:
        router, chooser = new_router(), InProcess(new_learner())
        routing, chosen, waiting = Routing(router, chooser).install(), [], []
        for t in range(40):
            if restart and t == 20:
                chooser.save(tmp_path / "router.smidgen")
                chooser = InProcess.load(tmp_path / "router.smidgen")
                router = new_router()
                routing = Routing(router, chooser).install()
            response = ask(router, "x" * (t % 7))
            chosen.append(said(response))
            waiting.append(response)
            if len(waiting) > 3:  # late, also beyond the restart
                late = waiting.pop(0)
                routing.reward(late, float(said(late) == "yes"))
        return chosen

    assert play(restart=True) == play(restart=False)


def test_a_restart_of_the_service_changes_no_decision(tmp_path: Path) -> None:
    def play(folder: str, *restarts: int) -> list[str]:
        router, port, chosen, waiting = new_router(), "0", [], []
        for start, end in pairwise((0, *restarts, 24)):
            with Live(tmp_path / folder, "--port", port) as service:
                port = service.url.rstrip("/").rpartition(":")[2]
                if start == 0:
                    model = Client(service.url).create("router", loop="choose", params={"seed": 5})
                    routing = Routing(router, model).install()
                for t in range(start, end):
                    response = ask(router, "x" * (t % 7))
                    chosen.append(said(response))
                    waiting.append(response)
                    if len(waiting) > 3:  # late, also beyond the restart
                        late = waiting.pop(0)
                        routing.reward(late, float(said(late) == "yes"))
        assert routing.fallbacks == 0
        return chosen

    assert play("with", 8, 16) == play("without")


def test_a_prompt_is_described_by_what_it_has() -> None:
    found = describe_prompt([{"role": "user", "content": "def f(x): return 12\nWhy?"}])
    assert (found["code"], found["question"], found["turns"], found["lines"], found["numbers"]) == (True, True, 1, 2, 2)
