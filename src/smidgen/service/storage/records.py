"""Rows, counts and results of a store, the same for every store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from smidgen.learners import saving
from smidgen.service.log.events import START

WriteStatus = Literal["learnt", "recorded", "late", "duplicate", "conflict", "unknown"]


class ModelRow(NamedTuple):
    """A model.

    Attributes
    ----------
    id, name
        Its number and its name.
    shard
        Where its events are.
    body
        The body of creation, in one spelling.
    resolved
        The settings that the body leaves open, as resolved at creation: the learner, the version of its settings, ….
    created_at, archived_at
        Seconds since 1970.
    """

    id: int
    name: str
    shard: int
    body: bytes
    resolved: dict[str, Any]
    created_at: float
    archived_at: float | None = None


class Counts(msgspec.Struct):
    """Counts of a shard, kept up to date with every event.

    Attributes
    ----------
    seq
        Its last event.
    version
        How often weights have changed.
    decisions, late, keys
        How many decisions were made, how many answers came too late, how many keys something was said of.
    number
        The highest number of a decision, of a model without keys.
    chain
        The chain after the last event.
    answered
        How many decisions have feedback, in time or late.
    """

    seq: int = 0
    version: int = 0
    decisions: int = 0
    late: int = 0
    keys: int = 0
    number: int = 0
    chain: bytes = START
    answered: int = 0


def pool_counts(counts: Sequence[Counts]) -> Counts:
    """Add up the counts of shards; the chain is that of the first."""
    if len(counts) == 1:
        return counts[0]
    names = [name for name in Counts.__struct_fields__ if name != "chain"]
    return Counts(chain=counts[0].chain, **{name: sum(getattr(each, name) for each in counts) for name in names})


class NewDecision(NamedTuple):
    """A decision to be written.

    Attributes
    ----------
    decision
        Its id, 24 hexadecimal digits, or 28 where several workers write.
    at, expires_at
        When it was made and when its window ends.
    key, number
        Whose learner made it, and that learner's number for it.
    request, request_hash
        The app's own id of the request, if it had one, and the digest of the request.
    explored, forwarded
        Figures for the learning curves.
    body
        The event's body.
    waits
        Whether the model learns from it when its window closes without feedback.
    shown
        Whether it counts already; one that does not counts once `Store.shown` says so, or feedback comes.
    beside
        The decision that was shown instead of this one, if this one is of a shadow or challenger.
    agreed
        Whether it is what was shown all the same.
    target, chance
        The probability with which it would have shown what was shown, and the one with which that was shown.
    unit
        Whom it is for, if the request says so.
    holdout, share
        Of a model with a holdout: whether the holdout's policy answered, and the share of the holdout then. None of
        decisions that do not count in a comparison with the holdout. Of a challenger's decision whose ranking was mixed
        into the one shown: the share of such pages.
    """

    decision: str
    at: float
    expires_at: float
    key: str | None
    number: int
    request: str | None
    request_hash: bytes | None
    explored: bool
    forwarded: bool | None
    body: bytes
    waits: bool = False
    shown: bool = True
    beside: str | None = None
    agreed: bool | None = None
    target: float | None = None
    chance: float | None = None
    unit: str | None = None
    holdout: bool | None = None
    share: float | None = None


class NewFeedback(NamedTuple):
    """Feedback to be written.

    Attributes
    ----------
    decision
        The decision that it answers.
    at
        When it came.
    key
        Whose learner learns from it.
    hash
        The digest of the feedback, by which the same one is known again.
    measure, position
        Figures for the learning curves.
    body
        The event's body.
    open_until
        Of a decision that its one writer knows to have no answer yet: when its window ends. A store that others write
        to as well looks for itself.
    recorded
        Whether it is of a holdout: then it is measured, and makes no version.
    """

    decision: str
    at: float
    key: str | None
    hash: bytes
    measure: float | None
    position: float | None
    body: bytes
    open_until: float | None = None
    recorded: bool = False


class NewExpiry(NamedTuple):
    """A window that closed without feedback, or the reward of what was reported, to be written.

    Attributes
    ----------
    decision, at, key
        The decision, when it was noticed, and whose learner learns from it.
    measure, position
        Figures for the learning curves.
    body
        The event's body.
    refused
        Whether nothing is learned, since the learner refuses it or a holdout decided: then it is written, closes the
        decision, and makes no version.
    settled
        Whether it is the reward of what was reported.
    """

    decision: str
    at: float
    key: str | None
    measure: float | None
    position: float | None
    body: bytes
    refused: bool = False
    settled: bool = False


class NewReport(NamedTuple):
    """A report to be written: one that does not close its decision.

    Attributes
    ----------
    decision, at, key
        The decision, when it came, and whose learner decided.
    body
        The event's body.
    reports
        All reports on the decision, this one included.
    rewards
        Whether it has a reward that is learned later.
    """

    decision: str
    at: float
    key: str | None
    body: bytes
    reports: bytes
    rewards: bool


class WriteResult(NamedTuple):
    """Result of writing feedback.

    Attributes
    ----------
    status
        ``"learnt"``, ``"recorded"`` and ``"late"`` were written; the others were not.
    seq
        Its event, where it was written.
    version
        The model's version: that which it made, or the present one.
    """

    status: WriteStatus
    seq: int | None
    version: int


class CallRow(NamedTuple):
    """A call that made an event about no decision: the digest of its body, and the event."""

    hash: bytes
    seq: int


class DecisionRow(NamedTuple):
    """A decision as the tables know it.

    Attributes
    ----------
    id, shard, seq
        The decision and its event.
    expires_at
        When its window ends.
    request_hash
        The digest of the request, if the app gave it an id.
    explored, forwarded
        As it was asked for.
    feedback_seq, feedback_hash
        The event of its feedback, and the digest of it.
    version
        The version that its feedback, or its expiry, made, if it was learned.
    measure, position
        As in the feedback.
    waits, shown
        Whether the model learns from it when its window closes without feedback; whether it was shown.
    late_hash
        The digest of feedback that came after its expiry, or its reports, had been learned.
    beside, agreed, holdout
        As it was asked for.
    reported
        Whether rewards were reported that are learned together.
    reports
        All reports on it, as `smidgen.service.engine.reports` writes them.
    """

    id: str
    shard: int
    seq: int
    expires_at: float
    request_hash: bytes | None
    explored: bool
    forwarded: bool | None
    feedback_seq: int | None
    feedback_hash: bytes | None
    version: int | None
    measure: float | None
    position: float | None
    waits: bool = False
    shown: bool = True
    late_hash: bytes | None = None
    beside: str | None = None
    agreed: bool | None = None
    holdout: bool | None = None
    reported: bool = False
    reports: bytes | None = None

    @property
    def status(self) -> Literal["learnt", "recorded", "late", "expired", "refused"] | None:
        """Status; None while it is open, or if it was closed without feedback."""
        if self.feedback_seq is None:
            return None
        if self.holdout:
            return "late" if self.measure is None else "recorded"
        if self.feedback_hash is None:
            return "refused" if self.version is None else "learnt" if self.reported else "expired"
        return "late" if self.version is None else "learnt"

    @property
    def answered(self) -> bool:
        """True if it has feedback, in time, late, or after its expiry; the decision of a shadow has none of its own."""
        answered = self.feedback_hash is not None or self.late_hash is not None or self.reported
        return answered and self.beside is None

    @property
    def late(self) -> bool:
        """True if an answer came too late."""
        return self.status == "late" or self.late_hash is not None

    @property
    def is_due(self) -> bool:
        """True if its expiry, or its reports, are to be learned once its window is over."""
        return (self.waits or self.reported) and self.shown and self.feedback_seq is None


class Outcome(NamedTuple):
    """A decision and what became of it, for figures over many.

    Attributes
    ----------
    seq, at, key
        The decision's event, when it was, and whose learner decided.
    expires_at
        When its window ends.
    explored, forwarded
        As it was asked for.
    feedback_seq, version, measure
        The event that answered it, the version that it made, and the loop's figure.
    answer, answered_at
        The type of that event (``feedback``; ``expired``, if it only says that nobody answered), and when it was.
    reported
        Whether rewards were reported that are learned together.
    """

    seq: int
    at: float
    key: str | None
    expires_at: float
    explored: bool
    forwarded: bool | None
    feedback_seq: int | None
    version: int | None
    measure: float | None
    answer: str | None
    answered_at: float | None
    reported: bool = False

    @property
    def is_unanswered(self) -> bool:
        """True if no user has answered."""
        return self.answer in (None, "expired") and not self.reported

    @property
    def is_forwarded(self) -> bool:
        """True if anybody saw it: a filter shows nobody what it drops."""
        return self.forwarded is not False


def classify_repeat(made: DecisionRow, hash: bytes) -> WriteStatus | None:
    """Status of repeated feedback on a decision; None if it is to be written, as late."""
    if made.feedback_hash is None:  # its window closed without feedback, or reports were settled
        if made.late_hash is None:
            return None
        return "late" if made.late_hash == hash else "conflict"
    if made.feedback_hash != hash:
        return "conflict"
    return "late" if made.status == "late" else "duplicate"


class GroupRow(NamedTuple):
    """A decision in the comparison of a model with its holdout, and what became of what was shown.

    Attributes
    ----------
    seq, unit, holdout, share
        As they were written (`NewDecision`).
    expires_at, shown, feedback_seq, feedback_hash, measure, version, reports
        Of the decision that was shown: a challenger's, where that one answered.
    """

    seq: int
    unit: str | None
    holdout: bool
    share: float
    expires_at: float
    shown: bool
    feedback_seq: int | None
    feedback_hash: bytes | None
    measure: float | None
    version: int | None = None
    reports: bytes | None = None


class State(NamedTuple):
    """State of a learner after an event: a shortcut, the log is the truth.

    Attributes
    ----------
    seq
        The last event that went into it.
    content
        The learner's bytes.
    place
        Where it is kept, for people.
    own
        Whether it is of this very log; one of another past must not be used.
    size, at
        Its bytes, and when it was written.
    """

    seq: int
    content: bytes
    place: str
    own: bool
    size: int
    at: float

    @property
    def is_outdated(self) -> bool:
        """True if it was folded by another arithmetic than this smidgen's: the log leads elsewhere now."""
        return saving.arithmetic_of(self.content) not in (None, saving.ARITHMETIC)


#: What a token may be valid for.
SCOPES = ("decide", "feedback", "read", "admin")
#: The longest name of a token, in characters.
TOKEN_NAME = 100


class TokenRow(NamedTuple):
    """A token without its secret.

    Attributes
    ----------
    id
        Eight hexadecimal digits, by which operators and events name it.
    hash
        The SHA-256 digest of the secret.
    scopes
        With commas between, sorted.
    model
        The only model it is valid for, or None.
    created_at, revoked_at, expires_at, used_at
        Seconds since 1970. ``used_at`` is the last use, exact to about a minute.
    name
        A label for people.
    """

    id: str
    hash: bytes
    scopes: str
    model: str | None
    created_at: float
    revoked_at: float | None = None
    name: str | None = None
    expires_at: float | None = None
    used_at: float | None = None


class LeaseRow(NamedTuple):
    """Lease of a shard: its owner does what only one worker may do (expiry, snapshots, retention).

    Attributes
    ----------
    shard, owner
        Which shard, and whose it is.
    epoch
        Grows each time the owner changes.
    until
        When the lease runs out unless it is renewed, in seconds since 1970 by the clock of the store.
    """

    shard: int
    owner: str
    epoch: int
    until: float


class WorkerRow(NamedTuple):
    """A living worker.

    Attributes
    ----------
    name
        Under which it owns shards.
    addresses
        Where other machines reach it; empty if they do not.
    """

    name: str
    addresses: str
