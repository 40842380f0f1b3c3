"""Route between language models: a smidgen model chooses the deployment of a litellm Router, and learns from it.

```python
import litellm, smidgen
from smidgen.integrations.litellm import Routing

client = smidgen.Client("http://127.0.0.1:8470", timeout=0.5, retries=0)
model = client.create("router", loop="choose")
router = litellm.Router(model_list=[…])
routing = Routing(router, model).install()

response = router.completion(model="chat", messages=[…])
routing.reward(response, 1.0)  # thumbs up
```

The id of the decision travels as litellm's call id, so a response knows its decision without any table of ours. If the
decision service is away, the router uses the default deployment and goes on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from smidgen.client import Model
from smidgen.decision import Decision
from smidgen.errors import DecisionMismatch, InvalidArgument, MissingExtra, SmidgenError
from smidgen.learners import Learner
from smidgen.learners.pipeline import Pipeline
from smidgen.structures import Candidates

Message = Mapping[str, Any]
_log = logging.getLogger("smidgen.integrations.litellm")
#: Open decisions of an in-process learner that are kept for their feedback; the oldest go first.
MOST_OPEN = 10_000
#: Marks the call ids of litellm that are decisions of ours.
PREFIX = "smidgen-"


class Chooser(Protocol):
    """Chooses one of several deployments, and learns what came of it."""

    def choose(self, ids: Sequence[str], context: Mapping[str, Any]) -> tuple[str, str]:
        """Return the chosen id and the id of the decision."""

    def report(self, decision: str, feedback: Mapping[str, Any]) -> None:
        """Report a reward, what the call cost, or both: ``{"reward": 1.0, "costs": {"usd": 0.0012}}``."""


class Served:
    """A model of a decision service."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def choose(self, ids: Sequence[str], context: Mapping[str, Any]) -> tuple[str, str]:
        """Ask the service."""
        answer = self._model.decide({each: {} for each in ids}, context=dict(context))
        return str(answer.choice), answer.decision

    def report(self, decision: str, feedback: Mapping[str, Any]) -> None:
        """Report to the service; it stores the report before it answers."""
        self._model.learn(decision, **feedback)


class InProcess:
    """A learner in this process: a `Pipeline` around a learner that chooses by reward.

    Parameters
    ----------
    learner
        The learner; calls are serialized by a lock.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._open: OrderedDict[str, Decision] = OrderedDict()
        self._lock = threading.Lock()

    def choose(self, ids: Sequence[str], context: Mapping[str, Any]) -> tuple[str, str]:
        """Decide, and keep the decision for its feedback."""
        with self._lock:
            decision = self.learner.decide(Candidates({each: {} for each in ids}, context=dict(context)))
            self._open[decision.id] = decision
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return ids[int(decision.action)], decision.id

    def report(self, decision: str, feedback: Mapping[str, Any]) -> None:
        """Learn the reward; costs alone leave the decision open."""
        with self._lock:
            if (made := self._open.get(decision)) is None:
                raise DecisionMismatch(f"Decision {decision!r} is not open.", "It was answered before, or is too old.")
            if "costs" in feedback:
                if not isinstance(self.learner, Pipeline):
                    raise InvalidArgument("costs are given, and the learner is no Pipeline.", "Put it into a Pipeline.")
                self.learner.learn_costs(made, feedback["costs"])
            if "reward" in feedback:
                self.learner.learn(made, feedback["reward"])
                del self._open[decision]

    def save(self, path: str | Path) -> None:
        """Save the learner to a file, and its open decisions to a second file next to it."""
        with self._lock:
            self.learner.save(path)
            _open_file(path).write_bytes(msgspec.json.encode([each.to_json() for each in self._open.values()]))

    @classmethod
    def load(cls, path: str | Path) -> InProcess:
        """Load what `save` wrote: the next decisions are those that would have been made without the restart."""
        import smidgen

        found = cls(smidgen.load(path))
        for each in msgspec.json.decode(_open_file(path).read_bytes(), type=list[bytes]):
            decision = Decision.from_json(each)
            found._open[decision.id] = decision
        return found


def _open_file(path: str | Path) -> Path:
    return Path(path).with_suffix(".open.json")


def describe_prompt(messages: Sequence[Message]) -> dict[str, Any]:
    """Describe a prompt by what often separates easy from hard: length, turns, code, numbers, a question."""
    texts = [text for each in messages if isinstance(text := each.get("content"), str)]
    last, whole = texts[-1] if texts else "", "\n".join(texts)
    return {
        "characters": min(len(whole), 100_000),
        "lines": min(whole.count("\n") + 1, 10_000),
        "turns": len(texts),
        "code": "```" in whole or "def " in whole or "function " in whole,
        "numbers": min(sum(letter.isdigit() for letter in last), 10_000),
        "question": "?" in last,
    }


class Routing:
    """Let a smidgen model choose the deployments of a litellm Router.

    Parameters
    ----------
    router
        A ``litellm.Router``. The deployments of one group (``model_name``) are the candidates.
    model
        A model of a decision service (`smidgen.client.Model`), or a `Pipeline` or other learner in this process, or
        anything with the methods of `Chooser`.
    context
        Turns the messages of a request into a record; `describe_prompt` if left out.
    judge
        Called with the messages and the response, in litellm's callback; returns a reward from 0 to 1, or None.
    failure_reward
        The reward of a call that failed; None reports nothing.
    currency
        The name under which litellm's cost of a call (from its token usage and prices) is reported, e.g. ``"usd"`` for
        a model with ``budget={"usd": 0.001}``; None reports no costs.
    """

    def __init__(
        self,
        router: Any,
        model: Model | Learner | Chooser,
        *,
        context: Callable[[Sequence[Message]], Mapping[str, Any]] = describe_prompt,
        judge: Callable[[Sequence[Message], Any], float | None] | None = None,
        failure_reward: float | None = 0.0,
        currency: str | None = None,
    ) -> None:
        self.router = router
        self.chooser: Chooser = (
            Served(model) if isinstance(model, Model) else InProcess(model) if isinstance(model, Learner) else model
        )
        self._context, self._judge = context, judge
        self._failure_reward, self._currency = failure_reward, currency
        self._name = f"smidgen-{uuid.uuid4().hex}"  # litellm tells every callback of the calls of all routers
        #: Number of requests that went to the default deployment because no decision could be had.
        self.fallbacks = 0

    def install(self) -> Self:
        """Make the router ask this object, and report judged rewards and failures from litellm's callbacks."""
        try:
            import litellm
            from litellm.integrations.custom_logger import CustomLogger
        except ImportError as error:
            raise MissingExtra("Routing needs the package litellm.", "pip install 'smidgen[litellm]'") from error
        litellm.callbacks.append(_reporter(CustomLogger, self))
        self.router.set_custom_routing_strategy(self)
        return self

    def get_available_deployment(
        self,
        model: str,
        messages: Sequence[Message] | None = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Choose the deployment of a request; litellm calls this."""
        offered = self._candidates(model)
        try:
            chosen, decision = self.chooser.choose(list(offered), self._context(messages or ()))
        except (SmidgenError, OSError) as error:
            self.fallbacks += 1
            _log.warning("no decision for %s, using %s: %s", model, next(iter(offered)), error)
            return next(iter(offered.values()))
        if request_kwargs is not None:
            request_kwargs["litellm_call_id"] = PREFIX + decision
            request_kwargs["metadata"] = {**(request_kwargs.get("metadata") or {}), self._name: decision}
        return offered[chosen]

    async def async_get_available_deployment(
        self,
        model: str,
        messages: Sequence[Message] | None = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Choose the deployment of a request without blocking the event loop; litellm calls this."""
        return await asyncio.to_thread(
            self.get_available_deployment, model, messages, input, specific_deployment, request_kwargs
        )

    def decision(self, response: Any) -> str | None:
        """Return the id of the decision behind a response; None if the request used the default deployment."""
        hidden = getattr(response, "_hidden_params", None) or {}
        known = hidden.get("litellm_call_id")
        return known.removeprefix(PREFIX) if isinstance(known, str) and known.startswith(PREFIX) else None

    def reward(self, response: Any, reward: float) -> None:
        """Report the reward of a response: a thumb, a judge's score, a solved ticket.

        Raises
        ------
        InvalidArgument
            If no decision is behind the response.
        """
        if (decision := self.decision(response)) is None:
            raise InvalidArgument("The response has no decision.", "It used the default deployment.")
        self.chooser.report(decision, {"reward": reward})

    def _candidates(self, model: str) -> dict[str, Any]:
        """The deployments of a group by an id that lasts: the model's name, with the deployment's own where shared."""
        listed = [each for each in self.router.model_list if each.get("model_name") == model]
        if not listed:
            raise InvalidArgument(f"The router has no deployment called {model!r}.", "Name one of its model_list.")
        names = [str(each["litellm_params"]["model"]) for each in listed]
        return {
            name if names.count(name) == 1 else f"{name}#{each.get('model_info', {}).get('id', place)}": each
            for place, (name, each) in enumerate(zip(names, listed, strict=True))
        }

    def _succeeded(self, kwargs: Mapping[str, Any], response: Any) -> None:
        if (decision := _decision_in(kwargs, self._name)) is None:
            return
        feedback: dict[str, Any] = {}
        cost = kwargs.get("response_cost")
        if self._currency is not None and isinstance(cost, (int, float)):
            feedback["costs"] = {self._currency: float(cost)}
        if self._judge is not None and (judged := self._judge(kwargs.get("messages") or (), response)) is not None:
            feedback["reward"] = float(judged)
        if feedback:
            self._report(decision, feedback)

    def _failed(self, kwargs: Mapping[str, Any]) -> None:
        if (decision := _decision_in(kwargs, self._name)) is not None and self._failure_reward is not None:
            self._report(decision, {"reward": self._failure_reward})

    def _report(self, decision: str, feedback: Mapping[str, Any]) -> None:
        """Report from a callback, where an error must not reach the caller of the language model."""
        try:
            self.chooser.report(decision, feedback)
        except (SmidgenError, OSError) as error:
            _log.warning("the feedback on decision %s was not reported: %s", decision, error)


def _decision_in(kwargs: Mapping[str, Any], name: str) -> str | None:
    """The id of a decision of the routing with this name in the arguments of a callback."""
    metadata = (kwargs.get("litellm_params") or {}).get("metadata") or {}
    found = metadata.get(name)
    return found if isinstance(found, str) else None


def _reporter(base: Any, routing: Routing) -> Any:
    """Make the callback object that litellm calls; its class must derive from litellm's own."""

    def succeeded(self: Any, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        routing._succeeded(kwargs, response_obj)

    async def succeeded_async(self: Any, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await asyncio.to_thread(routing._succeeded, kwargs, response_obj)

    def failed(self: Any, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        routing._failed(kwargs)

    async def failed_async(self: Any, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        await asyncio.to_thread(routing._failed, kwargs)

    events = {"log_success_event": succeeded, "async_log_success_event": succeeded_async}
    events |= {"log_failure_event": failed, "async_log_failure_event": failed_async}
    return type(routing._name, (base,), events)()  # litellm keeps one callback of each class name
