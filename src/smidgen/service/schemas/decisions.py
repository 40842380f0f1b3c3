"""Bodies of decisions, examples and feedback.

What a request for a decision and its feedback hold depends on the loop: the loops' own modules
say it (`smidgen.service.loops`), and what is read is put together from them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from smidgen.service.schemas.common import (
    AT_ONCE,
    CANDIDATES,
    ROWS,
    AnyId,
    Costs,
    ErrorDetail,
    Id,
    Message,
    Numbers,
    Record,
    Reward,
)

# What there is to rank or to choose from.


class Candidate(Message):
    """One of the things to rank or to choose from.

    Attributes
    ----------
    id
        Its id, answered as it was sent: a string or a whole number.
    features
        Its features: a record (an object), or numbers in the order of the model's `features`. Left out: the id
        is all that is known.
    costs
        Choose models with a budget: what it costs, by currency, if that is known before the choice.
    """

    id: AnyId
    features: Numbers | Record | None = None
    costs: Costs | None = None


class Variant(Candidate, kw_only=True):
    """A candidate that a model keeps: one of the variants of a flag, with the value that the flag then has.

    Attributes
    ----------
    value
        The value that a feature flag has when this variant is chosen.
    """

    value: Any = UNSET


class Compact(Message):
    """A matrix of float32 numbers, little-endian, row by row, in base64.

    Attributes
    ----------
    shape
        Number of rows and number of columns.
    f32
        The numbers: little-endian float32, row by row, in base64.
    """

    shape: tuple[Annotated[int, Meta(ge=1, le=ROWS)], Annotated[int, Meta(ge=1)]]
    f32: bytes


class CompactCandidates(Message):
    """Candidates whose features come as one matrix.

    Attributes
    ----------
    ids
        The candidates' ids, one for each row.
    features
        The candidates' features, one row each.
    """

    ids: Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)]
    features: Compact


class SlotBody(Message):
    """A place to fill with one of the candidates.

    Attributes
    ----------
    id
        Its id, unique in the request.
    features
        A record of what is known of it; it is part of the context of its choice, as its id is.
    exclude
        Ids of candidates that it must not show.
    """

    id: Id
    features: Record | None = None
    exclude: list[AnyId] | None = None


class SlotChoice(Struct, omit_defaults=True):
    """The candidate that fills a slot.

    Attributes
    ----------
    slot
        The slot's id.
    choice
        The chosen candidate's id.
    propensity
        The probability of this choice, given the choices of the slots before it; null where the app had chosen.
    """

    slot: str
    choice: str | int
    propensity: float | None


class SlotStory(SlotChoice, kw_only=True):
    """The candidate that filled a slot, and what was reported of it.

    Attributes
    ----------
    reward
        The reward that was reported for it, or null.
    """

    reward: Reward | None = None


# A decision: the request, its showing, its story.


class DecisionBody(Message):
    """A request for a decision: what it has in every loop.

    ``chosen`` is what the app has chosen itself: that is answered, and the model is taught it.

    Attributes
    ----------
    id
        Idempotency id: the same id and body give the same decision again; another body is a conflict.
    key
        Keyed models: the user (or other key) whose learner decides.
    activate
        false: the decision counts only after `POST /v1/decisions/{id}/shown`.
    chosen
        The answer that the app has chosen itself. It is returned as the decision, and the model is taught it.
    unit
        Whom the decision is for, e.g. a user's id: a unit is in the holdout, or with a challenger, always or never.
        Keyed models: the key.
    """

    id: Id | None = None
    key: Id | None = None
    activate: bool = True
    chosen: AnyId | bool | Annotated[list[AnyId], Meta(min_length=1, max_length=CANDIDATES)] | None = None
    unit: Id | None = None


class BatchBody(Message):
    """Several requests at once, or, where a request is one row of features, a matrix: a decision for each row.

    With a matrix, ``id`` makes the call safe to repeat: row i has the id ``"{id}.{i}"``, counted from 0.

    Attributes
    ----------
    id
        Idempotency id of a batch of rows: row i (from 0) gets the id `{id}.{i}`.
    decisions
        The requests, each as in a single call.
    features
        A matrix in place of `decisions`: each row is one decision.
    key
        Keyed models, with `features`: the key of all rows.
    """

    id: Annotated[str, Meta(min_length=1, max_length=190)] | None = None
    decisions: Annotated[list[DecisionBody], AT_ONCE] | None = None
    features: Compact | None = None
    key: Id | None = None


class ShownReply(Struct, kw_only=True):
    """Status of a decision that was reported as shown: it counts now, it counted before, or it is too old.

    Attributes
    ----------
    status
        shown: it counts now; duplicate: it counted before; late: its feedback window is over.
    """

    status: Literal["shown", "duplicate", "late"]


class BestAnswer(Struct, kw_only=True):
    """One of the answers that the model thought best.

    Attributes
    ----------
    id
        The candidate's id, or the label.
    score
        The score that the greedy choice went by; null if the learner gives none.
    probability
        The probability with which it could have been shown; null where nothing was drawn.
    """

    id: str | int
    score: float | None
    probability: float | None


class Contributions(Struct, kw_only=True):
    """Contribution of each feature to the answer's score, strongest first, under the weights of a version.

    Attributes
    ----------
    version
        The model version whose weights were used.
    items
        Pairs of a feature's name and what it adds to the score, strongest first.
    """

    version: int
    items: list[tuple[str, float]]


class FreshStart(Struct, kw_only=True, frozen=True):
    """A fresh start of a learner: it forgot what it had learned, because its results had become worse.

    Attributes
    ----------
    version
        The model version that the last feedback before it made.
    reason
        What became worse.
    at
        When it was (ISO 8601, UTC).
    """

    version: int
    reason: str
    at: str


class ReportReply(Struct, kw_only=True):
    """A report on a decision.

    Attributes
    ----------
    at
        When it came (ISO 8601, UTC).
    feedback
        Its body.
    """

    at: str
    feedback: dict[str, Any]


class Teams(Struct, kw_only=True):
    """Candidates on a mixed page, by the ranking that each was taken from: champion's or challenger's.

    Attributes
    ----------
    champion, challenger
        Ids of candidates, in their order on the page.
    """

    champion: list[str | int]
    challenger: list[str | int]


class Story(Struct, kw_only=True):
    """A decision from beginning to end.

    ``why_not`` says why nothing is learnt of it: no feedback yet, late feedback, feedback that was retracted
    (``retracted_at`` says when), or a rollback beyond ``learnt_version``.

    Attributes
    ----------
    decision
        The decision's id.
    model
        The model that decided.
    key
        The key that it was made for, or null.
    made_at
        When it was made (ISO 8601, UTC).
    expires_at
        When its feedback window ends.
    shown
        The answer, as it was returned.
    feedback
        The feedback that was received, or null.
    feedback_at
        When the feedback was received, or null.
    learnt_version
        The model version that the feedback made, or null.
    why_not
        Why nothing was learned from it, or null.
    retracted_at
        When its feedback was retracted, or null.
    asked
        The request: context and candidates, or features, as they were sent; by the names of the features where the
        model has `"keep_asked": false`. null of texts, and where the names are not known any more.
    greedy
        The answer without exploration: the best by the scores.
    top
        The three best answers with their scores and probabilities; null if the learner gives neither.
    contributions
        What each feature added to the answer's score under the weights that decided, the strongest twenty; null where
        the model has no weights, the event holds none, or the policy of a holdout decided.
    contributions_now
        The same under the present weights; null if the model has none.
    price
        The price of each currency of the budget when it was decided; null without a budget.
    slots
        The choices of a decision with several slots, in the order of the slots, with the rewards that were reported;
        null of others.
    teams
        Whose the candidates are on a page that mixes the rankings of champion and challenger; null of others.
    request_id
        The `X-Request-Id` header of the request that was decided, or null.
    holdout
        Whether the policy of the holdout decided, not the model.
    restarts
        Fresh starts of the learner since the decision, oldest first; null if they cannot be read from its log.
    reports
        The reports on the decision that were recorded, oldest first; one that was learned at once is `feedback`.
    """

    decision: str
    model: str
    key: str | None
    made_at: str
    expires_at: str
    shown: dict[str, Any]
    feedback: dict[str, Any] | None
    feedback_at: str | None
    learnt_version: int | None
    why_not: str | None
    retracted_at: str | None = None
    asked: dict[str, Any] | None = None
    greedy: Any = None
    top: list[BestAnswer] | None = None
    contributions: Contributions | None = None
    contributions_now: Contributions | None = None
    price: dict[str, float] | None = None
    slots: list[SlotStory] | None = None
    teams: Teams | None = None
    request_id: str | None = None
    holdout: bool = False
    restarts: list[FreshStart] | None = []
    reports: list[ReportReply] = []


# Examples to teach.


class ExampleBody(DecisionBody, kw_only=True):
    """Fields of a request, with the answer that is known to be right.

    Attributes
    ----------
    answer
        The known answer: the right label, the relevance, the best candidates in order, the final text, or
        `{"choice": id, "reward": number}`.
    """

    answer: Any


class ExamplesBody(Message, kw_only=True):
    """Examples to teach a model, or one of its keys; with an ``id`` the call is safe to repeat.

    Attributes
    ----------
    id
        Idempotency id: the same id and body teach once.
    key
        Keyed models: whose learner is taught.
    examples
        The examples, taught in this order.
    """

    id: Id | None = None
    key: Id | None = None
    examples: Annotated[list[ExampleBody], AT_ONCE]


class TaughtReply(Struct, kw_only=True):
    """Number of examples that were taught, and the model's version; with several shards, the version of this one.

    Attributes
    ----------
    taught
        How many examples were taught.
    model_version
        The model's version after this call.
    shard
        The shard that the version belongs to, of a model with several shards.
    """

    taught: int
    model_version: int
    shard: int | UnsetType = UNSET


# What people did, and the outcome of it.


class FeedbackBody(Message):
    """Feedback: one of the fields that the loop has, costs, or both.

    Attributes
    ----------
    costs
        What the decision really cost, by currency. Costs alone are recorded: the decision stays open.
    id
        The id of this report: the same id and body count once.
    final
        true: no further report comes; the combined reward is learned now.
    """

    costs: Costs | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    final: bool | UnsetType = UNSET

    def given(self) -> dict[str, Any]:
        """The fields that were sent, but for the decision that they are about."""
        return {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) is not UNSET and name != "decision"
        }


#: What feedback may have in every loop, next to the one field of the loop.
COMMON_FEEDBACK = FeedbackBody.__struct_fields__


def reaction_of(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of feedback that are the loop's own."""
    return {name: value for name, value in given.items() if name not in COMMON_FEEDBACK}


class SeveralBody(Message, kw_only=True):
    """Feedback on many decisions.

    Attributes
    ----------
    feedback
        Feedback on decisions, learned in this order.
    """

    feedback: Annotated[list[FeedbackBody], AT_ONCE]


class FeedbackReply(Struct, kw_only=True):
    """Status of the feedback; for a model with several shards, ``shard`` is the one that the version belongs to.

    Attributes
    ----------
    status
        learnt: the model took a step; recorded: stored, not learned (costs alone, a report that waits for others, a
        holdout); duplicate: the same feedback was received before; late: it came after the window, not learned.
    model_version
        The model's version after this call.
    shard
        The shard that the version belongs to, of a model with several shards.
    """

    status: Literal["learnt", "recorded", "duplicate", "late"]
    model_version: int
    shard: int | UnsetType = UNSET


class SeveralReply(Struct, kw_only=True):
    """Status of each feedback, in order, as if it had come alone, or the error that refused it.

    Attributes
    ----------
    results
        One entry for each feedback: its status, or its error.
    """

    results: list[Any]


class UbiResult(Struct, kw_only=True, omit_defaults=True):
    """Status of the clicks on a decision.

    ``answered`` says that it has an answer already: the clicks that came first count. ``error`` says why they were
    refused.

    Attributes
    ----------
    decision
        The decision that was clicked.
    clicked
        The clicked candidates, in order.
    status
        Outcome of the clicks, or null.
    model_version
        The model's version, or null.
    error
        Why the clicks were refused, or null.
    """

    decision: str
    clicked: list[str | int]
    status: Literal["learnt", "recorded", "duplicate", "late", "answered"] | None = None
    model_version: int | None = None
    error: ErrorDetail | None = None


class UbiReply(Struct, kw_only=True):
    """Status of UBI events: of the clicks on lists of this service, and the number of other events.

    ``passed_over`` are events that are no clicks on a result, ``unknown`` clicks in searches that are no decisions
    here, ``elsewhere`` clicks on what was not among the candidates.

    Attributes
    ----------
    results
        One entry for each decision.
    passed_over
        Events that are not clicks on a result.
    unknown
        Clicks whose query_id is no decision.
    elsewhere
        Clicks on decisions that the token does not cover.
    """

    results: list[UbiResult]
    passed_over: int
    unknown: int
    elsewhere: int
