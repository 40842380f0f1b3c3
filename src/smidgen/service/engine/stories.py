"""The story of a decision: shown, answered, learnt at which version, or why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smidgen.service.engine.log_reader import DecisionEvent, EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.question import asked_as_sent, best_answers, greedy_answer
from smidgen.service.engine.replay import UndoneVersions, read_undone, restored_version
from smidgen.service.engine.reports import read_reports
from smidgen.service.engine.restarts import InMemory, read_restarts
from smidgen.service.errors import Conflict, Erased, UnknownDecision
from smidgen.service.log.events import Event, stamp
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.schemas import BestAnswer, FreshStart, ReportReply, SlotStory, Story, Teams
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import DecisionRow


def story_of(
    log: EventLog,
    models: Mapping[int, ServedModel],
    name: str,
    allowed: str | None,
    now: float,
    in_memory: InMemory = lambda model, key: None,
) -> Story:
    """A decision from beginning to end.

    Parameters
    ----------
    log
        Where it stands.
    models
        The models by shard.
    name
        The decision's id.
    allowed
        The only model that the caller may see, or None.
    now
        Seconds since 1970.
    in_memory
        Gives learners that are in memory, whose fresh starts need not be read from the log.
    """
    with log.reading.snapshot():
        row, model = find_decision(log, models, name, allowed)
        event = log.decision(model, row.seq)
        answer = log.feedback(model, row.feedback_seq) if row.beside is None else None
        undone = read_undone(log.reading, row.shard)
        back = retractions(log.reading, row.shard, undone).get(row.id)
        rolled_back = row.version is not None and row.version in undone
        again = restored_version(log.reading, row.shard, row.id) if row.version is None else None
        restarts = read_restarts(log.reading, model, event.key, in_memory(model, event.key))
    before = event.reply.get("model_version", 0)
    loop, decision = model.blueprint_at(row.seq).loop, event.decision
    best = best_answers(decision, loop.answers_of(event.ids))
    keep = model.blueprint.body.keep_asked is not False
    why_not = None
    if rolled_back:
        why_not = f"a rollback undid it: it was learnt at version {row.version} and does not count any more"
    elif row.holdout:
        why_not = "holdout"
    elif row.status == "late":
        why_not = "the feedback came after the window: it is in the log and was not learnt"
    elif row.status == "refused" and answer is not None:
        what = (
            "the learner refused the combined reward"
            if row.reported
            else ("nobody answered, and the learner refused what silence is worth")
        )
        why_not = f"{what}: {answer.problem}"
    elif answer is not None and event.teams is not None and isinstance(answer.learn, TrainingSignal):
        why_not = "interleaved: the learner learns only from lists that it drew itself; the comparison counts it"
    elif row.status is None:
        over = now > row.expires_at
        why_not = "no feedback came within the window" if over else "no feedback has come yet"
        if again is not None:
            why_not = f"its feedback was retracted, and a rollback undid that: it counts again, as of version {again}"
        elif row.beside is not None:
            why_not = f"it was made next to decision {row.beside}, which was shown instead"
        elif row.reported:
            why_not = "its reports are recorded: their combined reward is learned when the window ends"
        elif back is not None:
            rest = "no other came within the window" if over else "another may come until the window ends"
            why_not = f"the feedback was retracted, and what was learnt of it is undone; {rest}"
        elif not row.shown:
            why_not = "it was never shown" if over else "it has not been shown yet"
    return Story(
        decision=name,
        model=model.name,
        key=event.key,
        made_at=stamp(event.at),
        expires_at=stamp(row.expires_at),
        shown=event.reply,
        feedback=answer.feedback if answer is not None else None,
        feedback_at=stamp(answer.at) if answer is not None else None,
        learnt_version=row.version if again is None else again,
        why_not=why_not,
        retracted_at=stamp(back.at) if back is not None else None,
        request_id=(event.shared or {}).get("request"),
        holdout=bool(row.holdout),
        teams=_teams(event),
        reports=[ReportReply(at=stamp(each.at), feedback=each.feedback) for each in read_reports(row.reports)],
        asked=asked_as_sent(decision, event.shared, loop.asks) if keep else None,
        greedy=greedy_answer(loop, decision, event.ids),
        top=None if best is None else [BestAnswer(id=id, score=score, probability=p) for id, score, p in best],
        price=event.reply.get("price"),
        slots=_slots(event.reply.get("choices"), {} if answer is None else answer.feedback),
        restarts=None
        if restarts is None
        else [
            FreshStart(version=each.version, reason=each.reason, at=stamp(each.at))
            for each in restarts
            if each.version > before
        ],
    )


def _slots(choices: Any, feedback: Mapping[str, Any]) -> list[SlotStory] | None:
    """The choices of the slots, with the rewards that came of them."""
    if choices is None:
        return None
    known = feedback.get("rewards") or dict.fromkeys([each["slot"] for each in choices], feedback.get("reward"))
    return [SlotStory(**each, reward=known.get(each["slot"])) for each in choices]


def _teams(event: DecisionEvent) -> Teams | None:
    """Return whose the candidates of a page of two rankings are, in the order of the page; None of other decisions."""
    if event.teams is None:
        return None
    rivals = np.unpackbits(np.frombuffer(event.teams, np.uint8)).tolist()  # their bits come first
    found = Teams(champion=[], challenger=[])
    for place in event.decision.action.tolist():
        (found.challenger if rivals[place] else found.champion).append(event.ids[place])
    return found


def retractions(reading: StoreReader, shard: int, undone: UndoneVersions) -> dict[str, Event]:
    """By decision, the latest event that took back what was learnt of it; not those that a rollback undid."""
    rewinds = (
        event for event in reading.undo_events(shard) if event.type == "retracted" and event.decision is not None
    )
    return {event.decision or "": event for event in rewinds if event.made is None or event.made not in undone}


def find_decision(
    log: EventLog, models: Mapping[int, ServedModel], name: str, allowed: str | None
) -> tuple[DecisionRow, ServedModel]:
    """A decision and its model; one of a model that may not be seen looks unknown."""
    row = log.reading.decision(name)
    model = models.get(row.shard) if row is not None else None
    if row is None:
        shard = log.reading.find_erased_decision(name)
        model = models.get(shard) if shard is not None else None
        if model is not None and model.is_visible_to(allowed):
            raise Erased(
                f'retention has erased decision "{name}" of the model "{model.name}"',
                "the model keeps what it learned from it; export the log before retention to keep stories",
            )
    if row is None or model is None or not model.is_visible_to(allowed):
        raise unknown_decision(name)
    return row, model


def refuse_follower(name: str, shown: str | None) -> None:
    """Refuse a decision of a shadow: no user saw it, so it takes no feedback."""
    if shown is not None:
        raise Conflict(
            f"decision {name} was made by a shadow and shown to nobody", f"send feedback for decision {shown}"
        )


def unknown_decision(name: str) -> UnknownDecision:
    """There is no such decision, or none that may be seen."""
    return UnknownDecision(f'there is no decision "{name}"', "use the id from the reply to the decision request")
