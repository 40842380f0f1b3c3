"""Feedback on decisions: learnt once, in time, if it is possible; and the story of a decision."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Literal

from smidgen import records
from smidgen.service.clock import stamp
from smidgen.service.messages import FeedbackBody, FeedbackReply, Story, digest
from smidgen.service.models.recent import Made, Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.refusals import Conflict, Unknown
from smidgen.service.store.crash_points import reach
from smidgen.service.store.log import Answered, Log


class Answers:
    """The feedback on the decisions of all models.

    Parameters
    ----------
    models, log, learners
        Whose decisions they are, where feedback is written, who learns from it.
    recent
        The decisions that wait for it in memory.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, models: Registry, log: Log, learners: LearnerCache, recent: Recent, clock: Callable[[], float]
    ) -> None:
        self._models = models
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def take(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision, or say why it was not learnt."""
        made = self._recent.get(name)
        hashed = digest(body)
        if made is None:
            row = self._row(name, allowed)
            model = self._models.by_id[row["model"]]
            if row["status"] is not None:
                if row["feedback_hash"] != hashed:
                    raise Conflict(f"decision {name} has other feedback already", "the first answer counts")
                again: Literal["duplicate", "late"] = "duplicate" if row["status"] == "learnt" else "late"
                return FeedbackReply(status=again, model_version=model.version)
            told = self._log.decision(model.id, row["seq"])
            made = Made(model, row["seq"], row["key"], row["expires_at"], told.decision(), told.ids)
        elif allowed is not None and made.model.name != allowed:
            raise _unknown(name)
        return self._learn(name, made, body, hashed)

    def _learn(self, name: str, made: Made, body: FeedbackBody, hashed: bytes) -> FeedbackReply:
        model = made.model
        held = self._learners.get(model, made.key)
        reaction = model.blueprint.loop.react(held.learner, made.decision, made.ids, body)
        packed = records.pack(reaction.learn)
        now = self._clock()
        status: Literal["learnt", "late"] = "late" if now > made.expires_at else "learnt"
        if status == "late":
            model.late += 1
        else:
            held.learner.learn(made.decision, reaction.learn)
            reach("learnt")
            model.version += 1
        version = model.version if status == "learnt" else None
        seq = self._models.append(
            model, "feedback", name, made.key, now, Answered(body.given(), status, packed, version)
        )
        if status == "learnt":
            held.seq, held.changed = seq, True
        self._log.answer(
            {
                "id": name,
                "feedback_seq": seq,
                "feedback_hash": hashed,
                "feedback_at": now,
                "status": status,
                "learnt_version": version,
                "measure": reaction.measure,
                "position": reaction.position,
            }
        )
        self._recent.drop(name)
        return FeedbackReply(status=status, model_version=model.version)

    def story(self, name: str, allowed: str | None = None) -> Story:
        """A decision from beginning to end."""
        row = self._row(name, allowed)
        model: Served = self._models.by_id[row["model"]]
        feedback = None
        if row["feedback_seq"] is not None:
            feedback = self._log.answered(model.id, row["feedback_seq"]).feedback
        why_not = None
        if row["status"] == "late":
            why_not = "the feedback came after the window: it is in the log and was not learnt"
        elif row["status"] is None:
            over = self._clock() > row["expires_at"]
            why_not = "no feedback came within the window" if over else "no feedback has come yet"
        return Story(
            decision=name,
            model=model.name,
            key=row["key"],
            made_at=stamp(row["made_at"]),
            expires_at=stamp(row["expires_at"]),
            shown=self._log.decision(model.id, row["seq"]).reply,
            feedback=feedback,
            feedback_at=stamp(row["feedback_at"]) if row["feedback_at"] is not None else None,
            learnt_version=row["learnt_version"],
            why_not=why_not,
        )

    def _row(self, name: str, allowed: str | None) -> sqlite3.Row:
        row = self._log.row(name)
        if row is None or (allowed is not None and self._models.by_id[row["model"]].name != allowed):
            raise _unknown(name)
        return row


def _unknown(name: str) -> Unknown:
    return Unknown(f"there is no decision {name!r}", "use the id that the decision's answer had")
