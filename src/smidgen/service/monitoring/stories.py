"""Decisions in words: one line each in the list, and the story of one decision in sentences."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import islice
from typing import Any

from smidgen.learners import learners
from smidgen.service.engine.description import committed_counts
from smidgen.service.engine.log_reader import DecisionEvent, EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import UndoneVersions, read_undone
from smidgen.service.engine.restarts import InMemory
from smidgen.service.engine.stories import find_decision, retractions, story_of
from smidgen.service.errors import BadRequest, json_text
from smidgen.service.log.events import Event, stamp
from smidgen.service.loops.base import FeedbackForm
from smidgen.service.schemas import reaction_of
from smidgen.service.storage.records import DecisionRow


def recent(
    log: EventLog, whole: ServedModel, now: float, before: str = "0", limit: int = 12
) -> tuple[list[dict[str, Any]], str]:
    """The latest decisions before an event of each shard ("0": all of them), newest first; and where to go on."""
    ends = _ends(log, whole, before)
    rows = [
        [DecisionRow(*row) for row in log.reading.query("latest", part.shard, before=end, limit=limit)]
        for part, end in zip(whole.parts, ends, strict=True)
    ]
    shards, out = {part.shard: part for part in whole.parts}, []
    gone = {shard: read_undone(log.reading, shard) for shard in shards}
    back = {shard: retractions(log.reading, shard, gone[shard]) for shard in shards}
    for row in islice(heapq.merge(*rows, key=_made, reverse=True), limit):
        model = shards[row.shard]
        ends[model.part] = row.seq
        event = log.decision(model, row.seq)
        answer = log.feedback(model, row.feedback_seq) if row.beside is None else None
        out.append(
            {
                "decision": row.id,
                "seq": row.seq,
                "key": event.key,
                "made_at": stamp(event.at),
                "explored": row.explored,
                "answer": model.blueprint.loop.short_text(event.reply),
                "feedback": _feedback(model, answer.feedback) if answer is not None else None,
                "status": _follower_text(row) or _state(row, now, gone[row.shard], back[row.shard]),
                "lag_s": answer.at - event.at if answer is not None else None,
                "learnt_version": row.version,
                "measure": row.measure,
                "position": row.position,
                **model.shard_suffix,
            }
        )
    return out, ".".join(map(str, ends))


def _ends(log: EventLog, model: ServedModel, before: str) -> list[int]:
    """The events before which decisions are wanted, shard by shard."""
    if before == "0":
        return [committed_counts(log.reading, part).seq + 1 for part in model.parts]
    said = before.split(".")
    if len(said) != len(model.parts) or not all(each.isascii() and each.isdigit() and len(each) < 19 for each in said):
        raise BadRequest(
            f"before is {json_text(before)}", f"send {len(model.parts)} whole numbers separated by dots, or 0"
        )
    return [int(each) for each in said]


def _made(row: DecisionRow) -> str:
    """When a decision was made, as its id tells."""
    return row.id[:10]


def story_sentences(
    log: EventLog,
    models: Mapping[int, ServedModel],
    id: str,
    allowed: str | None,
    now: float,
    in_memory: InMemory = lambda model, key: None,
) -> list[dict[str, str]]:
    """A decision from beginning to end: when, and what happened."""
    row, model = find_decision(log, models, id, allowed)
    story = story_of(log, models, id, allowed, now, in_memory)
    event = log.decision(model, row.seq)
    lines = [
        {"at": story.made_at, "text": _request_sentence(model, event, story.key)},
        {"at": story.made_at, "text": _decision_sentence(model, event)},
    ]
    if (how := _chance(event)) is not None:
        lines.append({"at": story.made_at, "text": how})
    lines += [{"at": each.at, "text": _report_sentence(each.feedback)} for each in story.reports]
    if story.retracted_at is not None:
        text = "The feedback was retracted: what the model learned from it is undone."
        lines.append({"at": story.retracted_at, "text": text})
    if row.beside is None and (answer := log.feedback(model, row.feedback_seq)) is not None:
        lag = duration(answer.at - event.at)
        did = _feedback(model, answer.feedback)
        text = (
            f"No feedback came: {did}."
            if row.status in ("expired", "refused")
            else _feedback_sentence(did, row.position, lag)
        )
        lines.append({"at": stamp(answer.at), "text": text})
    elif row.feedback_seq is not None and row.beside is None:
        lines.append({"at": story.expires_at, "text": "Retention has erased the event of its feedback."})
    if row.beside is not None:
        taught = (
            f" It learned from the feedback on that decision, at version {row.version}."
            if row.version is not None
            else ""
        )
        text = f"It was not shown: a shadow or challenger made it, and decision {row.beside} was shown.{taught}"
        return [*lines, {"at": story.made_at, "text": text}]
    at = story.feedback_at or stamp(min(now, row.expires_at))
    if row.status is not None:
        text = _outcome(story, row)
    elif story.learnt_version is not None:
        text = f"A rollback undid the retraction: the feedback counts again (version {story.learnt_version:,})."
    else:
        text = _open(model, row, now, story.retracted_at is not None)
    since = [
        {"at": each.at, "text": f"The learner started again after version {each.version:,}: {each.reason}."}
        for each in story.restarts or ()
    ]
    return [*lines, {"at": at, "text": text}, *since]


def _report_sentence(feedback: Mapping[str, Any]) -> str:
    """One of several reports on a decision."""
    return f"A report came: {_report_text(feedback)}."


def _report_text(feedback: Mapping[str, Any]) -> str:
    """The reward, or its parts, and the costs of a report."""
    value, costs = feedback.get("reward"), feedback.get("costs")
    said = (
        []
        if value is None
        else [f"{part} {number:.4g}" for part, number in value.items()]
        if isinstance(value, Mapping)
        else [f"reward {value:.4g}"]
    )
    for slot, each in (feedback.get("rewards") or {}).items():
        parts = each.items() if isinstance(each, Mapping) else [("reward", each)]
        said += [f"{slot}: {part} {number:.4g}" for part, number in parts]
    said += [f"a cost of {number:.4g} {currency}" for currency, number in (costs or {}).items()]
    return ", ".join(said) or "no more is to come"


def feedback_form(log: EventLog, models: Mapping[int, ServedModel], id: str, allowed: str | None) -> FeedbackForm:
    """Answers that a person may give to a decision by hand."""
    row, model = find_decision(log, models, id, allowed)
    event, blueprint = log.decision(model, row.seq), model.blueprint
    return blueprint.loop.feedback_form(learners[blueprint.kind], event.reply, event.ids)


def _feedback(model: ServedModel, feedback: dict[str, Any]) -> str:
    """The feedback, in a few words."""
    found = reaction_of(feedback)
    if not found or isinstance(found.get("reward"), Mapping):
        return _report_text(feedback)
    ((field, value),) = found.items()
    if field == "default_reward":
        return f"missing feedback counts as a reward of {value:.4g}"
    return model.blueprint.loop.feedback_text(field, value)


def duration(seconds: float) -> str:
    """A time span as people say it.

    Examples
    --------
    >>> from smidgen.service.monitoring.stories import duration
    >>> duration(0.25), duration(90), duration(7200)
    ('250 milliseconds', '1.5 minutes', '2 hours')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    if seconds < 1.0:
        return f"{1000.0 * seconds:.3g} milliseconds"
    return f"{seconds:.2g} seconds" if seconds < 10.0 else f"{seconds:.0f} seconds"


def _follower_text(row: DecisionRow) -> str | None:
    """Text for a decision that was not shown because another model's was."""
    if row.beside is None:
        return None
    return "shadow, learned" if row.version is not None else "shadow"


def _state(row: DecisionRow, now: float, gone: UndoneVersions, back: Mapping[str, Event]) -> str:
    """Outcome of a decision, in a word or two."""
    if row.status is not None:
        return "rolled back" if row.version is not None and row.version in gone else row.status
    over = now > row.expires_at
    if row.forwarded is False:
        return "dropped"
    if row.id in back:
        return "retracted"
    if not row.shown:
        return "never shown" if over else "not shown yet"
    return "unanswered" if over else "waiting"


def _open(model: ServedModel, row: DecisionRow, now: float, retracted: bool) -> str:
    """Say what an unanswered decision still waits for, if anything."""
    left, silence = row.expires_at - now, model.blueprint.terms.default_reward
    if row.forwarded is False:
        return "It was dropped. Dropped items are not shown, so no feedback is expected."
    if not row.shown:
        if left < 0:
            return "It was never shown, so it is not counted and nothing was learned."
        return f"It is not shown yet and not counted until then. Its window closes in about {duration(left)}."
    if row.is_due and silence is not None:
        if left < 0:
            return f"No feedback came in time: it will shortly count as a reward of {silence:.4g}."
        return (
            f"It is shown and has no feedback yet. Without feedback within about {duration(left)}, it counts "
            f"as a reward"
            f" of {silence:.4g}."
        )
    if retracted:
        rest = f"New feedback is learned within about {duration(left)}." if left >= 0 else "The window is closed."
        return f"It has no feedback now. {rest}"
    if left < 0:
        return "It was shown and got no feedback within the window: nothing was learned."
    return f"It is shown and has no feedback yet. Feedback within about {duration(left)} will be learned."


def _request_sentence(model: ServedModel, event: DecisionEvent, key: str | None) -> str:
    what = model.blueprint.loop.request_text(event.ids)
    whom = f" for {key}" if key is not None else ""
    return f"The app requested {what}{whom} from {model.name}."


def _decision_sentence(model: ServedModel, event: DecisionEvent) -> str:
    reply = event.reply
    version = f"At version {reply['model_version']:,}" if reply["model_version"] else "Before any feedback"
    return f"{version}, {model.blueprint.loop.reply_text(reply)}."


def _chance(event: DecisionEvent) -> str | None:
    reply = event.reply
    parts = []
    if reply.get("explored"):
        parts.append(_explored(reply))
    if reply.get("propensity") is not None:
        parts.append(f"The probability of this action was {reply['propensity']:.3g}.")
    return " ".join(parts) or None


def _explored(reply: Mapping[str, Any]) -> str:
    if "pair" in reply:
        return "Exploration: two candidates were shown to compare them."
    chances: Mapping[str, float] = reply.get("propensities") or {}
    likely = max(chances, key=lambda each: chances[each], default=None)
    if likely is None or likely == str(reply.get("choice")):
        return "Exploration: this was not the model's best guess."
    return f'Exploration: the most probable candidate was "{likely}" (p = {chances[likely]:.2g}).'


def _feedback_sentence(did: str, position: float | None, lag: str) -> str:
    place = f" (shown at position {position:.0f})" if position is not None else ""
    return f"Feedback came {lag} later: {did}{place}."


def _outcome(story: Any, row: DecisionRow) -> str:
    if story.learnt_version is not None:
        zero = " It confirmed the decision." if row.measure == 1.0 and row.position is not None else ""
        version = story.learnt_version
        if story.why_not is not None:
            return f"It was learned at version {version:,}, and a rollback has undone that."
        return f"It was learned: the model went from version {version - 1:,} to {version:,}.{zero}"
    return f"Nothing was learned: {story.why_not}." if story.why_not else "Nothing was learned."
