"""dsjson: answered decisions of a choose model by reward, as Vowpal Wabbit's ``--dsjson`` reads them.

A line has the features of every candidate as the model saw them (``c._multi``, with the context crossed in), the
actions with the shown one first (``a``, from 1) and their probabilities (``p``), and the reward as a cost (its
negative). Decisions without an answer, and what was taken back, are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from smidgen.decision import Decision
from smidgen.features import Encoded
from smidgen.learners import Learner, Loop
from smidgen.learners.records.around import vectorizer_of
from smidgen.service.exports import Format, Span, wanted
from smidgen.service.refusals import Impossible
from smidgen.service.store.lines import Line
from smidgen.service.store.rebuilding import Rebuilding, rebuild_all
from smidgen.service.store.recording import Recording


def write(recording: Recording, span: Span, path: Path) -> int:
    """A line for each answered decision, in the order of the answers."""
    slots = rebuild_all(recording)
    blueprint = next(iter(slots.values())).blueprint
    if blueprint is None or blueprint.loop.name != Loop.CHOOSE or blueprint.feedback != "reward":
        raise Impossible(f"{recording.name} is no log of choices by reward", "export it as ndjson, csv or parquet")
    count = 0
    with path.open("wb") as file:
        for event in wanted(recording, span):
            rebuilt = slots[event.slot or 0]
            if event.type in ("feedback", "expired") and event.status != "late" and _stands(event, rebuilt):
                made = recording.decision(event.decision or "")
                if made is not None:
                    file.write(_line(made, event, rebuilt) + b"\n")
                    count += 1
    return count


def _stands(event: Line, rebuilt: Rebuilding) -> bool:
    return event.model_version is not None and event.model_version not in rebuilt.undone


def _line(made: Line, heard: Line, rebuilt: Rebuilding) -> bytes:
    decision, shares = made.made(), made.reply.get("propensities", {})
    shown = int(decision.action)
    others = [place for place in range(len(made.ids)) if place != shown]
    others.sort(key=lambda place: -shares.get(str(made.ids[place]), 0.0))
    order = [shown, *others]
    probabilities = [shares.get(str(made.ids[place]), 0.0) for place in order] if shares else [1.0]
    reward = _reward(heard, rebuilt)
    features = _features(decision, rebuilt.learner(made.key), rebuilt)
    told: dict[str, Any] = {
        "_label_cost": -reward,
        "_label_probability": probabilities[0],
        "_label_Action": shown + 1,
        "_labelIndex": shown,
        "o": [{"v": reward, "EventId": made.decision}],
        "Timestamp": made.at,
        "Version": "1",
        "EventId": made.decision,
        "a": [place + 1 for place in order],
        "c": {"_multi": [{"_id": str(id), "f": row} for id, row in zip(made.ids, features, strict=True)]},
        "p": probabilities,
    }
    return msgspec.json.encode(told)


def _reward(heard: Line, rebuilt: Rebuilding) -> float:
    """The reward in the app's own range; silence is worth what the model says."""
    if "reward" in heard.feedback:
        return float(heard.feedback["reward"])
    if "default_reward" in heard.feedback:
        return float(heard.feedback["default_reward"])
    low, high = rebuilt.blueprint.terms.reward_range if rebuilt.blueprint is not None else (0.0, 1.0)
    return low + (high - low) * float(heard.told())


def _features(decision: Decision, learner: Learner, rebuilt: Rebuilding) -> list[dict[str, float]]:
    """The features of each candidate by name, as the model read them."""
    context = decision.context
    if isinstance(context, Encoded):
        group = rebuilt.group
        found = group.table if group is not None and group.table is not None else vectorizer_of(learner)
        if found is None:
            raise Impossible("the log holds records, and its learner takes none", "export it as ndjson")
        columns = found.planned(context)[1]
        names = dict(zip(columns.tolist(), context.names, strict=True)) | dict(found.named_columns())
        starts, indices, values = context.with_columns(columns)
        every = [names.get(column, f"column {column}") for column in indices.tolist()]
        return [
            dict(zip(every[first:last], values[first:last].tolist(), strict=True))
            for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
    known = rebuilt.blueprint.names if rebuilt.blueprint is not None else None
    rows = context.items
    named = known or [f"f{column + 1}" for column in range(rows.shape[1])]
    return [{name: value for name, value in zip(named, row.tolist(), strict=True) if value} for row in rows]


FORMAT = Format("dsjson", "answered choices by reward, for Vowpal Wabbit", write)
