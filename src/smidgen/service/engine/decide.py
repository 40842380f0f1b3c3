"""The decide command: one request in, one decision written, one reply out.

`DecideHandler.handle` is the path of a single decision, top to bottom: find the model, validate the request, let every
arm decide, build the rows, write them, teach what the app has chosen. Batches (`smidgen.service.engine.decide_batch`)
call the same steps for many requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from smidgen import serialization
from smidgen.decision import Decision
from smidgen.errors import InvalidFeatures, NotTeachable, SmidgenError
from smidgen.features import Encoded, Vectorizer
from smidgen.features.state import Carried
from smidgen.features.vectors import other_length
from smidgen.learners import Learner
from smidgen.learners.pacing import Pacer
from smidgen.learners.pipeline import unwrap
from smidgen.service.engine.budget import Budget
from smidgen.service.engine.champions import challenger_answers, interleaves, unit_draw
from smidgen.service.engine.context import CommandHandler, EngineContext
from smidgen.service.engine.learner_cache import OpenDecision
from smidgen.service.engine.live_settings import FIRST
from smidgen.service.engine.log_reader import Reply, reply
from smidgen.service.engine.model import ServedModel, feature_names, read_lengths
from smidgen.service.engine.question import recorded
from smidgen.service.engine.replay import LearningEvent
from smidgen.service.engine.spending import Spending, attach_prices, check_currencies, reads_budgets, spending_of
from smidgen.service.errors import Conflict, Impossible, StorageFailed, json_text
from smidgen.service.log import codec
from smidgen.service.log.events import Salts
from smidgen.service.loops.base import UNDRAWN
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.loops.features import with_request_path
from smidgen.service.schemas import DecisionBody, Rewards, digest
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.records import NewDecision

#: Digits of the id of a decision without the mark of a shard, and digits of such a mark.
UNSHARDED, SHARD_DIGITS = 24, 4
_log = logging.getLogger("smidgen.service")


def shard_mark(shard: int) -> int:
    """Return the mark of a shard in the ids of its decisions: a hint, since others may have the same."""
    return shard & 0xFFFF


class ValidatedRequest(NamedTuple):
    """A checked request: the reply of the same request before (``known``), or what the learner decides on."""

    body: DecisionBody
    known: Reply | None
    context: Any
    ids: Sequence[str]
    digest: bytes | None


class ArmDecision(NamedTuple):
    """The decision of one arm (champion, challenger or shadow) on a request."""

    model: ServedModel
    learner: Learner
    decision: Decision
    agreed: bool | None = None  # its best guess is what was shown, or what the app had chosen
    target: float | None = None  # of an arm that was not shown: its probability of what was shown
    chance: float | None = None  # … and the probability with which that was shown; both, or neither
    lessons: tuple[TrainingSignal, ...] = ()  # learned at once, because the app had chosen itself
    start: bytes | None = None  # of a new key: the state that it starts with; None if that is an empty one
    begun: bool = False  # it started with this decision, and its log does not say so yet
    names: Carried = ()  # of a key: names of columns that its events have not recorded yet
    holdout: bool = False  # the policy of the holdout answered
    lengths: dict[str, int] | None = None  # of vectors, as this decision fixes them
    teams: bytes | None = None  # of a page of two rankings: which candidates are the challenger's


class PendingDecision(NamedTuple):
    """A decision that is not written yet, with the ids of its candidates and the arm that made it."""

    model: ServedModel
    row: NewDecision
    ids: list[str]
    answer: ArmDecision


class DecideHandler(CommandHandler):
    """Makes decisions and writes them."""

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._random = Salts()
        self.request: str | None = None  # the caller's id of the request that is decided

    def handle(self, name: str, body: DecisionBody) -> Reply:
        """Decide on one request, and write the decision."""
        first = self.deciding_model(name, (body.key, body.id))
        model = first.shard_for(body.key)
        request = self.validate(model, body)
        if request.known is not None:
            return request.known
        for each in (first, *first.arms):
            Budget(each.blueprint.cost).spend(request.context)
        answers = self._decide_arms(model, request)
        rows, reply = self._build_rows(answers, request, self._clock())
        self.write(rows)
        return reply

    # 1. The model and the request

    def deciding_model(self, name: str, keys: Iterable[str | None]) -> ServedModel:
        """Find the model, and acquire the shards of these keys and ids; refuse a model that does not decide."""
        model = self._models.get(name, set(keys))
        if model.archived_at is not None:
            raise Conflict(
                f'the model "{name}" is archived',
                f"restore it with POST /v1/models/{name}:revive, or use another model",
            )
        if model.leader is not None:
            raise Conflict(
                f'the model "{name}" is a shadow or challenger of "{model.leader.name}"',
                f'send requests to "{model.leader.name}", or make a copy: POST /v1/models/{name}:copy',
            )
        return model

    def validate(self, model: ServedModel, body: DecisionBody) -> ValidatedRequest:
        """Check a request and make its context, changing nothing."""
        if model.keyed and body.key is None:
            raise Impossible("key is missing", 'this model has one learner per key: add "key", e.g. the user\'s id')
        if not model.keyed and body.key is not None:
            raise Impossible(
                "key is given and the model is not keyed", 'remove "key", or create the model with "keyed": true'
            )
        if model.keyed and body.unit not in (None, body.key):
            raise Impossible(
                f"unit is {json_text(body.unit)} and key is {json_text(body.key)}",
                'remove "unit": in a keyed model the key is the unit',
            )
        hashed = None
        if body.id is not None:
            hashed = digest(body)
            if (known := self._find_repeat(model, body.id, hashed)) is not None:
                return ValidatedRequest(body, known, None, (), hashed)
        loop = model.blueprint.loop
        loop.check(body)
        context, ids = loop.context(body)
        check_currencies(model, getattr(context, "costs", None) or {}, "candidates.costs")
        return ValidatedRequest(body, None, context, ids, hashed)

    def _find_repeat(self, model: ServedModel, id: str, hashed: bytes) -> Reply | None:
        """Find the reply that this id had before, whatever its key; refuse an id that had another body."""
        others = [each for part in model.parts for each in (part, *part.followers)]  # a challenger may have answered it
        known = self._store.find_request(model.shard, id, *(each.shard for each in others if each is not model))
        if known is None:
            return None
        refuse_other_request(id, known.request_hash, hashed)
        return self._log.decision(self._models.by_shard[known.shard], known.seq).reply

    # 2. The arms decide

    def decide(self, model: ServedModel, request: ValidatedRequest, now: float) -> tuple[list[PendingDecision], Reply]:
        """Let all arms decide on a request, without writing."""
        return self._build_rows(self._decide_arms(model, request), request, now)

    def _decide_arms(self, model: ServedModel, request: ValidatedRequest) -> list[ArmDecision]:
        """Let the model and its arms decide; the first answer is the one that is shown.

        A challenger or shadow that fails is left out and logged; a failure of the champion is a refusal.
        """
        key, ids, chosen = request.body.key, request.ids, request.body.chosen
        pacer = self._current_pacer(model)
        try:
            own = self._decide_one(model, key, request.context, pacer)
            if chosen is None and self._is_held_out(model, request.body):
                return [self._hold_out(own, key, ids)]
            if not model.followers and chosen is None:
                return [own]
            answers = [own]
            for other in model.arms:
                try:
                    answers.append(self._decide_one(other, key, request.context, pacer))
                except (StorageFailed, OSError):
                    raise
                except Exception as error:  # an arm, maybe a plugin's, must not keep the champion from deciding
                    _log.warning("the shadow or challenger %s of %s did not decide: %s", other.name, model.name, error)
            if chosen is not None:
                return self._apply_app_choice(key, answers, ids, chosen)
        except InvalidFeatures as error:
            if (features := model.blueprint.features) is None:
                raise
            single = model.blueprint.loop.asks
            raise with_request_path(error, request.context, features.fresh(), single) from error
        if challenger_answers(model, own.learner, own.decision.number, request.body.unit or key):
            if model.challenger is not None and interleaves(model.challenger.blueprint.body):
                answers = self._interleave(answers, model)
            else:
                answers.sort(key=lambda answer: answer.model is not model.challenger)
        return [answers[0], *(_compare_with_shown(each, answers[0], ids) for each in answers[1:])]

    def _current_pacer(self, model: ServedModel) -> Pacer | None:
        """The prices of a model's budget after all events of its log; None without a budget."""
        if not reads_budgets(model):
            return None
        known: Spending | None = model.spending
        if known is None or known.seq != model.seq or known.rewritten != model.rewritten:
            fresh = known if known is not None and known.seq <= model.seq else None
            self._undo.push(setattr, model, "spending", None)
            model.spending = known = spending_of(model, self._store, fresh)
            known.save(self._store, model.shard)
        return known.pacer

    def _decide_one(self, model: ServedModel, key: str | None, context: Any, pacer: Pacer | None = None) -> ArmDecision:
        held, group = self._learners.get(model, key), self._learners.shared_state(model)
        begun = held.new and group is not None
        start, learner = self._learners.start_key(model, key, held), held.learner
        self._undo.push(self._learners.withdraw, model.shard, key, learner, learner.decisions)
        features = self._learners.table(model, learner)
        names: Carried = ()
        if features is not None and model.lengths:
            features.fix_lengths(model.lengths)
        attach_prices(learner, pacer)
        try:
            if group is None:
                decision = learner.decide(context)
            else:
                decision, names = group.decide(learner, context, held.known)
        except BaseException:
            if group is not None:
                self._learners.discard(model, key, learner, learner.decisions + 1, begun=begun)
            raise
        finally:
            attach_prices(learner, None)
        try:
            lengths = None if features is None else self._fix_lengths(model, features, decision.context)
        except BaseException:
            self._learners.discard(model, key, learner, decision.number, begun=begun)
            raise
        return ArmDecision(model, learner, decision, start=start, begun=begun, names=names, lengths=lengths)

    def _fix_lengths(self, model: ServedModel, features: Vectorizer, encoded: Any) -> dict[str, int] | None:
        """Let the vectors of a decision fix the lengths of their fields; those that its event has to tell.

        What an earlier decision fixed counts, whether or not it was learnt: the log is read once for it.
        """
        if not isinstance(encoded, Encoded) or not encoded.vectors:
            return None
        lengths = encoded.lengths
        if model.lengths is None:
            model.lengths = read_lengths(self._store, model)
        new = {path: length for path, length in lengths.items() if path not in model.lengths}
        for path, length in lengths.items():
            if (first := model.lengths.get(path, length)) != length:
                features.free_lengths(lengths)
                raise other_length(path, length, first)
        features.fix_lengths(lengths)
        if new:
            model.lengths |= new
            self._undo.push(_drop, model.lengths, new)
            self._undo.push(features.free_lengths, new)
        return new or None

    def _is_held_out(self, model: ServedModel, body: DecisionBody) -> bool:
        """Check whether the holdout's policy answers: by the unit; without one, drawn for this request."""
        holdout, unit = model.blueprint.terms.holdout, body.unit or body.key
        if holdout is None or not holdout.share:
            return False
        draw = int.from_bytes(self._random.next()[:8], "big") / 2.0**64 if unit is None else None
        return (unit_draw(holdout.salt, unit or "") if draw is None else draw) < holdout.share

    def _hold_out(self, own: ArmDecision, key: str | None, ids: Sequence[Any]) -> ArmDecision:
        """Let the policy of the holdout answer; the learner takes its own decision back, and is as before."""
        model = own.model
        self._learners.discard(model, key, own.learner, own.decision.number, begun=own.begun)
        if own.lengths is not None and model.lengths is not None:  # nor do its vectors have lengths yet
            _drop(model.lengths, own.lengths)
            if (table := self._learners.table(model, own.learner)) is not None:
                table.free_lengths(own.lengths)
        holdout = model.blueprint.terms.holdout
        policy = holdout.policy if holdout is not None else "first"
        decision = model.blueprint.loop.hold_out(own.decision, ids, policy, self._random.next())
        return ArmDecision(model, own.learner, decision, holdout=True)

    def _interleave(self, answers: list[ArmDecision], model: ServedModel) -> list[ArmDecision]:
        """Mix the rankings of champion and challenger into the one that is shown."""
        own, rival = answers[0], next((each for each in answers if each.model is model.challenger), None)
        if rival is None:  # it did not decide
            return answers
        seed = unwrap(own.learner).params["seed"]
        mixed, teams = model.blueprint.loop.interleave(own.decision, rival.decision, seed)
        page = own._replace(decision=mixed, teams=teams)
        return [page, *(each._replace(teams=teams) if each is rival else each for each in answers[1:])]

    def _apply_app_choice(
        self, key: str | None, answers: list[ArmDecision], ids: Sequence[Any], value: Any
    ) -> list[ArmDecision]:
        """Show what the app had chosen; every arm that can be taught learns it."""
        found: list[ArmDecision] = []
        for answer in answers:
            blueprint, decision = answer.model.blueprint, answer.decision
            try:
                taken = blueprint.loop.read_app_choice(blueprint.reader(answer.learner), decision, ids, value)
            except SmidgenError:
                if not found:
                    raise
                self._learners.discard(answer.model, key, answer.learner, decision.number, begun=answer.begun)
                continue
            if not found:
                decision = structs.replace(decision, action=taken.action, explored=False, propensity=None, **UNDRAWN)
            found.append(answer._replace(decision=decision, agreed=taken.agreed, lessons=tuple(taken.lessons)))
        return found

    # 3. The rows

    def _build_rows(
        self, answers: list[ArmDecision], request: ValidatedRequest, now: float
    ) -> tuple[list[PendingDecision], Reply]:
        """Build the rows of all arms, and the reply of the one that is shown."""
        ids = list(request.ids)
        out, reply = self._build_row(answers[0], request, ids, now)
        spent = answers[0].decision.costs_of_action() if answers[0].decision.costs is not None else None
        return [out, *(self._build_row(each, request, ids, now, out.row, spent)[0] for each in answers[1:])], reply

    def _build_row(
        self,
        answer: ArmDecision,
        request: ValidatedRequest,
        ids: list[str],
        now: float,
        shown: NewDecision | None = None,
        spent: dict[str, float] | None = None,
    ) -> tuple[PendingDecision, Reply]:
        """Build the row of an answer and its reply.

        ``shown`` is the row that was shown in its place, and ``spent`` its costs; then nobody reads the reply.
        """
        model, decision, body = answer.model, answer.decision, request.body
        loop, terms = model.blueprint.loop, model.blueprint.terms
        name, expires = self._new_id(now, model.shard), now + terms.window_s
        reply_ = loop.answer(decision, ids)
        out = reply(name, model, model.version, decision, expires) | reply_ if shown is None else reply_
        if answer.holdout:
            out["holdout"] = True
        hashed = [] if answer.holdout else self._new_hashed_names(model, body)
        record, beside = answer.learner.to_compact(decision), None if shown is None else shown.decision
        shared = _shared_fields(
            answer.start, answer.names, hashed, self.request, body.unit if model.leader is None else None, terms.rewards
        )
        if answer.lengths is not None:
            shared = {**(shared or {}), "lengths": answer.lengths}
        if terms.budget is not None and shown is not None and spent is not None:
            shared = (shared or {}) | {"spent": spent}
        elif terms.budget is not None and not body.activate and decision.costs is not None:
            shared = (shared or {}) | {"ahead": True}
        if answer.teams is not None and shown is None:
            shared = (shared or {}) | {"teams": answer.teams}
        if shown is None:
            shared = {**(shared or {}), **self._question(answer, request, len(record))} or None
        if model.spending is not None and decision.costs is not None:
            model.spending.note(name, decision, (shared or {}).get("spent"))
        holdout, unit = terms.holdout, body.unit or body.key
        share = holdout.share if holdout is not None and body.chosen is None else 0.0
        if answer.teams is not None and shown is not None:
            share = terms.share or 0.0
        content = codec.DecisionBody(decision.number, model.version, terms.window_s, ids, record, shared, beside)
        row = NewDecision(
            name,
            now,
            expires if shown is None else shown.expires_at,
            body.key,
            answer.learner.decisions if answer.holdout else decision.number,
            body.id if shown is None else None,
            request.digest if shown is None else None,
            decision.explored,
            loop.is_forwarded(reply_),
            codec.encode(content),
            waits=shown is None and terms.default_reward is not None,
            shown=shown is None and body.activate,
            beside=beside,
            agreed=answer.agreed,
            target=answer.target,
            chance=answer.chance,
            unit=unit if share or model.leader is not None or model.followers else body.unit,
            holdout=answer.holdout if share else None,
            share=share or None,
        )
        return PendingDecision(model, row, ids, answer), out

    def _question(self, answer: ArmDecision, request: ValidatedRequest, size: int) -> dict[str, bytes]:
        """Return what the event keeps for the story of a decision."""
        model, learner = answer.model, answer.learner
        table, keep = self._learners.table(model, learner), model.blueprint.body.keep_asked is not False
        by_model = not answer.holdout and not model.blueprint.loop.knows_best  # a point has no contributions
        return recorded(learner, table, request.context, answer.decision, size, keep, by_model=by_model)

    def _new_hashed_names(self, model: ServedModel, body: DecisionBody) -> list[str]:
        """Names of hashed features that no event has recorded; the event of this decision records them."""
        if model.hashed is None or not (new := model.hashed.new(feature_names(body))):
            return []
        model.hashed.add(new)
        self._undo.push(model.hashed.drop, new)
        return new

    def _new_id(self, now: float, shard: int) -> str:
        """Draw an id that cannot be guessed; ids of one time are neighbours, so that a commit touches few pages.

        Forty bits of the time in 1/256 s, then 56 random bits; where other workers write too, then the mark of the
        shard, by which any worker knows whose decision it is.
        """
        drawn = f"{int(now * 256) & 0xFF_FFFF_FFFF:010x}{self._random.next()[:7].hex()}"
        return f"{drawn}{shard_mark(shard):0{SHARD_DIGITS}x}" if self._store.shared else drawn

    # 4. Writing

    def write(self, pending: list[PendingDecision]) -> None:
        """Write decisions, keep them in memory for fast feedback, and teach what the app had chosen; unpin learners."""
        for shard in dict.fromkeys(one.model.shard for one in pending):
            rows = [one for one in pending if one.model.shard == shard]
            first = self._store.write_decisions(shard, [each.row for each in rows])
            for seq, (model, row, ids, answer) in enumerate(rows, first):
                opened = OpenDecision(
                    model,
                    seq,
                    row.key,
                    row.expires_at,
                    answer.decision,
                    ids,
                    row.beside,
                    answer.names,
                    answer.holdout,
                    model.blueprint.terms.rewards,
                    answer.teams is not None and row.beside is None,
                )
                self._open_decisions.add(row.decision, opened, len(row.body))
                self._undo.push(self._open_decisions.drop, row.decision)
        for one in pending:
            if one.answer.lessons:
                self._teach(one)
        pending.clear()
        self._learners.unpin()

    def _teach(self, pending: PendingDecision) -> None:
        """Teach a model what the app had chosen itself, if it can be taught."""
        model, row, answer = pending.model, pending.row, pending.answer
        held = self._learners.get(model, row.key)
        self._learners.before_change(model, row.key)
        context, group, places = answer.decision.context, self._learners.shared_state(model), []
        if isinstance(context, Encoded):
            context = context.settled()  # taught at once
        taught = [(context, lesson.answer) for lesson in answer.lessons]
        try:
            for example in taught:
                where = group.places_of(context) if group is not None else None
                change = LearningEvent("taught", None, [example], [where], answer.names)
                self._learners.learn(model, row.key, held, change)
                places.append(where)
        except NotTeachable:
            return
        content = {"source": row.beside or row.decision, "learn": serialization.encode(taught)}
        if group is not None:
            content |= {"places": places, "names": answer.names}
        seq = self._store.append(model.shard, "taught", row.at, codec.encode(content), key=row.key, changes=True)
        self._learners.after_change(model, row.key, held, seq)
        crash_point("taught")


def refuse_other_request(id: str, before: bytes | None, now: bytes | None) -> None:
    """Refuse an id of the app that was used for another request."""
    if before != now:
        raise Conflict(f"id is {json_text(id)}, which was used for another request", "use a new id for each decision")


def _compare_with_shown(answer: ArmDecision, shown: ArmDecision, ids: Sequence[Any]) -> ArmDecision:
    """Note how an arm that is not shown compares with the one that is."""
    loop, p = answer.model.blueprint.loop, shown.decision.propensity
    chance = p if p is not None and (p < 1.0 or len(ids) == 1) else None
    target = loop.target_propensity(answer.decision, shown.decision) if chance is not None else None
    agreed = loop.agrees(answer.decision, shown.decision.greedy) if answer.model.leader is not None else None
    return answer._replace(agreed=agreed, target=target, chance=chance if target is not None else None)


def _drop(lengths: dict[str, int], paths: Iterable[str]) -> None:
    for path in paths:
        lengths.pop(path, None)


def _shared_fields(
    start: bytes | None, names: Carried, hashed: list[str], request: str | None, unit: str | None, rewards: Rewards
) -> dict[str, Any] | None:
    """Optional fields of a decision's event; None if there are none."""
    fields: dict[str, Any] = {
        "start": start,
        "names": names or None,
        "hashed": hashed or None,
        "request": request,
        "unit": unit,
    }
    fields["rewards"] = None if rewards == FIRST else rewards
    return {name: value for name, value in fields.items() if value is not None} or None
