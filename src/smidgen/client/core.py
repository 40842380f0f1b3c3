"""The client without I/O: every call of the service described once, retries, and the reading of logs.

`Client` and `AsyncClient` are shells around it that send what it describes, and differ in awaiting only. They repeat a
call whose reply was lost only if it is not carried out twice: decisions and examples have an id, and the first feedback
counts.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, overload

import httpx

from smidgen.client import wire
from smidgen.client.wire import Answer, Learnt, ServiceError, Unreachable
from smidgen.knobs import Knobs

T = TypeVar("T")
M = TypeVar("M")
R = TypeVar("R", covariant=True)
P = ParamSpec("P")


@dataclass(frozen=True)
class Call(Generic[R]):
    """A call of the service: method, path, body and how to read its reply.

    Attributes
    ----------
    method, path
        Where it goes.
    read
        Makes the result from the content of a reply.
    body, media
        What is sent, if anything, and its media type.
    item
        Of a decision: its body, which may also go to ``path:batch`` together with others.
    repeatable
        False if a second request would do it again, or would be refused because the first one was carried out.
    progress
        Is called with a line of text before each wait for another attempt.
    """

    method: str
    path: str
    read: Callable[[bytes], R]
    body: bytes | None = None
    media: str = "application/json"
    item: dict[str, Any] | None = None
    repeatable: bool = True
    progress: Callable[[str], object] | None = None

    def report_wait(self, cause: httpx.Response | httpx.TransportError, seconds: float) -> None:
        """Say why the call waits, and how long."""
        if self.progress is None:
            return
        if isinstance(cause, httpx.Response):
            why = wire.refusal(cause.status_code, cause.content).problem
        else:
            why = f"there is no reply: {cause or type(cause).__name__}"
        self.progress(f"{why}; the next attempt is in {seconds:.1f} s")

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the request."""
        return {} if self.body is None else {"Content-Type": self.media}


class SyncShell(ABC):
    """Carries out calls at once."""

    @abstractmethod
    def _perform(self, describe: Callable[[], Call[T]]) -> T: ...


class AsyncShell(ABC):
    """Carries out calls when they are awaited."""

    @abstractmethod
    async def _perform(self, describe: Callable[[], Call[T]]) -> T: ...


class Method(Protocol[P, R]):
    """A method of a shell: gives the result of a call, or what is awaited for it."""

    @property
    def call(self) -> Callable[Concatenate[Any, P], Call[R]]:
        """The description of the call."""
        ...

    @overload
    def __get__(self, shell: None, owner: Any) -> Self: ...
    @overload
    def __get__(self, shell: SyncShell, owner: Any) -> Callable[P, R]: ...
    @overload
    def __get__(self, shell: AsyncShell, owner: Any) -> Callable[P, Coroutine[Any, Any, R]]: ...


def method(describe: Callable[Concatenate[Any, P], Call[R]]) -> Method[P, R]:
    """Turn the description of a call into the method that carries it out."""

    @wraps(describe)
    def perform(self: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self._perform(lambda: describe(self, *args, **kwargs))

    vars(perform)["call"] = describe
    return cast("Method[P, R]", perform)


def _get(path: str) -> Call[dict[str, Any]]:
    return Call("GET", path, wire.read_plain)


def _post(path: str, body: bytes | None = None) -> Call[dict[str, Any]]:
    return Call("POST", path, wire.read_plain, body)


def _once(call: Call[T]) -> Call[T]:
    """The call, which is not repeated when its reply is lost."""
    return replace(call, repeatable=False)


def _delete(path: str) -> Call[dict[str, Any]]:
    return Call("DELETE", path, wire.read_plain)


def _part(asked: Call[dict[str, Any]], name: str, kind: Callable[[Any], T]) -> Call[T]:
    """The call, with one field of its reply as the result."""
    return replace(cast("Call[Any]", asked), read=lambda content: kind(wire.read_plain(content)[name]))


class ClientCalls(ABC, Generic[M]):
    """The calls of a client; a handle of a model is an `M`."""

    def model(self, name: str) -> M:
        """A handle for a model; asks nothing of the service yet."""
        return self._handle(name)

    @abstractmethod
    def _handle(self, name: str) -> M: ...

    @method
    def create(
        self,
        /,
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
        progress: Callable[[str], object] | None = None,
        **more: Any,
    ) -> Call[M]:
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
            "ratio": [0, 1], "mode": {"categories": ["bulk", "stream"]}}``, or `smidgen.Knobs`.
        window_s
            How many seconds feedback may take.
        keyed
            Whether every key (user) has a learner of its own.
        id_feature
            True (the default) if the id of a candidate is one of its features.
        progress
            Is called with a line of text before each wait for another attempt, e.g. ``print``: a service that is
            starting, or cannot be reached.
        **more
            Any other setting of the service by its name: ``default_reward``, ``reward_range``, ``explore``,
            ``safe={"knobs": setting, "margin": 0.05}`` of the loop tune, ``shadow_of``,
            ``challenger_of={"model": name, "share": 0.1}``, ``shards``, ….
        """
        given = {"params": params, "features": features, "labels": labels, "window_s": window_s, "keyed": keyed}
        given |= {"knobs": wire.knobs_body(knobs), "feedback": feedback, "id_feature": id_feature, **more}
        body = wire.settings_body(loop, learner, given)
        return Call("PUT", wire.model_path(name), lambda _: self.model(name), body, progress=progress)

    @method
    def models(self) -> Call[list[dict[str, Any]]]:
        """The models at a glance."""
        return _part(_get("/v1/models"), "models", list)

    @method
    def describe(self, name: str, *, context: Any = None) -> Call[dict[str, Any]]:
        """A model at a glance: settings, version, counts, how well it does; of tune ``best``, in a context if given."""
        return _get(wire.context_path(name, context))

    @method
    def weights(
        self, name: str, key: str | None = None, limit: int | None = None, expand: str | None = None
    ) -> Call[list[dict[str, Any]]]:
        """Names and weights of a model, or of one of its keys, strongest first; of label models with the label.

        A vector has one line; ``expand`` names the field (several with commas) to show column by column.
        """
        return _part(_get(wire.weights_path(name, key, limit, expand)), "weights", list)

    @method
    def taste(self, name: str, key: str | None = None) -> Call[dict[str, Any]]:
        """The users' taste, estimated from their edits: ``taste``, sentences, and ``traits`` with their figures."""
        return _get(wire.taste_path(name, key))

    @method
    def teach(
        self, name: str, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> Call[dict[str, Any]]:
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
        return _post(wire.model_path(name) + "/examples", wire.examples_body(examples, key=key, id=id))

    @method
    def health(self, name: str) -> Call[list[dict[str, Any]]]:
        """Findings about a model, the most severe first, each with its figures and a hint; empty if there are none."""
        return _part(_get(wire.model_path(name) + "/health"), "findings", list)

    @method
    def amend(self, /, name: str, **changes: Any) -> Call[dict[str, Any]]:
        """Change a model that lives: ``add_labels``, ``add_text``, ``window_s``, ``default_reward``, ``explore``, …."""
        return Call("PATCH", wire.model_path(name), wire.read_plain, wire.encode(changes))

    @method
    def copy(self, name: str, to: str, *, learnt: bool = True) -> Call[dict[str, Any]]:
        """Make a copy of a model under another name, with or without what it has learnt."""
        return _once(_post(wire.model_path(name) + ":copy", wire.encode({"to": to, "learnt": learnt})))

    @method
    def import_model(self, name: str, content: bytes, media: str = "application/octet-stream") -> Call[dict[str, Any]]:
        """Make a model of a saved learner (``learner.to_bytes()``), or of a log (``application/x-ndjson``)."""
        call = Call("POST", wire.model_path(name) + ":import", wire.read_plain, content, media)
        return call if media == "application/x-dsjson" else _once(call)  # events of dsjson are taught once by their ids

    bring = import_model  # its name in the first clients

    @method
    def archive(self, name: str) -> Call[dict[str, Any]]:
        """No more decisions; the log stays, and feedback is taken until its window ends."""
        return _delete(wire.model_path(name))

    @method
    def revive(self, name: str) -> Call[dict[str, Any]]:
        """Let an archived model decide again; it goes on where it was."""
        return _post(wire.model_path(name) + ":revive")

    @method
    def rename(self, name: str, to: str) -> Call[dict[str, Any]]:
        """Give an archived model another name, so that its own is free."""
        return _once(_post(wire.model_path(name) + ":rename", wire.encode({"to": to})))

    @method
    def tokens(self) -> Call[list[dict[str, Any]]]:
        """All tokens without their secrets: id, name, scopes, model, creation, expiry, last use, revocation."""
        return _part(_get("/v1/tokens"), "tokens", list)

    @method
    def create_token(
        self,
        scopes: Sequence[str],
        *,
        name: str | None = None,
        model: str | None = None,
        expires: str | None = None,
    ) -> Call[dict[str, Any]]:
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
        return _once(_post("/v1/tokens", wire.token_body(scopes, name, model, expires)))

    @method
    def revoke_token(self, id: str) -> Call[dict[str, Any]]:
        """Revoke a token by its id: calls that come later are refused."""
        return _delete(wire.token_path(id))

    @method
    def story(self, decision: Answer | str) -> Call[dict[str, Any]]:
        """A decision from beginning to end: shown, answered, learnt at which version, or why not."""
        return _get(wire.decision_path(decision))

    @method
    def shown(self, decision: Answer | str) -> Call[str]:
        """Let a decision count that was asked for with ``activate=False``; it was shown, is a duplicate, or late."""
        return _part(_post(wire.decision_path(decision) + "/shown"), "status", str)

    @method
    def learn_many(self, feedback: Iterable[tuple[Answer | str, Mapping[str, Any]]]) -> Call[list[dict[str, Any]]]:
        """Tell what many users did, in one call: pairs of a decision and its feedback.

        Returns for each, in order, its ``status`` and ``model_version``, or its ``error``.
        """
        return _part(_post("/v1/feedback:batch", wire.several_body(feedback)), "results", list)

    @method
    def ubi(self, events: Iterable[Mapping[str, Any]], actions: Sequence[str] | None = None) -> Call[dict[str, Any]]:
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
        return _post(wire.ubi_path(actions), wire.encode([dict(event) for event in events]))

    @method
    def retract(self, decision: Answer | str) -> Call[int]:
        """Undo what was learnt of a decision, which is open again; the model's version."""
        return _part(_once(_post(wire.decision_path(decision) + ":retract")), "model_version", int)

    @method
    def rollback(self, name: str, version: int | None = None, *, time: str | float | None = None) -> Call[int]:
        """Go back to the weights of a version, or of a moment; the version that this makes.

        The moment is ISO 8601 with a zone, or seconds since 1970. A model with several shards takes a moment only.
        """
        body = wire.encode({"version": version} if time is None else {"time": time})
        return _part(_once(_post(wire.model_path(name) + ":rollback", body)), "model_version", int)

    @method
    def retain(self, name: str, older_than_s: float) -> Call[dict[str, Any]]:
        """Fold events of this age into the model's base state and erase them; where the log begins now."""
        return _post(wire.model_path(name) + ":retain", wire.encode({"older_than_s": older_than_s}))

    @method
    def compare(self, name: str) -> Call[dict[str, Any]]:
        """A champion and its challenger or shadow, asked by either name: is it better, how sure is that, how long yet.

        ``verdict`` is "better", "worse" or "not yet", and ``in_words`` says the same in a sentence or two.
        """
        return _get(wire.model_path(name) + "/compare")

    @method
    def worth(self, name: str) -> Call[dict[str, Any]]:
        """Return what a model is worth against its holdout: means, lift, ``verdict``, and a check of the split."""
        return _get(wire.model_path(name) + "/worth")

    @method
    def candidates(self, name: str, *, holdout: bool = False) -> Call[list[dict[str, Any]]]:
        """Return what each candidate, label or answer of a filter earned, with intervals, the most shown first.

        ``holdout=True`` counts the decisions of the model's holdout too.
        """
        return _part(_get(wire.candidates_path(name, holdout)), "candidates", list)

    @method
    def segments(self, name: str, by: str) -> Call[dict[str, Any]]:
        """Return what decisions earned by the value of a field of their records, e.g. ``by="context.device"``."""
        return _get(wire.segments_path(name, by))

    @method
    def promote(self, name: str) -> Call[dict[str, Any]]:
        """Let the champion of this challenger, or shadow, decide with its settings and state from now on.

        To return, `rollback` the champion to the version before.
        """
        return _once(_post(wire.model_path(name) + ":promote"))

    @method
    def forget(self, name: str, key: str) -> Call[int]:
        """Forget a key of a model exactly: its events are erased, in copies too; how many there were."""
        found = ClientCalls.forget_everywhere.call(self, name, key)
        return replace(cast("Call[Any]", found), read=lambda content: sum(wire.read_forgotten(content, name).values()))

    @method
    def forget_everywhere(self, name: str, key: str) -> Call[dict[str, int]]:
        """Forget a key; returns the number of forgotten events by model: the model itself first, then its copies."""
        return _once(Call("DELETE", wire.key_path(name, key), lambda content: wire.read_forgotten(content, name)))

    @method
    def learn(self, /, decision: Answer | str, **feedback: Any) -> Call[Learnt]:
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

            Next to it, or alone, ``costs``, what the decision really cost by currency. Of a model whose ``rewards``
            combines several reports: ``id``, the id of a report whose value adds to earlier ones, and
            ``final=True`` with the last one. ``reward`` is an object where the model declares parts. Of a decision with
            slots: ``rewards``, by the slot's id, or one ``reward`` for all.
        """
        body = wire.feedback_body(feedback)
        return Call("POST", wire.decision_path(decision) + "/feedback", wire.read_learnt, body)


class ModelCalls:
    """The calls of a handle of one model."""

    name: str

    @method
    def decide(
        self,
        /,
        given: Any = None,
        *,
        ids: Sequence[str | int] | None = None,
        top: int | None = None,
        key: str | None = None,
        id: str | None = None,
        context: Any = None,
        features: Any = None,
        drafts: Any = None,
        slots: Any = None,
        **more: Any,
    ) -> Call[Answer]:
        """Ask for a decision.

        Parameters
        ----------
        given
            rank, choose: candidates as a dict from id to features, as a list of (id, features), as objects with ``id``,
            ``features`` and ``costs``, as the rows of a matrix with ``ids`` (sent as float32, which is compact), or
            `smidgen.Candidates`; label, filter: the features of one thing, by position or as a dict by name; tune:
            nothing. A dict whose values are all objects or rows of numbers is taken for candidates. A field ``costs``
            of a candidate's features that is an object is what the candidate costs.
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
            rank, choose: a record of what is the same for all candidates; tune: a record of what the best setting may
            depend on.
        features
            The record of one thing, said outright, instead of ``given``.
        drafts
            draft: the texts to choose from, as a dict from id to text (or to ``{"text": …, "features": …}``), as a list
            of texts, whose ids are then 0, 1, …, or as `smidgen.Drafts`.
        slots
            choose: places to fill, no candidate twice: a list of ids, or of objects with ``id``, ``features`` and
            ``exclude``. The answer has ``choices``.
        **more
            Any other field of a request by its name: ``unit``, whom the decision is for (holdouts and challengers are
            split by it); ``exclude``, ids that must not be shown; ``activate=False``, for a
            decision that counts only once `Client.shown` says so; ``chosen``, what the app has chosen itself, which is
            then the answer, and the model is taught it.
        """
        body: dict[str, Any] = wire.decision_body(
            given, ids=ids, top=top, key=key, id=id, context=context, features=features, texts=drafts, slots=slots
        )
        body |= more
        path = wire.model_path(self.name) + "/decisions"
        return Call("POST", path, wire.read_answer, wire.encode(body), item=body)

    @method
    def decide_many(
        self, given: Any, *, keys: Sequence[str] | str | None = None, top: int | None = None
    ) -> Call[list[Answer]]:
        """Ask for many decisions in one call: all of them, or a refusal that names the first bad one.

        Parameters
        ----------
        given
            A list of what `decide` takes, of pairs (ids, matrix), or of objects with the fields of a request
            (``candidates``, ``context``, ``slots``, ``unit``, …); for label and filter also a matrix of which each row
            is one thing (sent as float32).
        keys
            Of a keyed model: whose decisions they are, one key for each or one for all.
        top
            rank: how many positions count, in all of them.
        """
        body = wire.encode(wire.decisions_body(given, keys=keys, top=top))
        return Call("POST", wire.model_path(self.name) + "/decisions:batch", wire.read_answers, body)

    @method
    def weights(
        self, key: str | None = None, limit: int | None = None, expand: str | None = None
    ) -> Call[list[dict[str, Any]]]:
        """Its weights by name, strongest first; see `Client.weights`."""
        return ClientCalls.weights.call(self, self.name, key, limit, expand)

    @method
    def taste(self, key: str | None = None) -> Call[dict[str, Any]]:
        """The users' taste, estimated from their edits, in words and by trait; see `Client.taste`."""
        return ClientCalls.taste.call(self, self.name, key)

    @method
    def learn(self, /, decision: Answer | str, **feedback: Any) -> Call[Learnt]:
        """Tell what the user did; see `Client.learn`."""
        return ClientCalls.learn.call(self, decision, **feedback)

    @method
    def compare(self) -> Call[dict[str, Any]]:
        """Compare the model with its challenger or shadow, or with its champion; see `Client.compare`."""
        return ClientCalls.compare.call(self, self.name)

    @method
    def worth(self) -> Call[dict[str, Any]]:
        """Return what it is worth against its holdout; see `Client.worth`."""
        return ClientCalls.worth.call(self, self.name)

    @method
    def candidates(self, *, holdout: bool = False) -> Call[list[dict[str, Any]]]:
        """Return what each candidate earned; see `Client.candidates`."""
        return ClientCalls.candidates.call(self, self.name, holdout=holdout)

    @method
    def segments(self, by: str) -> Call[dict[str, Any]]:
        """Return what decisions earned by the value of a field; see `Client.segments`."""
        return ClientCalls.segments.call(self, self.name, by)

    @method
    def promote(self) -> Call[dict[str, Any]]:
        """Let its champion decide with its settings and state from now on."""
        return ClientCalls.promote.call(self, self.name)

    @method
    def health(self) -> Call[list[dict[str, Any]]]:
        """Findings about the model, the most severe first."""
        return ClientCalls.health.call(self, self.name)

    @method
    def story(self, decision: Answer | str) -> Call[dict[str, Any]]:
        """A decision from beginning to end."""
        return ClientCalls.story.call(self, decision)

    @method
    def describe(self, *, context: Any = None) -> Call[dict[str, Any]]:
        """The model at a glance; see `Client.describe`."""
        return ClientCalls.describe.call(self, self.name, context=context)

    @method
    def best(self, context: Any = None) -> Call[dict[str, Any]]:
        """Of tune: the best setting so far, in a context or without, and the loss expected there."""
        return _part(_get(wire.context_path(self.name, context)), "best", dict)

    @method
    def teach(
        self, examples: Sequence[Mapping[str, Any]], *, key: str | None = None, id: str | None = None
    ) -> Call[dict[str, Any]]:
        """Teach examples whose answers are known; see `Client.teach`."""
        return ClientCalls.teach.call(self, self.name, examples, key=key, id=id)

    @method
    def amend(self, /, **changes: Any) -> Call[dict[str, Any]]:
        """Change its settings; see `Client.amend`."""
        return ClientCalls.amend.call(self, self.name, **changes)

    @method
    def copy(self, to: str, *, learnt: bool = True) -> Call[dict[str, Any]]:
        """Make a copy of it under another name; see `Client.copy`."""
        return ClientCalls.copy.call(self, self.name, to, learnt=learnt)

    @method
    def rollback(self, version: int | None = None, *, time: str | float | None = None) -> Call[int]:
        """Go back to the weights of a version, or of a moment; see `Client.rollback`."""
        return ClientCalls.rollback.call(self, self.name, version, time=time)

    @method
    def forget(self, key: str) -> Call[int]:
        """Forget a key exactly; see `Client.forget`."""
        return ClientCalls.forget.call(self, self.name, key)

    @method
    def retract(self, decision: Answer | str) -> Call[int]:
        """Undo what was learned of a decision; see `Client.retract`."""
        return ClientCalls.retract.call(self, decision)

    @method
    def shown(self, decision: Answer | str) -> Call[str]:
        """Let a decision count that was asked for with ``activate=False``; see `Client.shown`."""
        return ClientCalls.shown.call(self, decision)

    @method
    def archive(self) -> Call[dict[str, Any]]:
        """No more decisions; the log stays."""
        return ClientCalls.archive.call(self, self.name)


_TEMPORARY, _GATEWAY = frozenset({429, 502, 503, 504}), frozenset({502, 504})
_PASSING = ("busy", "storage_failed")
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_dice = secrets.SystemRandom()


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with jitter.

    Attributes
    ----------
    retries
        How many attempts after the first.
    first, longest
        The wait before the first retry, which doubles each time, and its limit, in seconds.
    """

    retries: int = 4
    first: float = 0.1
    longest: float = 5.0

    def after_disconnect(self, attempt: int, error: httpx.TransportError, *, repeatable: bool = True) -> float:
        """Seconds to wait after a connection that failed; gives up when there were enough attempts.

        A call that is not repeatable is repeated only if there was no connection that could have carried it.
        """
        what = str(error) or type(error).__name__
        if not repeatable and not isinstance(error, NOT_SENT):
            raise Unreachable(
                f"the connection was lost before the reply: {what}",
                "the call may have been carried out: look at the model, and send it again if it was not",
            ) from error
        if attempt >= self.retries or not isinstance(error, LOST):
            raise Unreachable(f"no reply after {attempt + 1} attempts: {what}") from error
        return self._wait(attempt)

    def after_error(self, attempt: int, response: httpx.Response, *, repeatable: bool = True) -> float:
        """Seconds to wait after "not now"; raises any other error, and this one after enough attempts.

        Behind a gateway that lost the service (502, 504) a call that is not repeatable may have been carried out.
        """
        unsure = not repeatable and response.status_code in _GATEWAY
        if attempt >= self.retries or unsure or not is_temporary(response):
            raise wire.refusal(response.status_code, response.content)
        return max(self._wait(attempt), _retry_after(response.headers.get("retry-after", "")))

    def _wait(self, attempt: int) -> float:
        return min(self.longest, self.first * 2.0**attempt) * _dice.uniform(0.5, 1.0)


def is_temporary(response: httpx.Response) -> bool:
    """True if the reply asks the caller to retry the same request later."""
    return response.status_code in _TEMPORARY


def content_of(response: httpx.Response) -> bytes:
    """The content of a reply that is no refusal."""
    if response.is_success:
        return response.content
    raise wire.refusal(response.status_code, response.content)


def read_event(line: bytes) -> dict[str, Any]:
    """An event of a log that is read.

    The last line of a log that cannot be read to its end is an error instead: one that passes counts as a lost
    connection, any other is raised.
    """
    found: dict[str, Any] = wire.read_plain(line)
    if "seq" not in found and "error" in found:
        error = wire.refusal(500, line)
        raise httpx.RemoteProtocolError(error.problem) if error.code in _PASSING else error
    return found


class LogCursor:
    """Position in a log that is being read: the next request, and when to retry.

    Parameters
    ----------
    name
        The model.
    after
        The last event that is known.
    shard
        Of a model with several shards: the one to read; None: all of them.
    retry
        When to try again.
    """

    def __init__(self, name: str, after: int, shard: int | None, retry: RetryPolicy) -> None:
        self.name = name
        self._after = after
        self._shard = self._seen = shard
        self._one = shard is not None
        self._retry = retry
        self._attempt = 0
        self._rest = b""

    def request(self) -> dict[str, Any]:
        """The request for what follows."""
        self._rest = b""
        params = {"after": self._after} | ({} if self._shard is None else {"shard": self._shard})
        return {"method": "GET", "url": wire.model_path(self.name) + "/log", "params": params}

    def events(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The events that end in this piece of the reply."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            event = read_event(line)
            self._after, self._seen, self._attempt = int(event["seq"]), event.get("shard"), 0
            yield event

    @property
    def in_shard(self) -> bool:
        """True if the reply finished one of several shards: the others may follow."""
        return self._shard is not None and not self._one

    def next_shard(self, shards: int) -> bool:
        """Go on with the next shard; False: there is none."""
        self._shard, self._after = (self._shard or 0) + 1, 0
        self._seen = self._shard
        return self._shard < shards

    def after_disconnect(self, error: httpx.TransportError) -> float:
        """Seconds to wait after a connection that failed."""
        wait, self._shard = self._retry.after_disconnect(self._attempt, error), self._seen
        self._attempt += 1
        return wait

    def after_error(self, response: httpx.Response) -> float:
        """Seconds to wait after "not now"."""
        wait = self._retry.after_error(self._attempt, response)
        self._attempt += 1
        return wait


def service_url(url: str) -> httpx.URL:
    """The service's address, checked."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ServiceError(400, "bad_address", f"the service address is {url!r}: {error}", _EXAMPLE) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ServiceError(400, "bad_address", f"the service address is {url!r}", _EXAMPLE)
    return parsed


_EXAMPLE = 'give one like "http://127.0.0.1:8470"'


def _retry_after(header: str) -> float:
    """Seconds of the Retry-After header, if it is in seconds; at most 60."""
    return min(60.0, float(header)) if header.isascii() and header.isdigit() else 0.0
