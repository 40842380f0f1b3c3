"""Decisions: asked for one by one or many at once, written to the log, told to the app."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from smidgen import records
from smidgen.errors import InvalidFeatures, NotTeachable, SmidgenError
from smidgen.features.memory import Carried
from smidgen.service.loops.candidates import located
from smidgen.service.loops.registry import loops
from smidgen.service.messages import BatchBody, DecisionBody, digest
from smidgen.service.models.beside import Answer, Deciding
from smidgen.service.models.cost import Budget
from smidgen.service.models.hashed_names import named_in
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.recent import Made, Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.models.undo import Undo
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import EventLog, Reply, reply
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import Asked


class _Request(NamedTuple):
    """A request that was checked: the reply it had before, or what the learner will decide on."""

    body: DecisionBody
    known: Reply | None
    context: Any
    ids: Sequence[str]
    digest: bytes | None


class _Made(NamedTuple):
    """A decision that is not written yet: whose it is, its row, the candidates' ids, and the answer it is made of."""

    model: Served
    row: Asked
    ids: list[str]
    answer: Answer


class Decisions:
    """The decisions of all models.

    Parameters
    ----------
    models, store, log, learners
        Who decides, where it is written, how it is read back, with what.
    recent
        Where decisions wait for their feedback.
    undo
        What is to be put back if a command fails.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        models: Registry,
        store: Store,
        log: EventLog,
        learners: LearnerCache,
        recent: Recent,
        undo: Undo,
        clock: Callable[[], float],
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._undo = undo
        self._clock = clock
        self._deciding = Deciding(learners, undo)

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
        if model.leader is not None:
            raise Conflict(
                f"the model {name!r} stands beside {model.leader.name!r} and decides on its requests only",
                f"ask {model.leader.name!r}, or make a copy: POST /v1/models/{name}:copy",
            )
        ready, budgets = [], [Budget(each.blueprint.cost) for each in (model, *model.beside)]
        for index, body in enumerate(bodies):
            try:
                ready.append(self._prepare(model, body))
                for budget in budgets:
                    budget.spend(ready[-1].context)
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        replies: list[Reply] = []
        made: list[_Made] = []
        mine: dict[str, tuple[bytes | None, Reply]] = {}  # the same id twice in one batch
        for index, request in enumerate(ready):
            try:
                replies.append(request.known or self._decide(model, request, mine, made))
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        for each in dict.fromkeys(one.model.slot for one in made):
            self._write([one for one in made if one.model.slot == each])
        for one in made:
            self._teach(one)
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
        if body.id is None:
            return None
        for each in (model, *model.followers):  # a challenger may have answered it
            if (known := self._store.requested(each.slot, body.id)) is not None:
                _refuse_other(body.id, known.request_hash, hashed)
                return self._log.decision(each, known.seq).reply
        return None

    def _decide(
        self,
        model: Served,
        request: _Request,
        mine: dict[str, tuple[bytes | None, Reply]],
        made: list[_Made],
    ) -> Reply:
        """Decide without writing; ``mine`` has the requests of this batch by their ids."""
        body = request.body
        if body.id is not None and body.id in mine:
            hashed, told = mine[body.id]
            _refuse_other(body.id, hashed, request.digest)
            return told
        try:
            answers = self._deciding.all(model, body.key, request.context, request.ids, body.chosen)
        except InvalidFeatures as error:
            if (features := model.blueprint.features) is None:
                raise
            raise located(error, request.context, features.fresh()) from error
        now, ids = self._clock(), list(request.ids)
        shown, *others = answers
        out, told = self._row(shown, request, ids, now)
        made.append(out)
        made.extend(self._row(answer, request, ids, now, out.row)[0] for answer in others)
        if body.id is not None:
            mine[body.id] = request.digest, told
        return told

    def _named(self, model: Served, body: DecisionBody) -> list[str]:
        """Names of hashed features that no event has told."""
        if model.hashed is None or not (new := model.hashed.new(named_in(body))):
            return []
        model.hashed.add(new)
        self._undo.note(model.hashed.drop, new)
        return new

    def _row(
        self, answer: Answer, request: _Request, ids: list[str], now: float, shown: Asked | None = None
    ) -> tuple[_Made, Reply]:
        """What is written of an answer, and what the app would be told; ``shown`` went out in its place."""
        model, decision, body = answer.model, answer.decision, request.body
        loop, terms = model.blueprint.loop, model.blueprint.terms
        name, expires = _name(now), now + terms.window_s
        reply_ = loop.answer(decision, ids)
        told = reply(name, model.name, model.version, decision, expires) | reply_
        shared, record = _shared(answer.start, answer.names, self._named(model, body)), answer.learner.brief(decision)
        beside = None if shown is None else shown.decision
        content = bodies.DecisionBody(decision.number, model.version, terms.window_s, ids, record, shared, beside)
        row = Asked(
            name,
            now,
            expires if shown is None else shown.expires_at,
            body.key,
            decision.number,
            body.id if shown is None else None,
            request.digest if shown is None else None,
            decision.explored,
            loop.went_out(reply_),
            bodies.write(content),
            waits=shown is None and terms.default_reward is not None,
            shown=shown is None and body.activate,
            beside=beside,
            agreed=answer.agreed,
            target=answer.target,
            chance=answer.chance,
        )
        return _Made(model, row, ids, answer), told

    def _write(self, made: list[_Made]) -> None:
        """Write what one model decided, and keep it in memory for quick feedback."""
        first = self._store.decided(made[0].model.slot, [each.row for each in made])
        for seq, (model, row, ids, answer) in enumerate(made, first):
            waiting = Made(model, seq, row.key, row.expires_at, answer.decision, ids, row.beside, answer.names)
            self._recent.add(row.decision, waiting, len(row.body))
            self._undo.note(self._recent.drop, row.decision)

    def _teach(self, made: _Made) -> None:
        """Teach a model what the app had chosen itself, if it can be taught."""
        model, row, answer = made.model, made.row, made.answer
        if not answer.lessons:
            return
        held = self._learners.get(model, row.key)
        self._learners.changing(model, row.key)
        context, group, places = answer.decision.context, self._learners.group(model), []
        taught = [(context, lesson.answer) for lesson in answer.lessons]
        try:
            for example in taught:
                where = group.places_of(context) if group is not None else None
                change = Change("taught", None, [example], [where], answer.names)
                self._learners.learn(model, row.key, held, change)
                places.append(where)
        except NotTeachable:
            return
        content = {"source": row.beside or row.decision, "learn": records.encode(taught)}
        if group is not None:
            content |= {"places": places, "names": answer.names}
        seq = self._store.append(model.slot, "taught", row.at, bodies.write(content), key=row.key, changes=True)
        self._learners.changed(model, row.key, held, seq)
        reach("taught")


def _shared(start: bytes | None, names: Carried, hashed: list[str]) -> dict[str, Any] | None:
    """What a decision's event says of what is no matter of one learner, if anything."""
    if start is None and not names and not hashed:
        return None
    told = {"start": start, "names": names or None, "hashed": hashed or None}
    return {name: value for name, value in told.items() if value is not None} or None


def _refuse_other(id: str, before: bytes | None, now: bytes | None) -> None:
    if before != now:
        raise Conflict(f"the id {id!r} was used for another request", "use a new id for a new decision")


def _name(now: float) -> str:
    """A name that nobody guesses; those of one time stand together in the tables, so that a commit touches few pages.

    Forty bits of the time in 1/256 s, then 56 bits at random.
    """
    return f"{int(now * 256) & 0xFF_FFFF_FFFF:010x}{os.urandom(7).hex()}"


def _naming(error: SmidgenError, index: int) -> SmidgenError:
    """A refusal of one of several decisions says which."""
    refusal = Conflict if isinstance(error, Conflict) else Impossible
    return refusal(f"decision {index} of the batch: {error.problem}", error.hint)
