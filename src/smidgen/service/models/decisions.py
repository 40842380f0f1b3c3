"""Decisions: asked for one by one or many at once, written to the log, told to the app."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from smidgen.errors import SmidgenError
from smidgen.service.clock import stamp
from smidgen.service.loops.registry import loops
from smidgen.service.messages import BatchBody, DecisionBody, digest
from smidgen.service.models.recent import Made, Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store.log import DecisionEvent, Log

Reply = dict[str, Any]


class _Request(NamedTuple):
    """A request that was checked: the reply it had before, or what the learner will decide on."""

    body: DecisionBody
    known: Reply | None
    context: Any
    ids: Sequence[str]
    digest: bytes | None


class Decisions:
    """The decisions of all models.

    Parameters
    ----------
    models, log, learners
        Who decides, where it is written, with what.
    recent
        Where decisions wait for their feedback.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, models: Registry, log: Log, learners: LearnerCache, recent: Recent, clock: Callable[[], float]
    ) -> None:
        self._models = models
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        if (body.decisions is None) == (body.features is None):
            raise Impossible("a batch has either decisions or features", 'send {"decisions": […]}')
        if body.decisions is not None:
            if body.key is not None:
                raise Impossible("key stands beside the decisions", "give each decision its own key")
            if body.id is not None:
                raise Impossible("id stands beside the decisions", "give each decision its own id")
            return self.all(name, body.decisions)
        model = self._models.get(name)
        if not model.blueprint.loop.takes_matrix or body.features is None:
            which = " and ".join(name for name, loop in loops.items() if loop.takes_matrix)
            raise Impossible(f"a matrix of decisions is for {which}", 'send {"decisions": […]}')
        matrix = model.blueprint.loop.vectors.matrix(body.features)
        ids = [None if body.id is None else f"{body.id}.{i}" for i in range(len(matrix))]
        rows = zip(ids, matrix.tolist(), strict=True)
        return self.all(name, [loops.decision(id=id, key=body.key, features=row) for id, row in rows])

    def all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        model = self._models.get(name)
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived and decides no more", "create another")
        ready = []
        for index, body in enumerate(bodies):
            with _naming(index, len(bodies)):
                ready.append(self._prepare(model, body))
        replies: list[Reply] = []
        for index, request in enumerate(ready):
            with _naming(index, len(bodies)):
                known = request.known or self._known(model, request.body, request.digest)  # the id twice in one batch
                replies.append(known if known is not None else self._decide(model, request))
        return replies

    def _prepare(self, model: Served, body: DecisionBody) -> _Request:
        """Check a request and make its context, changing nothing."""
        if model.keyed and body.key is None:
            raise Impossible("key is missing", "this model has one learner per key: say whose decision it is")
        if not model.keyed and body.key is not None:
            raise Impossible("this model has no keys", 'leave key out, or create the model with "keyed": true')
        hashed = digest(body) if body.id is not None else None
        if (known := self._known(model, body, hashed)) is not None:
            return _Request(body, known, None, (), hashed)
        loop = model.blueprint.loop
        loop.check(body)
        context, ids = loop.context(body)
        return _Request(body, None, context, ids, hashed)

    def _known(self, model: Served, body: DecisionBody, hashed: bytes | None) -> Reply | None:
        """The reply that the same id had before."""
        if body.id is None or (known := self._log.requested(model.id, body.id)) is None:
            return None
        if known[1] != hashed:
            raise Conflict(f"the id {body.id!r} was used for another request", "use a new id for a new decision")
        return self._log.decision(model.id, known[0]).reply

    def _decide(self, model: Served, request: _Request) -> Reply:
        body, ids, now = request.body, list(request.ids), self._clock()
        decision = self._learners.get(model, body.key).learner.decide(request.context)
        name, expires = _name(now), now + model.blueprint.body.window_s
        answer = model.blueprint.loop.answer(decision, ids)
        told = {"explored": decision.explored, "propensity": decision.propensity, "expires_at": stamp(expires)}
        reply = {"decision": name, "model_version": model.version, **told, **answer}
        record = decision.to_json()
        content = DecisionEvent(decision.number, reply, ids, msgspec.Raw(record))
        seq = self._models.append(model, "decision", name, body.key, now, content)
        self._log.enter(
            {
                "id": name,
                "model": model.id,
                "seq": seq,
                "key": body.key,
                "number": decision.number,
                "made_at": now,
                "expires_at": expires,
                "request_id": body.id,
                "request_hash": request.digest,
                "explored": decision.explored,
                "forwarded": model.blueprint.loop.went_out(answer),
            }
        )
        model.decisions += 1
        model.keys += body.key is not None and decision.number == 1
        self._recent.add(name, Made(model, seq, body.key, expires, decision, ids), len(record))
        return reply


def _name(now: float) -> str:
    """A name that nobody guesses; those of one time stand together in the tables, so that a commit touches few pages.

    Forty bits of the time in 1/256 s, then 56 bits at random.
    """
    return f"{int(now * 256) & 0xFF_FFFF_FFFF:010x}{secrets.token_hex(7)}"


@contextmanager
def _naming(index: int, of: int) -> Iterator[None]:
    """A refusal of one of several decisions says which."""
    try:
        yield
    except SmidgenError as error:
        if of == 1:
            raise
        refusal = Conflict if isinstance(error, Conflict) else Impossible
        raise refusal(f"decision {index} of the batch: {error.problem}", error.hint) from error
