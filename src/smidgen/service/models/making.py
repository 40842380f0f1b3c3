"""One decision: its request checked, what the learners say, the row that is written, what is kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from smidgen import records
from smidgen.errors import InvalidFeatures, NotTeachable
from smidgen.features.memory import Carried
from smidgen.service.loops.candidates import located
from smidgen.service.messages import DecisionBody, digest
from smidgen.service.models.beside import Deciding, Proposal
from smidgen.service.models.hashed_names import named_in
from smidgen.service.models.keyed_rows import Change
from smidgen.service.models.recent import Made
from smidgen.service.models.served import Served
from smidgen.service.models.whole import Commands, Whole
from smidgen.service.refusals import Conflict, Impossible
from smidgen.service.store import bodies
from smidgen.service.store.crash_points import reach
from smidgen.service.store.events import Salts
from smidgen.service.store.log import Reply, reply
from smidgen.service.store.rows import Asked


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
        known = self._store.requested(model.slot, body.id, *(each.slot for each in others if each is not model))
        if known is None:
            return None
        _refuse_other(body.id, known.request_hash, hashed)
        return self._log.decision(self._models.by_slot[known.slot], known.seq).reply

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
        return Unwritten(model, row, ids, answer), told

    def _name(self, now: float) -> str:
        """A name that nobody guesses; those of one time stand together, so that a commit touches few pages.

        Forty bits of the time in 1/256 s, then 56 bits at random.
        """
        return f"{int(now * 256) & 0xFF_FFFF_FFFF:010x}{self._random.next()[:7].hex()}"

    def write(self, made: list[Unwritten]) -> None:
        """Write what one model decided, and keep it in memory for quick feedback."""
        first = self._store.decided(made[0].model.slot, [each.row for each in made])
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
