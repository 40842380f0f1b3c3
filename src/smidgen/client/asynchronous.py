"""The client for code with ``await``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self

import httpx

from smidgen.client import bodies, paths, replies
from smidgen.client.asynchronous_model import AsyncModel
from smidgen.client.gathering import Gathering
from smidgen.client.patience import AGAIN, Patience, address, checked, event
from smidgen.client.replies import Answer, Learnt
from smidgen.knobs import Knobs


class AsyncClient:
    """A decision service from asynchronous Python; each verb of `Client`, to be awaited.

    Parameters
    ----------
    url, token, timeout, retries
        As for `Client`.
    batch
        How many decisions that are asked for at the same time may share a call; 1 sends each by itself. A bad one
        does not spoil the others: they are then sent one by one.
    transport
        Another way to send requests, of httpx.

    Examples
    --------
    ```python
    async with smidgen.AsyncClient("http://127.0.0.1:8470", batch=64) as client:
        spam = client.model("spam")
        answers = await asyncio.gather(*(spam.decide(mail) for mail in mails))  # in one call
        await spam.learn(answers[0], correct=True)
    ```
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        batch: int = 1,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._patience = Patience(retries)
        self._batch = batch
        self._gatherings: dict[str, Gathering] = {}
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(base_url=address(url), headers=headers, timeout=timeout, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def create(
        self,
        name: str,
        *,
        loop: str,
        learner: str | type | None = None,
        feedback: str | None = None,
        params: Mapping[str, Any] | None = None,
        features: Sequence[str] | Mapping[str, Any] | None = None,
        labels: Sequence[str] | None = None,
        knobs: Mapping[str, Any] | Knobs | None = None,
        window_s: float | None = None,
        keyed: bool | None = None,
        id_feature: bool | None = None,
        **more: Any,
    ) -> AsyncModel:
        """Make a model, or find it if it is there with the same settings; see `Client.create`."""
        given = {"params": params, "features": features, "labels": labels, "window_s": window_s, "keyed": keyed}
        given |= {"knobs": bodies.knobs(knobs), "feedback": feedback, "id_feature": id_feature, **more}
        await self._send("PUT", paths.model(name), bodies.settings(loop, learner, given))
        return AsyncModel(self, name)

    def model(self, name: str) -> AsyncModel:
        """A handle for a model; asks nothing of the service yet."""
        return AsyncModel(self, name)

    async def models(self) -> list[dict[str, Any]]:
        """The models at a glance."""
        return list(replies.plain(await self._send("GET", "/v1/models"))["models"])

    async def describe(self, name: str) -> dict[str, Any]:
        """A model at a glance."""
        return replies.plain(await self._send("GET", paths.model(name)))

    async def weights(self, name: str, key: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Names and weights, strongest first; see `Client.weights`."""
        return list(replies.plain(await self._send("GET", paths.weights(name, key, limit)))["weights"])

    async def taste(self, name: str, key: str | None = None) -> dict[str, Any]:
        """What people's edits say of their taste: ``taste``, sentences, and ``traits`` with their figures."""
        return replies.plain(await self._send("GET", paths.taste(name, key)))

    async def teach(
        self, name: str, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> dict[str, Any]:
        """Teach examples whose answers are known, all of them, once; see `Client.teach`."""
        body = bodies.examples(examples, key=key, id=id)
        return replies.plain(await self._send("POST", paths.model(name) + "/examples", body))

    async def health(self, name: str) -> list[dict[str, Any]]:
        """What was found about a model, the worst first, each with its figures and the way out; empty if nothing."""
        return list(replies.plain(await self._send("GET", paths.model(name) + "/health"))["findings"])

    async def amend(self, name: str, **changes: Any) -> dict[str, Any]:
        """Change a model that lives: ``add_labels``, ``add_text``, ``window_s``, ``default_reward``, ``explore``, …."""
        return replies.plain(await self._send("PATCH", paths.model(name), bodies.encode(changes)))

    async def copy(self, name: str, to: str, *, learnt: bool = True) -> dict[str, Any]:
        """Make a copy of a model under another name, with or without what it has learnt."""
        body = bodies.encode({"to": to, "learnt": learnt})
        return replies.plain(await self._send("POST", paths.model(name) + ":copy", body))

    async def bring(self, name: str, content: bytes, media: str = "application/octet-stream") -> dict[str, Any]:
        """Make a model of a saved learner (``learner.to_bytes()``), or of a log (``application/x-ndjson``)."""
        return replies.plain(await self._send("POST", paths.model(name) + ":import", content, media))

    async def archive(self, name: str) -> dict[str, Any]:
        """No more decisions; the log stays."""
        return replies.plain(await self._send("DELETE", paths.model(name)))

    async def revive(self, name: str) -> dict[str, Any]:
        """Let an archived model decide again; it goes on where it was."""
        return replies.plain(await self._send("POST", paths.model(name) + ":revive"))

    async def rename(self, name: str, to: str) -> dict[str, Any]:
        """Give an archived model another name, so that its own is free."""
        return replies.plain(await self._send("POST", paths.model(name) + ":rename", bodies.encode({"to": to})))

    async def tokens(self) -> list[dict[str, Any]]:
        """All tokens without their secrets: id, name, scopes, model, creation, expiry, last use, revocation."""
        return list(replies.plain(await self._send("GET", "/v1/tokens"))["tokens"])

    async def create_token(
        self,
        scopes: Sequence[str],
        *,
        name: str | None = None,
        model: str | None = None,
        expires: str | None = None,
    ) -> dict[str, Any]:
        """Create a token; its secret is ``token`` of the reply, shown this once. See `Client.create_token`."""
        return replies.plain(await self._send("POST", "/v1/tokens", bodies.token(scopes, name, model, expires)))

    async def revoke_token(self, id: str) -> dict[str, Any]:
        """Revoke a token by its id: calls that come later are refused."""
        return replies.plain(await self._send("DELETE", paths.token(id)))

    async def story(self, decision: Answer | str) -> dict[str, Any]:
        """A decision from beginning to end."""
        return replies.plain(await self._send("GET", paths.decision(decision)))

    async def shown(self, decision: Answer | str) -> str:
        """Let a decision count that was asked for with ``activate=False``; it was shown, is a duplicate, or late."""
        return str(replies.plain(await self._send("POST", paths.decision(decision) + "/shown"))["status"])

    async def learn_many(self, feedback: Iterable[tuple[Answer | str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Tell what many users did, in one call: pairs of a decision and its feedback.

        Returns for each, in order, its ``status`` and ``model_version``, or its ``error``.
        """
        return list(replies.plain(await self._send("POST", "/v1/feedback:batch", bodies.several(feedback)))["results"])

    async def ubi(self, events: Iterable[Mapping[str, Any]], actions: Sequence[str] | None = None) -> dict[str, Any]:
        """Hand on clicks as events of user behaviour insights; see `Client.ubi`."""
        return replies.plain(
            await self._send("POST", paths.ubi(actions), bodies.encode([dict(event) for event in events]))
        )

    async def retract(self, decision: Answer | str) -> int:
        """Undo what was learnt of a decision, which is open again; the model's version."""
        return int(replies.plain(await self._send("POST", paths.decision(decision) + ":retract"))["model_version"])

    async def rollback(self, name: str, version: int | None = None, *, time: str | float | None = None) -> int:
        """Go back to the weights of a version, or of a moment; the version that this makes.

        The moment is ISO 8601 with a zone, or seconds since 1970. A model with several shards takes a moment only.
        """
        body = bodies.encode({"version": version} if time is None else {"time": time})
        return int(replies.plain(await self._send("POST", paths.model(name) + ":rollback", body))["model_version"])

    async def retain(self, name: str, older_than_s: float) -> dict[str, Any]:
        """Fold events of this age into the model's base state and erase them; where the log begins now."""
        body = bodies.encode({"older_than_s": older_than_s})
        return replies.plain(await self._send("POST", paths.model(name) + ":retain", body))

    async def compare(self, name: str) -> dict[str, Any]:
        """A champion and its challenger or shadow, asked by either name: is it better, how sure is that, how long yet.

        ``verdict`` is "better", "worse" or "not yet", and ``in_words`` says the same in a sentence or two.
        """
        return replies.plain(await self._send("GET", paths.model(name) + "/compare"))

    async def promote(self, name: str) -> dict[str, Any]:
        """Let the champion of this challenger, or shadow, decide with its settings and state from now on.

        To return, `rollback` the champion to the version before.
        """
        return replies.plain(await self._send("POST", paths.model(name) + ":promote"))

    async def forget(self, name: str, key: str) -> int:
        """Forget a key of a model exactly: its events are erased, in copies too; how many there were."""
        return sum((await self.forget_everywhere(name, key)).values())

    async def forget_everywhere(self, name: str, key: str) -> dict[str, int]:
        """The same; how many events of which models: the model itself first, then its copies."""
        told = replies.plain(await self._send("DELETE", paths.key(name, key)))
        return {name: told["forgotten"], **told["copies"]}

    async def learn(self, decision: Answer | str, **feedback: Any) -> Learnt:
        """Tell what the user did; the arguments are those of `Client.learn`."""
        path = paths.decision(decision) + "/feedback"
        return replies.learnt(await self._send("POST", path, bodies.feedback(feedback)))

    async def log(self, name: str, after: int = 0, shard: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """The model's events after one, in order; a connection that breaks is taken up where it broke.

        Raises `ServiceError` (``code`` ``"log_damaged"``) at an event that is missing, after all before it.

        Of a model with several shards: those of one, after an event of it, or of all, one shard after the other.
        """
        attempt, only, seen = 0, shard is not None, shard
        while True:
            asked = {"after": after} | ({} if shard is None else {"shard": shard})
            try:
                async with self._http.stream("GET", paths.model(name) + "/log", params=asked) as response:
                    if response.status_code not in AGAIN:
                        async for found in _events(response):
                            after, seen, attempt = int(found["seq"]), found.get("shard"), 0
                            yield found
                        if shard is None or only or shard + 1 >= (await self.describe(name))["shards"]:
                            return
                        shard, after = shard + 1, 0  # it was taken up in a shard: the others follow
                        continue
                    await response.aread()
                    wait = self._patience.after_refusal(attempt, response)
            except httpx.TransportError as error:
                wait, shard = self._patience.after_loss(attempt, error), seen
            attempt += 1
            await asyncio.sleep(wait)

    async def _decide(self, name: str, body: dict[str, Any]) -> Answer:
        if self._batch > 1:
            gathering = self._gatherings.setdefault(name, Gathering(self._batch))
            return await gathering.add(body, lambda several: self._decide_all(name, several))
        return replies.answer(await self._send("POST", paths.model(name) + "/decisions", bodies.encode(body)))

    async def _decide_all(self, name: str, several: list[dict[str, Any]]) -> list[Answer]:
        if len(several) == 1:
            path = paths.model(name) + "/decisions"
            return [replies.answer(await self._send("POST", path, bodies.encode(several[0])))]
        return await self._batched(name, {"decisions": several})

    async def _batched(self, name: str, body: dict[str, Any]) -> list[Answer]:
        return replies.answers(await self._send("POST", paths.model(name) + "/decisions:batch", bodies.encode(body)))

    async def _send(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> bytes:
        headers = {"Content-Type": media} if body is not None else {}
        for attempt in count():
            try:
                response = await self._http.request(method, path, content=body, headers=headers)
            except httpx.TransportError as error:
                wait = self._patience.after_loss(attempt, error)
            else:
                if response.status_code not in AGAIN:
                    break
                wait = self._patience.after_refusal(attempt, response)
            await asyncio.sleep(wait)
        return checked(response)


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    if not response.is_success:
        await response.aread()
        checked(response)
    rest = b""
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield event(line)
