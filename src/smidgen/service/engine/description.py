"""Figures of a model: quality by the feedback of its users, open decisions, progress of jobs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import islice

from msgspec import UNSET

from smidgen.learners import Feedback
from smidgen.service.engine.champions import interleaves
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import read_undo_events
from smidgen.service.engine.spending import budget_figures
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import UnknownModel
from smidgen.service.log.checkpoint import Checkpoint
from smidgen.service.log.events import stamp
from smidgen.service.loops import features
from smidgen.service.loops.base import Loop
from smidgen.service.loops.estimates import mean_of
from smidgen.service.schemas import Agreement, BaseReply, ChallengerOf, ModelReply, Of, Quality, ShadowOf, UndoingReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import Counts, Outcome, pool_counts

#: Number of closed decisions that count at most, and how many of the latest whose window is over are examined to find
#: them.
LAST, SEEN = 200, 400
#: Over how many of the latest decisions the share of agreement is taken.
AGREEING = 1000
#: Number of the latest decisions of a shard that are searched for those that are open.
OPEN = 50_000


def closed_decisions(reading: StoreReader, model: ServedModel, now: float, *, held: bool = False) -> list[Outcome]:
    """The latest decisions that are closed and that were shown, the latest first; of all shards.

    ``held`` counts those of the policy of a holdout too.
    """
    found = [_closed_in_shard(reading, part.shard, now, held=held) for part in model.parts]
    return list(islice(heapq.merge(*found, key=lambda row: -row.at), LAST)) if len(found) > 1 else found[0]


def _closed_in_shard(reading: StoreReader, shard: int, now: float, *, held: bool) -> list[Outcome]:
    """Read the closed decisions of one shard (`closed_decisions`).

    Those whose window is over, answered or not. While there are few of them, decisions that were answered before the
    end of their window stand in: later they would hide the silence of those that were made at the same time. Answers
    that a rollback took back do not count, since they are not measured any more.
    """
    back = [each for each in read_undo_events(reading, shard) if each.type == "rolled_back"]
    ended = [Outcome(*row) for row in reading.query("ended_all" if held else "ended", shard, now=now, limit=SEEN)]

    def counts(row: Outcome) -> bool:
        version = row.version
        return row.is_forwarded and (version is None or not any(each.first <= version < each.by for each in back))

    seen = [row for row in ended if counts(row)][:LAST]
    if len(ended) < SEEN and len(seen) < LAST:
        answered = [Outcome(*row) for row in reading.query("answers", shard, limit=LAST)]
        if held:
            latest = (Outcome(*row) for row in reading.query("lately_all", shard, limit=SEEN))
            answered += [row for row in latest if row.answer == "recorded"]
        known = {row.seq for row in ended}
        early = [row for row in answered if counts(row) and row.seq not in known]
        seen += sorted(early, key=lambda row: -row.seq)[: LAST - len(seen)]
    return seen


def span_of(loop: Loop) -> tuple[float, float] | None:
    """The range of a loop's figure: of a share, of its rewards; None of losses, which have none."""
    if Feedback.LOSS in loop.kinds.values():
        return None
    return (0.0, 1.0) if loop.share else loop.terms.reward_range


def count_open(reading: StoreReader, model: ServedModel, now: float) -> tuple[int, int]:
    """Count open decisions (shown, unanswered, within their window), and decisions that are not shown yet.

    Of the latest `OPEN` decisions of each shard.
    """
    rows = [reading.query("open", part.shard, now=now, limit=OPEN)[0] for part in model.parts]
    return sum(int(shown) for shown, _ in rows), sum(int(pending) for _, pending in rows)


def quality(reading: StoreReader, model: ServedModel, now: float, *, held: bool = False) -> Quality:
    """The loop's figure over the last 200 closed decisions, with a 95 % interval if ten or more have a figure."""
    rows, loop = closed_decisions(reading, model, now, held=held), model.blueprint.loop
    worst = loop.silence if loop.share or loop.silence is None else loop.terms.reward_range[0]
    measures = [worst if row.measure is None and row.is_unanswered else row.measure for row in rows]
    values = [value for value in measures if value is not None]
    silent = sum(row.is_unanswered for row in rows)
    value, low, high = mean_of(values, span_of(loop))
    return Quality(measure=loop.measure, value=value, low=low, high=high, of=len(rows), silent=silent)


def committed_counts(reading: StoreReader, model: ServedModel) -> Counts:
    """Read the committed counts of a shard; a model whose creation is not committed is unknown."""
    counts = reading.counts(model.shard)
    if counts is None:
        raise UnknownModel(f'there is no model "{model.name}"', f"create it first: PUT /v1/models/{model.name}")
    return counts


def all_committed_counts(reading: StoreReader, model: ServedModel) -> Counts:
    """Read the committed counts of all shards of a model, added up."""
    return pool_counts([committed_counts(reading, part) for part in model.parts])


def summarize_model(reading: StoreReader, model: ServedModel, now: float, *, held: bool = False) -> ModelReply:
    """A model's settings, counts and figures, at a moment; ``held`` counts a holdout's decisions in its quality."""
    body, terms = model.blueprint.body, model.blueprint.terms
    leader = model.leader.name if model.leader is not None else None
    with reading.snapshot():  # counts and figures are of the same events
        each, figures = (
            [committed_counts(reading, part) for part in model.parts],
            quality(reading, model, now, held=held),
        )
        bases = [reading.checkpoint(part.shard) for part in model.parts]
        spending = budget_figures(reading, model)
        says = [reading.query("agreement", part.shard, limit=AGREEING)[0] for part in model.parts]
    counts, of, agreed = pool_counts(each), sum(n for n, _ in says), sum(n for _, n in says)
    return ModelReply(
        name=model.name,
        loop=body.loop,
        learner=model.blueprint.kind,
        feedback=model.blueprint.feedback,
        params=model.blueprint.params,
        features=model.blueprint.describe_features,
        labels=model.blueprint.labels,
        knobs=features.write_knobs(knobs) if (knobs := model.blueprint.knobs) is not None else None,
        window_s=terms.window_s,
        reward_range=terms.reward_range if Feedback.REWARD in model.blueprint.card.kinds else None,
        default_reward=terms.default_reward,
        rewards=terms.rewards,
        explore=_in_force(terms.explore, model.blueprint.settings.get("floor")),
        min_share=_in_force(terms.min_share, model.blueprint.settings.get("min_share")),
        retention_s=terms.retention_s,
        keep_texts=None if model.blueprint.loop.dim is None else body.keep_texts is not False,
        keep_asked=body.keep_asked is not False,
        keyed=model.keyed,
        shared_start=model.blueprint.shared.start if model.keyed else None,
        created_at=stamp(model.created_at),
        archived_at=stamp(model.archived_at) if model.archived_at is not None else None,
        model_version=counts.version,
        decisions=counts.decisions,
        answered=counts.answered,
        late=counts.late,
        keys=counts.keys if model.keyed else None,
        quality=figures,
        guarded=sum(sum(part.scaled.values()) for part in model.parts) if model.blueprint.guarded else None,
        base=_base([checkpoint for checkpoint in bases if checkpoint is not None]),
        undoing=describe_progress(next((part.undoing for part in model.parts if part.undoing is not None), None)),
        shards=len(each),
        shard_versions=[one.version for one in each] if len(each) > 1 else None,
        candidates=model.blueprint.body.candidates,
        holdout=terms.holdout if terms.holdout is not None and terms.holdout.share else None,
        budget=spending,
        safe=terms.safe,
        shadow_of=ShadowOf(model=leader) if leader is not None and body.shadow_of is not None else None,
        challenger_of=ChallengerOf(
            model=leader,
            share=terms.share or 0.0,
            by=body.challenger_of.by if isinstance(body.challenger_of, Of) else None,
            compare="interleave" if interleaves(body) else UNSET,
        )
        if leader is not None and body.challenger_of is not None
        else None,
        shadow=model.shadow.name if model.shadow is not None else None,
        challenger=model.challenger.name if model.challenger is not None else None,
        agreement=Agreement(value=agreed / of, of=of) if of else None,
    )


def _base(bases: Sequence[Checkpoint]) -> BaseReply | None:
    """Retention checkpoint of a log; for several shards, the sum of folded events and the latest time."""
    if not bases:
        return None
    seq, version, floor = (sum(values) for values in zip(*((b.seq, b.version, b.floor) for b in bases), strict=True))
    return BaseReply(
        seq=seq, version=version, oldest_version=floor, at=stamp(max(checkpoint.at for checkpoint in bases))
    )


def describe_progress(work: Progress | None) -> UndoingReply | None:
    """Describe the progress of a job on a model's log, for a reply."""
    return UndoingReply(what=work.what, done=work.done, of=work.of) if work is not None else None


def _in_force(amended: float | None, made_with: float | None) -> float | None:
    return made_with if amended is None else amended
