"""Decisions told to people: one line each in the list, and the whole story as sentences."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import islice
from typing import Any

from smidgen.learners import learners
from smidgen.service.engine.description import committed
from smidgen.service.engine.log_reader import DecisionEvent, EventLog
from smidgen.service.engine.model import Served
from smidgen.service.engine.replay import Undone, undone
from smidgen.service.engine.stories import find_decision, retractions, tell
from smidgen.service.errors import BadRequest
from smidgen.service.log.events import Event, stamp
from smidgen.service.loops.base import Offered
from smidgen.service.storage.records import DecisionRow


def recent(
    log: EventLog, whole: Served, now: float, before: str = "0", limit: int = 12
) -> tuple[list[dict[str, Any]], str]:
    """The latest decisions before an event of each shard ("0": all of them), newest first; and where to go on."""
    ends = _ends(log, whole, before)
    rows = [
        [DecisionRow(*row) for row in log.reading.look("latest", part.shard, before=end, limit=limit)]
        for part, end in zip(whole.parts, ends, strict=True)
    ]
    shards, out = {part.shard: part for part in whole.parts}, []
    gone = {shard: undone(log.reading, shard) for shard in shards}
    back = {shard: retractions(log.reading, shard, gone[shard]) for shard in shards}
    for row in islice(heapq.merge(*rows, key=_made, reverse=True), limit):
        model = shards[row.shard]
        ends[model.part] = row.seq
        event = log.decision(model, row.seq)
        heard = row.feedback_seq is not None and row.beside is None
        answer = log.answered(model, row.feedback_seq or 0) if heard else None
        out.append(
            {
                "decision": row.id,
                "seq": row.seq,
                "key": event.key,
                "made_at": stamp(event.at),
                "explored": row.explored,
                "answer": model.blueprint.loop.brief(event.reply),
                "feedback": _feedback(model, answer.feedback) if answer is not None else None,
                "status": _beside(row) or _state(row, now, gone[row.shard], back[row.shard]),
                "lag_s": answer.at - event.at if answer is not None else None,
                "learnt_version": row.version,
                "measure": row.measure,
                "position": row.position,
                **model.in_shard,
            }
        )
    return out, ".".join(map(str, ends))


def _ends(log: EventLog, model: Served, before: str) -> list[int]:
    """The events before which decisions are wanted, shard by shard."""
    if before == "0":
        return [committed(log.reading, part).seq + 1 for part in model.parts]
    said = before.split(".")
    if len(said) != len(model.parts) or not all(each.isascii() and each.isdigit() and len(each) < 19 for each in said):
        raise BadRequest(f"before is {before!r}", f"give {len(model.parts)} whole numbers with dots between, or 0")
    return [int(each) for each in said]


def _made(row: DecisionRow) -> str:
    """When a decision was made, as its id tells."""
    return row.id[:10]


def sentences(
    log: EventLog, models: Mapping[int, Served], id: str, allowed: str | None, now: float
) -> list[dict[str, str]]:
    """A decision from beginning to end: when, and what happened."""
    row, model = find_decision(log, models, id, allowed)
    story = tell(log, models, id, allowed, now)
    event = log.decision(model, row.seq)
    lines = [
        {"at": story.made_at, "text": _asked(model, event, story.key)},
        {"at": story.made_at, "text": _decided(model, event)},
    ]
    if (how := _chance(event)) is not None:
        lines.append({"at": story.made_at, "text": how})
    if story.retracted_at is not None:
        text = "The feedback was retracted: what the model learned from it is undone."
        lines.append({"at": story.retracted_at, "text": text})
    if story.feedback_at is not None and row.feedback_seq is not None:
        answer = log.answered(model, row.feedback_seq)
        lag = duration(answer.at - event.at)
        did = _feedback(model, answer.feedback)
        told = f"Nobody answered: {did}." if row.status in ("expired", "refused") else _reacted(did, row.position, lag)
        lines.append({"at": story.feedback_at, "text": told})
    if row.beside is not None:
        taught = f"; it was taught what came of that, at version {row.version}" if row.version is not None else ""
        text = f"Nobody saw it: it was made beside decision {row.beside}, which was shown in its place{taught}."
        return [*lines, {"at": story.made_at, "text": text}]
    at = story.feedback_at or stamp(min(now, row.expires_at))
    if row.status is not None:
        text = _outcome(story, row)
    elif story.learnt_version is not None:
        text = f"A rollback undid the retraction of its feedback: it counts again (version {story.learnt_version:,})."
    else:
        text = _open(model, row, now, story.retracted_at is not None)
    return [*lines, {"at": at, "text": text}]


def offered(log: EventLog, models: Mapping[int, Served], id: str, allowed: str | None) -> Offered:
    """What a person may answer by hand to a decision."""
    row, model = find_decision(log, models, id, allowed)
    event, blueprint = log.decision(model, row.seq), model.blueprint
    return blueprint.loop.offered(learners[blueprint.kind], event.reply, event.ids)


def _feedback(model: Served, feedback: dict[str, Any]) -> str:
    """What the user did, in a few words."""
    ((field, value),) = feedback.items()
    if field == "default_reward":
        return f"silence counts as a reward of {value:.4g}"
    return model.blueprint.loop.reacted(field, value)


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


def _beside(row: DecisionRow) -> str | None:
    """What is said of a decision that was never shown because another model's was."""
    if row.beside is None:
        return None
    return "beside, taught" if row.version is not None else "beside"


def _state(row: DecisionRow, now: float, gone: Undone, back: Mapping[str, Event]) -> str:
    """What became of a decision, in a word or two."""
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


def _open(model: Served, row: DecisionRow, now: float, retracted: bool) -> str:
    """What is still to come for a decision without an answer, or that nothing is."""
    left, silence = row.expires_at - now, model.blueprint.terms.default_reward
    if row.forwarded is False:
        return "It was dropped. Nobody sees what is dropped, so no answer is waited for."
    if not row.shown:
        if left < 0:
            return "It was never shown, so it counts nowhere, and nothing was learnt."
        return (
            f"It has not been shown yet, and counts nowhere until it is; it can be for another {duration(left)} or so."
        )
    if row.due and silence is not None:
        if left < 0:
            return f"Nobody has answered in time: silence will be counted as a reward of {silence:.4g} any moment now."
        return (
            f"It is shown and not yet answered. If no answer comes within about {duration(left)}, silence will be"
            f" counted as a reward of {silence:.4g}."
        )
    if retracted:
        rest = f"Another is learnt if it comes within about {duration(left)}." if left >= 0 else "The window is over."
        return f"It has no answer now. {rest}"
    if left < 0:
        return "It was shown, and no answer came within the window: nothing was learnt."
    return f"It is shown and not yet answered. An answer will be learnt if it comes within about {duration(left)}."


def _asked(model: Served, event: DecisionEvent, key: str | None) -> str:
    what = model.blueprint.loop.asked(event.ids)
    whom = f" for {key}" if key is not None else ""
    return f"The app asked {model.name} for {what}{whom}."


def _decided(model: Served, event: DecisionEvent) -> str:
    reply = event.reply
    version = f"{reply['model_version']:,} feedbacks learnt so far" if reply["model_version"] else "nothing learnt yet"
    return f"With {version}, {model.blueprint.loop.decided(reply)}."


def _chance(event: DecisionEvent) -> str | None:
    reply = event.reply
    parts = []
    if reply.get("explored"):
        parts.append("It explored: the greedy action was another, or had a rival beside it.")
    if reply.get("propensity") is not None:
        parts.append(f"The action was drawn with probability {reply['propensity']:.3g}.")
    return " ".join(parts) or None


def _reacted(did: str, position: float | None, lag: str) -> str:
    place = f" (shown at position {position:.0f})" if position is not None else ""
    return f"{lag[0].upper()}{lag[1:]} later the answer came: {did}{place}."


def _outcome(story: Any, row: DecisionRow) -> str:
    if story.learnt_version is not None:
        zero = " It confirmed what was shown." if row.measure == 1.0 and row.position is not None else ""
        version = story.learnt_version
        if story.why_not is not None:
            return f"It was learnt at version {version:,}. A rollback undid that: it does not count any more."
        return f"It was learnt: the model went from version {version - 1:,} to {version:,}.{zero}"
    return f"Nothing was learnt: {story.why_not}." if story.why_not else "Nothing was learnt of it."
