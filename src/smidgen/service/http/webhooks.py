"""Webhooks: changes of health findings and of verdicts, sent to an address of the operator's.

Off by default (`--webhook`). Each message is a CloudEvent 1.0 (structured JSON), signed as the Standard Webhooks
specification describes: the headers ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``, which is ``v1,``
and the base64 of HMAC-SHA256 over ``id.timestamp.body``. A receiver answers 2xx; anything else is retried with growing
pauses, in order, with the same id. What is known lives in memory: after a restart, findings that are still open are
sent again.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import time
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.service.engine.model import ServedModel
from smidgen.service.http.resources import Service
from smidgen.service.log.events import stamp
from smidgen.service.monitoring.compare import compare_arms
from smidgen.service.monitoring.worth import worth_of
from smidgen.service.schemas import Finding

if TYPE_CHECKING:
    import httpx

#: Environment variable of the secret that signs, and its fewest characters.
VARIABLE, SHORTEST = "SMIDGEN_WEBHOOK_SECRET", 16
#: Seconds between two looks at the models, and how long one look may compute verdicts.
LOOK_S, BUDGET_S = 15.0, 2.0
#: Pauses in seconds between the tries of one message; after the last it is dropped.
PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0)
#: Longest time for one try, and most messages that wait; beyond that the oldest is dropped.
TIMEOUT_S, MOST = 5.0, 1_000
_log = logging.getLogger("smidgen.service")


class Message(NamedTuple):
    """A CloudEvent: its id and its body."""

    id: str
    body: bytes


def signature(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """Sign a message.

    Parameters
    ----------
    secret
        The secret as text, or ``whsec_`` and its base64.
    id, timestamp, body
        The message and its time in seconds since 1970.

    Examples
    --------
    >>> from smidgen.service.http.webhooks import signature
    >>> secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    >>> signature(secret, id, 1614265330, b'{"test": 2432232314}')  # the example of the specification
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    signed = hmac.new(key, b"%s.%d." % (id.encode(), timestamp) + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()


class Watcher:
    """Compares what is true of the models now with what was true at the last look, and writes the messages.

    Parameters
    ----------
    source
        The ``source`` of the events: the public address of the service.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._findings: dict[str, dict[str, Finding]] = {}
        self._verdicts: dict[tuple[str, str], str] = {}

    def findings(self, model: str, found: Iterable[Finding], now: float) -> list[Message]:
        """Messages about findings of a model that are new, became more or less severe, or are gone."""
        known = self._findings.get(model, {})
        present: dict[str, Finding] = {each.code: each for each in found}
        severities = {code: each.severity for code, each in known.items()}
        opened = [each for code, each in present.items() if severities.get(code) != each.severity]
        closed = [each for code, each in known.items() if code not in present]
        self._findings[model] = present
        return [
            self._message(kind, model, now, each)
            for kind, changed in (("finding.opened", opened), ("finding.closed", closed))
            for each in changed
        ]

    def verdict(self, model: str, kind: str, verdict: str, details: Any, now: float) -> list[Message]:
        """Message about a verdict that is not what it was; "not yet" at first is no news."""
        before = self._verdicts.get((model, kind), "not yet")
        self._verdicts[model, kind] = verdict
        if verdict == before:
            return []
        data = {"kind": kind, "verdict": verdict, "before": before, "details": details}
        return [self._message("verdict.changed", model, now, data)]

    def forget(self, names: set[str]) -> None:
        """Forget models that are gone."""
        self._findings = {name: known for name, known in self._findings.items() if name in names}
        self._verdicts = {key: known for key, known in self._verdicts.items() if key[0] in names}

    def _message(self, kind: str, model: str, now: float, data: Any) -> Message:
        id = uuid.uuid4().hex
        event = {
            "specversion": "1.0",
            "id": id,
            "source": self._source,
            "type": f"smidgen.{kind}",
            "subject": model,
            "time": stamp(now),
            "datacontenttype": "application/json",
            "data": data,
        }
        return Message(id, msgspec.json.encode(event))


class Webhooks:
    """Watches the models that this worker owns and delivers messages about them.

    Parameters
    ----------
    here
        The running service.
    url, secret
        Where messages go, and what signs them.
    """

    def __init__(self, here: Service, url: str, secret: str) -> None:
        self._here = here
        self._url = url
        self._secret = secret
        self._watcher = Watcher(here.options.public_url or "smidgen")
        self._waiting: deque[Message] = deque()
        self._arrived = asyncio.Event()

    async def watch(self, every_s: float = LOOK_S) -> None:
        """Look at the models again and again."""
        while True:
            try:
                self._enqueue(await asyncio.to_thread(self._look))
            except SmidgenError as error:
                _log.warning("webhooks: the models could not be looked at: %s", error)
            await asyncio.sleep(every_s)

    async def deliver(self, pauses: Sequence[float] = PAUSES) -> None:
        """Send what waits, in order; a message is dropped after its last try."""
        import httpx  # a tenth of the time to start, and few services send webhooks

        async with httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as client:
            while True:
                while not self._waiting:
                    self._arrived.clear()
                    await self._arrived.wait()
                message = self._waiting.popleft()
                result = "delivered" if await self._send(client, message, pauses) else "failed"
                self._here.metrics.count("webhook", result)

    async def _send(self, client: httpx.AsyncClient, message: Message, pauses: Sequence[float]) -> bool:
        import httpx

        for pause in (*pauses, None):
            now = int(time.time())
            headers = {
                "content-type": "application/cloudevents+json",
                "webhook-id": message.id,
                "webhook-timestamp": str(now),
                "webhook-signature": signature(self._secret, message.id, now, message.body),
            }
            try:
                async with client.stream("POST", self._url, content=message.body, headers=headers) as answer:
                    if answer.is_success:
                        return True
                    problem = f"status {answer.status_code}"
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
            if pause is None:
                break
            await asyncio.sleep(pause)
        _log.warning("webhooks: message %s was dropped after %d tries: %s", message.id, len(pauses) + 1, problem)
        return False

    def _enqueue(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if len(self._waiting) == MOST:
                self._waiting.popleft()
                self._here.metrics.count("webhook", "dropped")
            self._waiting.append(message)
        if self._waiting:
            self._arrived.set()

    def _look(self) -> list[Message]:
        here = self._here
        now = here.engine.clock()
        models = [model for model in here.models() if here.engine.owns(model.shard) and model.archived_at is None]
        by_name: dict[str, list[Finding]] = {}
        for name, finding in here.health.figures(here.reading, models, now):
            by_name.setdefault(name, []).append(finding)
        messages = []
        for model in models:
            if here.health.is_judged(model):
                messages += self._watcher.findings(model.name, by_name.get(model.name, []), now)
        began = time.monotonic()
        for model in models:
            if time.monotonic() > began + BUDGET_S:
                break
            messages += self._verdicts(model, now)
        self._watcher.forget({model.name for model in models})
        return messages

    def _verdicts(self, model: ServedModel, now: float) -> list[Message]:
        found: list[Message] = []
        if model.blueprint.terms.holdout is not None:
            worth = worth_of(self._here.reading, model, now)
            found += self._watcher.verdict(model.name, "worth", worth.verdict, worth.lift, now)
        if model.arms:
            arm = compare_arms(self._here.reading, model, now)
            found += self._watcher.verdict(model.name, "compare", arm.verdict, arm.difference, now)
        return found


def check_webhook(url: str, secret: str) -> None:
    """Refuse an address or a secret that cannot be used."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(
            f"the webhook address is {url!r} and must be an http or https URL",
            "give the receiver's address, e.g. --webhook https://ops.example.org/smidgen",
        )
    if len(secret) < SHORTEST:
        raise InvalidArgument(
            f"{VARIABLE} has {len(secret)} characters and must have at least {SHORTEST}",
            f"set a random secret, e.g. {VARIABLE}=$(openssl rand -hex 32), and give it to the receiver",
        )
