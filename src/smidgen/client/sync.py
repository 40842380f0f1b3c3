"""The client for ordinary code, and a model of a service."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any, Self

import httpx

from smidgen.client import wire
from smidgen.client.wire import AGAIN, Answer, Learnt, RetryPolicy, content_of, read_event, service_url
from smidgen.knobs import Knobs


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
        body = wire.decision_body(
            given, ids=ids, top=top, key=key, id=id, context=context, features=features, texts=drafts
        )
        body |= more
        path = wire.model_path(self.name) + "/decisions"
        return wire.read_answer(self.client._send("POST", path, wire.encode(body)))

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
        body = wire.decisions_body(given, keys=keys, top=top)
        path = wire.model_path(self.name) + "/decisions:batch"
        return wire.read_answers(self.client._send("POST", path, wire.encode(body)))

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


class Client:
    """A decision service from Python: the same two verbs, over HTTP.

    Every call may be sent again without being carried out twice (each decision has an idempotency id, and the first
    feedback on a decision counts), so lost connections and "not now" (429, 502, 503, 504) are retried with growing
    pauses. May be used by several threads at once.

    Parameters
    ----------
    url
        The service's address, e.g. ``"http://127.0.0.1:8470"``.
    token
        What ``smidgen token create`` printed, if the service needs one.
    timeout
        Seconds to wait for an answer before the attempt counts as lost.
    retries
        How many attempts after the first.
    transport
        Another way to send requests, of httpx: through a Unix socket, or into an application in a test.

    Examples
    --------
    ```python
    import smidgen

    client = smidgen.Client("http://127.0.0.1:8470")
    search = client.create("search", loop="rank")
    d = search.decide({"a": {"topic": "art"}, "b": {"topic": "cars"}}, context={"device": "ios"})
    d.ranking  # ["a", "b"]
    search.learn(d, clicked=["b"])
    search.weights()  # [{"name": "topic=cars", "weight": …}, …]
    ```
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._patience = RetryPolicy(retries)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=service_url(url), headers=headers, timeout=timeout, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def create(
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
    ) -> Model:
        """Make a model, or find it if it is there with the same settings.

        Parameters
        ----------
        name
            Letters, digits, dots, dashes and underscores.
        loop
            rank, choose, label, filter, tune or draft.
        learner
            The name of a learner of that loop, or its class; left out, the one to begin with.
        feedback
            What will come back, which helps to choose the learner: clicks, better, reward, bit, label, ….
        params
            Its arguments; a space may be given as itself, e.g. ``smidgen.Ball(dim=3, radius=1.0)``.
        features
            Leave it out to send records: dicts of numbers, strings, booleans, lists of strings, dicts. Or ``{"auto":
            {"text": [paths], "dim": n}}``; names, in order; ``{"hashed": n}``. With ``dim`` in params alone, features
            go by position.
        labels
            Of the loop label.
        knobs
            Of the loop tune: limits by name, ``{"threads": {"integer": [1, 64]}, "timeout": {"log": [0.01, 10]},
            "ratio": [0, 1]}``, or `smidgen.Knobs`.
        window_s
            How many seconds feedback may take.
        keyed
            Whether every key (user) has a learner of its own.
        id_feature
            Whether the id of a candidate is one of its features; it is, unless told otherwise.
        **more
            Any other setting of the service by its name: ``default_reward``, ``reward_range``, ``explore``,
            ``shadow_of``, ``challenger_of={"model": name, "share": 0.1}``, ``shards``, ….
        """
        given = {"params": params, "features": features, "labels": labels, "window_s": window_s, "keyed": keyed}
        given |= {"knobs": wire.knobs_body(knobs), "feedback": feedback, "id_feature": id_feature, **more}
        self._send("PUT", wire.model_path(name), wire.settings_body(loop, learner, given))
        return Model(self, name)

    def model(self, name: str) -> Model:
        """A handle for a model; asks nothing of the service yet."""
        return Model(self, name)

    def models(self) -> list[dict[str, Any]]:
        """The models at a glance."""
        return list(wire.read_plain(self._send("GET", "/v1/models"))["models"])

    def describe(self, name: str) -> dict[str, Any]:
        """A model at a glance: settings, version, counts, how well it does."""
        return wire.read_plain(self._send("GET", wire.model_path(name)))

    def weights(self, name: str, key: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Names and weights of a model, or of one of its keys, strongest first; of label models with the label."""
        return list(wire.read_plain(self._send("GET", wire.weights_path(name, key, limit)))["weights"])

    def taste(self, name: str, key: str | None = None) -> dict[str, Any]:
        """What people's edits say of their taste: ``taste``, sentences, and ``traits`` with their figures."""
        return wire.read_plain(self._send("GET", wire.taste_path(name, key)))

    def teach(
        self, name: str, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> dict[str, Any]:
        """Teach examples whose answers are known: what a request holds, and its ``answer``; all of them, once.

        Parameters
        ----------
        name
            The model.
        examples
            Of each the ``features``, or the ``candidates`` (and ``context``), and the ``answer``: the right label,
            whether it is relevant, the best candidates in order, the best one, the final text, or
            ``{"choice": id, "reward": x}``.
        key
            Whose learner, of a keyed model.
        id
            Under which the call is known again; one is made, if left out.
        """
        body = wire.examples_body(examples, key=key, id=id)
        return wire.read_plain(self._send("POST", wire.model_path(name) + "/examples", body))

    def health(self, name: str) -> list[dict[str, Any]]:
        """What was found about a model, the worst first, each with its figures and the way out; empty if nothing."""
        return list(wire.read_plain(self._send("GET", wire.model_path(name) + "/health"))["findings"])

    def amend(self, name: str, **changes: Any) -> dict[str, Any]:
        """Change a model that lives: ``add_labels``, ``add_text``, ``window_s``, ``default_reward``, ``explore``, …."""
        return wire.read_plain(self._send("PATCH", wire.model_path(name), wire.encode(changes)))

    def copy(self, name: str, to: str, *, learnt: bool = True) -> dict[str, Any]:
        """Make a copy of a model under another name, with or without what it has learnt."""
        body = wire.encode({"to": to, "learnt": learnt})
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":copy", body))

    def bring(self, name: str, content: bytes, media: str = "application/octet-stream") -> dict[str, Any]:
        """Make a model of a saved learner (``learner.to_bytes()``), or of a log (``application/x-ndjson``)."""
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":import", content, media))

    def archive(self, name: str) -> dict[str, Any]:
        """No more decisions; the log stays, and feedback is taken until its window ends."""
        return wire.read_plain(self._send("DELETE", wire.model_path(name)))

    def revive(self, name: str) -> dict[str, Any]:
        """Let an archived model decide again; it goes on where it was."""
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":revive"))

    def rename(self, name: str, to: str) -> dict[str, Any]:
        """Give an archived model another name, so that its own is free."""
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":rename", wire.encode({"to": to})))

    def tokens(self) -> list[dict[str, Any]]:
        """All tokens without their secrets: id, name, scopes, model, creation, expiry, last use, revocation."""
        return list(wire.read_plain(self._send("GET", "/v1/tokens"))["tokens"])

    def create_token(
        self,
        scopes: Sequence[str],
        *,
        name: str | None = None,
        model: str | None = None,
        expires: str | None = None,
    ) -> dict[str, Any]:
        """Create a token; the reply has its ``id``, and the secret as ``token``, which is shown this once.

        Parameters
        ----------
        scopes
            One or several of ``"decide"``, ``"feedback"``, ``"read"``, ``"admin"``.
        name
            A label for people.
        model
            Limits the token to one model.
        expires
            A span from now (``"12h"``, ``"30d"``, ``"8w"``), or a date or time in UTC (``"2026-12-31"``).
        """
        return wire.read_plain(self._send("POST", "/v1/tokens", wire.token_body(scopes, name, model, expires)))

    def revoke_token(self, id: str) -> dict[str, Any]:
        """Revoke a token by its id: calls that come later are refused."""
        return wire.read_plain(self._send("DELETE", wire.token_path(id)))

    def story(self, decision: Answer | str) -> dict[str, Any]:
        """A decision from beginning to end: shown, answered, learnt at which version, or why not."""
        return wire.read_plain(self._send("GET", wire.decision_path(decision)))

    def shown(self, decision: Answer | str) -> str:
        """Let a decision count that was asked for with ``activate=False``; it was shown, is a duplicate, or late."""
        return str(wire.read_plain(self._send("POST", wire.decision_path(decision) + "/shown"))["status"])

    def learn_many(self, feedback: Iterable[tuple[Answer | str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Tell what many users did, in one call: pairs of a decision and its feedback.

        Returns for each, in order, its ``status`` and ``model_version``, or its ``error``.
        """
        return list(wire.read_plain(self._send("POST", "/v1/feedback:batch", wire.several_body(feedback)))["results"])

    def ubi(self, events: Iterable[Mapping[str, Any]], actions: Sequence[str] | None = None) -> dict[str, Any]:
        """Hand on clicks as events of user behaviour insights (UBI), whose ``query_id`` is the id of a decision.

        Parameters
        ----------
        events
            Events of the UBI schema, as dicts. The clicks on one decision count together: send those of a page at once.
        actions
            The values of ``action_name`` that count as clicks; left out: click, click_through, add_to_cart, ….

        Returns
        -------
        dict
            ``results`` for each decision, and how many events were ``passed_over``, ``unknown`` or ``elsewhere``.
        """
        return wire.read_plain(
            self._send("POST", wire.ubi_path(actions), wire.encode([dict(event) for event in events]))
        )

    def retract(self, decision: Answer | str) -> int:
        """Undo what was learnt of a decision, which is open again; the model's version."""
        return int(wire.read_plain(self._send("POST", wire.decision_path(decision) + ":retract"))["model_version"])

    def rollback(self, name: str, version: int | None = None, *, time: str | float | None = None) -> int:
        """Go back to the weights of a version, or of a moment; the version that this makes.

        The moment is ISO 8601 with a zone, or seconds since 1970. A model with several shards takes a moment only.
        """
        body = wire.encode({"version": version} if time is None else {"time": time})
        return int(wire.read_plain(self._send("POST", wire.model_path(name) + ":rollback", body))["model_version"])

    def retain(self, name: str, older_than_s: float) -> dict[str, Any]:
        """Fold events of this age into the model's base state and erase them; where the log begins now."""
        body = wire.encode({"older_than_s": older_than_s})
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":retain", body))

    def compare(self, name: str) -> dict[str, Any]:
        """A champion and its challenger or shadow, asked by either name: is it better, how sure is that, how long yet.

        ``verdict`` is "better", "worse" or "not yet", and ``in_words`` says the same in a sentence or two.
        """
        return wire.read_plain(self._send("GET", wire.model_path(name) + "/compare"))

    def promote(self, name: str) -> dict[str, Any]:
        """Let the champion of this challenger, or shadow, decide with its settings and state from now on.

        To return, `rollback` the champion to the version before.
        """
        return wire.read_plain(self._send("POST", wire.model_path(name) + ":promote"))

    def forget(self, name: str, key: str) -> int:
        """Forget a key of a model exactly: its events are erased, in copies too; how many there were."""
        return sum((self.forget_everywhere(name, key)).values())

    def forget_everywhere(self, name: str, key: str) -> dict[str, int]:
        """The same; how many events of which models: the model itself first, then its copies."""
        told = wire.read_plain(self._send("DELETE", wire.key_path(name, key)))
        return {name: told["forgotten"], **told["copies"]}

    def learn(self, decision: Answer | str, **feedback: Any) -> Learnt:
        """Tell what the user did, in a second or in a day; once is enough, and twice does no harm.

        Parameters
        ----------
        decision
            What ``decide`` gave, or its id.
        **feedback
            One of the loop's fields. rank: ``clicked``, the candidates in the order of the clicks, or ``better``, those
            that belong at the front, in order. choose: ``better``, the better candidate. label: ``correct``, whether it
            was right, or ``label``, which is. filter: ``relevant``. tune: ``loss``, or the ``gradient`` for learners
            that need it. draft: ``edited``, the final text. The page ``/docs`` of a service lists the fields of all its
            loops.
        """
        body = wire.feedback_body(feedback)
        return wire.read_learnt(self._send("POST", wire.decision_path(decision) + "/feedback", body))

    def log(self, name: str, after: int = 0, shard: int | None = None) -> Iterator[dict[str, Any]]:
        """The model's events after one, in order; a connection that breaks is taken up where it broke.

        Raises `ServiceError` (``code`` ``"log_damaged"``) at an event that is missing, after all before it.

        Of a model with several shards: those of one, after an event of it, or of all, one shard after the other.
        """
        attempt, only, seen = 0, shard is not None, shard
        while True:
            asked = {"after": after} | ({} if shard is None else {"shard": shard})
            try:
                with self._http.stream("GET", wire.model_path(name) + "/log", params=asked) as response:
                    if response.status_code not in AGAIN:
                        for found in _events(response):
                            after, seen, attempt = int(found["seq"]), found.get("shard"), 0
                            yield found
                        if shard is None or only or shard + 1 >= (self.describe(name))["shards"]:
                            return
                        shard, after = shard + 1, 0  # it was taken up in a shard: the others follow
                        continue
                    response.read()
                    wait = self._patience.after_refusal(attempt, response)
            except httpx.TransportError as error:
                wait, shard = self._patience.after_loss(attempt, error), seen
            attempt += 1
            time.sleep(wait)

    def _send(self, method: str, path: str, body: bytes | None = None, media: str = "application/json") -> bytes:
        headers = {"Content-Type": media} if body is not None else {}
        for attempt in count():
            try:
                response = self._http.request(method, path, content=body, headers=headers)
            except httpx.TransportError as error:
                wait = self._patience.after_loss(attempt, error)
            else:
                if response.status_code not in AGAIN:
                    break
                wait = self._patience.after_refusal(attempt, response)
            time.sleep(wait)
        return content_of(response)


def _events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    if not response.is_success:
        response.read()
        content_of(response)
    rest = b""
    for chunk in response.iter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from map(read_event, lines)
