"""The decide command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import InvalidFeatures, NotTeachable, SmidgenError
from smidgen.features.state import Carried
from smidgen.learners import Learner
from smidgen.service.engine.blueprint import Blueprint, Budget
from smidgen.service.engine.champions import challenged
from smidgen.service.engine.context import Commands, Whole
from smidgen.service.engine.learner_cache import LearnerCache, Made
from smidgen.service.engine.log_reader import Reply, reply
from smidgen.service.engine.model import Served, named_in
from smidgen.service.engine.replay import Change
from smidgen.service.engine.undo import Undo
from smidgen.service.errors import Conflict, Impossible, StorageFailed, Taken
from smidgen.service.log import codec
from smidgen.service.log.events import Salts
from smidgen.service.loops.evaluator import Lesson
from smidgen.service.loops.features import located
from smidgen.service.loops.registry import loops
from smidgen.service.schemas import BatchBody, DecisionBody, digest
from smidgen.service.storage.crash_points import reach
from smidgen.service.storage.records import Asked

# Decisions of several models on one request: one goes out, the others lie beside it.

_log = logging.getLogger("smidgen.service")

#: What a decision says of its own draw: nothing, once something else goes out.
_UNDRAWN: dict[str, Any] = dict.fromkeys(("propensities", "log_propensity", "perturbation", "reach", "teams"))


class Proposal(NamedTuple):
    """What one model says to a request.

    Attributes
    ----------
    model, learner, decision
        Who says what.
    agreed
        Whether its best guess is what went out, or, of a model by itself, what the app had chosen.
    target, chance
        Of one that lies beside: the probability with which it would have shown what went out, and that of what went
        out; both None unless both are known.
    lessons
        What it is taught at once, since the app had chosen itself.
    start, names
        Of a keyed model: what a newcomer began with, and names of columns that the key had not told before.
    """

    model: Served
    learner: Learner
    decision: Decision
    agreed: bool | None = None
    target: float | None = None
    chance: float | None = None
    lessons: tuple[Lesson, ...] = ()
    start: bytes | None = None
    names: Carried = ()


class Deciding:
    """Lets all who stand together decide.

    Parameters
    ----------
    learners, undo
        Who decides, and what is to be put back if a command fails.
    """

    def __init__(self, learners: LearnerCache, undo: Undo) -> None:
        self._learners = learners
        self._undo = undo

    def all(self, model: Served, key: str | None, context: Any, ids: Sequence[Any], chosen: Any) -> list[Proposal]:
        """The answers: first the one that goes out.

        One beside it that fails is left out, and told in the server's log; the champion's failure is a refusal.
        """
        own = self._one(model, key, context)
        if not model.followers and chosen is None:
            return [own]
        answers = [own]
        for other in model.beside:
            try:
                answers.append(self._one(other, key, context))
            except (StorageFailed, OSError):
                raise
            except Exception as error:  # a learner on trial, maybe a guest's, must not keep the champion from deciding
                _log.warning("model %s did not decide beside %s: %s", other.name, model.name, error)
        if chosen is not None:
            return self._chosen(key, answers, ids, chosen)
        if challenged(model, own.learner, own.decision.number):
            answers.sort(key=lambda answer: answer.model is not model.challenger)
        return [answers[0], *(self._beside(each, answers[0], ids) for each in answers[1:])]

    def _one(self, model: Served, key: str | None, context: Any) -> Proposal:
        held, group = self._learners.get(model, key), self._learners.group(model)
        start, learner = self._learners.begin(model, key, held), held.learner
        self._undo.note(self._learners.withdraw, model.shard, key, learner, learner.decisions)
        if group is None:
            return Proposal(model, learner, learner.decide(context))
        try:
            decision, names = group.decide(learner, context, held.known)
        except BaseException:
            self._learners.discard(model, key, learner, learner.decisions + 1, begun=start is not None)
            raise
        return Proposal(model, learner, decision, start=start, names=names)

    def _beside(self, answer: Proposal, shown: Proposal, ids: Sequence[Any]) -> Proposal:
        """How what lies beside compares with what goes out."""
        loop, p = answer.model.blueprint.loop, shown.decision.propensity
        chance = p if p is not None and (p < 1.0 or len(ids) == 1) else None
        target = loop.target(answer.decision, shown.decision) if chance is not None else None
        agreed = loop.agrees(answer.decision, shown.decision.greedy) if answer.model.leader is not None else None
        return answer._replace(agreed=agreed, target=target, chance=chance if target is not None else None)

    def _chosen(self, key: str | None, answers: list[Proposal], ids: Sequence[Any], value: Any) -> list[Proposal]:
        """What the app had chosen goes out; all are taught it."""
        found: list[Proposal] = []
        for answer in answers:
            blueprint = answer.model.blueprint
            try:
                taken = blueprint.loop.chosen(blueprint.reader(answer.learner), answer.decision, ids, value)
            except SmidgenError:
                if not found:
                    raise
                begun, number = answer.start is not None, answer.decision.number
                self._learners.discard(answer.model, key, answer.learner, number, begun=begun)
                continue
            decision = answer.decision
            if not found:
                chance = None if decision.propensity is None else 1.0
                decision = structs.replace(decision, action=taken.action, explored=False, propensity=chance, **_UNDRAWN)
            found.append(answer._replace(decision=decision, agreed=taken.agreed, lessons=tuple(taken.lessons)))
        return found


# One decision: its request checked, what the learners say, the row that is written, what is kept in memory.


class Prepared(NamedTuple):
    """A request that was checked: the reply it had before, or what the learner will decide on."""

    body: DecisionBody
    known: Reply | None
    context: Any
    ids: Sequence[str]
    digest: bytes | None


class Unwritten(NamedTuple):
    """A decision that is not written yet: whose it is, its row, the candidates' ids, and the answer it is made of."""

    model: Served
    row: Asked
    ids: list[str]
    answer: Proposal


class Maker(Commands):
    """Makes decisions, and writes them."""

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole)
        self._random = Salts()
        self._deciding = Deciding(whole.learners, whole.undo)

    def prepare(self, model: Served, body: DecisionBody) -> Prepared:
        """Check a request and make its context, changing nothing."""
        if model.keyed and body.key is None:
            raise Impossible("key is missing", "this model has one learner per key: say whose decision it is")
        if not model.keyed and body.key is not None:
            raise Impossible("this model has no keys", 'leave key out, or create the model with "keyed": true')
        hashed = digest(body) if body.id is not None else None
        if (known := self._known(model, body, hashed)) is not None:
            return Prepared(body, known, None, (), hashed)
        loop = model.blueprint.loop
        loop.check(body)
        context, ids = loop.context(body)
        return Prepared(body, None, context, ids, hashed)

    def _known(self, model: Served, body: DecisionBody, hashed: bytes | None) -> Reply | None:
        """The reply that the same id had before, whoever's key it came with."""
        if body.id is None:
            return None
        others = [each for part in model.parts for each in (part, *part.followers)]  # a challenger may have answered it
        known = self._store.requested(model.shard, body.id, *(each.shard for each in others if each is not model))
        if known is None:
            return None
        _refuse_other(body.id, known.request_hash, hashed)
        return self._log.decision(self._models.by_shard[known.shard], known.seq).reply

    def decide(
        self,
        model: Served,
        request: Prepared,
        mine: dict[str, tuple[bytes | None, Reply]],
        made: list[Unwritten],
        now: float,
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
        ids = list(request.ids)
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
        self, answer: Proposal, request: Prepared, ids: list[str], now: float, shown: Asked | None = None
    ) -> tuple[Unwritten, Reply]:
        """What is written of an answer, and what the app would be told; ``shown`` went out in its place."""
        model, decision, body = answer.model, answer.decision, request.body
        loop, terms = model.blueprint.loop, model.blueprint.terms
        name, expires = self._name(now), now + terms.window_s
        reply_ = loop.answer(decision, ids)
        told = reply(name, model, model.version, decision, expires) | reply_
        shared, record = _shared(answer.start, answer.names, self._named(model, body)), answer.learner.brief(decision)
        beside = None if shown is None else shown.decision
        content = codec.DecisionBody(decision.number, model.version, terms.window_s, ids, record, shared, beside)
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
            codec.write(content),
            waits=shown is None and terms.default_reward is not None,
            shown=shown is None and body.activate,
            beside=beside,
            agreed=answer.agreed,
            target=answer.target,
            chance=answer.chance,
        )
        return Unwritten(model, row, ids, answer), told

    def _name(self, now: float) -> str:
        """A name that nobody guesses; those of one time stand together, so that a commit touches few pages.

        Forty bits of the time in 1/256 s, then 56 bits at random.
        """
        return f"{int(now * 256) & 0xFF_FFFF_FFFF:010x}{self._random.next()[:7].hex()}"

    def write(self, made: list[Unwritten]) -> None:
        """Write what one model decided, and keep it in memory for quick feedback."""
        first = self._store.decided(made[0].model.shard, [each.row for each in made])
        for seq, (model, row, ids, answer) in enumerate(made, first):
            waiting = Made(model, seq, row.key, row.expires_at, answer.decision, ids, row.beside, answer.names)
            self._recent.add(row.decision, waiting, len(row.body))
            self._undo.note(self._recent.drop, row.decision)

    def teach(self, made: Unwritten) -> None:
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
        content = {"source": row.beside or row.decision, "learn": serialization.encode(taught)}
        if group is not None:
            content |= {"places": places, "names": answer.names}
        seq = self._store.append(model.shard, "taught", row.at, codec.write(content), key=row.key, changes=True)
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


# Decisions: asked for one by one or many at once, written to the log, told to the app.

#: A batch of more decisions than this is worked on in steps of so many, with turns for others in between.
AT_ONCE, STEP = 1_000, 256


class _Moved(Exception):
    """A model changed while a batch paused."""


class _Basis(NamedTuple):
    """What the next decision of a model without keys goes by, and the number of the latest one."""

    learner: Learner
    number: int
    blueprint: Blueprint
    rewritten: int


class Decisions(Commands):
    """The decisions of all models."""

    def __init__(self, whole: Whole) -> None:
        super().__init__(whole)
        self._making = Maker(whole)

    def batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        return self.all(name, self._asked(name, body))

    def all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        return next(each for each in self._steps(name, bodies, len(bodies)) if each is not None)

    def in_steps(self, name: str, body: BatchBody) -> Callable[[], list[Reply] | None]:
        """Many decisions as a command that is given again and again, until it answers: others have turns in between."""
        steps: Iterator[list[Reply] | None] | None = None

        def step() -> list[Reply] | None:
            nonlocal steps
            if steps is None:
                bodies = self._asked(name, body)
                steps = self._steps(name, bodies, STEP if len(bodies) > AT_ONCE else len(bodies))
            return next(steps)

        return step

    def _asked(self, name: str, body: BatchBody) -> list[DecisionBody]:
        """The requests of a batch."""
        if (body.decisions is None) == (body.features is None):
            raise Impossible("a batch has either decisions or features", 'send {"decisions": […]}')
        if body.decisions is not None:
            if body.key is not None:
                raise Impossible("key stands beside the decisions", "give each decision its own key")
            if body.id is not None:
                raise Impossible("id stands beside the decisions", "give each decision its own id")
            return body.decisions
        model = self._models.get(name, [body.key])
        if not model.blueprint.loop.takes_matrix or body.features is None:
            which = " and ".join(name for name, loop in loops.items() if loop.takes_matrix)
            raise Impossible(f"a matrix of decisions is for {which}", 'send {"decisions": […]}')
        matrix = model.blueprint.loop.vectors.matrix(body.features)
        ids = [None if body.id is None else f"{body.id}.{i}" for i in range(len(matrix))]
        rows = zip(ids, matrix.tolist(), strict=True)
        return [loops.decision(id=id, key=body.key, features=row) for id, row in rows]

    def _model(self, name: str, bodies: list[DecisionBody]) -> Served:
        """The model of this name, if it decides; the shards of these keys and ids are entered."""
        model = self._models.get(name, {each for body in bodies for each in (body.key, body.id)})
        if model.archived_at is not None:
            raise Conflict(f"the model {name!r} is archived and decides no more", "create another")
        if model.leader is not None:
            raise Conflict(
                f"the model {name!r} stands beside {model.leader.name!r} and decides on its requests only",
                f"ask {model.leader.name!r}, or make a copy: POST /v1/models/{name}:copy",
            )
        return model

    def _steps(self, name: str, bodies: list[DecisionBody], size: int) -> Iterator[list[Reply] | None]:
        """Decide on so many at a time, and give None between; the last step writes all, and gives the replies.

        Feedback may come in between. Whatever else happens to the model lets it begin anew, all at a time.
        """
        try:
            yield from self._parts(self._model(name, bodies), bodies, size)
        except _Moved:
            yield from self._parts(self._model(name, bodies), bodies, len(bodies))

    def _parts(self, model: Served, bodies: list[DecisionBody], size: int) -> Iterator[list[Reply] | None]:
        basis = self._basis(model) if len(bodies) > size and _by_itself(model, bodies) else None
        ready, budgets = list[Prepared](), [Budget(each.blueprint.cost) for each in (model, *model.beside)]
        for index, body in enumerate(bodies):
            if basis is not None and index and index % size == 0:
                yield from self._pause(model, basis, 0)
            try:
                ready.append(self._making.prepare(model.of(body.key), body))
                for budget in budgets:
                    budget.spend(ready[-1].context)
            except (StorageFailed, Taken):  # of the store, not of this decision
                raise
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        replies: list[Reply] = []
        made: list[Unwritten] = []  # and not written yet
        mine: dict[str, tuple[bytes | None, Reply]] = {}  # the same id twice in one batch
        now = self._clock()
        for index, request in enumerate(ready):
            if basis is not None and index % size == 0:
                yield from self._pause(model, basis, len(made))
                now = self._clock()
            try:
                replies.append(
                    request.known or self._making.decide(model.of(request.body.key), request, mine, made, now)
                )
                if request.body.chosen is not None or self._learners.crowded:
                    self._write(made)
            except (StorageFailed, Taken):
                raise
            except SmidgenError as error:
                if len(bodies) == 1:
                    raise
                raise _naming(error, index) from error
        self._write(made)
        yield replies

    def _write(self, made: list[Unwritten]) -> None:
        """Write decisions, and teach what the app had chosen; nothing waits then, and no learner is pinned."""
        for shard in dict.fromkeys(one.model.shard for one in made):
            self._making.write([one for one in made if one.model.shard == shard])
        for one in made:
            self._making.teach(one)
        made.clear()
        self._learners.unpin()

    def _basis(self, model: Served) -> _Basis:
        learner = self._learners.get(model, None).learner
        return _Basis(learner, learner.decisions, model.blueprint, model.rewritten)

    def _pause(self, model: Served, basis: _Basis, made: int) -> Iterator[None]:
        """Let others have a turn. Meanwhile the numbers of the decisions are given back: nothing has been changed."""
        basis.learner.withdraw(basis.number)
        yield None
        if self._model(model.name, []) is not model or model.followers or self._basis(model) != basis:
            raise _Moved
        self._undo.note(basis.learner.withdraw, basis.number)
        basis.learner.reserve(basis.number + made)


def _by_itself(model: Served, bodies: list[DecisionBody]) -> bool:
    """Whether decisions change nothing but the count of them before they are written."""
    alone = not model.keyed and not model.followers and model.hashed is None
    return alone and all(body.chosen is None for body in bodies)


def _naming(error: SmidgenError, index: int) -> SmidgenError:
    """A refusal of one of several decisions says which."""
    refusal = Conflict if isinstance(error, Conflict) else Impossible
    return refusal(f"decision {index} of the batch: {error.problem}", error.hint)
