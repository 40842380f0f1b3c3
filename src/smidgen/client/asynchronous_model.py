"""A model of a service, for code with ``await``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smidgen.client import bodies
from smidgen.client.replies import Answer, Learnt

if TYPE_CHECKING:
    from smidgen.client.asynchronous import AsyncClient


class AsyncModel:
    """A model of a service: `decide` and `learn`, to be awaited. The arguments are those of `Model`.

    Parameters
    ----------
    client
        The service.
    name
        The model's name.
    """

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"AsyncModel({self.name!r})"

    async def decide(
        self,
        given: Any = None,
        *,
        ids: Sequence[str | int] | None = None,
        top: int | None = None,
        key: str | None = None,
        id: str | None = None,
        context: Any = None,
        features: Any = None,
        drafts: Any = None,
        **more: Any,
    ) -> Answer:
        """Ask for a decision; see `Model.decide`."""
        body = bodies.decision(
            given, ids=ids, top=top, key=key, id=id, context=context, features=features, texts=drafts
        )
        body |= more
        return await self.client._decide(self.name, body)

    async def decide_many(
        self, given: Any, *, keys: Sequence[str] | str | None = None, top: int | None = None
    ) -> list[Answer]:
        """Ask for many decisions in one call; see `Model.decide_many`."""
        return await self.client._batched(self.name, bodies.decisions(given, keys=keys, top=top))

    async def weights(self, key: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Its weights by name, strongest first."""
        return await self.client.weights(self.name, key, limit)

    async def taste(self, key: str | None = None) -> dict[str, Any]:
        """What people's edits say of their taste, in words and by trait; see `Client.taste`."""
        return await self.client.taste(self.name, key)

    async def learn(self, decision: Answer | str, **feedback: Any) -> Learnt:
        """Tell what the user did; see `Client.learn`."""
        return await self.client.learn(decision, **feedback)

    async def compare(self) -> dict[str, Any]:
        """How the challenger or shadow beside it does, or how it does beside its champion; see `Client.compare`."""
        return await self.client.compare(self.name)

    async def promote(self) -> dict[str, Any]:
        """Let its champion decide with its settings and state from now on."""
        return await self.client.promote(self.name)

    async def health(self) -> list[dict[str, Any]]:
        """What was found about it, the worst first."""
        return await self.client.health(self.name)

    async def story(self, decision: Answer | str) -> dict[str, Any]:
        """A decision from beginning to end."""
        return await self.client.story(decision)

    async def describe(self) -> dict[str, Any]:
        """The model at a glance."""
        return await self.client.describe(self.name)

    def log(self, after: int = 0, shard: int | None = None) -> AsyncIterator[dict[str, Any]]:
        """Its events, in order."""
        return self.client.log(self.name, after, shard)

    async def teach(
        self, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> dict[str, Any]:
        """Teach examples whose answers are known; see `AsyncClient.teach`."""
        return await self.client.teach(self.name, examples, key=key, id=id)

    async def archive(self) -> dict[str, Any]:
        """No more decisions; the log stays."""
        return await self.client.archive(self.name)
