"""A model of a service, for ordinary code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smidgen.client import bodies, paths, replies
from smidgen.client.replies import Answer, Learnt

if TYPE_CHECKING:
    from smidgen.client.synchronous import Client


class Model:
    """A model of a service: `decide` and `learn`.

    Parameters
    ----------
    client
        The service.
    name
        The model's name.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def decide(
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
        """Ask for a decision.

        Parameters
        ----------
        given
            rank, choose: candidates as a dict from id to features, as a list of (id, features), or as the rows of a
            matrix with ``ids`` (sent as float32, which is compact), or `smidgen.Candidates`; label, filter: the
            features of one thing, by position or as a dict by name; tune: nothing. A dict whose values are all objects
            or rows of numbers is taken for candidates.
        ids
            The ids of the candidates whose features are the rows of ``given``.
        top
            rank: how many positions count.
        key
            Of a keyed model: whose decision it is.
        id
            An idempotency id of your own: the same id and request give the same decision. Left out, the decision has
            one that covers the retries of this call.
        context
            rank, choose: a record of what is the same for all candidates.
        features
            The record of one thing, said outright, in the place of ``given``.
        drafts
            draft: the texts to choose from, as a dict from id to text (or to ``{"text": …, "features": …}``), as a list
            of texts, whose ids are then 0, 1, …, or as `smidgen.Drafts`.
        **more
            Any other field of a request by its name: ``exclude``, ids that must not be shown; ``activate=False``, for a
            decision that counts only once `Client.shown` says so; ``chosen``, what the app has chosen itself, which is
            then the answer, and the model is taught it.
        """
        body = bodies.decision(
            given, ids=ids, top=top, key=key, id=id, context=context, features=features, texts=drafts
        )
        body |= more
        path = paths.model(self.name) + "/decisions"
        return replies.answer(self.client._send("POST", path, bodies.encode(body)))

    def decide_many(
        self, given: Any, *, keys: Sequence[str] | str | None = None, top: int | None = None
    ) -> list[Answer]:
        """Ask for many decisions in one call: all of them, or a refusal that names the first bad one.

        Parameters
        ----------
        given
            A list of what `decide` takes, or of pairs (ids, matrix); for label and filter also a matrix of which each
            row is one thing (sent as float32).
        keys
            Of a keyed model: whose decisions they are, one key for each or one for all.
        top
            rank: how many positions count, in all of them.
        """
        body = bodies.decisions(given, keys=keys, top=top)
        path = paths.model(self.name) + "/decisions:batch"
        return replies.answers(self.client._send("POST", path, bodies.encode(body)))

    def weights(self, key: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Its weights by name, strongest first."""
        return self.client.weights(self.name, key, limit)

    def taste(self, key: str | None = None) -> dict[str, Any]:
        """What people's edits say of their taste, in words and by trait; see `Client.taste`."""
        return self.client.taste(self.name, key)

    def learn(self, decision: Answer | str, **feedback: Any) -> Learnt:
        """Tell what the user did; see `Client.learn`."""
        return self.client.learn(decision, **feedback)

    def compare(self) -> dict[str, Any]:
        """How the challenger or shadow beside it does, or how it does beside its champion; see `Client.compare`."""
        return self.client.compare(self.name)

    def promote(self) -> dict[str, Any]:
        """Let its champion decide with its settings and state from now on."""
        return self.client.promote(self.name)

    def health(self) -> list[dict[str, Any]]:
        """What was found about it, the worst first."""
        return self.client.health(self.name)

    def story(self, decision: Answer | str) -> dict[str, Any]:
        """A decision from beginning to end."""
        return self.client.story(decision)

    def describe(self) -> dict[str, Any]:
        """The model at a glance."""
        return self.client.describe(self.name)

    def log(self, after: int = 0, shard: int | None = None) -> Iterator[dict[str, Any]]:
        """Its events, in order."""
        return self.client.log(self.name, after, shard)

    def teach(
        self, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> dict[str, Any]:
        """Teach examples whose answers are known; see `Client.teach`."""
        return self.client.teach(self.name, examples, key=key, id=id)

    def archive(self) -> dict[str, Any]:
        """No more decisions; the log stays."""
        return self.client.archive(self.name)
