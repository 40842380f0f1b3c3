"""Decisions told to people: one line each in the list, and the whole story as sentences."""

from __future__ import annotations

from typing import Any

from smidgen.learners import learners
from smidgen.service.clock import stamp
from smidgen.service.loops.words import Offered
from smidgen.service.models.engine import Engine
from smidgen.service.models.served import Served
from smidgen.service.store.log import DecisionEvent

_RECENT = """
    SELECT id, seq, key, made_at, expires_at, explored, feedback_seq, feedback_at, status, learnt_version, measure,
        position, forwarded FROM decisions INDEXED BY decision_order
    WHERE model = :model AND seq < :before ORDER BY seq DESC LIMIT :limit
"""


def recent(engine: Engine, model: Served, before: int = 0, limit: int = 12) -> list[dict[str, Any]]:
    """The latest decisions before an event (0: all of them), newest first."""
    now = engine.clock()
    values = {"model": model.id, "before": before or model.seq + 1, "limit": limit}
    out = []
    for row in engine.connection.execute(_RECENT, values).fetchall():
        id, seq, key, made, expires, explored, feedback_seq, answered, status, version, measure, position, sent = row
        event = engine.events.decision(model.id, seq)
        answer = engine.events.answered(model.id, feedback_seq) if feedback_seq is not None else None
        out.append(
            {
                "decision": id,
                "seq": seq,
                "key": key,
                "made_at": stamp(made),
                "explored": bool(explored),
                "answer": model.blueprint.loop.brief(event.reply),
                "feedback": _feedback(model, answer.feedback) if answer is not None else None,
                "status": status or _open_state(sent, now > expires),
                "lag_s": answered - made if answered is not None else None,
                "learnt_version": version,
                "measure": measure,
                "position": position,
            }
        )
    return out


def sentences(engine: Engine, id: str, allowed: str | None = None) -> list[dict[str, str]]:
    """A decision from beginning to end: when, and what happened."""
    story = engine.story(id, allowed)
    row = engine.events.row(id)
    if row is None:
        return []
    event = engine.events.decision(row["model"], row["seq"])
    model = engine.model(story.model)
    lines = [
        {"at": story.made_at, "text": _asked(model, event, story.key)},
        {"at": story.made_at, "text": _decided(model, event)},
    ]
    if (how := _chance(event)) is not None:
        lines.append({"at": story.made_at, "text": how})
    if story.feedback is not None and story.feedback_at is not None and row["feedback_seq"] is not None:
        answer = engine.events.answered(row["model"], row["feedback_seq"])
        lag = duration(row["feedback_at"] - row["made_at"])
        lines.append(
            {"at": story.feedback_at, "text": _reacted(_feedback(model, answer.feedback), row["position"], lag)}
        )
    lines.append({"at": story.feedback_at or story.expires_at, "text": _outcome(story, row)})
    return lines


def offered(engine: Engine, id: str, allowed: str | None = None) -> Offered:
    """What a person may answer by hand to a decision."""
    model = engine.model(engine.story(id, allowed).model)
    row = engine.events.row(id)
    if row is None:
        return Offered(text="")
    event, blueprint = engine.events.decision(row["model"], row["seq"]), model.blueprint
    return blueprint.loop.offered(learners[blueprint.body.learner], event.reply, event.ids)


def _feedback(model: Served, feedback: dict[str, Any]) -> str:
    """What the user did, in a few words."""
    ((field, value),) = feedback.items()
    return model.blueprint.loop.reacted(field, value)


def duration(seconds: float) -> str:
    """A time span as people say it.

    Examples
    --------
    >>> from smidgen.service.insight.narration import duration
    >>> duration(0.25), duration(90), duration(7200)
    ('250 milliseconds', '1.5 minutes', '2 hours')
    """
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    if seconds < 1.0:
        return f"{1000.0 * seconds:.3g} milliseconds"
    return f"{seconds:.2g} seconds" if seconds < 10.0 else f"{seconds:.0f} seconds"


def _open_state(sent: int | None, over: bool) -> str:
    """Why there is no feedback; ``sent`` is whether a filter forwarded it."""
    if sent == 0:
        return "dropped"
    return "unanswered" if over else "waiting"


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


def _outcome(story: Any, row: Any) -> str:
    if story.learnt_version is not None:
        zero = " It confirmed what was shown." if row["measure"] == 1.0 and row["position"] is not None else ""
        version = story.learnt_version
        return f"It was learnt: the model went from version {version - 1:,} to {version:,}.{zero}"
    return f"Nothing was learnt: {story.why_not}."
